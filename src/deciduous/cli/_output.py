"""What commands print, and how they end: results on stdout, everything else on stderr, problems in one sentence."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import DeciduousError

CHECK_FAILED, WRONG_USAGE, PROBLEM, INTERRUPTED = 1, 2, 3, 130
EXIT_CODES = {
    0: "done",
    CHECK_FAILED: "a check failed: `verify` or `inspect --check` found a difference, an experiment or benchmark failed",
    WRONG_USAGE: "wrong usage: an option or argument that there is not, or that is missing",
    PROBLEM: "a problem with data, a file, a model, a database or a value",
    INTERRUPTED: "interrupted (Ctrl-C); `live watch` ends with 0",
}
WIDTH_OF_FILES = 140  # of tables that do not go to a terminal
_AS_JSON = "deciduous.json"
EXTRAS = {"lightgbm": "experiments", "matplotlib": "experiments", "pandas": "experiments", "psycopg": "postgres"}
# What errors of the library tell to do in Python, as commands.
WAYS_OUT = {
    "`ids_` lists": "`deciduous inspect --ids` lists",
    "leave `ids` out to": "use --number-rows to",
    "Give either `table`, the name of a table or view, or `source`, a query.": "Say what to read: --table or --query.",
    "`LiveForest.create` makes one": "`deciduous live init` makes one",
    "`install_capture` puts": "`deciduous live capture` puts",
    "`deciduous.live.read_record` reads receipts and requests": "`deciduous live receipts` and `live status` work",
}


class Commands(TyperGroup):
    """The root of all commands: problems that they meet become a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _problems_as_messages(lambda: bool(ctx.meta.get(_AS_JSON))):
            return super().invoke(ctx)


def _remember_json(context: typer.Context, as_json: bool) -> bool:
    context.meta[_AS_JSON] = as_json
    return as_json


# Eager: it is known before other options are looked at, which may be wrong.
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON, for scripts.", callback=_remember_json, is_eager=True)
]


@contextmanager
def _problems_as_messages(is_json: Callable[[], bool]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note("Interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        if is_json():
            typer.echo(json.dumps({"error": message, "kind": type(error).__name__}, ensure_ascii=False))
        typer.secho(message, err=True, fg="red")
        raise typer.Exit(PROBLEM) from None


def _message(error: Exception) -> str | None:
    """What to tell the user, or None if the error is a fault of ours."""
    if isinstance(error, DeciduousError):
        return with_commands(" ".join([str(error), *getattr(error, "__notes__", [])]))
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}."
    if isinstance(error, ImportError):
        return _missing(error)
    origin = type(error).__module__.partition(".")[0]
    if origin == "sqlalchemy":  # its own text goes on with the statement
        return " ".join(f"The database says: {getattr(error, 'orig', None) or error}".split())
    return None


def _missing(error: ImportError) -> str | None:
    """Which extra to install. Errors that we raise say it themselves; Python's name the module."""
    if error.name is None:
        return str(error)
    library = error.name.partition(".")[0]
    if library not in EXTRAS:
        return None
    return f"This needs {library}. Install it with: pip install 'deciduous[{EXTRAS[library]}]'"


def with_commands(text: str) -> str:
    """A text of the library for those who type commands."""
    for in_python, as_command in WAYS_OUT.items():
        text = text.replace(in_python, as_command)
    return text


def note(text: str) -> None:
    """Something worth knowing that is not the result."""
    typer.echo(text, err=True)


def present(as_json: bool, result: Mapping[str, Any], *lines: str) -> None:
    """The result of a command, for scripts or for people."""
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, default=_plain))
        return
    for line in lines:
        typer.echo(line)


def present_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table, for people."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    width = None if Console().is_terminal else WIDTH_OF_FILES
    Console(width=width).print(table, markup=False)


def shows_bars() -> bool:
    """Whether somebody sees them."""
    return sys.stderr.isatty()


def size_text(n_bytes: int) -> str:
    """Bytes, in the unit that suits them."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


def counted(n: int, what: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
