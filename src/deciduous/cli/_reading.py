"""Rows from files and databases, batch by batch, as Arrow columns of the types that are asked for.

A column *misfits* if it holds a value that is not of the type asked for: files of text tell only in the end what is
in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from .._progress import bar
from ..errors import InvalidInputError, shown
from ._databases import require_database, without_password
from ._output import note, shows_bars

CSV_BLOCK = 2**20  # bytes that are parsed at a time; several are read ahead
ROWS_AT_A_TIME = 2**16
ROWS_TO_GUESS_FROM = 1000
SEPARATORS = ",;\t|"
CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc", ".arrows")

Types = Mapping[str, Any]  # names of columns to Arrow types, in the order of the columns
Report = Callable[[int], None]


class MisfitError(Exception):
    """A column that holds something else than was asked for."""

    def __init__(self, column: str, reason: str) -> None:
        self.column = column
        self.reason = reason
        super().__init__(column)


class Source(Protocol):
    """Something that holds rows. Steps are what a bar counts: bytes or rows."""

    name: str

    def types(self) -> dict[str, Any]:
        """The columns, with types that the first rows suggest."""
        ...

    def n_steps(self) -> int:
        """How many steps reading takes."""
        ...

    def batches(self, types: Types, report: Report) -> Iterator[Any]:
        """Record batches with these columns."""
        ...


def source_of(where: str, table: str | None = None, query: str | None = None) -> Source:
    """The source that a path or a URL means."""
    from ..export import imported

    imported("pyarrow", "cli")
    if "://" in where:
        if (table is None) == (query is None):
            raise InvalidInputError(f"{without_password(where)} is a database: say what to read by --table or --query.")
        return _SqlSource(where, table, query)
    if table is not None or query is not None:
        raise InvalidInputError(f"--table and --query are for databases, but {where} is a file.")
    path = Path(where)
    if path.is_dir():
        raise InvalidInputError(f"{where} is a folder. Name a file in it.")
    if not path.is_file():
        raise InvalidInputError(f"There is no file {where}. Databases are named as in sqlite:///clinic.db.")
    lower = path.name.lower()
    if lower.endswith(PARQUET_SUFFIXES):
        return _ParquetSource(path)
    if lower.endswith(ARROW_SUFFIXES):
        return _ArrowSource(path)
    if lower.endswith(CSV_SUFFIXES):
        return _CsvSource(path)
    known = shown((*CSV_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES), 20)
    raise InvalidInputError(f"What is in {where} cannot be told from its name. Files that can be read end in {known}.")


def columns_of(source: Source) -> dict[str, Any]:
    """The columns of a source, each named once."""
    with _naming(source):
        types = source.types()
    if not types:
        raise InvalidInputError(f"{source.name} has no columns.")
    return types


@contextmanager
def reading(source: Source, types: Types) -> Iterator[Iterator[Any]]:
    """The batches of a source, with a bar if somebody sees it."""
    with _naming(source):
        n_steps = source.n_steps()
    with bar("Reading", n_steps, shows_bars(), "bytes") as report:
        yield _batches(source, types, report or (lambda _: None))


def _batches(source: Source, types: Types, report: Report) -> Iterator[Any]:
    with _naming(source):  # here, where no error of those who use the batches can come
        yield from source.batches(types, report)


@contextmanager
def _naming(source: Source) -> Iterator[None]:
    """Errors of reading with the name of what was read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise InvalidInputError(f"{source.name} cannot be read: {str(error).rstrip('.')}.") from None


def _require_distinct(names: list[str], where: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{where} has more than one column {twice[0]!r}. Name each column once.")


# --------------------------------------------------------------------------------------------------------------- files


@dataclass
class _File:
    path: Path

    def __post_init__(self) -> None:
        self.name = str(self.path)


class _CsvSource(_File):
    def types(self) -> dict[str, Any]:
        reader, _ = self._opened(None)
        types = _types_of(reader.schema, self.name)
        for name, kind in types.items():
            if str(kind) == "binary":
                raise InvalidInputError(
                    f"Column {name!r} of {self.name} is not UTF-8. Convert the file, as in "
                    f"iconv -f latin1 -t utf-8 {self.name}."
                )
        return types

    def n_steps(self) -> int:
        return self.path.stat().st_size

    def batches(self, types: Types, report: Report) -> Iterator[Any]:
        import pyarrow as pa

        try:
            reader, position = self._opened(types)
            for batch in reader:
                report(position())
                yield batch.select(list(types))
        except pa.ArrowInvalid as error:
            found = re.match(r"In CSV column #(\d+): (?:Row #\d+: )?(.*)", str(error), re.DOTALL)
            if found is None:
                raise
            raise MisfitError(list(self.types())[int(found[1])], found[2]) from None  # counted in the file

    def _opened(self, types: Types | None) -> tuple[Any, Callable[[], int]]:
        """A reader, and how many bytes of the file it has seen."""
        import pyarrow as pa
        from pyarrow import csv

        chosen = {"include_columns": list(types), "column_types": dict(types)} if types is not None else {}
        # A file of Arrow's own, which is never closed by us: threads read ahead of what we have seen, and go on doing
        # so after an error. In a file of Python's they would meet an interpreter that is ending.
        file = pa.OSFile(str(self.path))
        reader = csv.open_csv(
            pa.CompressedInputStream(file, "gzip") if self._is_compressed else file,
            read_options=csv.ReadOptions(block_size=CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True, **chosen),
        )
        return reader, file.tell

    @property
    def _is_compressed(self) -> bool:
        return self.name.lower().endswith(".gz")

    @cached_property
    def _separator(self) -> str:
        import pyarrow as pa

        with pa.input_stream(str(self.path), "gzip" if self._is_compressed else None) as stream:
            begin = stream.read(2**16).decode("utf-8-sig", "replace").lstrip()
        if not begin:
            raise InvalidInputError(f"{self.name} is empty. The first line of a CSV file names the columns.")
        header, *_ = begin.splitlines()
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)
        if separator != ",":
            note(f"Columns of {self.name} are separated by {separator!r}.")
        return separator


