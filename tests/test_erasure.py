"""A deleted row's values and id are overwritten in memory, and its place is used again."""

import copy
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor
from native_libraries import built_library
from residues import found, images_of, target_images

SMALL: dict[str, Any] = {"n_estimators": 5, "max_depth": 8, "n_thresholds": 5, "random_state": 1}
SECRET_ID = 0x1B2C3D4E5F607182  # eight different bytes, none of them zero
# Values whose four bytes are unlike those of any other value here: other rows hold whole numbers below 1,000 only.
SECRETS = np.array([1234.5677, -9.876543e-21, 3.1415926e33], dtype=np.float32)
N_CODED = 100  # distinct values of a column that is stored by codes (up to 256)
N_PLAIN = 500  # distinct values of a column that is stored as it is


def image_of(value: float) -> bytes:
    """A value as the forest stores it: 32 bits that order as the numbers do, little-endian."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return struct.pack("<I", bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000)


def id_image(row_id: int) -> bytes:
    """An id as the forest stores it."""
    return struct.pack("<q", row_id)


def stored(forest: DareForestClassifier | DareForestRegressor, images: Iterable[bytes]) -> list[bool]:
    """Which of these are in the memory that holds the rows."""
    memory = forest._forest.raw_data()
    return [image in memory for image in images]


def whole_numbers(n_rows: int, n_distinct: int) -> np.ndarray:
    """Three columns, each with this many distinct whole numbers from 1."""
    rng = np.random.default_rng(n_distinct)
    columns = [rng.permutation(np.arange(n_rows) % n_distinct) + 1 for _ in range(3)]
    return np.column_stack(columns).astype(np.float32)


def forest_with_secret_row(n_distinct: int, **options: Any) -> DareForestClassifier:
    """Six hundred ordinary rows, and one in their middle with values that only it has."""
    X = whole_numbers(600, n_distinct)
    X = np.insert(X, 300, SECRETS, axis=0)
    ids = np.insert(np.arange(600), 300, SECRET_ID)
    y = (X[:, 0] > n_distinct / 2).astype(int)
    return DareForestClassifier(**(SMALL | options)).fit(X, y, ids=ids)


def secret_images() -> list[bytes]:
    """The values and the id of the secret row."""
    return [*(image_of(value) for value in SECRETS), id_image(SECRET_ID)]


def test_nothing_beside_the_values_of_a_deleted_row_is_in_the_memory_of_the_rows() -> None:
    """Numbers derived from them, in any form."""
    forest = forest_with_secret_row(N_PLAIN)
    images = images_of({"id": SECRET_ID} | {f"value {i}": float(value) for i, value in enumerate(SECRETS)})
    assert found(images, forest._forest.raw_data())
    forest.delete([SECRET_ID])
    assert found(images, forest._forest.raw_data()) == set()


def test_images_order_as_numbers_do() -> None:
    """The test's own understanding of how values are stored, at both signs and zero."""
    numbers = [-3e38, -1.0, -1e-45, 0.0, 1e-45, 1.0, 3e38]
    images = [int.from_bytes(image_of(number), "little") for number in numbers]
    assert images == sorted(images)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("n_distinct", [N_CODED, N_PLAIN], ids=["coded", "plain"])
def test_deleted_row_is_nowhere_in_the_memory_of_the_rows(n_distinct: int, lazy: bool) -> None:
    """Three values and an id are found before the deletion and not after it; neither has anything else gone."""
    forest = forest_with_secret_row(n_distinct, lazy=lazy)
    neighbours = [id_image(299), id_image(300), *(image_of(value) for value in (1.0, 50.0, float(n_distinct)))]
    assert stored(forest, secret_images()) == [True] * 4
    assert stored(forest, neighbours) == [True] * 5
    forest.delete([SECRET_ID])
    assert stored(forest, secret_images()) == [False] * 4
    assert stored(forest, neighbours) == [True] * 5
    assert forest.check()


