"""Receipts: what was done to a live forest, one after the other, chained by keyed digests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from ..errors import CorruptRecordError
from . import _digests
from ._clock import is_time

CREATED, SYNCED, RECOVERED, VERIFIED = "created", "synced", "recovered", "verified"  # of the forest
RECEIVED, REFUSED, NOTHING_LEFT = "received", "refused", "nothing left to erase"  # of a request
KEYED = "signing key"  # of the record: another key signs statements of it
CHANGES = (CREATED, SYNCED, RECOVERED)
FIRST_CHAIN = "0" * 64


@dataclass(frozen=True)
class Receipt:
    """One entry of the record. It holds counts and commitments, but no values or ids of rows and no names of people.

    `kind` says what happened. Either the forest was created, synced with its table, recovered from it after files were
    lost, or verified. Or a request for erasure was received, or refused, or there was nothing left to erase. Or another
    key signs statements from now on (docs/evidence.md): `signing_key` is its public half. `before`, `after` and
    `parameters` are commitments to the forest and its parameters, and `subject` is one to the person who asked. Only
    the current state can be checked with them (docs/certificate.md).
    """

    number: int
    kind: str
    time: str
    source: str
    requests: tuple[str, ...] = ()
    due: str | None = None
    subject: str | None = None
    idempotency: str | None = None
    n_rows: int | None = None
    n_added: int = 0
    n_deleted: int = 0
    n_updated: int = 0
    n_people_erased: int = 0
    n_people_changed: int = 0
    before: str | None = None
    after: str | None = None
    parameters: str | None = None
    reason: str | None = None
    previous: str = FIRST_CHAIN
    chain: str = ""
    signing_key: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as a dict of plain values. Only a receipt of a key has the entry `signing_key`."""
        entries = vars(self) | {"requests": list(self.requests)}
        return {name: value for name, value in entries.items() if name != SIGNING_KEY or value is not None}

    def as_json(self) -> str:
        """Return the receipt as one line of JSON."""
        return _digests.canonical(self.as_dict()).decode()

    @classmethod
    def from_json(cls, text: str, number: int | None = None) -> Self:
        """Read a receipt from JSON, which need not be trusted. `number` is the number that it should have."""
        name = "a receipt" if number is None else f"receipt {number}"
        try:
            state = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            raise CorruptRecordError(f"{name} cannot be read") from None
        if not isinstance(state, dict) or state.keys() - {SIGNING_KEY} != FIELDS.keys():
            raise CorruptRecordError(f"{name} does not have the entries of a receipt")
        wrong = [entry for entry, is_right in FIELDS.items() if not is_right(state[entry])]
        if not wrong and not _fits_kind(state):
            wrong = [SIGNING_KEY]
        if not wrong:
            wrong = [entry for entry in NEEDED[state["kind"]] if state[entry] in (None, [])]
        if wrong:
            raise CorruptRecordError(f"{name} has something else than it should in {wrong[0]!r}")
        return cls(**(state | {"requests": tuple(state["requests"])}))

    def digest(self, key: bytes) -> str:
        """Return what `chain` must be: a keyed digest of all other entries, including that of the previous receipt."""
        content = self.as_dict()
        del content["chain"]
        return _digests.keyed(key, _digests.CHAIN, _digests.canonical(content), 32).hex()


def in_order(bodies: Iterable[tuple[int, Any]], key: bytes, last: Receipt | None = None) -> Iterator[Receipt]:
    """Receipts from their JSON, each of which must follow from the one before; `last` is the one before the first."""
    number, previous = (0, FIRST_CHAIN) if last is None else (last.number, last.chain)
    for found, body in bodies:
        number += 1
        if found != number:
            raise CorruptRecordError(f"receipt {number} is missing")
        receipt = Receipt.from_json(body, number)
        if receipt.number != number or receipt.chain != receipt.digest(key):
            raise CorruptRecordError(f"receipt {number} is not what was written")
        if receipt.previous != previous:
            raise CorruptRecordError(f"receipt {number} does not follow from the one before it")
        yield receipt
        previous = receipt.chain


# ------------------------------------------------------------------------------------------------ what entries may be


DIGEST, REFERENCE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{16}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _fits_kind(state: dict[str, Any]) -> bool:
    """Whether there is a key exactly if the receipt is about one: those of older folders have no entry for it."""
    return _is_digest(state.get(SIGNING_KEY)) if state["kind"] == KEYED else SIGNING_KEY not in state


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def is_reference(value: Any) -> bool:
    """Whether this may be the id of a request."""
    return isinstance(value, str) and REFERENCE.fullmatch(value) is not None


def _or_none(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a character
        return False


KINDS = (*CHANGES, VERIFIED, RECEIVED, REFUSED, NOTHING_LEFT, KEYED)
SIGNING_KEY = "signing_key"
FIELDS: dict[str, Callable[[Any], bool]] = {
    "number": _is_count,
    "kind": lambda value: isinstance(value, str) and value in KINDS,
    "time": is_time,
    "source": _is_text,
    "requests": lambda value: isinstance(value, list) and all(map(is_reference, value)),
    "due": _or_none(is_time),
    "subject": _or_none(_is_digest),
    "idempotency": _or_none(_is_digest),
    "n_rows": _or_none(_is_count),
    "n_added": _is_count,
    "n_deleted": _is_count,
    "n_updated": _is_count,
    "n_people_erased": _is_count,
    "n_people_changed": _is_count,
    "before": _or_none(_is_digest),
    "after": _or_none(_is_digest),
    "parameters": _or_none(_is_digest),
    "reason": _or_none(_is_text),
    "previous": _is_digest,
    "chain": _is_digest,
}
NEEDED = {
    CREATED: ("n_rows", "after", "parameters"),
    SYNCED: ("n_rows", "before", "after", "parameters"),
    RECOVERED: ("n_rows", "before", "after", "parameters", "reason"),
    VERIFIED: ("n_rows", "after", "parameters"),
    RECEIVED: ("requests", "due", "subject"),
    REFUSED: ("requests", "reason"),
    NOTHING_LEFT: ("requests", "reason"),
    KEYED: (),
}


def as_file(receipts: Iterable[Receipt]) -> bytes:
    """Receipts as a file of JSON."""
    content = {"format": "deciduous-receipts-3", "receipts": [receipt.as_dict() for receipt in receipts]}
    return json.dumps(content, indent=1, ensure_ascii=False).encode()
