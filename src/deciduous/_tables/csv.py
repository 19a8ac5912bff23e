"""CSV: text, with a separator, an encoding and a decimal point that are told by looking, unless the user says them."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, cast

import numpy as np

from ..errors import InvalidInputError
from .files import File, Report, types_of
from .values import without_missing

BLOCK = 2**20  # bytes that are parsed at a time; several are read ahead
BEGINNING = 2**16  # bytes that are looked at
SEPARATORS = ",;\t|"
NAMES_OF_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
# Of which the first ones begin as a later one does.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
GZIP = b"\x1f\x8b"
WITH_COMMA = r"^\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*$"
WITHOUT_COMMA = r"^\s*[+-]?[0-9]+\s*$"


@dataclass(frozen=True)
class CsvForm:
    """How a file is written, as far as the user says so."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    @classmethod
    def checked(cls, separator: str | None, decimal: str | None, encoding: str | None) -> CsvForm:
        """What the options say, if it can be meant."""
        separator = None if separator is None else NAMES_OF_SEPARATORS.get(separator, separator)
        if separator is not None and (len(separator.encode("utf-8", "replace")) != 1 or separator in '"\r\n'):
            raise InvalidInputError(f"--sep is one character, such as ; or tab, but is {separator!r}.")
        if decimal not in (None, ".", ","):
            raise InvalidInputError(f"--decimal is . or , but is {decimal!r}.")
        if decimal is not None and decimal == separator:
            raise InvalidInputError(f"--sep and --decimal are both {decimal!r}, but they must differ.")
        if encoding is not None:
            _require_encoding(encoding)
        return cls(separator, decimal, encoding)

    def __bool__(self) -> bool:
        return self != CsvForm()


def _require_encoding(name: str) -> None:
    try:
        is_text = codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise InvalidInputError(f"There is no encoding {name!r}. Common ones are utf-8, latin1, cp1252 and utf-16.")


