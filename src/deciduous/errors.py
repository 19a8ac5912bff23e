"""What can go wrong, in the user's words. Each error is also the builtin that fits it."""

from __future__ import annotations

from collections.abc import Iterable


def shown(values: Iterable[object], at_most: int = 5) -> str:
    """The first few values, for a message."""
    texts = [str(value) for value in values]
    more = len(texts) - at_most
    return ", ".join(texts[:at_most]) + (f" and {more} more" if more > 0 else "")


class DeciduousError(Exception):
    """Base of all errors of this package."""


class InvalidInputError(DeciduousError, ValueError):
    """Data, ids or parameters that cannot be used; nothing was changed."""


class UnknownRowError(DeciduousError, KeyError):
    """Rows that the forest does not hold; nothing was changed."""

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
    """Subjects without rows in the forest; nothing was changed."""

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
    """Ids of rows to add that the forest already holds; nothing was changed."""

    def __init__(self, ids: Iterable[object]) -> None:
        self.ids = tuple(ids)
        super().__init__(
            f"The forest already holds the rows {shown(self.ids)}. Nothing was changed. "
            "Delete them first to replace them, or leave `ids` out to get fresh ones (and the index of a pandas table: "
            "`reset_index(drop=True)`)."
        )


class EmptyForestError(DeciduousError, ValueError):
    """A prediction asked of a forest whose rows have all been deleted."""

    def __init__(self) -> None:
        super().__init__("The forest holds no rows, so it cannot predict: all of them were deleted. Add rows first.")


class FrozenForestError(DeciduousError, AttributeError):
    """Something asked of a frozen forest that only a forest with its training rows can do."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A frozen forest has no `{name}`: it only predicts. It holds no training rows, no ids and no counts, so "
            "rows can be neither deleted nor added, and nothing can be trained, traced or verified. Use the forest "
            "that was frozen; to take rows out of a frozen forest, delete them there and freeze it again."
        )


class CorruptModelError(DeciduousError, ValueError):
    """A file or bytes that no release of this package would have written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"This is not a model that can be loaded: {reason}.")


class LinkedFileError(DeciduousError, OSError):
    """A file that has other names, which would keep its old content; nothing was written."""

    def __init__(self, path: object, n_names: int, other: object | None) -> None:
        where = f"one of them is {other}" if other is not None else "the others are in other folders"
        super().__init__(
            f"{path} is one of {n_names} names of the same file (hard links); {where}. To replace it would leave the "
            "old content, deleted rows included, under the other names. Nothing was written. Remove the other names, "
            "or save under a new one and remove them all."
        )


class FolderError(DeciduousError, ValueError):
    """A folder that does not hold a live forest, or already holds one."""


class UnknownRequestError(DeciduousError, KeyError):
    """The id of a request that a live forest never received."""

    def __init__(self, id: object) -> None:
        self.id = id
        super().__init__(id)

    def __str__(self) -> str:
        return f"There is no request {self.id!r}. `requests` lists those that were received."


class CorruptRecordError(FolderError):
    """A folder of a live forest whose record is not what was written there."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"The record of this live forest is damaged: {problem}. Restore state.db from a backup, or create the live "
            "forest anew in another folder."
        )


class FolderInUseError(DeciduousError, RuntimeError):
    """A folder that another process, or another object of this one, has open."""

    def __init__(self, folder: object, holder: str) -> None:
        super().__init__(
            f"The live forest in {folder} is open elsewhere ({holder}), and only one at a time may sync it. Close that "
            "one, or wait until it is done. `deciduous.live.read_record` reads receipts and requests meanwhile."
        )


class FolderBusyError(DeciduousError, TimeoutError):
    """A folder whose `state.db` another program has locked for longer than we wait; nothing is left half done."""

    def __init__(self, path: object, seconds: float) -> None:
        super().__init__(
            f"Another program has {path} locked, a backup or a browser of databases perhaps, and still had it after "
            f"{seconds:g} seconds. Let it finish, or end it, and try again: what could not be done is done then."
        )


class SchemaChangedError(DeciduousError, ValueError):
    """Columns that are not what they were when the live forest was made; nothing was changed."""

    def __init__(self, column: str, what: str, way_out: str) -> None:
        self.column = column
        super().__init__(f"Column {column!r} {what}. Nothing was changed. {way_out}")
