"""Folder and table after an erasure, in the hands of somebody who wants to know what was erased.

The attack of these tests guesses: it makes the forest, the digests and the parameters that each guess would have given,
and looks for them in every byte of every file, plain and under every key that lies there.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deciduous import DareForestClassifier, DareForestRegressor
from deciduous._row_names import text_of
from deciduous.errors import FolderBusyError
from deciduous.live import LiveForest, _digests
from live_tables import Database

PURPOSES = [value for value in vars(_digests).values() if isinstance(value, bytes)]
WARDS = ["north", "south"]
COSTS = [0.0, 10.25, 20.5, 30.75, 41.0]
GUESSES = {"readmitted": (range(20, 90), WARDS, (0, 1)), "cost": (range(75, 90), WARDS, COSTS)}  # of row 17


def contents(folder: Path) -> bytes:
    """All bytes of all files, free pages of databases among them, and the names of the files."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return b"\0".join([*(file.read_bytes() for file in files), *(file.name.encode() for file in files)])


def handed_out(live: LiveForest) -> bytes:
    """All that others are given: certificates, and signed statements as they are in envelopes and in plain."""
    lines = live.statements()
    payloads = [base64.b64decode(json.loads(line)["payload"]) for line in lines]
    return b"\0".join([live.certificate().encode(), *(line.encode() for line in lines), *payloads])


