"""Change capture: triggers that write the ids of changed rows, and nothing else, into a table beside the source.

Triggers do not see everything: a backup that is restored, a partition that is attached, rows that were changed while
they were switched off. What can tell that there was such a thing is kept as a *stamp*, and if it is not the one of the
last sync, all rows are compared. Some of it leaves no trace, so that is also done once a day.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import sqlalchemy as sa

from ..errors import InvalidInputError
from . import _clock
from ._source import KEYS, Source

EVENTS = ("insert", "update", "delete")
TRUSTED_FOR = 24 * 3600  # seconds without a comparison of all rows


@dataclass(frozen=True)
class Stamp:
    """By which a sync knows whether its table can be the one of the last sync, with the changes that were captured."""

    definition: str  # another one after each change of the definition of the table, its partitions or the triggers
    mark: str  # written into the database by each sync that found entries: a backup that is restored has another
    compared: float  # when all rows were last compared, in seconds since 1970

    def as_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str | None) -> Self | None:
        """Back from JSON; None if it is something else, or old."""
        try:
            stamp = cls(**json.loads(text or "null"))
            is_fresh = abs(_clock.now().timestamp() - stamp.compared) < TRUSTED_FOR
        except (TypeError, ValueError, RecursionError):
            return None
        return stamp if is_fresh else None


@dataclass(frozen=True)
class Captured:
    """Ids of rows that may have changed. None means that any row may have."""

    numbers: list[int] = field(default_factory=list)  # of the entries, to remove them afterwards
    ids: list[Any] | None = None
    definition: str = ""
    mark: str = ""

    def stamp(self, last: Stamp | None) -> Stamp:
        """That of a table that is in sync now, after a comparison of all rows if there is no last one."""
        mark = secrets.token_hex(8) if self.numbers or not self.mark else self.mark
        return Stamp(self.definition, mark, _clock.now().timestamp() if last is None else last.compared)


class Capture:
    """The triggers of one live forest. An entry without an id says that any row may have changed.

    Everything has one name, made of letters that need no care in statements: a table may be called what it likes.
    """

    def __init__(self, source: Source, id: str, token: str) -> None:
        self._source = source
        self._id = id
        self.name = f"deciduous_{re.sub(r'[^a-zA-Z0-9]', '_', source.name[:30])}_{token}"
        self._triggers = [f"{self.name}_{what}" for what in (EVENTS if source.is_sqlite else ("row", "truncate"))]
        columns: list[sa.ColumnClause[Any]] = [sa.column("number"), sa.column("id"), sa.column("mark")]
        self._log = sa.table(self.name, *columns, schema=source.schema)

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
            if not self._source.is_sqlite:
                self._enable_always(connection)
            connection.execute(sa.insert(self._log).values(id=None))

    def remove(self) -> None:
        """Remove all that `install` made."""
        with self._source.writing() as connection:
            self._remove(connection)

    def is_installed(self, connection: sa.Connection) -> bool:
        """Whether all triggers are there, and on: a table that was made anew has lost them."""
        query = sa.text(SQLITE_TRIGGERS if self._source.is_sqlite else POSTGRES_TRIGGERS)
        found = set(connection.execute(query.columns(sa.column("name")), self._values).scalars())
        return found.issuperset(self._triggers)

    def captured(self, connection: sa.Connection, last: Stamp | None) -> Captured:
        """All entries that can be seen. They are all changes since the last sync if its stamp is that of the table."""
        entries = connection.execute(sa.select(self._log)).all()
        marks = [entry.mark for entry in entries if entry.mark is not None]
        changes = [entry for entry in entries if entry.mark is None]
        definition, mark = self._definition(connection), marks[0] if len(marks) == 1 else ""
        ids = {repr(entry.id): entry.id for entry in changes}.values()  # by texts, whose hashes nobody can foresee
        is_complete = (
            None not in ids and last is not None and (last.definition, last.mark) == (definition, mark) and mark != ""
        )
        return Captured([entry.number for entry in changes], list(ids) if is_complete else None, definition, mark)

    def _definition(self, connection: sa.Connection) -> str:
        if self._source.is_sqlite:
            return str(connection.exec_driver_sql("PRAGMA schema_version").scalar_one())
        definition = connection.execute(sa.text(POSTGRES_DEFINITION), self._values).scalar_one()
        return hashlib.blake2b(str(definition).encode(), digest_size=16).hexdigest()

    @property
    def _values(self) -> dict[str, Any]:
        names = dict(zip(("row", "truncate"), self._triggers, strict=False))
        return {"table": self._source.name, "schema": self._schema} | ({} if self._source.is_sqlite else names)

    def after_vacuum(self, stamp: Stamp) -> Stamp:
        """SQLite counts its `VACUUM` as a change of definitions."""
        return replace(stamp, definition=str(int(stamp.definition) + 1)) if self._source.is_sqlite else stamp

    def ids(self) -> sa.Select[Any]:
        """A query of the captured ids."""
        return sa.select(self._log.c.id).where(self._log.c.mark.is_(None))

    def clear(self, captured: Captured, stamp: Stamp) -> None:
        """Remove entries that were dealt with, and no others, as some may have come since; and leave the mark."""
        if not captured.numbers and captured.mark == stamp.mark:
            return
        with self._source.writing() as connection:
            for begin in range(0, len(captured.numbers), KEYS):
                numbers = captured.numbers[begin : begin + KEYS]
                connection.execute(sa.delete(self._log).where(self._log.c.number.in_(numbers)))
            connection.execute(sa.delete(self._log).where(self._log.c.mark.is_not(None)))
            connection.execute(sa.insert(self._log).values(mark=stamp.mark))

    def _statements(self) -> list[str]:
        if self._source.is_sqlite:
            return [
                "CREATE TABLE {log} (number INTEGER PRIMARY KEY, id, mark TEXT)",
                *map(_sqlite_trigger, self._triggers, EVENTS),
            ]
        row, truncate = self._triggers
        return [
            "CREATE TABLE {log} AS SELECT {id} AS id FROM {table} WHERE false",
            "ALTER TABLE {log} ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ADD COLUMN mark text",
            POSTGRES_FUNCTION,
            f'CREATE TRIGGER "{row}" AFTER INSERT OR UPDATE OR DELETE ON {{table}} '
            "FOR EACH ROW EXECUTE FUNCTION {function}()",
            f'CREATE TRIGGER "{truncate}" AFTER TRUNCATE ON {{table}} '
            "FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def _enable_always(self, connection: sa.Connection) -> None:
        """Also for sessions that replicate or restore, which switch ordinary triggers off, if we own the table."""
        with suppress(sa.exc.ProgrammingError), connection.begin_nested():
            for trigger in self._triggers:
                statement = f'ALTER TABLE {{table}} ENABLE ALWAYS TRIGGER "{trigger}"'
                connection.exec_driver_sql(statement.format(**self._names))

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
# The table and its partitions, if it has any.
POSTGRES_TREE = """
WITH RECURSIVE tree AS (
    SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relname = :table AND nspname = :schema
    UNION ALL SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = tree.oid
)
"""
# Those of the table, unless they do not see all its rows: they are off for a partition, a partition is a foreign table,
# or other tables inherit from it, which have triggers of their own.
POSTGRES_TRIGGERS = (
    POSTGRES_TREE
    + """
