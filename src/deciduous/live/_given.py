"""Rows that a user gives, to predict: in any form, with columns by name or by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._validation import is_missing
from ..errors import InvalidInputError


def by_column(rows: Any, names: Sequence[str]) -> list[list[Any]]:
    """The values of the named columns, as plain values."""
    if nw.dependencies.is_into_dataframe(rows):
        table = nw.from_native(rows, eager_only=True)
        _require_columns(names, table.columns)
        return [[_plain(value) for value in table[name].to_list()] for name in names]
    listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    if listed and isinstance(listed[0], Mapping):
        _require_columns(names, [name for name in names if all(name in row for row in listed)])
        return [[_plain(row[name]) for row in listed] for name in names]
    if any(len(row) != len(names) for row in listed):
        raise InvalidInputError(f"Each row needs {len(names)} values: {', '.join(names)}.")
    return [[_plain(row[place]) for row in listed] for place in range(len(names))]


def named_columns(rows: Any, needed: Sequence[str]) -> dict[str, list[Any]]:
    """All columns of a table, or of a list of dicts, by their names, as plain values. Raises if one is missing."""
    if nw.dependencies.is_into_dataframe(rows):
        names: list[str] = nw.from_native(rows, eager_only=True).columns
        incomplete = [name for name in needed if name not in names]
    else:
        rows = list(rows)
        if not all(isinstance(row, Mapping) for row in rows):
            raise InvalidInputError("Give rows as a table, or as a list of dicts, with columns by name.")
        names = list(dict.fromkeys(name for row in rows for name in row))
        incomplete = [name for name in needed if any(name not in row for row in rows)]
    if incomplete:
        raise InvalidInputError(
            f"There are rows without {incomplete[0]!r}. Nothing was changed. Each needs {', '.join(needed)}; what is "
            "missing is None."
        )
    if isinstance(rows, list):
        return {name: [_plain(row.get(name)) for row in rows] for name in names}
    return dict(zip(names, by_column(rows, names), strict=True))


def _require_columns(names: Sequence[str], found: Any) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidInputError(f"Rows have no column {missing[0]!r}. The forest splits on {', '.join(names)}.")


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if is_missing(plain) else plain
