"""Reading models from files."""

from __future__ import annotations

import os

from ._container import mapped
from .errors import CorruptModelError
from .forest import DareForestClassifier


def load(path: str | os.PathLike[str], n_jobs: int | None = None) -> DareForestClassifier:
    """The forest that `save` wrote to this file, ready to predict, delete and add.

    A file that is damaged, or made to do harm, gives a `CorruptModelError` that says what is wrong with it.

    Parameters
    ----------
    path : str or path
        The file.
    n_jobs : int or None
        Threads for loading, as in the estimator.
    """
    try:
        return DareForestClassifier.from_bytes(mapped(path), n_jobs)
    except CorruptModelError as error:
        error.add_note(f"File: {os.fspath(path)}")
        raise
