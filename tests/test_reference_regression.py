"""The reference's regression forests, against small cases worked out by hand (docs/algorithm.md, 2.10)."""

import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference import (
    FixedPoint,
    Leaf,
    Node,
    ReferenceParams,
    Split,
    Sums,
    arrivals,
    fit_reference,
    fixed_point_of,
    out_of_bag,
    predict_quantiles,
    predict_targets,
    preorder,
    regression_fingerprint,
    sampled_candidates,
    sums_of,
    target_range,
    valid_cuts,
)
from reference.forest import trees_of_row
from reference.hashing import CANDIDATE, H, R, root_key
from reference.predictions import weights_around
from reference.scores import squared_error
from reference.splits import bits

TARGETS = st.floats(-1e300, 1e300)
HUGE_Z = round(Fraction(int(1e300), 2**960))
PARAMS = ReferenceParams(
    n_estimators=1,
    max_depth=10,
    n_thresholds=None,
    random_depth=0,
    max_features=100,
    candidates="valid",
    criterion="squared_error",
    min_samples_split=2,
    min_samples_leaf=1,
    trees_per_row=1,
    seed=7,
)


def column_of(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None]


def grown(X: np.ndarray, z: Any, weights: Any = None, **changed: Any) -> list[Node]:
    """The trees of rows with the ids 0, 1, 2, …"""
    return fit_reference(replace(PARAMS, **changed), np.arange(len(X)), X, np.asarray(z), weights)


def shape(tree: Node) -> list[tuple]:
    """All that a tree says of its nodes but ids."""
    return [(its.kind, its.depth, its.attribute, its.threshold, sums_of(its.counts)) for its in preorder(tree)]


def squared_errors(z: list[int]) -> Fraction:
    """The sum of squared distances to the mean."""
    mean = Fraction(sum(z), len(z))
    return sum(((its - mean) ** 2 for its in z), Fraction(0))


@pytest.mark.parametrize(
    ("low", "high", "e", "offset", "z_low", "z_high"),
    [
        (0.0, 1.0, -38, 0.0, 0, 2**38),
        (-1.0, 1.0, -37, 0.0, -(2**37), 2**37),
        (0.0, 3.0, -36, 0.0, 0, 3 * 2**36),
        (10.0, 11.0, -38, 10.0, 0, 2**38),  # 10.5 is rounded to the even 10
        (11.0, 12.0, -38, 12.0, -(2**38), 0),  # and 11.5 to 12
        (100.0, 107.0, -35, 104.0, -4 * 2**35, 3 * 2**35),
        (-107.0, -100.0, -35, -104.0, -3 * 2**35, 4 * 2**35),
        (0.0, 2.0**-960, -998, 0.0, 0, 2**38),
        (0.0, 2.0**-961, -998, 0.0, 0, 2**37),  # the scale becomes no finer
        (-5e-324, 5e-324, -998, 0.0, 0, 0),
        (-1e300, 1e300, 960, 0.0, -HUGE_Z, HUGE_Z),
    ],
)
def test_fixed_point_of_a_range(low: float, high: float, e: int, offset: float, z_low: int, z_high: int) -> None:
    fixed_point = fixed_point_of(low, high)
    assert fixed_point == FixedPoint(e, offset)
    assert fixed_point.z(np.array([low, high])).tolist() == [z_low, z_high]


@pytest.mark.parametrize(
    ("target", "e", "offset", "z"),
    [
        (0.0, -38, 0.0, 0),
        (4.0, -36, 4.0, 0),
        (5.0, -35, 8.0, -3 * 2**35),
        (-5.0, -35, -8.0, 3 * 2**35),
        (5e-324, -998, 0.0, 0),
        (2.0**996, 958, 2.0**996, 0),
    ],
)
def test_fixed_point_of_a_constant(target: float, e: int, offset: float, z: int) -> None:
    fixed_point = fixed_point_of(target, target)
    assert fixed_point == FixedPoint(e, offset)
    assert fixed_point.z(np.array([target])).tolist() == [z]


def test_an_offset_of_zero_has_no_sign() -> None:
    """The fingerprint would show it."""
    assert math.copysign(1.0, fixed_point_of(-1.0, 0.5).offset) == 1.0
    assert math.copysign(1.0, fixed_point_of(-0.5, 1.0).offset) == 1.0


@given(TARGETS, TARGETS, st.floats(0, 1))
def test_targets_of_the_range_fit_and_come_back(a: float, b: float, share: float) -> None:
    low, high = sorted((a, b))
    y = np.array([low, high, min(max(low + share * (high - low), low), high)])
    fixed_point = fixed_point_of(low, high)
    z = fixed_point.z(y)
    assert np.abs(z).max() <= 2**38
    half_step = math.ldexp(1.0, fixed_point.e - 1)
    assert np.all(np.abs(fixed_point.target(z) - y) <= half_step + np.spacing(np.abs(y)))


