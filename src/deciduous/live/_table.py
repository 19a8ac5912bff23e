"""Rows that somebody without SQL of their own puts into the table of a live forest, or takes out of it.

The table stays the source of truth: all of this is SQL, in one transaction, and the forest follows with the next sync.
Messages name columns and places of the rows that were given, never values or ids: they end up in logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

import sqlalchemy as sa

from .._core import StandardFloats
from .._row_names import are_distinct
from .._validation import LARGEST_ID
from ..errors import InvalidInputError, SchemaChangedError, TakenIdsError, UnknownIdsError, shown
from ._given import named_columns
from ._rows import Encoder
from ._source import KEYS, Source
from ._state import State

ONE_CHANGE = "deciduous_change"  # of several in a transaction
Turn = Callable[[], AbstractContextManager[None]]


class LiveTable:
    """The table of a live forest. What is changed here is in the forest after the next `sync`."""

    def __init__(
        self, source: Source, encoder: Encoder, state: State, turn: Turn, shared: sa.Connection | None = None
    ) -> None:
        self._source = source
        self._encoder = encoder
        self._settings = encoder.settings
        self._state = state
        self._turn = turn
        self._shared = shared  # of a transaction for several changes

    @contextmanager
    def together(self) -> Iterator[Self]:
        """Make several changes within the block, in one transaction, which takes less time than one for each.

        Each of them is made in full or, if it raises, not at all. They are on the disk when the block has ended.
        """
        with self._turn(), self._source.writing() as connection:
            yield type(self)(self._source, self._encoder, self._state, self._turn, connection)

    def insert(self, rows: Any) -> int:
        """Insert rows, all of them or none. Returns how many.

        They are a pandas, polars or pyarrow table, or a list of dicts, with all columns that the forest reads and no
        others than the table has. Rows whose target is missing are inserted, and the forest leaves them out.

        If a sync could not take one of them, such as text in a column of numbers, none is inserted. For that they are
        read back in the same transaction: a database may make something else of what it is given.
        """
        columns = named_columns(rows, self._settings.source_columns)
        ids = columns[self._settings.id] = self.ids(columns[self._settings.id])
        if self._settings.subject is not None:
            people = columns[self._settings.subject]
            columns[self._settings.subject] = [its if its is None else self._encoder.subject(its) for its in people]
        with self._turn(), _as_of_rows_given(), self._change() as connection:
            self._source.require_table("insert into", connection)
            self._require_columns(connection, list(columns))
            self._require_sound(columns)
            self._require_free(connection, ids)
            names, values = list(columns), zip(*columns.values(), strict=True)
            given = [dict(zip(names, row, strict=True)) for row in values]
            table = self._named(names)
            connection.execute(sa.insert(table), given)
            self._read_back(connection, ids)
        return len(ids)

    def delete(self, ids: Sequence[Any], *, vacuum: bool = True) -> int:
        """Delete rows, all of them or none. Returns how many.

        With SQLite, the next sync then rewrites the file (`vacuum`), as `LiveForest.erase` does.
        """
        known = self.ids(ids)
        table = self._named([self._settings.id])
        with self._turn(), _as_of_rows_given(), self._change() as connection:
            self._source.require_table("delete from", connection)
            self._require_there(connection, known)
            for some in _chunks(known):
                connection.execute(sa.delete(table).where(table.c[self._settings.id].in_(some)))
            if vacuum and self._source.is_sqlite:  # before it commits: the process may end right after
                self._state.table_is_to_be_rewritten = True
        return len(known)

    def ids_of(self, subject: Any) -> list[Any]:
        """Return the ids of all rows of a subject."""
        name = self._encoder.subject(subject)
        source = self._source.selectable([self._settings.id, str(self._settings.subject)])
        query = sa.select(source.c[self._settings.id]).where(source.c[str(self._settings.subject)] == name)
        with self._source.reading() as connection:
            return list(connection.execute(query).scalars())

    def ids(self, given: Sequence[Any]) -> list[Any]:
        """Ids as the table has them, each given once; UUIDs may come as text."""
        ids = [self._encoder.row_id(its) for its in given]
        wrong = [
            place
            for place, its in enumerate(ids)
            if its is None
            or (isinstance(its, int) and abs(its) > LARGEST_ID)
            or (isinstance(its, str) and its.endswith("\0"))
        ]
        if wrong:
            raise InvalidInputError(
                f"Rows are named by {self._encoder.kind_of_ids} in the column {self._settings.id!r}, but something "
                f"else came as the id of the rows at the places {shown(wrong)}, counted from 0. Nothing was changed."
            )
        if not are_distinct(ids):
            raise InvalidInputError("The same id came for several rows. Nothing was changed. Give each row once.")
        return ids

    @contextmanager
    def _change(self) -> Iterator[sa.Connection]:
        """A transaction, or a part of one that is undone alone."""
        if self._shared is None:
            with self._source.writing() as connection:
                yield connection
            return
        self._shared.exec_driver_sql(f"SAVEPOINT {ONE_CHANGE}")
        try:
            yield self._shared
        except BaseException:
            self._shared.exec_driver_sql(f"ROLLBACK TO SAVEPOINT {ONE_CHANGE}")
            raise
        finally:
            self._shared.exec_driver_sql(f"RELEASE SAVEPOINT {ONE_CHANGE}")

    # --------------------------------------------------------------------------------------------------------- checking

    def _require_columns(self, connection: sa.Connection, given: Sequence[str]) -> None:
        found = self._source.column_names(connection)
        unknown = [name for name in given if name not in found]
        if unknown:
            raise InvalidInputError(
                f"The table has no column {unknown[0]!r}. Nothing was changed. There are {shown(found, 20)}."
            )

    def _require_free(self, connection: sa.Connection, ids: Sequence[Any]) -> None:
        held = self._held(connection, ids)
        if held:
            raise TakenIdsError(place for place, id in enumerate(ids) if id in held)

    def _require_there(self, connection: sa.Connection, ids: Sequence[Any]) -> None:
        held = self._held(connection, ids)
        if len(held) < len(ids):
            raise UnknownIdsError(place for place, id in enumerate(ids) if id not in held)

    def _held(self, connection: sa.Connection, ids: Sequence[Any]) -> set[Any]:
        """Those of these ids that the table has, whether or not the rows have a label."""
        column = self._named([self._settings.id]).c[self._settings.id]
        held: set[Any] = set()
        for some in _chunks(ids):
            held.update(connection.execute(sa.select(column).where(column.in_(some))).scalars())
        return held

    def _require_sound(self, columns: dict[str, list[Any]]) -> None:
        """Raises if the forest cannot take rows that have a label: before a database says it in words of its own."""
        rows = list(zip(*(columns[name] for name in self._settings.source_columns), strict=True))
        target = self._settings.source_columns.index(self._settings.target)
        with StandardFloats():
            self._encoder.encoded([row for row in rows if row[target] is not None])

    def _read_back(self, connection: sa.Connection, ids: Sequence[Any]) -> None:
        """Raises if a sync could not take what the database has made of the rows."""

        def take(rows: Sequence[Sequence[Any]]) -> None:
            self._encoder.encoded(rows)

        with StandardFloats():
            for some in _chunks(ids):
                self._source.read(connection, self._settings, take, among=some)

    def _named(self, columns: Sequence[str]) -> sa.TableClause:
        return sa.table(self._source.name, *map(sa.column, columns), schema=self._source.schema)


def _chunks(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (ids[begin : begin + KEYS] for begin in range(0, len(ids), KEYS))


@contextmanager
def _as_of_rows_given() -> Iterator[None]:
    """Errors about the table, as errors about the rows that were given; without what the database says of values."""
    try:
        yield
    except SchemaChangedError as error:
        raise InvalidInputError(
            f"The rows do not have in the column {error.column!r} what the forest reads there: numbers where there "
            "were numbers, text where there was text. Nothing was changed."
        ) from None
    except (sa.exc.IntegrityError, sa.exc.DataError, sa.exc.ProgrammingError, OverflowError, UnicodeError) as error:
        what = "a constraint" if isinstance(error, sa.exc.IntegrityError) else "the type of a column"
        raise InvalidInputError(
            f"The database refuses the rows: {what} of the table does not allow them. Nothing was changed."
        ) from None
