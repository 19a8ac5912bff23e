"""Keys of those who may use the service: who may do what, in an SQLite file that only its owner can read.

A key is 256 random bits, shown once. The file has a digest of it, which suffices, as nobody can guess such a key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from ..errors import InvalidInputError
from ..live._folder import opened_private

NAME = "service.db"
VERSION = 1
SCHEMA = """
CREATE TABLE keys (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, scopes TEXT NOT NULL, note TEXT NOT NULL, created TEXT NOT NULL,
    revoked TEXT
) WITHOUT ROWID
"""
PREFIX = "dcd"  # by which those who search for leaked secrets know one
FORM = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
NOBODY = bytes(32)  # compared with when there is no such key, which takes as long
PATIENCE = 1.0  # seconds that somebody else may have the file locked


class Scope(StrEnum):
    """What a key opens."""

    predict = "predict"
    write = "write"
    erase = "erase"
    approve = "approve"
    admin = "admin"


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """Scopes by their names."""
    try:
        return frozenset(map(Scope, names))
    except ValueError:
        raise InvalidInputError(f"Scopes are {', '.join(Scope)}.") from None


@dataclass(frozen=True)
class Key:
    """What is known of a key. The key itself is known to those who have it."""

    id: str
    scopes: frozenset[Scope]
    note: str
    created: str
    revoked: str | None = None

    def opens(self, scopes: Iterable[Scope]) -> bool:
        """Whether it has one of these scopes, or `admin`, which has all."""
        return not self.scopes.isdisjoint({*scopes, Scope.admin})

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return vars(self) | {"scopes": sorted(self.scopes)}


class Keys:
    """The keys of one service."""

    def __init__(self, path: Path) -> None:
        os.close(opened_private(path))
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=PATIENCE)
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("PRAGMA secure_delete=ON")
        with self._lock:
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.execute(SCHEMA.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
                self._database.execute(f"PRAGMA user_version = {VERSION}")
                self._database.execute("COMMIT")
            elif version != VERSION:
                self._database.close()
                raise InvalidInputError(f"{path} has version {version}, and this release reads {VERSION}.")

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Those of the service of a live folder."""
        return cls(folder / NAME)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def create(self, scopes: Iterable[Scope], note: str = "") -> tuple[Key, str]:
        """Make a key. Returns what is known of it, and the key itself, which is kept nowhere."""
        chosen = frozenset(scopes)
        if not chosen:
            raise InvalidInputError(f"Say what the key opens: {', '.join(Scope)}.")
        secret = secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(6), chosen, note, datetime.now(UTC).isoformat(timespec="seconds"))
        values = (key.id, _digest(secret), " ".join(sorted(chosen)), note, key.created)
        with self._lock:
            self._database.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, NULL)", values)
        return key, f"{PREFIX}_{key.id}_{secret}"

    def revoke(self, id: str) -> Key:
        """Let a key open nothing any more, from now on."""
        key = next((key for key in self.all() if key.id == id), None)
        if key is None:
            raise InvalidInputError("There is no key with this id. `deciduous keys list` shows them all.")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._lock:
            self._database.execute("UPDATE keys SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, id))
        return next(key for key in self.all() if key.id == id)

    def all(self) -> list[Key]:
        """All keys, oldest first, revoked ones included."""
        with self._lock, closing(self._database.execute(f"SELECT {COLUMNS} FROM keys ORDER BY created, id")) as rows:
            return [_key(row) for row in rows]

    def found(self, text: str) -> Key | None:
        """The key that this is, unless it is none, or revoked."""
        parts = FORM.fullmatch(text)
        id, secret = parts.groups() if parts else ("", "")
        with self._lock:
            row = self._database.execute(f"SELECT digest, {COLUMNS} FROM keys WHERE id = ?", (id,)).fetchone()
        is_it = hmac.compare_digest(_digest(secret), NOBODY if row is None else row[0])
        if row is None or not is_it:
            return None
        key = _key(row[1:])
        return None if key.revoked else key


COLUMNS = "id, scopes, note, created, revoked"


def _key(row: tuple[Any, ...]) -> Key:
    id, scopes, note, created, revoked = row
    return Key(id, frozenset(map(Scope, scopes.split())), note, created, revoked)


def _digest(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode(), digest_size=32, person=b"deciduous key").digest()
