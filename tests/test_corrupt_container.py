"""Damaged files, impossible tables of sections, other files in the place of a model, and every bad file ever met."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deciduous
from deciduous import CorruptModelError, DareForestRegressor
from file_format import (
    GREEDY,
    MAGIC,
    RANDOM,
    Frozen,
    Model,
    container,
    sections_of,
    table_of,
    target_of,
    with_section,
)
from tampering import (
    BAD_FOLDER,
    CATEGORICAL,
    REGRESSION,
    SECTIONS,
    SOUND,
    WRITTEN,
    WRITTEN_REGRESSION,
    categorical_forest,
    model,
    outcome,
    refusal,
    tiny_regressor,
    with_entry,
)
from test_corrupt_description import BAD_META
from test_corrupt_rows_and_trees import BAD_ROWS, BAD_TREES

# --------------------------------------------------------------------------------------------------- the sound file


def test_the_description_of_the_format_is_enough_to_rewrite_a_file() -> None:
    """Taken apart and put together by `file_format`, which knows docs/format.md only, a file is the same."""
    assert container(sections_of(WRITTEN)) == WRITTEN
    assert Model.parsed(WRITTEN).packed() == WRITTEN
    assert outcome(WRITTEN, updates=True) is None
    assert outcome(SOUND, updates=True) is None
    assert Model.parsed(CATEGORICAL).packed() == CATEGORICAL
    assert outcome(CATEGORICAL, updates=True) is None
    assert Model.parsed(WRITTEN_REGRESSION).packed() == WRITTEN_REGRESSION
    assert outcome(WRITTEN_REGRESSION, updates=True, reader=DareForestRegressor) is None
    assert outcome(REGRESSION, updates=True, reader=DareForestRegressor) is None


def rows_to_predict() -> np.ndarray:
    """Around the values of the tiny regressor, with missing ones."""
    rng = np.random.default_rng(0)
    probes = np.column_stack([rng.uniform(-1, 9, 60), rng.choice([0, 1, 0.5, np.nan], 60)]).astype(np.float32)
    return np.vstack([probes, np.full((1, 2), np.nan, np.float32)])


def larger_regressor() -> DareForestRegressor:
    """Many rows, some heavy, of targets far from zero."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 8, 300), rng.integers(0, 3, 300)])
    y = 1e6 + X[:, 0] * X[:, 1] + rng.normal(size=300)
    forest = DareForestRegressor(n_estimators=7, max_depth=6, random_state=2)
    return forest.fit(X, y, sample_weight=rng.integers(1, 4, 300))


@pytest.mark.parametrize("make", [tiny_regressor, larger_regressor])
def test_the_description_of_the_format_is_enough_to_predict_numbers(make: Callable[[], DareForestRegressor]) -> None:
    """To the last bit, from the file of a forest and from that of the frozen one."""
    forest, probes = make(), rows_to_predict()
    expected = forest.predict(probes).tolist()
    parts = Model.parsed(forest.to_bytes())
    assert [parts.target_of(row) for row in probes.tolist()] == expected
    assert parts.rows.labels == [0] * forest.n_rows_
    sections = dict(sections_of(forest.freeze().to_bytes()))
    meta, frozen = json.loads(sections["meta"]), Frozen(sections["frozen"])
    assert frozen.packed() == sections["frozen"]
    assert frozen.header[1] == 0
    assert [target_of(meta, frozen.value_of(row)[0]) for row in probes.tolist()] == expected


def test_the_description_of_the_format_is_enough_to_predict_numbers_of_categories() -> None:
    """Of a known colour, of an unknown one and of none, which is a category here."""
    forest = categorical_forest(DareForestRegressor)
    parts = Model.parsed(forest.to_bytes())
    rows = np.array([["blue", 1.0, 1], ["red", 4.5, 2.5], [None, 2.0, 7], ["violet", np.nan, 1]], dtype=object)
    numbers = [[0, 1.0, 1], [2, 4.5, 0], [3, 2.0, np.nan], [np.nan, np.nan, 1]]  # as the file has them
    assert forest.categories_[0] == ["blue", "green", "red", None]
    assert forest.categories_[2] == [2.5, 1.0]
    assert [parts.target_of(row) for row in numbers] == forest.predict(rows).tolist()