@pytest.mark.parametrize("n_distinct", [N_CODED, N_PLAIN], ids=["coded", "plain"])
def test_deleted_row_is_gone_when_it_was_added_later(n_distinct: int) -> None:
    """Rows that came by `add` are stored like those that came by `fit`."""
    X = whole_numbers(600, n_distinct)
    forest = DareForestClassifier(**SMALL).fit(X, np.arange(600) % 2)
    assert stored(forest, secret_images()) == [False] * 4
    forest.add(SECRETS.reshape(1, -1), [1], ids=[SECRET_ID])
    assert stored(forest, secret_images()) == [True] * 4
    forest.delete([SECRET_ID])
    assert stored(forest, secret_images()) == [False] * 4


@pytest.mark.parametrize("n_distinct", [N_CODED, N_PLAIN], ids=["coded", "plain"])
def test_value_stays_while_another_row_has_it(n_distinct: int) -> None:
    """Two rows share the values: they go with the second."""
    forest = forest_with_secret_row(n_distinct)
    twin_id = SECRET_ID + 1
    forest.add(SECRETS.reshape(1, -1), [0], ids=[twin_id])
    forest.delete([SECRET_ID])
    assert stored(forest, secret_images()) == [True, True, True, False]
    forest.delete([twin_id])
    assert stored(forest, [*secret_images(), id_image(twin_id)]) == [False] * 5


def test_rows_of_a_batch_are_all_gone() -> None:
    """Fifty rows with values and ids of their own, deleted together with two hundred ordinary ones."""
    forest = forest_with_secret_row(N_CODED)
    ids = [SECRET_ID + number for number in range(1, 51)]
    X = SECRETS * (1 + np.arange(1, 51, dtype=np.float32).reshape(-1, 1) / 100)  # 150 more values: still codes
    forest.add(X, np.arange(50) % 2, ids=ids)
    images = [*map(image_of, X.ravel()), *map(id_image, ids), *secret_images()]
    assert stored(forest, images) == [True] * 204
    forest.delete([*range(0, 200), *ids, SECRET_ID])
    assert stored(forest, images) == [False] * 204
    assert forest.check()


@pytest.mark.parametrize("n_distinct", [N_CODED, N_PLAIN], ids=["coded", "plain"])
def test_nothing_but_zeros_is_left_when_all_rows_are_deleted(n_distinct: int) -> None:
    """An empty forest's memory of the rows holds no byte of them."""
    forest = forest_with_secret_row(n_distinct)
    forest.delete(forest.ids_)
    assert not any(forest._forest.raw_data())


@pytest.mark.parametrize("secret_place", ["first", "last"])
def test_deleted_row_is_gone_after_a_coded_column_has_become_a_plain_one(secret_place: str) -> None:
    """256 values fit into codes; the 257th makes the column plain while the place of another deleted row is free.

    The free place must not take over a value of a row that is still there, or that value outlives its row.
    """
    values = np.arange(1, 256, dtype=np.float32)
    column = np.concatenate([values, values])  # every ordinary value twice, so that deleting one row drops no value
    at = 0 if secret_place == "first" else len(column)
    X = np.insert(column, at, SECRETS[0]).reshape(-1, 1)
    ids = np.insert(np.arange(len(column)), at, SECRET_ID)
    forest = DareForestClassifier(**SMALL).fit(X, np.arange(len(X)) % 2, ids=ids)
    forest.delete([10, 11, 12])
    forest.add([[777.0]], [0])
    forest.delete([SECRET_ID])
    assert stored(forest, [image_of(SECRETS[0]), id_image(SECRET_ID)]) == [False, False]
    assert forest.check()


SECRET_TEXT = "SECRET-ROW-7F3A"
OTHER_TEXTS = [f"visit-{number}" for number in range(600)]
SECRET_NAMES: dict[str, tuple[Any, list[Any]]] = {
    "an id of 8 bytes": (SECRET_ID, list(range(600))),
    "an id of 4 bytes": (0x1B2C3D4E, list(range(600))),
    "a negative id": (-SECRET_ID, list(range(600))),
    "a string": (SECRET_TEXT, OTHER_TEXTS),
}
SECRET_LABELS: dict[str, tuple[Any, list[Any]]] = {
    "a label of text": ("SECRET-LABEL-3", ["no", "yes"]),
    "a label of a number": (0x0A1B2C3D4E5F, [0, 1]),
}
STORED: dict[str, Any] = {"bytes": DareForestClassifier.to_bytes, "pickle": pickle.dumps}


