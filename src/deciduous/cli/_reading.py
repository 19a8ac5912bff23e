"""Rows from files and databases, batch by batch, as Arrow columns of the types that are asked for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from .._progress import bar
from .._tables.arrow import ROWS_AT_A_TIME, ArrowSource, is_arrow
from .._tables.csv import CsvForm, CsvSource
from .._tables.files import File, Report, require_distinct, types_of
from .._tables.values import converted, guessed_type, plain_type, text_of
from ..errors import InvalidInputError, shown
from ._databases import require_database, without_password
from ._output import note, shows_bars

ROWS_TO_GUESS_FROM = 1000
CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc", ".arrows")

Types = Mapping[str, Any]  # names of columns to Arrow types, in the order of the columns


class Source(Protocol):
    """Something that holds rows. Steps are what a bar counts: bytes or rows."""

    name: str
    is_typed: bool  # rather than all text

    @property
    def decimal(self) -> str:
        """What separates the whole part of a number from the rest."""
        ...

    def types(self) -> dict[str, Any]:
        """The columns, each with the type that it is said to be of."""
        ...

    def n_steps(self) -> int:
        """How many steps reading takes."""
        ...

    def batches(self, names: list[str], report: Report) -> Generator[Any]:
        """Record batches with these columns, as they are."""
        ...


def source_of(where: str, table: str | None = None, query: str | None = None, form: CsvForm | None = None) -> Source:
    """The source that a path or a URL means; - is the standard input."""
    from ..export import imported

    imported("pyarrow", "cli")
    source = _source_of(where, table, query, form or CsvForm())
    if form and not isinstance(source, CsvSource):
        raise InvalidInputError(f"--sep, --decimal and --encoding are for CSV, but {source.name} is something else.")
    return source


def _source_of(where: str, table: str | None, query: str | None, form: CsvForm) -> Source:
    if "://" in where:
        if (table is None) == (query is None):
            raise InvalidInputError(f"{without_password(where)} is a database: say what to read by --table or --query.")
        return _SqlSource(where, table, query)
    if table is not None or query is not None:
        raise InvalidInputError(f"--table and --query are for databases, but {where} is a file.")
    if where == "-":
        return _given_source(sys.stdin.buffer.read(), form)
    path = Path(where)
    if path.is_dir():
        raise InvalidInputError(f"{where} is a folder. Name a file in it.")
    if not path.is_file():
        raise InvalidInputError(f"There is no file {where}. Databases are named as in sqlite:///clinic.db.")
    lower = path.name.lower()
    if lower.endswith(PARQUET_SUFFIXES):
        return _ParquetSource(where)
    if lower.endswith(ARROW_SUFFIXES):
        return ArrowSource(where)
    if lower.endswith(CSV_SUFFIXES):
        return CsvSource(where, form=form, tell=note)
    known = shown((*CSV_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES), 20)
    raise InvalidInputError(f"What is in {where} cannot be told from its name. Files that can be read end in {known}.")


def _given_source(content: bytes, form: CsvForm) -> Source:
    """What came by the standard input, which has no name that tells what it is."""
    name = "The standard input"
    if content.startswith(b"PAR1"):
        return _ParquetSource(name, content)
    if is_arrow(content):
        return ArrowSource(name, content)
    return CsvSource(name, content, form, note)


def columns_of(source: Source) -> dict[str, Any]:
    """The columns of a source, each named once, with the types that they seem to be of."""
    import pyarrow as pa

    with _naming(source):
        types = {name: plain_type(kind) for name, kind in source.types().items()}
        texts = [name for name, kind in types.items() if pa.types.is_string(kind)]
        for name, column in _first_rows(source, texts).items():
            types[name] = guessed_type(column, is_typed=source.is_typed, decimal=source.decimal)
    if not types:
        raise InvalidInputError(f"{source.name} has no columns.")
    return types


def _first_rows(source: Source, names: list[str]) -> dict[str, Any]:
    """The first rows of columns of text; none if there are no rows."""
    import pyarrow as pa

    if not names:
        return {}
    with closing(source.batches(names, lambda _: None)) as batches:
        for first in batches:
            return {name: converted(name, first.column(name), pa.string()) for name in names}
    return {}


@dataclass(frozen=True)
class Terms:
    """How columns are to be read, beside their types."""

    is_guess: bool = False  # of the types: what does not fit is to be told
    known: Mapping[str, Collection[str]] = field(default_factory=dict)  # texts that are values, not missing ones
    spelled: Mapping[str, Any] = field(default_factory=dict)  # types of what text spells out

    def of(self, name: str) -> dict[str, Any]:
        """Those of a column."""
        return {"is_guess": self.is_guess, "known": self.known.get(name, ()), "spelled": self.spelled.get(name)}


@contextmanager
def reading(source: Source, types: Types, terms: Terms) -> Iterator[Iterator[Any]]:
    """The batches of a source as columns of these types, with a bar if somebody sees it."""
    with _naming(source):
        n_steps = source.n_steps()
    with bar("Reading", n_steps, shows_bars(), "bytes") as report:
        yield _batches(source, types, terms, report or (lambda _: None))


def _batches(source: Source, types: Types, terms: Terms, report: Report) -> Iterator[Any]:
    import pyarrow as pa

    with _naming(source):  # here, where no error of those who use the batches can come
        for batch in source.batches(list(types), report):
            columns = [
                converted(name, batch.column(name), kind, decimal=source.decimal, **terms.of(name))
                for name, kind in types.items()
            ]
            yield pa.record_batch(columns, names=list(types))


@contextmanager
def _naming(source: Source) -> Iterator[None]:
    """Errors of reading with the name of what was read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise InvalidInputError(f"{source.name} cannot be read: {' '.join(str(error).split()).rstrip(' .')}.") from None


