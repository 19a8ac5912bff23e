"""What was decided when a live forest was made: where its rows are, and the parameters of the forest.

A forest is a function of these and of the rows of the table, so this is all that has to be kept to make it again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Self

from .._columns import Categories, Columns
from .._targets import CLASSIFICATION, TargetScale
from . import _digests

TARGET_RANGE = "target_range"  # the parameter of a regression that its rows tell, as the categories
CAPTURES = "captures"  # the only setting that changes with time, beside names that are forgotten
Category = str | int | float | bool
FORGOTTEN = 2**52  # from here on, stand-ins for categories that are numbers: exact in every type that has any


@dataclass(frozen=True)
class LiveColumn:
    """A column that trees split on: of numbers if `categories` is None, else of categories.

    A learned category whose last row is gone is None here: its attribute stays, and its name is forgotten.
    """

    name: str
    categories: tuple[Category | None, ...] | None = None
    has_missing: bool = False  # whether the missing value is a category, the last one
    is_learned: bool = False  # from the rows, rather than listed by the user

    @property
    def n_attributes(self) -> int:
        """How many attributes the trees see."""
        return 1 if self.categories is None else len(self.categories) + self.has_missing

    def told(self) -> ColumnKind:
        """As somebody has to know it who sends rows. A column all of whose names are forgotten takes any text."""
        if self.categories is None:
            return ColumnKind(self.name, NUMBER)
        texts = frozenset(name for name in self.categories if isinstance(name, str))
        is_text = texts or all(name is None for name in self.categories)
        return ColumnKind(self.name, TEXT if is_text else NUMBER, texts)

    def listed(self) -> list[Any] | None:
        """The categories as the estimator takes them, with something else in the place of forgotten names."""
        if self.categories is None:
            return None
        is_text = all(isinstance(name, str) for name in self.categories if name is not None)
        stand_ins = (f"(forgotten {n})" if is_text else FORGOTTEN + n for n in count())
        free = (value for value in stand_ins if value not in self.categories)
        # By its place, so that a name that is forgotten does not move the others.
        values = [stand_in if name is None else name for name, stand_in in zip(self.categories, free, strict=False)]
        return [*values, *[None] * self.has_missing]


NUMBER, TEXT, INTEGER, UUID, LABEL = "number", "text", "integer", "uuid", "label"  # what values of a column are
NAMES = {None: INTEGER, "s": TEXT, "u": UUID}  # of ids and subjects


@dataclass(frozen=True)
class ColumnKind:
    """A column that is read, as somebody has to know it who sends rows."""

    name: str
    kind: str  # "number", "text", "integer", "uuid", or "label" for labels that are numbers or truth values
    known: frozenset[str] = frozenset()  # texts that are categories


@dataclass(frozen=True)
class Settings:
    """Everything that is needed, beside the rows, to make the forest again."""

    url: str  # without the password
    table: str | None
    query: str | None
    id: str
    target: str
    subject: str | None
    columns: tuple[LiveColumn, ...]
    takes_all_columns: bool  # rather than those that the user listed
    id_kind: str | None = None  # as in `_row_names`: "s" strings, "u" UUIDs, None integers
    subject_kind: str | None = None  # the same
    subject_is_padded: bool = False  # with blanks that count for nothing
    target_is_text: bool = False
    params: dict[str, Any] = field(default_factory=dict)  # of the estimator, resolved: with seed and class weights
    captures: bool = False
    task: str = CLASSIFICATION

    @property
    def source_columns(self) -> list[str]:
        """All columns that are read, in the order in which rows have them."""
        people = [] if self.subject is None else [self.subject]
        return [self.id, self.target, *people, *(column.name for column in self.columns)]

    def kinds(self) -> list[ColumnKind]:
        """All columns that are read, in the order in which rows have them."""
        plain = TEXT if self.target_is_text else LABEL if self.task == CLASSIFICATION else NUMBER
        kinds = [ColumnKind(self.id, NAMES[self.id_kind]), ColumnKind(self.target, plain)]
        if self.subject is not None:
            kinds.append(ColumnKind(self.subject, NAMES[self.subject_kind]))
        return kinds + [column.told() for column in self.columns]

    def features(self) -> Columns:
        """The columns that trees split on, with their categories, as the estimator knows them."""
        listed = ((column.name, column.listed()) for column in self.columns)
        return Columns(
            tuple(None if its is None else Categories.given(its, f"column {name!r}") for name, its in listed)
        )

    @property
    def target_scale(self) -> TargetScale | None:
        """What targets in fixed point stand for, if they are numbers and not classes."""
        return None if self.task == CLASSIFICATION else TargetScale.of_range(*self.params[TARGET_RANGE])

    @property
    def source_name(self) -> str:
        """How records name the source."""
        return self.table if self.table is not None else "a query"

    def definition(self) -> bytes:
        """All that was decided, as bytes to compare."""
        return definition_of(self.state())

    def state(self) -> dict[str, Any]:
        """As plain JSON. Only what is not for classes says so, as folders were made before there was anything else."""
        state = asdict(self)
        return {name: value for name, value in state.items() if name != "task" or value != CLASSIFICATION}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Back from JSON."""
        columns = (
            LiveColumn(**(its | {"categories": None if its["categories"] is None else tuple(its["categories"])}))
            for its in state["columns"]
        )
        return cls(**(state | {"columns": tuple(columns)}))


def definition_of(state: dict[str, Any]) -> bytes:
    """All that was decided, of settings as plain JSON."""
    return _digests.canonical({name: value for name, value in state.items() if name != CAPTURES})