@pytest.mark.parametrize("stored_as", STORED.values(), ids=STORED)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("label", SECRET_LABELS.values(), ids=SECRET_LABELS)
@pytest.mark.parametrize("name", SECRET_NAMES.values(), ids=SECRET_NAMES)
@pytest.mark.parametrize("arrival", ["fit", "add"])
def test_deleted_row_is_nowhere_in_what_is_stored(
    arrival: str, name: Any, label: Any, class_weight: Any, stored_as: Any
) -> None:
    """Neither its id, name, subject, values and label, nor anything beside them, such as an id that comes next."""
    (secret_name, names), (secret_label, labels) = name, label
    X = whole_numbers(600, N_PLAIN)
    y = np.resize(np.array(labels, dtype=object), 600)
    secret = {"X": SECRETS.reshape(1, -1), "y": [secret_label], "ids": [secret_name], "subjects": ["SECRET-PERSON-91"]}
    forest = DareForestClassifier(**SMALL, class_weight=class_weight)
    if arrival == "add":
        forest.fit(X, y, ids=names).add(**secret)
    else:
        forest.fit(np.vstack([X, secret["X"]]), [*y, secret_label], ids=[*names, secret_name])
    values = {"name": secret_name, "label": secret_label, "person": "SECRET-PERSON-91"}
    images = images_of(values | {f"value {i}": float(value) for i, value in enumerate(SECRETS)})
    known = {image.partition(":")[0] for image in found(images, stored_as(forest))}
    assert known >= {"name", "label", "value 0", "value 1", "value 2"}
    forest.delete([secret_name])
    assert found(images, stored_as(forest)) == set()


def test_label_of_a_class_that_is_gone_is_kept_in_memory_by_promise() -> None:
    """Columns stay, so `classes_` remembers a class without rows; files, copies and the rows' memory do not."""
    X = whole_numbers(50, 20)
    y = np.array(["ordinary"] * 50)
    forest = DareForestClassifier(**SMALL).fit(X, y)
    forest.add(SECRETS.reshape(1, -1), ["a label of one row"], ids=[SECRET_ID])
    forest.delete([SECRET_ID])
    assert forest.classes_.tolist() == ["a label of one row", "ordinary"]
    assert copy.deepcopy(forest).classes_.tolist() == ["ordinary"]
    assert stored(forest, secret_images()) == [False] * 4


# ---------------------------------------------------------------------------------------------------------- targets

# Unlike all others, which are multiples of an eighth; in fixed point and as a double its bytes are of no other number.
SECRET_TARGET = 123.45678901234567
RANGE = (-200, 300)


def regressor_with_secret_row(arrival: str, *, weighted: bool = False, **options: Any) -> DareForestRegressor:
    """Six hundred ordinary rows, and one with values and a target that only it has."""
    X = whole_numbers(600, N_PLAIN)
    y = X[:, 0] / 8 - X[:, 1] / 4
    secret: dict[str, Any] = {"X": SECRETS.reshape(1, -1), "y": [SECRET_TARGET], "ids": [SECRET_ID]}
    secret["sample_weight"] = [3] if weighted else None
    forest = DareForestRegressor(**(SMALL | {"target_range": RANGE} | options))
    if arrival == "add":
        forest.fit(X, y, ids=np.arange(600)).add(**secret)
        return forest
    weights = [3] + [1] * 600 if weighted else None
    ids = [SECRET_ID, *range(600)]
    return forest.fit(np.vstack([secret["X"], X]), [SECRET_TARGET, *y], ids=ids, sample_weight=weights)


def images_of_the_secret_target(forest: DareForestRegressor) -> dict[str, bytes]:
    """The target as it was given, in fixed point, and as it is shown."""
    return target_images(SECRET_TARGET, *forest._target_scale)


