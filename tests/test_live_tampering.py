"""Whatever is changed in the state of a live forest is noticed, or does no harm; and damage is one clear error."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deciduous.errors import CorruptRecordError, DeciduousError, FolderError
from deciduous.live import LiveForest, Receipt, _digests, read_record
from deciduous.live._state import State
from deciduous.live.receipts import FIRST_CHAIN
from deciduous.live.record import Record
from live_tables import Database, fresh_fingerprint, make_live, make_patients

PLAIN = [None, True, 0, -1, 3, 1.5, 2**70, "", "x", "0" * 64, "\ud800", [], ["x"], [[]], {}, {"a": None}]
CERTIFIED = ("created", "synced", "recovered", "nothing left to erase")
BODIES = ["", "null", "[]", "5", "{", '{"number": NaN}', "[" * 100_000, b"\xff\xfe", b"", 7, 1.5]
SQL = [None, 0, -1, 7, 2**62, 1.5, "", "x", "0" * 64, "../canary", b"", b"\0" * 32, b"\xff" * 100]


@pytest.fixture
def clinic(sqlite_database: Database, folder: Path) -> Database:
    """A folder with receipts of all kinds but "recovered", requests in all states, and a signing key."""
    make_patients(sqlite_database, 60)
    with make_live(sqlite_database, folder, params={"n_estimators": 2, "max_depth": 4, "random_state": 3}) as live:
        live.erase("u-1", idempotency_key="9f0c")
        live.erase("u-1")
        assert live.verify()
        live.requests.refuse(live.requests.receive("u-2").id, "Needed for a legal claim.")
        live.erase("u-3")
        live.requests.receive("u-4")
        live.new_key()
        live.requests.receive("u-5", due_days=-1)
    assert {request.state for request in read_record(folder)[2]} == {
        "received", "applied", "verified", "refused", "nothing left to erase",
    }  # fmt: skip
    return sqlite_database


def state_of(folder: Path) -> sqlite3.Connection:
    state = sqlite3.connect(folder / "state.db", isolation_level=None)
    state.execute("PRAGMA synchronous=OFF")
    return state


def all_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    state = state_of(folder)
    rows = state.execute(query).fetchall()
    state.close()
    return rows


def bodies(folder: Path) -> dict[int, dict[str, Any]]:
    return {number: json.loads(body) for number, body in all_of(folder, "SELECT number, body FROM receipts")}


def write_bodies(folder: Path, written: dict[int, Any]) -> None:
    state = state_of(folder)
    state.execute("BEGIN")
    state.executemany("UPDATE receipts SET body = ? WHERE number = ?", [(its, no) for no, its in written.items()])
    state.execute("COMMIT")
    state.close()


def one_of_each_kind(written: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The first receipt of each kind."""
    first = {body["kind"]: number for number, body in reversed(written.items())}
    return {number: written[number] for number in sorted(first.values())}


def mutants(value: Any) -> Iterator[Any]:
    """The same plain value with something else, or nothing, at each place."""
    yield from (other for other in PLAIN if not (other == value and type(other) is type(value)))
    if isinstance(value, dict):
        for name in value:
            yield {its: value[its] for its in value if its != name}
            yield from (value | {name: mutant} for mutant in mutants(value[name]))
        yield value | {"more": 1}
    if isinstance(value, list):
        for place in range(len(value)):
            yield from ([*value[:place], mutant, *value[place + 1 :]] for mutant in mutants(value[place]))


@pytest.mark.usefixtures("clinic")
def test_any_other_value_in_any_receipt_is_named(folder: Path) -> None:
    """Whatever it is, the error says which receipt."""
    n_mutants = 0
    for number, body in one_of_each_kind(bodies(folder)).items():
        texts = [*BODIES, *(json.dumps(mutant) for mutant in mutants(body))]
        for text in texts:
            write_bodies(folder, {number: text})
            with pytest.raises(CorruptRecordError, match=rf"damaged: receipt {number} |newest receipt"):
                read_record(folder)
            n_mutants += 1
        write_bodies(folder, {number: json.dumps(body)})
        read_record(folder)
    assert n_mutants > 2_000


