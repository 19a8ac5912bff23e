"""Files that are damaged or made to do harm: each is refused with a reason, or is a forest without contradictions."""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deciduous
from deciduous import CorruptModelError, DareForestClassifier, EmptyForestError, FrozenForestClassifier
from deciduous._validation import MAX_DEPTH

BAD_FOLDER = Path(__file__).parent / "data" / "bad"
MAGIC = b"\x89DCDS\r\n\x1a"
HEADER_SIZE, ENTRY_SIZE, DIGEST_SIZE = 16, 64, 32
NAN, INF = float("nan"), float("inf")
LEAF, RANDOM, GREEDY = 0, 1, 2


# ----------------------------------------------------------------------- the format once more, as docs/format.md has it


def digest(data: bytes) -> bytes:
    """The checksum of the format."""
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()


@dataclass
class Entry:
    """A line of the table of sections."""

    name: bytes
    offset: int
    length: int
    checksum: bytes

    def packed(self) -> bytes:
        """The bytes of the line."""
        return struct.pack("<16sQQ32s", self.name, self.offset, self.length, self.checksum)


Sections = list[tuple[str, bytes]]


def table_of(sections: Sections) -> list[Entry]:
    """The right table for these sections, one after the other."""
    offset = HEADER_SIZE + ENTRY_SIZE * len(sections) + DIGEST_SIZE
    table = []
    for name, data in sections:
        table.append(Entry(name.encode(), offset, len(data), digest(data)))
        offset += len(data)
    return table


def container(
    sections: Sections,
    table: list[Entry] | None = None,
    *,
    magic: bytes = MAGIC,
    version: int = 1,
    n_sections: int | None = None,
) -> bytes:
    """A file with checksums that are right for whatever it says."""
    table = table_of(sections) if table is None else table
    header = struct.pack("<8sII", magic, version, len(table) if n_sections is None else n_sections)
    head = header + b"".join(entry.packed() for entry in table)
    return head + digest(head) + b"".join(data for _, data in sections)


def sections_of(data: bytes) -> Sections:
    """The sections of a sound file, in order."""
    (n_sections,) = struct.unpack_from("<I", data, 12)
    sections = []
    for i in range(n_sections):
        name, offset, length, _ = struct.unpack_from("<16sQQ32s", data, HEADER_SIZE + i * ENTRY_SIZE)
        sections.append((name.rstrip(b"\0").decode(), data[offset : offset + length]))
    return sections


@dataclass
class Column:
    """The values of an attribute: plain, or codes into a dictionary."""

    values: list[float]
    codes: list[int] | None = None
    encoding: int | None = None
    n_values: int | None = None

    def packed(self) -> bytes:
        """The bytes of the column."""
        encoding = (0 if self.codes is None else 1) if self.encoding is None else self.encoding
        values = struct.pack(f"<{len(self.values)}f", *self.values)
        if self.codes is None:
            return bytes([encoding]) + values
        n_values = len(self.values) if self.n_values is None else self.n_values
        return bytes([encoding]) + struct.pack("<I", n_values) + values + bytes(self.codes)


@dataclass
class Rows:
    """The section of rows."""

    ids: list[int]
    labels: list[int]
    weights: list[int] | None
    columns: list[Column]
    n_rows: int | None = None
    has_weights: int | None = None
    tail: bytes = b""

    def packed(self) -> bytes:
        """The bytes of the section."""
        n = len(self.ids)
        has_weights = int(self.weights is not None) if self.has_weights is None else self.has_weights
        data = struct.pack(f"<Q{n}q", n if self.n_rows is None else self.n_rows, *self.ids) + bytes([has_weights])
        data += struct.pack(f"<{len(self.labels)}I", *self.labels)
        data += struct.pack(f"<{len(self.weights or [])}I", *(self.weights or []))
        return data + b"".join(column.packed() for column in self.columns) + self.tail

    @classmethod
    def parsed(cls, data: bytes, n_attributes: int) -> "Rows":
        """The rows of a sound section."""
        place = 0

        def take(kind: str, n: int = 1) -> list[Any]:
            nonlocal place
            values = list(struct.unpack_from(f"<{n}{kind}", data, place))
            place += struct.calcsize(f"<{n}{kind}")
            return values

        (n_rows,) = take("Q")
        ids = take("q", n_rows)
        (has_weights,) = take("B")
        labels = take("I", n_rows)
        weights = take("I", n_rows) if has_weights else None
        columns = []
        for _ in range(n_attributes):
            (encoding,) = take("B")
            columns.append(
                Column(take("f", n_rows)) if encoding == 0 else Column(take("f", take("I")[0]), take("B", n_rows))
            )
        assert place == len(data)
        return cls(ids, labels, weights, columns)


@dataclass
class Tree:
    """The section of a tree."""

    kinds: list[int]
    attributes: list[int]
    thresholds: list[float]
    n_nodes: int | None = None
    n_splits: int | None = None
    tail: bytes = b""

    def packed(self) -> bytes:
        """The bytes of the section."""
        n_nodes = len(self.kinds) if self.n_nodes is None else self.n_nodes
        n_splits = len(self.attributes) if self.n_splits is None else self.n_splits
        data = struct.pack("<II", n_nodes, n_splits) + bytes(self.kinds)
        data += struct.pack(f"<{len(self.attributes)}I", *self.attributes)
        return data + struct.pack(f"<{len(self.thresholds)}f", *self.thresholds) + self.tail

    @classmethod
    def parsed(cls, data: bytes) -> "Tree":
        """The tree of a sound section."""
        n_nodes, n_splits = struct.unpack_from("<II", data)
        kinds = list(data[8 : 8 + n_nodes])
        splits = struct.unpack_from(f"<{n_splits}I{n_splits}f", data, 8 + n_nodes)
        return cls(kinds, list(splits[:n_splits]), list(splits[n_splits:]))