@pytest.mark.parametrize("arrival", ["fit", "add"])
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_deleted_target_is_nowhere_in_the_memory_of_the_rows(arrival: str, lazy: bool) -> None:
    """Found before the deletion and not after it; those of other rows are still there."""
    forest = regressor_with_secret_row(arrival, lazy=lazy)
    images = images_of_the_secret_target(forest)
    neighbours = [struct.pack("<q", round(target * 2**29)) for target in forest.rows([0, 299, 599]).y]
    assert found(images, forest._forest.raw_data())
    assert stored(forest, [*secret_images(), *neighbours]) == [True] * 7
    forest.delete([SECRET_ID])
    assert found(images, forest._forest.raw_data()) == set()
    assert stored(forest, [*secret_images(), *neighbours]) == [False] * 4 + [True] * 3
    assert forest.check()


def test_replaced_target_is_nowhere_in_the_memory_of_the_rows() -> None:
    """A row that gets another target forgets the one that it had."""
    forest = regressor_with_secret_row("fit")
    images = images_of_the_secret_target(forest)
    forest.update(SECRETS.reshape(1, -1), [17.0], [SECRET_ID])
    assert found(images, forest._forest.raw_data(), forest.to_bytes()) == set()
    assert forest.rows([SECRET_ID]).y.tolist() == [17.0]


def test_nothing_but_zeros_is_left_of_targets_when_all_rows_are_deleted() -> None:
    """An empty regressor's memory of the rows holds no byte of them."""
    forest = regressor_with_secret_row("fit")
    forest.delete(forest.ids_)
    assert not any(forest._forest.raw_data())


STORED_NUMBERS: dict[str, Any] = {
    "bytes": DareForestRegressor.to_bytes,
    "pickle": pickle.dumps,
    "copy": lambda forest: copy.deepcopy(forest)._forest.raw_data(),
    "frozen": lambda forest: forest.freeze().to_bytes(),
}


@pytest.mark.parametrize("stored_as", STORED_NUMBERS.values(), ids=STORED_NUMBERS)
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("arrival", ["fit", "add"])
def test_deleted_target_is_nowhere_in_what_is_stored(arrival: str, weighted: bool, lazy: bool, stored_as: Any) -> None:
    """A frozen forest has the target of a row that is alone in a leaf; none has it when the row is gone."""
    forest = regressor_with_secret_row(arrival, weighted=weighted, lazy=lazy, max_depth=None)
    images = images_of_the_secret_target(forest)
    assert found(images, stored_as(forest))
    forest.delete([SECRET_ID])
    assert found(images, stored_as(forest)) == set()


@pytest.mark.parametrize("outlier", [1e9, -3.7e5, 300.5])
def test_stored_regressor_does_not_tell_how_far_a_deleted_target_was(outlier: float) -> None:
    """With a range that the user gave; without one, the scale tells the size of the range as a power of two."""
    X = whole_numbers(100, 50)
    y = X[:, 0] / 8
    for target_range, tells in (((-1e10, 1e10), False), (None, True)):
        forest = DareForestRegressor(**SMALL, target_range=target_range)
        with_it = forest.fit(np.vstack([SECRETS, X]), [outlier, *y], ids=range(-1, 100))
        with_it.delete([-1])
        without = DareForestRegressor(**SMALL, target_range=target_range).fit(X, y, ids=range(100))
        assert (with_it.to_bytes() == without.to_bytes()) is not tells
        assert found(target_images(outlier, *with_it._target_scale), with_it.to_bytes()) == set()


@pytest.mark.parametrize("n_distinct", [N_CODED, N_PLAIN], ids=["coded", "plain"])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_places_of_deleted_rows_are_used_again(n_distinct: int, n_rows: int) -> None:
    """Fifty rounds of deleting and adding as many rows do not lengthen the memory of the rows."""
    X = whole_numbers(600, n_distinct)
    y = np.arange(600) % 2
    forest = DareForestClassifier(**SMALL).fit(X, y)
    size = len(forest._forest.raw_data())
    rng = np.random.default_rng(0)
    for _ in range(50):
        gone = rng.choice(forest.ids_, n_rows, replace=False)
        forest.delete(gone)
        chosen = rng.choice(600, n_rows, replace=False)
        forest.add(X[chosen], y[chosen])
        assert len(forest._forest.raw_data()) == size
    assert forest.n_rows_ == 600
    assert forest.check()


