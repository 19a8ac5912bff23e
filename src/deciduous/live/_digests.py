"""Keyed digests: names for rows, subjects and states of the record that say nothing without the key."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

SIZE = 16
KEY_SIZE = 32
SCRYPT = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}  # some 40 ms and 16 MB for each guess

# What a digest is of. Digests of the same bytes for different purposes have nothing in common.
ROW, SUBJECT, CHAIN, HEAD, CAPTURE = b"row", b"subject", b"chain", b"head", b"capture"
FOREST, PARAMETERS, REQUEST = b"forest", b"parameters", b"request"  # of commitments


def fresh_key() -> bytes:
    """A secret key."""
    return secrets.token_bytes(KEY_SIZE)


def keyed(key: bytes, purpose: bytes, data: bytes, size: int = SIZE) -> bytes:
    """The BLAKE2b digest of some bytes under a key."""
    return hashlib.blake2b(data, digest_size=size, key=key, person=purpose).digest()


def commitment(key: bytes, purpose: bytes, data: bytes) -> str:
    """What a receipt keeps of a secret: whoever has the key can check a guess, and without it nobody can."""
    return keyed(key, purpose, data, 32).hex()


def slow(key: bytes, data: bytes) -> str:
    """A digest that takes its time, for what lasts beside its key and might be guessed."""
    return hashlib.scrypt(data, salt=key, **SCRYPT).hex()


def canonical(value: Any) -> bytes:
    """A plain value as JSON that does not depend on the order of entries."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
