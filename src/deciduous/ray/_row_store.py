"""The rows of a forest in a folder that all machines see: what workers grow their trees from, again after a failure.

Rows are in files by a hash of their ids, so that a change writes few files anew. A change is written down before anyone
carries it out, and taken out when all have: whoever finds one completes it. What is deleted is in no file afterwards.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._container import Section, container, json_section, mapped, read_container, read_json, section, write_atomically
from .._row_names import NO_NAMES, RowNames
from .._state import entry, labels_from, labels_state
from .._targets import ONLY_CLASS, TargetScale
from .._validation import class_keys, extended_classes
from ..errors import FolderError

ROWS_PER_FILE = 512
MOST_FILES = 16_384
MIXER = np.uint64(0x9E3779B97F4A7C15)  # an odd number, as close to 2^64 / golden ratio as there is
STATE, DESCRIPTION = "state", "description"
NEW, PART = ".new", ".part"
NO_TREES = (0, 0)
MOST_FILES_KEPT = 256
GENERATION = re.compile("[0-9a-f]{16}")  # folders with other names are not ours


@dataclass
class Rows:
    """Rows with everything that a forest knows of each."""

    ids: NDArray[np.int64]
    values: NDArray[np.float32]
    labels: NDArray[Any] | None  # of a classifier
    weights: NDArray[np.uint32]
    targets: NDArray[np.int64] | None  # of a regressor, in fixed point
    names: list[Any] | None = None
    subjects: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, places: NDArray[Any]) -> Self:
        """Those at these places, or where a mask is true."""
        places = np.flatnonzero(places) if places.dtype == bool else places
        picked: dict[str, Any] = {}
        for name in ("ids", "values", "labels", "weights", "targets"):
            column = getattr(self, name)
            picked[name] = None if column is None else column[places]
        for name in ("names", "subjects"):
            column = getattr(self, name)
            picked[name] = None if column is None else [column[i] for i in places.tolist()]
        return replace(self, **picked)

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """The rows of several parts."""
        joined: dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            columns = [getattr(part, name) for part in parts]
            if all(column is None for column in columns):
                joined[name] = None
            elif name in ("names", "subjects"):
                filled = [[None] * len(part) if its is None else its for its, part in zip(columns, parts, strict=True)]
                joined[name] = list(chain.from_iterable(filled))
            else:
                joined[name] = np.concatenate(columns)
        return cls(**joined)

    def codes(self, classes: NDArray[Any]) -> NDArray[np.uint32]:
        """The place of each label among these classes; 0 in a regressor."""
        if self.labels is None or len(self) == 0:
            return np.zeros(len(self), np.uint32)
        return extended_classes(classes, self.labels)[1]


@dataclass
class RowFormat:
    """How rows become bytes and come back: those of a model file (docs/format.md), without trees."""

    n_categories: NDArray[np.uint32]
    scale: TargetScale | None

    def _core(self, classes: NDArray[Any]) -> _core.Forest:
        params, keys = _core.Params(), class_keys(classes)
        params.criterion = _core.Criterion.gini if self.scale is None else _core.Criterion.squared_error
        return _core.Forest(params, _core.Tuning(), self.n_categories, keys, None, self.scale, NO_TREES)

    def packed(self, rows: Rows) -> list[Section]:
        """The bytes of a file with these rows, in pieces."""
        rows = rows.taken(np.argsort(rows.ids))
        classes = ONLY_CLASS if rows.labels is None else np.unique(rows.labels)
        core = self._core(classes)
        core.take_rows(rows.ids, rows.values, rows.codes(classes), rows.weights, 1, rows.targets)
        meta = {} if rows.labels is None else {"classes": labels_state(classes)}
        sections: dict[str, Section] = {"meta": json_section(meta), "rows": core.rows_as_bytes().data}
        if rows.names is not None or rows.subjects is not None:
            names = RowNames(_kind_of(rows.names))
            names.learn(rows.ids, rows.names, rows.subjects)
            sections["names"] = json_section(names.state(rows.ids.tolist()))
        return container(sections)

    def unpacked(self, data: memoryview) -> Rows:
        """The rows in the bytes of a file."""
        sections = read_container(data)
        classes = ONLY_CLASS
        if self.scale is None:
            classes = labels_from(entry(read_json(section(sections, "meta")), "classes", dict))
        core = self._core(classes)
        core.restore(np.frombuffer(section(sections, "rows"), np.uint8), [], 1, None)
        ids = core.ids()
        names = RowNames.from_state(read_json(sections["names"]) if "names" in sections else NO_NAMES, ids.tolist())
        return self.rows_of(core, ids, classes, names)

    def rows_of(self, core: Any, ids: NDArray[np.int64], classes: NDArray[Any], names: RowNames) -> Rows:
        """Rows that a forest of the core holds, or what stands in for one."""
        held = core.rows(ids)
        is_regressor = self.scale is not None
        return Rows(
            ids=ids,
            values=held.values.reshape(len(ids), len(self.n_categories)),
            labels=None if is_regressor else classes[held.labels],
            weights=held.weights,
            targets=held.targets if is_regressor else None,
            names=None if names.kind is None else names.shown_ids(ids.tolist()),
            subjects=[names.subjects.get(i) for i in ids.tolist()] if names.subjects else None,
        )


def _kind_of(names: list[Any] | None) -> str | None:
    if not names:
        return None
    return "s" if isinstance(names[0], str) else "u"


@dataclass
class Change:
    """Rows that leave and come, with what tells this change from others."""

    leaving: NDArray[np.int64]
    coming: Rows
    requests: list[str] = field(default_factory=list)  # random names of the requests that it carries out


class RowStore:
    """The folder."""

    def __init__(self, folder: str | os.PathLike[str], *, durable: bool = False) -> None:
        self.folder, self.durable = Path(folder), durable
        self.generation = ""
        self.n_files = 0
        self.epoch = 0  # how many changes there were since the fit
        self.done_requests: list[str] = []  # those of the last change
        self.format: RowFormat | None = None
        self._begun: Change | None = None
        self._prepared: dict[int, tuple[list[Section] | None, Rows]] = {}  # what becomes of files, and what leaves them
        self._read_before: dict[int, Rows] = {}  # files that were read since the last change
        self._sections: dict[str, memoryview] | None = None  # of a change that was found

    # --------------------------------------------------------------------------------------------- making and opening

    def start(self, n_rows: int, row_format: RowFormat) -> None:
        """Begin a new generation of files, beside the present one, for about so many rows."""
        self.generation = secrets.token_hex(8)
        self.n_files = max(1, min(MOST_FILES, n_rows // ROWS_PER_FILE))
        self.epoch, self.done_requests, self.format = 0, [], row_format
        self._forget()
        self._place.mkdir(parents=True, mode=0o700)

    def adopt(self, sections: dict[str, Section]) -> None:
        """Make this generation the present one, with the description of its forest, and remove all others."""
        self.describe(sections)
        self._write_state(None)
        self._remove_others()

    def _remove_others(self) -> None:
        for other in self.folder.iterdir():
            if GENERATION.fullmatch(other.name) and other != self._place:
                shutil.rmtree(other, ignore_errors=True)

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
        self.generation, self.format = generation, row_format
        if not self._place.is_dir():
            raise FolderError(
                f"{self.folder} does not hold the rows of the forest on this machine. All machines of the cluster must "
                "see the same `folder`: give one on a shared file system."
            )
        return self

    def open(self) -> dict[str, memoryview]:
        """Find the present generation, and remove others, which nobody adopted; its description."""
        if not self.is_there:
            raise FolderError(f"{self.folder} holds no forest: there is no file {STATE!r} in it.")
        sections = self._get(self.folder / STATE)
        state = read_json(section(sections, "meta"))
        self.generation, self.n_files = entry(state, "generation", str), entry(state, "n_files", int)
        self.epoch, self.done_requests = entry(state, "epoch", int), entry(state, "requests", list)
        self._sections = sections if "leaving" in sections else None
        self._remove_others()
        return self._get(self._place / DESCRIPTION)

    def resume(self, row_format: RowFormat) -> Change | None:
        """The change that was begun and not finished, if there is one."""
        self.format = row_format
        if self._sections is None:
            return None
        leaving = np.frombuffer(self._sections["leaving"], np.int64)
        coming = row_format.unpacked(self._sections["coming"]) if "coming" in self._sections else _like_none(row_format)
        self._begun = Change(leaving, coming, self.done_requests)
        self._sections = None
        return self._begun

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
        return _like_none(self._format) if path is None else self._format.unpacked(mapped(path))

    def write(self, number: int, rows: Rows) -> None:
        """Write a file anew."""
        self._write_packed(number, self._format.packed(rows) if len(rows) else None)

    def _write_packed(self, number: int, packed: list[Section] | None) -> None:
        if packed is None:
            self._path(number).unlink(missing_ok=True)
            _aside(self._path(number)).unlink(missing_ok=True)
        else:
            self._put(self._path(number), packed)

    def write_part(self, number: int, part: str, rows: Rows) -> None:
        """Write some of the rows of a file that is still to be made."""
        path = self._place / f"part-{number:05}-{part}"
        path.write_bytes(b"".join(self._format.packed(rows)))

    def parts(self, number: int) -> list[Path]:
        """The parts of a file that is still to be made."""
        return sorted(self._place.glob(f"part-{number:05}-*"))

    def read_part(self, path: Path) -> Rows:
        """The rows in a part."""
        return self._format.unpacked(mapped(path))

    def by_file(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """Rows, file by file."""
        numbers = self.file_of(rows.ids)
        for number in np.unique(numbers).tolist():
            yield number, rows.taken(numbers == number)

    def all_rows(self) -> Iterator[Rows]:
        """The rows of all files, one file after the other."""
        # Those without rows are not there.
        numbers = sorted(
            {int(path.stem.removeprefix("rows-")) for path in self._place.glob("rows-*") if path.suffix != PART}
        )
        return (self.read(number) for number in numbers)

    @property
    def _format(self) -> RowFormat:
        assert self.format is not None
        return self.format

    def _path(self, number: int) -> Path:
        return self._place / f"rows-{number:05}"

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
        """Make the files that the change leaves, which may be done while others carry it out. Nothing is written."""
        change = self._change
        coming_numbers = self.file_of(change.coming.ids)
        gone = np.concatenate([change.leaving, change.coming.ids])  # these as well, if this is done again
        for number in np.unique(self.file_of(gone)).tolist():
            present = self._read_once(number)
            leaves = np.isin(present.ids, gone)
            stay, come = present.taken(~leaves), change.coming.taken(coming_numbers == number)
            parts = [part for part in (stay, come) if len(part)]
            packed = self._format.packed(Rows.joined(parts)) if parts else None
            self._prepared[number] = packed, present.taken(leaves)

    def finish(self) -> list[Rows]:
        """Carry out the change in the files, and forget it; the rows that left. Done again, it does the same."""
        change = self._change
        if not self._prepared:
            self.prepare()
        for number, (packed, _) in self._prepared.items():
            self._write_packed(number, packed)
        self.epoch, self.done_requests = self.epoch + 1, change.requests
        self._write_state(None)
        left = [rows for _, rows in self._prepared.values()]
        self._forget()
        return left

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
            raise FolderError(f"{path} is missing.")
        return read_container(mapped(whole))

    def _write_state(self, change: Change | None) -> None:
        requests = self.done_requests if change is None else change.requests
        state = {"generation": self.generation, "n_files": self.n_files, "epoch": self.epoch, "requests": requests}
        sections: dict[str, Section] = {"meta": json_section(state)}
        if change is not None:
            sections["leaving"] = change.leaving.tobytes()
            if len(change.coming):
                sections["coming"] = b"".join(self._format.packed(change.coming))
        self._put(self.folder / STATE, container(sections))


def _aside(path: Path) -> Path:
    return path.with_name(path.name + NEW)


def _whole(path: Path) -> Path | None:
    """Where the newest whole content of a file is; None if there is none."""
    return next((place for place in (path, _aside(path)) if place.exists()), None)


def _like_none(row_format: RowFormat) -> Rows:
    """No rows."""
    is_regressor = row_format.scale is not None
    return Rows(
        ids=np.empty(0, np.int64),
        values=np.empty((0, len(row_format.n_categories)), np.float32),
        labels=None if is_regressor else np.empty(0, np.int64),
        weights=np.empty(0, np.uint32),
        targets=np.empty(0, np.int64) if is_regressor else None,
    )
