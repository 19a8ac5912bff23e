"""The folder of a live forest: its lock, and its files, of which no stray one may stay."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO

from .._container import Section, write_atomically
from ..errors import FolderError, FolderInUseError

STATE = "state.db"
LOCK = "lock"
PARTS = ("rows-*", "snapshot-*", ".rows-*.part", ".snapshot-*.part")  # named by the state, or left by a crash


class Folder:
    """A folder that this object alone has open, until `close`."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if create:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        elif not (self.path / STATE).exists():
            raise FolderError(f"There is no live forest in {self.path}. `LiveForest.create` makes one.")
        self._lock = _locked(self.path / LOCK, self.path)

    @property
    def state_path(self) -> Path:
        """The file of the durable state."""
        return self.path / STATE

    def write_part(self, kind: str, pieces: list[Section]) -> str:
        """Write a new file and make sure that it is on the disk. It counts only once the state names it."""
        name = f"{kind}-{secrets.token_hex(8)}"
        write_atomically(self.path / name, pieces)
        return name

    def remove_strays(self, named: Collection[str]) -> None:
        """Remove every part that is not named, the remains of interrupted writing included, and make that last."""
        parts = {file.name for pattern in PARTS for file in self.path.glob(pattern)}
        self.remove(parts.difference(named))

    def remove(self, names: Iterable[str]) -> None:
        """Remove parts, where they are there, and make that last."""
        for name in names:
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


def _locked(path: Path, folder: Path) -> IO[str]:
    """The lock file, held. The system releases it when the process ends, however it ends."""
    file = open(path, "a+", encoding="ascii")  # noqa: SIM115 (open for as long as the lock is held)
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
