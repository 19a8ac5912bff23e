"""Tables that commands write, to a file or to stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from .._container import replacing


class Format(StrEnum):
    """How a table is written."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


SUFFIXES = {".csv": Format.csv, ".jsonl": Format.jsonl, ".ndjson": Format.jsonl, ".parquet": Format.parquet}
TableOutOption = Annotated[Path | None, typer.Option("--out", "-o", help="File to write. Default: stdout.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Output format. Default: by file extension; CSV on stdout.")
]


def chosen_format(out: Path | None, given: Format | None, as_json: bool) -> Format:
    """The format that the options mean."""
    if out is None:
        chosen = given or (Format.jsonl if as_json else Format.csv)
        if chosen is Format.parquet:
            raise typer.BadParameter("Parquet is not written to stdout. Name a file with --out.")
        return chosen
    chosen_or_none = given or SUFFIXES.get(out.suffix.lower())
    if chosen_or_none is None:
        raise typer.BadParameter(f"Say how to write {out} with --format: csv, jsonl or parquet.")
    return chosen_or_none


@contextmanager
def writing(out: Path | None, chosen: Format) -> Iterator[Any]:
    """Something that writes record batches, to a file that is there as a whole or not at all."""
    if out is None:
        with _writer(sys.stdout.buffer, chosen) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with replacing(out) as descriptor, open(descriptor, "wb", closefd=False) as file, _writer(file, chosen) as write:
        yield write


@contextmanager
def _writer(file: BinaryIO, chosen: Format) -> Iterator[Any]:
    if chosen is Format.jsonl:
        yield lambda batch: _write_lines(file, batch)
        return
    writer: Any = None

    def write(batch: Any) -> None:
        nonlocal writer
        writer = writer or _columns_writer(file, chosen, batch.schema)
        writer.write_batch(batch)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _columns_writer(file: BinaryIO, chosen: Format, schema: Any) -> Any:
    from pyarrow import csv, parquet

    if chosen is Format.parquet:
        return parquet.ParquetWriter(file, schema)
    return csv.CSVWriter(file, schema, write_options=csv.WriteOptions(quoting_style="needed"))


def _write_lines(file: BinaryIO, batch: Any) -> None:
    for row in batch.to_pylist():
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