SELECT tgname AS name FROM pg_trigger WHERE tgrelid = (SELECT oid FROM tree LIMIT 1) AND tgenabled IN ('A', 'O')
AND NOT EXISTS (SELECT FROM pg_trigger its JOIN tree ON its.tgrelid = tree.oid
    WHERE its.tgname IN (:row, :truncate) AND its.tgenabled NOT IN ('A', 'O'))
AND NOT EXISTS (SELECT FROM pg_class JOIN tree USING (oid)
    WHERE relkind = 'f' OR (relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = pg_class.oid)))
"""
)
# A table that is written anew has another file, a column that is dropped and added another number, and an entry of a
# catalog that was changed, such as a trigger that was switched off and on, another transaction.
POSTGRES_DEFINITION = (
    POSTGRES_TREE
    + """
SELECT concat_ws('; ',
    (SELECT string_agg(concat_ws(' ', oid, relfilenode), ', ' ORDER BY oid) FROM pg_class JOIN tree USING (oid)),
    (SELECT string_agg(concat_ws(' ', inhrelid, inhparent, pg_inherits.xmin), ', ' ORDER BY inhrelid, inhparent)
        FROM pg_inherits JOIN tree ON inhparent = tree.oid),
    (SELECT string_agg(concat_ws(' ', pg_trigger.oid, tgenabled, pg_trigger.xmin), ', ' ORDER BY pg_trigger.oid)
        FROM pg_trigger JOIN tree ON tgrelid = tree.oid WHERE tgname IN (:row, :truncate)),
    (SELECT string_agg(concat_ws(' ', attnum, attname, atttypid, atttypmod), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = (SELECT oid FROM tree LIMIT 1) AND attnum > 0 AND NOT attisdropped))
"""
)

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
