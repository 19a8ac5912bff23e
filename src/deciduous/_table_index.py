"""The index of pandas tables: what rows are called, unless somebody says otherwise.

After `train_test_split` the index tells which rows of the whole table are there. Ids that count from 0 again would be
those of other rows, and `delete([X.index[0]])` would delete somebody else.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from ._row_names import KINDS, settled
from ._validation import INTEGER
from .errors import InvalidInputError

WAYS_OUT = "Give `ids=`, or `reset_index(drop=True)` to number the rows."


def row_ids(X: Any, ids: Any, **columns: Any) -> Any:
    """The ids that were given; else the index of a pandas table, if it is more than a count of its rows; else None.

    Columns of pandas with another index than that of the table are refused: whose rows are they?
    """
    ids = settled(ids)
    if not nw.dependencies.is_pandas_like_dataframe(X):
        return ids
    _require_one_order(X.index, columns | {"ids": ids})
    return _names(X.index) if ids is None and not _is_default(X.index) else ids


def _require_one_order(index: Any, columns: dict[str, Any]) -> None:
    for name, column in columns.items():
        if nw.dependencies.is_pandas_series(column) and not column.index.equals(index):
            raise InvalidInputError(
                f"`{name}` has another index than X, so its values may belong to other rows. If the index names the "
                f"rows, give `{name}.loc[X.index]`; if both are in the same order, `{name}.to_numpy()`."
            )


def _is_default(index: Any) -> bool:
    """Whether it only counts the rows. One that was cut out of a longer one, such as [0, 1], names them."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _names(index: Any) -> list[Any]:
    if getattr(index, "nlevels", 1) > 1:
        raise InvalidInputError(f"The index of X has {index.nlevels} levels, so it cannot name rows. {WAYS_OUT}")
    names: list[Any] = index.tolist()
    kinds: list[Any] = [INTEGER, *KINDS.values()]
    if index.dtype == bool or not any(all(isinstance(name, kind) for name in names) for kind in kinds):
        raise InvalidInputError(
            f"The index of X is of type {index.dtype}, and rows are named by integers, strings or UUIDs. {WAYS_OUT}"
        )
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise InvalidInputError(f"The index of X has {twice!r} twice or more, so it cannot name rows. {WAYS_OUT}")
    return names
