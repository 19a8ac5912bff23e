"""The format of model files once more, written and read as docs/format.md has it; imports nothing of ours.

What is written has checksums that are right for whatever it says, so that only the contents can give it away.
"""

import hashlib
import json
import struct
from dataclasses import dataclass
from typing import Any

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
