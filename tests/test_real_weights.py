"""Weights of rows that are not whole numbers: multiples of a unit that `fit` resolves (docs/algorithm.md, 2.1)."""

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError, load
from strategies import KINDS, Forest


def rows_of(kind: type, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, targets and weights."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 3)).round(1)
    y = X[:, 0] + rng.normal(size=n_rows)
    return X, y > 0 if kind is DareForestClassifier else y, rng.random(n_rows) * 3


def made(kind: type, y: np.ndarray, **others: Any) -> Forest:
    """An unfitted forest that takes all of these targets."""
    ends = {} if kind is DareForestClassifier else {"target_range": (float(y.min()), float(y.max()))}
    return kind(n_estimators=8, random_state=3, **ends, **others)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("others", [{}, {"lazy": True}, {"max_samples": 0.5}, {"min_samples_leaf": 3}], ids=str)
def test_rows_with_real_weights_come_and_go_exactly(kind: type, others: dict[str, Any]) -> None:
    """With the same unit, the forest is that of the rows that are left."""
    X, y, weights = rows_of(kind)
    forest = made(kind, y, **others).fit(X, y, sample_weight=weights)
    before = forest.fingerprint()
    forest.delete(range(30))
    assert forest.verify()
    assert forest.check()
    left = np.arange(30, 200)
    fresh = made(kind, y, weight_unit=forest.weight_unit_, **others)
    fresh.fit(X[left], y[left], ids=left, sample_weight=weights[left])
    assert forest.fingerprint() == fresh.fingerprint()
    forest.add(X[:30], y[:30], ids=range(30), sample_weight=weights[:30])
    assert forest.fingerprint() == before


@pytest.mark.parametrize("kind", KINDS)
def test_halves_are_as_good_as_whole_numbers(kind: type) -> None:
    """Trees of weights in halves, in units of a half, are those of twice the weights."""
    X, y, _ = rows_of(kind)
    whole = np.random.default_rng(0).integers(0, 5, len(y))
    halves = made(kind, y, weight_unit=0.5).fit(X, y, sample_weight=whole / 2)
    assert halves.fingerprint() == made(kind, y).fit(X, y, sample_weight=whole).fingerprint()
    assert halves.predict(X).tobytes() == made(kind, y).fit(X, y, sample_weight=whole).predict(X).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_common_factor_changes_no_tree(kind: type) -> None:
    """Weights that add up to 1 are as good as any: the defaults of min_samples_* are no limit."""
    X, y, weights = rows_of(kind)
    one = made(kind, y).fit(X, y, sample_weight=weights)
    for factor in (2.0**-30, 0.25, 1024.0, 2.0**60):
        other = made(kind, y).fit(X, y, sample_weight=weights * factor)
        assert other.fingerprint() == one.fingerprint()
        assert other.weight_unit_ == one.weight_unit_ * factor


@given(st.lists(st.floats(0, 1e290) | st.floats(0, 1) | st.floats(0, 1e-270), min_size=1, max_size=6))
def test_unit_and_weights_follow_the_definition(weights: list[float]) -> None:
    """Worked out in fractions."""
    X, y = np.arange(len(weights), dtype=np.float32)[:, None], np.arange(len(weights)) % 2
    if not any(weights):
        with pytest.raises(InvalidInputError, match="positive weight"):
            DareForestClassifier(1, random_state=0).fit(X, y, sample_weight=weights)
        return
    if math.fsum(weights) < 1e-280:
        with pytest.raises(InvalidInputError, match="multiply all weights"):
            DareForestClassifier(1, random_state=0).fit(X, y, sample_weight=weights)
        return
    forest = DareForestClassifier(1, random_state=0).fit(X, y, sample_weight=weights)
    assert DareForestClassifier.from_bytes(forest.to_bytes()).weight_unit_ == forest.weight_unit_
    total = Fraction(math.fsum(weights))
    is_whole = all(weight == math.floor(weight) for weight in weights) and total < 2**30
    unit = Fraction(forest.weight_unit_)
    if is_whole:
        assert unit == 1
    else:
        assert total / unit <= 2**28 * (1 + Fraction(1, 2**40))
        assert total / unit > 2**27 * (1 - Fraction(1, 2**40))
    held = forest.rows(forest.ids_).sample_weight
    expected = [max(1, round(Fraction(weight) / unit)) * unit for weight in weights if weight]
    assert [Fraction(float(weight)) for weight in held] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_weights_are_told_as_weights(kind: type, tmp_path: Any) -> None:
    """Nodes, rows, reports and files speak of weights, not of units."""
    X, y, weights = rows_of(kind)
    forest = made(kind, y).fit(X, y, sample_weight=weights)
    assert forest.tree_nodes(0)[0].n_rows == pytest.approx(weights.sum())
    assert forest.tree_view(0).counts[0].sum() == pytest.approx(weights.sum())
    assert forest.rows([7]).sample_weight[0] == pytest.approx(weights[7], rel=1e-5)
    assert 0 <= forest.deletion_cost([7]).n_rows_retrained <= 8 * weights.sum() * 20
    costs = [forest.deletion_cost([row]).n_rows_retrained for row in range(50)]
    assert forest.deletion_costs(range(50)).tolist() == costs
    forest.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.weight_unit_, again.fingerprint()) == (forest.weight_unit_, forest.fingerprint())
    again.delete([7])
    assert again.verify()


