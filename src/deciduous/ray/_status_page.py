"""How the processes of a forest are, as a page of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COLUMNS = ("worker", "node", "pid", "trees", "rows", "memory", "peak", "queue", "last", "median", "recoveries", "up")
NO_ANSWER = "does not answer"


def status_page(status: Mapping[str, Any]) -> str:
    """What `status` returned, as a table of workers below a few lines on the whole."""
    head = [
        f"{status['rows']:,} rows, {status['trees']:,} trees, {status['epoch']:,} changes since the fit"
        if status["fitted"]
        else "not fitted",
        f"{status['waiting']} changes wait, {status['merged']:,} deletions were merged into others",
        f"coordinator {status['pid']}, up {_seconds(status['uptime'])}; rows in {status['folder']}",
    ]
    rows = [COLUMNS, *map(_worker_row, range(len(status["workers"])), status["workers"], status["recoveries"])]
    widths = [max(len(row[i]) for row in rows if len(row) > i) for i in range(len(COLUMNS))]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)) for row in rows]
    return "\n".join([*head, "", *table])


def _worker_row(number: int, its: Mapping[str, Any] | None, n_recoveries: int) -> tuple[str, ...]:
    if its is None:
        return str(number), NO_ANSWER
    return (
        str(number),
        its["node"][:8],
        str(its["pid"]),
        f"{its['trees']:,}" if its["trees_grown"] >= its["trees"] else f"{its['trees_grown']:,}/{its['trees']:,}",
        f"{its['rows']:,}",
        _bytes(its["memory"]),
        _bytes(its["peak_memory"]),
        str(its["queue"]),
        _milliseconds(its["last_latency"]),
        _milliseconds(its["median_latency"]),
        str(n_recoveries),
        _seconds(its["uptime"]),
    )


def _bytes(n: int) -> str:
    return f"{n / 2**20:,.0f} MiB"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:,.1f} ms"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s"
