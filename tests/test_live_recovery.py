"""What a folder has lost comes back from the table: snapshots that are behind, and damaged files of the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deciduous.errors import FolderError
from deciduous.live import LiveForest, _row_index, read_record
from deciduous.live.requests import NO_ROWS
from live_tables import WARDS, Database, add_patients, contents, fresh_fingerprint, make_live, make_patients


def names(folder: Path, pattern: str) -> set[str]:
    """Of files in the folder."""
    return {file.name for file in folder.glob(pattern)}


# ------------------------------------------------------------------------------------------ snapshots that are behind

LATER = {
    "nothing": [],
    "an old row goes": ["DELETE FROM patients WHERE id = 17"],
    "a row goes that the snapshot lacks": ["DELETE FROM patients WHERE id = 125"],
    "both kinds of rows change": ["UPDATE patients SET age = 300 WHERE id IN (17, 125)"],
    "all that the snapshot lacks goes": ["DELETE FROM patients WHERE id >= 120"],
    "all that it holds goes": ["DELETE FROM patients WHERE id < 120"],
    "everything goes": ["DELETE FROM patients"],
    "an id goes and comes back": ["DELETE FROM patients WHERE id = 125", "UPDATE patients SET id = 125 WHERE id = 17"],
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_snapshot_survives_additions(database: Database, folder: Path, later: str, capture: bool) -> None:
    """A process that ends after syncs that only added rows costs no training: the next one learns what is lacking."""
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        live.sync()
    with LiveForest.open(folder) as live:
        (snapshot,) = names(folder, "snapshot-*")
        for begin in (120, 130):
            add_patients(database, range(begin, begin + 10))
            assert live.sync().n_added == 10
        assert names(folder, "snapshot-*") == {snapshot}
        live.close(store=False)
    for statement in LATER[later]:
        database.run(statement)
    with LiveForest.open(folder) as live:
        report = live.sync()
        assert report.method == "comparison"
        assert report.n_rows == 0 or report.fingerprint == fresh_fingerprint(database, live)
        assert sum(receipt.n_added - receipt.n_deleted for receipt in live.receipts()) == report.n_rows
        assert live.verify()
    assert len(names(folder, "snapshot-*") - {snapshot}) == 1
    with LiveForest.open(folder) as live:
        assert (live.forest.fingerprint(), live.sync().receipts) == (report.fingerprint, ())


def test_forest_of_a_snapshot_that_is_behind_is_that_of_the_last_receipt(database: Database, folder: Path) -> None:
    """Whoever asks for it, or for predictions, before a sync does not get an old one."""
    make_patients(database)
    make_live(database, folder).close()
    with LiveForest.open(folder) as live:
        add_patients(database, range(120, 130))
        fingerprint = live.sync().fingerprint
        live.close(store=False)
    with LiveForest.open(folder) as live:
        assert live.status()["has_snapshot"]
        assert live.forest.fingerprint() == fingerprint == fresh_fingerprint(database, live)


def test_snapshot_goes_with_the_first_row_that_goes(sqlite_database: Database, folder: Path) -> None:
    """Also if it is behind, and even if it never held the row: that is not worth finding out."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    with LiveForest.open(folder) as live:
        add_patients(sqlite_database, range(120, 130))
        live.sync()
        assert len(names(folder, "snapshot-*")) == 1
        sqlite_database.run("UPDATE patients SET age = 33 WHERE id = 120")
        live.sync()
        assert names(folder, "snapshot-*") == set()
        live.close(store=False)
    with LiveForest.open(folder) as live:
        assert live.sync().method == "rebuilt"


# ------------------------------------------------------------------------------------------- damaged files of the index


def flipped(file: Path) -> None:
    """One bit is another."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "missing": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-7]),
    "a bit": flipped,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_damaged_index_is_made_again_from_the_table(
    database: Database, folder: Path, damage: str, capture: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a receipt that says so; nothing of the old files stays, and the forest follows the table as before."""
    monkeypatch.setattr(_row_index, "ROWS_PER_BUCKET", 30)
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        live.sync()
        before = live.receipts()[-1].after
    database.run("DELETE FROM patients WHERE id = 17 OR ward = 'west'")
    files = sorted(folder.glob("rows-*"))
    assert len(files) == 4
    DAMAGES[damage](files[1])
    with LiveForest.open(folder) as live:
        assert "sync" in str(live.verify().problem)
        report = live.sync()
        (receipt,) = report.receipts
        assert (receipt.kind, receipt.n_rows, receipt.n_added, receipt.n_deleted) == ("recovered", report.n_rows, 0, 0)
        assert (receipt.before, receipt.after) == (before, live._state.opening.forest)
        assert "not counted" in str(receipt.reason)
        assert "not counted" in live.certificate()
        assert report.fingerprint == fresh_fingerprint(database, live)
        assert live.params["categorical_features"]["ward"] == [*WARDS[:2], "(forgotten 2)", None]
        assert not names(folder, "rows-*") & {file.name for file in files}
        assert live.verify()
        database.run("DELETE FROM patients WHERE id = 30")
        assert live.sync().n_deleted == 1
    with LiveForest.open(folder) as live:
        assert live.sync().receipts == ()
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        assert b"west" not in b"".join(contents(folder).values())


