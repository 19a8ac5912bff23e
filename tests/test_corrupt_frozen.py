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
from deciduous import CorruptModelError, DareForestClassifier, FrozenForestClassifier
from file_format import Frozen, as_json, container, sections_of, with_section
from test_frozen import PROBES, rows_of


def model() -> bytes:
    """A small frozen forest with impure leaves."""
    return DareForestClassifier(n_estimators=3, max_depth=4, random_state=0).fit(*rows_of(80)).freeze().to_bytes()


MODEL = model()
SECTIONS = dict(sections_of(MODEL))


def test_format_is_as_documented() -> None:
    """A reader that shares no code with the package predicts the same, and writes the same bytes."""
    section = Frozen(SECTIONS["frozen"])
    assert section.packed() == SECTIONS["frozen"]
    assert container(list(SECTIONS.items())) == MODEL
    shares = FrozenForestClassifier.from_bytes(MODEL).predict_proba(PROBES)
    assert all((section.shares_of(row) == its).all() for row, its in zip(PROBES, shares, strict=True))


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
    assert (section.shares_of(X[0]) == again.predict_proba(X[:1])[0]).all()
    assert (again.predict_proba(X) == forest.predict_proba(X)).all()


def assert_refused_or_sound(data: bytes) -> bool:
    """Whether the bytes are a model; it predicts finite shares then."""
    try:
        frozen = FrozenForestClassifier.from_bytes(data)
    except CorruptModelError:
        return False
    if frozen.n_features_in_ < 1000:
        shares = frozen.predict_proba(np.zeros((3, frozen.n_features_in_), np.float32))
        assert np.allclose(shares.sum(axis=1), 1)
        assert (shares >= 0).all()
    assert len(frozen.predict_proba([])) == 0
    return True


def test_truncated_bytes_are_refused() -> None:
    """At every length."""
    for n in range(len(MODEL)):
        with pytest.raises(CorruptModelError):
            FrozenForestClassifier.from_bytes(MODEL[:n])


def test_every_changed_bit_is_noticed() -> None:
    """The checksums cover every byte."""
    rng = random.Random(0)
    for place in range(len(MODEL)):
        changed = bytearray(MODEL)
        changed[place] ^= 1 << rng.randrange(8)
        with pytest.raises(CorruptModelError):
            FrozenForestClassifier.from_bytes(bytes(changed))


@pytest.mark.parametrize("seed", range(4))
def test_tampered_bytes_with_right_checksums_are_refused_or_sound(seed: int) -> None:
    """A thousand each: bits flipped, numbers replaced, pieces cut out, doubled or moved."""
    rng = random.Random(seed)
    sound = SECTIONS["frozen"]
    n_sound = 0
    for _ in range(1000):
        section = bytearray(sound)
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
                section = bytearray(sound)
        n_sound += assert_refused_or_sound(with_section(MODEL, "frozen", bytes(section)))
    assert n_sound > 10  # thresholds may be other numbers


@pytest.mark.parametrize("n", range(120))
def test_truncated_section_with_right_checksums_is_refused(n: int) -> None:
    """At the beginning, and in steps through all of it."""
    section = SECTIONS["frozen"]
    with pytest.raises(CorruptModelError):
        FrozenForestClassifier.from_bytes(with_section(MODEL, "frozen", section[: n * len(section) // 120]))


def chain(depth: int) -> Callable[[Frozen], None]:
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


def set_item(name: str, place: int, value: Any) -> Callable[[Frozen], None]:
    return lambda section: getattr(section, name).__setitem__(place, value)


def swap_leaf_values(section: Frozen) -> None:
    n_classes = section.header[1]
    first, second = section.shares[:n_classes], section.shares[n_classes : 2 * n_classes]
    section.shares[: 2 * n_classes] = second + first


def hide_leaf_value(section: Frozen) -> None:
    section.leaves = [leaf or 1 for leaf in section.leaves]


TAMPERED: dict[str, tuple[Callable[[Frozen], None], str]] = {
    "no attributes": (set_item("header", 0, 0), "0 attributes"),
    "fewer attributes": (set_item("header", 0, 1), "attribute"),
    "no classes": (set_item("header", 1, 0), "0 classes"),
    "classes without end": (set_item("header", 1, 2**32 - 1), "middle of an array"),
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
    "share NaN": (set_item("shares", 0, float("nan")), "no share"),
    "share infinite": (set_item("shares", 0, float("inf")), "no share"),
    "share negative": (set_item("shares", 0, -0.5), "no share"),
    "share -0.0": (set_item("shares", 0, -0.0), "no share"),
    "share above 1": (set_item("shares", 0, 1.0000001), "no share"),
    "shares of too small a sum": (set_item("shares", 2, 0.5), "sum up to 1"),
    "leaf values out of order": (swap_leaf_values, "ascending"),
    "leaf value of no leaf": (hide_leaf_value, "no leaf"),
    "bits after the last node": (lambda s: s.shape.__setitem__(-1, s.shape[-1] | 0x80), "after the last"),
    "too deep": (chain(257), "larger than trees can be"),
    "much too deep": (chain(200_000), "larger than trees can be"),
}


@pytest.mark.parametrize(("change", "reason"), TAMPERED.values(), ids=TAMPERED)
def test_tampered_section_is_refused_with_its_reason(change: Callable[[Frozen], None], reason: str) -> None:
    """Each rule of docs/format.md, broken alone, with right checksums."""
    section = Frozen(SECTIONS["frozen"])
    change(section)
    with pytest.raises(CorruptModelError, match=reason):
        FrozenForestClassifier.from_bytes(with_section(MODEL, "frozen", section.packed()))


def test_the_deepest_tree_is_read() -> None:
    """256 levels, as deep as trees can be."""
    section = Frozen(SECTIONS["frozen"])
    chain(256)(section)
    assert assert_refused_or_sound(with_section(MODEL, "frozen", section.packed()))


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


@pytest.mark.parametrize("name", sorted(META))
def test_missing_entry_is_refused(name: str) -> None:
    """Without its kind it would be a forest with rows."""
    meta = {key: value for key, value in META.items() if key != name}
    with pytest.raises(CorruptModelError):
        FrozenForestClassifier.from_bytes(with_section(MODEL, "meta", as_json(meta)))


def test_other_sections_are_refused() -> None:
    """Nothing can be hidden beside it, and nothing may be missing."""
    meta, frozen = SECTIONS.items()
    for others in ([meta, frozen, ("rows", b"x")], [meta], [frozen]):
        with pytest.raises(CorruptModelError):
            FrozenForestClassifier.from_bytes(container(others))
