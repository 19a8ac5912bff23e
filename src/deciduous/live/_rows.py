"""Rows of a table on their way to the forest: from what a database returns to numbers, labels and digests.

Messages name columns, never values or ids: they end up in logs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from .._columns import encoded_column
from .._row_names import RowNames, are_distinct, text_of
from .._targets import REGRESSION, TargetScale, span_text
from .._validation import END_OF_LABELS, class_keys
from ..errors import InvalidInputError, SchemaChangedError
from . import _digests
from ._settings import LiveColumn, Settings

NUMBERS = {int, float, bool, Decimal}
NAMES: dict[type, str | None] = {int: None, str: "s", UUID: "u"}  # kinds of ids and subjects
NOBODY = 0
NO_SUBJECT = bytes(_digests.SIZE)

# What is kept of a row that the forest holds.
ROW = np.dtype([("id", "<i8"), ("digest", "<u8", (2,)), ("subject", "<u8", (2,))])


@dataclass(frozen=True)
class EncodedRows:
    """Rows as the forest takes them, and what is kept of them to find changes."""

    known: NDArray[Any]  # of the type ROW
    matrix: NDArray[np.float32]  # numbers, and numbers of categories
    labels: list[Any]  # or targets of a regression

    def __len__(self) -> int:
        return len(self.known)

    def only(self, chosen: NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        labels = [label for label, is_chosen in zip(self.labels, chosen.tolist(), strict=True) if is_chosen]
        return type(self)(self.known[chosen], self.matrix[chosen], labels)

    @classmethod
    def together(cls, parts: Iterable[Self], n_columns: int) -> Self:
        """All rows of several batches."""
        several = list(parts)
        return cls(
            np.concatenate([np.empty(0, dtype=ROW), *(part.known for part in several)]),
            np.concatenate([np.empty((0, n_columns), dtype=np.float32), *(part.matrix for part in several)]),
            [label for part in several for label in part.labels],
        )


class Encoder:
    """Turns rows, as `Settings.source_columns` orders their values, into what the forest takes."""

    def __init__(self, settings: Settings, key: bytes) -> None:
        self.settings = settings
        self._key = key
        self._names = RowNames(settings.id_kind)
        self._features = settings.features()
        self._scale = settings.target_scale

    def encoded(self, rows: Sequence[Sequence[Any]]) -> EncodedRows:
        """Rows of one batch."""
        settings = self.settings
        if not rows:
            return EncodedRows.together([], len(settings.columns))
        ids, labels, *rest = zip(*rows, strict=True)
        subjects = rest.pop(0) if settings.subject is not None else None
        matrix = self.matrix(rest)
        known = np.empty(len(rows), dtype=ROW)
        known["id"] = self.core_ids(ids)
        known["subject"] = NOBODY if subjects is None else self.subject_digests(subjects)
        plain, images = self._targets(labels)
        known["digest"] = self._row_digests(known["id"], matrix, images, known["subject"])
        return EncodedRows(known, matrix, plain)

    def _targets(self, values: Sequence[Any]) -> tuple[list[Any], NDArray[Any]]:
        """Labels or targets as the forest takes them, and what it sees of each: a row of bytes, or a number."""
        name = self.settings.target
        if self._scale is not None:
            targets = plain_targets(name, values, self._scale)
            return targets.tolist(), self._scale.fixed(targets).reshape(-1, 1)
        labels = plain_labels(name, values, self.settings.target_is_text)
        distinct = list(dict.fromkeys(labels))
        place = {label: number for number, label in enumerate(distinct)}
        return labels, class_keys(distinct)[[place[label] for label in labels]]

    def matrix(self, columns: Sequence[Sequence[Any]]) -> NDArray[np.float32]:
        """The values that trees split on, column by column."""
        n_rows = len(columns[0])
        matrix = np.empty((n_rows, len(self.settings.columns)), dtype=np.float32)
        for place, (column, values) in enumerate(zip(self.settings.columns, columns, strict=True)):
            _require_values(column, values)
            matrix[:, place] = self._numbers(place, values)
        return matrix

    def _numbers(self, place: int, values: Sequence[Any]) -> NDArray[np.float32]:
        """A column as the estimator encodes it, but for values that look like the stand-in of a forgotten name."""
        column = self.settings.columns[place]
        given = np.empty(len(values), dtype=object)  # NumPy would look into values that are lists
        given[:] = values
        try:
            numbers = encoded_column(given, self._features.categories[place], place, column.name)
        except InvalidInputError:  # whose message names the value
            raise InvalidInputError(
                f"Column {column.name!r} holds a number that is infinite or too large for 32 bits. Nothing was "
                "changed. Use NULL for missing values, or scale the column in a view."
            ) from None
        forgotten = [number for number, name in enumerate(column.categories or ()) if name is None]
        if forgotten:
            numbers[np.isin(numbers, forgotten)] = np.nan
        return numbers

    def core_ids(self, ids: Sequence[Any]) -> NDArray[np.int64]:
        """The core's ids of rows."""
        name, kind = self.settings.id, self.settings.id_kind
        if any(NAMES.get(its, its) != kind for its in set(map(type, ids))):
            kinds = ", ".join(sorted(its.__name__ for its in set(map(type, ids))))
            raise SchemaChangedError(
                name,
                f"names rows by {_kind_name(kind)}, but now also holds values of the types {kinds}",
                "Every row needs an id of one kind; leave out rows without, or create the live forest anew.",
            )
        if not are_distinct(ids):
            refuse_duplicates()
        return self._names.core_ids(list(ids))

    def row_id(self, given: Any) -> Any:
        """An id that a user names, as the table has it; UUIDs may come as text. None if it is of another kind."""
        plain = given.item() if isinstance(given, np.generic) else given
        if self.settings.id_kind == "u" and isinstance(plain, str):
            try:
                return UUID(plain)
            except ValueError:
                return None
        return plain if NAMES.get(type(plain), type(plain)) == self.settings.id_kind else None

    @property
    def kind_of_ids(self) -> str:
        """What rows are named by, in words."""
        return _kind_name(self.settings.id_kind)

    def subject(self, given: Any) -> Any:
        """A subject that a user names, as the table has it; integers and UUIDs may come as text."""
        if self.settings.subject is None:
            raise InvalidInputError("This live forest has no column of subjects. Delete the rows by SQL, and sync.")
        kind = self.settings.subject_kind
        expected = {its: of for of, its in NAMES.items()}[kind]
        try:
            plain = given.item() if isinstance(given, np.generic) else given
            subject = expected(plain) if isinstance(plain, str) else plain
            if self.settings.subject_is_padded and isinstance(subject, str):
                subject = subject.rstrip(" ")
        except ValueError:
            subject = None
        if type(subject) is not expected:
            raise InvalidInputError(
                f"Subjects of this live forest are {_kind_name(kind)}, but one of the type {type(given).__name__} came."
            )
        return subject

    def subject_digest(self, subject: Any) -> bytes:
        """The name in records of a subject, as the table has it."""
        return _digests.keyed(self._key, _digests.SUBJECT, text_of(subject).encode("utf-8", "surrogatepass"))

    def subject_digests(self, subjects: Sequence[Any]) -> NDArray[np.uint64]:
        """Those of the values of a column, which may be NULL."""
        kind = self.settings.subject_kind
        wrong = [its for its in set(map(type, subjects)) - {type(None)} if NAMES.get(its, its) != kind]
        if wrong:
            raise SchemaChangedError(
                str(self.settings.subject),
                f"named subjects by {_kind_name(kind)}, but now also holds values of the type {wrong[0].__name__}",
                "Change the values back, or create the live forest anew.",
            )
        digests = (NO_SUBJECT if subject is None else self.subject_digest(subject) for subject in subjects)
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(len(subjects), 2)

    def _row_digests(
        self,
        ids: NDArray[np.int64],
        matrix: NDArray[np.float32],
        targets: NDArray[Any],
        subjects: NDArray[np.uint64],
    ) -> NDArray[np.uint64]:
        """Keyed digests of what the forest sees of each row, and of its subject; with the id, so that no two agree."""
        canonical = np.where(np.isnan(matrix), np.float32(np.nan), matrix) + np.float32(0)  # one NaN, one zero
        parts = (ids.reshape(-1, 1), canonical, targets, subjects)
        images = np.hstack([np.ascontiguousarray(part).view(np.uint8) for part in parts])
        data, size = images.tobytes(), images.shape[1]
        digests = (
            _digests.keyed(self._key, _digests.ROW, data[begin : begin + size]) for begin in range(0, len(data), size)
        )
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(len(ids), 2)


