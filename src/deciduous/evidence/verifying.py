"""Checks of statements by whoever has public keys, on a machine with neither folder nor table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import EvidenceError, InvalidInputError
from .anchors import Anchored
from .comparing import compared
from .envelopes import Envelope, read_envelopes, signed_bytes
from .keys import PublicKey
from .opening import ForestOpening
from .statements import RECOVERED, Statement

PROVES = (
    "The holder of these keys has signed these statements, in this order and without a gap.",
    "None of them was changed since, and none was inserted or left out between the first and the last.",
)
PROVES_ANCHORED = "Statements with these digests existed when they were anchored, and are in this file."
PROVES_EARLIER = "They go on from the statements that were kept earlier: nothing of those was taken back."
PROVES_OPENED = "The newest statement is about the forest with this fingerprint."
DOES_NOT_PROVE = (
    "That the statements are true: for that, train anew from the table and compare (`deciduous live verify`).",
    "That there is no later statement, or another history beside this one, unless an anchor or somebody else has it.",
    "The times: they are those of the holder's machine.",
    "Anything about copies elsewhere: backups, exports, predictions, or logs of the database.",
)


@dataclass(frozen=True)
class Signer:
    """A key that signed: from which statement to which, and the statement that vouches for it if it was not given."""

    key_id: str
    first: int
    last: int
    vouched_in: int | None


@dataclass(frozen=True)
class EvidenceReport:
    """Result of `verify_statements`. It is true if all is well; otherwise `problem` says what is wrong."""

    problem: str | None
    statements: tuple[Statement, ...] = ()
    signers: tuple[Signer, ...] = ()
    anchored: tuple[Anchored, ...] = ()
    n_earlier: int = 0
    fingerprint: str | None = None

    @property
    def matches(self) -> bool:
        """Whether the statements are what was signed."""
        return self.problem is None

    def __bool__(self) -> bool:
        return self.matches

    @property
    def proves(self) -> tuple[str, ...]:
        """What the statements prove, in words."""
        if not self.matches:
            return ()
        more = {PROVES_ANCHORED: self.anchored, PROVES_EARLIER: self.n_earlier, PROVES_OPENED: self.fingerprint}
        return (*PROVES, *(text for text, is_checked in more.items() if is_checked))

    @property
    def does_not_prove(self) -> tuple[str, ...]:
        """What they do not prove."""
        return DOES_NOT_PROVE


@dataclass
class Trust:
    """Whose signatures count: keys that were given, and those that a trusted key has vouched for, until replaced."""

    given: Sequence[PublicKey]
    known: dict[str, PublicKey] = field(default_factory=dict)
    vouched_in: dict[str, int] = field(default_factory=dict)
    replaced_in: dict[str, int] = field(default_factory=dict)
    current: str | None = None
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known |= {key.id: key for key in self.given}

    def take(self, envelope: Envelope, statement: Statement) -> None:
        """Check the signatures of the next statement, and follow it if it brings in another key."""
        number, data = statement.number, signed_bytes(envelope.payload)
        signers = []
        for signature in envelope.signatures:
            key = self.known.get(signature.key_id)
            if key is None:
                continue  # as DSSE has it: others may sign as well, and it is no business of ours
            if not key.has_signed(data, signature.bytes):
                raise EvidenceError(f"statement {number} does not have the signature of key {signature.key_id}")
            if signature.key_id not in self.replaced_in:
                signers.append(signature.key_id)
        if not signers:
            raise EvidenceError(self._why_untrusted(envelope, number))
        for key_id in signers:
            self.spans[key_id] = (self.spans.get(key_id, (number, number))[0], number)
        if statement.new_key is not None:
            self._follow(envelope, statement)

    def _follow(self, envelope: Envelope, statement: Statement) -> None:
        """A trusted key says which key comes next. The new one must have signed as well: nobody adopts a stranger's."""
        assert statement.new_key is not None
        number, key, replaced = statement.number, statement.new_key.key, statement.new_key.replaces
        own = [its.bytes for its in envelope.signatures if its.key_id == key.id]
        if not own or not key.has_signed(signed_bytes(envelope.payload), own[0]):
            raise EvidenceError(f"statement {number} brings in key {key.id}, which has not signed it")
        if key.id in self.replaced_in or (self.current is not None and replaced != self.current):
            raise EvidenceError(f"statement {number} does not go on from the key that signed before it")
        if replaced is not None:
            self.replaced_in[replaced] = number
        if key.id not in self.known:
            self.known[key.id], self.vouched_in[key.id] = key, number
        self.spans.setdefault(key.id, (number, number))
        self.current = key.id

    def _why_untrusted(self, envelope: Envelope, number: int) -> str:
        ids = [its.key_id for its in envelope.signatures]
        for id in ids:
            if id in self.replaced_in:
                return f"statement {number} is signed by key {id}, which statement {self.replaced_in[id]} has replaced"
        return (
            f"statement {number} is signed by key {ids[0]!r}, which is none that was given, and no key that was given "
            "vouches for it"
        )

    def signers(self) -> tuple[Signer, ...]:
        """Whose signatures were found."""
        return tuple(Signer(id, *span, self.vouched_in.get(id)) for id, span in self.spans.items())


