"""Live tables: the forest as a view of a SQL table, with receipts. See docs/live.md."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("sqlalchemy") is None:
    raise ImportError("Live tables need SQLAlchemy: pip install 'deciduous[live]', or 'deciduous[postgres]'.")

from .live_forest import LiveForest
from .receipts import Receipt
from .record import read_record
from .reports import ErasureReport, LiveVerification, SyncReport
from .requests import Request, Requests

__all__ = [
    "ErasureReport",
    "LiveForest",
    "LiveVerification",
    "Receipt",
    "Request",
    "Requests",
    "SyncReport",
    "read_record",
]
