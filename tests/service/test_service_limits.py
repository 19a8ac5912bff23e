"""What is too much, too large or too slow is refused with a reason, and what was refused was not done."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from serving import PROBES, Running, asked, kind_of, make_clinic, served_here

from deciduous.live import LiveForest
from deciduous.service.problems import ProblemError
from deciduous.service.writer import Writer
from live_tables import Database, make_live, make_patients, patient
from patience import wait_until

CLINIC = "/v1/models/clinic"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, Path]:
    return make_clinic(tmp_path_factory.mktemp("limits"))


def test_bodies_that_are_too_large_are_refused_before_they_are_read(clinic: Running) -> None:
    host, port = str(clinic.url).removeprefix("http://").split(":")
    head = [f"POST {CLINIC}/predictions HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {clinic.key}"]
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall("\r\n".join([*head, f"Content-Length: {10**12}", "", "{"]).encode())
        answer = connection.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 413")


def test_clients_that_leave_are_no_fault_of_the_service(clinic: Running) -> None:
    host, port = str(clinic.url).removeprefix("http://").split(":")
    head = [f"POST {CLINIC}/rows HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {clinic.key}"]
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall("\r\n".join([*head, "Content-Length: 100", "", "{"]).encode())
    wait_until(lambda: "/rows 400" in clinic.log, "the service noticed")
    assert "ERROR" not in clinic.log


def test_bodies_without_a_length_are_counted(home: tuple[Database, Path]) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    with served_here(home[1], largest_body=1000) as (_, app):
        assert kind_of(asked(app, "POST", f"{CLINIC}/predictions", content=pieces())) == "body-too-large"


def test_bodies_that_come_too_slowly_are_not_waited_for(home: tuple[Database, Path]) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(600)

    with served_here(home[1], body_seconds=0.1) as (_, app):
        answer = asked(app, "POST", f"{CLINIC}/predictions", content=slow())
    assert (answer.status_code, kind_of(answer)) == (408, "body-too-slow")
    assert answer.headers["Connection"] == "close"


def test_requests_with_too_many_rows_are_refused(home: tuple[Database, Path]) -> None:
    with served_here(home[1], most_rows=3) as (_, app):
        for path, body in (
            ("predictions", {"rows": PROBES[:4]}),
            ("rows", {"rows": [patient(n) for n in range(500, 504)]}),
            ("cost", {"ids": [1, 2, 3, 4]}),
        ):
            answer = asked(app, "POST", f"{CLINIC}/{path}", json=body)
            assert (answer.status_code, kind_of(answer)) == (422, "invalid-rows")
    assert home[0].rows("SELECT count(*) FROM patients WHERE id BETWEEN 500 AND 503") == [(0,)]


def test_too_many_requests_at_once_are_sent_away(home: tuple[Database, Path]) -> None:
    with served_here(home[1], most_requests=0) as (_, app):
        answer = asked(app, "GET", "/health")
    assert (answer.status_code, kind_of(answer), answer.headers["Retry-After"]) == (503, "overloaded", "1")


class Busy:
    """The writer of a service, kept busy for as long as somebody wants."""

    def __init__(self, service: Any) -> None:
        self._writer = service.models["clinic"].writer
        self._may_end = threading.Event()
        self._has_begun = threading.Event()

    def __enter__(self) -> Busy:
        def wait(_: LiveForest) -> None:
            self._has_begun.set()
            self._may_end.wait()

        self._writer.do(wait)
        self._has_begun.wait()
        return self

    def __exit__(self, *_: Any) -> None:
        self._may_end.set()


def insertion(writer: Writer, number: int) -> Any:
    return writer.change("insert", [number], lambda table: table.insert([patient(number)]))


def test_changes_wait_only_so_long_and_predictions_do_not_wait_for_them(home: tuple[Database, Path]) -> None:
    database, folder = home
    with served_here(folder, patience=0.2) as (service, app), Busy(service):
        late = asked(app, "POST", f"{CLINIC}/rows", json={"rows": [patient(600)]})
        assert (late.status_code, kind_of(late)) == (503, "timed-out")
        assert "Retry-After" in late.headers
        assert asked(app, "POST", f"{CLINIC}/predictions", json={"rows": PROBES}).status_code == 200
    assert database.rows("SELECT count(*) FROM patients WHERE id = 600") == [(0,)]


def test_changes_beyond_the_queue_are_refused(home: tuple[Database, Path]) -> None:
    with served_here(home[1], most_waiting=2) as (service, app), Busy(service):
        writer = service.models["clinic"].writer
        waiting = [writer.change("insert", [n], lambda table: table.insert([])) for n in range(2)]
        full = asked(app, "POST", f"{CLINIC}/rows", json={"rows": [patient(600)]})
        assert (full.status_code, kind_of(full)) == (503, "overloaded")
        for each in waiting:
            each.cancel()


def test_changes_that_wait_together_share_a_sync_and_fail_alone(home: tuple[Database, Path]) -> None:
    _, folder = home
    with served_here(folder) as (service, _):
        writer = service.models["clinic"].writer
        before = len(service.models["clinic"].live.receipts())
        with Busy(service):
            good = [insertion(writer, n) for n in range(700, 705)]
            bad = insertion(writer, 3)
            good.append(writer.change("delete", [50, 51], lambda table: table.delete([50, 51])))
        reports = [each.result().report.receipts[-1] for each in good]
        assert {(its.number, its.n_added, its.n_deleted) for its in reports} == {(before + 1, 5, 2)}
        with pytest.raises(ValueError, match="already holds"):
            bad.result()


def test_changes_of_the_same_rows_do_not_share_a_sync(home: tuple[Database, Path]) -> None:
    """Together they would change nothing, and there would be no receipt of either."""
    _, folder = home
    with served_here(folder) as (service, _):
        writer = service.models["clinic"].writer
        with Busy(service):
            come = insertion(writer, 750)
            gone = writer.change("delete", [750], lambda table: table.delete([750]))
        assert come.result().report.n_added == 1
        assert gone.result().report.n_deleted == 1


def test_nothing_new_is_taken_while_the_service_ends_and_what_waits_is_done(home: tuple[Database, Path]) -> None:
    database, folder = home
    with served_here(folder) as (service, app):
        writer = service.models["clinic"].writer
        with Busy(service):
            waiting = insertion(writer, 800)
            closing = threading.Thread(target=service.models.close)
            closing.start()
            wait_until(lambda: writer._is_closing, "the writer was told to end")
            with pytest.raises(ProblemError) as refused:
                insertion(writer, 801)
            assert refused.value.kind == "shutting-down"
        closing.join()
        assert waiting.result().n_rows == 1
        service.is_closing = True
        assert kind_of(asked(app, "GET", "/health")) == "shutting-down"
    assert database.rows("SELECT id FROM patients WHERE id IN (800, 801)") == [(800,)]


def test_sync_that_fails_is_told_and_made_up_for(home: tuple[Database, Path]) -> None:
    """Another's row that the forest cannot take: the change is in the table, predictions go on, and `ready` says no."""
    database, folder = home
    with served_here(folder, every=0.2) as (service, app):
        database.run("UPDATE patients SET readmitted = 'perhaps' WHERE id = 1")
        answer = asked(app, "POST", f"{CLINIC}/rows", json={"rows": [patient(900)]})
        assert (answer.status_code, kind_of(answer)) == (500, "not-followed")
        assert "'readmitted'" in answer.json()["detail"]
        assert "perhaps" not in answer.text
        assert kind_of(asked(app, "GET", "/ready")) == "not-ready"
        assert asked(app, "POST", f"{CLINIC}/predictions", json={"rows": PROBES}).status_code == 200
        database.run("UPDATE patients SET readmitted = 1 WHERE id = 1")
        wait_until(lambda: asked(app, "GET", "/ready").status_code == 200, "the forest followed again")
        assert 900 in service.models["clinic"].live.forest.ids_


