"""Prints the story as it goes, with rich where it is installed. How far things are goes to the standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any

from .measures import Report

INDENT, LABEL = "   ", 31


class Teller:
    """Says what happens, line by line, and shows a bar while something takes time."""

    def __init__(self, n_steps: int, file: IO[str] | None = None) -> None:
        self._n_steps = n_steps
        self._n_begun = self._n_chapters = 0
        self._file = sys.stdout if file is None else file
        self._has_rich = find_spec("rich") is not None

    def heading(self, text: str) -> None:
        """A new chapter."""
        self._n_chapters += 1
        self._print("")
        self._print(f"{self._n_chapters}  {text}", "bold")

    def say(self, label: str, text: str = "", style: str | None = None) -> None:
        """A line: what, and how much of it."""
        self._print(f"{INDENT}{label:<{LABEL}} {text}".rstrip() if text else INDENT + label, style)

    def end(self, text: str, *, is_good: bool) -> None:
        """What came of it all."""
        self._print("")
        self._print(text, "bold green" if is_good else "bold red")

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Report]:
        """Something that takes time, in `total` parts if they can be counted. The bar is gone when it is done."""
        self._n_begun += 1
        if not (self._has_rich and sys.stderr.isatty()):
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        step = f"{self._n_begun}/{self._n_steps}"
        columns = (SpinnerColumn(), TextColumn(f"{step} {what}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda n_done: progress.update(task, completed=n_done)

    def _print(self, text: str, style: str | None = None) -> None:
        if self._has_rich:
            self._console().print(text, style=style, markup=False)
        else:
            print(text, file=self._file)
        self._file.flush()

    def _console(self) -> Any:
        from rich.console import Console

        return Console(file=self._file, highlight=False, soft_wrap=True)
