"""Looks at the rows of a new live forest: which columns hold numbers, which text, and which categories there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from .._columns import looks_like_names
from .._targets import ANY_TARGET, CLASSIFICATION, plain_range
from .._tasks import AUTO, SeenNumbers
from ..errors import InvalidInputError, shown
from ._rows import NAMES, NUMBERS, plain_targets
from ._settings import TARGET_RANGE, LiveColumn, Settings
from ._source import Source


@dataclass
class _Seen:
    """What the values of a column are."""

    types: set[type] = field(default_factory=set)
    texts: set[Any] = field(default_factory=set)

    def see(self, values: Sequence[Any], *, keeps: bool) -> None:
        self.types.update(map(type, values))
        if keeps or str in self.types:
            self.texts.update(values)


@dataclass
class _SeenTargets:
    """What the values of the target are."""

    types: set[type] = field(default_factory=set)
    numbers: SeenNumbers = field(default_factory=SeenNumbers)
    lowest: float = math.inf
    highest: float = -math.inf

    def see(self, values: Sequence[Any]) -> None:
        self.types.update(map(type, values))
        if self.types <= NUMBERS:
            numbers = np.array(values, dtype=np.float64)
            # NumPy would make floats of integers that stand beside others.
            self.numbers.see(np.array(values) if len(set(map(type, values))) == 1 else np.array(values, dtype=object))
            self.lowest = float(np.minimum(self.lowest, numbers.min()))  # NaN, if one is
            self.highest = float(np.maximum(self.highest, numbers.max()))

    @property
    def task(self) -> str:
        """What they look like."""
        return CLASSIFICATION if self.types - NUMBERS or self.types == {bool} else self.numbers.task


def categorical_choice(given: Any) -> dict[str, list[Any] | None]:
    """`categorical_features` by name: the categories that the user lists, None for those to be learned."""
    if given is None or (isinstance(given, str) and given in ("from_dtype", AUTO)):
        return {}
    if isinstance(given, Mapping):
        return {name: None if its == AUTO else list(its) for name, its in given.items()}
    if isinstance(given, Iterable) and not isinstance(given, str):
        return dict.fromkeys(given)
    raise InvalidInputError(f"categorical_features must name columns of the table, but is {given!r}.")


def feature_names(found: Sequence[str], columns: Sequence[str] | None, others: Sequence[str | None]) -> list[str]:
    """The columns that trees split on: those that the user lists, or all that have no other purpose."""
    for name in [*(columns or ()), *(other for other in others if other is not None)]:
        if name not in found:
            raise InvalidInputError(f"There is no column {name!r}. There are {shown(found, 20)}.")
    purposes = [other for other in others if other is not None]
    for name in purposes:
        if purposes.count(name) > 1:
            raise InvalidInputError(
                f"`id`, `target` and `subject` must be different columns, but {name!r} is given for several. "
                "A query can give a column twice, under two names."
            )
    names = [name for name in found if name not in others] if columns is None else list(columns)
    overlap = [name for name in names if name in others]
    if overlap:
        raise InvalidInputError(
            f"Column {overlap[0]!r} is the id, the target or the subject; leave it out of `columns`."
        )
    if not names or len(set(names)) < len(names):
        raise InvalidInputError("`columns` must name at least one column, and each once.")
    return names


def learned(
    source: Source,
    connection: sa.Connection,
    settings: Settings,
    choice: Mapping[str, list[Any] | None],
    task: str | None,
    target_range: tuple[float, float] | None,
) -> tuple[Settings, int]:
    """The settings with what the rows tell: kinds of columns, categories, kind of ids and labels. And how many rows.

    Rows also tell the task and the range of targets, if the user does not say them.
    """
    names = [column.name for column in settings.columns]
    for name in choice:
        if name not in names:
            raise InvalidInputError(f"categorical_features names {name!r}, but the columns are {shown(names, 20)}.")
    seen = {name: _Seen() for name in names}
    ids, targets, subjects, n_rows = _Seen(), _SeenTargets(), _Seen(), 0
    n_before = len(settings.source_columns) - len(names)

    def look(rows: Sequence[Sequence[Any]]) -> None:
        nonlocal n_rows
        n_rows += len(rows)
        by_column = list(zip(*rows, strict=True))
        ids.types.update(map(type, by_column[0]))
        targets.see(by_column[1])
        if settings.subject is not None:
            subjects.types.update(map(type, by_column[2]))
        for name, values in zip(names, by_column[n_before:], strict=True):
            seen[name].see(values, keeps=name in choice)

    source.read(connection, settings, look)
    if settings.subject is not None:  # people whose rows all lack a label are people, too
        subjects.types.update(map(type, source.subjects_without_label(connection, settings)))
    if n_rows == 0:
        raise InvalidInputError(
            f"{settings.source_name} holds no row with a label in {settings.target!r}. A forest needs at least one."
        )
    return replace(
        settings,
        columns=tuple(_column(name, seen[name], name in choice, choice.get(name), n_rows) for name in names),
        id_kind=_name_kind(settings.id, ids.types),
        subject_kind=_name_kind(settings.subject, subjects.types - {type(None)} or {str}),
        subject_is_padded=settings.subject is not None and source.fills_with_blanks(connection, settings.subject),
        target_is_text=_is_text(settings.target, targets.types),
        **_about_targets(settings.target, targets, task or targets.task, target_range),
    ), n_rows


def _about_targets(name: str, seen: _SeenTargets, task: str, given: tuple[float, float] | None) -> dict[str, Any]:
    """The task, and the range of targets that are numbers. Of the rows it tells no more than a power of two."""
    if task == CLASSIFICATION:
        return {"task": task}
    if seen.types - NUMBERS:
        raise InvalidInputError(
            f"Column {name!r} is the target and holds text, but the targets of a regression are numbers. Convert it in "
            f"a view, or take task={CLASSIFICATION!r}."
        )
    if given is None:
        plain_targets(name, [seen.lowest, seen.highest], ANY_TARGET)  # or raise
        given = plain_range(seen.lowest, seen.highest)
    return {"task": task, "params": {TARGET_RANGE: list(given)}}


def _column(name: str, seen: _Seen, is_chosen: bool, listed: list[Any] | None, n_rows: int) -> LiveColumn:
    types = seen.types - {type(None)}
    if listed is not None:
        values = [value for value in listed if value is not None]
        _require_categories(name, {type(value) for value in values})
        if len(set(values)) < len(values) or not listed:
            raise InvalidInputError(f"categorical_features[{name!r}] must list categories, each once.")
        return LiveColumn(name, tuple(values), len(values) < len(listed))
    if not is_chosen and not types - NUMBERS:
        return LiveColumn(name)
    _require_categories(name, types)
    has_missing = type(None) in seen.types
    values = sorted(seen.texts - {None})
    if not is_chosen and looks_like_names(len(values), n_rows):
        raise InvalidInputError(
            f"Column {name!r} holds text with {len(values)} different values in {n_rows} rows: names or dates, "
            "it seems, and not categories. Leave it out with `columns=`, turn it into numbers in a view, or name it in "
            "`categorical_features` if these are categories."
        )
    return LiveColumn(name, tuple(values), has_missing, is_learned=True)


def _require_categories(name: str, types: set[type]) -> None:
    if types != {str} and not (types and types <= NUMBERS):
        raise InvalidInputError(
            f"Column {name!r} holds values of the types {shown(sorted(its.__name__ for its in types)) or 'NULL'}, but "
            "columns hold numbers, or text as categories. Leave it out with `columns=`, or convert it in a view."
        )


def _name_kind(name: str | None, types: set[type]) -> str | None:
    if len(types) != 1 or not types <= set(NAMES):
        raise InvalidInputError(
            f"Column {name!r} is to hold integers, strings or UUIDs, all of one kind, but holds values of the "
            f"types {shown(sorted(its.__name__ for its in types))}."
        )
    return NAMES[types.pop()]


def _is_text(name: str, types: set[type]) -> bool:
    if types == {str}:
        return True
    if types <= NUMBERS:
        return False
    raise InvalidInputError(
        f"Column {name!r} is the target and must hold numbers or text, but holds values of the types "
        f"{shown(sorted(its.__name__ for its in types))}."
    )
