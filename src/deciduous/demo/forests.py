"""The forest in memory: trained, freed of a patient, compared, and timed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ..forest import DareForestClassifier
from .measures import Deletions, Erasure, Proof, Report, Setting, Training, timed
from .visits import CATEGORIES, SEED, Visits

BATCH = 100  # one row of so many goes in the batch
N_VISITS = 4  # of the patient who asks to be forgotten


def params_of(setting: Setting) -> dict[str, Any]:
    """Parameters of the forest, whatever names columns have."""
    return {
        "n_estimators": setting.n_trees,
        "max_depth": setting.depth,
        "n_thresholds": setting.n_thresholds,
        "n_jobs": setting.n_jobs,
        "random_state": SEED,
    }


def forest_of(setting: Setting, visits: Visits) -> DareForestClassifier:
    """A forest that is not trained yet. Columns of categories hold numbers, in the order in which names ascend."""
    names = list(visits.columns)
    listed = {names.index(name): list(range(len(values))) for name, values in CATEGORIES.items()}
    return DareForestClassifier(**params_of(setting), categorical_features=listed)


def trained(setting: Setting, visits: Visits, test: Visits) -> tuple[DareForestClassifier, Training]:
    """Our forest, and how it compares with scikit-learn's of as many trees, as deep, with as many threads."""
    forest, matrix, people = forest_of(setting, visits), visits.matrix, visits.patients.tolist()
    _, seconds = timed(lambda: forest.fit(matrix, visits.readmitted, ids=visits.ids, subjects=people))
    peer = RandomForestClassifier(
        setting.n_trees, max_depth=setting.depth, bootstrap=False, n_jobs=setting.n_jobs, random_state=SEED
    )
    one_hot = forest.one_hot(matrix)
    _, peer_seconds = timed(lambda: peer.fit(one_hot, visits.readmitted))
    return forest, Training(
        n_patients=visits.n_patients,
        n_columns=len(visits.columns),
        n_nodes=2 * forest.get_n_leaves() - setting.n_trees,
        seconds=seconds,
        scikit_learn_seconds=peer_seconds,
        accuracy=forest.score(test.matrix, test.readmitted),
        scikit_learn_accuracy=peer.score(forest.one_hot(test.matrix), test.readmitted),
    )


def one_patient(visits: Visits) -> str:
    """Somebody with a few visits, chosen before anything is known of what deleting them takes."""
    patients, counts = np.unique(visits.patients, return_counts=True)
    candidates = patients[counts == N_VISITS]
    return str(np.random.default_rng(SEED).choice(candidates))


def erased(forest: DareForestClassifier, patient: str) -> Erasure:
    """Delete the rows of a patient, after a dry run that says what it takes."""
    cost = forest.deletion_cost(subjects=[patient])
    _, seconds = timed(lambda: forest.delete(subjects=[patient]))
    return Erasure(cost.n_rows, cost.n_nodes_rebuilt, cost.n_rows_retrained, seconds)


def proven(setting: Setting, forest: DareForestClassifier, left: Visits) -> Proof:
    """Compare with a forest that never saw the patient."""
    fresh, matrix = forest_of(setting, left), left.matrix
    _, seconds = timed(lambda: fresh.fit(matrix, left.readmitted, ids=left.ids))
    return Proof(forest.fingerprint(), fresh.fingerprint(), seconds)


def deletions(setting: Setting, forest: DareForestClassifier, left: Visits, test: Visits, report: Report) -> Deletions:
    """Delete rows one by one, then a batch, and compare with retraining once more."""
    leaving = np.random.default_rng(SEED).permutation(left.ids)
    singles, others = np.split(leaving, [setting.n_singles])
    seconds = []
    for number, row in enumerate(singles.tolist(), 1):
        seconds.append(timed(lambda row=row: forest.delete([row]))[1])  # type: ignore[misc]
        report(number)
    batch = others[: len(left) // BATCH]
    _, batch_seconds = timed(lambda: forest.delete(batch))
    return Deletions(
        tuple(seconds), len(batch), batch_seconds, forest.score(test.matrix, test.readmitted), bool(forest.verify())
    )
