"""Names of rows and of the people they belong to.

The core knows rows by 64-bit integers. Integers are their own names. A string or UUID is known by a digest of its text,
a function of the name alone, so that a forest does not depend on the order in which names came.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validation import INTEGER, id_array, is_missing
from .errors import CorruptModelError, InvalidInputError, UnknownSubjectError, shown

Name = int | str | UUID
Names = ArrayLike | Iterable[Name] | Name
KINDS: dict[str, type] = {"s": str, "u": UUID}  # of names that are not integers, by the letter that marks them in text


EXACT_IN_DOUBLES = 2**53
NO_NAMES = {"kind": None, "names": None, "subjects": None}  # the state of rows that are named by integers


def settled(names: Any) -> Any:
    """Names that can be read more than once."""
    return list(names) if isinstance(names, Iterator) else names


def name_list(names: Any) -> list[Any]:
    """Names, given one by one or as a single one, as plain values."""
    several = [names] if isinstance(names, str | UUID) or not isinstance(names, Iterable) else names
    return [name.item() if isinstance(name, np.generic) else name for name in several]


def text_of(name: Name) -> str:
    """A name as text that also tells its kind."""
    if isinstance(name, UUID):
        return f"u:{name.hex}"
    return f"s:{name}" if isinstance(name, str) else f"i:{int(name)}"


def are_distinct(names: Sequence[Name]) -> bool:
    """Whether each name is given once.

    Told by texts, whose hashes nobody can foresee. Whoever chooses integers or UUIDs can let all of their hashes
    collide, and a set would take quadratic time.
    """
    return len(set(map(text_of, names))) == len(names)


def name_from(text: str) -> Name:
    """The name that this is the text of."""
    try:
        kind, content = text[:2], text[2:]
        if kind == "u:":
            return UUID(hex=content)
        if kind == "i:":
            return int(content)
    except ValueError:
        kind = ""
    if kind != "s:":
        raise CorruptModelError(f"it has the name {text!r}, which is of no known kind")
    return content


def kind_of(names: Any) -> str | None:
    """The letter of the kind that all these names have; None for integers and for everything that is no name."""
    if isinstance(names, np.ndarray) and names.dtype != object:
        return "s" if names.dtype.kind == "U" else None
    given = name_list(names)
    for letter, kind in KINDS.items():
        if given and all(isinstance(name, kind) for name in given):
            return letter
    return None


class RowNames:
    """The ids of rows as users know them, and the subjects of rows."""

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind
        self.names: dict[int, Name] = {}  # by the core's id, unless integers are their own names
        self.subjects: dict[int, Name] = {}  # by the core's id, of rows that have one
        self.rows_of: dict[str, set[int]] = {}  # the core's ids by the text of the subject

    def core_ids(self, names: Any) -> NDArray[np.int64]:
        """The core's ids of rows with these names, each of which must be given once."""
        if self.kind is None:
            return id_array(names)
        given = name_list(names)
        expected = KINDS[self.kind]
        wrong = [name for name in given if not isinstance(name, expected)]
        if wrong:
            raise InvalidInputError(
                f"The rows of this forest are named by {expected.__name__}, but {shown(map(repr, wrong))} came."
            )
        ending = [name for name in given if isinstance(name, str) and name.endswith("\0")]
        if ending:
            raise InvalidInputError(
                f"Row ids must not end in a zero character, which NumPy drops, but {shown(map(repr, ending))} came."
            )
        if not are_distinct(given):
            twice = [name_from(text) for text, n in Counter(map(text_of, given)).items() if n > 1]
            raise InvalidInputError(
                f"Row ids must be given once each, but {shown(map(str, twice))} came twice or more."
            )
        core_ids = [_digest(name) for name in given]
        for core_id, name in zip(core_ids, given, strict=True):
            if self.names.get(core_id, name) != name:
                raise InvalidInputError(
                    f"The row id {name!r} has the same digest of 64 bits as {self.names[core_id]!r}, a row of this "
                    "forest. That hardly happens by chance: somebody chose these names. Give the row another one."
                )
        return np.array(core_ids, dtype=np.int64)

    def change(
        self,
        leaving: Iterable[int],
        coming: NDArray[np.int64],
        names: Sequence[Name] | None,
        subjects: Sequence[Name] | None,
    ) -> None:
        """Forget rows, then remember others. If that was interrupted anywhere, doing it again completes it."""
        self.forget(leaving)
        if len(coming):
            self.learn(coming, names, subjects)

    def learn(self, core_ids: NDArray[np.int64], names: Sequence[Name] | None, subjects: Sequence[Name] | None) -> None:
        """Remember what new rows are called, and to whom they belong."""
        if self.kind is not None and names is not None:
            self.names.update(zip(core_ids.tolist(), names, strict=True))
        for core_id, subject in zip(core_ids.tolist(), subjects or (), strict=False):
            if subject is None:
                continue
            self.subjects[core_id] = subject
            self.rows_of.setdefault(text_of(subject), set()).add(core_id)

    def forget(self, core_ids: Iterable[int]) -> None:
        """Forget rows, and subjects that have no rows left."""
        if not self.names and not self.subjects:
            return
        for core_id in core_ids:
            self.names.pop(core_id, None)
            subject = self.subjects.get(core_id)
            if subject is None:
                continue
            rows = self.rows_of.get(text_of(subject), set())
            rows.discard(core_id)
            if not rows:
                self.rows_of.pop(text_of(subject), None)
            del self.subjects[core_id]  # at last, as it is the way to the rest if this is done again

    def shown_ids(self, core_ids: Iterable[int]) -> list[Any]:
        """The names of rows, as their user knows them."""
        return [self.names[i] for i in core_ids] if self.kind is not None else list(core_ids)

    def people(self) -> list[Name]:
        """All subjects that have rows."""
        return [name_from(text) for text in self.rows_of]

    def rows_of_subjects(self, subjects: Any) -> NDArray[np.int64]:
        """The core's ids of all rows of these subjects."""
        given = subject_list(subjects)
        unknown = [subject for subject in given if subject is None or text_of(subject) not in self.rows_of]
        if unknown:
            raise UnknownSubjectError(unknown, len(self.rows_of))
        rows = {i for subject in given for i in self.rows_of[text_of(subject)]}
        return np.array(sorted(rows, key=lambda i: self.names.get(i, i)), dtype=np.int64)

    def state(self, core_ids: Sequence[int]) -> dict[str, Any]:
        """Names and subjects of rows in this order, as plain values."""
        subjects = [text_of(self.subjects[i]) if i in self.subjects else None for i in core_ids]
        return {
            "kind": self.kind,
            "names": None if self.kind is None else [text_of(self.names[i]) for i in core_ids],
            "subjects": subjects if self.subjects else None,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], core_ids: Sequence[int]) -> RowNames:
        """The names that `state` wrote for these rows."""
        kind = state.get("kind")
        if set(state) != NO_NAMES.keys():
            raise CorruptModelError(f"its names do not have the entries {', '.join(NO_NAMES)} and no others")
        if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
            raise CorruptModelError(f"its rows have names of the unknown kind {kind!r}")
        if kind is None and state.get("names") is not None:
            raise CorruptModelError("its rows have names of no kind")
        rows = cls(kind)
        names = [name_from(text) for text in _texts(state, "names", len(core_ids))] if kind else []
        try:
            digests = rows.core_ids(names)
        except InvalidInputError as error:
            raise CorruptModelError(f"the names of its rows cannot be used: {str(error).rstrip('.')}") from None
        if kind is not None and digests.tolist() != list(core_ids):
            raise CorruptModelError("the names of its rows belong to other rows")
        rows.names = dict(zip(core_ids, names, strict=False))
        if state.get("subjects") is not None:
            for core_id, text in zip(core_ids, _texts(state, "subjects", len(core_ids)), strict=True):
                if text is not None:
                    rows.learn(np.array([core_id]), None, [name_from(text)])
        return rows


