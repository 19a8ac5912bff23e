"""All commands."""

from __future__ import annotations

from typing import Annotated

import typer

from . import checking, experiment, live, predicting, sharing, training, trying, updating
from ._output import EXIT_CODES, Commands

ENDING = "\n".join(["\b", "Exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())])

# Plain help: it is what docs/cli.md shows, and it spares importing rich.
app = typer.Typer(
    cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=ENDING
)
for _group in (training, predicting, updating, checking, sharing, trying):
    for _command in _group.app.registered_commands:
        app.registered_commands.append(_command)
app.add_typer(live.app, name="live")
app.add_typer(experiment.app, name="experiment")


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from .. import __version__

        typer.echo(f"deciduous {__version__}")
        raise typer.Exit


@app.callback()
def deciduous(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", callback=_show_version)] = False,
) -> None:
    """Random forests that let go of data.

    Results go to stdout, everything else to stderr. All commands but `experiment` and `bench`, which write files of
    their own, take --json. The exit code tells how a command ended.
    """
