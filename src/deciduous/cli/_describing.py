"""What is in a model, told from its file: without scikit-learn, which takes a second to import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import CorruptModelError
from ._models import loaded, require_model

if TYPE_CHECKING:
    from .._forest import DareForest
    from .._stored import StoredForest, StoredFrozen

SECRET = ("random_state", "verbose")


def described(path: Path) -> dict[str, Any]:
    """Rows, trees, columns, classes or targets, parameters and sizes. The seed is not told."""
    with _named(path):
        stored, meta = _stored_at(path)
    return _told(stored, meta, "live" if path.is_dir() else "forest", _size_of(path))


def described_at_home(forest: DareForest) -> dict[str, Any]:
    """The same of a forest that lives on a cluster."""
    from .._stored import read_stored

    data = forest.to_bytes()
    return _told(*read_stored(memoryview(data)), "cluster", len(data))


def _told(stored: StoredForest | StoredFrozen, meta: dict[str, Any], kind: str, size: int) -> dict[str, Any]:
    from .._state import arguments_from, entry
    from .._stored import StoredForest, depth_and_leaves

    names = None if stored.column_names is None else stored.column_names.tolist()
    categories = {
        names[place] if names else f"x{place}": its.listed()
        for place, its in enumerate(stored.columns.categories)
        if its is not None
    }
    common = {
        "bytes": size,
        "columns": names,
        "n_columns": len(stored.columns),
        "categories": categories,
        "task": stored.targets.task,
        **stored.targets.told(),
    }
    if not isinstance(stored, StoredForest):
        return {"kind": "frozen", "n_trees": stored.core.n_trees, "n_nodes": stored.core.n_nodes, **common}
    arguments = entry(meta, "arguments", dict)
    params = arguments_from(arguments, set(arguments))
    depth, n_leaves = depth_and_leaves(stored.core)
    use = stored.core.memory()
    return {
        "kind": kind,
        "n_rows": stored.core.n_rows,
        "n_trees": stored.core.n_trees,
        "depth": depth,
        "n_leaves": n_leaves,
        **common,
        "n_subjects": len(stored.names.rows_of),
        "memory": use.data + use.structure + use.decision_stats + use.leaf_stats,
        "params": {name: value for name, value in params.items() if name not in SECRET},
        "fingerprint": stored.core.fingerprint(1),
    }


def _size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a live folder, of which another process may just remove some."""
    if not path.is_dir():
        return path.stat().st_size
    size = 0
    for file in path.iterdir():
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


def _stored_at(path: Path) -> tuple[StoredForest | StoredFrozen, dict[str, Any]]:
    from .._container import mapped
    from .._stored import read_stored

    require_model(path)
    if not path.is_dir():
        return read_stored(mapped(path))
    found = _snapshot_of(path)
    if found is not None:
        return found
    forest: Any = loaded(path)
    return read_stored(memoryview(forest.to_bytes()))


def _snapshot_of(folder: Path) -> tuple[StoredForest, dict[str, Any]] | None:
    """The forest of a live folder as of its last sync, if it is kept and sound."""
    from .._stored import StoredForest, read_stored
    from ..live._kept import snapshot_bytes

    try:
        snapshot = snapshot_bytes(folder)
        if snapshot is None:
            return None
        stored, meta = read_stored(snapshot[0])
    except CorruptModelError:
        return None
    is_it = isinstance(stored, StoredForest) and stored.core.fingerprint(1) == snapshot[1]
    return (cast("StoredForest", stored), meta) if is_it else None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors with the name of the file."""
    try:
        yield
    except CorruptModelError as error:
        error.add_note(f"File: {path}")
        raise