def test_the_tiny_forest_has_all_that_is_tampered_with() -> None:
    """Both encodings of columns, both kinds of splits, weights of rows and of classes."""
    parts = model()
    assert [column.codes is None for column in parts.rows.columns] == [True, False]
    assert parts.rows.weights is not None
    assert parts.meta["class_weight"] is not None
    for tree in parts.trees:
        assert tree.kinds[0] == RANDOM
        assert GREEDY in tree.kinds


# ---------------------------------------------------------------------------------------------------- the container


def test_every_truncation_is_refused() -> None:
    """Whatever its length, a file that was cut off does not load."""
    for length in range(len(SOUND)):
        refusal(SOUND[:length])


def test_every_flipped_bit_is_refused() -> None:
    """The checksums cover every byte."""
    for place in range(len(SOUND)):
        damaged = bytearray(SOUND)
        damaged[place] ^= 1 << (place % 8)
        refusal(bytes(damaged))


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 4096, SOUND], ids=["a byte", "a page", "another model"])
def test_bytes_after_the_end_are_refused(tail: bytes) -> None:
    """Nothing hides behind a model."""
    assert "too many" in refusal(SOUND + tail)


@pytest.mark.parametrize("data", [b"", b"\x89", b"PK\x03\x04" * 50, b"\0" * 1000, MAGIC, MAGIC * 20])
def test_other_files_are_refused(data: bytes) -> None:
    """Empty files, other formats, nothing but the first bytes."""
    refusal(data)


@pytest.mark.parametrize("version", [0, 2, 255, 2**32 - 1])
def test_other_versions_are_named(version: int) -> None:
    """The message says which version the file has, and which one can be read."""
    reason = refusal(container(SECTIONS, version=version))
    assert f"version {version}" in reason
    assert "version 1" in reason


def test_a_file_with_line_ends_translated_is_refused() -> None:
    """As a transfer in text mode does; the first bytes show it."""
    assert "begin" in refusal(SOUND.replace(b"\r\n", b"\n"))
    assert "begin" in refusal(container(SECTIONS, magic=b"\x09DCDS\r\n\x1a"))


SOUND_TABLE = table_of(SECTIONS)
TABLES = {
    "offset one too high": with_entry(1, offset=SOUND_TABLE[1].offset + 1),
    "offset one too low": with_entry(1, offset=SOUND_TABLE[1].offset - 1),
    "offset zero": with_entry(0, offset=0),
    "offset beyond the end": with_entry(3, offset=len(SOUND) + 1),
    "largest offset": with_entry(1, offset=2**64 - 1),
    "sections that overlap": with_entry(2, offset=SOUND_TABLE[1].offset),
    "length one too high": with_entry(1, length=SOUND_TABLE[1].length + 1),
    "length one too low": with_entry(1, length=SOUND_TABLE[1].length - 1),
    "last length too high": with_entry(3, length=SOUND_TABLE[3].length + 1),
    "last length too low": with_entry(3, length=SOUND_TABLE[3].length - 1),
    "largest length": with_entry(1, length=2**64 - 1),
    "length that wraps around": with_entry(1, length=2**64 - SOUND_TABLE[1].offset),
    "wrong checksum": with_entry(1, checksum=bytes(32)),
    "duplicate section": with_entry(3, name=b"tree00000000"),
    "missing section": with_entry(1, name=b"Rows"),
    "name without letters": with_entry(1, name=b""),
    "name that is no text": with_entry(1, name=b"\xff" * 16),
    "name with a zero inside": with_entry(1, name=b"ro\0ws"),
    "no sections at all": container([]),
    "no sections claimed": container(SECTIONS, [], n_sections=0),
    "more sections claimed": container(SECTIONS, n_sections=5),
    "fewer sections claimed": container(SECTIONS, n_sections=3),
    "most sections claimed": container(SECTIONS, n_sections=2**32 - 1),
    "only meta": container(SECTIONS[:1]),
    "no meta": container(SECTIONS[1:]),
    "no rows": container([SECTIONS[0], *SECTIONS[2:]]),
    "a tree less": container(SECTIONS[:-1]),
    "a tree more": container([*SECTIONS, ("tree00000002", SECTIONS[-1][1])]),
    "an unknown section": container([*SECTIONS, ("secret", b"hello")]),
    "an unknown section for a tree": container([*SECTIONS[:-1], ("secret", SECTIONS[-1][1])]),
    "trees numbered from one": container([*SECTIONS[:2], ("tree00000001", b""), ("tree00000002", b"")]),
}


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES)
def test_impossible_table_is_refused(data: bytes) -> None:
    """Sections that overlap, are missing, come twice or reach beyond the file."""
    refusal(data)


