"""Reading models from files."""

from __future__ import annotations

import os

from ._container import mapped, read_container, read_json, section
from ._state import FROZEN, model_kind
from .errors import CorruptModelError
from .forest import DareForestClassifier
from .frozen import FrozenForestClassifier


def load(
    path: str | os.PathLike[str], n_jobs: int | None = None, max_memory: float | None = None
) -> DareForestClassifier | FrozenForestClassifier:
    """The forest that `save` wrote to this file, ready to predict, delete and add; a frozen one to predict only.

    A file that is damaged, or made to do harm, gives a `CorruptModelError` that says what is wrong with it.

    Parameters
    ----------
    path : str or path
        The file.
    n_jobs : int or None
        Threads for loading, as in the estimator; for a frozen forest, threads for predictions.
    max_memory : float or None
        Refuse files that would take more bytes than this; by default 256 MiB and 64 times the size of the file.
        A frozen forest takes little more than its file and is never refused for that.
    """
    try:
        sections = read_container(mapped(path))
        meta = read_json(section(sections, "meta"))
        if model_kind(meta) == FROZEN:
            return FrozenForestClassifier._from_sections(meta, sections, n_jobs)
        return DareForestClassifier._from_sections(meta, sections, n_jobs, max_memory)
    except CorruptModelError as error:
        error.add_note(f"File: {os.fspath(path)}")
        raise
