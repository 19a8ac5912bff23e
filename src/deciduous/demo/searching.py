"""Looks for a patient in the bytes of files."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Traces:
    """How the ids of a patient and of visits look in files: as text, and as numbers of SQLite and of a forest."""

    patterns: tuple[bytes, ...]

    @classmethod
    def of(cls, patient: str, visits: Sequence[int]) -> Self:
        """Those of one patient. Ids of visits have at least 57 bits, or they would be found by chance."""
        texts = [patient, *map(str, visits)]
        numbers = [encoded for visit in visits for encoded in (struct.pack("<q", visit), struct.pack(">q", visit))]
        return cls((*(text.encode() for text in texts), *numbers, *map(sqlite_varint, visits)))

    def count(self, files: Iterable[Path]) -> int:
        """In how many of the files there is any."""
        return sum(self._are_in(file.read_bytes()) for file in files)

    def _are_in(self, content: bytes) -> bool:
        return any(pattern in content for pattern in self.patterns)


def sqlite_varint(number: int) -> bytes:
    """As SQLite stores the key of a row that takes nine bytes: seven bits in each of eight, and eight in the last."""
    upper = number >> 8
    return bytes(0x80 | upper >> shift & 0x7F for shift in range(49, -1, -7)) + bytes([number & 0xFF])