def test_tables_of_postgres_are_served(postgres_database: Database, folder: Path) -> None:
    make_patients(postgres_database)
    make_live(postgres_database, folder, capture=True).close()
    with served_here(folder) as (_, app):
        assert asked(app, "POST", f"{CLINIC}/rows", json={"rows": [patient(500)]}).json()["n_rows"] == 1
        assert asked(app, "DELETE", f"{CLINIC}/rows", json={"ids": [500, 1]}).json()["n_rows"] == 2
        taken = asked(app, "POST", f"{CLINIC}/rows", json={"rows": [patient(501), patient(2)]})
        assert kind_of(taken) == "ids-taken"
        assert asked(app, "POST", f"{CLINIC}/predictions", json={"rows": PROBES}).status_code == 200
        assert asked(app, "GET", CLINIC).json()["n_rows"] == 119


def test_streams_of_events_end_with_the_service(home: tuple[Database, Path]) -> None:
    with served_here(home[1]) as (service, app), Busy(service):
        where = asked(app, "POST", f"{CLINIC}/verifications").headers["Location"]
        again = asked(app, "POST", f"{CLINIC}/verifications")
        assert again.headers["Location"] == where  # one at a time
        threading.Timer(0.5, lambda: setattr(service, "is_closing", True)).start()
        answer = asked(app, "GET", f"{where}/events")
    assert answer.text.startswith("event: progress")
    assert '"state": "waiting"' in answer.text
    assert "event: end" not in answer.text
