"""Threads that predict while others delete and add see the forest before or after a batch, never in between."""

import copy
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor, EmptyForestError
from deciduous.export import trees_with_rows
from patience import LIMIT
from strategies import KINDS, Dataset, Forest, predicted
from test_exactness import mixed_rows, smooth_targets
from test_forest import SMALL, fitted_on, rows_of, small_forest

Seen = tuple[tuple[int, ...], bytes]
Batch = Callable[[Forest], object]
N_ROWS = 300
N_BATCHES = 40
PROBES = mixed_rows(np.random.default_rng(5), 150).X  # enough for both threads, and to lay trees out


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads change places every ten microseconds instead of every five milliseconds, so that they do meet."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
EAGER_AND_LAZY = pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
EVERY_N_JOBS = pytest.mark.parametrize("n_jobs", [1, 2])


def test_prediction_that_reaches_nothing_postponed_runs_beside_other_readers() -> None:
    """It ends while a long reader goes on; if it had to build something, it would have to wait for that one's end."""
    random = np.random.default_rng(1)
    X = random.normal(size=(4_000, 6)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) ^ (random.random(len(X)) < 0.2)
    forest = DareForestClassifier(n_estimators=10, max_depth=12, random_state=0, lazy=True).fit(X, y)
    forest.delete([5])
    forest.predict_proba(X[:1])  # builds what this row reaches
    assert forest._forest.n_unbuilt > 0
    ids, ended = forest.ids_, threading.Event()

    def read_for_long() -> None:
        forest.deletion_costs(ids)
        ended.set()

    reader = threading.Thread(target=read_for_long)
    reader.start()
    n_predicted = 0
    while not ended.is_set():
        forest.predict_proba(X[:1])
        n_predicted += 1
    reader.join(LIMIT)
    assert n_predicted > 3, "the predictions waited for the reader"
    assert forest._forest.n_unbuilt > 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends signals")
def test_interrupt_ends_settling_and_what_was_done_stays() -> None:
    """It comes in the middle of half a second of work. The rest can be done later."""
    random = np.random.default_rng(1)
    X = random.normal(size=(20_000, 8)).astype(np.float32)
    y = (X[:, 0] + random.normal(size=len(X)) > 0).astype(int)
    forest = DareForestClassifier(n_estimators=250, max_depth=8, random_state=0, n_jobs=1).fit(X, y)
    loaded = DareForestClassifier.from_bytes(forest.to_bytes())

    def interrupt(*_: object) -> None:
        raise InterruptedError  # as Ctrl-C does, but pytest goes on if it comes at a wrong moment

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InterruptedError):
            loaded.settle()
    finally:
        signal.signal(signal.SIGALRM, usual)
    n_bytes = loaded.memory_usage().decision_stats
    assert loaded.check()
    assert loaded.settle() == 0
    assert loaded.memory_usage().decision_stats > n_bytes
    assert loaded.fingerprint() == forest.fingerprint()


def test_readers_get_their_turns_while_a_forest_is_settled() -> None:
    """Predictions that come meanwhile are right, and so is the forest in the end."""
    data = rows_of(N_ROWS)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True)
    for number in range(10):
        for forest in (eager, lazy):
            forest.delete([3 * number, 3 * number + 1])
        with ThreadPoolExecutor(2) as threads:
            settled = threads.submit(lazy.settle)
            shares = threads.submit(seen, lazy)
            assert shares.result(LIMIT) == seen(eager)
            assert settled.result(LIMIT) == 0
    assert lazy.fingerprint() == eager.fingerprint()


def rows_for(kind: type[Forest], n_rows: int, seed: int = 0) -> Dataset:
    """Rows of three classes, or with targets that are all different."""
    draw_rows = mixed_rows if kind is DareForestClassifier else smooth_targets
    return draw_rows(np.random.default_rng(seed), n_rows)


def small(kind: type[Forest], data: Dataset, **others: Any) -> Forest:
    """An unfitted forest that takes the targets of all of these rows."""
    ends = {} if kind is DareForestClassifier else {"target_range": (data.y.min(), data.y.max())}
    return kind(**(SMALL | ends | others))


def seen(forest: Forest) -> Seen:
    """A prediction, bit by bit."""
    shares = forest.predict(PROBES)[:, None] if isinstance(forest, DareForestRegressor) else predicted(forest, PROBES)
    return shares.shape, shares.tobytes()


def deletion(ids: list[int]) -> Batch:
    """A batch that deletes these rows."""
    return lambda forest: forest.delete(ids)


def addition(data: Dataset, ids: list[int], labels: list[Any]) -> Batch:
    """A batch that adds these rows."""
    return lambda forest: forest.add(data.X[ids], labels, ids=ids)


