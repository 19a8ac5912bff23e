"""`deciduous predict`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

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
from ._writing import FormatOption, TableOutOption, chosen_format, writing

app = App()


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
    out: TableOutOption = None,
    format: FormatOption = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also output the probability of each class.")] = False,
    id: options.IdOption = None,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Predict the class of each row of a file or table. Rows are read, and predictions written, in batches.

    Columns are matched by name. Each prediction comes with the id of its row, or with its number. On stdout, --json
    prints JSON lines. With --out, it prints a summary.
    """
    chosen = chosen_format(out, format, as_json)
    forest = loaded(model, jobs)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    with working(forest, jobs), writing(out, chosen) as write:
        n_rows = 0
        for predictions in _predictions(forest, source, Asked(id=id), proba):
            write(predictions)
            n_rows += predictions.num_rows
    if out is not None:
        result = {"model": str(model), "out": str(out), "format": chosen.value, "n_rows": n_rows}
        present(as_json, result, f"Wrote {counted(n_rows, 'prediction')} to {out}.")


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
