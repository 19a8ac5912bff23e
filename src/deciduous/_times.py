"""Dates, times and durations as numbers: days, those of points in time since 1970-01-01 00:00 UTC.

Forests keep numbers as float32. Days of dates are exact; points in time of our days are told apart if they are three
minutes apart or more, and durations to 7 digits. A point in time without a zone counts as UTC.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

TEMPORAL = "mM"  # kinds of dtypes
DAY = np.timedelta64(1, "D")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def days(values: NDArray[Any]) -> NDArray[np.float64]:
    """Points in time, or durations, as days; what is missing is NaN."""
    spans = values if values.dtype.kind == "m" else values - np.zeros(1, dtype=values.dtype)
    return np.asarray(spans / DAY, dtype=np.float64)


def days_of(value: Any) -> float | None:
    """A date, point in time, time of day or duration of Python's own as days; None for anything else."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(days(np.array([value]))[0])
    if isinstance(value, datetime):
        return ((value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - EPOCH) / timedelta(days=1)
    if isinstance(value, date):
        return float((value - EPOCH.date()).days)
    if isinstance(value, time):
        value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return value / timedelta(days=1) if isinstance(value, timedelta) else None