def keys(folder: Path) -> list[bytes]:
    """Everything in the state that may be a key."""
    state = sqlite3.connect(folder / "state.db")
    tables = [name for (name,) in state.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    values = {value for table in tables for row in state.execute(f"SELECT * FROM {table}") for value in row}
    state.close()
    return [b"", *(value for value in values if isinstance(value, bytes) and 16 <= len(value) <= 64)]


def images(secret: bytes, some_keys: Iterator[bytes] | list[bytes]) -> Iterator[bytes]:
    """What a folder may keep of a secret: itself, or a digest of it for any purpose under some key."""
    yield secret
    for key, purpose, size in itertools.product(some_keys, PURPOSES, (16, 32)):
        yield hashlib.blake2b(secret, digest_size=size, key=key, person=purpose).digest()


def confirms(data: bytes, some_keys: Iterator[bytes] | list[bytes], *secrets: bytes) -> bool:
    """Whether somebody who guessed a secret can see in the files that it was right."""
    return any(
        image in data or image.hex().encode() in data for secret in secrets for image in images(secret, some_keys)
    )


@pytest.fixture
def clinic(sqlite_database: Database) -> Database:
    """The example of docs/live.md, with a ward that only row 17 has."""
    sqlite_database.run(
        "CREATE TABLE patients "
        "(id INTEGER PRIMARY KEY, person_id TEXT, age REAL, ward TEXT, readmitted INTEGER, cost REAL)"
    )
    rows = [(i, f"u-{i // 3}", 20 + i * 37 % 70, WARDS[i % 2], i * 7 % 5 // 3, COSTS[i % 5]) for i in range(300)]
    with sqlite_database.engine.begin() as connection:
        for row in rows:
            connection.exec_driver_sql("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?)", row)
    return sqlite_database


def made(database: Database, folder: Path, target: str = "readmitted") -> LiveForest:
    return LiveForest.create(
        database.url,
        table="patients",
        id="id",
        target=target,
        task="regression" if target == "cost" else "classification",
        columns=["age", "ward"],
        subject="person_id",
        folder=folder,
        params={"n_estimators": 20},
    )


def guesses(database: Database, target: str, params: dict[str, Any], id: int) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every row that may have been there, with the fingerprint of the forest that held it."""
    table = pd.read_sql("SELECT * FROM patients", database.engine)
    for age, ward, y in itertools.product(*GUESSES[target]):
        guess = pd.DataFrame([{"id": id, "age": float(age), "ward": ward, target: y}])
        rows = pd.concat([table[["id", "age", "ward", target]], guess], ignore_index=True)
        forest = (DareForestRegressor if target == "cost" else DareForestClassifier)(**params)
        forest.fit(rows[["age", "ward"]], rows[target], ids=rows["id"].tolist())
        yield (age, ward, y), forest.fingerprint()


@pytest.mark.parametrize("target", GUESSES)
def test_no_guess_of_an_erased_row_can_be_confirmed(clinic: Database, folder: Path, target: str) -> None:
    """The attack recovers row 17 from any record that keeps the fingerprint before, and not from ours."""
    with made(clinic, folder, target) as live:
        live.new_key()
        former = live.forest.fingerprint()
        ((age, ward, y),) = clinic.rows(f"SELECT age, ward, {target} FROM patients WHERE id = 17")
        clinic.run("DELETE FROM patients WHERE id = 17")
        live.sync()
        assert live.verify()
        params, given = live.params, handed_out(live)
    data, lying_there = contents(folder) + given, keys(folder)
    forests = dict(guesses(clinic, target, params, 17))
    assert len(forests) == math.prod(map(len, GUESSES[target]))

    def recovered(data: bytes) -> list[tuple[Any, ...]]:
        return [
            guess
            for guess, fingerprint in forests.items()
            if confirms(data, lying_there, fingerprint.encode(), bytes.fromhex(fingerprint))
        ]

    assert recovered(data) == []
    truth = [(int(age), ward, y)]
    folder_key = _key(folder)
    assert recovered(data + json.dumps({"fingerprint_before": former}).encode()) == truth  # as receipts once had it
    keyed = hashlib.blake2b(former.encode(), digest_size=32, key=folder_key, person=_digests.CHAIN).hexdigest()
    assert recovered(data + keyed.encode()) == truth  # a key that lies there is no help


def _key(folder: Path) -> bytes:
    state = sqlite3.connect(folder / "state.db")
    (key,) = state.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    state.close()
    return bytes(key)


def test_no_bytes_of_the_folder_open_what_it_keeps_of_a_former_forest(clinic: Database, folder: Path) -> None:
    """Not even for somebody who guessed the row right, and tries all bytes of the state as keys, in free pages too."""
    with made(clinic, folder) as live:
        former = live.forest.fingerprint()
        for id in (17, 18, 19):
            clinic.run("DELETE FROM patients WHERE id = :id", id=id)
            live.sync()
    state, data = (folder / "state.db").read_bytes(), contents(folder)
    windows = {state[place : place + 32] for place in range(len(state) - 31)}
    assert confirms(data, sorted(windows), live_fingerprint(folder))  # the forest that is there can be checked
    assert not confirms(data, sorted(windows), former.encode())


def live_fingerprint(folder: Path) -> bytes:
    with LiveForest.open(folder) as live:
        return live.forest.fingerprint().encode()


@pytest.mark.parametrize("target", GUESSES)
@pytest.mark.parametrize("way", ["erase", "receive"])
def test_no_guess_of_an_erased_person_can_be_confirmed(clinic: Database, folder: Path, way: str, target: str) -> None:
    """Once a request is settled, nothing in the folder tells whose it was, nor which rows they had."""
    with made(clinic, folder, target) as live:
        live.new_key()
        if way == "erase":
            live.erase("u-20", idempotency_key="0b5f9c1e")
        else:
            live.requests.receive("u-20")
            assert confirms(contents(folder), [_key(folder)], text_of("u-20").encode())  # it is to be recognised
            clinic.run("DELETE FROM patients WHERE person_id = 'u-20'")
            live.sync()
        live.requests.refuse(live.requests.receive("u-21").id, "Needed for a legal claim.")
        assert live.verify()
        clinic.run("DELETE FROM patients WHERE person_id = 'u-21'")
        live.sync()
        data = contents(folder) + handed_out(live)
        assert not confirms(data, keys(folder), *(text_of(name).encode() for name in ("u-20", "u-21")))
    assert not confirms(contents(folder), keys(folder), *(text_of(name).encode() for name in ("u-20", "u-21")))


def test_no_guess_of_a_forgotten_category_can_be_confirmed(clinic: Database, folder: Path) -> None:
    """A digest of the former parameters would tell whether a name that was guessed is right."""
    clinic.run("UPDATE patients SET ward = 'quarantine' WHERE id = 17")
    with made(clinic, folder) as live:
        former = live._settings
        clinic.run("DELETE FROM patients WHERE id = 17")
        live.sync()
    assert b"quarantine" not in contents(folder)
    assert not confirms(contents(folder), keys(folder), *definitions(former))


def definitions(settings: Any) -> list[bytes]:
    """What a digest of parameters may be of."""
    from dataclasses import asdict

    params = {name: value for name, value in settings.params.items() if name not in ("n_jobs", "lazy", "verbose")}
    columns = [asdict(column) for column in settings.columns]
    definition = getattr(settings, "definition", None)
    return [_digests.canonical({"params": params, "columns": columns}), *([definition()] if definition else [])]


def test_former_keys_leave_the_state_for_good(clinic: Database, folder: Path) -> None:
    """SQLite leaves copies in pages that it rebalances; the keys of former forests must not be among them."""
    former: set[bytes] = set()
    with made(clinic, folder) as live:
        for number in range(60):
            if number % 3 == 0:
                live.requests.receive(f"u-{90 - number}")
            before = set(keys(folder))
            clinic.run("DELETE FROM patients WHERE id = :id", id=3 * number + 1)
            if number % 7 == 0:
                clinic.run("DELETE FROM patients WHERE person_id = :person", person=f"u-{90 - number}")
            live.sync()
            former |= before - set(keys(folder))
            data = contents(folder)
            assert not [key for key in former if key in data or key.hex().encode() in data]
    assert len(former) > 60


def test_rewriting_that_somebody_prevents_is_done_by_the_next_deed(clinic: Database, folder: Path) -> None:
    """A request is settled, and what is left of its subject in free pages goes as soon as the file is free."""
    with made(clinic, folder) as live:
        request = live.requests.receive("u-20")
        live._state._database.execute("PRAGMA busy_timeout=20")
        reader = sqlite3.connect(folder / "state.db", isolation_level=None)

        def read_on(statement: str) -> None:
            if statement == "VACUUM" and not reader.in_transaction:
                reader.execute("BEGIN")
                reader.execute("SELECT * FROM meta").fetchall()

        live._state._database.set_trace_callback(read_on)
        with pytest.raises(FolderBusyError, match="locked"):
            live.requests.refuse(request.id, "Needed for a legal claim.")
        live._state._database.set_trace_callback(None)
        assert live.requests[request.id].state == "refused"
        assert live._state._get("rewriting") is not None
        reader.close()
        live.sync()
        assert live._state._get("rewriting") is None
        state = (folder / "state.db").read_bytes()  # the rows themselves are still in the table
        assert not confirms(state, keys(folder), text_of("u-20").encode())
