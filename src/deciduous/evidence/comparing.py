"""A record against statements that somebody else has kept: is it the one that they tell of, and is all of it there?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .statements import Statement

CONTINUED, ROLLED_BACK, FORKED, UNRELATED, APART = "continued", "rolled back", "forked", "unrelated", "apart"


@dataclass(frozen=True)
class Comparison:
    """What statements that were kept say about a record, or about others. It is true if those go on from them.

    `outcome` is "continued"; "rolled back" if the record ends before the newest statement; "forked" if it tells
    something else than a statement does; "unrelated" if they are about another live forest; or "apart" if statements
    that lie between them are missing, so that nothing can be told.
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


def compared(held: Sequence[Statement], kept: Sequence[Statement], holder: str) -> Comparison:
    """Compare the statements that somebody holds with statements that were kept, both in their order, without gaps."""
    outcome, problem = _compared(held, kept, holder)
    return Comparison(outcome, problem, len(kept), kept[-1].number, held[-1].number)


def _compared(held: Sequence[Statement], kept: Sequence[Statement], holder: str) -> tuple[str, str | None]:
    first, last, newest = held[0], held[-1], kept[-1]
    if newest.record != first.record:
        return UNRELATED, f"statement {newest.number} is about another live forest"
    if newest.number + 1 < first.number:
        return APART, f"statements {newest.number + 1} to {first.number - 1} are missing, so they cannot be compared"
    different = _first_difference(held, kept)
    if different is not None:
        same = [its.number for its in kept if first.number <= its.number < different]
        since = f", and is the same up to statement {same[-1]}" if same else ""
        return FORKED, (
            f"{holder} tells something else than statement {different}{since}: an older copy was put back and went on, "
            "or the record was written anew"
        )
    if newest.number > last.number:
        return ROLLED_BACK, (
            f"{holder} ends with number {last.number}, and statement {newest.number} of {newest.time} was made of it: "
            "an older copy was put back, or what came later was taken away"
        )
    return CONTINUED, None


def _first_difference(held: Sequence[Statement], kept: Sequence[Statement]) -> int | None:
    """The number of the first statement that is another one."""
    by_number = {its.number: its for its in held}
    different = [its.number for its in kept if by_number.get(its.number, its) != its]
    is_torn = kept[-1].number + 1 == held[0].number and kept[-1].digest != held[0].previous
    return min(different, default=kept[-1].number if is_torn else None)
