"""All commands."""

from __future__ import annotations

import typer

from . import experiment

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.add_typer(experiment.app, name="experiment")


@app.callback()
def deciduous() -> None:
    """Random forests that let go of data."""
