"""The record of a live forest: receipts, certificates, verification, and requests with their deadlines."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous.errors import InvalidInputError, SchemaChangedError
from deciduous.live import LiveForest, Receipt, read_record
from live_tables import COLUMNS, PARAMS, Database, add_patients, fresh_fingerprint, make_live, make_patients

# ------------------------------------------------------------------------------------------------------------ receipts


def test_receipts_name_people_by_digest_only(sqlite_database: Database, folder: Path) -> None:
    """A person's receipts can be found by their name, and their name is in none."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        sqlite_database.run("DELETE FROM patients WHERE id = 30")
        (receipt,) = live.sync().receipts
        assert (receipt.deleted, receipt.rows, receipt.kind) == (4, 116, "synced")
        assert (len(receipt.subjects_erased), len(receipt.subjects_changed)) == (1, 1)
        assert live.receipts(subject="u-17") == [receipt]
        assert live.receipts(subject="u-10") == [receipt]  # row 30 is one of three
        assert live.receipts(subject="u-11") == []
        export = folder.parent / "receipts.json"
        live.export_receipts(export)
        text = export.read_text()
        assert "u-17" not in text
        written = json.loads(text)["receipts"]
        assert [Receipt.from_json(json.dumps(entry)) for entry in written] == live.receipts()


def test_receipts_have_a_digest_of_the_parameters(sqlite_database: Database, tmp_path: Path) -> None:
    """It is the same as long as the parameters are, another with another seed, and without the key it says nothing."""
    make_patients(sqlite_database)
    digests = []
    for number, seed in enumerate((3, 3, 4)):
        with make_live(sqlite_database, tmp_path / str(number), params=PARAMS | {"random_state": seed}) as live:
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=50 + number)
            live.sync()
            first, second = live.receipts()
            assert first.parameters == second.parameters == live._settings.parameters_digest(live._key)
            others = replace(live._settings, params=live._settings.params | {"random_state": 5})
            assert others.parameters_digest(live._key) != first.parameters
            digests.append(first.parameters)
            jobs = replace(live._settings, params=live._settings.params | {"n_jobs": 7})
            assert jobs.parameters_digest(live._key) == first.parameters  # the forest is the same
    assert len(set(digests)) == 3


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
    """A table that moved on, or a forest that somebody changed, does not pass."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("DELETE FROM patients WHERE id = 1")
        late = live.verify()
        assert not late
        assert "1 deleted" in str(late.problem)
        live.sync()
        assert live.verify()
        live.forest.delete([50])
        assert "forest in use" in str(live.verify().problem)
    with LiveForest.open(folder) as live:  # what somebody changed was not kept
        assert live.verify()


def test_certificate_says_what_was_done_and_not_to_whom(sqlite_database: Database, folder: Path) -> None:
    """It has the request, the fingerprints and the place in the chain; after `verify` also that."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        assert "Certificate of training" in live.certificate()
        erased = live.erase("u-17")
        (receipt,) = erased.receipts
        page = live.certificate()
        for text in (
            erased.request.id,
            receipt.fingerprint_before,
            receipt.fingerprint_after,
            receipt.chain,
            "Not yet",
        ):
            assert str(text) in page
        assert "u-17" not in page
        live.verify()
        page = live.certificate(receipt.number)
        assert "trained anew" in page
        assert "now verified" in page
        with pytest.raises(InvalidInputError, match="99"):
            live.certificate(99)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium to print pages")
def test_certificate_fits_on_a_page(sqlite_database: Database, folder: Path, tmp_path: Path) -> None:
    """Also one that names many people and requests."""
    make_patients(sqlite_database, 300)
    with make_live(sqlite_database, folder) as live:
        for number in range(20):
            live.requests.receive(f"u-{number}")
        sqlite_database.run("DELETE FROM patients WHERE id < 61 OR id % 3 = 0")
        live.sync()
        live.verify()
        (tmp_path / "page.html").write_text(live.certificate(live.receipts()[-2].number))
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={tmp_path / 'page.pdf'}",
         (tmp_path / "page.html").as_uri()],
        check=True, capture_output=True, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) == 1


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
        assert [receipt.kind for receipt in live.receipts(subject="u-17")] == [
            "received", "synced", "synced", "verified",
        ]  # fmt: skip


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
        assert report.sync.rows == 116
        assert database.rows("SELECT count(*) FROM patients WHERE person_id = 'u-17'") == [(0,)]
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        again = live.erase("u-17", idempotency_key="ticket 4711")
        assert (again.request.id, again.sync) == (report.request.id, None)
        with pytest.raises(InvalidInputError, match="another subject"):
            live.erase("u-18", idempotency_key="ticket 4711")
        add_patients(database, [5000])
        database.run("UPDATE patients SET person_id = 'new' WHERE id = 5000")
        assert live.erase("new").request.state == "applied"
        assert b"ticket" not in (folder / "state.db").read_bytes()


def test_requests_that_cannot_be_met_are_refused_with_a_reason(sqlite_database: Database, folder: Path) -> None:
    """Of people without rows, or by decision of a human."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        nobody = live.erase("u-999")
        assert nobody.request.state == "refused"
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
        assert live.receipts(subject=17) == live.receipts(subject="17") != []
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
