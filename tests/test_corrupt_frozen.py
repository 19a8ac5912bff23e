"""Frozen forests as bytes: their format as documented, and bytes that are damaged or made to do harm."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deciduous
from deciduous import (
    CorruptModelError,
    DareForestClassifier,
    DareForestRegressor,
    FrozenForestClassifier,
    FrozenForestRegressor,
)
from file_format import Frozen, as_json, container, sections_of, with_section
from tampering import INF, NAN
from test_frozen import PROBES, rows_of

Reader = type[FrozenForestClassifier] | type[FrozenForestRegressor]
Change = Callable[[Frozen], None]


def model(kind: type[DareForestClassifier] | type[DareForestRegressor]) -> bytes:
    """A small frozen forest with impure leaves; a regressor has the numbers of the classes as targets."""
    return kind(n_estimators=3, max_depth=4, random_state=0).fit(*rows_of(80)).freeze().to_bytes()


MODEL, REGRESSION = model(DareForestClassifier), model(DareForestRegressor)
SECTIONS = dict(sections_of(MODEL))
EVERY_MODEL: dict[str, tuple[bytes, Reader]] = {
    "classes": (MODEL, FrozenForestClassifier),
    "numbers": (REGRESSION, FrozenForestRegressor),
}
OF_EVERY_MODEL = pytest.mark.parametrize(("sound", "reader"), EVERY_MODEL.values(), ids=EVERY_MODEL)


def frozen_section(sound: bytes) -> bytes:
    """The section that holds the trees."""
    return dict(sections_of(sound))["frozen"]


def test_format_is_as_documented() -> None:
    """A reader that shares no code with the package predicts the same, and writes the same bytes."""
    section = Frozen(SECTIONS["frozen"])
    assert section.packed() == SECTIONS["frozen"]
    assert container(list(SECTIONS.items())) == MODEL
    shares = FrozenForestClassifier.from_bytes(MODEL).predict_proba(PROBES)
    assert all((section.value_of(row) == its).all() for row, its in zip(PROBES, shares, strict=True))


def test_wide_numbers_are_stored_as_documented() -> None:
    """300 attributes take two bytes each; more than 256 different leaves too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 300)).astype(np.float32)
    forest = DareForestClassifier(n_estimators=40, max_depth=5, max_features=3, random_state=0)
    frozen = forest.fit(X, rng.integers(0, 3, 3000)).freeze()
    section = Frozen(dict(sections_of(frozen.to_bytes()))["frozen"])
    assert (section.attribute_kind, section.leaf_kind) == ("H", "H")
    again = FrozenForestClassifier.from_bytes(frozen.to_bytes())
    assert again.to_bytes() == frozen.to_bytes()
    assert (section.value_of(X[0]) == again.predict_proba(X[:1])[0]).all()
    assert (again.predict_proba(X) == forest.predict_proba(X)).all()


def assert_refused_or_sound(data: bytes, reader: Reader) -> bool:
    """Whether the bytes are a model; it predicts shares or numbers that can be then."""
    try:
        frozen = reader.from_bytes(data)
    except CorruptModelError:
        return False
    assert len(frozen.predict([])) == 0
    if frozen.n_features_in_ >= 1000:
        return True
    probes = np.zeros((3, frozen.n_features_in_), np.float32)
    if isinstance(frozen, FrozenForestRegressor):
        low, high = frozen._target_scale.limits
        assert ((frozen.predict(probes) >= low) & (frozen.predict(probes) <= high)).all()
    else:
        shares = frozen.predict_proba(probes)
        assert np.allclose(shares.sum(axis=1), 1)
        assert (shares >= 0).all()
    return True


@OF_EVERY_MODEL
def test_truncated_bytes_are_refused(sound: bytes, reader: Reader) -> None:
    """At every length."""
    for n in range(len(sound)):
        with pytest.raises(CorruptModelError):
            reader.from_bytes(sound[:n])


@OF_EVERY_MODEL
def test_every_changed_bit_is_noticed(sound: bytes, reader: Reader) -> None:
    """The checksums cover every byte."""
    rng = random.Random(0)
    for place in range(len(sound)):
        changed = bytearray(sound)
        changed[place] ^= 1 << rng.randrange(8)
        with pytest.raises(CorruptModelError):
            reader.from_bytes(bytes(changed))


