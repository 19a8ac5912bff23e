"""Live forests whose trees are on a cluster: the same forests, receipts and promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import test_live_erasure as erasure
from cli_runs import done, run
from deciduous import InvalidInputError
from deciduous.live import LiveForest, connect, read_forest
from live_tables import Database, add_patients, fresh_fingerprint, make_live, make_patients, patient

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def there(cluster: Any) -> dict[str, Any]:
    """What says where the forest is to be."""
    return {"ray": cluster.address, "n_workers": 1}


def places(folder: Path) -> list[Path]:
    """The folders with rows for workers."""
    return list(folder.glob("cluster-*"))


def test_a_live_forest_follows_its_table_from_a_cluster(
    sqlite_database: Database, folder: Path, there: dict[str, Any]
) -> None:
    """Through a life; with each opening it may be elsewhere."""
    make_patients(sqlite_database)
    rows = [patient(number) for number in range(50)]
    with make_live(sqlite_database, folder, **there) as live:
        assert isinstance(live.forest, ray_forests.RayForestClassifier)
        assert live.forest.fingerprint() == fresh_fingerprint(sqlite_database, live)
        assert not {"address", "n_workers", "folder", "name"} & live.params.keys()
        sqlite_database.run("DELETE FROM patients WHERE id IN (4, 17)")
        sqlite_database.run("UPDATE patients SET ward = 'west', readmitted = 1 - readmitted WHERE id = 30")
        add_patients(sqlite_database, range(200, 210))
        report = live.sync()
        assert (report.n_deleted, report.n_updated, report.n_added) == (2, 1, 10)
        assert report.fingerprint == fresh_fingerprint(sqlite_database, live)
        assert live.erase("u-20").request.state == "applied"
        assert live.verify()
        assert len(places(folder)) == 1  # that of the retrained forest is gone
        shares, labels = live.predict_proba(rows), live.predict(rows)
        live.store()
        np.testing.assert_array_equal(read_forest(folder).predict_proba(rows), shares)
    assert places(folder) == []
    with LiveForest.open(folder) as live:
        assert live.sync().receipts == ()
        assert live.verify()
        np.testing.assert_array_equal(live.predict(rows), labels)
        sqlite_database.run("DELETE FROM patients WHERE id = 31")
        live.sync()
    with connect(folder, **there) as live:
        assert isinstance(live, LiveForest)
        add_patients(sqlite_database, [31])
        assert live.sync().fingerprint == fresh_fingerprint(sqlite_database, live)
        assert isinstance(live.forest, ray_forests.RayForestClassifier)


@pytest.mark.parametrize("has_classes", [True, False], ids=["classes", "numbers"])
def test_an_erased_row_is_in_no_file(tmp_path: Path, there: dict[str, Any], has_classes: bool) -> None:
    """Neither in those of the folder, nor in those that workers read."""
    database, folder = Database(f"sqlite:///{tmp_path}/clinic.db"), tmp_path / "clinic.forest"
    erasure.make_table(database, erasure.INTEGER_ID, has_classes=has_classes)
    with make_live(database, folder, **there) as live:
        live.store()
        images = erasure.id_images(erasure.INTEGER_ID) | erasure.number_images() | erasure.TEXTS
        images |= erasure.index_images(live, erasure.INTEGER_ID)
        if not has_classes:
            images |= erasure.target_images(live)
        (place,) = places(folder)
        assert erasure.found(place, images).keys() >= {"float32", "ward", "label" if has_classes else "fixed point"}
        live.erase(erasure.PERSON)
        assert erasure.found(tmp_path, images) == {}
        if has_classes:
            assert live.forest.classes_.tolist() == live.classes_.tolist() == ["no", "yes"]
        assert live.sync().fingerprint == fresh_fingerprint(database, live)
    assert erasure.found(tmp_path, images) == {}


KILLED = """
import os, signal, sys
from deciduous.live import LiveForest
live = LiveForest.open(sys.argv[1], ray=sys.argv[2], n_workers=1)
if sys.argv[3] == "before":
    live._store.commit = lambda *arguments, **others: os.kill(os.getpid(), signal.SIGKILL)