@pytest.mark.parametrize("name", [name for name, _ in SECTIONS])
def test_truncated_section_is_refused(name: str) -> None:
    """With checksums that are right: each length of each section up to the right one."""
    section = dict(SECTIONS)[name]
    for length in range(len(section)):
        refusal(with_section(SOUND, name, section[:length]))


@pytest.mark.parametrize("name", [name for name, _ in SECTIONS if name != "meta"])
def test_longer_section_is_refused(name: str) -> None:
    """With checksums that are right; white space after JSON would be harmless."""
    for tail in (b"\0", b"\0" * 100):
        assert "too many" in refusal(with_section(SOUND, name, dict(SECTIONS)[name] + tail))


def test_every_pair_of_swapped_sections_is_refused_or_sound() -> None:
    """The bytes of one section under the name of another; trees are told apart by their kinds only."""
    for name, _ in SECTIONS:
        for _, section in SECTIONS:
            outcome(with_section(SOUND, name, section), updates=True)


@pytest.mark.parametrize(("section", "table"), [("rows", BAD_ROWS), ("trees", BAD_TREES), ("meta", BAD_META)])
def test_tampering_without_new_checksums_is_refused_for_the_checksum(section: str, table: dict[str, Any]) -> None:
    """The same changes in a file whose table is still the old one: lengths and checksums give them away."""
    for name, (change, _) in table.items():
        parts = model()
        change(parts)
        sections = parts.sections()
        if [data for _, data in sections] == [data for _, data in SECTIONS]:
            continue
        reason = refusal(container(sections, SOUND_TABLE))
        assert "checksum" in reason or "too many" in reason or "not where" in reason, (section, name)


# ---------------------------------------------------------------------------------------------------- the bad folder


@pytest.mark.parametrize("path", sorted(BAD_FOLDER.glob("*.forest")), ids=lambda path: path.stem)
def test_bad_file_is_refused(path: Path) -> None:
    """The error says what is wrong, and a note which file it is."""
    with pytest.raises(CorruptModelError) as caught:
        deciduous.load(path)
    assert caught.value.reason
    assert str(path) in "".join(caught.value.__notes__)


def test_empty_file_is_refused(tmp_path: Path) -> None:
    """It cannot even be mapped."""
    (tmp_path / "empty").touch()
    with pytest.raises(CorruptModelError, match="empty"):
        deciduous.load(tmp_path / "empty")


def test_pickle_is_not_read(tmp_path: Path) -> None:
    """A pickle in the place of a model is refused without being run."""
    marker = tmp_path / "was run"
    payload = b"cos\nsystem\n(S'touch \"" + os.fsencode(marker) + b"\"'\ntR."
    (tmp_path / "model").write_bytes(payload)
    with pytest.raises(CorruptModelError):
        deciduous.load(tmp_path / "model")
    refusal(with_section(SOUND, "meta", payload))
    assert not marker.exists()