@OF_EVERY_MODEL
@pytest.mark.parametrize("seed", range(4))
def test_tampered_bytes_with_right_checksums_are_refused_or_sound(seed: int, sound: bytes, reader: Reader) -> None:
    """A thousand each: bits flipped, numbers replaced, pieces cut out, doubled or moved."""
    rng = random.Random(seed)
    n_sound = 0
    for _ in range(1000):
        section = bytearray(frozen_section(sound))
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            place = rng.randrange(24) if rng.random() < 0.3 else rng.randrange(len(section))
            match rng.randrange(4):
                case 0:
                    section[place] ^= 1 << rng.randrange(8)
                case 1:
                    number = struct.pack("<I", rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)]))
                    section[place : place + 4] = number
                case 2:
                    del section[place : place + rng.randrange(1, 9)]
                case 3:
                    section[place:place] = section[place : place + rng.randrange(1, 9)]
            if len(section) < 24:
                section = bytearray(frozen_section(sound))
        n_sound += assert_refused_or_sound(with_section(sound, "frozen", bytes(section)), reader)
    assert n_sound > 10  # thresholds may be other numbers


@OF_EVERY_MODEL
@pytest.mark.parametrize("n", range(120))
def test_truncated_section_with_right_checksums_is_refused(n: int, sound: bytes, reader: Reader) -> None:
    """At the beginning, and in steps through all of it."""
    section = frozen_section(sound)
    with pytest.raises(CorruptModelError):
        reader.from_bytes(with_section(sound, "frozen", section[: n * len(section) // 120]))


def chain(depth: int) -> Change:
    """One tree that goes this deep on its left."""

    def change(section: Frozen) -> None:
        bits = [1] * depth + [0] * (depth + 1)
        section.header[2] = 1
        section.header[4] = len(bits)
        section.shape = [sum(bit << k for k, bit in enumerate(bits[i : i + 8])) for i in range(0, len(bits), 8)]
        section.attributes, section.thresholds = [0] * depth, [0.5] * depth
        n_values = section.header[3]
        section.leaves = [i % n_values for i in range(depth + 1)]

    return change


def set_item(name: str, place: int, value: Any) -> Change:
    return lambda section: getattr(section, name).__setitem__(place, value)


def swap_leaf_values(section: Frozen) -> None:
    n = section.length
    section.values[: 2 * n] = section.values[n : 2 * n] + section.values[:n]


def hide_leaf_value(section: Frozen) -> None:
    section.leaves = [leaf or 1 for leaf in section.leaves]


TAMPERED: dict[str, tuple[Change, str]] = {
    "no attributes": (set_item("header", 0, 0), "0 attributes"),
    "fewer attributes": (set_item("header", 0, 1), "attribute"),
    "no trees": (set_item("header", 2, 0), "0 trees"),
    "one tree less": (set_item("header", 2, 2), "belong to no tree"),
    "one tree more": (set_item("header", 2, 4), "middle of a tree"),
    "trees without end": (set_item("header", 2, 2**32 - 1), "trees but"),
    "leaf values without end": (set_item("header", 3, 2**32 - 1), "different leaves"),
    "many leaf values": (set_item("header", 3, 2**31 - 1), "middle of an array"),
    "nodes without end": (set_item("header", 4, 2**64 - 1), "middle of an array"),
    "nodes to overflow": (set_item("header", 4, 2**63), "middle of an array"),
    "no nodes": (set_item("header", 4, 0), "too many"),
    "attribute out of range": (set_item("attributes", 0, 3), "attribute 3 of 3"),
    "threshold NaN": (set_item("thresholds", 1, float("nan")), "threshold"),
    "threshold -inf": (set_item("thresholds", 1, float("-inf")), "threshold"),
    "leaf out of range": (set_item("leaves", 2, 255), "leaf 255 of"),
    "leaf values out of order": (swap_leaf_values, "ascending"),
    "leaf value of no leaf": (hide_leaf_value, "no leaf"),
    "bits after the last node": (lambda s: s.shape.__setitem__(-1, s.shape[-1] | 0x80), "after the last"),
    "too deep": (chain(257), "larger than trees can be"),
    "much too deep": (chain(200_000), "larger than trees can be"),
}


TAMPERED_SHARES: dict[str, tuple[Change, str]] = {
    "no classes": (set_item("header", 1, 0), "0 classes"),
    "classes without end": (set_item("header", 1, 2**32 - 1), "middle of an array"),
    "share NaN": (set_item("values", 0, NAN), "no share"),
    "share infinite": (set_item("values", 0, INF), "no share"),
    "share negative": (set_item("values", 0, -0.5), "no share"),
    "share -0.0": (set_item("values", 0, -0.0), "no share"),
    "share above 1": (set_item("values", 0, 1.0000001), "no share"),
    "shares of too small a sum": (set_item("values", 2, 0.5), "sum up to 1"),
}
TAMPERED_MEANS: dict[str, tuple[Change, str]] = {
    "a class": (set_item("header", 1, 1), "1 classes"),
    "classes without end": (set_item("header", 1, 2**32 - 1), "4294967295 classes"),
    "mean NaN": (set_item("values", 1, NAN), "no target"),
    "mean infinite": (set_item("values", -1, INF), "no target"),
    "mean of minus infinity": (set_item("values", 0, -INF), "no target"),
    "mean above all targets": (set_item("values", -1, 2.0**40 * (1 + 2**-52)), "no target"),
    "mean below all targets": (set_item("values", 0, -(2.0**40) * (1 + 2**-52)), "no target"),
    "mean -0.0": (set_item("values", 0, -0.0), "no target"),
    "a mean twice": (lambda s: s.values.__setitem__(1, s.values[0]), "ascending"),
    "a mean that was skipped": (lambda s: s.values.__setitem__(0, s.values[1] + 1), "ascending"),
}


def assert_refused(change: Change, reason: str, sound: bytes, reader: Reader) -> None:
    """A changed section with right checksums is refused for this reason."""
    section = Frozen(frozen_section(sound))
    change(section)
    with pytest.raises(CorruptModelError, match=reason):
        reader.from_bytes(with_section(sound, "frozen", section.packed()))


@OF_EVERY_MODEL
@pytest.mark.parametrize(("change", "reason"), TAMPERED.values(), ids=TAMPERED)
def test_tampered_section_is_refused_with_its_reason(change: Change, reason: str, sound: bytes, reader: Reader) -> None:
    """Each rule of docs/format.md, broken alone, with right checksums."""
    assert_refused(change, reason, sound, reader)


@pytest.mark.parametrize(("change", "reason"), TAMPERED_SHARES.values(), ids=TAMPERED_SHARES)
def test_tampered_shares_are_refused_with_their_reason(change: Change, reason: str) -> None:
    """They are shares of all classes."""
    assert_refused(change, reason, MODEL, FrozenForestClassifier)


@pytest.mark.parametrize(("change", "reason"), TAMPERED_MEANS.values(), ids=TAMPERED_MEANS)
def test_tampered_means_are_refused_with_their_reason(change: Change, reason: str) -> None:
    """They are means of targets in fixed point."""
    assert_refused(change, reason, REGRESSION, FrozenForestRegressor)


def test_means_at_the_ends_of_their_range_are_sound() -> None:
    """A prediction is finite, whatever they are."""
    section = Frozen(frozen_section(REGRESSION))
    section.values[0], section.values[-1] = -(2.0**40), 2.0**40
    assert assert_refused_or_sound(with_section(REGRESSION, "frozen", section.packed()), FrozenForestRegressor)


@OF_EVERY_MODEL
def test_the_deepest_tree_is_read(sound: bytes, reader: Reader) -> None:
    """256 levels, as deep as trees can be."""
    section = Frozen(frozen_section(sound))
    chain(256)(section)
    assert assert_refused_or_sound(with_section(sound, "frozen", section.packed()), reader)


META = json.loads(SECTIONS["meta"])
TAMPERED_META: dict[str, tuple[dict[str, Any], str]] = {
    "unknown kind": ({"kind": "boosted"}, "unknown kind 'boosted'"),
    "kind of a list": ({"kind": []}, "unknown kind"),
    "a seed": ({"seed": 1}, "entries"),
    "other number of columns": ({"n_features_in": 4}, "over 3 attributes"),
    "columns of a float": ({"n_features_in": 3.0}, "n_features_in"),
    "other number of names": ({"feature_names_in": ["a"]}, "names of columns"),
    "a class too few": ({"classes": {"type": "<i8", "values": [0, 1]}}, "3 in ascending order"),
    "classes not ascending": ({"classes": {"type": "<i8", "values": [0, 2, 1]}}, "ascending"),
    "classes twice": ({"classes": {"type": "<i8", "values": [0, 1, 1]}}, "distinct"),
    "classes of another type": ({"classes": {"type": "<i8", "values": ["a", "b", "c"]}}, "label"),
}


@pytest.mark.parametrize(("change", "reason"), TAMPERED_META.values(), ids=TAMPERED_META)
def test_tampered_description_is_refused_with_its_reason(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """By `load`, which names the file."""
    path = tmp_path / "model.forest"
    path.write_bytes(with_section(MODEL, "meta", as_json(META | change)))
    with pytest.raises(CorruptModelError, match=reason) as caught:
        deciduous.load(path)
    assert str(path) in caught.value.__notes__[0]


TARGETS = json.loads(dict(sections_of(REGRESSION))["meta"])["targets"]
TAMPERED_TARGETS: dict[str, tuple[dict[str, Any], str]] = {
    "exponent beyond the greatest": ({"targets": TARGETS | {"exponent": 961}}, "scale of its targets"),
    "exponent true": ({"targets": TARGETS | {"exponent": True}}, "'exponent'"),
    "offset of no scale": ({"targets": TARGETS | {"offset": 0.3}}, "offset of its targets is 0.3"),
    "infinite offset": ({"targets": TARGETS | {"offset": INF}}, "JSON"),
    "more than a scale": ({"targets": TARGETS | {"low": 0.0}}, "scale of its targets"),
    "no scale": ({"targets": None}, "'targets'"),
    "classes beside targets": ({"classes": {"type": "<i8", "values": [0]}}, "entries"),
    "a range": ({"target_range": [0.0, 1.0]}, "entries"),
}


@pytest.mark.parametrize(("change", "reason"), TAMPERED_TARGETS.values(), ids=TAMPERED_TARGETS)
def test_tampered_targets_are_refused_with_their_reason(change: dict[str, Any], reason: str) -> None:
    """The same rules as for a forest with rows."""
    meta = json.loads(dict(sections_of(REGRESSION))["meta"]) | change
    with pytest.raises(CorruptModelError, match=reason):
        FrozenForestRegressor.from_bytes(with_section(REGRESSION, "meta", as_json(meta)))


def test_targets_in_place_of_classes_do_not_make_a_regressor_of_a_classifier() -> None:
    """The section says of itself what its leaf values are, so neither kind is read as the other."""
    targets = {name: its for name, its in META.items() if name != "classes"} | {"targets": TARGETS}
    with pytest.raises(CorruptModelError, match="3 classes"):
        FrozenForestRegressor.from_bytes(with_section(MODEL, "meta", as_json(targets)))
    with pytest.raises(CorruptModelError, match="0 classes"):
        FrozenForestClassifier.from_bytes(with_section(REGRESSION, "meta", as_json(META)))


@OF_EVERY_MODEL
@pytest.mark.parametrize("number", range(4))
def test_missing_entry_is_refused(number: int, sound: bytes, reader: Reader) -> None:
    """Without its kind it would be a forest with rows."""
    meta = json.loads(dict(sections_of(sound))["meta"])
    assert len(meta) == 4
    del meta[sorted(meta)[number]]
    with pytest.raises(CorruptModelError):
        reader.from_bytes(with_section(sound, "meta", as_json(meta)))


def test_other_sections_are_refused() -> None:
    """Nothing can be hidden beside it, and nothing may be missing."""
    meta, frozen = SECTIONS.items()
    for others in ([meta, frozen, ("rows", b"x")], [meta], [frozen]):
        with pytest.raises(CorruptModelError):
            FrozenForestClassifier.from_bytes(container(others))
