"""What a command may write to: never what it reads, nothing with a second name, and what is there only if asked.

The rule goes by the names of parameters, which are the same in all commands, and holds before a command begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_command

from .._container import require_replaceable
from ..errors import InvalidInputError
from ._clusters import AT_HOME, home_name
from ._databases import is_live, sqlite_file
from ._models import require_own_rows

OUT = "out"
CONTINUED = "resume"  # a file that is gone on with: it may be there, but it is still an output
GROWN = "log"  # a file to which something is added
NEW = "at"  # a file that is never put in the place of another, whatever is asked
READ = (
    "data",
    "model",
    "ids_file",
    "folder",
    "url",
    "statements",
    "keys",
    "anchors",
    "earlier",
    "opening",
    "signing_key",
    "former",
)
TRAIN = "train"  # the command that leaves forests on a cluster
IN_PLACE = ("delete", "add", "update")  # commands that write the model anew: replacing it is what they are for


Function = TypeVar("Function", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose outputs are looked at before it begins. One that has an output also has --force."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **options: Any) -> None:
        given = list(params or ())
        places = [place for place, param in enumerate(given) if param.name == OUT]
        if places:
            given.insert(places[0] + 1, _force_option())
        super().__init__(*arguments, params=given, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, if it would not destroy anything."""
        require_safe_outputs(str(ctx.command.name), ctx.params, is_forced=ctx.params.pop("force", False))
        return super().invoke(ctx)


class App(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Register a command."""
        return super().command(name, **{"cls": Command} | options)


def _with_force(
    force: Annotated[
        bool, typer.Option("--force", help="Replace the --out file if it exists and is not an input.")
    ] = False,
) -> None:
    """What Typer makes the option of; it is asked for by its name, before a command begins."""


def _force_option() -> Any:
    """The option as Typer makes it of a function."""
    app = typer.Typer(add_completion=False)
    app.command()(_with_force)
    return get_command(app).params[0]


def require_safe_outputs(command: str, given: Mapping[str, Any], *, is_forced: bool) -> None:
    """Raises if a command with these values of its parameters would write to what it must not."""
    model = Path(given["model"]) if command in IN_PLACE else None
    if model is not None:
        require_own_rows(model)
    written = [Path(given[name]) for name in (OUT, CONTINUED, GROWN, NEW) if given.get(name) is not None]
    if model is not None and home_name(model) is not None:
        if written:
            raise InvalidInputError(f"{model} is changed where it is, on the cluster: leave out --out.")
        return
    if command != TRAIN and any(home_name(path) is not None for path in written):
        raise InvalidInputError(f"Only `deciduous train` leaves forests on a cluster ({AT_HOME}…). Name a file.")
    written = [path for path in written if home_name(path) is None]
    if model is not None and not written:
        written = [model]
    for place, path in enumerate(written):
        is_model = model is not None and _are_same(path, model)
        _require_writable(path)
        _require_unread(
            path, {name: given[name] for name in READ if given.get(name) and not (is_model and name == "model")}
        )
        is_kept = path in (Path(given.get(name) or "") for name in (CONTINUED, GROWN))
        if any(_are_same(path, other) for other in written[:place]):
            raise InvalidInputError(f"{path} is named twice as a file to write. Name two files.")
        require_replaceable(path)
        if path.exists() and not (is_forced or is_model or is_kept):
            raise InvalidInputError(f"There is a file {path} already. Name another one, or replace it with --force.")


def _require_writable(path: Path) -> None:
    """Better to know before the work than after it."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder. Name a file to write.")
    if path.exists() and not path.is_file():
        raise InvalidInputError(
            f"{path} is not a file that can be replaced, but a device or pipe. Name a file to write."
        )
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise InvalidInputError(f"There is no folder {folder} to write {path.name} to.")
    if not os.access(folder, os.W_OK | os.X_OK):  # files are written beside the old one, and then take its place
        raise InvalidInputError(f"The folder {folder.absolute()} is not yours to write {path.name} to.")


def _require_unread(path: Path, read: Mapping[str, Any]) -> None:
    for source in (each for value in read.values() for each in (value if isinstance(value, list) else [value])):
        for its in _files_of(str(source)):
            if _are_same(path, its):
                raise InvalidInputError(
                    f"{path} is what is read{_also_called(path, its)}: this would destroy it. Name another file."
                )
        if is_live(Path(source)) and Path(source).resolve() in path.resolve().parents:
            raise InvalidInputError(
                f"{path} is in the folder of the live forest, which is its own. Name a file elsewhere."
            )


def _also_called(path: Path, other: Path) -> str:
    return "" if path == other else f", by the name of {other}"


def _files_of(source: str) -> Iterator[Path]:
    """The files that are read: one, or those of a database of SQLite, also one that a live forest follows."""
    if is_live(Path(source)):
        from ..live import read_record

        source = read_record(source)[0]["url"]
    if "://" not in source:
        yield Path(source)
    elif (database := sqlite_file(source)) is not None:
        yield from (Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", "-journal"))


def _are_same(path: Path, other: Path) -> bool:
    """Whether both are one file, however they are spelled; links are followed."""
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return os.path.realpath(path) == os.path.realpath(other)
