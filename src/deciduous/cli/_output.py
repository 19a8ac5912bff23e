"""What commands print, and how they end: results on stdout, everything else on stderr, problems in one sentence."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ..errors import DeciduousError

CHECK_FAILED, WRONG_USAGE, PROBLEM, FAULT, STALE, INTERRUPTED = 1, 2, 3, 4, 5, 130
EXIT_CODES = {
    0: "done",
    CHECK_FAILED: "a check failed: `verify`, `inspect --check`, `receipts verify` or `live check-against` found a "
    "difference, an experiment or benchmark failed",
    WRONG_USAGE: "wrong usage: an unknown or missing option or argument",
    PROBLEM: "a problem with data, a file, a model, a database or a value",
    FAULT: "an internal error of deciduous: please report it",
    STALE: "`verify` of a live forest: the table has changed since the last sync, so there is nothing to compare yet",
    INTERRUPTED: "interrupted (Ctrl-C); `live watch` ends with 0",
}
WIDTH_OF_FILES = 140  # of tables that do not go to a terminal
SHOWS_FAULTS = "DECIDUOUS_TRACEBACK"  # a variable of the environment
USAGE_ERROR: Any = typer.BadParameter.__mro__[2]  # Typer has no name for it
EXTRAS = {"cryptography": "evidence", "lightgbm": "experiments", "matplotlib": "experiments", "pandas": "experiments"}
# What errors of the library tell to do in Python, as commands.
WAYS_OUT = {
    "`ids_` lists": "`deciduous inspect --ids` lists",
    "leave `ids` out to get fresh ones (and the index of a pandas table: `reset_index(drop=True)`)": (
        "use --number-rows to get fresh ones"
    ),
    "Leave it out with `columns=`": "Leave it out with --columns",
    "name it in `categorical_features`": "name it with --categorical",
    "a `target_range` that is wide enough": "a --target-range that is wide enough",
    "take task='classification'": "take --task classification",
    "with task='regression'": "with --task regression",
    "use `DareForestRegressor`, which predicts numbers": "train with --task regression",
    "Give either `table`, the name of a table or view, or `query`.": "Say what to read: --table or --query.",
    "Names are given by `fit`: `name=...`": "`deciduous train -o cluster:NAME` leaves one there",
    "`new_key` makes one": "`deciduous live key FOLDER --new` makes one",
    "`new_key(is_lost=True)`": "`deciduous live key FOLDER --new --lost`",
    "Say where it is: `signing_key=...`": "Say where it is with --signing-key",
    "Say where it is: `former=...`": "Say where it is with --former",
    "`former` is the file": "--former is the file",
    "say whose signature is to be trusted: `keys=...`": "say with --key whose signature is to be trusted",
    "`LiveForest.create` makes one": "`deciduous live create` makes one",
    "`install_capture` puts": "`deciduous live capture` puts",
    "`deciduous.live.read_record` reads receipts and requests": "`deciduous live receipts` and `live status` work",
}


class Commands(TyperGroup):
    """The root of all commands: problems that they meet become a message and an exit code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        """Run the command that was asked for, and exit."""
        given = list(sys.argv[1:] if args is None else args)
        warned.clear()
        for stream in (sys.stdout, sys.stderr):  # names of files may be no Unicode
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with _problems_as_messages(is_json="--json" in given), _warnings_in_our_words():
            code = super().main(given, *others, **options | {"standalone_mode": False})
            if code == INTERRUPTED:
                raise KeyboardInterrupt
            sys.stdout.flush()  # here, where it can be told that there is no room for it
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has seen enough
            _drop_output()
            raise typer.Exit(0) from None


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


@contextmanager
def _problems_as_messages(is_json: bool) -> Iterator[None]:
    """Whatever is raised ends in a sentence, for scripts an object with it, and an exit code."""
    try:
        yield
    except USAGE_ERROR as error:  # what Typer found
        _tell(error, error.format_message(), error.exit_code, is_json, error.show)
    except KeyboardInterrupt as error:
        _tell(error, "Interrupted.", INTERRUPTED, is_json)
    except Exception as error:
        message = _message(error)
        if message is not None:
            _tell(error, message, PROBLEM, is_json)
        if os.environ.get(SHOWS_FAULTS):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        _tell(
            error,
            f"This is a fault of deciduous. {what}. {SHOWS_FAULTS}=1 in the environment shows where.",
            FAULT,
            is_json,
        )


@contextmanager
def _warnings_in_our_words() -> Iterator[None]:
    """What libraries warn of, without the place in their code; of labels we warn ourselves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")
        warnings.showwarning = lambda message, *_, **__: warn(" ".join(str(message).split()))
        yield


def _drop_output() -> None:
    """What is still to be written goes nowhere: Python would try it again at its end, and fail with a message."""
    with suppress(OSError, ValueError):  # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(
    error: BaseException, message: str, code: int, is_json: bool, show: Callable[[], None] | None = None
) -> NoReturn:
    if is_json:
        told = {"error": message, "kind": type(error).__name__, "exit_code": code} | _warnings_if_any()
        with suppress(OSError):  # which may be the very problem: no room for the output
            typer.echo(json.dumps(told, ensure_ascii=False))
    if show is None:
        typer.secho(message, err=True, fg=None if code == INTERRUPTED else "red")
    else:
        show()
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(code)


def _message(error: Exception) -> str | None:
    """What to tell the user, or None if the error is a fault of ours."""
    if isinstance(error, DeciduousError):
        return with_commands(" ".join([str(error), *getattr(error, "__notes__", [])]))
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Take fewer trees, fewer rows, or another machine."
    if isinstance(error, UnicodeError):  # arguments may be any bytes
        return f"There is text that is not Unicode: {error}."
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


warned: list[str] = []  # of the command that runs


def warn(text: str) -> None:
    """Something that is probably not as it should be. Scripts find it in the result."""
    warned.append(text)
    typer.secho(f"Warning: {text}", err=True, fg="yellow")


def _warnings_if_any() -> dict[str, Any]:
    return {"warnings": list(warned)} if warned else {}


def note(text: str) -> None:
    """Something worth knowing that is not the result."""
    typer.echo(text, err=True)


def present(as_json: bool, result: Mapping[str, Any], *lines: str) -> None:
    """The result of a command, for scripts or for people."""
    if as_json:
        typer.echo(json.dumps({**result, **_warnings_if_any()}, ensure_ascii=False, default=_plain))
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
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    with console.capture() as captured:  # Rich itself would end the process if the reader has seen enough
        console.print(table, markup=False)
    typer.echo(captured.get(), nl=False)


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
