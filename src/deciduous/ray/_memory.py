"""The memory that a process of the cluster takes, and may take."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/status")


@contextmanager
def limited_memory(n_bytes: int | None, n_taken: int) -> Iterator[None]:
    """Let this process take so many bytes beside what it has for other things; beyond, `MemoryError`s are raised.

    So many of them are taken already. The limit holds only within, as other threads of the process, which are Ray's,
    end it if they get no memory.
    """
    if n_bytes is None:
        yield
        return
    former = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_of_this_process("VmData") - n_taken + n_bytes, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, former)


def own_memory() -> int:
    """The bytes of memory that this process has for itself: without what it shares, or has mapped of files."""
    return _of_this_process("RssAnon")


def _of_this_process(entry: str) -> int:
    if not STATUS.exists():  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[entry].split()[0]) * 1024
