"""The durable state of a live forest: settings, receipts, secrets of today, and the names of the files that count.

It is one SQLite file, so that all of it changes in one transaction or not at all. Nothing in it is about a row: rows
are in the files that it names. What SQLite deletes is overwritten (`secure_delete`), and its journal is removed with
each commit. Secrets that have to go with the next change are in a table of one row, which never moves from page to
page; after others the file is written anew.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from ..errors import CorruptRecordError, FolderBusyError, FolderError, FolderInUseError
from . import _digests
from ._folder import refuse_foreign_journal
from ._opening import Opening
from ._settings import CAPTURES, Settings, definition_of
from .receipts import CHANGES, FIRST_CHAIN, Receipt, in_order, is_reference

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE buckets (number INTEGER PRIMARY KEY, file TEXT NOT NULL);
CREATE TABLE receipts (number INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE open_requests (id TEXT PRIMARY KEY, key BLOB NOT NULL, subject BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE present (
    one INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, fingerprint_key BLOB NOT NULL, parameters_key BLOB NOT NULL,
    head TEXT NOT NULL, snapshot TEXT, snapshot_fingerprint TEXT
);
"""
STATEMENTS = [statement.strip() for statement in SCHEMA.split(";") if statement.strip()]
VERSION = 3
PATIENCE = 30.0  # seconds that somebody else may have the file locked
REASONS = {  # what the system said to SQLite
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
}
NOT_OPENED = "what opens the newest receipt is not what was written"
SIGNATURE = "signature "  # how names of signatures begin
SIGNATURE_NAME = re.compile(r"signature ([1-9][0-9]{0,18}) ([0-9a-f]{64})")
T = TypeVar("T")
PRESENT: dict[str, tuple[type, ...]] = {
    "fingerprint": (str,),
    "fingerprint_key": (bytes,),
    "parameters_key": (bytes,),
    "head": (str,),
    "snapshot": (str, type(None)),
    "snapshot_fingerprint": (str, type(None)),
}


@dataclass(frozen=True)
class OpenRequest:
    """What is kept of a request until it is settled: the digest of its subject, and the key of the commitment to it."""

    key: bytes
    subject: bytes

    @property
    def commitment(self) -> str:
        """What the receipt keeps of the subject."""
        return _digests.commitment(self.key, _digests.REQUEST, self.subject)


