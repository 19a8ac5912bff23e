"""Evidence that others can check: signed statements about a live forest, their keys, and anchors of their order.

Nothing here needs the folder of a live forest, its table, or SQLAlchemy. Signatures need `cryptography`
(`pip install 'deciduous[evidence]'`). See docs/evidence.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import found_when_asked

if TYPE_CHECKING:
    from .anchors import Anchor, Anchored, FileAnchor, Head
    from .comparing import Comparison
    from .envelopes import Envelope, read_envelopes
    from .keys import PrivateKey, PublicKey, read_public_keys
    from .opening import ForestOpening
    from .statements import Statement
    from .verifying import EvidenceReport, verify_statements

__all__ = [
    "Anchor",
    "Anchored",
    "Comparison",
    "Envelope",
    "EvidenceReport",
    "FileAnchor",
    "ForestOpening",
    "Head",
    "PrivateKey",
    "PublicKey",
    "Statement",
    "read_envelopes",
    "read_public_keys",
    "verify_statements",
]

_HOMES = {
    "Anchor": "anchors",
    "Anchored": "anchors",
    "Comparison": "comparing",
    "Envelope": "envelopes",
    "EvidenceReport": "verifying",
    "FileAnchor": "anchors",
    "ForestOpening": "opening",
    "Head": "anchors",
    "PrivateKey": "keys",
    "PublicKey": "keys",
    "Statement": "statements",
    "read_envelopes": "envelopes",
    "read_public_keys": "keys",
    "verify_statements": "verifying",
}

if not TYPE_CHECKING:  # to type checkers, a module with this function has every attribute
    __getattr__ = found_when_asked(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
