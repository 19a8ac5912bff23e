"""Commitments to the forest and its parameters, and what opens them.

A fingerprint is a digest over all rows. Whoever has all rows but one, the parameters and the seed can try values for
the one that is gone until the fingerprint of a former forest comes out. So receipts keep commitments under random keys.
The keys of the newest receipt are in the state, to check it by; the next change overwrites them, and from then on
nobody can tell a right guess from a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from . import _digests


@dataclass(frozen=True)
class Opening:
    """The fingerprint of the present forest, and the keys of the commitments to it and to its parameters."""

    fingerprint: str
    fingerprint_key: bytes
    parameters_key: bytes

    @classmethod
    def fresh(cls, fingerprint: str) -> Self:
        """With new keys."""
        return cls(fingerprint, _digests.fresh_key(), _digests.fresh_key())

    def followed_by(self, fingerprint: str, *, has_same_parameters: bool) -> Opening:
        """That of the next receipt. What has not changed has the same commitment, which can be seen without keys."""
        return Opening(
            fingerprint,
            self.fingerprint_key if fingerprint == self.fingerprint else _digests.fresh_key(),
            self.parameters_key if has_same_parameters else _digests.fresh_key(),
        )

    def is_sound(self) -> bool:
        """Whether the keys can be keys; everybody may have written them."""
        return len(self.fingerprint_key) == len(self.parameters_key) == _digests.KEY_SIZE

    @property
    def forest(self) -> str:
        """The commitment to the forest."""
        return _digests.commitment(self.fingerprint_key, _digests.FOREST, self.fingerprint.encode())

    def parameters(self, definition: bytes) -> str:
        """The commitment to parameters."""
        return _digests.commitment(self.parameters_key, _digests.PARAMETERS, definition)