class State:
    """The file of the durable state."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        refuse_foreign_journal(path)  # before SQLite sees it
        target = f"{path.resolve().as_uri()}?mode={'rw' if read_only else 'rwc'}"
        self._path, self._process = path, os.getpid()
        with self._in_our_words():
            self._opened = sqlite3.connect(
                target, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE
            )
        self._database.row_factory = sqlite3.Row
        self._database.text_factory = lambda data: data.decode(
            "utf-8", "surrogateescape"
        )  # what is wrong with it shows
        self.lock = threading.RLock()  # of transactions, and of what must not see one that has not ended
        self._turn = threading.RLock()
        try:
            self._require_sound(path)
            if not read_only:
                path.chmod(0o600)  # it holds the key and the seed
                for setting in ("journal_mode=DELETE", "synchronous=EXTRA", "secure_delete=ON", "temp_store=MEMORY"):
                    self._run(f"PRAGMA {setting}")
        except BaseException:
            self.close()
            raise

    @property
    def _database(self) -> sqlite3.Connection:
        """The connection. In a fork neither SQLite nor the lock of the folder allows its use."""
        if os.getpid() != self._process:
            raise FolderInUseError(self._path.parent, f"by process {self._process}, of which this one is a fork")
        return self._opened

    def _require_sound(self, path: Path) -> None:
        try:
            (problem,) = self._run("PRAGMA quick_check(1)").fetchone()
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
        try:
            state._require_own_definitions()
        except BaseException:
            state.close()
            raise
        return state

    def _require_own_definitions(self) -> None:
        """Raises unless all tables are as we made them, and nothing else: a trigger could keep or change what we do."""
        rows = self._rows("SELECT sql FROM sqlite_master")
        if {row["sql"] for row in rows} != set(STATEMENTS):
            raise CorruptRecordError("tables of state.db, or rules for them, are not those that were made")

    def is_complete(self) -> bool:
        """Whether there is a live forest: its state was written in one transaction."""
        return bool(self._run("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One deed at a time that looks at the record in order to change it, by the process that opened the folder."""
        assert self._database is not None  # or an error; before it waits for a thread that a fork does not have
        with self._turn:
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes of the block are on the disk when it ends, or none is."""
        with self.lock:
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._run("ROLLBACK")
                raise

    @contextmanager
    def one_view(self) -> Iterator[None]:
        """All that is read in the block is of one moment, whatever another process writes meanwhile."""
        with self.lock:
            self._run("BEGIN")
            try:
                yield
            finally:
                self._run("ROLLBACK")

    def begin_life(self, settings: Settings, key: bytes, opening: Opening) -> None:
        """Make the tables. To be called in the transaction that also writes the first receipt."""
        for statement in STATEMENTS:
            self._run(statement)
        self._set("version", VERSION)
        self._set("key", key)
        self._run("INSERT INTO present VALUES (1, ?, ?, ?, '', NULL, NULL)", astuple(opening))
        self.settings = settings

    # --------------------------------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> Settings:
        """What was decided when the live forest was made, if it is what the newest receipt tells of."""
        with self.lock:
            return self._checked_settings()

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._set("settings", json.dumps(settings.state(), ensure_ascii=False))

    def _checked_settings(self) -> Settings:
        try:
            state = json.loads(self._get("settings"))
            definition = definition_of(state)
            is_plain = isinstance(state[CAPTURES], bool)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            is_plain = False
        if not is_plain or self.opening.parameters(definition) != self.last_change().parameters:
            raise CorruptRecordError("the settings are not those that the newest receipt tells of")
        return Settings.from_state(state)

    @property
    def key(self) -> bytes:
        """The key of all digests that last."""
        key = self._required("key", bytes)
        if len(key) != _digests.KEY_SIZE:
            raise CorruptRecordError("key is not what was written")
        return key

    @property
    def table_stamp(self) -> str | None:
        """The stamp of the table at the last sync, if its changes are captured."""
        return None if self._get("table_stamp") is None else self._required("table_stamp", str)

    @table_stamp.setter
    def table_stamp(self, stamp: str | None) -> None:
        self._set_or_delete("table_stamp", stamp)

    @property
    def table_is_to_be_rewritten(self) -> bool:
        """Whether an erasure has yet to rewrite the file of an SQLite database, which holds copies of deleted rows."""
        return self._get("rewriting_table") is not None

    @table_is_to_be_rewritten.setter
    def table_is_to_be_rewritten(self, is_due: bool) -> None:
        with self.transaction():
            self._set_or_delete("rewriting_table", 1 if is_due else None)

    def forget_names(self, settings: Settings) -> None:
        """Settings without names that must not stay anywhere; `finish_rewriting` is to follow the transaction."""
        self.settings = settings
        self._set("rewriting", 1)

    def finish_rewriting(self) -> None:
        """Write the file anew, if that is due: `secure_delete` alone leaves copies of what moved from page to page."""
        with self.lock:
            if self._get("rewriting") is not None:
                self._run("VACUUM")
                self._set_or_delete("rewriting", None)

    # ------------------------------------------------------------------------------------------------------------ files

    @property
    def snapshot(self) -> str | None:
        """The file of a forest that holds no row which is gone, if there is one."""
        name: str | None = self._present()["snapshot"]
        return name

    @property
    def snapshot_fingerprint(self) -> str | None:
        """That of the forest in this file."""
        fingerprint: str | None = self._present()["snapshot_fingerprint"]
        return fingerprint

    def set_snapshot(self, name: str | None, fingerprint: str | None = None) -> None:
        """Another file, or none."""
        self._run("UPDATE present SET snapshot = ?, snapshot_fingerprint = ?", (name, fingerprint))

    def buckets(self) -> dict[int, str]:
        """The files of the index of rows."""
        return {row["number"]: row["file"] for row in self._rows("SELECT number, file FROM buckets")}

    @property
    def n_buckets(self) -> int:
        """Into how many buckets the index of rows is divided; those without rows may have no file."""
        n_buckets = self._required("n_buckets", int)
        if n_buckets < 1:
            raise CorruptRecordError("n_buckets is not what was written")
        return n_buckets

    def divide_anew(self, n_buckets: int) -> None:
        """Forget all buckets. To be called in the transaction that sets the new ones."""
        self._run("DELETE FROM buckets")
        self._set("n_buckets", n_buckets)

    def set_buckets(self, files: dict[int, str]) -> None:
        """Other files for some buckets."""
        self._run_for_each("INSERT OR REPLACE INTO buckets VALUES (?, ?)", files.items())

    # --------------------------------------------------------------------------------------------------------- receipts

    def append(self, receipt: Receipt) -> Receipt:
        """Add a receipt to the record, as the next one of the chain."""
        last = next(self._newest(), None)
        number, previous = (1, FIRST_CHAIN) if last is None else (last.number + 1, last.chain)
        numbered = replace(receipt, number=number, previous=previous)
        chained = replace(numbered, chain=numbered.digest(self.key))
        self._run("INSERT INTO receipts VALUES (?, ?)", (number, chained.as_json()))
        self._run("UPDATE present SET head = ?", (self._head_of(chained),))
        return chained

    def is_newest(self, receipt: Receipt) -> bool:
        """Whether none was written after this one, which would be missing now."""
        return bool(self._present()["head"] == self._head_of(receipt))

    def _head_of(self, receipt: Receipt) -> str:
        return _digests.keyed(self.key, _digests.HEAD, _digests.canonical([receipt.number, receipt.chain])).hex()

    def receipts(self, after: Receipt | None = None) -> Iterator[Receipt]:
        """All receipts, or those that came after one, oldest first; raises at the first that breaks the chain."""
        query = "SELECT number, body FROM receipts WHERE number > ? ORDER BY number"
        rows = self._rows(query, 0 if after is None else after.number)
        return in_order(((row["number"], row["body"]) for row in rows), self.key, after)

    def last_change(self) -> Receipt:
        """The newest receipt of a change of the forest."""
        for receipt in self._newest():
            if receipt.kind in CHANGES:
                return receipt
        raise CorruptRecordError("receipt 1 is missing")

    def _newest(self) -> Iterator[Receipt]:
        """Receipts, the newest first."""
        number = None
        while rows := self._rows(
            "SELECT number, body FROM receipts WHERE ? IS NULL OR number < ? ORDER BY number DESC LIMIT 1",
            number,
            number,
        ):
            number = rows[0]["number"]
            yield Receipt.from_json(rows[0]["body"], number)

    def signatures(self) -> dict[tuple[int, str], bytes]:
        """What keys that were replaced have signed, by the number of the receipt and the id of the key."""
        rows = self._rows("SELECT name, value FROM meta WHERE name >= ? AND name < ?", SIGNATURE, f"{SIGNATURE}~")
        kept = {}
        for row in rows:
            found = SIGNATURE_NAME.fullmatch(row["name"])
            if found is None or type(row["value"]) is not bytes:
                raise CorruptRecordError("what is kept of signatures is not what was written")
            kept[int(found[1]), found[2]] = row["value"]
        return kept

    def keep_signatures(self, signatures: Mapping[tuple[int, str], bytes]) -> None:
        """Keep what a key has signed. It is about receipts, and says nothing that they do not say."""
        rows = ((f"{SIGNATURE}{number} {key_id}", value) for (number, key_id), value in signatures.items())
        self._run_for_each("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    # ---------------------------------------------------------------------------------------------------------- secrets

    @property
    def opening(self) -> Opening:
        """What opens the commitments of the newest receipt of a change."""
        row = self._present()
        opening = Opening(row["fingerprint"], row["fingerprint_key"], row["parameters_key"])
        if not opening.is_sound():
            raise CorruptRecordError(NOT_OPENED)
        return opening

    @opening.setter
    def opening(self, opening: Opening) -> None:
        fingerprint, *keys = astuple(opening)
        query = "UPDATE present SET fingerprint = ?, fingerprint_key = ?, parameters_key = ?"
        self._run(query, (fingerprint, *keys))

    def last_fingerprint(self) -> str:
        """That of the forest after the last change."""
        return self.opening.fingerprint

    def _present(self) -> sqlite3.Row:
        rows = self._rows(f"SELECT {', '.join(PRESENT)} FROM present")
        if len(rows) != 1 or any(type(rows[0][name]) not in kinds for name, kinds in PRESENT.items()):
            raise CorruptRecordError(NOT_OPENED)
        return rows[0]

    def open_requests(self) -> dict[str, OpenRequest]:
        """What is kept of requests until they are settled, by their ids."""
        rows = self._rows("SELECT id, key, subject FROM open_requests")
        kept = {row["id"]: OpenRequest(row["key"], row["subject"]) for row in rows}
        for id, request in kept.items():
            is_sound = is_reference(id) and isinstance(request.key, bytes) and isinstance(request.subject, bytes)
            if not is_sound or (len(request.key), len(request.subject)) != (_digests.KEY_SIZE, _digests.SIZE):
                raise CorruptRecordError("what is kept of open requests is not what was written")
        return kept

    def add_open_request(self, id: str, request: OpenRequest) -> None:
        """Keep what is needed to recognise the subject of a request."""
        self._run("INSERT INTO open_requests VALUES (?, ?, ?)", (id, request.key, request.subject))

    def forget_open_requests(self, ids: Collection[str]) -> None:
        """Whose requests they were is not needed any more; `finish_rewriting` is to follow the transaction."""
        self._run_for_each("DELETE FROM open_requests WHERE id = ?", [(id,) for id in ids])
        if ids:
            self._set("rewriting", 1)

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        try:
            with self.lock, self._in_our_words():
                return self._database.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:  # a query that does not fit the tables
            raise CorruptRecordError(f"state.db is not as it was made ({error})") from None

    def _run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self._in_our_words():
            return self._database.execute(statement, values)

    def _run_for_each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self._in_our_words():
            self._database.executemany(statement, values)

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """What SQLite cannot do is told as one of our errors, or as that of the system which it is."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode & 0xFF  # what it is; other bits tell more
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise FolderBusyError(self._path, PATIENCE) from error
            if code == sqlite3.SQLITE_ERROR:  # the fault of a statement
                raise
            raise OSError(REASONS.get(code, errno.EIO), str(error), str(self._path)) from error

    def _get(self, name: str) -> Any:
        rows = self._rows("SELECT value FROM meta WHERE name = ?", name)
        return rows[0]["value"] if rows else None

    def _required(self, name: str, kind: type[T]) -> T:
        value = self._get(name)
        if type(value) is not kind:
            raise CorruptRecordError(f"{name} is not what was written")
        return value

    def _set_or_delete(self, name: str, value: Any) -> None:
        if value is None:
            self._run("DELETE FROM meta WHERE name = ?", (name,))
        else:
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
