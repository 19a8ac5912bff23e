"""Signed statements about the receipts: what they say, who signs them, and what is kept so that all can be made again.

Statements are derived from receipts, and signatures from statements and the private key, so neither is stored. Only
when a key is replaced, what it has signed is kept in the state, in the transaction of the receipt that tells of the new
one: from then on, the private half of the old key is not needed any more, and should not be anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import CorruptRecordError
from ..evidence.anchors import Head
from ..evidence.envelopes import Envelope, Signature, signed_bytes
from ..evidence.keys import PrivateKey, PublicKey
from ..evidence.opening import ForestOpening
from ..evidence.statements import NewKey, Statement
from . import _clock
from ._history import History, public_half
from ._state import State
from .receipts import CHANGES, KEYED, Receipt


@dataclass(frozen=True)
class SigningKey:
    """The public half of a key that signs statements of a live forest, and when it came.

    `since` and `receipt` are the time and the number of the receipt that tells of the key. `until` is the time at which
    another one replaced it, None for the key that is in use. The first key also signs all receipts before its own.
    """

    id: str
    public_key: str
    receipt: int
    since: str
    until: str | None


class Telling:
    """Statements of receipts, one after the other."""

    def __init__(self) -> None:
        self._former: Statement | None = None
        self._key: str | None = None

    def next(self, receipt: Receipt) -> Statement:
        """The statement of the next receipt, which need not be on the disk yet."""
        former, is_change = self._former, receipt.kind in CHANGES
        if former is None:
            statement = self._of(receipt, receipt.chain)
        else:
            statement = replace(self._of(receipt, former.record), previous=former.digest, before=former.after)
            if not is_change:
                statement = _with_forest_of(former, statement)
        self._former = statement
        if receipt.signing_key is not None:
            self._key = public_half(receipt).id
        return statement

    def _of(self, receipt: Receipt, record: str) -> Statement:
        new_key = None if receipt.signing_key is None else NewKey(public_half(receipt), self._key)
        return Statement(
            number=receipt.number,
            previous=receipt.previous,
            record=record,
            receipt=receipt.chain,
            kind=receipt.kind,
            time=receipt.time,
            before=receipt.before,
            after=receipt.after or "",
            parameters=receipt.parameters or "",
            n_rows=receipt.n_rows or 0,
            n_added=receipt.n_added,
            n_deleted=receipt.n_deleted,
            n_updated=receipt.n_updated,
            n_people_erased=receipt.n_people_erased,
            n_people_changed=receipt.n_people_changed,
            requests=receipt.requests,
            due=receipt.due,
            new_key=new_key,
        )


def _with_forest_of(former: Statement, statement: Statement) -> Statement:
    """What is not about a change leaves the forest as it was."""
    return replace(statement, after=former.after, parameters=former.parameters, n_rows=former.n_rows)


def told(receipts: Iterable[Receipt]) -> Iterator[Statement]:
    """The statements of all receipts, from the first one on."""
    telling = Telling()
    return (telling.next(receipt) for receipt in receipts)


class Signing:
    """The keys of a record, and its signed statements."""

    def __init__(self, state: State, history: History) -> None:
        self._state = state
        self._history = history

    def known_keys(self) -> list[SigningKey]:
        """All keys, oldest first."""
        receipts = self._history.read().key_receipts
        ends = [*(its.time for its in receipts[1:]), None]
        publics = map(public_half, receipts)
        return [
            SigningKey(key.id, key.pem, its.number, its.time, end)
            for key, its, end in zip(publics, receipts, ends, strict=False)
        ]

    def current_id(self) -> str | None:
        """The id of the key in use, if there is one."""
        receipts = self._history.read().key_receipts
        return public_half(receipts[-1]).id if receipts else None

    def statements(self) -> list[Statement]:
        """The statements of all receipts."""
        with self._state.lock:  # all as of one moment
            self._history.read()  # raises if the newest receipt is missing
            return list(told(self._state.receipts()))

    def head(self) -> Head:
        """What an anchor keeps."""
        return Head.of(self.statements()[-1])

    def opening(self) -> ForestOpening:
        """What opens the newest statement."""
        with self._state.lock:  # both as of one moment
            opening = self._history.read().opening
        return ForestOpening(opening.fingerprint, opening.fingerprint_key.hex())

    def envelopes(self, private: PrivateKey) -> list[Envelope]:
        """All statements, signed."""
        with self._state.lock:  # all as of one moment
            keys, kept, statements = self.known_keys(), self._state.signatures(), self.statements()
        return [_signed(statement, keys, kept, private) for statement in statements]

    def begin(self, new: PrivateKey, former: PrivateKey | None, source_name: str) -> None:
        """Write the receipt of another key, and keep what the former one has signed: all of it, or nothing.

        The new one signs its own statement at once: it may be lost before it has to sign anything else.
        """
        with self._state.transaction():
            telling = Telling()
            for receipt in self._state.receipts():
                telling.next(receipt)
            kept = {} if former is None else self._signed_by(former)
            now = _clock.now().isoformat()
            written = self._state.append(Receipt(0, KEYED, now, source_name, signing_key=new.public.raw.hex()))
            data = signed_bytes(telling.next(written).payload())
            kept |= {(written.number, key.public.id): key.sign(data) for key in (former, new) if key is not None}
            self._state.keep_signatures(kept)

    def _signed_by(self, private: PrivateKey) -> dict[tuple[int, str], bytes]:
        return {
            (number, its.key_id): its.bytes
            for number, envelope in enumerate(self.envelopes(private), start=1)
            for its in envelope.signatures
        }


def _signers(number: int, keys: Sequence[SigningKey]) -> list[str]:
    """Who is to sign a statement: the key that was in use, and if it brings in another key both."""
    known = [key for key in keys if key.receipt <= number] or list(keys[:1])
    signing = known[-2:] if known[-1].receipt == number else known[-1:]
    return [key.id for key in signing]


def _signed(
    statement: Statement, keys: Sequence[SigningKey], kept: Mapping[tuple[int, str], bytes], private: PrivateKey
) -> Envelope:
    """A statement with the signatures that are kept, and those that can be made.

    If a private key was lost, the next one signs in its place what nobody has kept.
    """
    payload, number, current = statement.payload(), statement.number, private.public.id
    data, publics = signed_bytes(payload), {key.id: PublicKey.from_pem(key.public_key) for key in keys}
    had = [id for id in publics if (number, id) in kept]
    signatures = []
    for id in [id for id in _signers(number, keys) if id in had or id == current] or had or [current]:
        signature = private.sign(data) if id == current else kept[number, id]
        if id != current and not publics[id].has_signed(data, signature):
            raise CorruptRecordError(f"a signature that is kept of receipt {number} is not what was written")
        signatures.append(Signature(id, signature))
    return Envelope(payload, tuple(signatures))
