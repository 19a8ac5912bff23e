"""The format of model files once more, written and read as docs/format.md has it; imports nothing of ours.

What is written has checksums that are right for whatever it says, so that only the contents can give it away.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

MAGIC = b"\x89DCDS\r\n\x1a"
HEADER_SIZE, ENTRY_SIZE, DIGEST_SIZE = 16, 64, 32
LEAF, RANDOM, GREEDY = 0, 1, 2


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


def with_section(data: bytes, name: str, section: bytes) -> bytes:
    """A sound file with other bytes in one of its sections."""
    return container([(its, section if its == name else old) for its, old in sections_of(data)])


def take(section: BytesIO, kind: str, n: int = 1) -> list[Any]:
    """The next numbers of a section."""
    form = f"<{n}{kind}"
    return list(struct.unpack(form, section.read(struct.calcsize(form))))


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

    @classmethod
    def taken(cls, section: BytesIO, n_rows: int) -> "Column":
        """The next column of a sound section."""
        (encoding,) = take(section, "B")
        if encoding == 0:
            return cls(take(section, "f", n_rows))
        (n_values,) = take(section, "I")
        return cls(take(section, "f", n_values), take(section, "B", n_rows))


@dataclass
class Rows:
    """The section of rows."""

    ids: list[int]
    labels: list[int]
    weights: list[int] | None
    columns: list[Column]
    targets: list[int] | None = None  # of a regressor
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
        data += struct.pack(f"<{len(self.targets or [])}q", *(self.targets or []))
        return data + b"".join(column.packed() for column in self.columns) + self.tail

    @classmethod
    def parsed(cls, data: bytes, n_columns: int, *, has_targets: bool) -> "Rows":
        """The rows of a sound section."""
        section = BytesIO(data)
        (n_rows,) = take(section, "Q")
        ids = take(section, "q", n_rows)
        (has_weights,) = take(section, "B")
        labels = take(section, "I", n_rows)
        weights = take(section, "I", n_rows) if has_weights else None
        targets = take(section, "q", n_rows) if has_targets else None
        columns = [Column.taken(section, n_rows) for _ in range(n_columns)]
        assert not section.read()
        return cls(ids, labels, weights, columns, targets)

    def row(self, i: int) -> list[float]:
        """The values of a row, a number for each column."""
        return [its.values[i] if its.codes is None else its.values[its.codes[i]] for its in self.columns]


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

    def rows_beside(self, probe: Sequence[float], rows: Sequence[Sequence[float]]) -> list[int]:
        """Which of the rows are in the leaf that a row to predict reaches; all are given by their attributes."""
        nodes, splits = iter(self.kinds), iter(zip(self.attributes, self.thresholds, strict=True))

        def beside(inside: list[int]) -> list[int]:
            if next(nodes) == LEAF:
                return inside
            attribute, threshold = next(splits)
            left = beside([i for i in inside if rows[i][attribute] <= threshold])
            right = beside([i for i in inside if not rows[i][attribute] <= threshold])
            return left if probe[attribute] <= threshold else right

        return beside(list(range(len(rows))))


def as_json(value: Any) -> bytes:
    """The canonical text of a description."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def attributes_of(row: Sequence[float], categories: Any) -> list[float]:
    """The attributes of a row: an indicator for each category of a categorical column, else the number itself."""
    attributes: list[float] = []
    for value, its in zip(row, [None] * len(row) if categories is None else categories["features"], strict=True):
        if its is None:
            attributes.append(value)
            continue
        n_categories = len(its["values"]["values"] if its["values"] else []) + its["has_missing"]
        attributes += [float(value == number) for number in range(n_categories)]
    return attributes


def target_of(meta: Any, number: float) -> float:
    """What a number in fixed point stands for, in doubles."""
    return float(meta["targets"]["offset"] + 2.0 ** meta["targets"]["exponent"] * number)


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
        rows = Rows.parsed(sections["rows"], meta["n_features_in"], has_targets="targets" in meta)
        return cls(meta, rows, trees, categories)

    def sections(self) -> Sections:
        """The sections that these parts make."""
        trees = [(f"tree{i:08}", tree.packed()) for i, tree in enumerate(self.trees)]
        categories = [] if self.categories is None else [("categories", as_json(self.categories))]
        return [("meta", as_json(self.meta)), ("rows", self.rows.packed()), *categories, *trees]

    def packed(self) -> bytes:
        """The file that these parts make."""
        return container(self.sections())

    def target_of(self, row: Sequence[float]) -> float:
        """The prediction of a regressor whose trees all have all rows, in plain Python."""
        assert self.meta["params"]["trees_per_row"] == len(self.trees)
        attributes = [attributes_of(self.rows.row(i), self.categories) for i in range(len(self.rows.ids))]
        probe = attributes_of(row, self.categories)
        means = [self._mean_of(tree.rows_beside(probe, attributes)) for tree in self.trees]
        return target_of(self.meta, sum(means, 0.0) / len(means))

    def _mean_of(self, rows: list[int]) -> float:
        """The mean of the targets of a leaf, of integers that are exact."""
        targets, weights = self.rows.targets, self.rows.weights or [1] * len(self.rows.ids)
        assert targets is not None
        return float(sum(weights[i] * targets[i] for i in rows)) / float(sum(weights[i] for i in rows))


class Frozen:
    """The section of a frozen forest."""

    def __init__(self, data: bytes) -> None:
        section = BytesIO(data)
        self.header = take(section, "I", 4) + take(section, "Q")
        n_attributes, n_classes, _, n_values, n_nodes = self.header
        self.length = n_classes or 1  # of a leaf value: so many class shares, or a mean if it says 0 classes
        self.values = take(section, "d", n_values * self.length)
        self.shape = take(section, "B", (n_nodes + 7) // 8)
        n_splits = sum(byte.bit_count() for byte in self.shape)
        self.attribute_kind = "B" if n_attributes <= 2**8 else "H" if n_attributes <= 2**16 else "I"
        self.leaf_kind = "B" if n_values <= 2**8 else "H" if n_values <= 2**16 else "I"
        self.attributes = take(section, self.attribute_kind, n_splits)
        self.thresholds = take(section, "f", n_splits)
        self.leaves = take(section, self.leaf_kind, n_nodes - n_splits)
        assert not section.read()

    def packed(self) -> bytes:
        """The section."""
        return struct.pack("<IIIIQ", *self.header) + b"".join(
            struct.pack(f"<{len(values)}{kind}", *values)
            for kind, values in [
                ("d", self.values),
                ("B", self.shape),
                (self.attribute_kind, self.attributes),
                ("f", self.thresholds),
                (self.leaf_kind, self.leaves),
            ]
        )

    def value_of(self, row: Sequence[float]) -> np.ndarray:
        """The prediction for a row, in plain Python: class shares, or a mean in fixed point."""
        nodes = iter([self.shape[i // 8] >> (i % 8) & 1 for i in range(self.header[4])])
        splits, leaves = iter(zip(self.attributes, self.thresholds, strict=True)), iter(self.leaves)

        def leaf_below() -> int:
            if not next(nodes):
                return next(leaves)
            attribute, threshold = next(splits)
            left, right = leaf_below(), leaf_below()
            return left if row[attribute] <= threshold else right

        total = np.zeros(self.length)
        for _ in range(self.header[2]):
            leaf = leaf_below()
            total += self.values[leaf * self.length : (leaf + 1) * self.length]
        return total / self.header[2]
