"""`deciduous predict`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
import typer

from .._container import replacing
from ..errors import InvalidInputError
from . import _options as options
from ._csv import CsvForm
from ._models import loaded, working
from ._output import JsonOption, counted, note, present
from ._outputs import App
from ._reading import Source, Terms, columns_of, reading, source_of
from ._rows import (
    ID_NAMES,
    Asked,
    Known,
    as_input,
    called,
    feature_types,
    named_column,
    not_as_before,
    require_finite,
    spelled_types,
)
from ._values import MisfitError

app = App()


class Format(StrEnum):
    """How predictions are written."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


SUFFIXES = {".csv": Format.csv, ".jsonl": Format.jsonl, ".ndjson": Format.jsonl, ".parquet": Format.parquet}


@app.command(
    epilog=options.examples(
        "deciduous predict patients.forest new.csv",
        "deciduous predict patients.forest new.csv --proba -o predictions.parquet",
        "deciduous predict patients.frozen sqlite:///clinic.db --table patients --format jsonl",
    )
)
def predict(
    model: options.AnyModelArgument,
    data: options.DataArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write. Default: stdout.")] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="Default: by the name of the file; CSV on stdout.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also the share of each class.")] = False,
    id: options.IdOption = None,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Predict the class of each row of a file or a table. Rows are read, and predictions written, batch by batch.

    Columns are found by name. Predictions have the id of the row, or its number. On stdout, --json gives JSON lines;
    with --out, it reports what was done.
    """
    chosen = _format(out, format, as_json)
    forest = loaded(model, jobs)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    with working(forest, jobs), _writing(out, chosen) as write:
        n_rows = 0
        for predictions in _predictions(forest, source, Asked(id=id), proba):
            write(predictions)
            n_rows += predictions.num_rows
    if out is not None:
        result = {"model": str(model), "out": str(out), "format": chosen.value, "rows": n_rows}
        present(as_json, result, f"Wrote {counted(n_rows, 'prediction')} to {out}.")


def _format(out: Path | None, given: Format | None, as_json: bool) -> Format:
    if out is None:
        chosen = given or (Format.jsonl if as_json else Format.csv)
        if chosen is Format.parquet:
            raise typer.BadParameter("Parquet is not written to stdout. Name a file with --out.")
        return chosen
    chosen_or_none = given or SUFFIXES.get(out.suffix.lower())
    if chosen_or_none is None:
        raise typer.BadParameter(f"Say how to write {out} with --format: csv, jsonl or parquet.")
    return chosen_or_none


def _predictions(forest: Any, source: Source, asked: Asked, proba: bool) -> Iterator[Any]:
    """Record batches with the name of each row, its class, and the shares of the classes if they are wanted."""
    import pyarrow as pa

    types = columns_of(source)
    asked.require_known(types, source.name)
    features = feature_types(forest, types, asked, source.name)
    id = asked.id or called(ID_NAMES, types, list(features))
    if id is not None and asked.id is None:
        note(f"Guessed: {named_column(id)} names the rows (--id).")
    wanted = {**features} if id is None else {id: _as_it_is(types[id]), **features}
    categories = Known.of(forest, list(features))
    terms = Terms(known=categories.words(), spelled=spelled_types(types, features))
    n_before = 0
    try:
        with reading(source, wanted, terms) as batches:
            for batch in batches:
                categories.see(batch)
                numbers = np.arange(n_before, n_before + batch.num_rows)
                n_before += batch.num_rows
                require_finite(batch, [name for name, kind in features.items() if kind != pa.string()], numbers + 1)
                rows = as_input(forest, pa.Table.from_batches([batch]).select(list(features)))
                names = pa.array(numbers) if id is None else batch.column(id)
                yield _named(names, "row" if id is None else id, forest, rows, proba)
    except MisfitError as misfit:
        raise not_as_before(misfit, source.name) from None
    categories.warn()
    if n_before == 0:
        raise InvalidInputError(f"{source.name} has no rows.")


def _named(names: Any, title: str, forest: Any, rows: Any, proba: bool) -> Any:
    import pyarrow as pa

    columns = {title: names, "prediction": pa.array(forest.predict(rows))}
    if proba:
        shares = forest.predict_proba(rows)
        labels = forest.classes_[: shares.shape[1]].tolist()
        columns |= {f"p_{label}": pa.array(its) for label, its in zip(labels, shares.T, strict=True)}
    return pa.RecordBatch.from_pydict(columns)


def _as_it_is(kind: Any) -> Any:
    import pyarrow as pa

    return pa.int64() if pa.types.is_integer(kind) else pa.string()


# ------------------------------------------------------------------------------------------------------------- writing


@contextmanager
def _writing(out: Path | None, chosen: Format) -> Iterator[Any]:
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