def test_z_is_rounded_half_to_even() -> None:
    halves = np.array([1, 3, 5, -1, -3]) * 2.0**-39
    assert fixed_point_of(0.0, 1.0).z(halves).tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize(
    ("ends", "accepted", "refused"),
    [
        ((0.0, 1.0), [-4.0, 4.0, 4.0 + 2.0**-39], [4.0 + 2.0**-38, -4.1, 1e300, np.nan, np.inf]),
        ((-1e300, 1e300), [1e300], [np.nextafter(1e300, np.inf), -1.1e300]),
        ((0.0, 0.0), [4.0], [1e300, -np.inf]),
    ],
)
def test_targets_that_are_too_far_away_are_refused(ends: tuple, accepted: list, refused: list) -> None:
    fixed_point = fixed_point_of(*ends)
    fixed_point.z(np.array(accepted))
    for target in refused:
        with pytest.raises(ValueError, match="too far"):
            fixed_point.z(np.array([0.0, target]))


def test_a_row_without_weight_has_no_part_in_the_range() -> None:
    y = np.array([3.0, -9.0, 5.0])
    assert target_range(y) == (-9.0, 5.0)
    assert target_range(y, np.array([1, 0, 2])) == (3.0, 5.0)


def test_equal_targets_are_a_leaf() -> None:
    """Equal z are equal targets, even where the numbers differ by less than a step."""
    fixed_point = fixed_point_of(0.0, 1.0)
    z = fixed_point.z(np.array([0.5, 0.5 + 2.0**-50, 0.5]))
    (tree,) = grown(column_of(1, 2, 3), z, np.array([1, 5, 1]))
    assert tree == Leaf(0, Counter({2**37: 7}), (0, 1, 2))


def test_no_rows_are_a_leaf() -> None:
    (tree,) = grown(np.zeros((0, 1), np.float32), np.zeros(0, int))
    assert tree == Leaf(0, Counter(), ())
    assert sums_of(tree.counts) == Sums(0, 0)


def test_cuts_beside_one_and_the_same_target_are_not_valid() -> None:
    column = np.array([1, 2, 3, 4, 4, 5, np.nan], np.float32)
    z = np.array([-7, -7, 8, 8, 9, 9, 9])
    assert valid_cuts(column[:6], z[:6]) == [(2.0, 3.0), (3.0, 4.0), (4.0, 5.0)]
    assert [u for u, _ in valid_cuts(column, z)] == [2.0, 3.0, 4.0]  # not 5, whose next value NaN has the same target


def test_every_value_is_marked() -> None:
    """Even where most rows have one target, candidates have the rank of their lower value."""
    column = np.arange(20, dtype=np.float32)
    z = np.zeros(20, int)
    z[13] = 5
    ranks = {c.threshold: c.rank for c in sampled_candidates(3, 4, column, z, None, has_classes=False)}
    assert ranks == {u + 0.5: R(H(3, CANDIDATE, 4), bits(u)) for u in (12.0, 13.0)}
    (tree,) = grown(column[:, None], z, max_depth=1, n_thresholds=1)
    assert isinstance(tree, Split)
    lower = min((12.0, 13.0), key=lambda u: R(H(root_key(7, 0), CANDIDATE, 0), bits(u)))
    assert tree.threshold == lower + 0.5


def test_score_is_n_times_the_decrease() -> None:
    """Targets 0 | 4, 8 have 32 as their sum of squared errors, and 0 + 8 after the split."""
    assert squared_error(Counter({0: 1}), Counter({4: 1, 8: 1})) == -3 * (32 - 8)
    assert squared_error(Counter({0: 2}), Counter({4: 3, -4: 3})) == 0


Z = st.integers(-(2**40), 2**40)


@given(st.lists(Z, min_size=1, max_size=8), st.lists(Z, min_size=1, max_size=8))
def test_score_is_exact_but_for_the_last_digits(left: list[int], right: list[int]) -> None:
    """The difference A of large products is an integer: nothing cancels."""
    both = left + right
    decrease = len(both) * (squared_errors(both) - squared_errors(left) - squared_errors(right))
    assert -squared_error(Counter(left), Counter(right)) == pytest.approx(float(decrease), rel=1e-15, abs=0)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1), st.integers(-50, 50), st.integers(1, 3)), min_size=2))
