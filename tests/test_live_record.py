"""The record of a live forest: receipts, certificates, verification, and requests with their deadlines."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous.errors import InvalidInputError, SchemaChangedError
from deciduous.live import LiveForest, Receipt, _clock, read_record
from deciduous.live._history import History
from live_tables import COLUMNS, PARAMS, Database, add_patients, fresh_fingerprint, make_live, make_patients

# ------------------------------------------------------------------------------------------------------------ receipts


def test_receipts_count_people_and_name_none(sqlite_database: Database, folder: Path) -> None:
    """How many were erased in full or in part; their names and digests are in none."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        sqlite_database.run("DELETE FROM patients WHERE id = 30")
        (receipt,) = live.sync().receipts
        assert (receipt.n_deleted, receipt.n_rows, receipt.kind) == (4, 116, "synced")
        assert (receipt.n_people_erased, receipt.n_people_changed) == (1, 1)  # row 30 is one of three
        export = folder.parent / "receipts.json"
        live.export_receipts(export)
        text = export.read_text()
        assert "u-17" not in text
        assert live._encoder.subject_digest("u-17").hex() not in text
        written = json.loads(text)["receipts"]
        assert [Receipt.from_json(json.dumps(entry)) for entry in written] == live.receipts()


def test_receipts_have_a_commitment_to_the_parameters(sqlite_database: Database, tmp_path: Path) -> None:
    """It is the same as long as the parameters are, and says nothing without its key: each folder has its own."""
    make_patients(sqlite_database)
    commitments = []
    for number, seed in enumerate((3, 3, 4)):
        with make_live(sqlite_database, tmp_path / str(number), params=PARAMS | {"random_state": seed}) as live:
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=50 + number)
            live.sync()
            first, second = live.receipts()
            opening = live._state.opening
            assert first.parameters == second.parameters == opening.parameters(live._settings.definition())
            others = replace(live._settings, params=live._settings.params | {"random_state": 5})
            assert opening.parameters(others.definition()) != first.parameters
            commitments.append(first.parameters)
    assert len(set(commitments)) == 3


def test_receipts_link_forests_without_any_key(sqlite_database: Database, folder: Path) -> None:
    """Each begins with the commitment that the one before ended with; only the newest can be opened."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        for id in (1, 2):
            former = live._state.opening
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=id)
            live.sync()
            assert live.receipts()[-1].after == live._state.opening.forest != former.forest
            assert replace(live._state.opening, fingerprint=former.fingerprint).forest != former.forest
        first, second, third = live.receipts()
        assert (first.before, second.before, third.before) == (None, first.after, second.after)
        assert live.verify()
        assert live.receipts()[-1].after == third.after
        request = live.requests.receive("nobody")
        live.sync()
        assert live.requests[request.id].state == "nothing left to erase"


def edited(folder: Path, number: int, **changes: Any) -> None:
    """Change a receipt behind the back of the live forest."""
    with sqlite3.connect(folder / "state.db") as state:
        body = json.loads(state.execute("SELECT body FROM receipts WHERE number = ?", (number,)).fetchone()[0])
        state.execute("UPDATE receipts SET body = ? WHERE number = ?", (json.dumps(body | changes), number))
    state.close()


def test_changed_record_is_noticed(sqlite_database: Database, folder: Path) -> None:
    """An edited receipt, one that was taken out, and an exchange of two."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        for id in (1, 2, 3):
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=id)
            live.sync()
    copies = {}
    for name in ("edited", "removed", "rechained", "whole"):
        copies[name] = folder.parent / name
        shutil.copytree(folder, copies[name])
    edited(copies["edited"], 3, deleted=0)
    edited(copies["rechained"], 3, previous="0" * 64)
    with sqlite3.connect(copies["removed"] / "state.db") as state:
        state.execute("DELETE FROM receipts WHERE number = 2")
    state.close()
    problems = {"edited": "receipt 3", "removed": "receipt 2 is missing", "rechained": "receipt 3", "whole": None}
    for name, copy in copies.items():
        with LiveForest.open(copy) as live:
            verification = live.verify()
            assert bool(verification) == (name == "whole")
            assert (problems[name] or "") in (verification.problem or "")