def test_leaves_have_their_least_weight() -> None:
    """A limit is a sum of weights."""
    X, y, weights = rows_of(DareForestRegressor)
    forest = made(DareForestRegressor, y, min_samples_leaf=5).fit(X, y, sample_weight=weights)
    leaves = [node for tree in range(8) for node in forest.tree_nodes(tree) if node.kind == "leaf"]
    assert len(leaves) > 20
    assert all(leaf.n_rows >= 5 for leaf in leaves)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_of_whole_numbers_refuses_fractions(kind: type) -> None:
    """It says what to do, and nothing changes."""
    X, y, _ = rows_of(kind)
    forest = made(kind, y).fit(X, y)
    before = forest.fingerprint()
    with pytest.raises(InvalidInputError, match=r"sample_weight\[1\] is 0\.5.*weight_unit"):
        forest.add(X[:2], y[:2], sample_weight=[1, 0.5])
    assert forest.fingerprint() == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", [1, 1.0, np.float32(1), 2.0], ids=repr)
def test_a_given_unit_rounds_whatever_it_is(kind: type, unit: Any) -> None:
    """In units of 1, 0.4 counts as 1, 2.5 as 2 and 3.5 as 4: at `fit`, in later batches, and after loading."""
    X, y, _ = rows_of(kind)
    weights = unit * np.resize([0.4, 1, 2.5, 3.5, 0], len(y))
    whole = made(kind, y).fit(X, y, sample_weight=np.resize([1, 1, 2, 4, 0], len(y)))
    forest = made(kind, y, weight_unit=unit).fit(X[:100], y[:100], sample_weight=weights[:100])
    forest = kind.from_bytes(forest.to_bytes())
    forest.add(X[100:], y[100:], ids=range(100, len(y)), sample_weight=weights[100:])
    assert forest.weight_unit_ == unit
    fresh = made(kind, y, weight_unit=unit).fit(X, y, sample_weight=weights)
    assert forest.fingerprint() == fresh.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("kind", KINDS)
def test_three_times_the_weight_can_be_added(kind: type) -> None:
    """By partial_fit, too. Beyond that the error says what the limit counts, and a larger unit makes room."""
    X, y, weights = rows_of(kind)
    parts, roomy = made(kind, y), made(kind, y, weight_unit=2.0**-10)
    for forest in (parts, roomy):
        for _ in range(4):
            forest.partial_fit(X, y, sample_weight=weights)
    before = parts.fingerprint()
    heavy = {"ids": range(10_000, 10_200), "sample_weight": weights * 5}
    with pytest.raises(InvalidInputError, match=r"fewer than 2\^30 rows, .* as w / `weight_unit`"):
        parts.add(X, y, **heavy)
    assert parts.fingerprint() == before
    assert roomy.add(X, y, **heavy).n_rows == 200


def test_fractions_whose_unit_comes_out_as_1_are_rounded() -> None:
    """So the definition says: 2^27 + 0.5 in all is at most 2^28."""
    forest = DareForestClassifier(1, random_state=0).fit(np.zeros((2, 1)), [0, 1], sample_weight=[2**27, 0.5])
    assert forest.weight_unit_ == 1
    assert forest.rows([0, 1]).sample_weight.tolist() == [2**27, 1]


@pytest.mark.parametrize("weight", [1e-300, 5e-324, 1e300, math.inf, -1, math.nan])
def test_weights_that_are_too_small_or_too_large_are_refused(weight: float) -> None:
    """With a reason that is true, in one sentence or two."""
    reason = "must come to at least 1e-280" if 0 < weight < 1 else "must be 0 or a number below 1e300"
    with pytest.raises(InvalidInputError, match=reason):
        DareForestClassifier(1).fit(np.zeros((60, 1)), np.arange(60) % 2, sample_weight=np.full(60, weight))


@pytest.mark.parametrize("weight", [1e-281, 9e298])
@pytest.mark.filterwarnings("error")
def test_weights_at_the_ends_live_as_others_do(weight: float) -> None:
    """Deleted, added, stored and loaded; where numbers of rows are told, they are as large as an integer can be."""
    X, y, _ = rows_of(DareForestClassifier)
    weights = np.full(len(y), weight)
    forest = DareForestClassifier(2, random_state=0).fit(X, y, sample_weight=weights)
    report = forest.delete([0])
    assert 0 <= report.n_rows_retrained < 2**63
    assert (forest.deletion_costs([1, 2]) >= 0).all()
    forest.add(X[:1], y[:1], ids=[0], sample_weight=weights[:1])
    assert DareForestClassifier.from_bytes(forest.to_bytes()).fingerprint() == forest.fingerprint()
    assert forest.verify()


@pytest.mark.parametrize("unit", [0, -1, math.nan, math.inf, "1", True, 1e305], ids=repr)
def test_bad_units_are_refused(unit: Any) -> None:
    """The message names the value."""
    X, y, weights = rows_of(DareForestClassifier)
    with pytest.raises(InvalidInputError, match=f"weight_unit must be .* but is {re.escape(repr(unit))}"):
        DareForestClassifier(weight_unit=unit).fit(X, y, sample_weight=weights)
