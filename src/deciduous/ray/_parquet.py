"""Training rows in Parquet files: processes of the cluster look through them, and bring their rows into the store."""

from __future__ import annotations

import fnmatch
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._batch import NO_IDS, Batch
from .._columns import Columns, encoded, features_to_learn, learned_columns
from .._forest import DareForest
from .._row_names import RowNames, kind_of
from .._row_weights import END_OF_WEIGHTS, WHOLE, unit_of, weight_array
from .._tasks import forest_class
from ..errors import InvalidInputError
from ._row_store import RowStore
from ._rows import RowFormat, Rows, canonical
from ._sharded import Sharded
from ._sharded_core import Census
from ._worker import Plan

ROWS_PER_READ = 32_768
BYTES_PER_RUN = 2**24  # of values: what a process has in memory at a time, a few times over
TASKS_PER_PROCESS = 4  # so that a slow one holds up nobody for long


def files_named(given: Any) -> list[str]:
    """The Parquet files that a path, a pattern, a folder, a URI or a list of them names."""
    names = [os.fspath(given)] if isinstance(given, str | os.PathLike) else [os.fspath(name) for name in given]
    found = [path for name in names for path in (_at_uri(name) if "://" in name else _at_path(name))]
    if not found:
        raise InvalidInputError("The list of files is empty.")
    return found


def _at_path(name: str) -> list[str]:
    pattern = os.path.join(name, "*.parquet") if os.path.isdir(name) else name
    found = sorted(glob(pattern)) if "*" in pattern else [pattern]
    if not found or not all(map(os.path.exists, found)):
        raise InvalidInputError(f"There is no file {pattern}.")
    return [os.path.abspath(path) for path in found]


def _at_uri(name: str) -> list[str]:
    from pyarrow import fs

    scheme = name.split("://")[0]
    head, _, last = name.rpartition("/")
    if "*" not in last:
        return [name]
    system, folder = fs.FileSystem.from_uri(head)
    paths = [its.path for its in system.get_file_info(fs.FileSelector(folder))]
    found = sorted(path for path in paths if fnmatch.fnmatch(path.rpartition("/")[2], last))
    if not found:
        raise InvalidInputError(f"There is no file {name}.")
    return [f"{scheme}://{path}" for path in found]


def opened(name: str) -> Any:
    """A Parquet file."""
    from pyarrow import fs, parquet

    if "://" not in name:
        return parquet.ParquetFile(name, memory_map=False, pre_buffer=False)
    system, path = fs.FileSystem.from_uri(name)
    return parquet.ParquetFile(system.open_input_file(path), pre_buffer=False)