def test_verification_trains_anew_from_the_table(database: Database, folder: Path) -> None:
    """A table that moved on is stale, and a forest that somebody changed is broken."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("DELETE FROM patients WHERE id = 1")
        late = live.verify()
        assert (bool(late), late.outcome, late.is_stale) == (False, "stale", True)
        assert "1 deleted" in str(late.problem)
        live.sync()
        exact = live.verify()
        assert (bool(exact), exact.outcome, exact.is_stale, exact.problem) == (True, "exact", False, None)
        live.forest.delete([50])
        changed = live.verify()
        assert (changed.outcome, changed.is_stale) == ("broken", False)
        assert "forest in use" in str(changed.problem)
    with LiveForest.open(folder) as live:  # what somebody changed was not kept
        assert live.verify()


def test_verification_is_no_change(sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status tells when the forest changed last, and not when somebody looked at it."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        before = live.status()
        tomorrow = _clock.system_time() + timedelta(days=1)
        monkeypatch.setattr(_clock, "system_time", lambda: tomorrow)
        assert live.verify()
        assert live.receipts()[-1].time[:10] == tomorrow.isoformat()[:10] > before["last_change"][:10]
        assert live.status() == before


# ---------------------------------------------------------------------------------------------------------- the clock


def test_clock_that_jumps_breaks_nothing(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipts are in the order of their numbers; what is overdue goes by due dates, whatever the clock says now."""
    make_patients(sqlite_database)
    clock = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    monkeypatch.setattr(_clock, "system_time", lambda: clock[0])
    with make_live(sqlite_database, folder) as live:
        first = live.requests.receive("u-1", due_days=10)
        for year in (2035, 1970, 9999, 2026):  # far forward, back to the beginning, to the end, and right again
            clock[0] = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=50 + year % 40)
            report = live.sync()
            assert (report.receipts[0].time[:4], report.seconds >= 0) == (str(year), True)
            assert live.requests[first.id].is_overdue == (year != 1970)
            assert live.status()["last_change"][:4] == str(year)
            assert live.status()["requests_overdue"] == (year != 1970)
            assert live.verify()
            assert str(year) in live.certificate()
            if year == 9999:
                with pytest.raises(InvalidInputError, match="9999-12-31"):
                    live.requests.receive("u-2")
                overdue = live.requests.receive("u-2", due_days=-1)
            else:
                live.requests.refuse(live.requests.receive("u-3").id, f"In {year}.")
        assert [receipt.number for receipt in live.receipts()] == list(range(1, len(live.receipts()) + 1))
        assert live.requests.open() == [live.requests[first.id], overdue]  # by due dates: 2026, and 9999
        sqlite_database.run("DELETE FROM patients WHERE person_id IN ('u-1', 'u-2')")
        assert set(live.sync().receipts[0].requests) == {first.id, overdue.id}
        assert live.verify()
    with LiveForest.open(folder) as live:
        assert live.verify()


# ------------------------------------------------------------------------------------------------------------ requests


def test_request_is_applied_by_the_sync_that_finds_no_row_left(database: Database, folder: Path) -> None:
    """Received, applied, verified: whoever deletes the rows, and however many steps it takes."""
    make_patients(database)
    with make_live(database, folder) as live:
        request = live.requests.receive("u-17")
        assert (request.state, request.is_open, request.is_overdue) == ("received", True, False)
        assert datetime.fromisoformat(request.due) - datetime.fromisoformat(request.received) == timedelta(days=30)
        database.run("DELETE FROM patients WHERE id = 51")
        assert live.sync().receipts[0].requests == ()
        assert live.requests[request.id].state == "received"
        database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        assert live.sync().receipts[0].requests == (request.id,)
        assert live.requests[request.id].state == "applied"
        assert live.verify()
        assert live.requests[request.id].state == "verified"
        assert [receipt.kind for receipt in live.receipts(request.id)] == ["received", "synced", "verified"]
        with pytest.raises(KeyError, match="unknown"):
            live.receipts(request="unknown")


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_erase_deletes_and_syncs(database: Database, folder: Path, capture: bool) -> None:
    """All rows of a person, those that the forest does not know yet included; once for each key."""
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        live.sync()
        database.run("UPDATE patients SET person_id = 'u-17' WHERE id = 100")
        report = live.erase("u-17", idempotency_key="ticket 4711")
        assert report.request.state == "applied"
        assert report.sync is not None
        assert report.sync.n_rows == 116
        assert database.rows("SELECT count(*) FROM patients WHERE person_id = 'u-17'") == [(0,)]
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        again = live.erase("u-17", idempotency_key="ticket 4711")
        assert (again.request.id, again.sync) == (report.request.id, None)
        other = live.erase("u-18", idempotency_key="ticket 4711")  # a key is one person's
        assert (other.request.id == report.request.id, other.request.state) == (False, "applied")
        add_patients(database, [5000])
        database.run("UPDATE patients SET person_id = 'new' WHERE id = 5000")
        assert live.erase("new").request.state == "applied"
        assert b"ticket" not in (folder / "state.db").read_bytes()


