"""The folder of a live forest: its lock, and its files, of which no stray one may stay.

All files are readable by their owner alone, from the first byte. Names come from a database that somebody may have
changed, so each is checked before it is used: it is one that this module makes, and no symbolic link.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Protocol
from weakref import WeakSet

from .._container import Section, write_atomically
from ..errors import FolderError, FolderInUseError

STATE = "state.db"
LOCK = "lock"
PRIVATE = 0o600
PART = re.compile(r"(rows|snapshot)-[0-9a-f]{1,32}")  # named by the state, or left by a crash
PLACE = re.compile(r"cluster-[0-9a-f]{1,32}")  # a folder with the rows of a forest on a cluster
KEY = re.compile(r"key-[0-9a-f]{16}\.pem")  # a private key, named by the beginning of its id
UNFINISHED_KEY = re.compile(rf"\.{KEY.pattern}\.[0-9a-f]+\.part")
UNFINISHED = re.compile(rf"\.{PART.pattern}\.[0-9a-f]+\.part")
JOURNAL_END = struct.Struct(">II8s")  # of the name of another file: length, checksum, magic
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # of SQLite


class Files:
    """The files of a live forest, by name, for whoever reads them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def state_path(self) -> Path:
        """The file of the durable state."""
        return self.path / STATE

    def require_there(self) -> None:
        """Raises unless there is a live forest."""
        if not self.state_path.exists():
            raise FolderError(f"There is no live forest in {self.path}. `LiveForest.create` makes one.")
        _refuse_link(self.state_path)

    def part(self, name: str) -> Path:
        """The file of this name, if it is one of ours."""
        if not PART.fullmatch(str(name)):
            raise FolderError(
                f"{self.state_path} names the file {name!r}, which is none that a live forest makes. Somebody has "
                "changed it: restore it from a backup, or create the live forest anew in another folder."
            )
        path = self.path / name
        _refuse_link(path)
        return path

    def key_path(self, id: str) -> Path:
        """The file of the private key with this id."""
        path = self.path / f"key-{id[:16]}.pem"
        _refuse_link(path)
        return path


class Folder(Files):
    """A folder that this object alone has open, until `close`."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        super().__init__(path)
        if create:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        else:
            self.require_there()
        self._lock = _locked(self.path / LOCK, self.path)
        LEFT_TO_THE_PARENT.add(self)
        try:
            os.close(opened_private(self.state_path))
        except BaseException:
            self.close()
            raise

    def write_part(self, kind: str, pieces: list[Section]) -> str:
        """Write a new file and make sure that it is on the disk. It counts only once the state names it.

        Its name says nothing of what is in it.
        """
        name = f"{kind}-{secrets.token_hex(8)}"
        write_atomically(self.part(name), pieces, mode=PRIVATE)
        return name

    def make_place(self) -> Path:
        """Make a folder for the rows of a forest on a cluster. It is a stray from when it is not in use any more."""
        place = self.path.absolute() / f"cluster-{secrets.token_hex(8)}"
        place.mkdir(mode=0o700)
        return place

    def remove_strays(self, named: Iterable[str], in_use: Iterable[Path] = ()) -> None:
        """Remove every part that is not named, the remains of interrupted writing included, and make that last."""
        kept = {self.part(name).name for name in named} | {place.name for place in in_use}
        ours = (PART, UNFINISHED, UNFINISHED_KEY, PLACE)
        parts = [name for name in os.listdir(self.path) if any(kind.fullmatch(name) for kind in ours)]
        strays = [name for name in parts if name not in kept]
        for name in strays:
            if PLACE.fullmatch(name) and not (self.path / name).is_symlink():
                shutil.rmtree(self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)
        if strays:
            self._sync()

    def remove(self, name: str) -> None:
        """Remove a part, if it is there, and make that last."""
        self.part(name).unlink(missing_ok=True)
        self._sync()

    def remove_keys_but(self, id: str | None) -> None:
        """Remove the files of all private keys but that of one, and make that last."""
        kept = None if id is None else self.key_path(id).name
        for name in os.listdir(self.path):
            if KEY.fullmatch(name) and name != kept:
                (self.path / name).unlink(missing_ok=True)
        self._sync()

    def close(self) -> None:
        """Let others open the folder."""
        self._lock.close()

    def _sync(self) -> None:
        if os.name == "posix":
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class Closable(Protocol):
    """Something that can be closed."""

    def close(self) -> None:
        """Close it."""


# What a fork is to close at once: it would keep locks and sockets when its parent is gone.
LEFT_TO_THE_PARENT: WeakSet[Closable] = WeakSet()


def _close_in_the_fork() -> None:
    for its in list(LEFT_TO_THE_PARENT):
        its.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_the_fork)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise FolderError(
            f"{path} is a symbolic link, and files of a live forest are none: what it leads to would be read, changed "
            "or left behind. Put the file itself in its place, or remove the link."
        )


def refuse_foreign_journal(state_path: Path) -> None:
    """Raises if the journal beside the state names another file, which SQLite would remove after a rollback.

    Such a name is at the end of journals of transactions on several databases. Ours are on one.
    """
    journal = state_path.with_name(f"{state_path.name}-journal")
    _refuse_link(journal)
    try:
        with open(journal, "rb") as file:
            file.seek(-min(JOURNAL_END.size, file.seek(0, os.SEEK_END)), os.SEEK_END)
            end = file.read()
    except FileNotFoundError:
        return
    if len(end) == JOURNAL_END.size and _has_name(*JOURNAL_END.unpack(end)):
        raise FolderError(
            f"{journal} is none that a live forest makes: it names another file. Somebody has put it there: remove it."
        )


def _has_name(length: int, _: int, magic: bytes) -> bool:
    return length > 0 and magic == JOURNAL_MAGIC


def opened_private(path: Path) -> int:
    """A file that only its owner may read, made if it is not there."""
    _refuse_link(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), PRIVATE)
    try:
        if os.fstat(descriptor).st_nlink > 1:
            raise FolderError(
                f"{path} has a second name elsewhere, and what has that name would be changed. Remove one."
            )
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, PRIVATE)  # one that was there, of an older release
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _locked(path: Path, folder: Path) -> IO[str]:
    """The lock file, held. The system releases it when the process ends, however it ends."""
    file = os.fdopen(opened_private(path), "r+", encoding="ascii")
    try:
        _acquire(file)
    except OSError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise FolderInUseError(folder, f"process {holder}" if holder else "by another process") from None
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file


if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[str]) -> None:
        file.seek(2**20)  # beyond the number of the process, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _acquire(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
