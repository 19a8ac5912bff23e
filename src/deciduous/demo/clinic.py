"""The clinic's database, and the forest that follows its table. Needs SQLAlchemy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from ..live import LiveForest, Receipt
from .measures import TableErasure, timed
from .searching import Traces
from .visits import CATEGORIES, Visits

TABLE = "visits"
ORGANISATION = "City Clinic"


def write_database(path: Path, visits: Visits) -> None:
    """The table, in a file of SQLite."""
    types = {name: "TEXT" if name in CATEGORIES else "REAL" for name in visits.columns}
    columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
    places = ", ".join("?" * (len(types) + 3))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"CREATE TABLE {TABLE} (visit INTEGER PRIMARY KEY, patient TEXT, {columns}, readmitted INTEGER)"
        )
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({places})", visits.records())
        connection.execute(f"CREATE INDEX by_patient ON {TABLE} (patient)")


class Clinic:
    """The table, as its forest sees it."""

    def __init__(self, live: LiveForest, database: Path, forest_folder: Path) -> None:
        self.live = live
        self._database = database
        self._forest_folder = forest_folder
        self._receipt: Receipt | None = None

    @classmethod
    def opened(cls, database: Path, forest_folder: Path, params: dict[str, Any]) -> Self:
        """Train a forest on the table. Changes are captured, so that one of them is found without reading all rows."""
        live = LiveForest.create(
            f"sqlite:///{database}",
            table=TABLE,
            id="visit",
            target="readmitted",
            subject="patient",
            folder=forest_folder,
            params=params,
            capture=True,
        )
        live.sync()  # compares all rows; from now on, only those that changed are looked at
        return cls(live, database, forest_folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.live.close(store=kind is None)

    def visits_of(self, patient: str) -> list[int]:
        """The ids of a patient's rows, as the table has them."""
        with closing(sqlite3.connect(self._database)) as connection:
            found = connection.execute(f"SELECT visit FROM {TABLE} WHERE patient = ?", [patient])
            return [visit for (visit,) in found]

    def erased(self, patient: str) -> TableErasure:
        """Erase a patient everywhere, search all files for what is left, and have the table trained again."""
        traces = Traces.of(patient, self.visits_of(patient))
        files_before = traces.count(self._files())
        report, seconds = timed(lambda: self.live.erase(patient))
        self.live.store()  # so that the forest is among the files that are searched
        files = self._files()
        (self._receipt,) = report.receipts
        return TableErasure(
            seconds,
            fingerprint=self.live.forest.fingerprint(),
            reference=report.request.id,
            receipt=self._receipt.number,
            files_before=files_before,
            files_after=traces.count(files),
            files_searched=len(files),
            bytes_searched=sum(file.stat().st_size for file in files),
            is_verified=bool(self.live.verify()),
        )

    @property
    def receipt(self) -> Receipt:
        """The receipt of the erasure."""
        assert self._receipt is not None
        return self._receipt

    def certificate(self) -> str:
        """The page about the erasure, to print and file."""
        return self.live.certificate(self.receipt.number, organisation=ORGANISATION)

    def _files(self) -> list[Path]:
        """The database with what lies beside it, and all files of the forest."""
        beside = self._database.parent.glob(f"{self._database.name}*")
        return [path for path in (*beside, *self._forest_folder.rglob("*")) if path.is_file()]
