"""What opens the newest statement: with it, an auditor sees that the commitment is to the forest of a fingerprint.

It is for the audit of today. The next change makes it a secret about rows that are gone: whoever keeps it can test
guesses of them.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ._strict import canonical, is_digest, parsed, require_entries

FORMAT = "deciduous-opening-1"
PURPOSE = b"forest"  # what the keyed digest is said to be for
WARNING = "Destroy this after the audit: with it, guesses of rows that are erased later can be tested."


@dataclass(frozen=True)
class ForestOpening:
    """A fingerprint, and the key of the commitment to it."""

    fingerprint: str
    key: str

    @property
    def commitment(self) -> str:
        """The commitment that this opens."""
        key = bytes.fromhex(self.key)
        return hashlib.blake2b(self.fingerprint.encode(), digest_size=32, key=key, person=PURPOSE).hexdigest()

    def as_json(self) -> bytes:
        """As a file."""
        content: dict[str, Any] = {"format": FORMAT, "fingerprint": self.fingerprint, "key": self.key}
        return canonical(content | {"warning": WARNING}) + b"\n"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read it from a file."""
        what = "the opening"
        entries = {
            "format": lambda value: value == FORMAT,
            "fingerprint": is_digest,
            "key": is_digest,
            "warning": lambda value: value == WARNING,
        }
        value = require_entries(parsed(Path(path).read_bytes(), what), entries, what)
        return cls(value["fingerprint"], value["key"])
