"""Databases that are there: one that is not must be told, not made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidInputError
from ._output import shows_bars

if TYPE_CHECKING:
    from ..live import LiveForest


def require_database(url: str, way_out: str) -> None:
    """Raises if a URL is none, or names a file of SQLite that is not there: SQLite would make it."""
    from ..export import imported

    sqlalchemy = imported("sqlalchemy", "live")
    try:
        its = sqlalchemy.make_url(url)
    except sqlalchemy.exc.ArgumentError:
        raise InvalidInputError(
            f"{without_password(url)} is not the URL of a database, such as sqlite:///clinic.db or "
            "postgresql://me@host/clinic."
        ) from None
    is_file = its.get_backend_name() == "sqlite" and its.database not in (None, "", ":memory:")
    if is_file and not its.database.startswith("file:") and not Path(its.database).exists():
        raise InvalidInputError(f"There is no database {its.database}. {way_out}")


def opened_live(folder: Path, url: str | None, *, needs_table: bool = True) -> LiveForest:
    """A live forest, with bars if somebody sees them. Its receipts can be read without the table."""
    from ..live import LiveForest, read_record

    if needs_table:
        require_database(url or read_record(folder)[0]["url"], "Say with --url where it is now.")
    return LiveForest.open(folder, url=url, verbose=int(shows_bars()))


def without_password(url: str) -> str:
    """A URL to be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url)
