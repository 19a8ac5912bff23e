"""Many damaged files, and files that claim much: none may break anything, or take more memory than its size allows."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor
from file_format import LEAF, Column, Frozen, Model, Rows, Tree, container, sections_of, with_section
from mutants import FORESTS, FROZEN_REGRESSION, random_mutants, reader_of_forest
from patience import LIMIT
from tampering import (
    BAD_FOLDER,
    CATEGORICAL,
    REGRESSION,
    SECTIONS,
    Forest,
    changed,
    model,
    outcome,
    set_column,
    set_meta,
    set_rows,
    set_tree,
    with_entry,
)

# ------------------------------------------------------------------------------------------------------------- fuzz


def assert_fuzz_finds_nothing(n_files: int, seed: int) -> None:
    """Each damaged file is refused, or is a forest that works."""
    n_loaded = 0
    for i, (which, data) in enumerate(random_mutants(n_files, seed, FORESTS)):
        try:
            n_loaded += outcome(data, updates=i % 4 == 0, reader=reader_of_forest(which)) is None
        except BaseException:
            kept = (
                Path(os.environ.get("DECIDUOUS_FUZZ_FOUND", "/tmp")) / f"found-{hashlib.md5(data).hexdigest()}.forest"
            )
            kept.write_bytes(data)
            print(f"Damaged file number {i} of seed {seed} is kept as {kept}; it belongs into {BAD_FOLDER}.")
            raise
    assert n_files // 100 < n_loaded < n_files // 2  # both outcomes are exercised


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_files_are_refused_or_sound(seed: int) -> None:
    """12,000 damaged files in all: no other error, no crash, and no forest that contradicts itself."""
    assert_fuzz_finds_nothing(6_000, seed)


@pytest.mark.slow
def test_many_damaged_files_are_refused_or_sound() -> None:
    """300,000 more."""
    assert_fuzz_finds_nothing(300_000, seed=3)


# ----------------------------------------------------------------------------------------------------------- memory

# Loads each file in a process of its own, forked from one that has imported everything: that takes longer than loading.
# `ru_maxrss` would start with the peak of the parent; `VmHWM` starts with what a process has when it is forked.
LOADER = f"""
import os, signal, sys
import deciduous
from deciduous import CorruptModelError, DareForestClassifier

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

def load(path):
    signal.alarm({LIMIT:.0f})  # ends a process that hangs
    DareForestClassifier(2).fit([[0], [1]], [0, 1]).to_bytes()
    before = peak()
    try:
        deciduous.load(path)
    except CorruptModelError:
        pass
    print(peak() - before, flush=True)

for line in sys.stdin:
    process = os.fork()
    if process == 0:
        load(line[:-1])
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    if status:
        sys.exit(f"A process that was to load a file ended with {{os.waitstatus_to_exitcode(status)}}.")
