"""Values of columns, by one set of rules for all sources: what a column is, and how it becomes what is wanted.

Typed sources (Parquet, Arrow, databases) say what a column holds. In CSV everything is text, of which numbers and truth
values are guessed; dates and times are guessed in text of any source, because SQLite has only text for them.

- Text that is empty, or one of the words in `MISSING`, is a missing value.
- Text with superfluous zeros in front, such as 00003, is not a number.
- Numbers used as text (ids, categories) are written as short as possible: 7, and not 7.0.
- Points in time, times of day and durations are numbers of days (see `_times`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from .._core import StandardFloats

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "NaT")
DURATION = re.compile(r"(?:(-?\d+) days?(?: |$))?(?:([+-])?(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?)?(?<=.)")


class MisfitError(Exception):
    """A column that holds something else than was asked for: sources of text tell only in the end what is in them."""

    def __init__(self, column: str, reason: str) -> None:
        self.column = column
        self.reason = reason
        super().__init__(column)


# ----------------------------------------------------------------------------------------------------- what a column is


def plain_type(kind: Any) -> Any:
    """The type of the values, whatever way they are stored in."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or str(kind) == "string_view":
        return pa.string()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return pa.timestamp("us")
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return pa.duration("us")
    return pa.float64() if pa.types.is_decimal(kind) else kind


def guessed_type(column: Any, *, is_typed: bool, decimal: str) -> Any:
    """The type that text seems to be of: numbers only if nobody has said that it is text."""
    import pyarrow as pa

    present = without_missing(column).drop_null()
    if len(present) == 0:
        return pa.string() if is_typed else pa.null()
    times: list[Any] = [pa.timestamp("us"), pa.duration("us")]
    for kind in times if is_typed else [pa.int64(), pa.float64(), pa.bool_(), *times]:
        try:
            _parsed(present, kind, decimal, is_guess=True)
        except (pa.ArrowInvalid, ValueError):
            continue
        return kind
    return pa.string()


def without_missing(column: Any, known: Collection[str] = ()) -> Any:
    """Text, with null for the words that say that there is no value; not for those that are known as values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array([word for word in MISSING if word not in known], pa.string())
    is_missing = pc.is_in(column, value_set=words)
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), column) if pc.any(is_missing).as_py() else column


# ------------------------------------------------------------------------------------------------- as what it is wanted


def converted(
    name: str,
    column: Any,
    kind: Any,
    *,
    decimal: str = ".",
    is_guess: bool = False,
    known: Collection[str] = (),
    spelled: Any = None,
) -> Any:
    """A column as int64, float64, bool, string, or as time in microseconds.

    If the type is only a guess, text that is not quite of it is a misfit; if it is what a forest knows, text is taken
    for the numbers, truth values or times that it stands for. Text that spells out values of another type is given as
    typed sources would give it.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    plain = plain_type(column.type)
    try:
        if pa.types.is_null(plain):
            return column.cast(kind)
        if pa.types.is_string(plain):
            text = column.cast(pa.string())
            if decimal == "." and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                plain_numbers = _plain_numbers(text, kind, is_guess=is_guess)
                if plain_numbers is not None:
                    return plain_numbers
            text = without_missing(text, known)
            if pa.types.is_string(kind):
                return text if spelled is None else _respelled(text, spelled, decimal, is_guess=is_guess)
            return _parsed(text, kind, decimal, is_guess=is_guess)
        if pa.types.is_string(kind):
            return _by_distinct(column, text_of, kind)
        return _cast(column, plain, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, TypeError) as error:
        raise MisfitError(name, str(error)) from None


def _plain_numbers(text: Any, kind: Any, *, is_guess: bool) -> Any:
    """Text that is nothing but numbers, without a look at anything else: most of what is read is."""
    import pyarrow as pa

    try:
        numbers = text.cast(kind)
    except pa.ArrowInvalid:
        return None
    return None if is_guess and _has_superfluous_zeros(text) else numbers


def _respelled(text: Any, kind: Any, decimal: str, *, is_guess: bool) -> Any:
    """Text that spells out values of this type, each in the one way of `text_of`."""
    import pyarrow as pa

    try:
        return _by_distinct(_parsed(text, kind, decimal, is_guess=True), text_of, pa.string())
    except (pa.ArrowInvalid, ValueError):
        if is_guess:
            raise
        return text


