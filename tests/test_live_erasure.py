"""Gone means gone: when `erase` or `sync` has returned, no file that is ours knows of the row.

A row with unmistakable values is planted, found in the files, erased, and searched for in every byte of every file.
"""

from __future__ import annotations

import logging
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from deciduous._row_names import RowNames
from deciduous.live import LiveForest
from deciduous.live._source import Source
from live_tables import PARAMS, Database, fresh_fingerprint
from residues import images_of

PERSON, WARD, LABEL = "SECRET-PERSON-91", "SECRET-WARD-5", "SECRET-LABEL-3"
NUMBER = 1234.5677
TARGET = 9876.54321
INTEGER_ID, TEXT_ID = 0x1B2C3D4E5F607182, "SECRET-ROW-7F3A"


def number_images(number: float = NUMBER) -> dict[str, bytes]:
    """A number as databases, files and the forest store it, and what is derived from it."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return {
        "float64, big-endian": struct.pack(">d", number),
        "float64": struct.pack("<d", number),
        "float32": struct.pack("<f", number),
        "float32 that orders": struct.pack("<I", bits | 0x80000000),
        "number as text": str(number).encode(),
    } | images_of({"number": number})


def target_images(live: LiveForest) -> dict[str, bytes]:
    """The target as a number, in the fixed point of the forest, and as what that stands for."""
    scale = live._encoder.settings.target_scale
    assert scale is not None
    (fixed,) = scale.fixed(np.array([TARGET])).tolist()
    (rounded,) = scale.floats(np.array([fixed])).tolist()
    images = {f"target as {form}": image for form, image in number_images(TARGET).items()}
    images |= {"fixed point": struct.pack("<q", fixed), "fixed point, 6 bytes": struct.pack("<q", fixed)[:6]}
    return images | images_of({"fixed": fixed, "rounded": rounded})


def id_images(id: Any) -> dict[str, bytes]:
    """An id as databases, files and the forest store it, and what is derived from it."""
    derived = images_of({"id": id})
    if isinstance(id, str):
        (core_id,) = RowNames("s").core_ids([id]).tolist()
        return {"id": id.encode(), "core id": struct.pack("<q", core_id)} | derived
    return {"id": struct.pack("<q", id)} | derived


def index_images(live: LiveForest, id: Any) -> dict[str, bytes]:
    """The digests that the folder keeps of the row."""
    core_id = id if isinstance(id, int) else RowNames("s").core_ids([id])[0]
    (row,) = live._store.index.rows[live._store.index.rows["id"] == core_id]
    return {
        "row digest": row["digest"].tobytes(),
        "subject digest": row["subject"].tobytes(),
        "subject digest as text": row["subject"].tobytes().hex().encode(),
        "fingerprint": live.forest.fingerprint().encode(),
        "fingerprint as bytes": bytes.fromhex(live.forest.fingerprint()),
    }


TEXTS = {"person": PERSON.encode(), "ward": WARD.encode(), "label": LABEL.encode()}


def found(folder: Path, images: dict[str, bytes]) -> dict[str, set[str]]:
    """Which images are in which files."""
    contents = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    hits = {name: {file.name for file, data in contents.items() if image in data} for name, image in images.items()}
    return {name: files for name, files in hits.items() if files}


def make_table(database: Database, id: Any, *, has_classes: bool = True) -> None:
    """Three hundred ordinary rows, and one in their middle whose values, id, ward and label, or target, only it has."""
    kind = "INTEGER" if isinstance(id, int) else "TEXT"
    target = "TEXT" if has_classes else "DOUBLE PRECISION"
    database.run(
        f"CREATE TABLE patients (id {kind} PRIMARY KEY, person_id TEXT, age REAL, ward TEXT, readmitted {target})"
    )
    rng = np.random.default_rng(0)
    rows = [
        (
            number,
            f"u-{number}",
            float(rng.integers(20, 90)),
            ["north", "south"][number % 2],
            ["no", "yes"][number % 3 // 2] if has_classes else float(rng.integers(1000)) / 8,
        )
        for number in range(300)
    ]
    rows.insert(150, (id, PERSON, NUMBER, WARD, LABEL if has_classes else TARGET))
    names = ("id", "person", "age", "ward", "label")
    with database.engine.begin() as connection:
        statement = sa.text("INSERT INTO patients VALUES (:id, :person, :age, :ward, :label)")
        connection.execute(statement, [dict(zip(names, (type(id)(row[0]), *row[1:]), strict=True)) for row in rows])


def make_live(database: Database, folder: Path, capture: bool) -> LiveForest:
    live = LiveForest.create(
        database.url,
        table="patients",
        id="id",
        target="readmitted",
        subject="person_id",
        folder=folder,
        params=PARAMS,
        capture=capture,
    )
    live.sync()
    live.store()
    return live


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of all files of a test: database, logs of the database, and the folder of the live forest."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize("id", [INTEGER_ID, TEXT_ID], ids=["integer", "text"])
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_erased_row_is_in_no_file(
    home: Path, id: Any, capture: bool, journal: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in the folder, nor in the database, its log or journal, nor in what was logged; nor after closing."""
    caplog.set_level(logging.DEBUG)
    database = Database(f"sqlite:///{home}/clinic.db")
    database.run(f"PRAGMA journal_mode={journal}")
    make_table(database, id)
    # Somebody else has the database open, or its log would be removed when our last connection is closed.
    other = sqlite3.connect(home / "clinic.db")
    other.execute("SELECT count(*) FROM patients").fetchall()
    live = make_live(database, home / "clinic.forest", capture)
    images = id_images(id) | number_images() | TEXTS | index_images(live, id)
    before = found(home, images)
    parts = {name: {file.split("-")[0] for file in files} for name, files in before.items()}
    assert parts["float32"] >= {"snapshot"}
    assert parts["row digest"] == parts["subject digest"] == {"rows"}
    assert parts["label"] >= {"snapshot"}
    assert parts["ward"] >= {"state.db"}
    assert any("clinic.db" in file for file in before["person"])

    report = live.erase(PERSON)
    assert report.sync is not None
    assert (report.sync.n_deleted, report.sync.remains) == (1, None)
    assert found(home, images) == {}
    live.store()
    assert found(home, images) == {}
    assert live.verify()
    (home / "certificate.html").write_text(live.certificate())
    live.export_receipts(home / "receipts.json")
    live.close()
    assert found(home, images) == {}
    other.close()
    assert not any(text.decode() in caplog.text for text in TEXTS.values())
    with LiveForest.open(home / "clinic.forest") as live:
        assert live.sync().fingerprint == fresh_fingerprint(database, live)
        assert [receipt.kind for receipt in live.receipts(report.request.id)] == ["received", "synced", "verified"]
    assert found(home, images) == {}


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
@pytest.mark.parametrize("action", ["delete", "update"])
def test_row_that_others_removed_is_in_no_file_of_the_folder(
    database: Database, home: Path, capture: bool, action: str
) -> None:
    """After an ordinary DELETE or UPDATE and a sync; of the database itself whoever runs it takes care."""
    make_table(database, TEXT_ID)
    folder = home / "clinic.forest"
    with make_live(database, folder, capture) as live:
        images = number_images() | TEXTS | index_images(live, TEXT_ID)
        if action == "delete":
            images |= id_images(TEXT_ID)
            database.run("DELETE FROM patients WHERE id = :id", id=TEXT_ID)
        else:
            database.run(
                "UPDATE patients SET age = 50, ward = 'north', readmitted = 'no', person_id = 'x' WHERE id = :id",
                id=TEXT_ID,
            )
        assert found(folder, images)
        live.sync()
        assert found(folder, images) == {}
    assert found(folder, images) == {}


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
@pytest.mark.parametrize("action", ["erase", "delete", "update", "no target"])
def test_target_of_a_row_that_is_gone_is_in_no_file_of_the_folder(
    database: Database, home: Path, capture: bool, action: str
) -> None:
    """Though it was the greatest of all: the range of targets, which stays, tells no more than a power of two."""
    make_table(database, TEXT_ID, has_classes=False)
    folder = home / "clinic.forest"
    with make_live(database, folder, capture) as live:
        images = target_images(live) | index_images(live, TEXT_ID)
        if action in ("update", "no target"):  # the row stays, and its subject is that of a row
            images = {name: image for name, image in images.items() if not name.startswith("subject")}
        else:
            images |= id_images(TEXT_ID) | number_images()
        before = found(folder, images)
        assert {file.split("-")[0] for file in before["fixed point"]} == {"snapshot"}
        assert {file.split("-")[0] for file in before["row digest"]} == {"rows"}
        if action == "erase":
            assert live.erase(PERSON).request.state == "applied"
        else:
            statement = {
                "delete": "DELETE FROM patients",
                "update": "UPDATE patients SET readmitted = 50.5",
                "no target": "UPDATE patients SET readmitted = NULL",
            }[action]
            database.run(f"{statement} WHERE id = :id", id=TEXT_ID)
            live.sync()
        assert found(folder, images) == {}
        live.store()
        assert live.verify()
        (home / "certificate.html").write_text(live.certificate())
        live.export_receipts(home / "receipts.json")
        assert found(folder, images) == {}
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
    assert found(folder, images) == {}
    papers = [(home / name).read_bytes() for name in ("certificate.html", "receipts.json")]
    assert not any(image in paper for image in images.values() for paper in papers)