Source = str | os.PathLike[str] | bytes | Sequence[Envelope]


def verify_statements(
    source: Source,
    keys: Sequence[PublicKey],
    *,
    anchors: Sequence[Anchored] | None = None,
    earlier: Source | None = None,
    opening: ForestOpening | None = None,
) -> EvidenceReport:
    """Check signed statements, with public keys alone.

    Parameters
    ----------
    source : path, bytes or sequence of Envelope
        A file of envelopes, one on each line, in the order of their numbers. They need not begin with the first one.
    keys : sequence of PublicKey
        The keys that are trusted. A key that one of them vouches for in a statement is trusted from then on, and the
        one that it replaces is not.
    anchors : sequence of Anchored, optional
        What an anchor has kept. At least one entry must be about this record, and none may contradict the statements.
    earlier : path, bytes or sequence of Envelope, optional
        Statements that were kept earlier, which these must go on from.
    opening : ForestOpening, optional
        What opens the newest statement.
    """
    if not keys:
        raise InvalidInputError("Give at least one public key: without one, anybody may have signed.")
    statements: list[Statement] = []
    trust = Trust(keys)
    try:
        statements.extend(_checked(source, trust))
        about = _anchored(statements, anchors)
        known = list(trust.known.values())  # also those that these statements vouch for
        n_earlier = 0 if earlier is None else _require_continued(statements, list(_checked(earlier, Trust(known))))
        fingerprint = None if opening is None else _opened(statements[-1], opening)
    except EvidenceError as error:
        return EvidenceReport(error.problem, tuple(statements), trust.signers())
    return EvidenceReport(None, tuple(statements), trust.signers(), about, n_earlier, fingerprint)


def _checked(source: Source, trust: Trust) -> Iterator[Statement]:
    """The statements, as far as they are signed and follow from one another."""
    envelopes = read_envelopes(source) if isinstance(source, str | bytes | os.PathLike) else source
    former = None
    for place, envelope in enumerate(envelopes, start=1):
        statement = Statement.from_payload(envelope.payload, f"the statement on line {place}")
        if former is not None:
            require_next(former, statement)
        trust.take(envelope, statement)
        yield statement
        former = statement
    if former is None:
        raise EvidenceError("there is no statement")


def _require_continued(statements: Sequence[Statement], kept: Sequence[Statement]) -> int:
    """How many were kept; raises unless the statements go on from them."""
    comparison = compared(statements, kept, "this file")
    if comparison.problem is not None:
        raise EvidenceError(f"compared with what was kept earlier, {comparison.problem}")
    return comparison.n_statements


def require_next(former: Statement, statement: Statement) -> None:
    """Raises unless a statement follows from the one before it."""
    number = former.number + 1
    if statement.number != number:
        what = "is missing" if statement.number > number else f"is followed by statement {statement.number}"
        raise EvidenceError(f"statement {number if statement.number > number else former.number} {what}")
    if statement.record != former.record or statement.previous != former.digest:
        raise EvidenceError(f"statement {number} does not follow from the one before it")
    if statement.before != former.after:
        raise EvidenceError(f"statement {number} does not begin with the forest that was there")
    n_rows = former.n_rows + statement.n_added - statement.n_deleted
    if statement.kind != RECOVERED and statement.n_rows != n_rows:  # then it is not known what changed
        raise EvidenceError(f"statement {number} counts its rows wrongly")


def _anchored(statements: Sequence[Statement], anchors: Sequence[Anchored] | None) -> tuple[Anchored, ...]:
    """The anchored heads that are among the statements; raises if one contradicts them."""
    if anchors is None:
        return ()
    ours = [its for its in anchors if its.head.record == statements[0].record]
    if not ours:
        raise EvidenceError("the log of anchors has nothing about this record")
    by_number = {its.number: its for its in statements}
    for its in ours:
        if its.head.number > statements[-1].number:
            raise EvidenceError(
                f"statement {its.head.number} was anchored at {its.time}, and these end with "
                f"{statements[-1].number}: later ones are withheld, or an older copy was put back"
            )
        told = by_number.get(its.head.number)
        if told is not None and told.digest != its.head.statement:
            raise EvidenceError(
                f"another statement {its.head.number} was anchored at {its.time}: there are two histories"
            )
    return tuple(its for its in ours if its.head.number in by_number)


def _opened(newest: Statement, opening: ForestOpening) -> str:
    if opening.commitment != newest.after:
        raise EvidenceError(f"the opening does not open statement {newest.number}: it is of another state")
    return opening.fingerprint
