"""One file of named sections: versioned, checksummed, never pickle, replaced atomically. See docs/format.md.

What is in the sections is the business of others: the core's (rows, trees) and the estimator's (meta).
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ._core import StandardFloats
from .errors import CorruptModelError, LinkedFileError

MAGIC = b"\x89DCDS\r\n\x1a"
VERSION = 1
DIGEST_SIZE = 32
HEADER = struct.Struct("<8sII")  # magic, version, number of sections
ENTRY = struct.Struct(f"<16sQQ{DIGEST_SIZE}s")  # name, offset, length, digest
MAX_SECTIONS = 2**20
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
PRIVATE = 0o600

Section = bytes | memoryview


def digest(data: Section) -> bytes:
    """The checksum of a section, or of the table of sections."""
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()


def container(sections: Mapping[str, Section]) -> list[Section]:
    """The pieces of a file with these sections, in order."""
    offset = HEADER.size + ENTRY.size * len(sections) + DIGEST_SIZE
    table = bytearray(HEADER.pack(MAGIC, VERSION, len(sections)))
    for name, data in sections.items():
        table += ENTRY.pack(name.encode(), offset, len(data), digest(data))
        offset += len(data)
    return [bytes(table), digest(bytes(table)), *sections.values()]


def read_container(data: memoryview, *, is_trusted: bool = False) -> dict[str, memoryview]:
    """The sections of a file, every byte of which has been checked, unless it was written a moment ago."""
    if len(data) < HEADER.size or data[: len(MAGIC)] != MAGIC:
        raise CorruptModelError("it does not begin as a deciduous model does")
    _, version, n_sections = HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptModelError(f"it has format version {version}, and this release reads version {VERSION}")
    table_end = HEADER.size + ENTRY.size * n_sections
    if n_sections > MAX_SECTIONS or len(data) < table_end + DIGEST_SIZE:
        raise CorruptModelError("it ends in its table of sections")
    if digest(data[:table_end]) != data[table_end : table_end + DIGEST_SIZE]:
        raise CorruptModelError("the checksum of its table of sections does not match")
    sections: dict[str, memoryview] = {}
    end = table_end + DIGEST_SIZE
    for i in range(n_sections):
        raw_name, offset, length, checksum = ENTRY.unpack_from(data, HEADER.size + i * ENTRY.size)
        name = raw_name.rstrip(b"\0").decode("ascii", "replace")
        if offset != end or length > len(data) - end or name in sections:
            raise CorruptModelError(f"section {name!r} is not where it should be")
        sections[name] = data[offset : offset + length]
        if not is_trusted and digest(sections[name]) != checksum:
            raise CorruptModelError(f"the checksum of section {name!r} does not match")
        end += length
    if end != len(data):
        raise CorruptModelError(f"it has {len(data) - end} bytes too many")
    return sections


def section(sections: Mapping[str, memoryview], name: str) -> memoryview:
    """A section that must be there."""
    if name not in sections:
        raise CorruptModelError(f"section {name!r} is missing")
    return sections[name]


def json_section(value: Any) -> bytes:
    """A value as canonical JSON."""
    with StandardFloats():  # Python writes and reads numbers with them
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def read_json(data: memoryview) -> dict[str, Any]:
    """A JSON object."""
    try:
        with StandardFloats():
            value = json.loads(bytes(data), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise CorruptModelError(f"its description is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CorruptModelError("its description is not an object")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def write_atomically(path: str | os.PathLike[str], pieces: list[Section], *, mode: int = 0o666) -> None:
    """Put a file with these bytes in the place of another one, as `replacing` does."""
    with replacing(path, mode=mode) as descriptor:
        for piece in pieces:
            _write_all(descriptor, memoryview(piece))


@contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[int]:
    """A new file to write to, beside the target; in the end it is on the disk, and in the place of the target.

    Gives the descriptor to write to. Whatever happens on the way, the target is the old file or the new one. Only its
    owner can read what is written until then. A symbolic link stays one: the file that it leads to is replaced. `mode`
    is that of a new file.
    """
    target = Path(os.path.realpath(path))
    mode_to_keep = _mode_to_keep(target)
    aside = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        final_mode = _mode_of_new_files(aside, mode) if mode_to_keep is None else mode_to_keep
        with _new_file(aside, final_mode) as descriptor:
            yield descriptor
        os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raises if there is something here that `replacing` would not replace: better known before the work."""
    _mode_to_keep(Path(os.path.realpath(path)))


def _mode_to_keep(target: Path) -> int | None:
    """The permissions of a file that is to be replaced, None if there is none; anything else is refused."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(status.st_mode):  # a device, a pipe, or a circle of links
        raise FileExistsError(errno.EEXIST, "Not a file that can be replaced", str(target))
    if status.st_nlink > 1:
        raise LinkedFileError(target, status.st_nlink, _other_name(target, status))
    return stat.S_IMODE(status.st_mode)


def _other_name(target: Path, status: os.stat_result) -> Path | None:
    """Another name of the same file, if there is one in its folder."""
    with os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name != target.name and os.path.samestat(os.lstat(entry.path), status):
                return Path(entry.path)
    return None


def _mode_of_new_files(path: Path, mode: int) -> int:
    """The permissions that files get here, told by an empty one: to ask for the umask is to change it."""
    descriptor = os.open(path, NEW_FILE, mode)
    try:
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)
    finally:
        path.unlink()


@contextmanager
def _new_file(path: Path, final_mode: int) -> Iterator[int]:
    """A file that is not there yet, to write to; in the end it is on the disk."""
    descriptor = os.open(path, NEW_FILE, PRIVATE)
    try:
        yield descriptor
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, final_mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _sync_folder(folder: Path) -> None:
    """Makes the new name of a file last; not all systems can open folders, and those need no such thing."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """The bytes of a file, mapped into memory for as long as somebody uses them."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise CorruptModelError("it is empty")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
