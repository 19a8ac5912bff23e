"""Writes the help of all commands into docs/cli.md. A test fails when the page is out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from deciduous.cli.app import app

PAGE = Path(__file__).with_name("cli.md")
BEGIN = "<!-- below: what --help says, by docs/make_cli.py -->\n"
NAME = "deciduous"


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of each command, groups before their members."""
    yield path
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    """What a command says about itself, 80 characters wide."""
    done = CliRunner().invoke(app, [*path, "--help"], prog_name=NAME, env={"COLUMNS": "80", "TERM": "dumb"})
    lines = done.stdout.rstrip().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def page(text: str) -> str:
    """The page with the help of now."""
    before, _, _ = text.partition(BEGIN)
    sections = [
        f"## {' '.join((NAME, *path))}\n\n```text\n{help_of(path)}\n```\n" for path in commands(get_command(app))
    ]
    return before + BEGIN + "\n" + "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
