"""Fixtures, and how hard Hypothesis tries: DECIDUOUS_HYPOTHESIS_PROFILE=long runs for many times as long."""

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tampering")  # its checks say what they found, as those of tests do

# A shell lets what it starts in the background ignore Ctrl-C, and the processes of tests, which are to notice it, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Processes of tests write as those of users do, who do not set this.
os.environ.pop("PYTHONUNBUFFERED", None)

# Making sure that data is on a disk is most of the time of the tests of live forests: they get folders in memory.
IN_MEMORY = Path("/dev/shm")
if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# The examples are whole forests, so Hypothesis' limits on time and size do not fit them.
COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("default", max_examples=150, stateful_step_count=15, **COMMON)
settings.register_profile("long", max_examples=5000, stateful_step_count=40, **COMMON)
settings.load_profile(os.environ.get("DECIDUOUS_HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish() -> None:
    """What is there by now stays: no collection of garbage has to go through all modules and tests again."""
    gc.freeze()


# ------------------------------------------------------------------------------------------------ for live forests

# Imports are inside, as the tests of the estimator run without SQLAlchemy, too.


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server that runs for as long as the tests do."""
    from live_tables import postgres_server

    with postgres_server() as server:
        yield server.url


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Any:
    """An SQLite file."""
    from live_tables import Database

    return Database(f"sqlite:///{tmp_path}/clinic.db")


@pytest.fixture
def postgres_database(postgres: str) -> Any:
    """The database of the server, empty: making one for each test takes much longer."""
    from live_tables import Database

    database = Database(postgres)
    database.run("DROP SCHEMA public CASCADE")
    database.run("CREATE SCHEMA public")
    return database


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Any:
    """A database of each kind."""
    return request.getfixturevalue(f"{request.param}_database")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a live forest may be made."""
    return tmp_path / "clinic.forest"
