"""Where the rows of a fit come from: arrays, a forest of one process, or Parquet files that the workers read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._batch import NO_IDS, Batch
from .._columns import Columns, encoded, features_to_learn, learned_columns
from .._container import read_container, read_json, section
from .._forest import DareForest
from .._row_names import RowNames, kind_of
from .._row_weights import END_OF_WEIGHTS, WHOLE, unit_of, weight_array
from .._state import entry, require_task
from .._stored import StoredForest
from ..errors import InvalidInputError
from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from ._row_store import RowFormat, Rows, RowStore
from ._sharded import Sharded
from ._sharded_core import Arriving
from ._worker import Plan

ROWS_PER_READ = 32_768
ROWS_PER_WRITE = 262_144
LOCAL_KINDS: dict[str, type[DareForest]] = {
    "classification": DareForestClassifier,
    "regression": DareForestRegressor,
}


@dataclass
class FromArrays:
    """What the local estimator's `fit` takes."""

    arguments: dict[str, Any]

    def train(self, forest: Sharded) -> None:
        """Train a forest on these rows."""
        forest.fit(**self.arguments)


@dataclass
class FromLocal:
    """A forest of one process, as bytes."""

    data: bytes

    def train(self, forest: Sharded) -> None:
        """Make it one of the cluster: what it learned stays, and its trees are grown again."""
        sections = read_container(memoryview(self.data))
        meta = read_json(section(sections, "meta"))
        require_task(meta, forest._task)
        stored = StoredForest.from_sections(meta, sections, 1, math.inf, {})
        forest._describe(stored, entry(meta, "arguments", dict))
        row_format = RowFormat(stored.columns.n_categories, stored.targets.scale)
        rows = row_format.rows_of(stored.core, stored.core.ids(), forest._classes, stored.names)
        forest._arriving = Arriving(lambda: forest._classes, rows.names, rows.subjects)
        core = forest._empty_core(stored.params, stored.columns)
        core.fit(rows.ids, rows.values, rows.codes(forest._classes), rows.weights, 1, None, rows.targets)
        forest._forest, forest._names = core, stored.names


@dataclass(frozen=True)
class FromFiles:
    """Parquet files, and what their columns are."""

    paths: list[str]
    target: str | None
    id: str | None
    subject: str | None
    weight: str | None

    def train(self, forest: Sharded) -> None:
        """Let the workers look through the files, then read them; learn from what they saw what `fit` learns."""
        features = self._features()
        head = self._head(features)
        to_learn = features_to_learn(forest.categorical_features, head)
        looks = forest._team.spread(look_through, [(path, self, to_learn, forest._task) for path in self.paths])
        seen = Seen.together(looks)
        columns, _ = learned_columns(forest, seen.stand_in(head), forest.categorical_features)
        unit = seen.unit(forest.weight_unit)
        reader = Reader(self, features, _encoder(forest), columns, unit, seen.kind_of_ids)

        def fill(store: RowStore, plan: Plan) -> None:
            store.start(seen.n_rows, plan.row_format)
            begins = np.cumsum([0] + [look.n_rows for look in looks]).tolist()
            tasks = [
                (reader, path, begin, str(store.folder), store.generation, store.n_files, plan.row_format, number)
                for number, (path, begin) in enumerate(zip(self.paths, begins, strict=False))
            ]
            forest._team.spread(read_into_parts, tasks)
            numbers = np.array_split(np.arange(store.n_files), max(1, 4 * len(forest._team.workers)))
            merges = [
                (str(store.folder), store.generation, store.n_files, plan.row_format, part.tolist())
                for part in numbers
                if len(part)
            ]
            forest._team.spread(merge_parts, merges)

        forest._fill = fill
        forest._fit_learned(columns, seen.batch(forest._task, unit))

    def _features(self) -> list[str]:
        from pyarrow import parquet

        names: list[str] = parquet.read_schema(self.paths[0]).names
        for role in ("target", "id", "subject", "weight"):
            name = getattr(self, role)
            if name is not None and name not in names:
                raise InvalidInputError(f"{role}={name!r} names no column of {self.paths[0]}: it has {names}.")
        if self.target is None:
            raise InvalidInputError("Name the column with the labels or targets of the files: target=...")
        special = {self.target, self.id, self.subject, self.weight}
        for path in self.paths[1:]:
            if (others := parquet.read_schema(path).names) != names:
                raise InvalidInputError(f"{path} has the columns {others}, but {self.paths[0]} has {names}.")
        return [name for name in names if name not in special]

    def _head(self, features: list[str]) -> Any:
        from pyarrow import parquet

        for path in self.paths:
            for batch in parquet.ParquetFile(path).iter_batches(1, columns=features):
                return _in_order(batch, features)
        raise InvalidInputError(f"There are no rows in {self.paths[0]}, and in no other file.")


