"""Change capture: triggers that write the ids of changed rows, and nothing else, into a table beside the source."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from ..errors import InvalidInputError
from ._source import KEYS, Source

EVENTS = ("insert", "update", "delete")


@dataclass(frozen=True)
class Captured:
    """Ids of rows that may have changed. None means that any row may have."""

    numbers: list[int] = field(default_factory=list)  # of the entries, to remove them afterwards
    ids: list[Any] | None = None
    stamp: str | None = None  # of the definition of the table, if there are triggers


class Capture:
    """The triggers of one live forest. An entry without an id says that any row may have changed.

    Everything has one name, made of letters that need no care in statements: a table may be called what it likes.
    """

    def __init__(self, source: Source, id: str, token: str) -> None:
        self._source = source
        self._id = id
        self.name = f"deciduous_{re.sub(r'[^a-zA-Z0-9]', '_', source.name[:30])}_{token}"
        self._triggers = [f"{self.name}_{what}" for what in (EVENTS if source.is_sqlite else ("row", "truncate"))]
        self._log = sa.table(self.name, sa.column("number"), sa.column("id"), schema=source.schema)

    @cached_property
    def _schema(self) -> str | None:
        """Named also where it is the default: the function of PostgreSQL looks nowhere else."""
        if self._source.schema is None and not self._source.is_sqlite:
            return sa.inspect(self._source.engine).default_schema_name
        return self._source.schema

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names as statements have them."""
        quote = self._source.engine.dialect.identifier_preparer.quote
        prefix = "" if self._schema is None else f"{quote(self._schema)}."
        return {
            "log": prefix + quote(self.name),
            "table": prefix + quote(self._source.name),
            "function": prefix + quote(self.name),
            "id": quote(self._id),
            "channel": self.name,
        }

    def install(self) -> None:
        """Begin to capture. What changed before is found by comparing, once."""
        with self._source.writing() as connection:
            if self.is_installed(connection):
                return
            self._remove(connection)
            for statement in self._statements():
                connection.exec_driver_sql(statement.format(**self._names))
            connection.execute(sa.insert(self._log).values(id=None))

    def remove(self) -> None:
        """Remove all that `install` made."""
        with self._source.writing() as connection:
            self._remove(connection)

    def is_installed(self, connection: sa.Connection) -> bool:
        """Whether all triggers are there: a table that was made anew has lost them."""
        query = sa.text(SQLITE_TRIGGERS if self._source.is_sqlite else POSTGRES_TRIGGERS)
        values = {"table": self._source.name, "schema": self._schema}
        found = set(connection.execute(query.columns(sa.column("name")), values).scalars())
        return found.issuperset(self._triggers)

    def captured(self, connection: sa.Connection, last_stamp: str | None) -> Captured:
        """All entries that can be seen.

        Whoever changes the definition of a table can change its rows, and fires no trigger: any may have changed if the
        stamp is not the last one.
        """
        entries = connection.execute(sa.select(self._log.c.number, self._log.c.id)).all()
        ids, stamp = {entry.id for entry in entries}, self._stamp(connection)
        is_complete = None not in ids and stamp == last_stamp
        return Captured([entry.number for entry in entries], list(ids) if is_complete else None, stamp)

    def _stamp(self, connection: sa.Connection) -> str:
        """Something that is another after each change of the definition of the table."""
        if self._source.is_sqlite:
            return str(connection.exec_driver_sql("PRAGMA schema_version").scalar_one())
        values = {"table": self._source.name, "schema": self._schema}
        return str(connection.execute(sa.text(POSTGRES_STAMP), values).scalar_one())

    def stamp_after_vacuum(self, stamp: str | None) -> str | None:
        """SQLite counts its `VACUUM` as a change of definitions."""
        return str(int(stamp) + 1) if stamp is not None and self._source.is_sqlite else stamp

    def ids(self) -> sa.Select[Any]:
        """A query of the captured ids."""
        return sa.select(self._log.c.id)

    def clear(self, captured: Captured) -> None:
        """Remove entries that were dealt with, and no others: some may have come since."""
        if not captured.numbers:
            return
        with self._source.writing() as connection:
            for begin in range(0, len(captured.numbers), KEYS):
                numbers = captured.numbers[begin : begin + KEYS]
                connection.execute(sa.delete(self._log).where(self._log.c.number.in_(numbers)))

    def _statements(self) -> list[str]:
        if self._source.is_sqlite:
            return [
                "CREATE TABLE {log} (number INTEGER PRIMARY KEY, id)",
                *map(_sqlite_trigger, self._triggers, EVENTS),
            ]
        row, truncate = self._triggers
        return [
            "CREATE TABLE {log} AS SELECT {id} AS id FROM {table} WHERE false",
            "ALTER TABLE {log} ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            POSTGRES_FUNCTION,
            f'CREATE TRIGGER "{row}" AFTER INSERT OR UPDATE OR DELETE ON {{table}} '
            "FOR EACH ROW EXECUTE FUNCTION {function}()",
            f'CREATE TRIGGER "{truncate}" AFTER TRUNCATE ON {{table}} '
            "FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def _remove(self, connection: sa.Connection) -> None:
        if self._source.is_sqlite:
            for trigger in self._triggers:
                connection.exec_driver_sql(f'DROP TRIGGER IF EXISTS "{trigger}"')
        else:  # and with the function its triggers
            connection.exec_driver_sql("DROP FUNCTION IF EXISTS {function}() CASCADE".format(**self._names))
        connection.exec_driver_sql("DROP TABLE IF EXISTS {log}".format(**self._names))


def require_capturable(source: Source) -> None:
    """Raises unless triggers can be put on the source."""
    source.require_table("capture changes of")
    if source.engine.dialect.name not in ("sqlite", "postgresql"):
        raise InvalidInputError(
            f"Capture works with SQLite and PostgreSQL, and not with {source.engine.dialect.name}. "
            "Without it, changes are found by comparing."
        )


def _sqlite_trigger(name: str, event: str) -> str:
    rows = {"insert": ["NEW"], "update": ["OLD", "NEW"], "delete": ["OLD"]}[event]
    inserts = " ".join(f"INSERT INTO {{log}} (id) VALUES ({row}.{{id}});" for row in rows)
    return f'CREATE TRIGGER "{name}" AFTER {event.upper()} ON {{table}} BEGIN {inserts} END'


SQLITE_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(:table)"
POSTGRES_TRIGGERS = """
SELECT tgname AS name FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relname = :table AND nspname = :schema AND tgenabled <> 'D'
"""
# A table that is written anew has another file, and a column that is dropped and added another number.
POSTGRES_STAMP = """
SELECT concat(relfilenode, ' ', (
    SELECT string_agg(concat(attnum, ' ', attname, ' ', atttypid, ' ', atttypmod), ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped))
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = :table AND nspname = :schema
"""

# Runs with the rights of its owner, so that whoever may change the table needs none on the log.
POSTGRES_FUNCTION = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $capture$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO {log} (id) VALUES (NULL);
    END IF;
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        INSERT INTO {log} (id) VALUES (OLD.{id});
    END IF;
    IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND NEW.{id} IS DISTINCT FROM OLD.{id}) THEN
        INSERT INTO {log} (id) VALUES (NEW.{id});
    END IF;
    PERFORM pg_notify('{channel}', '');
    RETURN NULL;
END $capture$
"""
