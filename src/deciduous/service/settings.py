"""What the service allows, and how often it does what nobody asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Limits and habits. The defaults suit a machine with a few processors."""

    largest_body: int = 10 * 2**20  # bytes
    most_rows: int = 10_000  # in one request
    body_seconds: float = 30.0  # that a body may take to arrive
    most_requests: int = 256  # at once, waiting ones included
    threads: int = 4  # for predictions and whatever else blocks
    most_waiting: int = 128  # changes of one model
    patience: float = 30.0  # seconds that a request waits for its turn
    rate: float = 200.0  # requests per second and key
    burst: int = 400
    every: float = 60.0  # seconds between looks at the table, for changes that did not come by the service
    vacuum: bool = True  # whether files of SQLite are rewritten after deletions
    organisation: str | None = None  # named on certificates