def replacement(data: Dataset, ids: list[int], others: list[int], deleted: list[int]) -> Batch:
    """A batch that gives rows the values of others, and deletes some, in one step."""
    return lambda forest: forest.update(data.X[others], data.y[others], ids, delete=deleted)


def history_of_replacements(data: Dataset) -> list[Batch]:
    """As many rows go as come, and twenty rows change: halves of it would show in almost every prediction."""
    rng = np.random.default_rng(3)
    batches = []
    for number in range(N_BATCHES):
        changed = rng.choice(range(40, N_ROWS), 20, replace=False).tolist()
        gone, back = (range(20), range(20, 40)) if number % 2 == 0 else (range(20, 40), range(20))
        others = rng.choice(len(data.ids), 40, replace=False).tolist()
        batches.append(replacement(data, [*back, *changed], others, [*gone]))
    return batches


def history_of_batches(data: Dataset) -> list[Batch]:
    """Deletions and additions by turns, each of five rows; one in five additions brings a class never seen."""
    rng = np.random.default_rng(2)
    absent = [*range(20, 40), *range(N_ROWS, len(data.ids))]
    present = [i for i in range(N_ROWS) if i not in absent]
    batches = []
    for number in range(N_BATCHES):
        source, target = (present, absent) if number % 2 == 0 else (absent, present)
        ids = [source.pop(int(rng.integers(len(source)))) for _ in range(5)]
        target.extend(ids)
        labels = data.y[ids].tolist()
        if number % 10 == 9 and data.y.dtype.kind == "i":
            labels[0] = 100 + number
        batches.append(deletion(ids) if source is present else addition(data, ids, labels))
    return batches


def is_in_order(sightings: list[Seen], states: list[Seen]) -> bool:
    """Whether each sighting is one of the states, and none is of a state before that of the sighting before it."""
    position = 0
    for sighting in sightings:
        if sighting not in states[position:]:
            return False
        position = states.index(sighting, position)
    return True


def predict_while(forest: Forest, batches: list[Batch], n_readers: int) -> list[list[Seen]]:
    """What each reader saw while the batches were applied; each reads at least once before and once after."""
    is_done = threading.Event()
    start = threading.Barrier(n_readers + 1)

    def read() -> list[Seen]:
        sightings = [seen(forest)]
        start.wait()
        while not is_done.is_set():
            sightings.append(seen(forest))
        return [*sightings, seen(forest)]

    def write() -> None:
        start.wait()
        try:
            for batch in batches:
                batch(forest)
        finally:
            is_done.set()

    with ThreadPoolExecutor(n_readers + 1) as pool:
        readers = [pool.submit(read) for _ in range(n_readers)]
        pool.submit(write).result()
        return [reader.result() for reader in readers]


@EVERY_KIND
@EAGER_AND_LAZY
@EVERY_N_JOBS
@pytest.mark.parametrize("history", [history_of_batches, history_of_replacements])
def test_every_prediction_is_of_a_forest_before_or_after_a_batch(
    history: Callable[[Dataset], list[Batch]], lazy: bool, n_jobs: int, kind: type[Forest]
) -> None:
    """Two readers beside forty batches; the allowed results come from a twin that nobody disturbed."""
    data = rows_for(kind, 400, seed=4)
    batches = history(data)
    options = {"lazy": lazy, "n_jobs": n_jobs}
    twin = small(kind, data).fit(data.X[:N_ROWS], data.y[:N_ROWS])
    twin.delete(range(20, 40))
    states = [seen(twin)]
    for batch in batches:
        batch(twin)
        states.append(seen(twin))
    assert len(set(states)) > N_BATCHES // 2  # a test that could not see a change would prove nothing

    forest = small(kind, data, **options).fit(data.X[:N_ROWS], data.y[:N_ROWS])
    forest.delete(range(20, 40))
    for sightings in predict_while(forest, batches, n_readers=2):
        assert sightings[0] == states[0]
        assert sightings[-1] == states[-1]
        assert is_in_order(sightings, states)
    assert forest.check()
    assert forest.fingerprint() == twin.fingerprint()


@EAGER_AND_LAZY
def test_labels_are_right_while_classes_are_added(lazy: bool) -> None:
    """Every predicted label is the one that the forest before or after some batch predicts."""
    X = np.arange(30.0, dtype=np.float32).reshape(-1, 1)
    forest = small_forest(lazy=lazy).fit(X[:2], [1000, 1001])
    twin = small_forest().fit(X[:2], [1000, 1001])
    states = [tuple(twin.predict(X).tolist())]
    for number in range(2, 30):  # the new labels come before all known ones
        twin.add(X[number : number + 1], [1000 - number])
        states.append(tuple(twin.predict(X).tolist()))
    is_done = threading.Event()

    def write() -> None:
        try:
            for number in range(2, 30):
                forest.add(X[number : number + 1], [1000 - number])
        finally:
            is_done.set()

    sightings = []
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not is_done.is_set():
            sightings.append(tuple(forest.predict(X).tolist()))
        writer.result()
    assert set(sightings) <= set(states)
    assert tuple(forest.predict(X).tolist()) == states[-1]


