"""Models that commands work on, and the rows of them that users name."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import UUID

import typer

from ..errors import FrozenForestError, InvalidInputError
from ._clusters import Cluster, home_name, required
from ._databases import is_live
from ._output import note, shows_bars

if TYPE_CHECKING:
    from .._forest import DareForest
    from ..frozen import FrozenForest


def loaded(path: Path, jobs: int = 1) -> DareForest | FrozenForest:
    """The model in a file, or the forest of a live folder as of its last sync, whoever has that open."""
    require_model(path)
    if path.is_dir():
        from ..live import read_forest

        return read_forest(path).forest
    from ..model_file import load

    return load(path, n_jobs=jobs)


def require_own_rows(path: Path) -> None:
    """Raises if the rows of a model are those of a table."""
    if is_live(path):
        raise InvalidInputError(
            f"{path} holds a live forest, which follows its table: change the table, and `deciduous live sync`."
        )


def require_rows_inside(path: Path) -> None:
    """Raises if a model keeps no rows of its own."""
    if is_live(path):
        raise InvalidInputError(f"{path} holds a live forest: its rows are those of its table. Ask the database.")


def require_model(path: Path) -> None:
    """Raises if there is no file, or live folder, that could be one."""
    if path.is_dir() and not is_live(path):
        raise InvalidInputError(f"{path} is a folder, and holds no live forest. Name a model file.")
    if not path.exists():
        raise InvalidInputError(f"There is no model {path}. `deciduous train` makes one.")


@contextmanager
def opened(model: Path, jobs: int = 1, cluster: Cluster | None = None, *, purpose: str | None = None) -> Iterator[Any]:
    """A model: of this process, brought to a cluster for this command, or at home there.

    With a purpose, which is then told, it must have its training rows.
    """
    from ..frozen import FrozenForest

    name = home_name(model)
    if name is not None:
        yield required(cluster, model).at_home(name)
        return
    forest = loaded(model, jobs)
    if isinstance(forest, FrozenForest) and purpose is not None:
        raise FrozenForestError(purpose)
    if cluster is None:
        yield forest
        return
    if isinstance(forest, FrozenForest):
        raise InvalidInputError(f"{model} is frozen: it has no rows to grow trees from. Leave out --ray.")
    with cluster.for_a_while(forest) as there:
        with working(there, jobs):
            there.bring(forest)
        yield there


def keep(forest: Any, out: Path) -> bool:
    """Write a model to its file, unless it lives on a cluster; whether there is a file."""
    is_file = home_name(out) is None
    if is_file:
        forest.save(out)
    return is_file


if sys.platform == "win32":

    @contextmanager
    def changing(path: Path) -> Iterator[None]:  # noqa: ARG001
        """No lock: there a file that is open, as one with a lock is, cannot be replaced."""
        yield

else:
    import fcntl

    @contextmanager
    def changing(path: Path) -> Iterator[None]:
        """A time in which no other command changes a model file; one that is at it is waited for.

        The lock is on the file itself, so that nothing lies beside it, and the system releases it however a process
        ends. Whoever changes a model puts a new file in its place: then the lock is to be had on that one.
        """
        if not path.is_file():
            yield
            return
        while True:
            with open(path, "rb") as file:
                _lock(file, path)
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    yield
                    return

    def _lock(file: IO[bytes], path: Path) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"Another process is changing {path}: waiting until it is done.")
            fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def working(forest: Any, jobs: int) -> Iterator[None]:
    """Threads, and bars if somebody sees them, for a while: neither is to be stored with the model."""
    params = forest.get_params()
    if params.get("name") is not None and forest.__sklearn_is_fitted__():
        yield  # at home on a cluster, others work on it, too; its workers have their threads
        return
    ours = {"n_jobs": jobs, "verbose": int(shows_bars())}
    forest.set_params(**{name: value for name, value in ours.items() if name in params})
    try:
        yield
    finally:
        forest.set_params(**{name: params[name] for name in ours if name in params})


@dataclass(frozen=True)
class ChosenRows:
    """Rows as the user names them: ids or subjects, as text."""

    ids: list[str] | None = None
    subjects: list[str] | None = None

    def of(self, forest: DareForest) -> dict[str, Any]:
        """The rows of a forest, as `delete` takes them."""
        if self.ids is not None:
            return {"ids": names_of(forest, self.ids)}
        known = set(forest.subjects_)
        return {"subjects": [_subject(text, known) for text in self.subjects or ()]}


def chosen_rows(ids: str | None, ids_file: Path | None, subjects: list[str] | None) -> ChosenRows:
    """The rows that the options name. Read before a model is locked: who writes them may be waiting for it."""
    if sum(given is not None for given in (ids, ids_file, subjects or None)) != 1:
        raise typer.BadParameter("Say which rows, by one of --ids, --ids-file and --subject.")
    if subjects:
        return ChosenRows(subjects=subjects)
    texts = ids.split(",") if ids is not None else _lines(str(ids_file))
    named = [text.strip() for text in texts if text.strip()]
    if ids is not None and not named:  # a file may well be empty, but an option is given on purpose
        raise typer.BadParameter(f"--ids takes ids, separated by commas, but got {ids!r}.")
    return ChosenRows(ids=named)


def _lines(path: str) -> list[str]:
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    try:
        return content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        where = "The standard input" if path == "-" else path
        raise InvalidInputError(f"{where} is not text in UTF-8. Write an id on each line.") from None


def names_of(forest: DareForest, texts: list[str]) -> list[Any]:
    """Ids of rows of a forest, from text."""
    kind = forest.id_type_
    names = []
    for text in texts:
        try:
            names.append(kind(text))
        except ValueError:
            words = {int: "whole numbers", UUID: "UUIDs"}[kind]
            raise InvalidInputError(f"The rows of this forest are named by {words}, but got {text!r}.") from None
    return names


def _subject(text: str, known: Collection[Any]) -> Any:
    """A subject, from text: an integer or UUID if one is known that is written so."""
    for kind in (str, int, UUID):
        try:
            subject: Any = kind(text)
        except ValueError:
            continue
        if subject in known:
            return subject
    return text