def _cast(column: Any, plain: Any, kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_time(column.type):
        column = column.cast(pa.time64("us")).cast(pa.int64()).cast(pa.duration("us"))
    if pa.types.is_temporal(plain):
        return _as_time(column, plain, kind)
    if pa.types.is_integer(kind) and pa.types.is_floating(plain):
        return _whole(column)
    if pa.types.is_decimal(column.type) or pa.types.is_boolean(plain):
        column = column.cast(pa.float64() if pa.types.is_decimal(column.type) else pa.int8())
    return column.cast(kind, safe=not pa.types.is_floating(kind))


def _as_time(column: Any, plain: Any, kind: Any) -> Any:
    """A column of times: as such, or in days if numbers are wanted."""
    import pyarrow as pa

    unit = column.cast(pa.timestamp("us", "UTC") if _has_zone(column.type) else plain, safe=False).cast(plain)
    if not pa.types.is_floating(kind):
        return unit.cast(kind)
    return pa.array(in_days(unit), from_pandas=True)


def _has_zone(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def in_days(column: Any) -> Any:
    """A column of times as numbers of days; nulls are NaN."""
    from .._times import days

    return days(column.to_numpy(zero_copy_only=False))


def _whole(numbers: Any) -> Any:
    """Numbers of any type as integers, if they are whole: tables make floats of integers beside missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)
    return numbers.cast(pa.int64())  # which refuses fractions, and what does not fit


def _parsed(text: Any, kind: Any, decimal: str, *, is_guess: bool) -> Any:
    """Text as a type; raises if some of it is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(text)
    if pa.types.is_timestamp(kind):
        return _parsed_times(trimmed)
    if pa.types.is_duration(kind):
        return _by_distinct(trimmed, _duration, kind)
    if pa.types.is_boolean(kind):
        if is_guess and pc.any(pc.match_substring_regex(trimmed, "[0-9]")).as_py():
            raise ValueError("truth values are true and false")
        return trimmed.cast(kind)
    if is_guess and _has_superfluous_zeros(trimmed):
        raise ValueError("there are numbers with zeros in front, such as 007, which are taken for text")
    numbers = pc.replace_substring(trimmed, decimal, ".") if decimal != "." else trimmed
    try:
        return numbers.cast(kind)
    except pa.ArrowInvalid as error:
        if pa.types.is_integer(kind):
            return _whole(numbers.cast(pa.float64()))
        if is_guess:
            raise
        return _other_numbers(trimmed, error)


def _other_numbers(text: Any, reason: Exception) -> Any:
    """Truth values or times as numbers, where a forest knows numbers."""
    import pyarrow as pa

    for kind in (pa.bool_(), pa.timestamp("us"), pa.duration("us")):
        try:
            return _cast(_parsed(text, kind, ".", is_guess=True), kind, pa.float64())
        except (pa.ArrowInvalid, ValueError):
            continue
    raise reason


def _has_superfluous_zeros(text: Any) -> bool:
    import pyarrow.compute as pc

    for sign in ("", "-", "+"):
        begins = text.filter(pc.starts_with(text, f"{sign}0"))  # few do, and the other question takes longer
        if len(begins) and pc.any(pc.match_substring_regex(begins, "^[+-]?0[0-9]")).as_py():
            return True
    return False


def _parsed_times(text: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = pc.replace_substring_regex(text, r"(\.[0-9]{6})[0-9]+", r"\1")
    try:
        return micro.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return micro.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))


def _duration(text: str) -> timedelta:
    """A time of day, or a duration as pandas writes it."""
    found = DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no duration")
    days, sign, hours, minutes, seconds = found.groups()
    clock = timedelta(hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0))
    return timedelta(days=int(days or 0)) + (-clock if sign == "-" else clock)


def _by_distinct(column: Any, function: Callable[[Any], Any], kind: Any) -> Any:
    """A column of this type, by a function of each distinct value."""
    import pyarrow as pa

    coded = column.dictionary_encode()
    values = pa.array([function(value) for value in coded.dictionary.to_pylist()], kind)
    return values.take(coded.indices)


def text_of(value: Any) -> str | None:
    """A value as text, the same from whatever source it comes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        instant = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return instant.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if value is None or value != value:
        return None
    if isinstance(value, dict | list | bytes):
        raise ValueError(f"values of the type {type(value).__name__} are neither numbers nor text")
    if not isinstance(value, str) and hasattr(value, "__float__") and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_number(kind: Any) -> bool:
    """Whether a column of this type is split on as numbers."""
    import pyarrow as pa

    return any(its(kind) for its in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, is_time))


def is_time(kind: Any) -> bool:
    """Whether a column of this plain type holds times."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def as_float32(column: Any) -> Any:
    """Numbers as the forest keeps them; nulls are NaN, and what is too large is infinite."""
    import pyarrow as pa

    numbers = in_days(column) if is_time(column.type) else None
    if numbers is None:
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"), StandardFloats():
        return numbers.astype(np.float32)
