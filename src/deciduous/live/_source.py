"""The table, view or query that the forest is a view of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .._core import StandardFloats
from ..errors import InvalidInputError, SchemaChangedError, shown
from ._settings import LiveColumn, Settings

BLANK_PADDED = 1042  # the number of the type CHAR(n) of PostgreSQL
CHUNK = 10_000  # rows in memory as Python values
KEYS = 500  # values in one statement
Take = Callable[[Sequence[Sequence[Any]]], None]  # called with a batch of rows
NAME = r'"(?:[^"]|"")+"|[^".][^.]*'  # of a table or schema, in quotes if it has a dot


def stored_url(url: str) -> str:
    """The address of a database as it is kept: without a password, and the same from any working directory."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
        parsed = parsed.set(database=str(Path(str(parsed.database)).resolve()))
    if parsed.password is not None:
        parsed = sa.URL.create(
            parsed.drivername, parsed.username, None, parsed.host, parsed.port, parsed.database, parsed.query
        )
    return parsed.render_as_string(hide_password=False)


def connected(url: str) -> sa.Engine:
    """An engine whose deletions are overwritten where the database can do that."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise InvalidInputError("A live forest needs a database that lasts, but this one is in memory. Name a file.")
    if parsed.drivername == "postgresql":  # SQLAlchemy would take psycopg 2
        parsed = parsed.set(drivername="postgresql+psycopg")
    # Without parameters in messages and logs: they are ids and names of people.
    try:
        engine = sa.create_engine(parsed, poolclass=sa.NullPool, hide_parameters=True)
    except ModuleNotFoundError as error:
        raise _without_driver(parsed, str(error.name)) from None
    except sa.exc.NoSuchModuleError:
        raise InvalidInputError(
            f"There is no kind of database {parsed.drivername!r}. SQLite and PostgreSQL are what deciduous is tested "
            "with: sqlite:///clinic.db, postgresql://me@host/clinic."
        ) from None
    if engine.dialect.name == "sqlite":

        @sa.event.listens_for(engine, "connect")
        def _overwrite_what_is_deleted(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA secure_delete=ON")

    elif engine.dialect.driver == "psycopg":
        from psycopg.types.string import TextLoader

        class WithoutPadding(TextLoader):
            """CHAR(n) as PostgreSQL compares it: the blanks that fill it up are not part of the text."""

            def load(self, data: Any) -> Any:
                return super().load(bytes(data).rstrip(b" "))

        @sa.event.listens_for(engine, "connect")
        def _leave_out_padding(connection: Any, _: Any) -> None:
            connection.adapters.register_loader("bpchar", WithoutPadding)

    return engine


def _without_driver(url: sa.URL, module: str) -> ImportError:
    if module == "psycopg":
        return ImportError("This needs psycopg. Install it with: pip install 'deciduous[postgres]'")
    return ImportError(
        f"This needs the driver {module} for databases of the kind {url.get_backend_name()!r}, which is not installed. "
        "SQLite and PostgreSQL are what deciduous is tested with."
    )


class Source:
    """Where rows come from, with the columns that are read."""

    def __init__(self, engine: sa.Engine, table: str | None, query: str | None) -> None:
        if (table is None) == (query is None):
            raise InvalidInputError("Give either `table`, the name of a table or view, or `query`.")
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._query = None if query is None else _as_text(query)
        self.schema, self.name = (None, "") if table is None else _names(table)

    @classmethod
    def of(cls, engine: sa.Engine, settings: Settings) -> Source:
        """The source of a live forest."""
        return cls(engine, settings.table, settings.query)

    @property
    def troubles(self) -> tuple[type[Exception], ...]:
        """Errors of a database that is locked, restarts, or cannot be reached: it may be well again later."""
        driver: Any = self.engine.dialect.dbapi
        return (sa.exc.OperationalError, sa.exc.InterfaceError, driver.OperationalError, driver.InterfaceError)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile.

        What is read becomes numbers and digests on the way, in the arithmetic of the definition.
        """
        with self._transaction("REPEATABLE READ", "BEGIN") as connection, StandardFloats():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction, to which making and dropping tables and triggers belong."""
        with self._transaction("READ COMMITTED", "BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, level: str, sqlite_begin: str) -> Iterator[sa.Connection]:
        if not self.is_sqlite:
            with self.engine.connect().execution_options(isolation_level=level) as connection, connection.begin():
                yield connection
            return
        # The driver would begin with the first change to a row only, and leave out what is read or made before.
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            driver: Any = connection.connection.driver_connection
            connection.exec_driver_sql(sqlite_begin)
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # Some errors end it, and an interrupt while rows are fetched ends the connection.
                if not connection.invalidated and driver.in_transaction:
                    connection.exec_driver_sql("ROLLBACK")
                raise

    def selectable(self, columns: Sequence[str]) -> sa.FromClause:
        """What rows are selected from."""
        parts: list[sa.ColumnClause[Any]] = [sa.column(name) for name in columns]
        if self._query is None:
            return sa.table(self.name, *parts, schema=self.schema)
        return sa.text(self._query).columns(*parts).subquery("deciduous_source")

    def column_names(self, connection: sa.Connection) -> list[str]:
        """All columns of the source."""
        if self._query is None:
            self._require_there(sa.inspect(connection))
            everything: Any = sa.select(sa.text("*")).select_from(sa.table(self.name, schema=self.schema))
        else:
            everything = sa.select(sa.text("*")).select_from(sa.text(f"({self._query}) AS deciduous_source"))
        return list(connection.execute(everything.limit(0)).keys())

    def read(
        self,
        connection: sa.Connection,
        settings: Settings,
        take: Take,
        among: sa.Select[Any] | Sequence[Any] | None = None,
    ) -> None:
        """Let somebody take the rows that have a label, in batches; those of the ids that `among` has, if given."""
        names = settings.source_columns
        source = self.selectable(list(dict.fromkeys(names)))
        query = sa.select(*(source.c[name] for name in names)).where(source.c[settings.target].is_not(None))
        if among is not None:
            query = query.where(source.c[settings.id].in_(among))
        streaming = {"stream_results": True, "yield_per": CHUNK}
        with connection.execute(query, execution_options=streaming) as result:
            for batch in result.partitions():
                take([tuple(row) for row in batch])

    def count(self, connection: sa.Connection, settings: Settings) -> int:
        """The number of rows that have a label."""
        source = self.selectable([settings.target])
        query = sa.select(sa.func.count()).select_from(source).where(source.c[settings.target].is_not(None))
        return int(connection.execute(query).scalar_one())

    def subjects_without_label(self, connection: sa.Connection, settings: Settings) -> list[Any]:
        """The subjects of rows that the forest does not see, because they have no label."""
        source = self.selectable([str(settings.subject), settings.target])
        people, target = source.c[str(settings.subject)], source.c[settings.target]
        query = sa.select(people).distinct().where(target.is_(None), people.is_not(None))
        return list(connection.execute(query).scalars())

    def fills_with_blanks(self, connection: sa.Connection, column: str) -> bool:
        """Whether blanks at the end of this column's values count for nothing: CHAR(n) of PostgreSQL."""
        if self.is_sqlite:
            return False
        with connection.execute(sa.select(self.selectable([column]).c[column]).limit(0)) as result:
            return any(its.type_code == BLANK_PADDED for its in getattr(result.cursor, "description", None) or ())

    def without_idle_names(self, connection: sa.Connection, settings: Settings, column: LiveColumn) -> LiveColumn:
        """The column, with the names of categories forgotten that no row has."""
        source = self.selectable(list(dict.fromkeys([column.name, settings.target])))
        query = sa.select(source.c[column.name]).distinct().where(source.c[settings.target].is_not(None))
        present = set(connection.execute(query).scalars())
        names = tuple(name if name in present else None for name in column.categories or ())
        return replace(column, categories=names)

    def delete_subject(self, settings: Settings, subject: Any) -> int:
        """Delete all rows of a subject from the table. Returns how many there were."""
        people: sa.ColumnClause[Any] = sa.column(str(settings.subject))
        source = sa.table(self.name, people, schema=self.schema)
        with self.writing() as connection:
            return int(connection.execute(sa.delete(source).where(people == subject)).rowcount)

    def require_table(self, purpose: str, connection: sa.Connection | None = None) -> None:
        """Raises unless the source is a table."""
        if self._query is None:
            inspector = sa.inspect(self.engine if connection is None else connection)
            self._require_there(inspector)
            if self._is_among(inspector.get_table_names(schema=self.schema)):
                return
        kind = "view" if self._query is None else "query"
        raise InvalidInputError(
            f"The source is a {kind}, and only a table is something to {purpose}. Change the tables that "
            "it reads, and sync."
        )

    def _require_there(self, inspector: sa.Inspector) -> None:
        if self.schema is not None and self.schema not in (schemas := inspector.get_schema_names()):
            raise InvalidInputError(f"There is no schema {self.schema!r}. There are {shown(schemas, 20)}.")
        if not inspector.has_table(self.name, schema=self.schema):
            there = [*inspector.get_table_names(schema=self.schema), *inspector.get_view_names(schema=self.schema)]
            raise InvalidInputError(f"There is no table or view {self.name!r}. There are {shown(there, 20) or 'none'}.")

    def _is_among(self, names: Sequence[str]) -> bool:
        if self.is_sqlite:  # to which Patients and patients are the same
            return self.name.lower() in map(str.lower, names)
        return self.name in names

    def leave_nothing(self, *, rewrite: bool) -> str | None:
        """Clear what deletions left in files of the database, where that can be done; what is left to do, in words."""
        if not self.is_sqlite:
            return "The database may hold the deleted rows in pages and logs until they are vacuumed: see docs/live.md."
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            try:
                if rewrite:
                    connection.exec_driver_sql("VACUUM")
                elif _has_journal(connection):
                    _clear_journal(connection)
                is_busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar() == 1
                is_busy = is_busy or _has_journal(connection)
            except sa.exc.OperationalError:
                is_busy = True
        if is_busy:
            return (
                "The database was busy, and its free pages, log or journal may hold the deleted rows: VACUUM it when "
                "nobody else uses it."
            )
        return None


