"""Anchors: somebody elsewhere writes down what the newest statement was, so that it cannot be taken back later.

A head is the newest statement of a record. Its digest says nothing of persons or rows, so it may be published. What
keeps heads has the methods of `Anchor`. `FileAnchor` is a file that only grows: put it where the holder of the folder
can add to it and do nothing else, or on a medium that is written once. Services that stamp digests fit the same shape:

- A timestamp after RFC 3161. The digest of the head is SHA-256, so it is the message imprint as it is. `put` sends the
  request and keeps the token that comes back; `entries` checks the tokens it kept, and takes the time from them.
- A transparency log. `put` submits the envelope of the head, or its digest, and keeps the proof of inclusion; `entries`
  checks the proofs against the log's signed head.

Neither is implemented here: deciduous uses no network of its own accord.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from ..errors import EvidenceError
from ._strict import NONE_BEFORE, canonical, digest_of, is_count, is_digest, is_time, parsed, require_entries
from .statements import Statement

NUMBER = b'{"number":'  # how a line begins
LINE = {"number": is_count, "previous": is_digest, "record": is_digest, "statement": is_digest, "time": is_time}


@dataclass(frozen=True)
class Head:
    """The newest statement of a record, at some time."""

    record: str
    number: int
    statement: str

    @classmethod
    def of(cls, newest: Statement) -> Head:
        """That of a statement."""
        return cls(newest.record, newest.number, newest.digest)


@dataclass(frozen=True)
class Anchored:
    """A head, and when it was written down."""

    head: Head
    time: str


class Anchor(Protocol):
    """What keeps heads outside of the reach of those who hold the folder."""

    def put(self, head: Head) -> Anchored:
        """Keep a head for good. When this returns, it is kept."""

    def entries(self) -> Sequence[Anchored]:
        """All heads that are kept, oldest first, checked as far as the kind of anchor allows."""


class FileAnchor:
    """A log in a file. Each line is JSON, and holds the digest of the line before it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def put(self, head: Head) -> Anchored:
        """Add a line, unless a line says something else of the same record."""
        with _grown(self._path) as descriptor:
            data = _content(descriptor)
            end = data.rfind(b"\n") + 1
            entries, previous = _read(data[:end])
            if not _may_be_interrupted(data[end:], previous):
                raise EvidenceError(f"{self._path} is not a log of anchors, so nothing was added to it")
            require_later(head, entries)
            if end < len(data):
                os.ftruncate(descriptor, end)  # a line that was never acknowledged
            anchored = Anchored(head, datetime.now(UTC).replace(microsecond=0).isoformat())
            _write(descriptor, _line(anchored, previous))
        return anchored

    def entries(self) -> list[Anchored]:
        """All lines, each of which must follow from the one before."""
        data = self._path.read_bytes()
        if data and not data.endswith(b"\n"):
            raise EvidenceError("the last line of the log of anchors is not complete: anchor the head again")
        return _read(data)[0]


def require_later(head: Head, entries: Sequence[Anchored]) -> None:
    """Raises if a head that was anchored before shows that this one is not its successor, or itself."""
    for anchored in entries:
        known = anchored.head
        if known.record != head.record:
            continue
        if known.number > head.number:
            raise EvidenceError(
                f"statement {known.number} was anchored at {anchored.time}, and the newest is {head.number}: an older "
                "copy was put back, or statements were taken away"
            )
        if known.number == head.number and known.statement != head.statement:
            raise EvidenceError(
                f"another statement {known.number} was anchored at {anchored.time}: an older copy was put back and "
                "went on, or the record was written anew"
            )


def _line(anchored: Anchored, previous: str) -> bytes:
    head = anchored.head
    content = {"number": head.number, "record": head.record, "statement": head.statement, "time": anchored.time}
    return canonical(content | {"previous": previous}) + b"\n"


def _read(data: bytes) -> tuple[list[Anchored], str]:
    """The entries of complete lines, and the digest of the last line."""
    entries, previous = [], NONE_BEFORE
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        what = f"line {number} of the log of anchors"
        value = require_entries(parsed(line, what), LINE, what)
        anchored = Anchored(Head(value["record"], value["number"], value["statement"]), value["time"])
        if line != _line(anchored, value["previous"]):
            raise EvidenceError(f"{what} is not spelled as it was written")
        if value["previous"] != previous:
            raise EvidenceError(f"{what} does not follow from the one before it")
        entries.append(anchored)
        previous = digest_of(line)
    return entries, previous


def _may_be_interrupted(rest: bytes, previous: str) -> bool:
    """Whether this is the beginning of a line of ours: the end of a file of somebody else is not ours to remove."""
    begin, _, more = rest.partition(b",")
    expected = b'"previous":"%b",' % previous.encode()
    is_begun = NUMBER.startswith(begin) or re.fullmatch(NUMBER + rb"[0-9]*", begin) is not None
    return is_begun and (more.startswith(expected) or expected.startswith(more))


@contextmanager
def _grown(path: Path) -> Iterator[int]:
    """The file, made if it is not there, which nobody else adds to meanwhile."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 2**20):
        pieces.append(piece)
    return b"".join(pieces)


def _write(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)


if sys.platform == "win32":

    def _lock(_: int) -> None:
        """Nothing: there, let one end before another begins."""

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        """Wait until nobody else adds a line. The lock ends with the descriptor."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
