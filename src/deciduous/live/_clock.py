"""The time of the machine, which may jump: it is written down, and decides what is overdue, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime


def system_time() -> datetime:
    """What the clock of the machine says."""
    return datetime.now(UTC)


def now() -> datetime:
    """The time, in UTC, to the second."""
    return system_time().replace(microsecond=0)


def is_time(text: object) -> bool:
    """Whether this is a time as records write it."""
    try:
        return isinstance(text, str) and datetime.fromisoformat(text).tzinfo is UTC
    except ValueError:
        return False
