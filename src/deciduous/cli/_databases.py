"""Databases that are there: one that is not must be told, not made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError
from ._clusters import Cluster
from ._output import shows_bars

if TYPE_CHECKING:
    from ..live import HandedOver, LiveForest


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


def is_live(path: Path) -> bool:
    """Whether this is the folder of a live forest."""
    return (path / "state.db").exists()


def opened_live(folder: Path, url: str | None, cluster: Cluster | None = None) -> LiveForest:
    """A live forest that this process alone has open, with bars if somebody sees them."""
    from ..live import LiveForest

    require_table(folder, url)
    return LiveForest.open(folder, url=url, verbose=int(shows_bars()), **where(cluster))


def connected_live(
    folder: Path, url: str | None, cluster: Cluster | None = None, *, needs_table: bool = True
) -> LiveForest | HandedOver:
    """A live forest, or the process that has it open, which does what is asked. Its record needs no table."""
    from ..live import connect

    if needs_table:
        require_table(folder, url)
    return connect(folder, url=url, verbose=int(shows_bars()), **where(cluster))


def where(cluster: Cluster | None) -> dict[str, Any]:
    """What says to a live forest where it is to be while this process has it open."""
    if cluster is None:
        return {}
    if cluster.folder is not None:
        raise InvalidInputError("A live forest has the rows for workers in its own folder: leave out --folder.")
    return {"ray": cluster.address, "n_workers": cluster.n_workers}


def require_table(folder: Path, url: str | None) -> None:
    """Raises if the database is not there that a live forest follows."""
    from ..live import read_record

    require_database(url or read_record(folder)[0]["url"], "Say with --url where it is now.")


def sqlite_file(url: str) -> Path | None:
    """The file of a database, if it is one of SQLite: told from the URL alone, before anything is imported."""
    found = re.fullmatch(r"sqlite(?:\+\w+)?:///(?:file:)?([^?]+)(?:\?.*)?", url, re.DOTALL)
    return None if found is None or found[1] == ":memory:" else Path(found[1])


def without_password(url: str) -> str:
    """A URL to be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url)
