"""A bar for long work: rich's where it is installed, in terminals and notebooks, else a line now and then.

Both go to the standard error stream, so that what a program prints stays clean.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from importlib.util import find_spec

Report = Callable[[int], None]  # called with the number of steps done
Listener = Callable[[str, int, int], None]  # called with what is done, and how many steps of how many
SECONDS_BETWEEN_LINES = 10.0
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def bar(what: str, n_steps: int, is_shown: bool, unit: str = "trees") -> AbstractContextManager[Report | None]:
    """Something to report progress to, or None if nothing is to be shown, and nobody else listens."""
    listener = _listener.get()
    if listener is not None:
        return nullcontext(lambda n_done: listener(what, n_done, n_steps))
    return _shown(what, n_steps, unit) if is_shown else nullcontext()


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Long work of this thread, in the block, tells the listener how far it is, in place of a bar."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def _shown(what: str, n_steps: int, unit: str) -> Iterator[Report]:
    if find_spec("rich") is None:
        yield _lines(what, n_steps, unit)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as progress:
            task = progress.add_task(what, total=n_steps)
            yield lambda n_done: progress.update(task, completed=n_done)
            progress.update(task, completed=n_steps)


def _lines(what: str, n_steps: int, unit: str) -> Report:
    last = time.monotonic()

    def report(n_done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{what}: {n_done} of {n_steps} {unit}", file=sys.stderr)

    return report
