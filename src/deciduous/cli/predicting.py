"""`deciduous predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import typer

from .._tables.csv import CsvForm
from .._tables.values import MisfitError
from .._targets import CLASSIFICATION, REGRESSION
from .._tasks import task_of
from ..errors import FrozenForestError, InvalidInputError
from . import _options as options
from ._models import opened, working
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
from ._writing import FormatOption, TableOutOption, chosen_format, writing

app = App()

Columns = Callable[[Any], dict[str, Any]]  # of rows, by their titles


@app.command(
    epilog=options.examples(
        "deciduous predict patients.forest new.csv",
        "deciduous predict patients.forest new.csv --proba -o predictions.parquet",
        "deciduous predict patients.frozen sqlite:///clinic.db --table patients --format jsonl",
        "deciduous predict houses.forest new.csv --quantiles 0.05,0.5,0.95",
        "deciduous predict houses.forest new.csv --interval 0.9",
        "deciduous predict cluster:clinic new.csv --ray head:6379",
    )
)
def predict(
    model: options.AnyClusterModelArgument,
    data: options.DataArgument,
    out: TableOutOption = None,
    format: FormatOption = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also output the probability of each class.")] = False,
    quantiles: Annotated[
        str | None,
        typer.Option("--quantiles", help="Also output these quantiles of a regression, separated by commas."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option("--interval", help="Also output an interval that aims at this share of the targets, such as 0.9."),
    ] = None,
    id: options.IdOption = None,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Predict the class, or number, of each row of a file or table. Rows are read, and predictions written, in batches.

    Columns are matched by name. Each prediction comes with the id of its row, or with its number. On stdout, --json
    prints JSON lines. With --out, it prints a summary.
    """
    chosen, shares = chosen_format(out, format, as_json), _shares(quantiles)
    if interval is not None and not 0 < interval < 1:
        raise typer.BadParameter(f"--interval takes a number between 0 and 1, such as 0.9, but got {interval:g}.")
    cluster = options.asked_cluster(ray, workers, folder)
    with opened(model, jobs, cluster) as forest:
        more = _columns_beside(forest, proba, shares, interval)
        source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
        with working(forest, jobs), writing(out, chosen) as write:
            n_rows = 0
            for predictions in _predictions(forest, source, Asked(id=id), more):
                write(predictions)
                n_rows += predictions.num_rows
    if out is not None:
        result = {"model": str(model), "out": str(out), "format": chosen.value, "n_rows": n_rows}
        present(as_json, result, f"Wrote {counted(n_rows, 'prediction')} to {out}.")


def _shares(quantiles: str | None) -> list[float]:
    """The quantiles that are asked for."""
    texts = [] if quantiles is None else quantiles.split(",")
    try:
        shares = [float(text) for text in texts]
    except ValueError:
        shares = [-1.0]
    if not all(0 <= share <= 1 for share in shares):
        raise typer.BadParameter(
            f"--quantiles takes numbers from 0 to 1, separated by commas, such as 0.05,0.5,0.95, but got {quantiles!r}."
        )
    return shares


def _columns_beside(forest: Any, proba: bool, shares: list[float], interval: float | None) -> Columns:
    """A function of rows that gives what is wanted beside the prediction: columns by their titles."""
    from ..frozen import FrozenForest

    is_about_numbers = len(shares) > 0 or interval is not None
    if proba and task_of(forest) == REGRESSION:
        raise InvalidInputError("--proba is for classes, but this model predicts numbers: --quantiles, perhaps?")
    if is_about_numbers and task_of(forest) == CLASSIFICATION:
        raise InvalidInputError("--quantiles and --interval are for numbers, but this model predicts classes: --proba?")
    if is_about_numbers and isinstance(forest, FrozenForest):
        raise FrozenForestError("--quantiles" if shares else "--interval")

    def columns(rows: Any) -> dict[str, Any]:
        found = {f"p_{label}": its for label, its in _probabilities(forest, rows)} if proba else {}
        if shares:
            found |= zip([f"q_{share:g}" for share in shares], forest.predict(rows, quantiles=shares).T, strict=True)
        if interval is not None:
            found |= zip(("lower", "upper"), forest.predict_interval(rows, interval).T, strict=True)
        return found

    return columns


def _probabilities(forest: Any, rows: Any) -> Iterator[tuple[Any, Any]]:
    """The classes, each with its share in each row."""
    shares = forest.predict_proba(rows)
    return zip(forest.classes_[: shares.shape[1]].tolist(), shares.T, strict=True)


def _predictions(forest: Any, source: Source, asked: Asked, more: Columns) -> Iterator[Any]:
    """Record batches with the name of each row, its prediction, and what else is wanted."""
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
                yield _named(names, "row" if id is None else id, forest.predict(rows), more(rows))
    except MisfitError as misfit:
        raise not_as_before(misfit, source.name) from None
    categories.warn()
    if n_before == 0:
        raise InvalidInputError(f"{source.name} has no rows.")


def _named(names: Any, title: str, predictions: Any, more: dict[str, Any]) -> Any:
    import pyarrow as pa

    columns = {title: names, "prediction": pa.array(predictions)}
    return pa.RecordBatch.from_pydict(columns | {name: pa.array(its) for name, its in more.items()})


def _as_it_is(kind: Any) -> Any:
    import pyarrow as pa

    return pa.int64() if pa.types.is_integer(kind) else pa.string()