SCAN_FOR_A_DELETED_VALUE = """
import gc, mmap, struct, sys
import numpy as np
from deciduous import DareForestClassifier

MASK = 0x5A5A5A5A  # images are kept masked, so that the search itself does not put them into memory
ignored = sys.argv[5:]

def occurrences(*masked, form="<I", mask=MASK):
    needles = [bytearray(struct.calcsize(form)) for _ in masked]
    for needle, its in zip(needles, masked):
        struct.pack_into(form, needle, 0, its ^ mask)
    n = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        regions = [line.split() for line in maps.readlines() if " rw" in line]
        for begin, end in [region[0].split("-") for region in regions if region[-1] not in ignored]:
            memory.seek(int(begin, 16))
            # Memory of the system, not of malloc, which would keep the copy for the next search to find.
            with mmap.mmap(-1, int(end, 16) - int(begin, 16)) as content:
                try:
                    memory.readinto(content)
                except OSError:  # a region that cannot be read, such as the kernel's
                    continue
                for needle in needles:
                    place = content.find(needle)
                    while place >= 0:
                        n += place % 4 == 0
                        place = content.find(needle, place + 1)
    for needle in needles:
        needle[:] = bytes(len(needle))
    return n

n_distinct, lazy, candidates, is_threshold = int(sys.argv[1]), sys.argv[2] == "lazy", sys.argv[3], len(sys.argv) > 4
value = np.float32(1234.5677)
image = (struct.unpack("<I", struct.pack("<f", value))[0] | 0x80000000) ^ MASK
rng = np.random.default_rng(0)
X = (rng.integers(0, n_distinct, (3000, 4)) + 1).astype(np.float32)
X[1500] = value
y = rng.integers(0, 2, 3000)
if is_threshold:
    X[1501] = np.nextafter(value, np.float32(np.inf))  # a threshold between the two can only be the value itself
    y[1500:1502] = 0, 1
forest = DareForestClassifier(n_estimators=10, random_state=0, lazy=lazy, candidates=candidates, n_thresholds=5)
forest.fit(X, y)
X[:] = 0
forest.predict_proba(X)  # lays the trees out, with their thresholds
gc.collect()
n_never = occurrences(image ^ 0x00123400)  # an image that no row has: what the search finds of itself
n_before = occurrences(image)
forest.delete([1500])
print(n_never, n_before, occurrences(image))
"""


SEARCH = SCAN_FOR_A_DELETED_VALUE[: SCAN_FOR_A_DELETED_VALUE.index("n_distinct, lazy")]
SCAN_AFTER_STORING = (
    SEARCH.replace("sys.argv[5:]", "[]")
    + """
import os, tempfile
import deciduous

# Masked here already: the compiler of Python keeps a number of the source in a table, and frees it as it is.
MASKED = {"as stored in files": 0x1EC00870, "as kept in memory": 0x9EC00870}

def through_a_file(forest):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.forest")
        forest.save(path)
        return deciduous.load(path)

def saved(forest):
    with tempfile.TemporaryDirectory() as folder:
        forest.save(os.path.join(folder, "model.forest"))
    return forest

rng = np.random.default_rng(0)
X = (rng.integers(0, int(sys.argv[1]), (3000, 4)) + 1).astype(np.float32)
X.view(np.uint32)[1500] = MASKED["as stored in files"]
X.view(np.uint32)[1500] ^= MASK  # in place: no other array ever has the value
y = rng.integers(0, 2, 3000)
forest = deciduous.DareForestClassifier(n_estimators=5, random_state=0, n_thresholds=5).fit(X, y)
X[:] = 0
forest = {"save": saved, "save and load": through_a_file}[sys.argv[2]](forest)
gc.collect()
n_before = occurrences(*MASKED.values())
forest.delete([1500])
n_never = occurrences(*(image ^ 0x00123400 for image in MASKED.values()))
print(n_never, n_before, occurrences(*MASKED.values()))
"""
)


