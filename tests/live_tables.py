"""Tables for the tests of live forests, in an SQLite file or on a PostgreSQL server that is started for them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from deciduous._tasks import forest_class
from deciduous.live import LiveForest
from patience import LIMIT, wait_until

ROOT = Path(__file__).parents[1]
PARAMS: dict[str, Any] = {"n_estimators": 5, "max_depth": 8, "n_thresholds": 5, "random_state": 3}
COLUMNS = ["age", "ward", "pressure"]
WARDS = ["north", "south", "west"]


@dataclass
class Database:
    """A database that a test may do with as it likes."""

    url: str

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        self.is_sqlite = self.engine.dialect.name == "sqlite"

    def run(self, statement: str, **values: Any) -> None:
        """Execute a statement and commit."""
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), values)

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query), values)]

    def objects(self) -> set[str]:
        """Names of everything that somebody has made in the database."""
        if self.is_sqlite:
            return {name for (name,) in self.rows("SELECT name FROM sqlite_master")}
        return {
            name
            for (name,) in self.rows(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace UNION "
                "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace UNION "
                "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
            )
        }


def make_patients(database: Database, n_rows: int = 120, id_type: str = "BIGINT") -> None:
    """A table of patients, several rows for each person, with missing values and text."""
    database.run(
        f"CREATE TABLE patients (id {id_type} PRIMARY KEY, person_id TEXT, age DOUBLE PRECISION, ward TEXT, "
        "pressure INTEGER, readmitted INTEGER)"
    )
    add_patients(database, range(n_rows))


def patient(number: int) -> dict[str, Any]:
    """The values of a patient, a function of the number."""
    rng = np.random.default_rng(number)
    return {
        "id": number,
        "person_id": f"u-{number // 3}",
        "age": None if number % 11 == 0 else float(rng.integers(20, 90)),
        "ward": None if number % 13 == 0 else WARDS[int(rng.integers(3))],
        "pressure": int(rng.integers(90, 180)),
        "readmitted": int(rng.integers(2)),
    }


INSERT = "INSERT INTO patients VALUES (:id, :person_id, :age, :ward, :pressure, :readmitted)"


def add_patients(database: Database, numbers: Any) -> None:
    """Insert patients with these ids."""
    rows = [patient(number) for number in numbers]
    if rows:
        with database.engine.begin() as connection:
            connection.execute(sa.text(INSERT), rows)


def make_live(database: Database, folder: Path, **options: Any) -> LiveForest:
    """A live forest on the table of patients."""
    settings: dict[str, Any] = {"table": "patients", "target": "readmitted", "subject": "person_id", "params": PARAMS}
    return LiveForest.create(database.url, id="id", folder=folder, **(settings | options))


def fresh_fingerprint(
    database: Database, live: LiveForest, query: str = "SELECT * FROM patients", target: str = "readmitted"
) -> str:
    """That of a forest which the estimator alone trains on what pandas reads from the table."""
    table = pd.read_sql(query, database.engine)
    table = table[table[target].notna()]
    forest = forest_class(live.task)(**live.params)
    return forest.fit(table[live.columns], table[target], ids=table["id"].tolist()).fingerprint()


def contents(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder, by name; a socket holds nothing."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


# ------------------------------------------------------------------------------------------------------- the server


class PostgresServer:
    """A PostgreSQL server of our own, reached by a socket in its folder."""

    def __init__(self) -> None:
        programs = subprocess.run([ROOT / "scripts" / "postgres.sh"], capture_output=True, text=True)
        if programs.returncode:
            pytest.skip(f"{programs.stderr.strip()} `make postgres` does it.")
        self._programs = Path(programs.stdout.strip())
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: the name of a socket has at most 107 characters
        self._options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": self._folder}
        user = _server_user()
        if user is not None:  # the server refuses to run as root
            self._options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        self._data = self._folder / "data"
        initdb = [self._programs / "initdb", "-D", self._data, "-U", "tester", "--auth=trust", "--no-sync"]
        subprocess.run([*initdb, "--encoding=UTF8", "--locale=C"], check=True, **self._options)
        self.url = f"postgresql+psycopg://tester@/postgres?host={self._folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self._folder), "fsync": "off"}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._data, *arguments]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **self._options)
        _wait_for(self.url)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it, whoever is connected."""
        self._process.send_signal(how)
        self._process.wait(timeout=LIMIT)

    def remove(self) -> None:
        """Stop it at once, and remove all it has: nobody needs that any more."""
        if self._process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server that has just been started."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _server_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    return known.get("postgres", known.get("nobody"))


def _wait_for(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def answers() -> bool:
        try:
            engine.connect().close()
        except sa.exc.OperationalError:
            return False
        return True

    wait_until(answers, "the PostgreSQL server answered")
