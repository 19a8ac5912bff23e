"""The durable state of a live forest: settings, receipts, requests, and the names of the files that count.

It is one SQLite file, so that all of it changes in one transaction or not at all. Nothing in it is about a row: rows
are in the files that it names. What SQLite deletes is overwritten (`secure_delete`), and its journal is removed with
each commit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ..errors import FolderError
from ._settings import Settings
from .receipts import FIRST_CHAIN, Receipt

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE buckets (number INTEGER PRIMARY KEY, file TEXT NOT NULL);
CREATE TABLE receipts (number INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE requests (
    id TEXT PRIMARY KEY, subject TEXT NOT NULL, idempotency TEXT UNIQUE, received TEXT NOT NULL, due TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT, changed TEXT NOT NULL
);
"""
VERSION = 1


def now() -> str:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


class State:
    """The file of the durable state."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        target = f"{path.resolve().as_uri()}?mode={'rw' if read_only else 'rwc'}"
        self._database = sqlite3.connect(target, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
        self._database.row_factory = sqlite3.Row
        try:
            self._require_sound(path)
            if not read_only:
                path.chmod(0o600)  # it holds the key and the seed
                for setting in ("journal_mode=DELETE", "synchronous=EXTRA", "secure_delete=ON", "temp_store=MEMORY"):
                    self._database.execute(f"PRAGMA {setting}")
        except BaseException:
            self.close()
            raise

    def _require_sound(self, path: Path) -> None:
        try:
            (problem,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError:  # busy, for example
            raise
        except sqlite3.DatabaseError as error:
            problem = str(error)
        if problem != "ok":
            raise FolderError(
                f"{path} is damaged: {problem}. It has the record and the parameters, so restore it from a backup, or "
                "create the live forest anew in another folder."
            )

    @classmethod
    def opened(cls, path: Path, *, read_only: bool = False) -> Self:
        """The state of a folder that was made to its end."""
        state = cls(path, read_only=read_only)
        problem = None
        if not state.is_complete():
            problem = f"Making the live forest in {path.parent} was interrupted. Call `LiveForest.create` again."
        elif (version := state._get("version")) != VERSION:
            problem = f"The live forest in {path.parent} has version {version}, and this release reads {VERSION}."
        if problem is not None:
            state.close()
            raise FolderError(problem)
        return state

    def is_complete(self) -> bool:
        """Whether there is a live forest: its state was written in one transaction."""
        return bool(self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes of the block are on the disk when it ends, or none is."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def begin_life(self, settings: Settings, key: bytes) -> None:
        """Make the tables. To be called in the transaction that also writes the first receipt."""
        for statement in SCHEMA.strip().split(";\n"):
            self._database.execute(statement)
        self._set("version", VERSION)
        self._set("key", key)
        self.settings = settings

    # --------------------------------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> Settings:
        """What was decided when the live forest was made."""
        return Settings.from_state(json.loads(self._get("settings")))

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._set("settings", json.dumps(settings.state(), ensure_ascii=False))

    @property
    def key(self) -> bytes:
        """The key of all digests."""
        return bytes(self._get("key"))

    @property
    def table_stamp(self) -> str | None:
        """The stamp of the definition of the table at the last sync, if its changes are captured."""
        stamp = self._get("table_stamp")
        return None if stamp is None else str(stamp)

    def set_table_stamp(self, stamp: str | None) -> None:
        """Keep it, in a transaction of its own."""
        with self.transaction():
            self._set_or_delete("table_stamp", stamp)

    def forget_names(self, settings: Settings) -> None:
        """Settings without names that must not stay anywhere; `finish_rewriting` is to follow the transaction."""
        self.settings = settings
        self._set("rewriting", 1)

    def finish_rewriting(self) -> None:
        """Write the file anew, if that is due: `secure_delete` alone leaves copies of what moved from page to page."""
        if self._get("rewriting") is not None:
            self._database.execute("VACUUM")
            self._set_or_delete("rewriting", None)

    # ------------------------------------------------------------------------------------------------------------ files

    @property
    def snapshot(self) -> str | None:
        """The file of a forest that holds no row which is gone, if there is one."""
        name = self._get("snapshot")
        return None if name is None else str(name)

    @snapshot.setter
    def snapshot(self, name: str | None) -> None:
        self._set_or_delete("snapshot", name)

    def buckets(self) -> dict[int, str]:
        """The files of the index of rows."""
        return {row["number"]: row["file"] for row in self._database.execute("SELECT number, file FROM buckets")}

    @property
    def n_buckets(self) -> int:
        """Into how many buckets the index of rows is divided; those without rows may have no file."""
        return int(self._get("n_buckets"))

    def divide_anew(self, n_buckets: int) -> None:
        """Forget all buckets. To be called in the transaction that sets the new ones."""
        self._database.execute("DELETE FROM buckets")
        self._set("n_buckets", n_buckets)

    def set_buckets(self, files: dict[int, str]) -> None:
        """Other files for some buckets."""
        self._database.executemany("INSERT OR REPLACE INTO buckets VALUES (?, ?)", files.items())

    # --------------------------------------------------------------------------------------------------------- receipts

    def append(self, receipt: Receipt) -> Receipt:
        """Add a receipt to the record, as the next one of the chain."""
        last = self.last_receipt()
        number, previous = (1, FIRST_CHAIN) if last is None else (last.number + 1, last.chain)
        numbered = replace(receipt, number=number, previous=previous)
        chained = replace(numbered, chain=numbered.digest(self.key))
        self._database.execute("INSERT INTO receipts VALUES (?, ?)", (number, chained.as_json()))
        return chained

    def last_receipt(self) -> Receipt | None:
        """The newest receipt."""
        row = self._database.execute("SELECT body FROM receipts ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else Receipt.from_json(row["body"])

    def receipts(self) -> Iterator[Receipt]:
        """All receipts, oldest first."""
        rows = self._database.execute("SELECT body FROM receipts ORDER BY number")
        return (Receipt.from_json(row["body"]) for row in rows)

    def last_change(self) -> Receipt:
        """The newest receipt that tells of the forest: of a change, or of a verification."""
        for row in self._database.execute("SELECT body FROM receipts ORDER BY number DESC"):
            receipt = Receipt.from_json(row["body"])
            if receipt.fingerprint_after is not None:
                return receipt
        raise FolderError("The record of this live forest has no first receipt. Create it anew.")

    def last_fingerprint(self) -> str:
        """That of the forest after the last change."""
        return str(self.last_change().fingerprint_after)

    # --------------------------------------------------------------------------------------------------------- requests

    def requests(self, where: str = "1", *values: Any) -> list[dict[str, Any]]:
        """Requests, oldest first."""
        query = f"SELECT * FROM requests WHERE {where} ORDER BY received, rowid"
        return [dict(row) for row in self._database.execute(query, values)]

    def add_request(self, request: dict[str, Any]) -> None:
        """Keep a new request."""
        names = ", ".join(request)
        marks = ", ".join("?" for _ in request)
        self._database.execute(f"INSERT INTO requests ({names}) VALUES ({marks})", tuple(request.values()))

    def set_request_state(self, id: str, state: str, reason: str | None = None) -> None:
        """Let a request move on."""
        query = "UPDATE requests SET state = ?, reason = ?, changed = ? WHERE id = ?"
        self._database.execute(query, (state, reason, now(), id))

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _get(self, name: str) -> Any:
        row = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row["value"]

    def _set_or_delete(self, name: str, value: Any) -> None:
        if value is None:
            self._database.execute("DELETE FROM meta WHERE name = ?", (name,))
        else:
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