live.sync()
print("synced", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_killed_leaves_no_rows_to_those_who_come_after(
    sqlite_database: Database, folder: Path, there: dict[str, Any], when: str
) -> None:
    """Before a sync is written down or after it: the next one gives the forest of a fresh fit."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-7'")
    script = [sys.executable, "-c", KILLED, str(folder), there["ray"], when]
    killed = subprocess.run(script, capture_output=True, text=True)
    assert (killed.returncode, killed.stdout) == (-9, "synced\n" if when == "after" else ""), killed.stderr
    (left,) = places(folder)
    with LiveForest.open(folder, **there) as live:
        assert left not in places(folder)
        report = live.sync()
        assert report.n_deleted == (0 if when == "after" else 3)
        assert report.fingerprint == fresh_fingerprint(sqlite_database, live)
    assert places(folder) == []


def test_a_sync_that_fails_leaves_the_record_as_it_was(
    sqlite_database: Database, folder: Path, there: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forest, which is ahead, is let go of. A table without rows gives a forest, too."""
    make_patients(sqlite_database, n_rows=30)
    with make_live(sqlite_database, folder, **there) as live:
        before = live.forest.fingerprint()
        sqlite_database.run("DELETE FROM patients WHERE id = 3")
        with monkeypatch.context() as patched:
            patched.setattr(live._store, "commit", lambda *_, **__: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                live.sync()
        assert places(folder) == []
        assert live.receipts()[-1].kind == "created"
        add_patients(sqlite_database, [3])
        assert live.sync().fingerprint == before
        sqlite_database.run("DELETE FROM patients")
        assert live.sync().fingerprint == live.forest.fingerprint()
    with LiveForest.open(folder) as live:
        assert live.verify()


def test_what_cannot_be_is_refused_before_a_folder_is_made(sqlite_database: Database, folder: Path) -> None:
    make_patients(sqlite_database, n_rows=30)
    with pytest.raises(InvalidInputError, match="give its address"):
        make_live(sqlite_database, folder, n_workers=2)
    script = """
import sys
from deciduous.live import LiveForest
LiveForest.create(sys.argv[1], table="patients", id="id", target="age", folder=sys.argv[2], ray="127.0.0.1:1")
"""
    command = [sys.executable, "-c", script, sqlite_database.url, str(folder)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert "NoClusterError: There is no Ray cluster at 127.0.0.1:1" in result.stderr
    assert not folder.exists()


def test_commands(sqlite_database: Database, folder: Path, there: dict[str, Any]) -> None:
    """Create, sync and verify there; nothing of it has to be known later."""
    make_patients(sqlite_database)
    more = ["--ray", there["ray"], "--workers", "1"]
    purposes = ["--table", "patients", "--id", "id", "--target", "readmitted", "--subject", "person_id"]
    small = ["--trees", "5", "--depth", "6", "--seed", "3"]
    created = done("live", "create", sqlite_database.url, folder, *purposes, *small, *more)
    done("live", "create", sqlite_database.url, f"{folder}-2", *purposes, *small)
    sqlite_database.run("DELETE FROM patients WHERE id = 5")
    synced = [done("live", "sync", which, *how) for which, how in ((folder, more), (f"{folder}-2", []))]
    assert created["fingerprint"] != synced[0]["fingerprint"] == synced[1]["fingerprint"]
    assert done("live", "erase", folder, "u-9")["request"]["state"] == "applied"
    assert done("verify", folder, *more)["outcome"] == done("live", "verify", folder)["outcome"] == "exact"
    assert run("live", "sync", folder, "--workers", 2).exit_code == 2
    assert "leave out --folder" in run("verify", folder, *more, "--folder", folder.parent).output