@EVERY_KIND
@EAGER_AND_LAZY
def test_reader_of_a_forest_that_is_emptied_gets_a_prediction_or_the_clear_error(
    lazy: bool, kind: type[Forest]
) -> None:
    """The forest goes from sixty rows to none and back, forty times."""
    data = rows_for(kind, 60)
    forest = small(kind, data, lazy=lazy).fit(data.X, data.y, ids=data.ids)
    full = seen(forest)
    is_done = threading.Event()

    def write() -> None:
        try:
            for _ in range(40):
                forest.delete(data.ids)
                forest.add(data.X, data.y, ids=data.ids)
        finally:
            is_done.set()

    outcomes: set[Any] = set()
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not is_done.is_set():
            try:
                outcomes.add(seen(forest))
            except EmptyForestError:
                outcomes.add("empty")
        writer.result()
    assert outcomes <= {full, "empty"}
    assert seen(forest) == full


@EVERY_KIND
@EAGER_AND_LAZY
@EVERY_N_JOBS
def test_threads_that_delete_disjoint_rows_end_in_the_right_forest(lazy: bool, n_jobs: int, kind: type[Forest]) -> None:
    """Four threads delete a quarter of two hundred rows in batches of ten; a hundred rows are left."""
    data = rows_for(kind, N_ROWS)
    forest = small(kind, data, lazy=lazy, n_jobs=n_jobs).fit(data.X, data.y, ids=data.ids)
    start = threading.Barrier(4)

    def delete_quarter(quarter: int) -> int:
        start.wait()
        rows = range(quarter, 200, 4)
        return sum(forest.delete(rows[begin : begin + 10]).n_rows for begin in range(0, 50, 10))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(delete_quarter, range(4))) == [50] * 4
    left = data.ids[200:]
    assert forest.ids_.tolist() == left.tolist()
    assert forest.check()
    assert forest.fingerprint() == small(kind, data).fit(data.X[left], data.y[left], ids=left).fingerprint()


@EAGER_AND_LAZY
def test_row_asked_to_be_deleted_by_several_threads_goes_once(lazy: bool) -> None:
    """Of four threads that want the same thirty rows gone, one succeeds for each row; the others are told."""
    data = rows_of(N_ROWS)
    forest = fitted_on(data, lazy=lazy)
    start = threading.Barrier(4)

    def delete_rows(_: int) -> list[int]:
        start.wait()
        deleted = []
        for row_id in range(30):
            try:
                forest.delete([row_id])
                deleted.append(row_id)
            except KeyError:
                continue
        return deleted

    with ThreadPoolExecutor(4) as pool:
        deleted = [row_id for its_rows in pool.map(delete_rows, range(4)) for row_id in its_rows]
    assert sorted(deleted) == list(range(30))
    left = data.ids[30:]
    assert forest.fingerprint() == small_forest().fit(data.X[left], data.y[left], ids=left).fingerprint()


@EAGER_AND_LAZY
def test_threads_that_add_get_ids_of_their_own(lazy: bool) -> None:
    """Four threads add ten rows each, of new classes too, one by one: forty different fresh ids."""
    data = rows_of(100)
    forest = small_forest(lazy=lazy).fit(data.X[:60], data.y[:60])
    start = threading.Barrier(4)

    def add_rows(quarter: int) -> dict[int, int]:
        start.wait()
        rows = range(60 + quarter * 10, 70 + quarter * 10)
        return {forest.add(data.X[row : row + 1], [row % 7]).ids[0]: row for row in rows}

    with ThreadPoolExecutor(4) as pool:
        row_of_id = {row_id: row for ids in pool.map(add_rows, range(4)) for row_id, row in ids.items()}
    assert sorted(row_of_id) == list(range(60, 100))
    rows = [*range(60), *row_of_id.values()]
    labels = [*data.y[:60].tolist(), *(row % 7 for row in row_of_id.values())]
    fresh = small_forest().fit(data.X[rows], labels, ids=[*range(60), *row_of_id])
    assert sorted(forest.classes_.tolist()) == fresh.classes_.tolist()
    assert forest.fingerprint() == fresh.fingerprint()
    assert forest.check()


