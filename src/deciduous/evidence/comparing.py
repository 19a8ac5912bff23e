"""A record against statements that somebody else has kept: is it the one that they tell of, and is all of it there?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .statements import Statement

CONTINUED, ROLLED_BACK, FORKED, UNRELATED = "continued", "rolled back", "forked", "unrelated"


@dataclass(frozen=True)
class Comparison:
    """What statements that were kept say about a record. It is true if the record goes on from them.

    `outcome` is "continued"; "rolled back" if the record ends before the newest statement; "forked" if it tells
    something else than a statement does; or "unrelated" if they are about another live forest.
    """

    outcome: str
    problem: str | None
    n_statements: int
    newest: int
    n_receipts: int

    @property
    def matches(self) -> bool:
        """Whether the record goes on from the statements."""
        return self.problem is None

    def __bool__(self) -> bool:
        return self.matches


def compared(held: Sequence[Statement], kept: Sequence[Statement]) -> Comparison:
    """Compare a record, as statements from number 1 on, with statements that were kept, in their order."""
    outcome, problem = _compared(held, kept)
    return Comparison(outcome, problem, len(kept), kept[-1].number, len(held))


def _compared(held: Sequence[Statement], kept: Sequence[Statement]) -> tuple[str, str | None]:
    newest = kept[-1]
    if newest.record != held[0].record:
        return UNRELATED, f"statement {newest.number} is about another live forest"
    different = [its.number for its in kept if its.number <= len(held) and its != held[its.number - 1]]
    if different:
        same = [its.number for its in kept if its.number < different[0]]
        since = f", and is the same up to statement {same[-1]}" if same else ""
        return FORKED, (
            f"the folder tells something else than statement {different[0]}{since}: an older copy was put back and "
            "went on, or its record was written anew"
        )
    if newest.number > len(held):
        return ROLLED_BACK, (
            f"the folder ends with receipt {len(held)}, and statement {newest.number} of {newest.time} was made of it: "
            "an older copy was put back, or receipts were taken away"
        )
    return CONTINUED, None
