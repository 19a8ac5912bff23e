"""Which rows the forest holds, as ids and keyed digests, in files of a few thousand rows each.

Files are never changed. A change writes new files for the buckets concerned, the state then names those, and the old
ones are removed. So a change costs as much as it changes, and what left the index is in no file. (A table of SQLite
does not do: even with `secure_delete` it leaves copies of deleted entries in pages that were rebalanced.)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._container import container, mapped, read_container, section
from ..errors import CorruptModelError
from ._folder import Folder
from ._rows import ROW

ROWS_PER_BUCKET = 2_000
CROWDED = 4  # times as many rows, and the index is divided anew
MIX = np.uint64(0x9E3779B97F4A7C15)


class RowIndex:
    """The rows that the forest holds."""

    def __init__(self, buckets: Mapping[int, NDArray[Any]], n_buckets: int) -> None:
        self._buckets = dict(buckets)
        self.n_buckets = n_buckets

    @classmethod
    def of(cls, rows: NDArray[Any]) -> tuple[Self, dict[int, NDArray[Any]]]:
        """The index of these rows, and its buckets."""
        nothing = cls({}, max(1, len(rows) // ROWS_PER_BUCKET))
        return nothing.changed(np.empty(0, dtype=np.int64), rows)

    @classmethod
    def read(cls, folder: Folder, files: Mapping[int, str], n_buckets: int) -> Self:
        """The index that these files hold."""
        index = cls({number: _read(folder, name) for number, name in files.items()}, n_buckets)
        for number, rows in index._buckets.items():
            if not (index._bucket_of(rows["id"]) == number).all():
                raise CorruptModelError("a bucket of it holds rows of another")
        return index

    @cached_property
    def rows(self) -> NDArray[Any]:
        """All rows, by ascending id."""
        rows = np.concatenate([np.empty(0, dtype=ROW), *self._buckets.values()])
        return rows[np.argsort(rows["id"])]

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def changed(self, gone: NDArray[np.int64], come: NDArray[Any]) -> tuple[Self, dict[int, NDArray[Any]]]:
        """The index without some rows and with others, and the buckets that differ.

        An index that has become crowded is divided anew, so that a change of few rows stays a change of small files.
        """
        if len(self) - len(gone) + len(come) > CROWDED * ROWS_PER_BUCKET * self.n_buckets:
            return self.of(np.concatenate([self.rows[~np.isin(self.rows["id"], gone)], come]))
        gone_from, come_to = self._bucket_of(gone), self._bucket_of(come["id"])
        fresh: dict[int, NDArray[Any]] = {}
        for number in np.union1d(gone_from, come_to).tolist():
            old = self._buckets.get(number, np.empty(0, dtype=ROW))
            kept = old[~np.isin(old["id"], gone[gone_from == number])]
            rows = np.concatenate([kept, come[come_to == number]])
            fresh[number] = rows[np.argsort(rows["id"])]
        return type(self)(self._buckets | fresh, self.n_buckets), fresh

    def _bucket_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        mixed = ids.astype(np.uint64) * MIX
        return ((mixed >> np.uint64(32)) % np.uint64(self.n_buckets)).astype(np.int64)


def write_bucket(folder: Folder, rows: NDArray[Any]) -> str:
    """Write a bucket to a file of its own. Returns its name."""
    return folder.write_part("rows", container({"rows": rows.tobytes()}))


def _read(folder: Folder, name: str) -> NDArray[Any]:
    data = section(read_container(mapped(folder.part(name))), "rows")
    return np.frombuffer(data, dtype=ROW).copy()
