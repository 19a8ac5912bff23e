"""Files whose checksums are right, but whose rows or trees are impossible."""

import struct

import numpy as np
import pytest

from deciduous import CorruptModelError, DareForestClassifier, DareForestRegressor
from deciduous._validation import MAX_DEPTH
from file_format import GREEDY, LEAF, RANDOM, Column, Model, Tree
from tampering import (
    INF,
    NAN,
    REGRESSION,
    TINY,
    Change,
    Forest,
    changed,
    model,
    outcome,
    refusal,
    replace_tree,
    set_code,
    set_column,
    set_node,
    set_row,
    set_rows,
    set_tree,
    set_value,
)

# ------------------------------------------------------------------------------------------------------------- rows


BAD_ROWS: dict[str, tuple[Change, str]] = {
    "one row more claimed": (set_rows(n_rows=9), ""),
    "one row less claimed": (set_rows(n_rows=7), ""),
    "no rows claimed": (set_rows(n_rows=0), ""),
    "2^40 rows claimed": (set_rows(n_rows=2**40), "array of 1099511627776"),
    "2^61 rows claimed": (set_rows(n_rows=2**61), "array of"),
    "2^64 - 1 rows claimed": (set_rows(n_rows=2**64 - 1), "array of"),
    "ids out of order": (set_row("ids", 2, 4), "ascending"),
    "an id twice": (set_row("ids", 2, 1), "ascending"),
    "ids in descending order": (lambda parts: parts.rows.ids.reverse(), "ascending"),
    "label out of range": (set_row("labels", 0, 3), "class 3 of"),
    "largest label": (set_row("labels", 7, 2**32 - 1), "class"),
    "weight 0": (set_row("weights", 3, 0), "weight 0"),
    "largest weight": (set_row("weights", 3, 2**32 - 1), "weigh"),
    "weights that are too much together": (set_rows(weights=[2**29] * 2 + [1] * 6), "weigh"),
    "weights that wrap around": (set_rows(weights=[2**31] * 8), "weigh"),
    "weights left out": (set_rows(has_weights=0), ""),
    "weights claimed": (set_rows(weights=None, has_weights=1), ""),
    "no mark of weights": (set_rows(has_weights=7), "weights"),
    "infinite value": (set_value(0, 4, INF), "column 0 has an infinite value"),
    "negative infinite value": (set_value(0, 4, -INF), "infinite"),
    "infinite value in a dictionary": (set_value(1, 0, INF), "column 1 has an infinite value"),
    "code out of range": (set_code(5, 3), "column 1 has a code without a value"),
    "largest code": (set_code(0, 255), "code"),
    "empty dictionary": (set_column(1, values=[]), "code"),
    "dictionary cut off": (set_column(1, values=[0.0, 1.0]), "code"),
    "longer dictionary claimed": (set_column(1, n_values=4), ""),
    "longest dictionary claimed": (set_column(1, n_values=2**32 - 1), "array of 4294967295"),
    "unknown encoding": (set_column(0, encoding=2), "column 0 has an unknown encoding"),
    "largest encoding": (set_column(1, encoding=255), "unknown encoding"),
    "plain column called coded": (set_column(0, encoding=1), ""),
    "coded column called plain": (set_column(1, encoding=0), ""),
    "a value more": (lambda parts: parts.rows.columns[0].values.append(1.0), ""),
    "a value less": (lambda parts: parts.rows.columns[0].values.pop(), ""),
    "a column more": (lambda parts: parts.rows.columns.append(Column([0.0] * 8)), "too many"),
    "a column less": (lambda parts: parts.rows.columns.pop(), ""),
    "bytes after the rows": (set_rows(tail=b"\0"), "1 bytes too many"),
}


EVERY_TINY = pytest.mark.parametrize(("sound", "reader"), TINY.values(), ids=TINY)