def plain_labels(name: str, labels: Sequence[Any], is_text: bool) -> list[Any]:
    """Labels as plain strings or numbers."""
    _require_types(name, labels, is_text)
    return list(labels) if is_text else [_plain_number(name, label) for label in labels]


def plain_targets(name: str, values: Sequence[Any], scale: TargetScale) -> NDArray[np.float64]:
    """Targets of a regression, none of which is beyond the scale."""
    _require_types(name, values, is_text=False)
    targets = np.array(values, dtype=np.float64)
    if scale.beyond(targets).any():
        raise InvalidInputError(
            f"Column {name!r} is the target and holds a number that is not {span_text(*scale.limits)}, which is what "
            "this forest takes. Nothing was changed. Correct the table, use NULL for rows without a target, or create "
            "the live forest anew, with a `target_range` that is wide enough for the rows to come."
        )
    return targets


def _plain_number(name: str, value: Any) -> Any:
    """A decimal as an integer. As a double, 1.00000000000000000001 would be taken for 1."""
    if not isinstance(value, Decimal | float):
        return value
    if not math.isfinite(value) or value != int(value) or math.fabs(value) >= END_OF_LABELS:
        raise InvalidInputError(
            f"Column {name!r} is the target and holds numbers that are not whole, or have more than 64 bits, but "
            "labels are classes: text or whole numbers. Nothing was changed. Make classes of them in a view, or create "
            f"the live forest with task={REGRESSION!r}."
        )
    return int(value) if isinstance(value, Decimal) else value


def _require_values(column: LiveColumn, values: Sequence[Any]) -> None:
    """Raises if a column holds something else than before. With the last name of a category its kind is forgotten."""
    kinds = {type(name) for name in column.categories or () if name is not None}
    if kinds or column.categories is None:
        _require_types(column.name, values, is_text=str in kinds)


def _require_types(name: str, values: Sequence[Any], is_text: bool) -> None:
    wrong = set(map(type, values)) - ({str} if is_text else NUMBERS) - {type(None)}
    if wrong:
        raise SchemaChangedError(
            name,
            f"held {'text' if is_text else 'numbers'}, but now holds values of the type {wrong.pop().__name__}",
            "Change the values back, or create the live forest anew.",
        )


def _kind_name(kind: str | None) -> str:
    return {"s": "strings", "u": "UUIDs", None: "integers"}[kind]


def refuse_duplicates() -> NoReturn:
    """An id that names several rows."""
    raise InvalidInputError(
        "The source holds the same id in several rows, but an id names one row. Nothing was changed. "
        "Use a column, or an expression in a query, that is unique."
    )
