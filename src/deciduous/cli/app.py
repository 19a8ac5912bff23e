"""All commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..errors import DeciduousError
from . import checking, evidence, keys, live, predicting, serving, sharing, signing, training, trying, updating
from ._output import EXIT_CODES, Commands

ENDING = "\n".join(["\b", "Exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())])

# They are the only part of the package that wheels leave out.
EXPERIMENTS = "deciduous.experiments"
NO_EXPERIMENTS = (
    "The experiments are not installed: they come with the sources. In a copy of "
    "https://github.com/deciduous-forests/deciduous run: DECIDUOUS_WITH_EXPERIMENTS=1 pip install '.[experiments]'"
)


class Experiments(TyperGroup):
    """A command for each experiment. They import scikit-learn and more, so they wait until one is looked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        self._import()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        self._import()
        return super().get_command(ctx, cmd_name)

    def _import(self) -> None:
        if not self.commands:
            try:
                from . import experiment
            except ModuleNotFoundError as error:
                if error.name != EXPERIMENTS:
                    raise
                raise DeciduousError(NO_EXPERIMENTS) from None

            group: Any = get_command(experiment.app)
            self.commands.update(group.commands)


# Plain help: it is what docs/cli.md shows, and it spares importing rich.
app = typer.Typer(
    cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=ENDING
)
for _group in (training, predicting, updating, checking, sharing, serving, trying):
    for _command in _group.app.registered_commands:
        app.registered_commands.append(_command)
for _command in signing.app.registered_commands:
    live.app.registered_commands.append(_command)
app.add_typer(live.app, name="live")
app.add_typer(evidence.app, name="receipts")
app.add_typer(keys.app, name="keys")
app.add_typer(
    typer.Typer(cls=Experiments, no_args_is_help=True),
    name="experiment",
    help="Run the paper's experiments, and compare the results. Interrupted runs can be resumed.",
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from .. import __version__

        typer.echo(f"deciduous {__version__}")
        raise typer.Exit


@app.callback()
def deciduous(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", callback=_show_version)] = False,
) -> None:
    """Random forests that let go of data: training rows are deleted and added exactly.

    Results go to stdout, everything else to stderr. All commands accept --json. The exit code says how a command ended.
    """