def rechained(key: bytes, written: dict[int, dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Receipts as somebody with the key can write them: a chain without a break."""
    previous = FIRST_CHAIN
    for number, body in written.items():
        try:
            receipt = Receipt(**(body | {"previous": previous, "requests": tuple(body["requests"])}))
            body = body | {"previous": previous, "chain": (previous := receipt.digest(key))}
        except (TypeError, ValueError, KeyError):
            pass
        yield number, json.dumps(body)


@pytest.mark.usefixtures("clinic")
def test_receipts_of_somebody_with_the_key_raise_nothing_else(folder: Path) -> None:
    """A chain that was made anew around nonsense is one clear error, or makes sense."""
    ((key,),) = all_of(folder, "SELECT value FROM meta WHERE name = 'key'")
    written = bodies(folder)
    n_refused = n_accepted = 0
    for number, body in one_of_each_kind(written).items():
        for mutant in filter(lambda its: isinstance(its, dict), mutants(body)):
            write_bodies(folder, dict(rechained(key, written | {number: mutant})))
            write_head(folder, key)
            state = State.opened(folder / "state.db", read_only=True)
            try:
                record = Record(state)
                record.status()
                for change in (its for its in record.receipts() if its.kind in CERTIFIED):
                    record.certificate(change.number, None)
                record.signing.statements()
                n_accepted += 1  # another count, time or reason, for example
            except CorruptRecordError:
                n_refused += 1
            finally:
                state.close()
    assert n_refused > 5 * n_accepted > 0


def write_head(folder: Path, key: bytes) -> None:
    """What tells which receipt is the newest, as somebody with the key can write it."""
    ((body,),) = all_of(folder, "SELECT body FROM receipts ORDER BY number DESC LIMIT 1")
    newest = json.loads(body)
    head = _digests.keyed(key, _digests.HEAD, _digests.canonical([newest.get("number"), newest.get("chain")])).hex()
    state = state_of(folder)
    state.execute("UPDATE present SET head = ?", (head,))
    state.close()


MISSING = {
    "the last receipt": "DELETE FROM receipts WHERE number = (SELECT max(number) FROM receipts)",
    "the last request": (
        "DELETE FROM receipts WHERE number = (SELECT max(number) FROM receipts);"
        "DELETE FROM open_requests WHERE id IN (SELECT id FROM open_requests ORDER BY id)"
    ),
    "all but the first": "DELETE FROM receipts WHERE number > 1",
    "all receipts": "DELETE FROM receipts",
    "what is kept of open requests": "DELETE FROM open_requests",
    "one in the middle": "DELETE FROM receipts WHERE number = 3",
    "the table of receipts": "DROP TABLE receipts",
    "the table of open requests": "DROP TABLE open_requests",
    "the table of secrets": "DROP TABLE present",
    "the secrets": "DELETE FROM present",
    "the settings": "DELETE FROM meta WHERE name = 'settings'",
    "a column": "ALTER TABLE receipts RENAME COLUMN body TO content",
    "another column": "ALTER TABLE present DROP COLUMN fingerprint_key",
    "a column of requests": "ALTER TABLE open_requests DROP COLUMN subject",
    "subjects of requests, exchanged": (
        "UPDATE open_requests SET subject = (SELECT subject FROM open_requests ORDER BY id LIMIT 1)"
    ),
}


@pytest.mark.parametrize("what", MISSING)
@pytest.mark.usefixtures("clinic")
def test_what_is_missing_is_noticed(folder: Path, what: str) -> None:
    """By `verify`, or before."""
    state = state_of(folder)
    state.executescript(MISSING[what])
    state.close()
    with pytest.raises(CorruptRecordError), LiveForest.open(folder) as live:  # noqa: PT012
        problem = live.verify().problem
        assert problem
        live.sync()


RULES = {
    "a trigger that keeps secrets": (
        "CREATE TRIGGER more BEFORE DELETE ON open_requests BEGIN SELECT raise(IGNORE); END"
    ),
    "a trigger that names files": (
        "CREATE TRIGGER more AFTER UPDATE ON present BEGIN UPDATE present SET snapshot = '../canary'; END"
    ),
    "a trigger that prevents receipts": (
        "CREATE TRIGGER more BEFORE INSERT ON receipts BEGIN SELECT raise(ABORT, 'no'); END"
    ),
    "an index": "CREATE UNIQUE INDEX more ON receipts (body)",
    "a table": "CREATE TABLE more (x)",
    "a view": "CREATE VIEW more AS SELECT * FROM meta",
    "a column": "ALTER TABLE meta ADD COLUMN more",
}


@pytest.mark.parametrize("what", RULES)
@pytest.mark.usefixtures("clinic")
def test_tables_and_rules_of_others_are_noticed(folder: Path, what: str) -> None:
    """Before they can do anything."""
    state = state_of(folder)
    state.execute(RULES[what])
    state.close()
    for use in (LiveForest.open, read_record):
        with pytest.raises(CorruptRecordError, match="not those that were made"):
            use(folder)


STAMPS = [
    *BODIES[:7],
    '{"definition": 1, "mark": 2, "compared": "x"}',
    '{"definition": 1, "mark": 2, "compared": NaN}',
    '{"definition": [], "mark": {}, "compared": 1e999}',
]


@pytest.mark.parametrize("text", STAMPS)
def test_any_other_stamp_of_the_table_is_a_reason_to_compare(
    sqlite_database: Database, folder: Path, text: str
) -> None:
    """It only saves time."""
    make_patients(sqlite_database, 60)
    make_live(sqlite_database, folder, capture=True).close()
    state = state_of(folder)
    state.execute("INSERT OR REPLACE INTO meta VALUES ('table_stamp', ?)", (text,))
    state.close()
    with LiveForest.open(folder) as live:
        assert live.sync().method == "comparison"
        assert live.verify()


def everything(folder: Path, database: Database) -> str:
    """Use all of a live forest. Gives the fingerprint."""
    with LiveForest.open(folder) as live:
        report = live.sync()
        verification = live.verify()
        if not verification:
            raise FolderError(f"not verified: {verification.problem}")
        assert report.fingerprint == fresh_fingerprint(database, live)
        live.certificate()
        live.status()
        states = [request.state for request in live.requests]
    assert states == ["verified", "nothing left to erase", "refused", "verified", "received", "received"]
    return report.fingerprint


def settings_mutants(folder: Path) -> list[tuple[str, Any]]:
    ((text,),) = all_of(folder, "SELECT value FROM meta WHERE name = 'settings'")
    changed = [json.dumps(mutant) for mutant in mutants(json.loads(text))]
    return [("UPDATE meta SET value = ? WHERE name = 'settings'", value) for value in [*BODIES, *changed]]


@pytest.mark.usefixtures("clinic")
def test_any_other_setting_is_noticed(folder: Path) -> None:
    """All of them are under the chain but whether changes are captured."""
    path = folder / "state.db"
    whole, n_mutants = path.read_bytes(), 0
    for query, value in settings_mutants(folder):
        state = state_of(folder)
        state.execute(query, (value,))
        state.close()
        if isinstance(value, str) and value.endswith('"captures": true}'):
            read_record(folder)
            continue
        with pytest.raises(CorruptRecordError, match="the settings are not those"):
            read_record(folder)
        n_mutants += 1
    path.write_bytes(whole)
    assert n_mutants > 700


def cells(folder: Path) -> Iterator[str]:
    """Statements that put another value into each place of the state but receipts and settings."""
    for (table,) in all_of(folder, "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'receipts'"):
        columns = [name for (_, name, *_) in all_of(folder, f"PRAGMA table_info({table})")]
        rows = all_of(folder, f"SELECT {columns[0]} FROM {table} ORDER BY 1")
        for column, (first,) in ((column, row) for column in columns for row in rows):
            if first != "settings":
                yield f"UPDATE {table} SET {column} = ? WHERE {columns[0]} = {first!r}"


def test_any_other_value_in_the_state_is_noticed_or_does_no_harm(
    clinic: Database, folder: Path, tmp_path: Path
) -> None:
    """Either one of our errors, or a forest that is right, with all that the record told before; no file is lost."""
    canary = tmp_path / "canary"
    canary.write_text("mine")
    copy = tmp_path / "copy"
    outcomes: dict[str, int] = {"noticed": 0, "harmless": 0}
    for statement in cells(folder):
        for value in SQL:
            shutil.copytree(folder, copy)
            state = state_of(copy)
            try:
                state.execute(statement, (value,))
            except sqlite3.IntegrityError:  # NULL where none may be, or a second one of the same name
                continue
            finally:
                state.close()
                if state_is_same := (copy / "state.db").read_bytes() == (folder / "state.db").read_bytes():
                    shutil.rmtree(copy)
            if state_is_same:
                continue
            try:
                everything(copy, clinic)
                outcomes["harmless"] += 1
            except DeciduousError:
                outcomes["noticed"] += 1
            shutil.rmtree(copy)
            assert canary.read_text() == "mine"
    assert outcomes["noticed"] > 100


def test_subject_in_the_index_that_is_another_is_put_right(sqlite_database: Database, folder: Path) -> None:
    """Or a row of somebody who asked would not be known as theirs."""
    make_patients(sqlite_database, 60)
    with make_live(sqlite_database, folder) as live:
        live._store.index.rows["subject"][5] = 7
        request = live.requests.receive("u-1")
        assert not live.verify()
        assert live.sync().n_updated == 1
        assert live.requests[request.id].is_open
        assert live.verify()


CHANGES: dict[str, Callable[[Database], None]] = {
    "a row goes": lambda database: database.run("DELETE FROM patients WHERE id = 30"),
    "a row changes": lambda database: database.run("UPDATE patients SET age = 30 WHERE id = 30"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_folder_that_was_put_back_follows_the_table_and_has_lost_requests(
    database: Database, folder: Path, tmp_path: Path, change: str
) -> None:
    """An older copy is whole in itself: nothing in it tells that there was more. Requests since then are lost."""
    make_patients(database)
    make_live(database, folder).close()
    shutil.copytree(folder, tmp_path / "older")
    with LiveForest.open(folder) as live:
        CHANGES[change](database)
        fingerprint = live.sync().fingerprint
        lost = live.requests.receive("u-7")
        chain = live.receipts()[-1].chain
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "older", folder)
    with LiveForest.open(folder) as live:
        assert live.verify().problem
        assert live.sync().fingerprint == fingerprint == fresh_fingerprint(database, live)
        assert live.verify()
        assert lost.id not in {request.id for request in live.requests}
        assert chain not in {receipt.chain for receipt in live.receipts()}  # what a filed certificate shows
