"""One live forest in several threads: predictions are those before or after a sync, and requests come in meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deciduous.errors import InvalidInputError
from deciduous.live import LiveForest
from live_tables import Database, add_patients, make_live, make_patients, patient

PROBES = [[patient(n)[name] for name in ("age", "ward", "pressure")] for n in range(40)]
PARAMS = {"n_estimators": 20, "max_depth": 12, "random_state": 3}


def while_others_work(deed: Callable[[], Any], *others: Callable[[], Any]) -> None:
    """Do something; others do theirs again and again meanwhile, each in a thread, and their errors are raised here."""
    is_over = threading.Event()

    def again_and_again(other: Callable[[], Any]) -> None:
        while not is_over.is_set():
            other()

    with ThreadPoolExecutor(len(others)) as threads:
        futures = [threads.submit(again_and_again, other) for other in others]
        try:
            deed()
        finally:
            is_over.set()
        for future in futures:
            future.result()


def as_bytes(live: LiveForest) -> bytes:
    return live.predict_proba(PROBES).tobytes()


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_predictions_are_those_before_or_after_each_sync(
    sqlite_database: Database, folder: Path, capture: bool
) -> None:
    """Rows are updated, deleted and added at the same time; nobody sees a forest that lacks an updated row."""
    make_patients(sqlite_database, 400)
    with make_live(sqlite_database, folder, params=PARAMS, capture=capture) as live:
        live.sync()
        seen: set[bytes] = set()
        allowed = {as_bytes(live)}

        def change() -> None:
            for round in range(25):
                sqlite_database.run("UPDATE patients SET age = age + 7, pressure = 90 + id % 70 + :round", round=round)
                sqlite_database.run("DELETE FROM patients WHERE id BETWEEN :n AND :n + 4", n=5 * round)
                add_patients(sqlite_database, range(400 + 5 * round, 405 + 5 * round))
                live.sync()
                allowed.add(as_bytes(live))

        while_others_work(change, *[lambda: seen.add(as_bytes(live))] * 3)
        assert len(allowed) > 20
        assert seen <= allowed
        assert live.verify()


def test_forest_that_is_trained_anew_replaces_the_old_one_at_once(sqlite_database: Database, folder: Path) -> None:
    """A label goes with its last row; until there is a forest without it, predictions are as if there were."""
    make_patients(sqlite_database, 300)
    with make_live(sqlite_database, folder, params=PARAMS) as live:
        seen: set[bytes] = set()
        allowed = {as_bytes(live)}

        def change() -> None:
            for label in range(2, 12):  # of which the last row goes with the next sync
                sqlite_database.run("UPDATE patients SET readmitted = 1 WHERE readmitted > 1")
                sqlite_database.run("UPDATE patients SET readmitted = :label WHERE id = :label", label=label)
                live.sync()
                allowed.add(as_bytes(live))

        while_others_work(change, *[lambda: seen.add(as_bytes(live))] * 2)
        assert len(allowed) > 5
        assert seen <= allowed
        assert live.verify()


def test_requests_come_in_and_are_refused_beside_syncs(database: Database, folder: Path) -> None:
    """The record is whole, each request was kept, and none is settled twice."""
    make_patients(database, 300)
    with make_live(database, folder, capture=True) as live:
        live.requests.receive("u-99")
        numbers = iter(range(60))

        def receive() -> None:
            number = next(numbers, None)
            if number is not None:
                live.requests.receive(f"u-{number}")

        def refuse() -> None:
            for request in live.requests.open()[:1]:
                with suppress(InvalidInputError):  # if a sync was faster
                    live.requests.refuse(request.id, "a reason")

        def look() -> None:
            assert live.status()["n_rows"] <= 300
            assert [receipt.number for receipt in live.receipts()][:2] == [1, 2]

        def change() -> None:
            for n in range(20):
                database.run("DELETE FROM patients WHERE person_id = :person", person=f"u-{n}")
                live.sync()

        while_others_work(change, receive, refuse, look)
        assert live.verify()
        assert live.requests.open() == [] or live.requests.open()[0].state == "received"
