"""Keyed digests: names for rows, subjects and states of the record that say nothing without the key of the folder."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

SIZE = 16
KEY_SIZE = 32

# What a digest is of. Digests of the same bytes for different purposes have nothing in common.
ROW, SUBJECT, CHAIN, PARAMETERS, REQUEST, CAPTURE = (
    b"row",
    b"subject",
    b"chain",
    b"parameters",
    b"request",
    b"capture",
)


def fresh_key() -> bytes:
    """A secret key for a new folder."""
    return secrets.token_bytes(KEY_SIZE)


def keyed(key: bytes, purpose: bytes, data: bytes, size: int = SIZE) -> bytes:
    """The BLAKE2b digest of some bytes under a key."""
    return hashlib.blake2b(data, digest_size=size, key=key, person=purpose).digest()


def canonical(value: Any) -> bytes:
    """A plain value as JSON that does not depend on the order of entries."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