def test_record_can_be_used_while_the_index_is_damaged(sqlite_database: Database, folder: Path) -> None:
    """Receipts and requests can be read and added; erasing recovers first, and is applied."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    for file in folder.glob("rows-*"):
        file.unlink()
    assert read_record(folder)[0]["n_rows"] == 120
    with LiveForest.open(folder) as live:
        request = live.requests.receive("u-5")
        live.close()
    with LiveForest.open(folder) as live:
        report = live.erase("u-4")
        assert (report.request.state, [its.kind for its in report.receipts]) == ("applied", ["recovered"])
        assert live.requests[request.id].state == "received"
        assert live.erase("u-5").request.state == "applied"
        assert live.verify()
        assert {its.state for its in live.requests} == {"verified"}


def test_request_whose_rows_went_while_the_index_was_lost(sqlite_database: Database, folder: Path) -> None:
    """Nothing tells whether there ever were any, and the reason says so."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        request = live.requests.receive("u-5")
    sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-5'")
    for file in folder.glob("rows-*"):
        file.unlink()
    with LiveForest.open(folder) as live:
        assert live.sync().n_rows == 117
        settled = live.requests[request.id]
        assert (settled.state, settled.reason) == ("nothing left to erase", NO_ROWS)


def test_empty_table_after_the_index_was_lost(database: Database, folder: Path) -> None:
    """No row is known and none is there; that is a state like others."""
    make_patients(database)
    make_live(database, folder).close()
    for file in folder.glob("rows-*"):
        file.unlink()
    database.run("DELETE FROM patients")
    with LiveForest.open(folder) as live:
        assert (live.sync().n_rows, live.sync().receipts) == (0, ())
        assert live.verify()
    for word in (b"north", b"u-1"):
        assert word not in b"".join(contents(folder).values())


def test_index_is_divided_anew_when_the_table_has_grown(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the deletion of a row writes a small file, however small the table was at first."""
    monkeypatch.setattr(_row_index, "ROWS_PER_BUCKET", 50)
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        assert len(names(folder, "rows-*")) == 2
        for begin in range(120, 1_020, 100):
            add_patients(sqlite_database, range(begin, begin + 100))
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=begin - 3)
            live.sync()
        before = names(folder, "rows-*")
        assert len(before) >= 8
        sqlite_database.run("DELETE FROM patients WHERE id = 500")
        live.sync()
        assert len(before - names(folder, "rows-*")) == 1
        assert live.verify()
    with LiveForest.open(folder) as live:
        assert live.sync().receipts == ()
        assert live.receipts()[-2].n_rows == 1_010
        assert live.forest.fingerprint() == fresh_fingerprint(sqlite_database, live)


# ------------------------------------------------------------------------------------------------ a damaged state


def overwritten(file: Path, begin: int, end: int) -> None:
    """Some bytes are others."""
    data = bytearray(file.read_bytes())
    data[begin:end] = b"\xa5" * len(data[begin:end])
    file.write_bytes(data)


@pytest.mark.parametrize(("begin", "end"), [(0, 1_000_000), (0, 16), (100, 4096)], ids=["all", "header", "first page"])
def test_damaged_state_is_an_error_that_names_the_way_out(
    sqlite_database: Database, folder: Path, begin: int, end: int
) -> None:
    """The record is in no other file, so nothing can be made again; and the damaged one is left as it is."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    overwritten(folder / "state.db", begin, end)
    before = contents(folder)
    for deed in (LiveForest.open, read_record, lambda folder: make_live(sqlite_database, folder)):
        with pytest.raises(FolderError, match=r"state\.db is damaged.*backup"):
            deed(folder)
    assert contents(folder) == before
