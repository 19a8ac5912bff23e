"""Numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING = "–"


def shown(value: float | None, unit: str = "") -> str:
    """A value with three significant digits and its unit; seconds and bytes in a unit that suits them."""
    if value is None:
        return NOTHING
    if unit == "s":
        return scaled(value, (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)))
    if unit == "B":
        return scaled(value, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))
    return f"{digits(value)} {unit}" if unit not in ("", "x") else f"{digits(value)}{unit}"


def scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    """In the largest unit of which there is at least one, else in the smallest."""
    name, size = next(((name, size) for name, size in units if abs(value) >= size), units[-1])
    return f"{digits(value / size)} {name}"


def digits(value: float) -> str:
    """Three significant digits, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def score(value: float | None, error: float | None = None) -> str:
    """A share of one, with its standard error."""
    if value is None:
        return NOTHING
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def points(difference: float | None) -> str:
    """A difference of scores in percentage points."""
    return NOTHING if difference is None else f"{100 * difference:+.2f}"


def ratio(ours: float | None, theirs: float | None) -> str:
    """Ours as a multiple of theirs."""
    return NOTHING if ours is None or not theirs else f"{digits(ours / theirs)}x"


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def listed(items: Sequence[str]) -> str:
    """Names in a row, or that there are none."""
    return ", ".join(items) if items else "none"