SCAN_FOR_DELETED_BITS = (
    SEARCH.replace("sys.argv[5:]", "[]")
    + """
MASKED = 0x0A3D96C7  # 32 attributes of two values, a bit each
rng = np.random.default_rng(0)
X = rng.integers(0, 2, (3000, 32)).astype(np.float32)
X[0] = 0  # so that bits are values
X[1500] = [((MASKED ^ MASK) >> i) & 1 for i in range(32)]
y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 3000)) % 2
forest = DareForestClassifier(n_estimators=10, random_state=0, lazy=sys.argv[1] == "lazy").fit(X, y)
for id in range(1, 200):
    forest.delete([id])
forest.predict_proba(X[:100])
gc.collect()
n_never = occurrences(MASKED ^ 0x00123400)
n_before = occurrences(MASKED)
forest.delete([1500])
print(n_never, n_before, occurrences(MASKED))
"""
)


# The arrays that a user gives, and conversions of them, are not overwritten. So the core gets targets in fixed point
# from an array of this program, which is overwritten here, or another process writes a file that is read here.
SCAN_FOR_A_DELETED_TARGET = (
    SEARCH.replace("sys.argv[5:]", "[]")
    + """
import ctypes, os, tempfile
import deciduous
from deciduous import DareForestRegressor

way, is_lazy, candidates = sys.argv[1], sys.argv[2] == "lazy", sys.argv[3]
# 0x5BBD7E96B4, as an integer and as a double: 8 bytes each, as other data would have one of 4 bytes now and then.
MASK_OF_8 = 0x5A5A5A5A5A5A5A5A
MASKED = {"fixed point": 0x5A5A5A01E724CCEE, "double": 0x180CB505FFF75A5A}
N_ROWS = 3000
FREED = ctypes.CDLL(None)  # with the functions of `native/freed.c`
for image in MASKED.values():
    FREED.look_for(ctypes.c_uint64(image ^ MASK_OF_8 ^ (2**64 - 1)))

def all_occurrences(change):
    return occurrences(*(image ^ change for image in MASKED.values()), form="<Q", mask=MASK_OF_8)

def targets():
    z = np.random.default_rng(1).integers(-1000, 1000, N_ROWS) * 2**20
    z[:1] = MASKED["fixed point"]
    z[:1] ^= MASK_OF_8  # in place: no other array ever has it
    return z

def filled(forest, X, is_added):
    core = forest._empty_core(forest._params, forest._columns)
    z, ids, labels = targets(), np.arange(N_ROWS), np.zeros(N_ROWS, np.uint32)
    first = int(is_added)
    core.fit(ids[first:], X[first:], labels[first:], None, 1, None, z[first:])
    if is_added:
        nobody, key = ids[:0], np.zeros((1, 16), np.uint8)
        core.update_rows(nobody, ids[:1], X[:1], labels[:1], None, key, None, 1, is_lazy, None, z[:1])
    z[:] = 0
    forest._forest = core
    return forest

rng = np.random.default_rng(0)
X = (rng.integers(0, 100_000, (N_ROWS, 4)) + 1).astype(np.float32)
options = {"n_estimators": 10, "random_state": 0, "candidates": candidates, "n_thresholds": 5, "target_range": (-1, 1)}
forest = DareForestRegressor(**options, lazy=is_lazy).fit(X, rng.integers(-3, 3, N_ROWS) / 8)
if way in ("fit", "add"):
    forest = filled(forest, X, way == "add")
else:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.forest")
        process = os.fork()
        if process == 0:
            filled(forest, X, False).save(path)
            os._exit(0)
        os.waitpid(process, 0)
        forest = deciduous.load(path)
        if way == "load and save":
            forest.save(path)
            forest.save(path, frozen=True)
for id in range(100, 160):  # nodes look at their rows, the first one among them
    forest.delete([id])
forest.deletion_costs([0, 1, 2])
forest.predict(X[200:])  # lays the trees out, with the means of leaves
gc.collect()
n_never, n_before = all_occurrences(0x0012340000123400), all_occurrences(0)
forest.delete([0])
print(n_never, n_before, all_occurrences(0), FREED.n_freed_with_a_number())
"""
)


