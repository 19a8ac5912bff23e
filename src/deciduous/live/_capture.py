"""Change capture: triggers that write the ids of changed rows, and nothing else, into a table beside the source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from ..errors import InvalidInputError
from ._source import KEYS, Source

EVENTS = ("insert", "update", "delete")


@dataclass(frozen=True)
class Captured:
    """Ids of rows that may have changed. None means that any row may have."""

    numbers: list[int]  # of the entries, to remove them afterwards
    ids: list[Any] | None


class Capture:
    """The triggers of one live forest. An entry without an id says that any row may have changed."""

    def __init__(self, source: Source, id: str, token: str) -> None:
        self._source = source
        self._id = id
        self.name = f"deciduous_{source.name[:30]}_{token}"
        self._log = sa.table(self.name, sa.column("number"), sa.column("id"), schema=source.schema)

    @cached_property
    def _quoted(self) -> dict[str, str]:
        """Names as statements have them. With the schema, as the function of PostgreSQL looks nowhere else."""
        source = self._source
        quote = source.engine.dialect.identifier_preparer.quote
        schema = source.schema
        if schema is None and not source.is_sqlite:
            schema = sa.inspect(source.engine).default_schema_name
        prefix = "" if schema is None else f"{quote(schema)}."
        return {
            "log": prefix + quote(self.name),
            "table": prefix + quote(source.name),
            "function": prefix + quote(self.name),
            "id": quote(self._id),
        }

    def install(self) -> None:
        """Begin to capture. What changed before is found by comparing, once."""
        self._source.require_table("capture changes of")
        with self._source.writing() as connection:
            if self.is_installed(connection):
                return
            self._remove(connection)
            for statement in self._statements():
                connection.exec_driver_sql(statement.format(**self._quoted))
            connection.execute(sa.insert(self._log).values(id=None))

    def remove(self) -> None:
        """Remove all that `install` made."""
        with self._source.writing() as connection:
            self._remove(connection)

    def is_installed(self, connection: sa.Connection) -> bool:
        """Whether all triggers are there: a table that was made anew has lost them."""
        if self._source.is_sqlite:
            query = (
                "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE :name "
                "AND lower(tbl_name) = lower(:table)"
            )
            values = {"table": self._source.name, "name": f"{self.name}%"}
            return bool(connection.execute(sa.text(query), values).scalar_one() == len(EVENTS))
        query = (
            "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass(:table) AND tgname LIKE :name "
            "AND tgenabled <> 'D'"
        )
        values = {"table": self._quoted["table"], "name": f"{self.name}%"}
        return bool(connection.execute(sa.text(query), values).scalar_one() == 2)

    def captured(self, connection: sa.Connection) -> Captured:
        """All entries that can be seen."""
        entries = connection.execute(sa.select(self._log.c.number, self._log.c.id)).all()
        ids = {entry.id for entry in entries}
        return Captured([entry.number for entry in entries], None if None in ids else list(ids))

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
                *(_sqlite_trigger(self.name, event) for event in EVENTS),
            ]
        if self._source.engine.dialect.name != "postgresql":
            raise InvalidInputError(
                f"Capture works with SQLite and PostgreSQL, and not with {self._source.engine.dialect.name}. "
                "Without it, changes are found by comparing."
            )
        row, truncate = (f"{self.name}_{what}" for what in ("row", "truncate"))
        return [
            "CREATE TABLE {log} AS SELECT {id} AS id FROM {table} WHERE false",
            "ALTER TABLE {log} ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            POSTGRES_FUNCTION.replace("CHANNEL", self.name),
            f'CREATE TRIGGER "{row}" AFTER INSERT OR UPDATE OR DELETE ON {{table}} '
            "FOR EACH ROW EXECUTE FUNCTION {function}()",
            f'CREATE TRIGGER "{truncate}" AFTER TRUNCATE ON {{table}} '
            "FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def _remove(self, connection: sa.Connection) -> None:
        if self._source.is_sqlite:
            for event in EVENTS:
                connection.exec_driver_sql(f'DROP TRIGGER IF EXISTS "{self.name}_{event}"')
        else:  # and with the function its triggers
            connection.exec_driver_sql("DROP FUNCTION IF EXISTS {function}() CASCADE".format(**self._quoted))
        connection.exec_driver_sql("DROP TABLE IF EXISTS {log}".format(**self._quoted))


def _sqlite_trigger(name: str, event: str) -> str:
    rows = {"insert": ["NEW"], "update": ["OLD", "NEW"], "delete": ["OLD"]}[event]
    inserts = " ".join(f"INSERT INTO {{log}} (id) VALUES ({row}.{{id}});" for row in rows)
    return f'CREATE TRIGGER "{name}_{event}" AFTER {event.upper()} ON {{table}} BEGIN {inserts} END'


# Runs with the rights of its owner, so that whoever may change the table needs none on the log.
POSTGRES_FUNCTION = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
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
    PERFORM pg_notify('CHANNEL', '');
    RETURN NULL;
END $$
"""
