"""Models that commands work on, and the rows of them that users name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import typer

from ..errors import FrozenForestError, InvalidInputError
from ..forest import DareForestClassifier
from ..frozen import FrozenForestClassifier
from ..model_file import load
from ._output import shows_bars


def loaded(path: Path, jobs: int = 1) -> DareForestClassifier | FrozenForestClassifier:
    """The model in a file."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder. If it holds a live forest, see `deciduous live --help`.")
    if not path.exists():
        raise InvalidInputError(f"There is no model {path}. `deciduous train` makes one.")
    return load(path, n_jobs=jobs)


def loaded_with_rows(path: Path, jobs: int, purpose: str) -> DareForestClassifier:
    """The model in a file, which must have its training rows."""
    forest = loaded(path, jobs)
    if isinstance(forest, FrozenForestClassifier):
        raise FrozenForestError(purpose)
    return forest


@contextmanager
def working(forest: Any, jobs: int) -> Iterator[None]:
    """Threads, and bars if somebody sees them, for a while: neither is to be stored with the model."""
    params = forest.get_params()
    ours = {"n_jobs": jobs, "verbose": int(shows_bars())}
    forest.set_params(**{name: value for name, value in ours.items() if name in params})
    try:
        yield
    finally:
        forest.set_params(**{name: params[name] for name in ours if name in params})


def chosen_rows(
    forest: DareForestClassifier, ids: str | None, ids_file: Path | None, subjects: list[str] | None
) -> dict[str, Any]:
    """The rows that the user names, as `delete` takes them."""
    if sum(given is not None for given in (ids, ids_file, subjects or None)) != 1:
        raise typer.BadParameter("Say which rows, by one of --ids, --ids-file and --subject.")
    if subjects:
        return {"subjects": [_subject(forest, text) for text in subjects]}
    if ids is not None:
        texts = ids.split(",")
    else:
        lines = sys.stdin.read() if str(ids_file) == "-" else Path(str(ids_file)).read_text()
        texts = lines.splitlines()
    return {"ids": names_of(forest, [text.strip() for text in texts if text.strip()])}


def names_of(forest: DareForestClassifier, texts: list[str]) -> list[Any]:
    """Ids of rows of a forest, from text."""
    kind: type = {None: int, "s": str, "u": UUID}[forest._names.kind]
    names = []
    for text in texts:
        try:
            names.append(kind(text))
        except ValueError:
            words = {int: "whole numbers", UUID: "UUIDs"}[kind]
            raise InvalidInputError(f"The rows of this forest are named by {words}, but got {text!r}.") from None
    return names


def _subject(forest: DareForestClassifier, text: str) -> Any:
    """A subject of a forest, from text: an integer or UUID if there is one that is written so."""
    for kind in (str, int, UUID):
        try:
            subject: Any = kind(text)
        except ValueError:
            continue
        if subject in forest._names.rows_of:
            return subject
    return text
