"""Where the rows of a fit come from: arrays, a forest of one process, or a folder. `_parquet` has files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._container import read_container, read_json, section
from .._state import arguments_from, entry, require_task
from .._stored import Description, StoredForest
from ..errors import CorruptModelError
from ._row_store import RowStore
from ._rows import RowFormat, held_rows
from ._sharded import Sharded
from ._sharded_core import Arriving


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
        classes = forest._classes if stored.targets.scale is None else None
        rows = held_rows(stored.core, classes, len(stored.columns), stored.names)
        forest._arriving = Arriving(lambda: forest._classes, rows.names, rows.subjects)
        core = forest._empty_core(stored.params, stored.columns)
        core.fit(rows.ids, rows.values, rows.codes(forest._classes), rows.weights, 1, None, rows.targets)
        forest._forest, forest._names = core, stored.names


@dataclass
class FromFolder:
    """A forest that was saved to a folder."""

    path: str

    def train(self, forest: Sharded) -> None:
        """Copy its rows, and grow its trees from them again."""
        source = RowStore(self.path)
        sections = source.open()
        meta = read_json(section(sections, "meta"))
        require_task(meta, forest._task)
        its = Description.described(meta, sections, most_features=math.inf)
        arguments = entry(meta, "arguments", dict)
        forest.set_params(**arguments_from(arguments, set(forest.get_params())))
        with forest._team.helpers() as helpers:
            forest._store.copy_from(source, helpers.spread)
        forest._store.row_format = RowFormat(len(its.columns), its.targets.scale)
        forest.resume(its, arguments, None)
        if source.fingerprint and source.fingerprint != forest.fingerprint():
            raise CorruptModelError(f"the rows in {self.path} give another forest than the one that was saved")