def occurrences_before_and_after_deletion(*arguments: str) -> tuple[int, int, int]:
    """How often a process has a value that never was, one that a row has, and the latter when the row is deleted."""
    command = [sys.executable, "-c", SCAN_FOR_A_DELETED_VALUE, *arguments]
    n_never, n_before, n_after = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    return n_never, n_before, n_after


NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="needs /proc to read the memory of a process"
)
# Each mode and each scheme once; all combinations take minutes.
EVERY_KIND = pytest.mark.parametrize(
    ("mode", "candidates"),
    [
        ("eager", "valid"),
        ("lazy", "uniform"),
        pytest.param("eager", "uniform", marks=pytest.mark.slow),
        pytest.param("lazy", "valid", marks=pytest.mark.slow),
    ],
)
EVERY_MODE = pytest.mark.parametrize("mode", ["eager", "lazy"])
EVERY_COLUMN = pytest.mark.parametrize("n_distinct", [50, 100_000])


@NEEDS_PROC
@EVERY_KIND
@EVERY_COLUMN
def test_deleted_value_is_nowhere_in_the_process(n_distinct: int, mode: str, candidates: str) -> None:
    """Neither in the data, nor in statistics, nor in scratch or freed memory: as often as a value that never was."""
    n_never, n_before, n_after = occurrences_before_and_after_deletion(str(n_distinct), mode, candidates)
    assert n_before > n_never
    assert n_after <= n_never


@NEEDS_PROC
@EVERY_KIND
@EVERY_COLUMN
def test_deleted_value_that_was_a_threshold_is_nowhere_but_on_the_stack(
    n_distinct: int, mode: str, candidates: str
) -> None:
    """Neither in the trees, nor where they were laid out for the rows that were predicted."""
    n_never, n_before, n_after = occurrences_before_and_after_deletion(
        str(n_distinct), mode, candidates, "threshold", "[stack]"
    )
    assert n_before > n_never
    assert n_after <= n_never


@pytest.fixture(scope="module")
def freed_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that looks into the memory that a process gives back."""
    return built_library("freed", tmp_path_factory.mktemp("native"))


@NEEDS_PROC
@EVERY_KIND
@pytest.mark.parametrize("way", ["fit", "add", "load", "load and save"])
def test_deleted_target_is_nowhere_in_the_process(way: str, mode: str, candidates: str, freed_memory: Path) -> None:
    """Neither among the rows, nor in statistics, lists of changes, means of leaves, scratch or freed memory.

    What freed memory holds is overwritten by chance. So it is looked at when it is freed, too.
    """
    command = [sys.executable, "-c", SCAN_FOR_A_DELETED_TARGET, way, mode, candidates]
    environment = os.environ | {"LD_PRELOAD": str(freed_memory)}
    found = subprocess.run(command, check=True, capture_output=True, env=environment).stdout.split()
    n_never, n_before, n_after, n_freed = map(int, found)
    assert n_before > n_never
    assert n_after <= n_never
    assert n_freed == 0


@NEEDS_PROC
@EVERY_MODE
def test_deleted_bits_are_nowhere_in_the_process(mode: str) -> None:
    """Attributes of two values are kept as bits, too, which nodes gather: in fits, and in deletions of other rows."""
    command = [sys.executable, "-c", SCAN_FOR_DELETED_BITS, mode]
    n_never, n_before, n_after = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    assert n_before > n_never
    assert n_after <= n_never


@NEEDS_PROC
@pytest.mark.parametrize("way", ["save", "save and load"])
@EVERY_COLUMN
def test_deleted_value_is_nowhere_in_a_process_that_stored_the_forest(n_distinct: int, way: str) -> None:
    """What was written out or read in is overwritten before its memory is given back."""
    command = [sys.executable, "-c", SCAN_AFTER_STORING, str(n_distinct), way]
    n_never, n_before, n_after = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    assert n_before > n_never
    assert n_after <= n_never