def test_the_root_has_the_least_squared_error(rows: list[tuple[int, int, int, int]]) -> None:
    """No cut between any two values, valid or not, is better; one of the values is missing."""
    table = np.array(rows)
    X = table[:, :2].astype(np.float32)
    X[table[:, 0] == 3, 0] = np.nan
    z, weights = table[:, 2], table[:, 3]
    assume(len(set(z.tolist())) > 1)
    (tree,) = grown(X, z, weights, max_depth=1)

    def errors_of(goes_left: np.ndarray) -> Fraction:
        sides = [np.repeat(z[chosen], weights[chosen]).tolist() for chosen in (goes_left, ~goes_left)]
        return sum((squared_errors(side) for side in sides if side), Fraction(0))

    cuts = [X[:, a] <= u for a in (0, 1) for u in np.unique(X[:, a])]
    parting = [goes_left for goes_left in cuts if 0 < goes_left.sum() < len(rows)]
    if not parting:
        assert isinstance(tree, Leaf)
        return
    assert isinstance(tree, Split)
    assert errors_of(X[:, tree.attribute] <= tree.threshold) == min(map(errors_of, parting))


def test_missing_values_go_right() -> None:
    (tree,) = grown(column_of(5, np.nan, 5, np.nan), [1, 2, 1, 2])
    assert shape(tree) == [
        ("greedy", 0, 0, math.inf, Sums(4, 6)),
        ("leaf", 1, None, None, Sums(2, 2)),
        ("leaf", 1, None, None, Sums(2, 4)),
    ]


def test_leaves_and_splits_have_their_least_rows_by_weight() -> None:
    X, z, weights = column_of(1, 2, 3), [0, 0, 100], np.array([1, 1, 2])
    split = ("greedy", 0, 0, 2.5, Sums(4, 200))
    assert shape(grown(X, z, weights, min_samples_leaf=2, min_samples_split=4)[0])[0] == split
    assert isinstance(grown(X, z, weights, min_samples_leaf=3)[0], Leaf)
    assert isinstance(grown(X, z, weights, min_samples_split=5)[0], Leaf)