@pytest.mark.parametrize("journal", ["delete", "truncate", "persist", "memory", "off", "wal"])
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_journal_of_somebody_who_deleted_a_row_keeps_nothing_of_it(home: Path, journal: str, capture: bool) -> None:
    """Whatever the mode of their connection, which stays open."""
    database = Database(f"sqlite:///{home}/clinic.db")
    make_table(database, INTEGER_ID)
    with make_live(database, home / "clinic.forest", capture) as live:
        images = number_images() | TEXTS | index_images(live, INTEGER_ID)
        clerk = clerk_who_deletes(home, journal)
        assert live.sync().remains is None
        assert found(home, images) == {}
        clerk.close()


@pytest.mark.parametrize("journal", ["persist", "wal"])
def test_journal_that_cannot_be_cleared_is_reported(home: Path, journal: str) -> None:
    """Somebody is in the middle of something; when they are done, the next deletion takes it along."""
    database = Database(f"sqlite:///{home}/clinic.db")
    database.run("PRAGMA journal_mode=WAL" if journal == "wal" else "PRAGMA journal_mode=DELETE")
    make_table(database, INTEGER_ID)
    with make_live(database, home / "clinic.forest", capture=False) as live:
        images = number_images() | TEXTS
        reader = sqlite3.connect(home / "clinic.db", isolation_level=None)
        if journal == "wal":
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM patients").fetchall()
        clerk = clerk_who_deletes(home, journal)
        if journal == "persist":
            clerk.execute("BEGIN IMMEDIATE")
            clerk.execute("UPDATE patients SET age = 30 WHERE id = 9")
        assert "busy" in str(live.sync().remains)
        reader.close()
        if journal == "persist":
            clerk.execute("COMMIT")
        clerk.execute("DELETE FROM patients WHERE id = 7")
        assert live.sync().remains is None
        assert found(home, images) == {}
        clerk.close()