# --------------------------------------------------------------------------------------------------------------- files


class _ParquetSource(File):
    def types(self) -> dict[str, Any]:
        with self._reader() as file:
            return types_of(file.schema_arrow, self.name)

    def n_steps(self) -> int:
        with self._reader() as file:
            return int(file.metadata.num_rows)

    def batches(self, names: list[str], report: Report) -> Generator[Any]:
        n_done = 0
        with self._reader() as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=names):
                n_done += batch.num_rows
                report(n_done)
                yield batch

    def _reader(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.opened() if self.content is not None else self.name)


def parquet_file(source: Source) -> str | None:
    """The path of a Parquet file, which others may read as well; None of any other source."""
    return source.name if isinstance(source, _ParquetSource) and source.content is None else None


# ----------------------------------------------------------------------------------------------------------- databases


class _SqlSource:
    is_typed = True
    decimal = "."

    def __init__(self, url: str, table: str | None, query: str | None) -> None:
        require_database(url, "A path from / has four slashes before it: sqlite:////data/clinic.db.")
        from ..live._source import Source as Selectable
        from ..live._source import connected

        self.name = table or "the query"
        self._source = Selectable(connected(url), table, query)

    def types(self) -> dict[str, Any]:
        with self._source.reading() as connection:
            names = self._source.column_names(connection)
            require_distinct(names, self.name)
            rows = connection.execute(self._selected(names).limit(ROWS_TO_GUESS_FROM)).all()
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return {name: _array(values).type for name, values in zip(names, columns, strict=True)}

    def n_steps(self) -> int:
        import sqlalchemy as sa

        with self._source.reading() as connection:
            names = self._source.column_names(connection)
            query = sa.select(sa.func.count()).select_from(self._source.selectable(names))
            return int(connection.execute(query).scalar_one())

    def batches(self, names: list[str], report: Report) -> Generator[Any]:
        import pyarrow as pa

        n_done = 0
        streaming = {"stream_results": True, "yield_per": ROWS_AT_A_TIME}
        with (
            self._source.reading() as connection,
            connection.execute(self._selected(names), execution_options=streaming) as result,
        ):
            for rows in result.partitions():
                n_done += len(rows)
                report(n_done)
                yield pa.record_batch([_array(values) for values in zip(*rows, strict=True)], names=names)

    def _selected(self, names: list[str]) -> Any:
        import sqlalchemy as sa

        return sa.select(*self._source.selectable(names).c)


def _array(values: Sequence[Any]) -> Any:
    """Values of a database, of the type that they have in common, or as text."""
    import pyarrow as pa

    plain = [_plain(value) for value in values]
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        numbers = [its for its in plain if its is not None]
        if all(isinstance(its, bool | int | float) for its in numbers):  # truth values beside numbers
            return pa.array([None if its is None else float(its) for its in plain])
        return pa.array([None if its is None else text_of(its) for its in plain], pa.string())


def _plain(value: Any) -> Any:
    """A value of a database as Arrow knows it."""
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if type(value).__name__ == "UUID" else value
