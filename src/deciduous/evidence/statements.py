"""Statements: what a receipt of a live forest says, in the form of an in-toto statement, for others to keep.

A statement is a function of the receipts up to its own, so it can be made again at any time, by whoever has the folder.
It names forests and parameters by commitments, and no person, row, reason or table. What is signed has one spelling:
anything else that means the same is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ..errors import EvidenceError
from ._strict import (
    NONE_BEFORE,
    Check,
    canonical,
    digest_of,
    is_count,
    is_digest,
    is_reference,
    is_time,
    or_none,
    parsed,
    require_entries,
)
from .keys import PublicKey

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://deciduous-forests.github.io/deciduous/evidence/receipt/v1"
COMMITMENT = "deciduousCommitmentV1"  # the name of the digest
FOREST = "forest"  # the name of the subject
CREATED, SYNCED, RECOVERED, VERIFIED, KEYED = "created", "synced", "recovered", "verified", "signing key"
CHANGES = (CREATED, SYNCED, RECOVERED)  # of the forest
KINDS = (*CHANGES, VERIFIED, "received", "refused", "nothing left to erase", KEYED)
EXACT = "exact"  # the one outcome of a verification that makes a receipt
MEANING = (
    "Forests and parameters are named by commitments: keyed digests whose keys the next change destroys, so that "
    "nobody can test guesses of rows that were erased."
)


@dataclass(frozen=True)
class NewKey:
    """A key that is to sign from the next statement on, and the id of the one that it replaces, if there was one."""

    key: PublicKey
    replaces: str | None

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"keyId": self.key.id, "publicKey": self.key.pem, "replaces": self.replaces}


@dataclass(frozen=True)
class Statement:
    """What is signed of one receipt. The counts are those of the receipt; `n_rows` is that of the forest after it."""

    number: int
    previous: str
    record: str
    receipt: str
    kind: str
    time: str
    before: str | None
    after: str
    parameters: str
    n_rows: int
    n_added: int = 0
    n_deleted: int = 0
    n_updated: int = 0
    n_people_erased: int = 0
    n_people_changed: int = 0
    requests: tuple[str, ...] = ()
    due: str | None = None
    new_key: NewKey | None = None

    @property
    def digest(self) -> str:
        """The digest by which the next statement and anchors name this one: SHA-256 of the payload."""
        return digest_of(self.payload())

    @property
    def verification(self) -> str | None:
        """The outcome, if this is about a verification."""
        return EXACT if self.kind == VERIFIED else None

    def payload(self) -> bytes:
        """The bytes that are signed."""
        return canonical(
            {
                "_type": STATEMENT_TYPE,
                "subject": [{"name": FOREST, "digest": {COMMITMENT: self.after}}],
                "predicateType": PREDICATE_TYPE,
                "predicate": self._predicate(),
            }
        )

    def _predicate(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "previous": self.previous,
            "record": self.record,
            "receipt": self.receipt,
            "kind": self.kind,
            "time": self.time,
            "before": None if self.before is None else {COMMITMENT: self.before},
            "parameters": {COMMITMENT: self.parameters},
            "rows": {
                "total": self.n_rows,
                "added": self.n_added,
                "deleted": self.n_deleted,
                "updated": self.n_updated,
            },
            "people": {"erased": self.n_people_erased, "changed": self.n_people_changed},
            "requests": list(self.requests),
            "due": self.due,
            "verification": self.verification,
            "signingKey": None if self.new_key is None else self.new_key.as_dict(),
            "commitments": MEANING,
        }

    @classmethod
    def from_payload(cls, payload: bytes, what: str = "the statement") -> Self:
        """Read a statement, which need not be trusted, from the bytes that are signed."""
        value = require_entries(parsed(payload, what), STATEMENT, what)
        predicate = require_entries(value["predicate"], PREDICATE, f"the predicate of {what}")
        rows, people, new_key = predicate["rows"], predicate["people"], predicate["signingKey"]
        statement = cls(
            number=predicate["number"],
            previous=predicate["previous"],
            record=predicate["record"],
            receipt=predicate["receipt"],
            kind=predicate["kind"],
            time=predicate["time"],
            before=None if predicate["before"] is None else predicate["before"][COMMITMENT],
            after=value["subject"][0]["digest"][COMMITMENT],
            parameters=predicate["parameters"][COMMITMENT],
            n_rows=rows["total"],
            n_added=rows["added"],
            n_deleted=rows["deleted"],
            n_updated=rows["updated"],
            n_people_erased=people["erased"],
            n_people_changed=people["changed"],
            requests=tuple(predicate["requests"]),
            due=predicate["due"],
            new_key=None if new_key is None else _new_key(new_key, what),
        )
        if statement.payload() != payload:
            raise EvidenceError(f"{what} is not spelled as it is when it is signed")
        statement._require_sense(what)
        return statement

    def _require_sense(self, what: str) -> None:
        """Raises if the entries do not go together."""
        is_first = self.number == 1
        if self.number == 0 or is_first != (self.previous == NONE_BEFORE) or is_first != (self.record == self.receipt):
            raise EvidenceError(f"{what} does not say what comes before it as number {self.number} does")
        if is_first != (self.kind == CREATED) or is_first != (self.before is None):
            raise EvidenceError(f"{what} is about the creation of a forest, or should be, and does not say so")
        if self.kind not in CHANGES and self.before != self.after:
            raise EvidenceError(f"{what} changes the forest, and does not say so")
        if (self.kind == KEYED) != (self.new_key is not None):
            raise EvidenceError(f"{what} is about a key, or should be, and does not say so")


def _new_key(value: dict[str, Any], what: str) -> NewKey:
    key = PublicKey.from_pem(value["publicKey"])
    if key.id != value["keyId"] or key.id == value["replaces"]:
        raise EvidenceError(f"{what} names its new key wrongly")
    return NewKey(key, value["replaces"])


# ------------------------------------------------------------------------------------------------ what entries may be


def _object(**entries: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == entries.keys()
        and all(is_right(value[name]) for name, is_right in entries.items())
    )


def _just(one: Any) -> Check:
    return lambda value: type(value) is type(one) and value == one


def _list_of(is_right: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(is_right, value))


_is_commitment = _object(**{COMMITMENT: is_digest})
_is_subject = _object(name=_just(FOREST), digest=_is_commitment)

STATEMENT: dict[str, Check] = {
    "_type": _just(STATEMENT_TYPE),
    "subject": lambda value: isinstance(value, list) and len(value) == 1 and _is_subject(value[0]),
    "predicateType": _just(PREDICATE_TYPE),
    "predicate": lambda value: isinstance(value, dict),
}
PREDICATE: dict[str, Check] = {
    "number": is_count,
    "previous": is_digest,
    "record": is_digest,
    "receipt": is_digest,
    "kind": lambda value: isinstance(value, str) and value in KINDS,
    "time": is_time,
    "before": or_none(_is_commitment),
    "parameters": _is_commitment,
    "rows": _object(total=is_count, added=is_count, deleted=is_count, updated=is_count),
    "people": _object(erased=is_count, changed=is_count),
    "requests": _list_of(is_reference),
    "due": or_none(is_time),
    "verification": or_none(_just(EXACT)),
    "signingKey": or_none(
        _object(keyId=is_digest, publicKey=lambda value: isinstance(value, str), replaces=or_none(is_digest))
    ),
    "commitments": _just(MEANING),
}