def as_json(value: Any) -> bytes:
    """The canonical text of a description."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@dataclass
class Model:
    """A file taken apart; whatever is changed in it, its checksums are right again."""

    meta: Any
    rows: Rows
    trees: list[Tree]
    categories: Any = None

    @classmethod
    def parsed(cls, data: bytes) -> "Model":
        """The parts of a sound file."""
        sections = dict(sections_of(data))
        meta = json.loads(sections["meta"])
        trees = [Tree.parsed(section) for name, section in sections.items() if name.startswith("tree")]
        categories = json.loads(sections["categories"]) if "categories" in sections else None
        return cls(meta, Rows.parsed(sections["rows"], meta["n_features_in"]), trees, categories)

    def sections(self) -> Sections:
        """The sections that these parts make."""
        trees = [(f"tree{i:08}", tree.packed()) for i, tree in enumerate(self.trees)]
        categories = [] if self.categories is None else [("categories", as_json(self.categories))]
        return [("meta", as_json(self.meta)), ("rows", self.rows.packed()), *categories, *trees]

    def packed(self) -> bytes:
        """The file that these parts make."""
        return container(self.sections())


def tiny_forest() -> DareForestClassifier:
    """Eight weighted rows in two trees of a random root and greedy nodes below; one column plain, one coded."""
    forest = DareForestClassifier(
        n_estimators=2, max_depth=3, random_depth=1, n_thresholds=2, class_weight={0: 2.0}, random_state=8
    )
    X = [[0.5, 1], [1.5, 0], [2.5, NAN], [3.5, 1], [4.5, 0], [5.5, 1], [6.5, NAN], [7.5, 0]]
    return forest.fit(
        X, [0, 1, 2, 1, 0, 2, 0, 1], ids=[-4, 1, 2, 3, 5, 8, 13, 21], sample_weight=[1, 2, 1, 3, 1, 1, 1, 1]
    )


def categorical_forest() -> DareForestClassifier:
    """Twelve rows of three colours or none, a number, and two sizes that are numbers; a row of an unknown colour."""
    forest = DareForestClassifier(
        n_estimators=2, max_depth=4, max_features=2, categorical_features={0: "auto", 2: [2.5, 1]}, random_state=3
    )
    colours = ["red", "blue", None, "green"] * 3
    X = [[colours[i], i / 2, [1, 2.5, 7][i % 3]] for i in range(12)]
    forest.fit(X, [0, 1, 1, 0, 1, 2, 0, 0, 2, 1, 1, 0])
    forest.add([["violet", 9.5, 1]], [2])
    return forest


def with_a_plain_column(data: bytes) -> bytes:
    """The same forest with its first column stored plainly, which readers must understand for any number of values."""
    parts = Model.parsed(data)
    column = parts.rows.columns[0]
    if column.codes is not None:
        parts.rows.columns[0] = Column([column.values[code] for code in column.codes])
    return parts.packed()


WRITTEN = tiny_forest().to_bytes()
SOUND = with_a_plain_column(WRITTEN)
SECTIONS = sections_of(SOUND)
CATEGORICAL = categorical_forest().to_bytes()


def model() -> Model:
    """The tiny forest, taken apart."""
    return Model.parsed(SOUND)


def changed(change: Callable[[Model], Any], sound: bytes = SOUND) -> bytes:
    """The file of the tiny forest after a change to its parts."""
    parts = Model.parsed(sound)
    change(parts)
    return parts.packed()


def refusal(data: bytes) -> str:
    """The reason why these bytes are refused."""
    with pytest.raises(CorruptModelError) as caught:
        DareForestClassifier.from_bytes(data)
    assert caught.value.reason
    assert caught.value.reason in str(caught.value)
    return caught.value.reason


def outcome(data: bytes, *, updates: bool = False) -> str | None:
    """The reason for a refusal; or None if these bytes are a forest that works."""
    try:
        forest = DareForestClassifier.from_bytes(data)
    except CorruptModelError as error:
        return error.reason or "no reason given"
    assert forest.check() is None
    probes = np.zeros((2, forest.n_features_in_), dtype=np.float32)
    if forest.n_rows_:
        shares = forest.predict_proba(probes)
        assert np.allclose(shares.sum(axis=1), 1)
        assert len(forest.predict(probes)) == 2
    else:
        with pytest.raises(EmptyForestError):
            forest.predict_proba(probes)
    if updates:
        forest.delete(forest.ids_[:2])
        assert forest.check() is None
        if forest._first_fresh_id < 2**63 - 1:  # else there are none left
            (fresh,) = forest.add(probes[:1], forest.classes_[:1]).ids
            assert forest.ids_.max() == fresh
            assert forest.check() is None
    return None


# --------------------------------------------------------------------------------------------------- the sound file


def test_the_description_of_the_format_is_enough_to_rewrite_a_file() -> None:
    """Taken apart and put together by the code above, which knows docs/format.md only, a file is the same."""
    assert container(sections_of(WRITTEN)) == WRITTEN
    assert Model.parsed(WRITTEN).packed() == WRITTEN
    assert outcome(WRITTEN, updates=True) is None
    assert outcome(SOUND, updates=True) is None
    assert Model.parsed(CATEGORICAL).packed() == CATEGORICAL
    assert outcome(CATEGORICAL, updates=True) is None


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


def with_entry(i: int, **fields: Any) -> bytes:
    """The file with a line of its table changed, and the checksum of the table right again."""
    table = table_of(SECTIONS)
    for name, value in fields.items():
        setattr(table[i], name, value)
    return container(SECTIONS, table)


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
    for length in range(len(dict(SECTIONS)[name])):
        data = container([(n, s[:length] if n == name else s) for n, s in SECTIONS])
        refusal(data)


@pytest.mark.parametrize("name", [name for name, _ in SECTIONS if name != "meta"])
def test_longer_section_is_refused(name: str) -> None:
    """With checksums that are right; white space after JSON would be harmless."""
    for tail in (b"\0", b"\0" * 100):
        assert "too many" in refusal(container([(n, s + tail if n == name else s) for n, s in SECTIONS]))


def test_every_pair_of_swapped_sections_is_refused_or_sound() -> None:
    """The bytes of one section under the name of another; trees are told apart by their kinds only."""
    for i in range(len(SECTIONS)):
        for j in range(len(SECTIONS)):
            mixed = list(SECTIONS)
            mixed[i] = (SECTIONS[i][0], SECTIONS[j][1])
            outcome(container(mixed), updates=True)


# ------------------------------------------------------------------------------------------------------------- rows


def set_row(field: str, index: int, value: Any) -> Callable[[Model], None]:
    """A change of an id, a label or a weight."""

    def change(parts: Model) -> None:
        getattr(parts.rows, field)[index] = value

    return change


def set_rows(**fields: Any) -> Callable[[Model], None]:
    """A change of claims about the rows."""
    return lambda parts: [setattr(parts.rows, name, value) for name, value in fields.items()]


def set_column(column: int, **fields: Any) -> Callable[[Model], None]:
    """A change of a column as a whole."""
    return lambda parts: [setattr(parts.rows.columns[column], name, value) for name, value in fields.items()]


def set_value(column: int, index: int, value: float) -> Callable[[Model], None]:
    """A change of one value of a column, or of its dictionary."""

    def change(parts: Model) -> None:
        parts.rows.columns[column].values[index] = value

    return change


def set_code(index: int, code: int) -> Callable[[Model], None]:
    """A change of a code of the coded column."""

    def change(parts: Model) -> None:
        parts.rows.columns[1].codes[index] = code

    return change


BAD_ROWS: dict[str, tuple[Callable[[Model], Any], str]] = {
    "one row more claimed": (set_rows(n_rows=9), ""),
    "one row less claimed": (set_rows(n_rows=7), ""),
    "no rows claimed": (set_rows(n_rows=0), ""),
    "2^40 rows claimed": (set_rows(n_rows=2**40), "array of 1099511627776"),
    "2^61 rows claimed": (set_rows(n_rows=2**61), "array of"),
    "2^64 - 1 rows claimed": (set_rows(n_rows=2**64 - 1), "array of"),
    "ids out of order": (set_row("ids", 2, 4), "ascending"),
    "an id twice": (set_row("ids", 2, 1), "ascending"),
    "ids in descending order": (lambda parts: parts.rows.ids.reverse(), "ascending"),
    "label out of range": (set_row("labels", 0, 3), "class 3 of 3"),
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


@pytest.mark.parametrize(("change", "words"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_impossible_rows_are_refused(change: Callable[[Model], Any], words: str) -> None:
    """Though all checksums are right, and for any number of threads."""
    assert words in refusal(changed(change))


# ------------------------------------------------------------------------------------------------------------ trees


def set_tree(**fields: Any) -> Callable[[Model], None]:
    """A change of the second tree."""
    return lambda parts: [setattr(parts.trees[1], name, value) for name, value in fields.items()]


def set_node(field: str, index: int, value: Any) -> Callable[[Model], None]:
    """A change of a node of the second tree."""

    def change(parts: Model) -> None:
        getattr(parts.trees[1], field)[index] = value

    return change


def chain(depth: int) -> Tree:
    """A tree that takes a row off at each level, down to this depth, in the order of the first column."""
    kinds = [RANDOM, LEAF] + [GREEDY, LEAF] * (depth - 1) + [LEAF]
    return Tree(kinds, [0] * depth, [0.5 + i for i in range(depth)])


def replace_tree(tree: Tree) -> Callable[[Model], None]:
    """A change of the second tree into this one."""

    def change(parts: Model) -> None:
        parts.trees[1] = tree

    return change


BAD_TREES: dict[str, tuple[Callable[[Model], Any], str]] = {
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


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("change", "words"), BAD_TREES.values(), ids=BAD_TREES)
def test_impossible_trees_are_refused(change: Callable[[Model], Any], words: str, n_jobs: int) -> None:
    """Though all checksums are right; an error in a thread arrives as any other."""
    data = changed(change)
    assert words in refusal(data)
    with pytest.raises(CorruptModelError):
        DareForestClassifier.from_bytes(data, n_jobs=n_jobs)


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


@pytest.mark.parametrize("tree", OTHER_SPLITS.values(), ids=OTHER_SPLITS)
def test_trees_that_training_would_not_give_are_found_by_verify(tree: Tree) -> None:
    """Loading does not retrain: such a forest is consistent, works, and `verify` says what it is."""
    data = changed(replace_tree(tree))
    assert outcome(data, updates=True) is None
    assert not DareForestClassifier.from_bytes(data).verify()


# ------------------------------------------------------------------------------------------------------ description


def set_meta(*path: Any, to: Any) -> Callable[[Model], None]:
    """A change of an entry of the description."""

    def change(parts: Model) -> None:
        place = parts.meta
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def drop_meta(*path: Any) -> Callable[[Model], None]:
    """An entry of the description is left out."""

    def change(parts: Model) -> None:
        place = parts.meta
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


NOT_JSON = {
    "empty": b"",
    "not JSON": b"{",
    "not text": b"\xff\xfe\xfd",
    "zeros": b"\0\0\0\0",
    "two objects": b"{}{}",
    "list": b"[]",
    "string": b'"meta"',
    "number": b"1",
    "null": b"null",
    "empty object": b"{}",
    "deep": b"[" * 100_000,
    "deep and closed": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "huge number": b'{"n_features_in":' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("meta", NOT_JSON.values(), ids=NOT_JSON)
def test_description_that_is_no_object_is_refused(meta: bytes) -> None:
    """Whatever else may be in its place."""
    refusal(container([("meta", meta), *SECTIONS[1:]]))


REQUIRED = [
    ("arguments",),
    ("params",),
    ("classes",),
    ("classes", "type"),
    ("classes", "values"),
    ("class_weight",),
    ("n_features_in",),
    ("feature_names_in",),
    ("first_fresh_id",),
    *(("params", name) for name in model().meta["params"]),
]
ODD_VALUES = {
    "null": None,
    "true": True,
    "text": "1",
    "float": 1.5,
    "NaN": NAN,
    "list": [1],
    "object": {"a": 1},
    "huge": 10**400,
    "negative": -1,
}


@pytest.mark.parametrize("path", REQUIRED, ids=".".join)
def test_missing_entry_of_the_description_is_refused(path: tuple[str, ...]) -> None:
    """Each entry must be there: none has a default that could be the wrong one."""
    assert path[-1] in refusal(changed(drop_meta(*path)))


@pytest.mark.parametrize("odd", ODD_VALUES)
@pytest.mark.parametrize(
    "path", [path for path in REQUIRED if path not in {("class_weight",), ("feature_names_in",)}], ids=".".join
)
def test_entry_of_a_wrong_kind_is_refused(path: tuple[str, ...], odd: str) -> None:
    """No entry may be of another kind, or a number out of its range."""
    refusal(changed(set_meta(*path, to=ODD_VALUES[odd])))


BAD_META: dict[str, tuple[Callable[[Model], Any], str]] = {
    "no trees": (set_meta("params", "n_trees", to=0), "n_trees"),
    "other number of trees": (set_meta("params", "n_trees", to=3), "2 trees instead of 3"),
    "too many trees": (set_meta("params", "n_trees", to=2**20), "n_trees"),
    "rows in more trees than there are": (set_meta("params", "trees_per_row", to=3), "3 of 2"),
    "rows in no tree": (set_meta("params", "trees_per_row", to=0), "trees_per_row"),
    "depth 0": (set_meta("params", "max_depth", to=0), "max_depth"),
    "depth beyond the greatest": (set_meta("params", "max_depth", to=MAX_DEPTH + 1), "max_depth"),
    "random depth beyond the greatest": (set_meta("params", "random_depth", to=MAX_DEPTH + 1), "random_depth"),
    "too many thresholds": (set_meta("params", "n_thresholds", to=10**6 + 1), "n_thresholds"),
    "no features": (set_meta("params", "max_features", to=0), "max_features"),
    "split of one row": (set_meta("params", "min_samples_split", to=1), "min_samples_split"),
    "leaf of no rows": (set_meta("params", "min_samples_leaf", to=0), "min_samples_leaf"),
    "seed of 65 bits": (set_meta("params", "seed", to=2**64), "seed"),
    "negative seed": (set_meta("params", "seed", to=-1), "seed"),
    "unknown candidates": (set_meta("params", "candidates", to="all"), "'all'"),
    "private name of candidates": (set_meta("params", "candidates", to="__class__"), "'__class__'"),
    "unknown criterion": (set_meta("params", "criterion", to="mse"), "'mse'"),
    "uniform without thresholds": (
        lambda p: p.meta["params"].update(candidates="uniform", n_thresholds=0),
        "without a number of thresholds",
    ),
    "no attributes": (set_meta("n_features_in", to=0), "0 columns"),
    "one attribute less": (set_meta("n_features_in", to=1), "too many"),
    "one attribute more": (set_meta("n_features_in", to=3), ""),
    "more attributes than bytes": (set_meta("n_features_in", to=2**40), "columns"),
    "attributes beyond 64 bits": (set_meta("n_features_in", to=2**70), "columns"),
    "labels of an unknown type": (set_meta("classes", "type", to="<c16"), "'<c16'"),
    "labels of Python objects": (set_meta("classes", "type", to="|O"), "'|O'"),
    "labels of records": (set_meta("classes", "type", to="i8,i8"), "'i8,i8'"),
    "labels of dates": (set_meta("classes", "type", to="<M8[s]"), "type"),
    "labels of bytes": (set_meta("classes", "type", to="|S3"), "type"),
    "labels of the other byte order": (set_meta("classes", "type", to=">i8"), "'>i8'"),
    "type with a line break": (set_meta("classes", "type", to="<i8\n"), "type"),
    "strings among numbers": (set_meta("classes", "values", to=[0, "1", 2]), "label"),
    "numbers among strings": (set_meta("classes", to={"type": "<U3", "values": ["a", 1, "c"]}), "label"),
    "strings longer than their type": (set_meta("classes", to={"type": "<U1", "values": ["a", "b", "cc"]}), "label"),
    "null among labels": (set_meta("classes", "values", to=[0, None, 2]), "label"),
    "list among labels": (set_meta("classes", "values", to=[0, [1], 2]), "label"),
    "nothing but lists": (set_meta("classes", "values", to=[[0], [1], [2]]), "label"),
    "duplicate labels": (set_meta("classes", "values", to=[0, 1, 1]), "distinct"),
    "duplicate strings": (set_meta("classes", to={"type": "<U3", "values": ["a", "b", "a"]}), "distinct"),
    "strings that differ in zeros at the end": (
        set_meta("classes", to={"type": "<U3", "values": ["a", "b", "a\0"]}),
        "distinct",
    ),
    "labels that do not fit": (set_meta("classes", to={"type": "|u1", "values": [0, 1, 256]}), "label"),
    "negative labels of a type without sign": (set_meta("classes", to={"type": "<u4", "values": [0, 1, -1]}), "label"),
    "labels beyond 64 bits": (set_meta("classes", "values", to=[0, 1, 2**70]), "label"),
    "half labels of a whole type": (set_meta("classes", "values", to=[0, 1.5, 2]), "label"),
    "numbers as booleans": (set_meta("classes", to={"type": "|b1", "values": [0, 7]}), "label"),
    "booleans as numbers": (set_meta("classes", "values", to=[False, True, 2]), "label"),
    "NaN as a label": (set_meta("classes", to={"type": "<f8", "values": [0.0, 1.0, NAN]}), "label"),
    "infinity as a label": (set_meta("classes", to={"type": "<f8", "values": [0.0, 1.0, INF]}), "label"),
    "label too large for its float": (set_meta("classes", to={"type": "<f4", "values": [0.0, 1.0, 1e300]}), "label"),
    "label that a narrow float cannot hold": (
        set_meta("classes", to={"type": "<f4", "values": [0.0, 1.0, 0.1]}),
        "label",
    ),
    "half a character as a label": (set_meta("classes", to={"type": "<U3", "values": ["a", "b", "\ud800"]}), "label"),
    "fewer classes than labels in rows": (set_meta("classes", "values", to=[0, 1]), "class 2 of 2"),
    "no classes": (set_meta("classes", "values", to=[]), "class"),
    "class weights of a wrong kind": (set_meta("class_weight", to=[[0]]), "class_weight"),
    "class weights as an object": (set_meta("class_weight", to={"0": 1.0}), "class_weight"),
    "class weight 0": (set_meta("class_weight", to=[[0, 0.0]]), "class_weight"),
    "negative class weight": (set_meta("class_weight", to=[[0, -1.0]]), "class_weight"),
    "infinite class weight": (set_meta("class_weight", to=[[0, INF]]), "class_weight"),
    "class weight NaN": (set_meta("class_weight", to=[[0, NAN]]), "class_weight"),
    "huge class weight": (set_meta("class_weight", to=[[0, 10**400]]), "class_weight"),
    "class weight true": (set_meta("class_weight", to=[[0, True]]), "class_weight"),
    "class weight of a list": (set_meta("class_weight", to=[[[0], 1.0]]), "class_weight"),
    "class weight given twice": (set_meta("class_weight", to=[[0, 1.0], [0, 2.0]]), "class_weight"),
    "fresh ids that are in use": (set_meta("first_fresh_id", to=21), "first_fresh_id"),
    "negative fresh ids": (set_meta("first_fresh_id", to=-1), "first_fresh_id"),
    "fresh ids beyond 64 bits": (set_meta("first_fresh_id", to=2**63 + 1), "first_fresh_id"),
    "too few names of columns": (set_meta("feature_names_in", to=["a"]), "names of columns"),
    "too many names of columns": (set_meta("feature_names_in", to=["a", "b", "c"]), "names of columns"),
    "names that are no strings": (set_meta("feature_names_in", to=["a", 1]), "names of columns"),
    "names as one string": (set_meta("feature_names_in", to="ab"), "names of columns"),
    "unknown argument": (set_meta("arguments", "secret", to=1), "'secret'"),
    "argument that is a method": (set_meta("arguments", "fit", to=1), "'fit'"),
    "argument self": (set_meta("arguments", "self", to=1), "'self'"),
    "argument of a wrong kind": (set_meta("arguments", "max_depth", to=[1]), "'max_depth'"),
    "argument class_weight of a wrong kind": (set_meta("arguments", "class_weight", to=7), "class_weight"),
    "argument class_weight huge": (set_meta("arguments", "class_weight", to=[[0, 10**400]]), "class_weight"),
    "argument n_jobs 0": (set_meta("arguments", "n_jobs", to=0), "n_jobs"),
    "argument n_jobs as text": (set_meta("arguments", "n_jobs", to="all"), "n_jobs"),
    "argument n_jobs beyond 64 bits": (set_meta("arguments", "n_jobs", to=2**70), "n_jobs"),
    "argument lazy as text": (set_meta("arguments", "lazy", to="yes"), "lazy"),
}


@pytest.mark.parametrize(("change", "words"), BAD_META.values(), ids=BAD_META)
def test_impossible_description_is_refused(change: Callable[[Model], Any], words: str) -> None:
    """Though all checksums are right."""
    assert words in refusal(changed(change))


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


# ------------------------------------------------------------------------------------------------------- categories


def set_categories(*path: Any, to: Any) -> Callable[[Model], None]:
    """A change of an entry of the categories."""

    def change(parts: Model) -> None:
        place = parts.categories
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def drop_category(parts: Model) -> None:
    """A category less, though rows have it: here the missing colour."""
    parts.categories["features"][0]["has_missing"] = False


COLOURS = ("features", 0, "values")
COLOUR_NAMES = (*COLOURS, "values")
BAD_CATEGORIES: dict[str, tuple[Callable[[Model], Any], str]] = {
    "no features": (lambda p: p.categories.pop("features"), "'features'"),
    "an object of features": (set_categories("features", to={}), "'features'"),
    "features null": (set_categories("features", to=None), "'features'"),
    "empty list": (set_categories("features", to=[]), "each of its 3 features"),
    "one feature less": (lambda p: p.categories["features"].pop(), "each of its 3 features"),
    "one feature more": (lambda p: p.categories["features"].append(None), "each of its 3 features"),
    "a list for a feature": (set_categories("features", 0, to=["red"]), "feature 0"),
    "text for a feature": (set_categories("features", 0, to="red"), "feature 0"),
    "true for a feature": (set_categories("features", 2, to=True), "feature 2"),
    "empty object for a feature": (set_categories("features", 0, to={}), "feature 0"),
    "has_missing left out": (lambda p: p.categories["features"][0].pop("has_missing"), "has_missing"),
    "has_missing a number": (set_categories("features", 0, "has_missing", to=1), "has_missing"),
    "has_missing null": (set_categories("features", 0, "has_missing", to=None), "has_missing"),
    "values left out": (lambda p: p.categories["features"][0].pop("values"), "values"),
    "values a list": (set_categories(*COLOURS, to=["red"]), "values"),
    "values a number": (set_categories(*COLOURS, to=3), "values"),
    "no category at all": (set_categories("features", 1, to={"values": None, "has_missing": False}), "feature 1"),
    "type left out": (lambda p: p.categories["features"][0]["values"].pop("type"), "type"),
    "unknown type": (set_categories(*COLOURS, "type", to="<c16"), "'<c16'"),
    "Python objects": (set_categories(*COLOURS, "type", to="|O"), "'|O'"),
    "another type": (set_categories(*COLOURS, "type", to="<i8"), "type"),
    "longer type": (set_categories(*COLOURS, "type", to="<U99"), "long"),
    "widest type": (set_categories(*COLOURS, "type", to="<U999999999"), "long"),
    "empty list of values": (set_categories(*COLOUR_NAMES, to=[]), "feature 0"),
    "a value twice": (set_categories(*COLOUR_NAMES, to=["red", "blue", "red"]), "distinct"),
    "a number among strings": (set_categories(*COLOUR_NAMES, 0, to=1), "type"),
    "null among strings": (set_categories(*COLOUR_NAMES, 0, to=None), "type"),
    "half a character": (set_categories(*COLOUR_NAMES, 0, to="\ud800"), "feature 0"),
    "a string that ends in zero": (set_categories(*COLOUR_NAMES, 0, to="red\0"), "feature 0"),
    "NaN among numbers": (set_categories("features", 2, "values", "values", 0, to=NAN), "feature 2"),
    "infinity among numbers": (set_categories("features", 2, "values", "values", 0, to=INF), "feature 2"),
    "a huge number": (set_categories("features", 2, "values", "values", 0, to=10**400), "feature 2"),
    "a number column called categorical": (
        set_categories("features", 1, to={"values": None, "has_missing": True}),
        "column 1 has the unknown category",
    ),
    "a category less": (drop_category, "column 0 has the unknown category 3"),
    "two categories less": (
        set_categories("features", 0, to={"values": None, "has_missing": True}),
        "column 0 has the unknown category",
    ),
    "a categorical column called numeric": (set_categories("features", 0, to=None), "attribute"),
    "all columns called numeric": (set_categories("features", to=[None] * 3), "attribute"),
    "section left out": (lambda p: setattr(p, "categories", None), "attribute"),
}


@pytest.mark.parametrize(("change", "words"), BAD_CATEGORIES.values(), ids=BAD_CATEGORIES)
def test_impossible_categories_are_refused(change: Callable[[Model], Any], words: str) -> None:
    """Though all checksums are right: entries of other kinds, and others than rows and splits need."""
    assert words in refusal(changed(change, CATEGORICAL))


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_categories_that_are_no_object_are_refused(text: bytes) -> None:
    """As the description is."""
    refusal(container([(name, text if name == "categories" else data) for name, data in sections_of(CATEGORICAL)]))


def test_truncated_categories_are_refused() -> None:
    """At each length."""
    sections = sections_of(CATEGORICAL)
    for length in range(len(dict(sections)["categories"])):
        refusal(container([(name, data[:length] if name == "categories" else data) for name, data in sections]))


@pytest.mark.parametrize("encoding", ["coded", "plain"])
@pytest.mark.parametrize(
    "number", [4.0, 0.5, 2.999, -1.0, -0.001, 1e-40, 255.0, 2.0**24, 2.0**31, 2.0**32, 3e38, -3e38]
)
def test_rows_of_impossible_categories_are_refused(number: float, encoding: str) -> None:
    """Numbers beyond the last category, negative ones, and those between two categories."""

    def change(parts: Model) -> None:
        column = parts.rows.columns[0]
        if encoding == "plain":
            column.values, column.codes = [column.values[code] for code in column.codes], None
        column.values[0] = number

    assert "column 0 has the unknown category" in refusal(changed(change, CATEGORICAL))


@pytest.mark.parametrize("number", [INF, -INF])
def test_rows_of_infinite_categories_are_refused(number: float) -> None:
    """As in any other column."""
    assert "column 0" in refusal(changed(set_value(0, 0, number), CATEGORICAL))


def test_attributes_of_splits_are_those_of_all_categories() -> None:
    """Four colours, a number and two sizes are seven attributes; an eighth does not exist."""
    parts = Model.parsed(CATEGORICAL)
    assert len({attribute for tree in parts.trees for attribute in tree.attributes}) > 2
    assert "attribute 7 of 7" in refusal(changed(set_node("attributes", 0, 7), CATEGORICAL))


CHANGED_CHOICES = {
    "text": (7, False),
    "true": (True, False),
    "lists in a list": ([[0]], False),
    "null in a list": ([None], False),
    "floats": ([0.5], False),
    "no pairs": ({}, False),
    "pairs null": ({"pairs": None}, False),
    "pairs and more": ({"pairs": [], "more": 1}, False),
    "short pair": ({"pairs": [[0]]}, False),
    "pair of a float": ({"pairs": [[0.5, ["a"]]]}, False),
    "pair of a list": ({"pairs": [[[0], ["a"]]]}, False),
    "pair with a number": ({"pairs": [[0, 3]]}, False),
    "pair with lists": ({"pairs": [[0, [["a"]]]]}, False),
    "another word": ("whatever", True),  # `fit` will refuse it, and nothing before that reads it
    "other columns": ([5, 6, 7], True),
    "null": (None, True),
}


@pytest.mark.parametrize(("choice", "is_sound"), CHANGED_CHOICES.values(), ids=CHANGED_CHOICES)
def test_parameter_categorical_features_is_plain(choice: Any, is_sound: bool) -> None:
    """A word, a list, or pairs of a column and its categories; what `fit` made of it stands in the section."""
    reason = outcome(changed(set_meta("arguments", "categorical_features", to=choice), CATEGORICAL), updates=True)
    assert (reason is None) == is_sound
    assert is_sound or "categorical_features" in str(reason)


def test_other_names_of_categories_are_sound() -> None:
    """Nothing in a file depends on them: the forest is the same, and knows other words."""
    data = changed(set_categories(*COLOUR_NAMES, to=["maple", "oak", ""]), CATEGORICAL)
    forest = DareForestClassifier.from_bytes(data)
    assert forest.categories_[0] == ["maple", "oak", "", None]
    assert forest.fingerprint() == categorical_forest().fingerprint()


FROZEN_CATEGORIES: dict[str, Callable[[Any], Any]] = {
    "one feature less": lambda categories: categories["features"].pop(),
    "a feature of no categories": lambda categories: categories["features"][0].update(values=None, has_missing=False),
    "a category less": lambda categories: categories["features"][0]["values"].update(values=["green"]),
    "a category more": lambda categories: categories["features"][0]["values"]["values"].append("x"),
    "a category twice": lambda categories: categories["features"][0]["values"]["values"].append("green"),
    "numeric features": lambda categories: categories.update(features=[None] * 3),
}


@pytest.mark.parametrize("change", FROZEN_CATEGORIES.values(), ids=FROZEN_CATEGORIES)
def test_impossible_categories_of_a_frozen_forest_are_refused(change: Callable[[Any], Any]) -> None:
    """The splits of a frozen forest tell how many attributes there are, so a file cannot have others."""
    sections = sections_of(categorical_forest().freeze().to_bytes())
    assert container(sections) == categorical_forest().freeze().to_bytes()
    categories = json.loads(dict(sections)["categories"])
    assert categories["features"][0]["values"]["values"] == ["blue", "green"]
    change(categories)
    hostile = container([(name, as_json(categories) if name == "categories" else data) for name, data in sections])
    with pytest.raises(CorruptModelError) as caught:
        FrozenForestClassifier.from_bytes(hostile)
    assert caught.value.reason
    without = container([(name, data) for name, data in sections if name != "categories"])
    with pytest.raises(CorruptModelError):
        FrozenForestClassifier.from_bytes(without)


# ---------------------------------------------------------------------------------------------------- the bad folder


def bad_files() -> list[Path]:
    """Every bad file ever met."""
    return sorted(BAD_FOLDER.glob("*.forest"))


@pytest.mark.parametrize("path", bad_files(), ids=lambda path: path.stem)
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
    refusal(container([("meta", payload), *SECTIONS[1:]]))
    assert not marker.exists()


# ------------------------------------------------------------------------------------------------------------- fuzz

EDGES = [0, 1, 2, 3, 127, 128, 255, 2**15, 2**16 - 1, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]


def with_flipped_bits(data: bytes, rng: random.Random) -> bytes:
    """One to three bits are others."""
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def with_edge_number(data: bytes, rng: random.Random) -> bytes:
    """A number on the edge of its type somewhere."""
    width = rng.choice([1, 1, 2, 4, 4, 8])
    number = (rng.choice(EDGES) % 2 ** (8 * width)).to_bytes(width, "little")
    place = rng.randrange(max(1, len(data) - width))
    return data[:place] + number + data[place + width :]


def with_splice(data: bytes, rng: random.Random) -> bytes:
    """A piece is cut out, doubled, or put somewhere else."""
    begin = rng.randrange(len(data))
    end = min(len(data), begin + rng.choice([1, 2, 4, 8, 9, 16, 64]))
    if rng.random() < 0.3:
        return data[:begin] + data[end:]
    place = rng.randrange(len(data))
    keep = rng.choice([0, end - begin])
    return data[:place] + data[begin:end] + data[place + keep :]


MUTATIONS = (with_flipped_bits, with_edge_number, with_splice)
ODD_ENTRIES = [None, True, False, 0, 1, -1, 2, 255, 2**31, 2**32, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, NAN, INF]
ODD_ENTRIES += ["", "a", "\0", "\ud800", "valid", "uniform", "<U1", "|O", [], [0], [[0, 1.0]], {}, {"a": 1}]


def with_odd_entry(meta: bytes, rng: random.Random) -> bytes:
    """An entry of the description, however deep, is another value, or gone, or doubled in a list."""
    state = json.loads(meta)
    place, key = state, rng.choice(list(state))
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    if rng.random() < 0.1:
        del place[key]
    elif isinstance(place, list) and rng.random() < 0.2:
        place.append(place[key])
    else:
        place[key] = rng.choice(ODD_ENTRIES)
    return json.dumps(state).encode()


def fuzzed_files(n_files: int, seed: int) -> Iterator[bytes]:
    """Damaged files: a quarter as they are, the others with checksums that are right again."""
    rng = random.Random(seed)
    others = sections_of(empty_forest().to_bytes()) + sections_of(plain_forest().to_bytes())
    for _ in range(n_files):
        how = rng.random()
        sound = rng.choice([SOUND, CATEGORICAL])
        sections = sections_of(sound)
        i = rng.randrange(len(sections))
        name, data = sections[i]
        if how < 0.25:
            yield rng.choice(MUTATIONS)(sound, rng)
            continue
        if how < 0.35:
            sections[i] = (name, rng.choice(others)[1])
        elif how < 0.4:
            j = rng.randrange(len(sections))
            sections[i], sections[j] = (name, sections[j][1]), (sections[j][0], data)
        elif name in ("meta", "categories") and rng.random() < 0.9:
            sections[i] = (name, with_odd_entry(data, rng))
        else:
            sections[i] = (name, rng.choice(MUTATIONS)(data, rng))
        yield container(sections)


def empty_forest() -> DareForestClassifier:
    """The tiny forest without rows."""
    forest = tiny_forest()
    forest.delete(forest.ids_)
    return forest


def plain_forest() -> DareForestClassifier:
    """A forest of other parameters, labels and rows."""
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    return DareForestClassifier(2, candidates="uniform", random_state=1).fit(X, list("abababcabc"))


def assert_fuzz_finds_nothing(n_files: int, seed: int) -> None:
    """Each damaged file is refused, or is a forest that works."""
    n_loaded = 0
    for i, data in enumerate(fuzzed_files(n_files, seed)):
        try:
            n_loaded += outcome(data, updates=i % 4 == 0) is None
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

# The peak of a process of its own; `ru_maxrss` would start with that of the parent.
LOADER = """
import sys
import deciduous
from deciduous import CorruptModelError, DareForestClassifier

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

