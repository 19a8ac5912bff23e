"""However a service ends, under load: every change that was acknowledged is in the table and in the forest."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from serving import PROBES, Running, make_clinic, running

from deciduous.live import LiveForest
from live_tables import Database, fresh_fingerprint, patient
from patience import wait_until

CLINIC = "/v1/models/clinic"
N_ROWS = 240


class Load:
    """Clients that change rows and predict, until the service is gone, and what was acknowledged to them."""

    def __init__(self, service: Running) -> None:
        self._service = service
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self.inserted: set[int] = set()
        self.deleted: set[int] = set()
        self.asked: set[int] = set()  # of which some may have been done without an acknowledgement
        self.n_predictions = 0

    def run(self, end: Any) -> None:
        """Have clients at work, until `end` returns."""
        with ThreadPoolExecutor(6) as threads:
            clients = [threads.submit(self._change, n) for n in range(4)]
            clients += [threads.submit(self._predict) for _ in range(2)]
            end()
            self._is_over.set()
            for client in clients:
                client.result()

    def _change(self, number: int) -> None:
        """Insert rows of numbers that nobody else uses, and delete some that were there."""
        mine = iter(range(1000 * (number + 1), 1000 * (number + 2)))
        old = iter(range(number, N_ROWS, 4))
        with self._service.client() as client:
            while not self._is_over.is_set():
                new, gone = next(mine), next(old, None)
                if not self._sent(client, "POST", {"rows": [patient(new)]}, self.inserted, new):
                    return
                if gone is not None and not self._sent(client, "DELETE", {"ids": [gone]}, self.deleted, gone):
                    return

    def _sent(self, client: httpx.Client, method: str, body: Any, acknowledged: set[int], id: int) -> bool:
        with self._lock:
            self.asked.add(id)
        try:
            answer = client.request(method, f"{CLINIC}/rows", json=body)
        except httpx.TransportError:  # it is gone
            return False
        if answer.status_code == 503:  # it is going
            return False
        assert answer.status_code == 200, answer.text
        with self._lock:
            acknowledged.add(id)
        return True

    def _predict(self) -> None:
        with self._service.client() as client:
            while not self._is_over.is_set():
                try:
                    answer = client.post(f"{CLINIC}/predictions", json={"rows": PROBES})
                except httpx.TransportError:
                    return
                assert answer.status_code in (200, 503)
                self.n_predictions += answer.status_code == 200

    def wait(self) -> None:
        """Until all of them are at work."""
        wait_until(lambda: min(len(self.inserted), len(self.deleted), self.n_predictions) >= 8, "clients were served")

    def check(self, database: Database) -> None:
        """Nothing that was acknowledged is missing, and nothing happened that nobody asked for."""
        ids = {id for (id,) in database.rows("SELECT id FROM patients")}
        assert self.inserted <= ids
        assert not self.deleted & ids
        assert ids ^ set(range(N_ROWS)) <= self.asked


def test_after_kill_9_every_acknowledged_change_is_applied(tmp_path: Path) -> None:
    database, folder = make_clinic(tmp_path, N_ROWS)
    with running(folder) as service:
        load = Load(service)
        load.run(lambda: (load.wait(), service.end(signal.SIGKILL)))
        load.check(database)
        service.lines.clear()
        service.start()
        with service.client() as client:
            fingerprint = client.get(CLINIC).json()["fingerprint"]
        assert service.end() == 0
    with LiveForest.open(folder) as live:
        assert live.forest.fingerprint() == fingerprint == fresh_fingerprint(database, live)
        assert live.sync().receipts == ()
        assert live.verify()


def test_sigterm_ends_it_after_what_is_under_way(tmp_path: Path) -> None:
    database, folder = make_clinic(tmp_path, N_ROWS)
    with running(folder) as service:
        load = Load(service)
        load.run(lambda: (load.wait(), service.end()))
        load.check(database)
        assert service.process.returncode == 0
        assert "Stopped." in service.log
        assert "Traceback" not in service.log
    with LiveForest.open(folder) as live:
        assert live.status()["has_snapshot"]
        assert live.sync().receipts == ()
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)


def test_predictions_are_of_the_forest_before_or_after_each_change(tmp_path: Path) -> None:
    _, folder = make_clinic(tmp_path, N_ROWS, params={"n_estimators": 20, "max_depth": 12, "random_state": 3})
    with running(folder, options=("--rate", "100000")) as service, service.client() as client:

        def predicted(asking: httpx.Client) -> str:
            answer = asking.post(f"{CLINIC}/predictions", json={"rows": PROBES})
            assert answer.status_code == 200
            return answer.text

        allowed, seen, is_over = {predicted(client)}, set(), threading.Event()

        def read() -> None:
            with service.client() as asking:
                while not is_over.is_set():
                    seen.add(predicted(asking))

        with ThreadPoolExecutor(3) as threads:
            readers = [threads.submit(read) for _ in range(3)]
            for round in range(12):
                ids = list(range(10 * round, 10 * round + 10))
                assert client.request("DELETE", f"{CLINIC}/rows", json={"ids": ids}).status_code == 200
                allowed.add(predicted(client))
            is_over.set()
            for reader in readers:
                reader.result()
        assert len(allowed) > 10
        assert len(seen) > 3
        assert seen <= allowed