def clerk_who_deletes(home: Path, journal: str) -> sqlite3.Connection:
    """A connection of somebody else, who overwrites what they delete, and has just deleted the planted row."""
    clerk = sqlite3.connect(home / "clinic.db", isolation_level=None)
    clerk.execute(f"PRAGMA journal_mode={journal}")
    clerk.execute("PRAGMA secure_delete=ON")
    clerk.execute("DELETE FROM patients WHERE person_id = ?", (PERSON,))
    return clerk


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_captured_id_is_in_no_file_after_the_sync(home: Path, journal: str) -> None:
    """The log of captured ids is in a database that we do not control, but what we wrote there is ours to remove."""
    database = Database(f"sqlite:///{home}/clinic.db")
    database.run(f"PRAGMA journal_mode={journal}")
    make_table(database, TEXT_ID)
    other = sqlite3.connect(home / "clinic.db")
    other.execute("PRAGMA secure_delete=ON")  # as docs/live.md tells those who delete
    with make_live(database, home / "clinic.forest", capture=True) as live:
        other.execute("DELETE FROM patients WHERE id = ?", (TEXT_ID,))
        other.commit()
        assert "id" in found(home, id_images(TEXT_ID))
        assert live.sync().method == "capture"
        assert live.sync().method == "capture"
        assert found(home, id_images(TEXT_ID)) == {}
    other.close()
    assert found(home, id_images(TEXT_ID)) == {}


