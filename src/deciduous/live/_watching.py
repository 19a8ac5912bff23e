"""Waits until a table may have changed."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from ._source import Source

Wait = Callable[[float], None]  # called with the number of seconds between two looks


@contextmanager
def waiting_for_changes(source: Source, channel: str | None) -> Iterator[Wait]:
    """Something to wait with. It begins to listen at once, so that nothing between two waits is missed."""
    if not source.is_sqlite and channel is None:
        yield time.sleep
        return
    with source.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield _until_written(connection) if source.is_sqlite else _until_notified(connection, str(channel))


def _until_written(connection: sa.Connection) -> Wait:
    """SQLite tells each connection whether others have written since it last looked."""

    def version() -> int:
        return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    seen = version()

    def wait(seconds: float) -> None:
        nonlocal seen
        # What was written during the last sync may have come too late for it, so that counts, too.
        while (now := version()) == seen:
            time.sleep(seconds)
        seen = now

    return wait


def _until_notified(connection: sa.Connection, channel: str) -> Wait:
    """PostgreSQL tells those who listen that something was captured. A look after a while is only for safety."""
    quoted = connection.dialect.identifier_preparer.quote_identifier(channel)
    connection.exec_driver_sql(f"LISTEN {quoted}")
    driver: Any = connection.connection.driver_connection

    def wait(seconds: float) -> None:
        select.select([driver.fileno()], [], [], seconds)
        driver.pgconn.consume_input()
        while driver.pgconn.notifies() is not None:  # one sync is for all of them
            pass

    return wait