"""


@pytest.fixture(scope="module")
def loader() -> Iterator[subprocess.Popen[str]]:
    """A process that loads files whose paths it is told."""
    with subprocess.Popen(
        [sys.executable, "-c", LOADER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


def peak_kilobytes(loader: subprocess.Popen[str], data: bytes, folder: Path) -> int:
    """By how much loading raised the memory of a process at most."""
    path = folder / "claim.forest"
    path.write_bytes(data)
    assert loader.stdin is not None
    assert loader.stdout is not None
    print(path, file=loader.stdin, flush=True)
    told = loader.stdout.readline()
    assert told, "the process that loads files has ended, and said why"
    return int(told)


def many_attributes() -> bytes:
    """A million columns of no rows: a byte each."""
    parts = model()
    parts.meta |= {"n_features_in": 10**6}
    parts.rows = Rows([], [], None, [Column([])] * 10**6)
    parts.trees = [Tree([LEAF], [], [])] * 2
    return parts.packed()


def many_classes(n_classes: int, n_leaves: int) -> bytes:
    """Many classes without rows, and many leaves of one row, each of which counts all the classes."""
    X = np.arange(n_leaves, dtype=np.float32)[:, None]
    forest = DareForestClassifier(1, max_depth=None, random_state=0).fit(X, np.arange(n_leaves) % 2)
    parts = Model.parsed(forest.to_bytes())
    parts.meta["classes"]["values"] = list(range(n_classes))
    return parts.packed()


def many_trees(n_trees: int, n_rows: int, kind: type[Forest]) -> bytes:
    """Many trees of a single leaf, each of which holds all the rows."""
    parts = Model.parsed(kind(1, random_state=0).fit([[0]] * n_rows, [0] * n_rows).to_bytes())
    parts.meta["params"] |= {"n_trees": n_trees, "trees_per_row": n_trees}
    parts.trees = parts.trees * n_trees
    return parts.packed()


def many_means() -> bytes:
    """A frozen regressor that claims the most leaf values that there can be."""
    section = Frozen(dict(sections_of(FROZEN_REGRESSION))["frozen"])
    section.header[3] = 2**31 - 1
    return with_section(FROZEN_REGRESSION, "frozen", section.packed())


CLAIMS: dict[str, Callable[[], bytes]] = {
    "2^40 rows": lambda: changed(set_rows(n_rows=2**40)),
    "2^61 rows": lambda: changed(set_rows(n_rows=2**61)),
    "2^40 rows of numbers": lambda: changed(set_rows(n_rows=2**40), REGRESSION),
    "most means": many_means,
    "longest dictionary": lambda: changed(set_column(1, n_values=2**32 - 1)),
    "most nodes": lambda: changed(set_tree(n_nodes=2**32 - 1)),
    "most splits": lambda: changed(set_tree(n_splits=2**32 - 1)),
    "most trees": lambda: changed(lambda p: p.meta["params"].update(n_trees=2**20 - 2, trees_per_row=2**20 - 2)),
    "most sections": lambda: container(SECTIONS, n_sections=2**20),
    "largest section": lambda: with_entry(1, length=2**63),
    "widest strings": lambda: changed(set_meta("classes", to={"type": "<U999999999", "values": ["a", "b", "c"]})),
    "most features considered": lambda: changed(set_meta("params", "max_features", to=2**30)),
    "most thresholds": lambda: changed(set_meta("params", "n_thresholds", to=10**6)),
    "attributes times rows": lambda: changed(
        lambda p: (set_rows(columns=[Column([0.0] * 8)], tail=b"\0" * 10**6)(p), p.meta.update(n_features_in=10**6))
    ),
}


def long_category(n_categories: int, n_characters: int) -> bytes:
    """One long category among many short ones: in an array of NumPy they are all as long."""
    names = ["x" * n_characters, *(f"{i:x}" for i in range(1, n_categories))]
    values = {"type": f"<U{n_characters}", "values": names}

    def change(parts: Model) -> None:
        parts.categories["features"][0].update(values=values, has_missing=False)
        parts.trees = [Tree([LEAF], [], [])] * 2

    return changed(change, CATEGORICAL)


def long_label(n_classes: int, n_characters: int) -> bytes:
    """The same with labels."""
    names = ["x" * n_characters, *(f"{i:x}" for i in range(1, n_classes))]
    return changed(lambda p: p.meta.update(classes={"type": f"<U{n_characters}", "values": names}, class_weight=None))


# What a forest holds beyond its file: rows for each tree, counts of all classes for each leaf.
PRODUCTS: dict[str, Callable[[], bytes]] = {
    "many classes times many leaves": lambda: many_classes(100_000, 1_000),
    "many classes times many trees": lambda: changed(
        lambda p: (
            p.meta["classes"].update(values=list(range(50_000))),
            p.meta["params"].update(n_trees=2_000, trees_per_row=2_000),
            p.trees.extend(p.trees[:1] * 1_998),
        )
    ),
    "many trees times many rows": lambda: many_trees(2_000, 50_000, DareForestClassifier),
    "many trees times many rows of numbers": lambda: many_trees(2_000, 50_000, DareForestRegressor),
    "a million columns": many_attributes,
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_memory_is_bounded_by_the_size_of_the_file(
    claim: Callable[[], bytes], loader: subprocess.Popen[str], tmp_path: Path
) -> None:
    """However much a file claims, loading it takes 40 times its size at most, and some megabytes to begin with."""
    data = claim()
    assert peak_kilobytes(loader, data, tmp_path) * 1024 < 40 * len(data) + 16 * 2**20


# 60 kB of text that NumPy would make 256 MiB of, once for each copy that the checks make.
LONG_NAMES = {"category": lambda: long_category(2**13, 2**13), "label": lambda: long_label(2**13, 2**13)}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("claim", LONG_NAMES.values(), ids=LONG_NAMES)
def test_memory_is_bounded_though_a_name_is_long(
    claim: Callable[[], bytes], loader: subprocess.Popen[str], tmp_path: Path
) -> None:
    """One long name among many short ones is refused, or takes no more than what is multiplied in memory may."""
    data = claim()
    assert peak_kilobytes(loader, data, tmp_path) * 1024 < 64 * len(data) + 256 * 2**20


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_memory_is_bounded_though_the_forest_is_much_larger_than_its_file(
    product: Callable[[], bytes], loader: subprocess.Popen[str], tmp_path: Path
) -> None:
    """What is multiplied in memory is refused beyond 256 MiB and 64 times the file, unless the caller allows more."""
    data = product()
    assert peak_kilobytes(loader, data, tmp_path) * 1024 < 64 * len(data) + 256 * 2**20
