"""Errors of this package. Each is also a subclass of the builtin exception that fits it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown(values: Iterable[object], at_most: int = 5) -> str:
    """The first few values, for a message."""
    texts = [str(value) for value in values]
    more = len(texts) - at_most
    return ", ".join(texts[:at_most]) + (f" and {more} more" if more > 0 else "")


class DeciduousError(Exception):
    """Base class of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from another process as they are, whatever their `__init__` takes."""
        return _same_error, (type(self), self.args, self.__dict__)


def _same_error(kind: type[DeciduousError], arguments: tuple[Any, ...], state: dict[str, Any]) -> DeciduousError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class InvalidInputError(DeciduousError, ValueError):
    """Raised when data, ids or parameters are invalid. Nothing was changed."""


class OutOfBagError(InvalidInputError, AttributeError):
    """Raised by out-of-bag attributes if every row is in every tree. Also an `AttributeError`, for `hasattr`."""

    def __init__(self, max_samples: object, n_trees: int) -> None:
        is_share = isinstance(max_samples, float) and max_samples < 1
        way_out = "with more trees, or a smaller max_samples" if is_share else "with max_samples below 1"
        trees = f" ({n_trees} in all)" if is_share else ""
        super().__init__(
            f"The forest was fitted with max_samples={max_samples!r}, which puts every row into every tree{trees}, so "
            f"no tree can be tested on rows that it has not seen: fit {way_out}."
        )


class OtherTaskError(InvalidInputError, AttributeError):
    """Raised when a live forest is asked for what only the other task has. Also an `AttributeError`, for `hasattr`."""


class UnknownRowError(DeciduousError, KeyError):
    """Raised when rows are not in the forest. Nothing was changed."""

    def __init__(self, ids: Iterable[object], n_rows: int) -> None:
        self.ids = tuple(ids)
        self.n_rows = n_rows
        super().__init__(self.ids)

    def __str__(self) -> str:
        return (
            f"The forest does not hold the rows {shown(self.ids)}: deleted before, or never added. "
            f"Nothing was changed. `ids_` lists the {self.n_rows} rows it holds."
        )


class UnknownSubjectError(DeciduousError, KeyError):
    """Raised when subjects have no rows in the forest. Nothing was changed."""

    def __init__(self, subjects: Iterable[object], n_subjects: int) -> None:
        self.subjects = tuple(subjects)
        self.n_subjects = n_subjects
        super().__init__(self.subjects)

    def __str__(self) -> str:
        return (
            f"The forest holds no rows of {shown(self.subjects)}: deleted before, or never added. "
            f"Nothing was changed. It holds rows of {self.n_subjects} subjects."
        )


class RowExistsError(InvalidInputError):
    """Raised when ids of rows to add are already in the forest. Nothing was changed."""

    def __init__(self, ids: Iterable[object]) -> None:
        self.ids = tuple(ids)
        super().__init__(
            f"The forest already holds the rows {shown(self.ids)}. Nothing was changed. "
            "Delete them first to replace them, or leave `ids` out to get fresh ones (and the index of a pandas table: "
            "`reset_index(drop=True)`)."
        )


class TakenIdsError(InvalidInputError):
    """Raised when rows for the table of a live forest have ids that it holds already. Nothing was changed."""

    def __init__(self, places: Iterable[int]) -> None:
        self.places = tuple(places)
        super().__init__(
            f"The table already holds rows with the ids of those at the places {shown(self.places)}, counted from 0. "
            "Nothing was changed. Delete them first to replace them."
        )


class UnknownIdsError(InvalidInputError):
    """Raised when a live forest, or its table, does not hold rows with the given ids. Nothing was changed."""

    def __init__(self, places: Iterable[int]) -> None:
        self.places = tuple(places)
        super().__init__(
            f"There are no rows with the ids at the places {shown(self.places)}, counted from 0: deleted before, or "
            "never there. Nothing was changed."
        )


class EmptyForestError(DeciduousError, ValueError):
    """Raised by predictions of a forest whose rows have all been deleted."""

    def __init__(self) -> None:
        super().__init__("The forest holds no rows, so it cannot predict: all of them were deleted. Add rows first.")


class FrozenForestError(DeciduousError, AttributeError):
    """Raised when a frozen forest is asked for something that needs training rows."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A frozen forest has no `{name}`: it only predicts. It holds no training rows, no ids and no counts, so "
            "rows can be neither deleted nor added, and nothing can be trained, traced or verified. Use the forest "
            "that was frozen; to take rows out of a frozen forest, delete them there and freeze it again."
        )


class CorruptModelError(DeciduousError, ValueError):
    """Raised for a file or bytes that no release of this package would have written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"This is not a model that can be loaded: {reason}.")


class LinkedFileError(DeciduousError, OSError):
    """Raised when a file has other names (hard links) that would keep its old content. Nothing was written."""

    def __init__(self, path: object, n_names: int, other: object | None) -> None:
        where = f"one of them is {other}" if other is not None else "the others are in other folders"
        super().__init__(
            f"{path} is one of {n_names} names of the same file (hard links); {where}. To replace it would leave the "
            "old content, deleted rows included, under the other names. Nothing was written. Remove the other names, "
            "or save under a new one and remove them all."
        )


class FolderError(DeciduousError, ValueError):
    """Raised when a folder does not hold a live forest, or already holds one."""


class UnknownRequestError(DeciduousError, KeyError):
    """Raised when a live forest never received a request with this id."""

    def __init__(self, id: object) -> None:
        self.id = id
        super().__init__(id)

    def __str__(self) -> str:
        return f"There is no request {self.id!r}. `requests` lists those that were received."


class CorruptRecordError(FolderError):
    """Raised when the record of a live forest is not what was written."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"The record of this live forest is damaged: {problem}. Restore state.db from a backup, or create the live "
            "forest anew in another folder."
        )


class EvidenceError(DeciduousError, ValueError):
    """Raised when signed statements, a log of anchors, or what opens a statement are not what they should be."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The evidence does not hold: {problem}.")


class FolderInUseError(DeciduousError, RuntimeError):
    """Raised when another process, or another object in this process, has the folder open."""

    def __init__(self, folder: object, holder: str) -> None:
        super().__init__(
            f"The live forest in {folder} is open elsewhere ({holder}), and only one at a time may sync it. Close that "
            "one, or wait until it is done. `deciduous.live.read_record` reads receipts and requests meanwhile."
        )


class FolderBusyError(DeciduousError, TimeoutError):
    """Raised when another program keeps `state.db` of a folder locked for too long. Nothing is left half done."""

    def __init__(self, path: object, seconds: float) -> None:
        super().__init__(
            f"Another program has {path} locked, a backup or a browser of databases perhaps, and still had it after "
            f"{seconds:g} seconds. Let it finish, or end it, and try again: what could not be done is done then."
        )


class SchemaChangedError(DeciduousError, ValueError):
    """Raised when columns differ from those the live forest was created with. Nothing was changed."""

    def __init__(self, column: str, what: str, way_out: str) -> None:
        self.column = column
        super().__init__(f"Column {column!r} {what}. Nothing was changed. {way_out}")
