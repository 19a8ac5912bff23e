"""Columns in compact arrays, filled batch by batch: numbers as float32, text as numbers of its distinct values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tables.values import as_float32


class Numbers:
    """A column of numbers."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.float32]] = []

    def see(self, column: Any) -> None:
        """Take in the column of another batch."""
        self._parts.append(as_float32(column))

    def taken(self) -> Any:
        """The column; it can be taken once, so that no part is kept twice."""
        import pyarrow as pa

        parts, self._parts = self._parts, []
        return pa.chunked_array([pa.array(part) for part in parts], type=pa.float32())


class Texts:
    """A column of text, as numbers of the distinct texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parts: list[NDArray[np.int32]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def see(self, column: Any) -> None:
        """Take in the column of another batch."""
        coded = column.dictionary_encode()
        numbers = [self._numbers.setdefault(text, len(self._numbers)) for text in coded.dictionary.to_pylist()]
        # The last one, for nulls, is found by -1.
        lookup = np.array([*numbers, -1], dtype=np.int32)
        self._parts.append(lookup[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])

    def codes(self) -> NDArray[np.int32]:
        """For each row the number of its text, -1 for none; can be taken once."""
        parts, self._parts = self._parts, []
        return np.concatenate([np.empty(0, dtype=np.int32), *parts])

    def texts(self) -> list[str]:
        """The distinct texts, in the order of their numbers."""
        return list(self._numbers)

    def taken(self) -> Any:
        """The column, with a dictionary; it can be taken once."""
        import pyarrow as pa

        codes = self.codes()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(self.texts(), pa.string()))


class Whole:
    """A column of integers or truth values, without nulls."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []

    def see(self, column: Any) -> None:
        """Take in the column of another batch."""
        self._parts.append(column.to_numpy(zero_copy_only=False))

    def taken(self) -> NDArray[Any]:
        """The column; it can be taken once."""
        parts, self._parts = self._parts, []
        return np.concatenate(parts)
