"""Signed envelopes: DSSE, the format in which in-toto and Sigstore sign, in JSON.

A signature is under the payload and its type together. An envelope may have several signatures, which is the same as
several envelopes. The specification lets readers ignore entries that they do not know; we refuse them, as we refuse
other spellings of base64, so that nothing unsigned can be carried along.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ..errors import EvidenceError
from ._strict import decoded, encoded, parsed, require_entries
from .keys import SIGNATURE_SIZE, PrivateKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
LONGEST_LINE = 2**24  # bytes


def signed_bytes(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """What a signature is under: DSSE calls it the pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class Signature:
    """A signature, and the id of the key that is said to have made it."""

    key_id: str
    bytes: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload with signatures. To read one checks its form alone."""

    payload: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def signed(cls, payload: bytes, keys: Sequence[PrivateKey]) -> Self:
        """Sign a payload with some keys."""
        data = signed_bytes(payload)
        return cls(payload, tuple(Signature(key.public.id, key.sign(data)) for key in keys))

    def as_json(self) -> str:
        """The envelope as one line of JSON, without its end."""
        signatures = [{"keyid": its.key_id, "sig": encoded(its.bytes)} for its in self.signatures]
        content = {"payload": encoded(self.payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: bytes, what: str = "the envelope") -> Self:
        """Read an envelope, which need not be trusted."""
        entries = {"payload": _is_text, "payloadType": _is_text, "signatures": _is_list}
        value = require_entries(parsed(line, what), entries, what)
        if value["payloadType"] != PAYLOAD_TYPE:
            raise EvidenceError(f"{what} has a payload of another type than {PAYLOAD_TYPE}")
        if not value["signatures"]:
            raise EvidenceError(f"{what} has no signature")
        signatures = tuple(_signature(its, what) for its in value["signatures"])
        if len({its.key_id for its in signatures}) < len(signatures):
            raise EvidenceError(f"{what} has two signatures of one key")
        return cls(decoded(value["payload"], f"the payload of {what}"), signatures)


def _signature(value: object, what: str) -> Signature:
    entries = require_entries(value, {"keyid": _is_text, "sig": _is_text}, f"a signature of {what}")
    data = decoded(entries["sig"], f"a signature of {what}")
    if len(data) != SIGNATURE_SIZE:
        raise EvidenceError(f"a signature of {what} has {len(data)} bytes, and one of Ed25519 has {SIGNATURE_SIZE}")
    return Signature(entries["keyid"], data)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def as_file(lines: Sequence[str]) -> bytes:
    """Envelopes as a file: one on each line, which in-toto calls a bundle."""
    return "".join(f"{line}\n" for line in lines).encode()


def read_envelopes(source: str | os.PathLike[str] | bytes) -> list[Envelope]:
    """Read the envelopes of a file, or of its bytes, one on each line."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    if not data:
        raise EvidenceError("the file is empty")
    *lines, rest = data.split(b"\n")
    if rest:
        raise EvidenceError("the file ends within a line: it was cut off, or is not one of envelopes")
    return [_on_line(number, line) for number, line in enumerate(lines, start=1)]


def _on_line(number: int, line: bytes) -> Envelope:
    what = f"the envelope on line {number}"
    if len(line) > LONGEST_LINE:
        raise EvidenceError(f"{what} is longer than {LONGEST_LINE} bytes")
    return Envelope.from_json(line, what)
