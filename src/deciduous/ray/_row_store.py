"""The rows of a forest in a folder that all machines see: what workers grow their trees from, again after a failure.

Rows are in files by a hash of their ids, so that a change writes few files anew. A change is written down before anyone
carries it out, and taken out when all have: whoever finds one completes it. What is deleted is in no file afterwards.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._container import Section, container, json_section, mapped, read_container, read_json, section, write_atomically
from .._state import entry
from ..errors import FolderError
from ._rows import RowFormat, Rows

ROWS_PER_FILE = 512  # small, as a deletion writes a file anew; not smaller, as workers read all of them
MOST_FILES = 2**20
MIXER = np.uint64(0x9E3779B97F4A7C15)  # an odd number, as close to 2^64 / golden ratio as there is
STATE, DESCRIPTION = "state", "description"
NEW, PART = ".new", ".part"
COMING = "+"  # before the names of sections: these have 16 bytes
MOST_FILES_KEPT = 256
REQUESTS_KEPT = 256
GENERATION = re.compile(r"fit-[0-9a-f]{16}")
STATE_FILES = tuple(STATE + ending for ending in ("", NEW, PART))
LOCK = "lock"
RUN = "run-"
SECONDS_BETWEEN_TRIES = 0.1
FILES_PER_COPY = 256
KIND = "rows of a forest"

Spread = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]  # calls a function in several processes


@dataclass
class Change:
    """Rows that leave and come, with what tells this change from others."""

    leaving: NDArray[np.int64]
    coming: Rows
    requests: list[str] = field(default_factory=list)  # random names of the requests that it carries out

    @property
    def digest(self) -> bytes:
        """Tells this change from others."""
        hasher = hashlib.blake2b(digest_size=16)
        for part in (self.leaving, self.coming.ids, self.coming.values, self.coming.weights, self.coming.targets):
            if part is not None:
                hasher.update(str(part.shape).encode() + part.tobytes())
        hasher.update(repr(None if self.coming.labels is None else self.coming.labels.tolist()).encode())
        return hasher.digest()


class RowStore:
    """The folder."""

    def __init__(self, folder: str | os.PathLike[str], owner: str = "", *, durable: bool = False) -> None:
        self.folder, self.owner, self.durable = Path(folder), owner, durable  # owner: the name of the forest
        self.generation = ""
        self.n_files = 0
        self.epoch = 0  # how many changes there were since the fit
        self.done_requests: list[str] = []  # the last ones: random names, which tell nothing
        self._format: RowFormat | None = None
        self._begun: Change | None = None
        self._prepared: dict[int, tuple[Rows, Rows]] = {}  # what is in files after the change, and what leaves them
        self._read_before: dict[int, Rows] = {}  # files that were read since the last change
        self._lock: int | None = None

    # --------------------------------------------------------------------------------------------- making and opening

    @property
    def is_ours(self) -> bool:
        """Whether the folder holds this forest."""
        return self.is_there and self.recorded_owner == self.owner

    @property
    def recorded_requests(self) -> list[str]:
        """Those that the folder knows to be done; none if it holds no forest."""
        return entry(self._state(), "requests", list) if self.is_there else []

    @property
    def recorded_owner(self) -> str:
        """The name of the forest that the folder holds."""
        its: str = entry(self._state(), "owner", str)
        return its

    def claim(self, patience: float = 0.0) -> None:
        """Keep other forests out of the folder for as long as this process lives, or raise."""
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = self._locked(time.monotonic() + patience)
        try:
            self._require_free()
        except BaseException:
            os.close(self._lock)
            self._lock = None
            raise
        self._tidy()

    def _locked(self, end: float) -> int:
        lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except OSError:
                if time.monotonic() > end:
                    os.close(lock)
                    raise FolderError(
                        f"Another forest works in {self.folder}. Give each a folder of its own."
                    ) from None
            time.sleep(SECONDS_BETWEEN_TRIES)

    def _require_free(self) -> None:
        if self.is_there and not self.is_ours:
            raise FolderError(
                f"{self.folder} holds another forest. Give a folder of its own, or go on with that forest: `load` "
                "takes a folder, too."
            )
        for other in self.folder.iterdir():
            if other.name not in (LOCK, *STATE_FILES) and not GENERATION.fullmatch(other.name):
                raise FolderError(
                    f"{self.folder} holds other things, such as {other.name}: the rows of a forest need a folder of "
                    "their own."
                )

    def _tidy(self) -> None:
        """Remove what a process that was killed has left: fits that nobody adopted, files half written."""
        present = entry(self._state(), "generation", str) if self.is_there else ""
        for generation in self.folder.iterdir():
            if GENERATION.fullmatch(generation.name) and generation.name != present:
                shutil.rmtree(generation, ignore_errors=True)
        for folder in (self.folder, self.folder / present):
            for path in folder.iterdir():
                if path.suffix == PART:
                    path.unlink()
                elif path.suffix == NEW:
                    whole = path.with_suffix("")
                    path.unlink() if whole.exists() else path.rename(whole)

    def start(self, n_rows: int, row_format: RowFormat) -> None:
        """Begin a new generation of files, beside the present one, for about so many rows."""
        self._format = row_format
        self._begin_generation(max(1, min(MOST_FILES, n_rows // ROWS_PER_FILE)))

    def _begin_generation(self, n_files: int) -> None:
        self.generation, self.n_files = f"fit-{secrets.token_hex(8)}", n_files
        self.epoch, self.done_requests = 0, []
        self._forget()
        self._place.mkdir(parents=True, mode=0o700)

    def adopt(self, sections: dict[str, Section]) -> None:
        """Make this generation the present one, with the description of its forest, and remove all others."""
        self.describe(sections)
        self._write_state(None)
        self._tidy()

    def describe(self, sections: dict[str, Section]) -> None:
        """Write what the forest is beside its rows."""
        self._put(self._place / DESCRIPTION, container(sections))

    def discard(self) -> None:
        """Remove a generation that was started and not adopted."""
        shutil.rmtree(self._place, ignore_errors=True)

    @property
    def is_there(self) -> bool:
        """Whether the folder holds a forest."""
        return _whole(self.folder / STATE) is not None

    def at(self, generation: str, row_format: RowFormat) -> Self:
        """The files of a generation, to be read."""
        self.generation, self._format = generation, row_format
        if not self._place.is_dir():
            raise FolderError(
                f"{self.folder} does not hold the rows of the forest on this machine. All machines of the cluster must "
                "see the same `folder`: give one on a shared file system."
            )
        return self

    def open(self) -> dict[str, memoryview]:
        """Find the present generation; its description."""
        state = self._state()
        self.generation, self.n_files = entry(state, "generation", str), entry(state, "n_files", int)
        self.epoch, self.done_requests = entry(state, "epoch", int), entry(state, "requests", list)
        return self._get(self._place / DESCRIPTION)

    def _state(self) -> dict[str, Any]:
        return read_json(section(self._get(self.folder / STATE), "meta"))

    def resume(self, row_format: RowFormat) -> Change | None:
        """The change that was begun and not finished, if there is one."""
        self._format = row_format
        sections = self._get(self.folder / STATE)
        if "leaving" not in sections:
            return None
        leaving = np.frombuffer(sections["leaving"], np.int64)
        self._begun = Change(leaving, self.coming(row_format), entry(self._state(), "begun", list))
        return self._begun

    def coming(self, row_format: RowFormat) -> Rows:
        """The rows that come with the change that is being carried out."""
        sections = self._get(self.folder / STATE)
        return row_format.rows(sections, COMING) if f"{COMING}ids" in sections else row_format.none()

    @property
    def _place(self) -> Path:
        return self.folder / self.generation

    # ---------------------------------------------------------------------------------------------------------- rows

    def file_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the file of each row."""
        mixed = (ids.astype(np.uint64) * MIXER) >> np.uint64(32)
        return (mixed % np.uint64(self.n_files)).astype(np.int64)

    def read(self, number: int) -> Rows:
        """The rows in a file; one that is not there has none."""
        path = _whole(self._path(number))
        return self.row_format.none() if path is None else self.row_format.rows(read_container(mapped(path)))

    # Runs: rows on their way into the files, sorted by these.

    def write_run(self, name: str, rows: Rows) -> None:
        """Write some rows of a fit, which `merge_runs` brings to their files."""
        numbers = self.file_of(rows.ids)
        order = np.argsort(numbers, kind="stable")
        begins = np.searchsorted(numbers[order], np.arange(self.n_files + 1))
        sections = self.row_format.sections(rows.taken(order)) | {"begins": begins.astype(np.int64).tobytes()}
        with open(self._place / f"{RUN}{name}", "wb") as file:
            file.writelines(container(sections))

    def merge_runs(self, numbers: range) -> Iterator[Rows]:
        """Write these files from all runs; the rows of each."""
        runs = [read_container(mapped(path), is_trusted=True) for path in sorted(self._place.glob(f"{RUN}*"))]
        begins = [np.frombuffer(run["begins"], np.int64) for run in runs]
        for number in numbers:
            its = [(run, int(begin[number]), int(begin[number + 1])) for run, begin in zip(runs, begins, strict=True)]
            parts = [self.row_format.some_rows(run, begin, end) for run, begin, end in its if begin < end]
            if parts:
                rows = Rows.joined(parts)
                yield rows
                self.write(number, rows)

    def remove_runs(self) -> None:
        """Remove the runs, whose rows are in their files."""
        for path in self._place.glob(f"{RUN}*"):
            path.unlink()

    def write(self, number: int, rows: Rows) -> None:
        """Write a file anew."""
        if len(rows) == 0:
            self._path(number).unlink(missing_ok=True)
            _aside(self._path(number)).unlink(missing_ok=True)
        else:
            self._put(self._path(number), container(self.row_format.sections(rows)))

    def by_file(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """Rows, file by file."""
        numbers = self.file_of(rows.ids)
        order = np.argsort(numbers, kind="stable")
        distinct, begins = np.unique(numbers[order], return_index=True)
        ordered = rows.taken(order)
        for number, (begin, end) in zip(distinct.tolist(), pairwise([*begins.tolist(), len(rows)]), strict=True):
            yield number, ordered.taken(slice(begin, end))

    def all_rows(self) -> Iterator[Rows]:
        """The rows of all files, one file after the other."""
        # Those without rows are not there.
        numbers = sorted(
            {int(path.stem.removeprefix("rows-")) for path in self._place.glob("rows-*") if path.suffix != PART}
        )
        return (self.read(number) for number in numbers)

    @property
    def row_format(self) -> RowFormat:
        """How rows become bytes."""
        assert self._format is not None
        return self._format

    @row_format.setter
    def row_format(self, row_format: RowFormat) -> None:
        self._format = row_format

    def _path(self, number: int) -> Path:
        return self._place / f"rows-{number:07}"

    # -------------------------------------------------------------------------------------------------------- changes

    def begin(self, change: Change) -> None:
        """Write a change down. From here on it will be carried out, whoever fails."""
        self._begun = change
        self._write_state(change)

    def give_up(self) -> None:
        """Take back a change that could not be carried out. The files do not have it yet."""
        self._forget()
        self._write_state(None)

    def prepare(self) -> None:
        """Work out what becomes of the first files, while others carry the change out. Nothing is written."""
        for number, gone, coming in self._files_of_change():
            if len(self._prepared) == MOST_FILES_KEPT:
                return
            self._prepared[number] = self._after(number, gone, coming)

    def finish(self, note_left: Callable[[Rows], None] | None = None) -> None:
        """Carry out the change in the files, and forget it. Done again, it does the same."""
        for number, gone, coming in self._files_of_change():
            prepared = self._prepared.pop(number) if number in self._prepared else None
            rows, left = prepared or self._after(number, gone, coming)
            self.write(number, rows)
            if note_left is not None:
                note_left(left)
            rows.wipe()
            left.wipe()
        self.epoch += 1
        self.done_requests = [*self.done_requests, *self._change.requests][-REQUESTS_KEPT:]
        self._write_state(None)
        self._forget()

    def _files_of_change(self) -> Iterator[tuple[int, NDArray[np.int64], Rows]]:
        """The files that the change concerns, with the ids of rows that are not to stay there, and rows that come."""
        change = self._change
        gone = np.concatenate([change.leaving, change.coming.ids])  # these as well, if this is done again
        coming = dict(self.by_file(change.coming))
        none = self.row_format.none()
        numbers = self.file_of(gone)
        order = np.argsort(numbers, kind="stable")
        distinct, begins = np.unique(numbers[order], return_index=True)
        for number, its_gone in zip(distinct.tolist(), np.split(gone[order], begins[1:]), strict=False):
            yield number, its_gone, coming.get(number, none)

    def _after(self, number: int, gone: NDArray[np.int64], coming: Rows) -> tuple[Rows, Rows]:
        """What a file holds after the change, and what has left it."""
        present = self._read_once(number)
        leaves = np.isin(present.ids, gone)
        stays, left = present.taken(~leaves), present.taken(leaves)
        if len(coming) == 0:
            return stays, left
        together = Rows.joined([stays, coming] if len(stays) else [coming])
        stays.wipe()
        return together, left

    def _forget(self) -> None:
        """What is in memory of the change, and of the files that it writes anew."""
        self._begun = None
        self._prepared.clear()
        self._read_before.clear()

    @property
    def _change(self) -> Change:
        assert self._begun is not None
        return self._begun

    def _read_once(self, number: int) -> Rows:
        """The rows in a file, kept until the next change."""
        if number not in self._read_before:
            if len(self._read_before) >= MOST_FILES_KEPT:
                self._read_before.clear()
            self._read_before[number] = self.read(number)
        return self._read_before[number]

    def found(self, ids: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.intp], Rows]]:
        """The rows with these ids, file by file, each with their places among the ids. Those not there are left out."""
        numbers = self.file_of(ids)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            present = self._read_once(number)
            order = np.argsort(present.ids)
            where = np.searchsorted(present.ids, ids[places], sorter=order)
            where = order[np.minimum(where, len(order) - 1)] if len(order) else where
            is_there = present.ids[where] == ids[places] if len(order) else np.zeros(len(places), bool)
            yield places[is_there], present.taken(where[is_there])

    def _put(self, path: Path, pieces: list[Section]) -> None:
        """Replace a file. Whoever is killed on the way leaves the old content or the new one.

        Unless this store is `durable`, nothing waits for the disk: a machine that loses power may lose what is written.
        File systems write a file out at once that is renamed to another one's name, which takes milliseconds; so the
        old one goes first, when the new one is whole.
        """
        if self.durable:
            write_atomically(path, pieces, mode=0o600)
            return
        part, new = path.with_name(path.name + PART), _aside(path)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(pieces)
        new.unlink(missing_ok=True)
        part.rename(new)
        path.unlink(missing_ok=True)
        new.rename(path)

    def _get(self, path: Path) -> dict[str, memoryview]:
        whole = _whole(path)
        if whole is None:
            raise FolderError(f"{self.folder} holds no forest of a cluster: there is no file {path.name!r}.")
        return read_container(mapped(whole))

    # -------------------------------------------------------------------------------------------------------- copies

    def copy_to(self, path: str | os.PathLike[str], fingerprint: str, request: str, spread: Spread) -> None:
        """Copy the forest to a folder that is not there yet, or raise and leave none. Asked again, it goes on."""
        target = Path(path)
        if target.exists():
            if request in RowStore(target).recorded_requests:
                return
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        aside = target.with_name(f".{target.name[:50]}.{request}{PART}")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            (aside / self.generation).mkdir(parents=True, mode=0o700)
            self._copy_files(self._place, aside / self.generation, spread)
            copy = RowStore(aside, durable=True)
            copy.generation, copy.n_files, copy.done_requests = self.generation, self.n_files, [request]
            copy._write_state(None, fingerprint)
            aside.rename(target)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise

    def copy_from(self, other: RowStore, spread: Spread) -> None:
        """Begin a new generation with copies of the files of another folder."""
        self._begin_generation(other.n_files)
        self._copy_files(other._place, self._place, spread)

    def _copy_files(self, source: Path, target: Path, spread: Spread) -> None:
        names = [path.name for path in source.iterdir() if path.suffix == ""]
        tasks = [
            (str(source), str(target), names[i : i + FILES_PER_COPY]) for i in range(0, len(names), FILES_PER_COPY)
        ]
        spread(copy_files, tasks)

    @property
    def fingerprint(self) -> str:
        """That of the forest, of a copy that was saved."""
        recorded: str = entry(self._state(), "fingerprint", str)
        return recorded

    def _write_state(self, change: Change | None, fingerprint: str = "") -> None:
        state = {
            "kind": KIND,
            "fingerprint": fingerprint,
            "owner": self.owner,
            "generation": self.generation,
            "n_files": self.n_files,
            "epoch": self.epoch,
            "requests": self.done_requests,
            "begun": [] if change is None else change.requests,
        }
        sections: dict[str, Section] = {"meta": json_section(state)}
        if change is not None:
            sections["leaving"] = change.leaving.tobytes()
            if len(change.coming):
                coming = self.row_format.sections(change.coming)
                sections |= {f"{COMING}{name}": its for name, its in coming.items()}
        self._put(self.folder / STATE, container(sections))


def copy_files(source: str, target: str, names: list[str]) -> None:
    """Copy files from one folder to another, onto the disk."""
    for name in names:
        with open(os.open(Path(target) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(mapped(Path(source) / name))
            file.flush()
            os.fsync(file.fileno())


def _aside(path: Path) -> Path:
    return path.with_name(path.name + NEW)


def _whole(path: Path) -> Path | None:
    """Where the newest whole content of a file is; None if there is none."""
    return next((place for place in (path, _aside(path)) if place.exists()), None)
