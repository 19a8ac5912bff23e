"""One file of named sections: versioned, checksummed, never pickle, replaced atomically. See docs/format.md.

What is in the sections is the business of others: the core's (rows, trees) and the estimator's (meta).
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import secrets
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import CorruptModelError

MAGIC = b"\x89DCDS\r\n\x1a"
VERSION = 1
DIGEST_SIZE = 32
HEADER = struct.Struct("<8sII")  # magic, version, number of sections
ENTRY = struct.Struct(f"<16sQQ{DIGEST_SIZE}s")  # name, offset, length, digest
MAX_SECTIONS = 2**20

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


def read_container(data: memoryview) -> dict[str, memoryview]:
    """The sections of a file, every byte of which has been checked."""
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
        if digest(sections[name]) != checksum:
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
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def read_json(data: memoryview) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise CorruptModelError(f"its description is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CorruptModelError("its description is not an object")
    return value


def write_atomically(path: str | os.PathLike[str], pieces: list[Section]) -> None:
    """Write a file beside the target, make sure that it is on the disk, and put it in the place of the target.

    Whatever happens on the way, the target is the old file or the new one.
    """
    target = Path(path)
    aside = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            for piece in pieces:
                _write_all(descriptor, memoryview(piece))
            if target.exists() and hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


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
