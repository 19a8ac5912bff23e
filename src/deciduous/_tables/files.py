"""Files that rows are read from, or their content where it came by the standard input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInputError

Report = Callable[[int], None]


class ColumnTwiceError(InvalidInputError):
    """Raised when two columns have one name."""


@dataclass
class File:
    """A file, or bytes that have the name of where they come from."""

    name: str
    content: bytes | None = None
    is_typed = True
    decimal = "."

    def opened(self) -> Any:
        """The bytes, as a file of Arrow's own.

        It is never closed by us: threads read ahead of what we have seen, and go on doing so after an error. In a file
        of Python's they would meet an interpreter that is ending.
        """
        import pyarrow as pa

        return pa.OSFile(self.name) if self.content is None else pa.BufferReader(self.content)


def types_of(schema: Any, where: str) -> dict[str, Any]:
    """The types of the columns by their names, which must be distinct."""
    require_distinct(schema.names, where)
    return dict(zip(schema.names, schema.types, strict=True))


def require_distinct(names: list[str], where: str) -> None:
    """Raises if two columns have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnTwiceError(f"{where} has more than one column {twice[0]!r}. Name each column once.")