DareForestClassifier(2).fit([[0], [1]], [0, 1]).to_bytes()
before = peak()
try:
    deciduous.load(sys.argv[1])
except CorruptModelError as error:
    print(error.reason[:80].replace("\\n", " "), file=sys.stderr)
print(peak() - before)
"""


def peak_kilobytes(data: bytes, folder: Path) -> int:
    """By how much loading raised the memory of a process at most."""
    path = folder / "claim.forest"
    path.write_bytes(data)
    run = subprocess.run([sys.executable, "-c", LOADER, path], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


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


def many_trees(n_trees: int, n_rows: int) -> bytes:
    """Many trees of a single leaf, each of which holds all the rows."""
    parts = Model.parsed(DareForestClassifier(1, random_state=0).fit([[0]] * n_rows, [0] * n_rows).to_bytes())
    parts.meta["params"] |= {"n_trees": n_trees, "trees_per_row": n_trees}
    parts.trees = parts.trees * n_trees
    return parts.packed()


CLAIMS: dict[str, Callable[[], bytes]] = {
    "2^40 rows": lambda: changed(set_rows(n_rows=2**40)),
    "2^61 rows": lambda: changed(set_rows(n_rows=2**61)),
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
    "many trees times many rows": lambda: many_trees(2_000, 50_000),
    "a million columns": many_attributes,
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_memory_is_bounded_by_the_size_of_the_file(claim: Callable[[], bytes], tmp_path: Path) -> None:
    """However much a file claims, loading it takes 40 times its size at most, and some megabytes to begin with."""
    data = claim()
    assert peak_kilobytes(data, tmp_path) * 1024 < 40 * len(data) + 16 * 2**20


# 60 kB of text that NumPy would make 256 MiB of, once for each copy that the checks make.
LONG_NAMES = {"category": lambda: long_category(2**13, 2**13), "label": lambda: long_label(2**13, 2**13)}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("claim", LONG_NAMES.values(), ids=LONG_NAMES)
def test_memory_is_bounded_though_a_name_is_long(claim: Callable[[], bytes], tmp_path: Path) -> None:
    """One long name among many short ones is refused, or takes no more than what is multiplied in memory may."""
    data = claim()
    assert peak_kilobytes(data, tmp_path) * 1024 < 64 * len(data) + 256 * 2**20


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_memory_is_bounded_though_the_forest_is_much_larger_than_its_file(
    product: Callable[[], bytes], tmp_path: Path
) -> None:
    """What is multiplied in memory is refused beyond 256 MiB and 64 times the file, unless the caller allows more."""
    data = product()
    assert peak_kilobytes(data, tmp_path) * 1024 < 64 * len(data) + 256 * 2**20
