"""What the benchmark calls its series of times, and the simulation finds them by."""

from __future__ import annotations

Count = int | str  # or what stands for any number

DATA = "synthetic_80k"
LOCAL, CLUSTER = "one process", "cluster"
PROCESSES = ("worker", "coordinator")
PARTS = f"{DATA}/parts"
STORE_STEPS = ("find", "note", "prepare", "write")
READING = "rows read per second"


def whole(system: str, n_workers: int, what: str) -> str:
    """A series of a whole forest, with so many workers or threads."""
    return f"{DATA}/{system}, {n_workers}/{what}"


def at_once(n_clients: int) -> str:
    """Deletions by several clients."""
    return f"{n_clients} clients"


def calls(n_processes: Count) -> str:
    """Calls to so many processes at once."""
    return f"{PARTS}/call of {n_processes}"


def tree(n_rows: Count) -> str:
    """Single deletions from one tree."""
    return f"{PARTS}/tree of {n_rows} rows"


def tree_fit(n_rows: Count) -> str:
    """Training one tree."""
    return f"{tree(n_rows)}: fit"


def tree_memory(n_rows: Count) -> str:
    """What one tree takes, with its rows."""
    return f"{tree(n_rows)}: memory"


def tree_data(n_rows: Count) -> str:
    """What the rows of one tree take, without the tree."""
    return f"{tree(n_rows)}: data"


def batch(n_together: Count) -> str:
    """Deletions of so many rows at once from one tree."""
    return f"{PARTS}/batch of {n_together}"


def store(rows_per_file: Count, step: str) -> str:
    """A step of changing a file of so many rows."""
    return f"{PARTS}/file of {rows_per_file} rows: {step}"
