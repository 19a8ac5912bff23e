"""Live forests, which follow a SQL table and keep receipts. See docs/live.md."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from .._lazy import found_when_asked

if find_spec("sqlalchemy") is None:
    raise ImportError("Live tables need SQLAlchemy: pip install 'deciduous[live]', or 'deciduous[postgres]'.")

if TYPE_CHECKING:
    from ._settings import ColumnKind
    from ._signing import SigningKey
    from ._table import LiveTable
    from .connecting import ForestView, HandedOver, connect, read_forest
    from .live_forest import LiveForest
    from .receipts import Receipt
    from .record import check_against, read_record
    from .reports import ErasureReport, LiveVerifyReport, SyncReport
    from .requests import Request, Requests

__all__ = [
    "ColumnKind",
    "ErasureReport",
    "ForestView",
    "HandedOver",
    "LiveForest",
    "LiveTable",
    "LiveVerifyReport",
    "Receipt",
    "Request",
    "Requests",
    "SigningKey",
    "SyncReport",
    "check_against",
    "connect",
    "read_forest",
    "read_record",
]

_HOMES = {
    "ColumnKind": "_settings",
    "ErasureReport": "reports",
    "ForestView": "connecting",
    "HandedOver": "connecting",
    "LiveForest": "live_forest",
    "LiveTable": "_table",
    "LiveVerifyReport": "reports",
    "Receipt": "receipts",
    "Request": "requests",
    "Requests": "requests",
    "SigningKey": "_signing",
    "SyncReport": "reports",
    "check_against": "record",
    "connect": "connecting",
    "read_forest": "connecting",
    "read_record": "record",
}

if not TYPE_CHECKING:  # to type checkers, a module with this function has every attribute
    __getattr__ = found_when_asked(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
