"""One service for all tests that can share one: two models, and a key for everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import Running, make_clinic, running

from live_tables import Database, make_live


@pytest.fixture(scope="session")
def clinic_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def clinic(clinic_home: Path) -> Iterator[Running]:
    """A service of a classification, "clinic", and of a regression, "ages", on the same table."""
    database, folder = make_clinic(clinic_home)
    ages = clinic_home / "ages.live"
    params = {"n_estimators": 5, "random_state": 3, "target_range": (0, 120)}
    columns = ["pressure", "ward", "readmitted"]
    make_live(database, ages, target="age", columns=columns, params=params, task="regression").close()
    with running(folder, ages, options=("--every", "0.5", "--rate", "100000")) as service:
        yield service


@pytest.fixture
def client(clinic: Running) -> Iterator[httpx.Client]:
    """Somebody who may do everything."""
    with clinic.client() as client:
        yield client


@pytest.fixture(scope="session")
def clinic_database(clinic: Running, clinic_home: Path) -> Any:  # noqa: ARG001 (which makes the table)
    return Database(f"sqlite:///{clinic_home}/clinic.db")