@EVERY_KIND
@EAGER_AND_LAZY
def test_audits_and_costs_beside_deletions_are_of_one_state(lazy: bool, kind: type[Forest]) -> None:
    """Fingerprints, checks and costs run while rows go; each fingerprint is that of a state of the history."""
    data = rows_for(kind, N_ROWS)
    batches = [list(range(begin, begin + 5)) for begin in range(0, 100, 5)]
    twin = small(kind, data).fit(data.X, data.y, ids=data.ids)
    states = [twin.fingerprint()]
    for batch in batches:
        twin.delete(batch)
        states.append(twin.fingerprint())
    forest = small(kind, data, lazy=lazy).fit(data.X, data.y, ids=data.ids)
    is_done = threading.Event()

    def write() -> None:
        try:
            for batch in batches:
                forest.delete(batch)
        finally:
            is_done.set()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not is_done.is_set():
            assert forest.fingerprint() in states
            assert forest.check()
            assert (forest.deletion_costs([200, 201]) >= 0).all()
            assert 200 <= forest.n_rows_ <= N_ROWS
        writer.result()
    assert forest.fingerprint() == states[-1]


READERS: dict[str, Callable[[Forest], Any]] = {
    "apply": lambda forest: forest.apply(PROBES).tobytes(),
    "decision_path": lambda forest: forest.decision_path(PROBES)[0].toarray().tobytes(),
    "feature_importances_": lambda forest: forest.feature_importances_.tobytes(),
    "get_depth and get_n_leaves": lambda forest: forest.get_n_leaves(),
    "to_bytes": lambda forest: type(forest).from_bytes(forest.to_bytes()).fingerprint(),
    "freeze": lambda forest: forest.freeze().to_bytes(),
    "a copy": lambda forest: copy.deepcopy(forest).fingerprint(),
    "exported trees": lambda forest: [view.counts.tobytes() for view in trees_with_rows(forest)[0]],
    "ids_": lambda forest: forest.ids_.tolist(),
    "oob_score_": lambda forest: forest.oob_score_,
}


@EVERY_KIND
@EAGER_AND_LAZY
@pytest.mark.parametrize("look", READERS.values(), ids=READERS)
def test_every_reader_sees_one_state(look: Callable[[Forest], Any], lazy: bool, kind: type[Forest]) -> None:
    """All trees, names and classes that one call looks at are of one moment, while other threads change the rows."""
    data = rows_for(kind, N_ROWS)
    names = [f"row {i}" for i in range(N_ROWS)]
    batches = [[names[i] for i in range(begin, begin + 10)] for begin in range(0, 120, 10)]
    unfitted = [small(kind, data, lazy=its, max_samples=0.7) for its in (False, lazy)]
    forests = [forest.fit(data.X, data.y, ids=names) for forest in unfitted]
    twin, forest = forests
    states = [look(twin)]
    for batch in batches:
        twin.delete(batch)
        states.append(look(twin))
    is_done = threading.Event()

    def write() -> None:
        try:
            for batch in batches:
                forest.delete(batch)
        finally:
            is_done.set()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not is_done.is_set():
            assert look(forest) in states
        writer.result()
    assert look(forest) == states[-1]


@EAGER_AND_LAZY
def test_listed_nodes_are_of_one_state(lazy: bool) -> None:
    """The rows in the leaves of a tree are all rows of the forest before or after a batch, under their names."""
    data = rows_of(N_ROWS)
    names = [f"row {i}" for i in range(N_ROWS)]
    forest = small_forest(lazy=lazy).fit(data.X, data.y, ids=names)
    allowed = {frozenset(names[10 * n :]) for n in range(13)}
    is_done = threading.Event()

    def write() -> None:
        try:
            for begin in range(0, 120, 10):
                forest.delete(names[begin : begin + 10])
        finally:
            is_done.set()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not is_done.is_set():
            assert frozenset(name for node in forest.tree_nodes(0) for name in node.ids) in allowed
        writer.result()


# Runs in a process of its own, since threads that wait for each other for ever cannot be stopped.
BESIDE_VERIFY = """
    import threading
    import numpy as np
    from deciduous import {kind}

    X = np.random.default_rng(0).normal(size=(500, 5))
    forest = {kind}(n_estimators=20, random_state=0).fit(X, X[:, 0] > 0)
    is_done = threading.Event()

    def verify():
        for _ in range(5):
            forest.delete(forest.ids_[:3])
            assert forest.verify().matches
        is_done.set()

    threading.Thread(target=verify, daemon=True).start()
    while not is_done.is_set():
        {call}
    print("done")
"""


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (DareForestClassifier, "forest.predict_proba(X[:5])"),
        (DareForestClassifier, "forest.ids_"),
        (DareForestClassifier, "forest.memory_usage()"),
        (DareForestRegressor, "forest.predict(X[:5], quantiles=[0.5])"),
    ],
)
def test_forest_can_be_used_while_another_thread_verifies_it(kind: type[Forest], call: str) -> None:
    """Neither waits for the other for ever: a hang ends the test."""
    program = textwrap.dedent(BESIDE_VERIFY.format(kind=kind.__name__, call=call))
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert finished.stdout == "done\n", finished.stderr
