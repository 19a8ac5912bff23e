"""Reading models from files."""

from __future__ import annotations

import os

from ._container import mapped, read_container, read_json, section
from ._state import FROZEN, model_kind, task_in
from ._tasks import forest_class, frozen_class
from .errors import CorruptModelError
from .forest import DareForestClassifier
from .frozen import FrozenForestClassifier, FrozenForestRegressor
from .regressor import DareForestRegressor


def load(
    path: str | os.PathLike[str], n_jobs: int | None = None, max_memory: float | None = None
) -> DareForestClassifier | DareForestRegressor | FrozenForestClassifier | FrozenForestRegressor:
    """Load a forest from a file that `save` wrote.

    The forest can predict, and rows can be deleted and added. A frozen forest can only predict. A damaged or malicious
    file raises a `CorruptModelError` that says what is wrong with it.

    Parameters
    ----------
    path : str or path
        The file.
    n_jobs : int or None
        Number of threads for loading, as in the estimator; for a frozen forest, number of threads for predictions.
    max_memory : float or None
        Refuse files that would take more bytes of memory than this. Default: 256 MiB plus 64 times the size of the
        file. A frozen forest takes little more than its file and is never refused for this reason.
    """
    try:
        sections = read_container(mapped(path))
        meta = read_json(section(sections, "meta"))
        task = task_in(meta)
        if model_kind(meta) == FROZEN:
            return frozen_class(task)._from_sections(meta, sections, n_jobs)
        return forest_class(task)._from_sections(meta, sections, n_jobs, max_memory)
    except CorruptModelError as error:
        error.add_note(f"File: {os.fspath(path)}")
        raise