@dataclass(frozen=True)
class Part:
    """Some neighbouring row groups of a file."""

    path: str
    groups: range
    n_rows: int
    begin: int  # the number of the first row among those of all files

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Its rows, some at a time."""
        its: Iterator[Any] = opened(self.path).iter_batches(
            ROWS_PER_READ, row_groups=list(self.groups), columns=columns, use_threads=False
        )
        return its


def parts_of(paths: Sequence[str], n_parts: int) -> list[Part]:
    """The files in at least so many parts, as far as their row groups allow."""
    sizes = []
    for path in paths:
        metadata = opened(path).metadata
        sizes.append([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)])
    rows_per_part = max(1, sum(map(sum, sizes)) // n_parts)
    parts: list[Part] = []
    begin = 0
    for path, groups in zip(paths, sizes, strict=True):
        first = 0
        while first < len(groups):
            end = first + 1
            while end < len(groups) and sum(groups[first : end + 1]) <= rows_per_part:
                end += 1
            n_rows = sum(groups[first:end])
            parts.append(Part(path, range(first, end), n_rows, begin))
            begin, first = begin + n_rows, end
    return parts


@dataclass(frozen=True)
class FromFiles:
    """Parquet files, and what their columns are."""

    paths: list[str]
    target: str | None
    id: str | None
    subject: str | None
    weight: str | None

    def train(self, forest: Sharded) -> None:
        """Look through the files, then read them; learn from what was seen what `fit` learns."""
        with forest._team.helpers() as helpers:
            n_parts = TASKS_PER_PROCESS * len(helpers)
            [(features, head, parts)] = helpers.spread(look_at_first, [(self, n_parts)])
            to_learn = features_to_learn(forest.categorical_features, head)
            seen = Seen.together(helpers.spread(look_through, [(part, self, to_learn, forest._task) for part in parts]))
            columns, _ = learned_columns(forest, seen.stand_in(head), forest.categorical_features)
            unit = seen.unit(forest.weight_unit)
            reader = Reader(self, features, _encoder(forest), columns, unit, seen.kind_of_ids)

            def fill(store: RowStore, plan: Plan) -> Census:
                store.start(seen.n_rows, plan.row_format)
                place = str(store.folder), store.generation, store.n_files, store.durable, plan.row_format
                helpers.spread(write_runs, [(reader, part, *place) for part in parts])
                shares = np.array_split(np.arange(store.n_files), min(store.n_files, len(helpers)))
                ranges = [range(int(its[0]), int(its[-1]) + 1) for its in shares]
                counted = helpers.spread(merge_runs, [(its, *place) for its in ranges])
                store.remove_runs()
                return Census.together(counted)

            forest.fit_filled(columns, seen.batch(forest._task, unit), fill, has_names=bool(self.id or self.subject))

    def features(self) -> list[str]:
        """The columns that are none of those that are named."""
        schema = opened(self.paths[0]).schema_arrow
        names: list[str] = schema.names
        for role in ("target", "id", "subject", "weight"):
            name = getattr(self, role)
            if name is not None and name not in names:
                raise InvalidInputError(f"{role}={name!r} names no column of {self.paths[0]}: it has {names}.")
        if self.target is None:
            raise InvalidInputError("Name the column with the labels or targets of the files: target=...")
        special = {self.target, self.id, self.subject, self.weight}
        for path in self.paths[1:]:
            if (others := opened(path).schema_arrow.names) != names:
                raise InvalidInputError(f"{path} has the columns {others}, but {self.paths[0]} has {names}.")
        return [name for name in names if name not in special | _index_of_pandas(schema)]

    def head(self, features: list[str]) -> Any:
        """The first row."""
        for path in self.paths:
            for batch in opened(path).iter_batches(1, columns=features):
                return _in_order(batch, features)
        raise InvalidInputError(f"There are no rows in {self.paths[0]}, and in no other file.")


def _index_of_pandas(schema: Any) -> set[str]:
    """The columns in which pandas has put the index of a table."""
    described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    return {name for name in described.get("index_columns", []) if isinstance(name, str)}


def _in_order(batch: Any, names: list[str]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([batch]).select(names)


def _encoder(forest: Sharded) -> DareForest:
    """What knows how rows are encoded, to be sent to other processes."""
    encoder = forest_class(forest._task)(**forest.get_params())
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


def look_at_first(files: FromFiles, n_parts: int) -> tuple[list[str], Any, list[Part]]:
    """The columns of the features, a row of these, and the parts of the files."""
    features = files.features()
    return features, files.head(features), parts_of(files.paths, n_parts)


def look_through(part: Part, files: FromFiles, to_learn: list[str], task: str) -> Seen:
    """Find what `fit` learns from rows of a file before it encodes them."""
    import pyarrow.compute as pc

    seen = Seen(values={name: [] for name in to_learn})
    found: dict[str, dict[Any, None]] = {name: {} for name in to_learn}
    labels: Counter[Any] = Counter()
    lowest, highest = math.inf, -math.inf
    dtype: Any = None
    special = [name for name in (files.target, files.id, files.weight) if name is not None]
    checker = forest_class(task)()
    for batch in part.batches([*to_learn, *special]):
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

    def rows(self, part: Part, scale: Any) -> Iterator[Rows]:
        """The rows of a part, batch by batch, numbered on if they have no ids."""
        its, begin = self.files, part.begin
        names = [*self.features, *filter(None, (its.target, its.id, its.subject, its.weight))]
        for batch in part.batches(names):
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
                canonical(checked.rows),
                None if is_regressor else checked.labels,
                np.ones(len(checked), np.uint32) if checked.weights is None else checked.weights,
                scale.fixed(checked.labels) if is_regressor else None,
                checked.names,
                checked.subjects,
            )


def _store_at(folder: str, generation: str, n_files: int, durable: bool, row_format: RowFormat) -> RowStore:
    store = RowStore(Path(folder), durable=durable).at(generation, row_format)
    store.n_files = n_files
    return store


def write_runs(reader: Reader, part: Part, *place: Any) -> None:
    """Write rows of a file as runs of the store, with so many bytes of values in memory at the most."""
    store = _store_at(*place)
    rows_per_run = max(ROWS_PER_READ, BYTES_PER_RUN // (4 * len(reader.columns)))
    waiting: list[Rows] = []

    def write() -> None:
        if waiting:
            rows = Rows.joined(waiting)
            store.write_run(f"{part.begin + n_written:012}", rows)
            waiting.clear()

    n_written = n_read = 0
    for rows in reader.rows(part, store.row_format.scale):
        waiting.append(rows)
        n_read += len(rows)
        if n_read - n_written >= rows_per_run:
            write()
            n_written = n_read
    write()


def merge_runs(numbers: range, *place: Any) -> Census:
    """Make these files of the store from its runs; what is in them."""
    census = Census()
    for rows in _store_at(*place).merge_runs(numbers):
        ids, counts = np.unique(rows.ids, return_counts=True)
        if (counts > 1).any():
            raise InvalidInputError(f"The files name a row twice, such as {_shown(rows, ids[counts > 1][0])}.")
        census.count(rows)
    return census


def _shown(rows: Rows, row_id: int) -> Any:
    place = int(np.flatnonzero(rows.ids == row_id)[0])
    return int(row_id) if rows.names is None else rows.names[place]