class _ParquetSource(_File):
    def types(self) -> dict[str, Any]:
        with self._opened() as file:
            return _types_of(file.schema_arrow, self.name)

    def n_steps(self) -> int:
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def batches(self, types: Types, report: Report) -> Iterator[Any]:
        n_done = 0
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(types)):
                n_done += batch.num_rows
                report(n_done)
                yield _cast(batch, types)

    def _opened(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.path)


class _ArrowSource(_File):
    def types(self) -> dict[str, Any]:
        with self._opened() as (schema, _):
            return _types_of(schema, self.name)

    def n_steps(self) -> int:
        with self._opened() as (_, batches):
            return sum(batch.num_rows for batch in batches)

    def batches(self, types: Types, report: Report) -> Iterator[Any]:
        n_done = 0
        with self._opened() as (_, batches):
            for batch in batches:
                for begin in range(0, batch.num_rows, ROWS_AT_A_TIME):
                    part = batch.slice(begin, ROWS_AT_A_TIME)
                    n_done += part.num_rows
                    report(n_done)
                    yield _cast(part, types)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The schema and the batches, of a file or of a stream."""
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as mapped:
            try:
                file = pa.ipc.open_file(mapped)
            except pa.ArrowInvalid:
                file = None
            if file is not None:
                yield file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
                return
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            yield stream.schema, iter(stream)


def _types_of(schema: Any, where: str) -> dict[str, Any]:
    _require_distinct(schema.names, where)
    return dict(zip(schema.names, schema.types, strict=True))


def _cast(batch: Any, types: Types) -> Any:
    """The batch with columns of these types."""
    import pyarrow as pa

    columns = []
    for name, kind in types.items():
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        try:
            columns.append(column.cast(kind, safe=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise MisfitError(name, str(error)) from None
    return pa.record_batch(columns, names=list(types))


# ----------------------------------------------------------------------------------------------------------- databases


class _SqlSource:
    def __init__(self, url: str, table: str | None, query: str | None) -> None:
        require_database(url, "A path from / has four slashes before it: sqlite:////data/clinic.db.")
        from ..live._source import Source as Selectable
        from ..live._source import connected

        self.name = table or "the query"
        self._source = Selectable(connected(url), table, query)

    def types(self) -> dict[str, Any]:
        import pyarrow as pa

        with self._source.reading() as connection:
            names = self._source.column_names(connection)
            _require_distinct(names, self.name)
            rows = connection.execute(self._selected(names).limit(ROWS_TO_GUESS_FROM)).all()
        types = {}
        for name, values in zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True):
            try:
                types[name] = pa.array([_plain(value) for value in values]).type
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                types[name] = pa.string()
        return types

    def n_steps(self) -> int:
        import sqlalchemy as sa

        with self._source.reading() as connection:
            names = self._source.column_names(connection)
            query = sa.select(sa.func.count()).select_from(self._source.selectable(names))
            return int(connection.execute(query).scalar_one())

    def batches(self, types: Types, report: Report) -> Iterator[Any]:
        import pyarrow as pa

        n_done = 0
        streaming = {"stream_results": True, "yield_per": ROWS_AT_A_TIME}
        with self._source.reading() as connection:
            for rows in connection.execute(self._selected(list(types)), execution_options=streaming).partitions():
                columns = zip(types.items(), zip(*rows, strict=True), strict=True)
                arrays = [_array(name, kind, values) for (name, kind), values in columns]
                n_done += len(rows)
                report(n_done)
                yield pa.record_batch(arrays, names=list(types))

    def _selected(self, names: list[str]) -> Any:
        import sqlalchemy as sa

        return sa.select(*self._source.selectable(names).c)


def _plain(value: Any) -> Any:
    """A value of a database as Arrow knows it."""
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if type(value).__name__ == "UUID" else value


def _array(name: str, kind: Any, values: tuple[Any, ...]) -> Any:
    import pyarrow as pa

    plain = [_plain(value) for value in values]
    if pa.types.is_string(kind):
        plain = [None if value is None else str(value) for value in plain]
    elif pa.types.is_floating(kind):
        plain = [int(value) if isinstance(value, bool) else value for value in plain]
    try:
        return pa.array(plain, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise MisfitError(name, str(error)) from None