def _in_order(batch: Any, names: list[str]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([batch]).select(names)


def _encoder(forest: Sharded) -> DareForest:
    """What knows how rows are encoded, to be sent to workers."""
    encoder = LOCAL_KINDS[forest._task](**forest.get_params())
    encoder.n_features_in_ = forest.n_features_in_
    if hasattr(forest, "feature_names_in_"):
        encoder.feature_names_in_ = forest.feature_names_in_
    return encoder


@dataclass
class Seen:
    """What a look through files finds."""

    n_rows: int = 0
    values: dict[str, list[Any]] = field(default_factory=dict)  # distinct ones of columns whose categories are learned
    labels: NDArray[Any] | None = None  # distinct ones, or the lowest and the highest target
    counts: NDArray[np.int64] | None = None  # of the labels, by weight
    total_weight: float = 0.0
    are_whole: bool = True
    kind_of_ids: str | None = None

    @classmethod
    def together(cls, looks: list[Seen]) -> Seen:
        """What all files hold."""
        kept = [look for look in looks if look.n_rows]
        if not kept:
            raise InvalidInputError("There are no rows in the files.")
        values = {name: list({value: None for look in kept for value in look.values[name]}) for name in kept[0].values}
        labels = np.concatenate([look.labels for look in kept if look.labels is not None])
        counts = np.concatenate([look.counts for look in kept if look.counts is not None])
        distinct, places = np.unique(labels, return_inverse=True)
        kinds = {look.kind_of_ids for look in kept}
        if len(kinds) > 1:
            raise InvalidInputError("The ids in the files are of several kinds; give integers, strings or UUIDs.")
        return cls(
            sum(look.n_rows for look in kept),
            values,
            distinct,
            np.bincount(places, weights=counts).astype(np.int64),
            math.fsum(look.total_weight for look in kept),
            all(look.are_whole for look in kept),
            kinds.pop(),
        )

    def stand_in(self, head: Any) -> Any:
        """A small table from which the same columns are learned as from all rows."""
        import pyarrow

        n_rows = max([1, *map(len, self.values.values())])
        columns = {}
        for name in head.column_names:
            values = self.values.get(name) or head[name].to_pylist()
            padded = values + [values[0]] * (n_rows - len(values))
            kind = head.schema.field(name).type
            columns[name] = pyarrow.array(padded, type=kind)
        return pyarrow.table(columns)

    def unit(self, weight_unit: Any) -> float:
        """What weights are multiples of."""
        if weight_unit is not None or (self.are_whole and self.total_weight < END_OF_WEIGHTS):
            return unit_of(None, weight_unit)
        if self.are_whole:
            return WHOLE
        raise InvalidInputError(
            "The weights in the files are not whole numbers: fit with a `weight_unit`, such as 2**-10."
        )

    def batch(self, task: str, unit: float) -> Batch:
        """Labels, or targets, from which the same is learned as from those of all rows."""
        assert self.labels is not None
        assert self.counts is not None
        weights: Any = None if task == "regression" else self.counts
        return Batch(NO_IDS, np.empty((0, 0), np.float32), self.labels, weights, None, None, None, NO_IDS, unit)


def look_through(path: str, files: FromFiles, to_learn: list[str], task: str) -> Seen:
    """Find what `fit` learns from the rows of a file before it encodes them."""
    import pyarrow.compute as pc
    from pyarrow import parquet

    seen = Seen(values={name: [] for name in to_learn})
    found: dict[str, dict[Any, None]] = {name: {} for name in to_learn}
    labels: Counter[Any] = Counter()
    lowest, highest = math.inf, -math.inf
    dtype: Any = None
    special = [name for name in (files.target, files.id, files.weight) if name is not None]
    checker = LOCAL_KINDS[task]()
    for batch in parquet.ParquetFile(path).iter_batches(ROWS_PER_READ, columns=[*to_learn, *special]):
        n_rows = len(batch)
        weights = np.ones(n_rows)
        if files.weight is not None:
            given = weight_array(batch[files.weight].to_numpy(zero_copy_only=False), n_rows)
            weights = weights if given is None else given
        counted = weights > 0
        y = checker._checked_targets(_column(batch, files.target), n_rows)[counted]
        seen.n_rows += n_rows
        seen.total_weight += float(weights.sum())
        seen.are_whole &= bool((weights == np.floor(weights)).all())
        if task == "regression" and len(y):
            lowest, highest = min(lowest, float(y.min())), max(highest, float(y.max()))
        elif len(y):
            dtype = y.dtype if dtype is None else np.promote_types(dtype, y.dtype)
            distinct, places = np.unique(y, return_inverse=True)
            sums = np.bincount(places, weights=weights[counted]).astype(np.int64)
            labels.update(dict(zip(distinct.tolist(), sums.tolist(), strict=True)))
        if files.id is not None and seen.kind_of_ids is None:
            seen.kind_of_ids = kind_of(_column(batch, files.id))
        for name in to_learn:
            its = batch.column(name).filter(counted.tolist() if not counted.all() else [True] * n_rows)
            found[name].update(dict.fromkeys(pc.unique(its).to_pylist()))
    seen.values = {name: list(its) for name, its in found.items()}
    if task == "regression":
        ends = [lowest, highest] if lowest <= highest else []
        seen.labels, seen.counts = np.array(ends), np.ones(len(ends), np.int64)
    else:
        seen.labels = np.array(list(labels), dtype=dtype)
        seen.counts = np.array(list(labels.values()), np.int64)
    return seen


def _column(batch: Any, name: str | None) -> Any:
    """A column as NumPy has it; texts as an array of texts."""
    values = batch.column(name)
    if str(values.type) in ("string", "large_string") or str(values.type).startswith("dictionary"):
        return np.array(values.to_pylist(), dtype=object)
    return values.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class Reader:
    """Turns what is in files into rows as a forest keeps them."""

    files: FromFiles
    features: list[str]
    encoder: DareForest
    columns: Columns
    unit: float
    kind_of_ids: str | None

    def rows(self, path: str, begin: int, scale: Any) -> Iterator[Rows]:
        """The rows of a file, batch by batch, numbered from `begin` if they have no ids."""
        from pyarrow import parquet

        its = self.files
        names = [*self.features, *filter(None, (its.target, its.id, its.subject, its.weight))]
        for batch in parquet.ParquetFile(path).iter_batches(ROWS_PER_READ, columns=names):
            X = encoded(self.encoder, _in_order(batch, self.features), self.columns)
            checked = Batch.checked(
                X,
                self.encoder._checked_targets(_column(batch, its.target), len(X)),
                ids=None if its.id is None else _column(batch, its.id),
                sample_weight=None if its.weight is None else _column(batch, its.weight),
                subjects=None if its.subject is None else batch.column(its.subject).to_pylist(),
                known=RowNames(self.kind_of_ids),
                n_counted=begin,
                holds=None,
                weight_unit=self.unit,
                takes_fractions=True,
            )
            begin += len(X)
            is_regressor = scale is not None
            yield Rows(
                checked.ids,
                checked.rows,
                None if is_regressor else checked.labels,
                np.ones(len(checked), np.uint32) if checked.weights is None else checked.weights,
                scale.fixed(checked.labels) if is_regressor else None,
                checked.names,
                checked.subjects,
            )


def _store_at(folder: str, generation: str, n_files: int, row_format: RowFormat) -> RowStore:
    store = RowStore(Path(folder)).at(generation, row_format)
    store.n_files = n_files
    return store


def read_into_parts(
    reader: Reader,
    path: str,
    begin: int,
    folder: str,
    generation: str,
    n_files: int,
    row_format: RowFormat,
    number: int,
) -> None:
    """Write the rows of a source as parts of the store's files, with no more than so many rows in memory."""
    store = _store_at(folder, generation, n_files, row_format)
    waiting: list[Rows] = []
    n_waiting = n_parts = 0

    def write() -> None:
        nonlocal n_parts, n_waiting
        if waiting:
            for its_file, rows in store.by_file(Rows.joined(waiting)):
                store.write_part(its_file, f"{number:06}-{n_parts:06}", rows)
            n_parts += 1
        waiting.clear()
        n_waiting = 0

    for rows in reader.rows(path, begin, row_format.scale):
        waiting.append(rows)
        n_waiting += len(rows)
        if n_waiting >= ROWS_PER_WRITE:
            write()
    write()


def merge_parts(folder: str, generation: str, n_files: int, row_format: RowFormat, numbers: list[int]) -> None:
    """Make files of their parts."""
    store = _store_at(folder, generation, n_files, row_format)
    for number in numbers:
        parts = store.parts(number)
        if not parts:
            continue
        rows = Rows.joined([store.read_part(path) for path in parts])
        ids, counts = np.unique(rows.ids, return_counts=True)
        if (counts > 1).any():
            raise InvalidInputError(f"The files name a row twice, such as {_shown(rows, ids[counts > 1][0])}.")
        store.write(number, rows)
        for path in parts:
            path.unlink()


def _shown(rows: Rows, row_id: int) -> Any:
    place = int(np.flatnonzero(rows.ids == row_id)[0])
    return int(row_id) if rows.names is None else rows.names[place]