def subject_list(subjects: Any) -> list[Any]:
    """Subjects as plain values: integers, strings or UUIDs, and None for rows that belong to nobody."""
    given = [_subject(name) for name in name_list(subjects)]
    are_sound = (
        name is None or (isinstance(name, (*INTEGER, str, UUID)) and not isinstance(name, bool)) for name in given
    )
    wrong = [name for name, is_sound in zip(given, are_sound, strict=True) if not is_sound]
    if wrong:
        raise InvalidInputError(f"Subjects must be integers, strings or UUIDs, but {shown(map(repr, wrong))} came.")
    return given


def _subject(name: Any) -> Any:
    """A subject as a plain value; tables turn integers into floats when some are missing."""
    if is_missing(name):
        return None
    return int(name) if isinstance(name, float) and name.is_integer() and abs(name) < EXACT_IN_DOUBLES else name


def _digest(name: Any) -> int:
    digest = hashlib.blake2b(text_of(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _texts(state: Mapping[str, Any], key: str, n_rows: int) -> list[Any]:
    texts = state.get(key)
    if not isinstance(texts, list) or len(texts) != n_rows:
        raise CorruptModelError(f"it does not have {key} for {n_rows} rows")
    if any(not isinstance(text, str) and (text is not None or key == "names") for text in texts):
        raise CorruptModelError(f"its {key} are not texts")
    return texts