SCHEMES = [
    {},
    {"n_thresholds": 2},
    {"random_depth": 2},
    {"candidates": "uniform", "n_thresholds": 3},
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_row_of_weight_w_is_w_rows(scheme: dict) -> None:
    rng = np.random.default_rng(0)
    X, z, weights = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(-5, 5, 30), rng.integers(0, 4, 30)
    one_by_one = grown(np.repeat(X, weights, axis=0), np.repeat(z, weights), **scheme)
    assert shape(grown(X, z, weights, **scheme)[0]) == shape(one_by_one[0])


@pytest.mark.parametrize("scheme", [{"random_depth": 1}, {"candidates": "uniform", "n_thresholds": 1}], ids=str)
def test_one_uniform_threshold_is_the_first_arrival(scheme: dict) -> None:
    (tree,) = grown(column_of(2, 3, 9), [1, 2, 3], max_depth=1, **scheme)
    assert isinstance(tree, Split)
    assert tree.kind == ("random" if "random_depth" in scheme else "greedy")
    assert [tree.threshold] == arrivals(root_key(7, 0), 0, 2.0, 9.0, 1)


def test_nodes_of_a_thousand_rows_get_no_noise() -> None:
    """The best of some thresholds is the nearest to the only step."""
    X = np.arange(1200, dtype=np.float32)[:, None]
    (tree,) = grown(X, np.arange(1200) // 600, candidates="uniform", n_thresholds=9, max_depth=1)
    assert isinstance(tree, Split)
    thresholds = arrivals(root_key(7, 0), 0, 0.0, 1199.0, 9)
    assert tree.threshold == min(thresholds, key=lambda threshold: abs(math.floor(threshold) - 599))


def test_rows_belong_to_some_of_the_trees() -> None:
    X, z = column_of(*range(12)), np.arange(12)
    trees = grown(X, z, n_estimators=5, trees_per_row=2)
    params = replace(PARAMS, n_estimators=5, trees_per_row=2)
    for t, tree in enumerate(trees):
        ids = {row for record in preorder(tree) for row in record.ids}
        assert ids == {row for row in range(12) if t in trees_of_row(params, row)}


def test_prediction_is_the_mean_of_a_leaf() -> None:
    """The best split leaves 0, 0 | 8, 10."""
    X, y = column_of(0, 1, 2, 3), np.array([0.0, 0.0, 8.0, 10.0])
    fixed_point = fixed_point_of(0.0, 10.0)
    assert fixed_point == FixedPoint(-34, 0.0)
    trees = grown(X, fixed_point.z(y), max_depth=1)
    assert predict_targets(fixed_point, trees, column_of(-7, 1.5, 1.75, np.nan)).tolist() == [0.0, 0.0, 9.0, 9.0]
    weighted = grown(X, fixed_point.z(y), np.array([1, 1, 1, 3]), max_depth=1)
    assert predict_targets(fixed_point, weighted, column_of(3)).tolist() == [9.5]


def test_prediction_is_the_mean_over_trees_that_hold_rows() -> None:
    """Two rows are in one tree each: the others hold none and do not count."""
    fixed_point = fixed_point_of(-3.0, 5.0)
    trees = grown(column_of(0, 0), fixed_point.z(np.array([-3.0, 5.0])), n_estimators=20)
    assert len([tree for tree in trees if tree.counts]) == 2
    assert predict_targets(fixed_point, trees, column_of(0)).tolist() == [1.0]


def test_quantiles_of_a_leaf_by_hand() -> None:
    """One row at 0, three at 4, of which one weighs two, and one at 10."""
    trees = grown(column_of(0, 0, 0, 0), [10, 4, 0, 4], np.array([1, 2, 1, 1]))
    shares = [0.0, 0.2, 0.21, 0.5, 0.8, 0.81, 1.0]
    assert predict_quantiles(FixedPoint(0, 0.0), trees, column_of(0), shares).tolist() == [[0, 0, 4, 4, 4, 10, 10]]


def test_rounding_of_a_share_misses_no_row() -> None:
    """A fifth is no double: seven leaves of five rows give the same rows as one of them."""
    leaf = Leaf(0, Counter(dict.fromkeys(range(1, 6), 1)), ())
    for n_trees in (1, 7):
        found = predict_quantiles(FixedPoint(0, 0.0), [leaf] * n_trees, column_of(0), [0.2, 0.4, 0.1 + 0.7, 0.81])
        assert found.tolist() == [[1, 2, 4, 5]]


def test_leaves_weigh_the_same_in_quantiles() -> None:
    """A tree with one row at 0 and one with three rows at 7: each has half of the weight, but for what is cut off."""
    alone, three, empty = (Leaf(0, Counter(counts), ()) for counts in ({0: 1}, {7: 3}, {}))
    found = predict_quantiles(FixedPoint(0, 1.0), [alone, empty, three], column_of(0), [0.1, 0.5, 0.51])
    assert found.tolist() == [[1.0, 1.0, 8.0]]
    assert weights_around([alone, empty, three], column_of(0)[0]) == {0: 2**60, 7: 2**60 - 1}


def test_out_of_bag_leaves_out_the_trees_of_a_row() -> None:
    """Six rows belong to one of two trees each: the last of them, by its id, to the one that the others are not in."""
    X, z = column_of(0, 0, 0, 0, 0, 0), [1, 2, 3, 4, 5, 100]
    params = replace(PARAMS, n_estimators=2)
    assert [trees_of_row(params, row) for row in range(6)] == [{1}] * 5 + [{0}]

    def predicted(trees: Sequence[Node], rows: np.ndarray) -> np.ndarray:
        return predict_targets(FixedPoint(0, 0.0), trees, rows)

    trees = grown(X, z, n_estimators=2)
    assert out_of_bag(params, trees, range(6), X, predicted) == [100.0] * 5 + [3.0]
    without_the_last = grown(X[:5], z[:5], n_estimators=2)
    assert out_of_bag(params, without_the_last, range(5), X[:5], predicted) == [None] * 5


def test_fingerprint_of_a_leaf_by_hand() -> None:
    """A row of z = -1 and weight 3, and one of z = -5 and weight 1."""
    trees = grown(column_of(0, 0), [-1, -5], np.array([3, 1]))
    minus_eight = (2**128 - 8).to_bytes(16, "little")
    leaf = b"\x03" + struct.pack("<Q", 4) + minus_eight + struct.pack("<Qqq", 2, 0, 1)
    head = b"deciduous-regression-1" + struct.pack("<IIQid", 1, 1, 2, -38, 2.5)
    expected = blake2b(head + blake2b(leaf, digest_size=32).digest(), digest_size=32).hexdigest()
    assert regression_fingerprint(trees, 1, 2, FixedPoint(-38, 2.5)) == expected


def test_fingerprint_tells_forests_apart() -> None:
    """One other id, target, weight, scale or offset is another forest; another order of rows is not."""
    ids, X, z = np.array([3, -1, 8]), column_of(1, 2, 3), np.array([5, 6, 7])
    plain = FixedPoint(0, 0.0)

    def fingerprint_of(ids: Any, X: np.ndarray, z: Any, weights: Any = None, fixed_point: FixedPoint = plain) -> str:
        trees = fit_reference(PARAMS, np.asarray(ids), X, np.asarray(z), weights)
        return regression_fingerprint(trees, 1, len(ids), fixed_point)

    others = [
        fingerprint_of([3, -1, 9], X, z),
        fingerprint_of(ids, X, [5, 6, 8]),
        fingerprint_of(ids, X, z, np.array([1, 1, 2])),
        fingerprint_of(ids, X, z, None, FixedPoint(1, 0.0)),
        fingerprint_of(ids, X, z, None, FixedPoint(0, 1.0)),
    ]
    original = fingerprint_of(ids, X, z)
    assert len({original, *others}) == 6
    assert fingerprint_of(ids[::-1], X[::-1], z[::-1]) == original
