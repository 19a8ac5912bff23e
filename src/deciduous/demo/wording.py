"""Numbers in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Seconds, in the unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{_significant(seconds * 1e3)} ms"
    return f"{_significant(seconds)} s"


def times(slow: float, fast: float) -> str:
    """How many times as long the slow one takes."""
    return f"{_significant(slow / fast)}×"


def counted(n: int, thing: str) -> str:
    """A number of things, in singular or plural."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def threads(jobs: int) -> str:
    """The value of `n_jobs` in words."""
    return "all processors" if jobs < 0 else counted(jobs, "thread")


def _significant(value: float) -> str:
    """Two figures at least, and no more decimals than that takes."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"