def _has_journal(connection: sa.Connection) -> bool:
    """Whether there is a journal of SQLite with something in it.

    That of `journal_mode=PERSIST` stays when a transaction ends, with the rows as they were before.
    """
    _, _, file = next(row for row in connection.exec_driver_sql("PRAGMA database_list") if row[1] == "main")
    journal = Path(f"{file}-journal")
    return journal.exists() and journal.stat().st_size > 0


def _clear_journal(connection: sa.Connection) -> None:
    """A transaction of ours, which changes nothing, ends with the removal of the journal. Nobody else may remove it."""
    driver: Any = connection.connection.driver_connection
    with suppress(sa.exc.OperationalError):  # whoever is busy with it
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        connection.exec_driver_sql("COMMIT")
    if driver.in_transaction:
        connection.exec_driver_sql("ROLLBACK")


def _names(table: str) -> tuple[str | None, str]:
    """The schema, if there is one, and the name that a user gives as one text."""
    parts = re.fullmatch(f"(?:({NAME})\\.)?({NAME})", table)
    if parts is None:
        raise InvalidInputError(
            f"`table` must be a name, or a schema and a name with a dot between them, but is {table!r}. Put a name "
            'that has a dot itself in double quotes: "my.table".'
        )
    schema, name = (_unquoted(part) if part else None for part in parts.groups())
    return schema, str(name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _as_text(query: str) -> str:
    """A query to be put in brackets: it may end with a comment, and a colon in it is no parameter."""
    return query.strip().rstrip(";").replace(":", "\\:") + "\n"


def require_same_columns(settings: Settings, found: Sequence[str]) -> None:
    """Raises if a column that is read is gone, or one came that would have been read."""
    for name in settings.source_columns:
        if name not in found:
            raise SchemaChangedError(
                name,
                f"is gone from {settings.source_name}",
                f"Bring it back, or create the live forest anew. There are the columns {shown(found, 20)}.",
            )
    if settings.takes_all_columns:
        for name in found:
            if name not in settings.source_columns:
                raise SchemaChangedError(
                    name,
                    f"of {settings.source_name} is new, and the forest was made without it",
                    "Create the live forest anew to use it. One that is made with `columns=` ignores all others.",
                )
