"""Tables for the tests of live forests, in an SQLite file or on a PostgreSQL server that is started for them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from deciduous import DareForestClassifier
from deciduous.live import LiveForest

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
    settings: dict[str, Any] = {"table": "patients", "subject": "person_id", "params": PARAMS}
    return LiveForest.create(database.url, id="id", target="readmitted", folder=folder, **(settings | options))


def fresh_fingerprint(database: Database, live: LiveForest, query: str = "SELECT * FROM patients") -> str:
    """That of a forest which the estimator alone trains on what pandas reads from the table."""
    table = pd.read_sql(query, database.engine)
    table = table[table["readmitted"].notna()]
    forest = DareForestClassifier(**live.params)
    return forest.fit(table[live.columns], table["readmitted"], ids=table["id"].tolist()).fingerprint()


# ------------------------------------------------------------------------------------------------------- the server


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server of our own, reached by a socket in its folder. Gives the address of its database."""
    programs = subprocess.run([ROOT / "scripts" / "postgres.sh"], capture_output=True, text=True)
    if programs.returncode:
        pytest.skip(f"{programs.stderr.strip()} `make postgres` does it.")
    bin_folder = Path(programs.stdout.strip())
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: the name of a socket has at most 107 characters
    user = _server_user()
    options: dict[str, Any] = {}
    if user is not None:  # the server refuses to run as root
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": folder, **options}
    initdb = [bin_folder / "initdb", "-D", data, "-U", "tester", "--auth=trust", "--no-sync", "--encoding=UTF8"]
    subprocess.run([*initdb, "--locale=C"], check=True, **quiet)
    settings = {"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off"}
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    server = subprocess.Popen([bin_folder / "postgres", "-D", data, *arguments], stderr=subprocess.DEVNULL, **quiet)
    try:
        url = f"postgresql+psycopg://tester@/postgres?host={folder}"
        _wait_for(url)
        yield url
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nobody needs its data any more
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def _server_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    return known.get("postgres", known.get("nobody"))


def _wait_for(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    for _ in range(300):
        try:
            engine.connect().close()
            return
        except sa.exc.OperationalError:
            time.sleep(0.1)
    raise TimeoutError("The PostgreSQL server did not start within 30 seconds.")