def test_requests_that_cannot_be_met_are_refused_with_a_reason(sqlite_database: Database, folder: Path) -> None:
    """Of people without rows, or by decision of a human."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        nobody = live.erase("u-999")
        assert nobody.request.state == "nothing left to erase"
        assert "no rows" in str(nobody.request.reason)
        held = live.requests.receive("u-3")
        assert live.requests.refuse(held.id, "Needed for a legal claim.").reason == "Needed for a legal claim."
        with pytest.raises(InvalidInputError, match="refused already"):
            live.requests.refuse(held.id, "Again.")
        with pytest.raises(KeyError, match="unknown"):
            live.requests["unknown"]
        sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-3'")
        live.sync()
        assert live.requests[held.id].state == "refused"
        assert live.verify()


def test_requests_have_due_dates(sqlite_database: Database, folder: Path) -> None:
    """The most urgent comes first, and what is late shows."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        later, soon = live.requests.receive("u-1"), live.requests.receive("u-2", due_days=10)
        late = live.requests.receive("u-3", due_days=-1)
        assert live.requests.receive("u-1").id == later.id  # still open
        assert [request.id for request in live.requests.open()] == [late.id, soon.id, later.id]
        assert [request.id for request in live.requests.overdue()] == [late.id]
        assert (live.status()["requests_open"], live.status()["requests_overdue"]) == (3, 1)
        assert read_record(folder)[0]["requests_overdue"] == 1
        for wrong in (float("nan"), float("inf"), 1e9):
            with pytest.raises(InvalidInputError, match=f"but is {wrong}"):
                live.requests.receive("u-4", due_days=wrong)


def test_subjects_may_be_integers_given_as_text(database: Database, folder: Path) -> None:
    """As a command line gives them; what cannot be one is refused, and so is a column that changes its kind."""
    make_patients(database)
    database.run("CREATE TABLE numbers AS SELECT id, id / 3 AS person, age, readmitted FROM patients")
    with make_live(database, folder, table="numbers", subject="person") as live:
        assert live.erase("17").request.state == "applied"
        assert live.erase(np.int64(18)).request.state == "applied"
        assert live.requests.receive(19).id == live.requests.receive("19").id
        for wrong in ("u-17", 17.0, None):
            with pytest.raises(InvalidInputError, match="integers"):
                live.erase(wrong)
        if database.is_sqlite:
            database.run("UPDATE numbers SET person = 'somebody' WHERE id = 1")
            with pytest.raises(SchemaChangedError, match="'person'"):
                live.sync()


def test_erase_needs_subjects(sqlite_database: Database, folder: Path) -> None:
    """Without a column of them, rows are deleted by SQL."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder, subject=None, columns=COLUMNS) as live:
        with pytest.raises(InvalidInputError, match="no column of subjects"):
            live.erase("u-1")
        assert list(live.requests) == []


def test_status_is_of_one_moment_beside_a_sync_in_another_thread(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what opens the newest receipt would be taken for damage, if that is newer than what was read before."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        read, syncs = History.read, []

        def read_and_let_others_sync(history: History) -> History:
            done = read(history)
            if not syncs:
                sqlite_database.run("DELETE FROM patients WHERE id = (SELECT min(id) FROM patients)")
                syncs.append(threading.Thread(target=live.sync))
                syncs[0].start()
                syncs[0].join(timeout=2)  # it waits for us, and so do not wait for it
            return done

        for look in (live.status, live._record.check, live._record.opening):
            syncs.clear()
            monkeypatch.setattr(History, "read", read_and_let_others_sync)
            result = look()
            monkeypatch.undo()
            syncs[0].join()
            assert look != live._record.check or result[0] is None
            assert live.verify()