@dataclass
class CsvSource(File):
    """A CSV file, all of whose columns are text."""

    form: CsvForm = CsvForm()
    tell: Callable[[str], None] = lambda _: None  # what was guessed
    is_typed = False

    def types(self) -> dict[str, Any]:
        """The columns, which are all of text."""
        import pyarrow as pa

        with self._telling():
            reader, _ = self._reader(None)
        return dict.fromkeys(types_of(reader.schema, self.name), pa.string())

    def n_steps(self) -> int:
        """Bytes."""
        return os.path.getsize(self.name) if self.content is None else len(self.content)

    def batches(self, names: list[str], report: Report) -> Generator[Any]:
        """Record batches with these columns, as text."""
        with self._telling():
            reader, position = self._reader(list(self.types()))  # a quote in any other column swallows rows, too
            are_closed = False
            for batch in reader:
                report(position())
                if not are_closed and any(_has_line_ends(column) for column in batch.columns):
                    self._require_closed_quotes()
                    are_closed = True  # in all of the file
                yield batch.select(names)
            if self._last_line.count('"') % 2:
                self._require_closed_quotes()

    @property
    def decimal(self) -> str:  # type: ignore[override]
        """What separates the whole part of a number from the rest."""
        return self._decimal

    def _reader(self, names: list[str] | None) -> tuple[Any, Any]:
        """A reader, and how many bytes it has seen."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        is_plain = codecs.lookup(self._encoding).name == "utf-8"
        file = self.opened() if is_plain else pa.BufferReader(self._transcoded)
        types = {} if names is None else {"include_columns": names, "column_types": dict.fromkeys(names, pa.string())}
        reader = arrow_csv.open_csv(
            pa.CompressedInputStream(file, "gzip") if self._is_compressed and is_plain else file,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(strings_can_be_null=False, **types),
        )
        return reader, file.tell

    # ------------------------------------------------------------------------------------------------------- by looking

    @cached_property
    def _is_compressed(self) -> bool:
        if self.content is None:
            return self.name.lower().endswith(".gz")
        return self.content.startswith(GZIP)

    def _raw(self) -> BinaryIO:
        """The bytes, once more, as a file of Python's."""
        source: Any = self.name if self.content is None else io.BytesIO(self.content)
        if self._is_compressed:
            return cast(BinaryIO, gzip.open(source))
        return open(source, "rb") if self.content is None else cast(BinaryIO, source)

    @cached_property
    def _transcoded(self) -> bytes:
        """All of it in UTF-8. Arrow would ask Python for that in threads, which hang if the interpreter is ending."""
        with self._raw() as file:
            return file.read().decode(self._encoding).encode()

    @cached_property
    def _beginning(self) -> bytes:
        try:
            with self._raw() as file:
                return file.read(BEGINNING)
        except EOFError:  # of a compressed file that is cut off
            return b"?"

    @cached_property
    def _encoding(self) -> str:
        if self.form.encoding is not None:
            return self.form.encoding
        return next((name for mark, name in MARKS.items() if self._beginning.startswith(mark)), "utf-8")

    @cached_property
    def _separator(self) -> str:
        if self.form.separator is not None:
            return self.form.separator
        encoding = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        begin = codecs.getincrementaldecoder(encoding)("replace").decode(self._beginning).lstrip()
        if not begin:
            raise InvalidInputError(f"{self.name} is empty. The first line of a CSV file names the columns.")
        header, *_ = begin.splitlines()
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)
        if separator != ",":
            self.tell(f"Columns of {self.name} are separated by {separator!r} (--sep).")
        return separator

    @cached_property
    def _decimal(self) -> str:
        if self.form.decimal is not None:
            return self.form.decimal
        if self._separator == ",":
            return "."
        reader, _ = self._reader(list(self.types()))
        first = next(iter(reader), None)
        commas = [] if first is None else [n for n in first.schema.names if _has_decimal_commas(first.column(n))]
        if commas:
            self.tell(f"Guessed: numbers have decimal commas, as in {commas[0]!r} (--decimal).")
        return "," if commas else "."

    # --------------------------------------------------------------------------------------------------------- problems

    @cached_property
    def _last_line(self) -> str:
        with self._raw() as file:
            if not self._is_compressed:
                file.seek(max(0, self.n_steps() - BEGINNING))
            tail = file.read()[-BEGINNING:]
        return tail.decode(self._encoding, "replace").rstrip("\r\n").rpartition("\n")[2]

    def _require_closed_quotes(self) -> None:
        """Raises if a quote is opened and not closed as it should be: values would swallow the rows that follow."""
        csv.field_size_limit(sys.maxsize)
        n_lines = 0
        with io.TextIOWrapper(self._raw(), encoding=self._encoding, errors="replace", newline="") as text:
            rows = csv.reader(text, delimiter=self._separator, strict=True)
            try:
                for _ in rows:
                    n_lines = rows.line_num
            except csv.Error:
                raise InvalidInputError(
                    f"Line {n_lines + 1} of {self.name} opens a quote that is not closed, or closed within a value. "
                    'Close it, and double those that belong to a value: "a ""b"" c".'
                ) from None

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What Arrow says, in words that help."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowInvalid, UnicodeError) as error:
            if isinstance(error, UnicodeError) or "invalid UTF8" in str(error):
                raise InvalidInputError(
                    f"{self.name} is not text in {self._encoding.upper()}. Say what it is: --encoding latin1?"
                ) from None
            self._require_closed_quotes()  # often the reason
            raise


def _has_line_ends(column: Any) -> bool:
    """Whether some value does; told from the bytes of all values at once."""
    content = column.buffers()[2]
    return content is not None and bool((np.frombuffer(content, dtype=np.uint8) == ord("\n")).any())


def _has_decimal_commas(column: Any) -> bool:
    """Whether a column of text is one of numbers, some of them with a comma."""
    import pyarrow.compute as pc

    present = without_missing(column).drop_null()
    has_comma = pc.match_substring_regex(present, WITH_COMMA)
    is_number = pc.or_(has_comma, pc.match_substring_regex(present, WITHOUT_COMMA))
    return len(present) > 0 and bool(pc.any(has_comma).as_py()) and bool(pc.all(is_number).as_py())