def test_labels_and_names_of_the_last_rows_are_in_no_file(home: Path) -> None:
    """An empty table leaves nothing of its rows, also after a new start from an empty snapshot."""
    database = Database(f"sqlite:///{home}/clinic.db")
    make_table(database, TEXT_ID)
    folder = home / "clinic.forest"
    images = {"ward": b"north", "other ward": WARD.encode(), "label": LABEL.encode(), "longest label": b"yes"}
    with make_live(database, folder, capture=True) as live:
        assert set(found(folder, images)) == set(images)
        database.run("DELETE FROM patients")
        assert live.sync().n_rows == 0
        assert found(folder, images) == {}
    assert found(folder, images) == {}
    with LiveForest.open(folder) as live:
        assert live.sync().method == "capture"
        database.run("INSERT INTO patients VALUES ('a', 'b', 1, 'c', 'maybe'), ('d', 'e', 2, 'f', 'maybe')")
        assert live.sync().n_rows == 2
        assert live.classes_.tolist() == ["maybe"]
        assert live.verify()


@pytest.mark.parametrize("vacuum", [True, False])
def test_erasure_rewrites_the_database_unless_told_not_to(home: Path, vacuum: bool) -> None:
    """SQLite may leave copies of rows in pages that it has rebalanced; a file that was written anew has none."""
    database = Database(f"sqlite:///{home}/clinic.db")
    make_table(database, INTEGER_ID)
    database.run("UPDATE patients SET person_id = 'many rows' WHERE id < 250")
    with make_live(database, home / "clinic.forest", capture=False) as live:
        live.erase("many rows", vacuum=vacuum)
    ((n_free,),) = database.rows("PRAGMA freelist_count")
    assert (n_free == 0) == vacuum


@pytest.mark.parametrize("again", ["sync", "erase"])
def test_database_that_was_not_rewritten_in_time_is_rewritten_by_the_next_deed(home: Path, again: str) -> None:
    """The process ended just when the rows were gone and the receipt was written."""
    database = Database(f"sqlite:///{home}/clinic.db")
    make_table(database, INTEGER_ID)
    database.run("UPDATE patients SET person_id = 'many rows' WHERE id < 250")
    with make_live(database, home / "clinic.forest", capture=True) as live:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Source, "leave_nothing", interrupted)
            with pytest.raises(InterruptedError):
                live.erase("many rows", idempotency_key="7")
        assert database.rows("PRAGMA freelist_count") != [(0,)]
    with LiveForest.open(home / "clinic.forest") as live:
        if again == "sync":
            assert live.sync().remains is None
        else:
            assert live.erase("many rows", idempotency_key="7").request.state == "applied"
        assert database.rows("PRAGMA freelist_count") == [(0,)]
        assert live.sync().method == "capture"
        assert live.verify()


def interrupted(*_: Any, **__: Any) -> None:
    raise InterruptedError


def test_remains_of_an_interrupted_process_are_removed_at_opening(home: Path) -> None:
    """Files that were being written, or that a transaction had just replaced; files of others stay."""
    database = Database(f"sqlite:///{home}/clinic.db")
    make_table(database, TEXT_ID)
    folder = home / "clinic.forest"
    make_live(database, folder, capture=False).close()
    known = {file.name for file in folder.iterdir()}
    for name in (".snapshot-00.11.part", "snapshot-0011", ".rows-00.11.part", "rows-0011", "notes.txt"):
        (folder / name).write_bytes(PERSON.encode())
    LiveForest.open(folder).close()
    assert {file.name for file in folder.iterdir()} == known | {"notes.txt"}


def test_ids_of_many_deleted_rows_leave_the_index(home: Path) -> None:
    """Two thousand rows go in batches; not one of their digests stays in any file of the folder."""
    database = Database(f"sqlite:///{home}/clinic.db")
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL, y INTEGER)")
    rng = np.random.default_rng(0)
    with sqlite3.connect(home / "clinic.db") as connection:
        ids = rng.choice(2**62, 6_000, replace=False).tolist()
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(id, id % 1000, id % 2) for id in ids])
    connection.close()
    folder = home / "t.forest"
    with LiveForest.create(database.url, table="t", id="id", target="y", folder=folder, params=PARAMS) as live:
        gone: set[bytes] = set()
        for begin in range(0, 2_000, 100):
            doomed = ids[begin : begin + 100]
            rows = live._store.index.rows
            gone |= {digest.tobytes() for digest in rows["digest"][np.isin(rows["id"], doomed)]}
            gone |= {struct.pack("<q", id) for id in doomed}
            database.run(f"DELETE FROM t WHERE id IN ({', '.join(map(str, doomed))})")
            assert live.sync().n_deleted == 100
        assert len(gone) == 4_000
    data = b"".join(file.read_bytes() for file in folder.iterdir())
    windows = {data[place : place + 8] for place in range(len(data) - 7)}
    assert not {image for image in gone if image[:8] in windows and image in data}
