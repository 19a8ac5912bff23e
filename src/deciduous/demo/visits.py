"""A table of visits to a clinic, generated: several visits for each patient, and whether the patient came back soon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

SEED = 2021
VISITS_PER_PATIENT = 3.5  # on average
HELD_OUT = 0.25  # so many more visits as the table has, of other patients, to test with
# Ascending, as a live table numbers the categories that it learns.
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "sex": ("female", "male"),
    "admission": ("emergency", "planned", "transfer"),
    "ward": ("cardiology", "geriatrics", "internal", "neurology", "oncology", "surgery"),
    "smoker": ("current", "former", "never", "unknown"),
}
RISK_OF_WARD = np.array([-0.2, 0.3, 0.0, -0.1, 0.2, -0.3])


@dataclass(frozen=True)
class Visits:
    """Rows of the table: a value for each column, the visit's id, the patient, and the label.

    In a column of categories a value is the number of its category.
    """

    columns: Mapping[str, NDArray[np.float64]]
    ids: NDArray[np.int64]
    patients: NDArray[np.str_]
    readmitted: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """The columns, as forests take them."""
        return np.column_stack(list(self.columns.values())).astype(np.float32)

    @cached_property
    def n_patients(self) -> int:
        """How many people there are."""
        return len(np.unique(self.patients))

    def part(self, rows: Any) -> Visits:
        """Some of the rows, by place or by a mask."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Visits(columns, self.ids[rows], self.patients[rows], self.readmitted[rows])

    def records(self) -> Iterator[tuple[Any, ...]]:
        """Rows as a database stores them: categories by name, None where nothing was measured."""
        columns = [_plain(name, values) for name, values in self.columns.items()]
        return zip(self.ids.tolist(), self.patients.tolist(), *columns, self.readmitted.tolist(), strict=True)


def _plain(name: str, values: NDArray[np.float64]) -> list[Any]:
    if name in CATEGORIES:
        return [CATEGORIES[name][number] for number in values.astype(int).tolist()]
    return [None if value != value else value for value in values.tolist()]


def generated(n_rows: int) -> tuple[Visits, Visits]:
    """The visits of the table, and those of other patients to test with; the same at each call."""
    rng = np.random.default_rng(SEED)
    n_all = round(n_rows * (1 + HELD_OUT))
    visits = _visits(n_all, rng)
    is_held_out = np.arange(n_all) >= n_rows
    is_held_out &= visits.patients != visits.patients[n_rows - 1]  # the one whose visits are on both sides
    return visits.part(slice(n_rows)), visits.part(is_held_out)


def _visits(n: int, rng: Generator) -> Visits:
    """Visits in the order of patients. Patients differ in frailty, which shows in most of what is measured."""
    people = _people(round(n / VISITS_PER_PATIENT), rng)
    who = np.sort(rng.choice(len(people["share"]), n, p=people["share"]))
    columns = _columns({name: values[who] for name, values in people.items()}, n, rng)
    return Visits(
        {name: columns[name] for name in sorted(columns)},
        ids=rng.integers(2**61, 2**62, n),  # long enough to be recognised in the bytes of a file
        patients=np.array([f"p-{number:06}" for number in range(len(people["share"]))])[who],
        readmitted=(rng.random(n) < _logistic(_risk(columns))).astype(np.int64),
    )


def _people(n: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
    age = np.clip(rng.normal(58, 19, n), 18, 97)
    frailty = rng.normal(0, 1, n) + (age - 58) / 25
    bmi = rng.normal(27, 4.5, n)
    visits = rng.gamma(1.5, 1, n)
    return {
        "share": visits / visits.sum(),
        "age": age,
        "frailty": frailty,
        "bmi": bmi,
        "sex": (rng.random(n) < 0.47).astype(float),
        "smoker": rng.choice(4, n, p=[0.17, 0.25, 0.5, 0.08]).astype(float),
        "diabetes": (rng.random(n) < _logistic(frailty - 1.6 + (bmi - 27) / 8)).astype(float),
    }


def _columns(of: Mapping[str, NDArray[np.float64]], n: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
    frailty = of["frailty"]
    is_emergency = rng.random(n) < _logistic(frailty)
    columns = {
        "age": np.floor(of["age"] + rng.integers(0, 4, n)),
        "sex": of["sex"],
        "smoker": of["smoker"],
        "diabetes": of["diabetes"],
        "admission": np.where(is_emergency, 0, rng.integers(1, 3, n)),
        "ward": rng.choice(6, n, p=[0.16, 0.1, 0.28, 0.12, 0.14, 0.2]),
        "bmi": np.round(of["bmi"] + rng.normal(0, 0.5, n), 1),
        "days_of_stay": np.clip(np.round(np.exp(1 + 0.35 * frailty + rng.normal(0, 0.6, n))), 1, 60),
        "earlier_stays": np.minimum(rng.poisson(np.exp(0.1 + 0.5 * frailty)), 20),
        "medications": np.minimum(rng.poisson(np.exp(1.2 + 0.25 * frailty)), 30),
        "pulse": np.round(76 + 4 * frailty + rng.normal(0, 11, n)),
        "blood_pressure": np.round(128 + 6 * frailty + (of["age"] - 58) / 4 + rng.normal(0, 15, n)),
        "creatinine": np.round(np.exp(-0.05 + 0.18 * frailty + rng.normal(0, 0.25, n)), 2),
        "haemoglobin": np.round(13.6 - 0.5 * frailty + 0.6 * of["sex"] + rng.normal(0, 1.3, n), 1),
        "glucose": np.round(5.6 + 2.6 * of["diabetes"] + np.abs(rng.normal(0, 0.9, n)), 1),
        "crp": np.round(np.exp(1.4 + 0.4 * frailty + rng.normal(0, 1, n)), 1),
    }
    for name, share in {"creatinine": 0.04, "haemoglobin": 0.04, "glucose": 0.1, "crp": 0.15}.items():
        columns[name][rng.random(n) < share] = np.nan  # not every visit has every test
    return {name: values.astype(np.float64) for name, values in columns.items()}


def _risk(of: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """What makes patients come back, in log-odds."""
    risk: NDArray[np.float64] = (
        -3.1
        + 0.5 * of["earlier_stays"]
        + 0.9 * (of["admission"] == 0)
        + 0.16 * (of["medications"] - 4)
        + 1.1 * (of["crp"] > 20)
        + 1.0 * (of["haemoglobin"] < 11)
        + 0.9 * (of["creatinine"] > 1.4)
        + 0.8 * (of["glucose"] > 9)
        + 0.8 * (of["age"] > 80)
        + 0.3 * (of["smoker"] == 0)
        - 0.1 * of["days_of_stay"] * (of["ward"] == 5)
        + 1.6 * RISK_OF_WARD[of["ward"].astype(int)]
    )
    return risk


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    probabilities: NDArray[np.float64] = 1 / (1 + np.exp(-x))
    return probabilities