@EVERY_TINY
@pytest.mark.parametrize(("change", "words"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_impossible_rows_are_refused(change: Change, words: str, sound: bytes, reader: type[Forest]) -> None:
    """Though all checksums are right, and for any number of threads."""
    assert words in refusal(changed(change, sound), reader)


BAD_TARGETS: dict[str, tuple[Change, str]] = {
    "target above 2^40": (set_row("targets", 0, 2**40 + 1), "a target beyond 2^40"),
    "target below -2^40": (set_row("targets", 7, -(2**40) - 1), "a target beyond 2^40"),
    "largest target": (set_row("targets", 3, 2**63 - 1), "a target beyond 2^40"),
    "lowest target": (set_row("targets", 3, -(2**63)), "a target beyond 2^40"),
    "a double in place of a target": (set_row("targets", 2, struct.unpack("<q", struct.pack("<d", 3.5))[0]), "2^40"),
    "a target less": (lambda parts: parts.rows.targets.pop(), ""),
    "a target more": (lambda parts: parts.rows.targets.append(0), ""),
    "targets left out": (set_rows(targets=None), ""),
    "weights and targets left out": (set_rows(targets=None, weights=None), ""),
    "targets twice": (lambda parts: parts.rows.targets.extend(parts.rows.targets), ""),
    "a row of a second class": (set_row("labels", 0, 1), "class 1 of 1"),
}


@pytest.mark.parametrize(("change", "words"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_impossible_targets_are_refused(change: Change, words: str) -> None:
    """Each is a number in fixed point of its range, one for each row; all rows are of one class."""
    assert words in refusal(changed(change, REGRESSION), DareForestRegressor)


def test_targets_at_the_ends_of_their_range_are_sound() -> None:
    """A forest with them predicts finite numbers, is changed like any other, and has the targets that it says."""
    targets = [2**40, -(2**40), 2**40, -(2**40), 0, 1, -1, 2**40]
    data = changed(set_rows(targets=targets), REGRESSION)
    assert outcome(data, updates=True, reader=DareForestRegressor) is None
    forest = DareForestRegressor.from_bytes(data)
    assert forest.rows(forest.ids_).y.tolist() == [target * 2.0**-32 for target in targets]
    assert forest.target_range_ == (-256.0, 256.0)


def test_targets_in_the_file_of_a_classifier_are_refused() -> None:
    """They are bytes that belong to no column."""
    refusal(changed(set_rows(targets=[0] * 8)))


def test_targets_that_are_all_equal_are_sound() -> None:
    """Training would give a single leaf, so `verify` says that these trees are others."""
    data = changed(set_rows(targets=[5] * 8), REGRESSION)
    assert outcome(data, updates=True, reader=DareForestRegressor) is None
    assert not DareForestRegressor.from_bytes(data).verify()


# ------------------------------------------------------------------------------------------------------------ trees


def chain(depth: int) -> Tree:
    """A tree that takes a row off at each level, down to this depth, in the order of the first column."""
    kinds = [RANDOM, LEAF] + [GREEDY, LEAF] * (depth - 1) + [LEAF]
    return Tree(kinds, [0] * depth, [0.5 + i for i in range(depth)])


BAD_TREES: dict[str, tuple[Change, str]] = {
    "no nodes": (replace_tree(Tree([], [], [])), "ends in the middle of a tree"),
    "one node more claimed": (lambda p: set_tree(n_nodes=len(p.trees[1].kinds) + 1)(p), ""),
    "one node less claimed": (lambda p: set_tree(n_nodes=len(p.trees[1].kinds) - 1)(p), ""),
    "most nodes claimed": (set_tree(n_nodes=2**32 - 1), "array of 4294967295"),
    "most splits claimed": (set_tree(n_splits=2**32 - 1), "splits"),
    "no splits claimed": (set_tree(n_splits=0), "splits"),
    "unbuilt node": (set_node("kinds", 0, 3), "unknown kind"),
    "unknown kind": (set_node("kinds", 1, 4), "unknown kind"),
    "largest kind": (set_node("kinds", -1, 255), "unknown kind"),
    "leaf turned into a split": (set_node("kinds", -1, GREEDY), "splits"),
    "split turned into a leaf": (set_node("kinds", 0, LEAF), "splits"),
    "greedy root": (set_node("kinds", 0, GREEDY), "depth 0 is of the wrong kind"),
    "random node below": (
        lambda p: set_node("kinds", p.trees[1].kinds.index(GREEDY), RANDOM)(p),
        "depth 1 is of the wrong kind",
    ),
    "missing leaf": (lambda p: p.trees[1].kinds.pop(), "middle of a tree"),
    "leaf too many": (lambda p: p.trees[1].kinds.append(LEAF), "belong to no tree"),
    "tree after the tree": (
        replace_tree(Tree([RANDOM, LEAF, LEAF, RANDOM, LEAF, LEAF], [0, 0], [3.5, 3.5])),
        "belong to no tree",
    ),
    "attribute out of range": (set_node("attributes", 0, 2), "attribute 2 of 2"),
    "attribute beyond 30 bits": (set_node("attributes", 0, 2**30), "attribute 1073741824 of 2"),
    "largest attribute": (set_node("attributes", -1, 2**32 - 1), "attribute 4294967295 of 2"),
    "threshold NaN": (set_node("thresholds", 0, NAN), "threshold"),
    "threshold minus infinity": (set_node("thresholds", 0, -INF), "threshold"),
    "split that leaves nothing on the right": (set_node("thresholds", 0, 1e30), "does not separate"),
    "split that leaves nothing on the left": (set_node("thresholds", 0, -1e30), "does not separate"),
    "infinite threshold without missing values": (
        replace_tree(Tree([RANDOM, LEAF, LEAF], [0], [INF])),
        "does not separate",
    ),
    "split below that separates nothing": (
        replace_tree(Tree([RANDOM, GREEDY, LEAF, LEAF, LEAF], [0, 0], [3.5, 3.5])),
        "depth 1 does not separate",
    ),
    "one level too deep": (replace_tree(chain(4)), "depth 3 is of the wrong kind"),
    "much too deep": (replace_tree(chain(2000)), "wrong kind"),
    "bytes after the tree": (set_tree(tail=b"\0\0"), "2 bytes too many"),
}


@EVERY_TINY
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("change", "words"), BAD_TREES.values(), ids=BAD_TREES)
def test_impossible_trees_are_refused(
    change: Change, words: str, n_jobs: int, sound: bytes, reader: type[Forest]
) -> None:
    """Though all checksums are right; an error in a thread arrives as any other."""
    data = changed(change, sound)
    assert words in refusal(data, reader)
    with pytest.raises(CorruptModelError):
        reader.from_bytes(data, n_jobs=n_jobs)


def test_deepest_chain_is_refused_without_exhausting_the_stack() -> None:
    """The recursion is bounded by the greatest depth that there is, whatever a file says."""
    parts = model()
    parts.meta["params"] |= {"max_depth": MAX_DEPTH, "random_depth": 0}
    kinds = [GREEDY] * 200_000 + [LEAF] * 200_001
    parts.trees[1] = Tree(kinds, [0] * 200_000, [4.5] * 200_000)
    refusal(parts.packed())


def test_deepest_tree_loads() -> None:
    """As many levels as there can be, one row taken off at each, are still a tree that can be used in every way."""
    n_rows = MAX_DEPTH + 2
    X = np.arange(n_rows, dtype=np.float32)[:, None]
    forest = DareForestClassifier(n_estimators=1, max_depth=None, random_state=0).fit(X, np.arange(n_rows) % 2)
    parts = Model.parsed(forest.to_bytes())
    for n, is_sound in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        parts.trees = [Tree([GREEDY, LEAF] * n + [LEAF], [0] * n, [0.5 + i for i in range(n)])]
        assert (outcome(parts.packed(), updates=True) is None) == is_sound
        assert not is_sound or DareForestClassifier.from_bytes(parts.packed()).get_depth() == MAX_DEPTH


# Trees that separate the rows, but not as training does.
OTHER_SPLITS = {
    "nothing but a leaf": Tree([LEAF], [], []),
    "first row alone": Tree([RANDOM, LEAF, LEAF], [0], [0.5]),
    "another threshold": Tree([RANDOM, LEAF, LEAF], [0], [3.75]),
    "last row alone": Tree([RANDOM, LEAF, LEAF], [0], [7.0]),
    "numbers from missing values": Tree([RANDOM, LEAF, LEAF], [1], [INF]),
    "negative zero": Tree([RANDOM, LEAF, LEAF], [1], [-0.0]),
    "chain": chain(3),
}


@EVERY_TINY
@pytest.mark.parametrize("tree", OTHER_SPLITS.values(), ids=OTHER_SPLITS)
def test_trees_that_training_would_not_give_are_found_by_verify(tree: Tree, sound: bytes, reader: type[Forest]) -> None:
    """Loading does not retrain: such a forest is consistent, works, and `verify` says what it is."""
    data = changed(replace_tree(tree), sound)
    assert outcome(data, updates=True, reader=reader) is None
    assert not reader.from_bytes(data).verify()


@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_settling_a_forest_with_another_split_leaves_its_deletions_right(kind: type[Forest]) -> None:
    """Statistics are those of the best split, so a node that has another one gets none; the first row mends it."""
    random = np.random.default_rng(6)
    X = random.normal(size=(2_000, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    forest = kind(n_estimators=1, max_depth=1, max_features=None, random_state=1).fit(X, y)
    parts = Model.parsed(forest.to_bytes())
    parts.trees[0].thresholds[0] += 0.5
    loaded = kind.from_bytes(parts.packed())
    assert loaded.settle() == 0
    assert loaded.check()
    between = np.flatnonzero((X[:, 0] > 0) & (X[:, 0] < 0.5))[:20].tolist()  # on another side than in the file
    for row_id in between:
        loaded.delete([row_id])
        assert loaded.check()
    forest.delete(between)
    assert loaded.fingerprint() == forest.fingerprint()
