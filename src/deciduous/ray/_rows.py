"""Rows with everything that a forest knows of each, and the bytes that stand for them in files.

The numbers are in the files as they are in memory, so that a mapped file is read without copies: whatever is read of a
row stays in the file, and goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._container import Section, json_section, read_json, section
from .._row_names import Name, RowNames, name_from, text_of
from .._state import entry, labels_from, labels_state
from .._targets import TargetScale
from .._validation import extended_classes
from ..errors import CorruptModelError

ALIGNMENT = 8  # of the numbers in a file
NUMBERS = {"ids": np.int64, "targets": np.int64, "values": np.float32, "codes": np.uint32, "weights": np.uint32}
NOBODY = ""  # the text of a subject that is missing; those of others begin with their kind


@dataclass
class Rows:
    """Some rows."""

    ids: NDArray[np.int64]
    values: NDArray[np.float32]
    labels: NDArray[Any] | None  # of a classifier
    weights: NDArray[np.uint32]
    targets: NDArray[np.int64] | None  # of a regressor, in fixed point
    names: list[Any] | None = None
    subjects: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, places: Any) -> Self:
        """Those at these places, in a slice, or where a mask is true. A slice copies no numbers."""
        picked: dict[str, Any] = {}
        at = places if isinstance(places, slice) else np.asarray(places)
        where = np.arange(len(self))[at].tolist() if self.names is not None or self.subjects is not None else []
        for name in (its.name for its in fields(self)):
            column = getattr(self, name)
            is_listed = name in ("names", "subjects")
            picked[name] = None if column is None else [column[i] for i in where] if is_listed else column[at]
        return replace(self, **picked)

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """The rows of several parts."""
        joined: dict[str, Any] = {}
        for name in (its.name for its in fields(cls)):
            columns = [getattr(part, name) for part in parts]
            if all(column is None for column in columns):
                joined[name] = None
            elif name in ("names", "subjects"):
                filled = [[None] * len(part) if its is None else its for its, part in zip(columns, parts, strict=True)]
                joined[name] = list(chain.from_iterable(filled))
            else:
                joined[name] = np.concatenate(columns)
        return cls(**joined)

    def codes(self, classes: NDArray[Any]) -> NDArray[np.uint32]:
        """The place of each label among these classes; 0 in a regressor."""
        if self.labels is None or len(self) == 0:
            return np.zeros(len(self), np.uint32)
        return extended_classes(classes, self.labels)[1]

    def wipe(self) -> None:
        """Overwrite the numbers, which nobody needs any more."""
        for column in (self.ids, self.values, self.labels, self.weights, self.targets):
            if column is not None and column.flags.writeable:
                column.fill(0 if column.dtype.kind != "U" else "")


@dataclass
class RowFormat:
    """How rows become sections of a file, and come back."""

    n_columns: int
    scale: TargetScale | None  # of the targets of a regressor

    def none(self) -> Rows:
        """No rows."""
        is_regressor = self.scale is not None
        return Rows(
            ids=np.empty(0, np.int64),
            values=np.empty((0, self.n_columns), np.float32),
            labels=None if is_regressor else np.empty(0, np.int64),
            weights=np.empty(0, np.uint32),
            targets=np.empty(0, np.int64) if is_regressor else None,
        )

    def sections(self, rows: Rows) -> dict[str, Section]:
        """Rows as sections of bytes. Numbers of the rows are not copied, unless they have to be."""
        meta: dict[str, Any] = {}
        numbers: dict[str, NDArray[Any] | None] = {"ids": rows.ids, "targets": rows.targets, "values": rows.values}
        if rows.labels is not None:
            classes, codes = np.unique(rows.labels, return_inverse=True)
            meta["classes"] = labels_state(classes)
            numbers["codes"] = codes
        if (rows.weights != 1).any():
            numbers["weights"] = rows.weights
        texts = {
            name: [NOBODY if its is None else text_of(its) for its in names]
            for name, names in (("names", rows.names), ("subjects", rows.subjects))
            if names is not None
        }
        packed: dict[str, Section] = {"meta": _padded(json_section(meta))}
        for name, its in numbers.items():
            if its is not None:
                packed[name] = np.ascontiguousarray(its, NUMBERS[name]).reshape(-1).view(np.uint8).data
        for name, its_texts in texts.items():
            encoded = [text.encode() for text in its_texts]
            packed[name] = _padded(b"".join(encoded))
            packed[f"{name}-ends"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64).tobytes()
        return packed

    def rows(self, sections: dict[str, memoryview], prefix: str = "") -> Rows:
        """The rows in sections, whose numbers are read where they are."""
        return _Reading(self, {name.removeprefix(prefix): its for name, its in sections.items()}).rows()

    def some_rows(self, sections: dict[str, memoryview], begin: int, end: int) -> Rows:
        """Those of the rows in sections from one place to below another."""
        return _Reading(self, sections).rows(begin, end)


@dataclass
class _Reading:
    """Sections that are read."""

    format: RowFormat
    sections: dict[str, memoryview]

    def rows(self, begin: int = 0, end: int | None = None) -> Rows:
        some = slice(begin, end)
        ids = self._numbers("ids")
        is_regressor = self.format.scale is not None
        values = self._numbers("values").reshape(len(ids), self.format.n_columns)
        weights = self._numbers("weights")[some] if "weights" in self.sections else None
        its_ids = ids[some]
        return Rows(
            ids=its_ids,
            values=values[some],
            labels=None if is_regressor else self._classes()[self._numbers("codes")[some]],
            weights=np.ones(len(its_ids), np.uint32) if weights is None else weights,
            targets=self._numbers("targets")[some] if is_regressor else None,
            names=self._texts("names", some),
            subjects=self._texts("subjects", some),
        )

    def _classes(self) -> NDArray[Any]:
        return labels_from(entry(read_json(section(self.sections, "meta")), "classes", dict))

    def _numbers(self, name: str) -> NDArray[Any]:
        return np.frombuffer(section(self.sections, name), NUMBERS[name])

    def _texts(self, name: str, some: slice) -> list[Name | None] | None:
        if name not in self.sections:
            return None
        ends = np.frombuffer(section(self.sections, f"{name}-ends"), np.int64)
        data = self.sections[name]
        begins = ends[:-1][some].tolist()
        return [_name(bytes(data[begin:end])) for begin, end in zip(begins, ends[1:][some].tolist(), strict=True)]


def _name(data: bytes) -> Name | None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CorruptModelError(f"it has a name that is no text: {error}") from None
    return None if text == NOBODY else name_from(text)


def _padded(data: bytes) -> bytes:
    """Bytes with as many spaces behind them as the numbers in the next section need."""
    return data + b" " * (-len(data) % ALIGNMENT)


def canonical(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The values as the core has them: there is one zero, and one NaN."""
    same = values + np.float32(0)
    same[np.isnan(same)] = np.nan
    return same


def held_rows(core: Any, classes: NDArray[Any] | None, n_columns: int, names: RowNames) -> Rows:
    """All rows that a forest of the core holds, with their names; a regressor has no classes."""
    ids = core.ids()
    held = core.rows(ids)
    return Rows(
        ids=ids,
        values=held.values.reshape(len(ids), n_columns),
        labels=None if classes is None else classes[held.labels],
        weights=held.weights,
        targets=held.targets if classes is None else None,
        names=None if names.kind is None else names.shown_ids(ids.tolist()),
        subjects=[names.subjects.get(i) for i in ids.tolist()] if names.subjects else None,
    )
