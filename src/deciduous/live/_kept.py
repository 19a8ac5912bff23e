"""What a folder keeps, for whoever only looks: without the estimator, which takes a second to import."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from .._container import mapped
from ..errors import CorruptModelError
from ._folder import Files
from ._state import State

if TYPE_CHECKING:
    from .._tasks import Forest


class Kept:
    """What a folder keeps, for whoever only looks."""

    def __init__(self, files: Files, state: State) -> None:
        self._files = files
        self.state = state

    @classmethod
    def looked_at(cls, path: str | os.PathLike[str]) -> Self:
        """The folder of a live forest that somebody else may have open."""
        files = Files(path)
        files.require_there()
        return cls(files, State.opened(files.state_path, read_only=True))

    @property
    def path(self) -> Path:
        """The folder."""
        return self._files.path

    def has_snapshot(self) -> bool:
        """Whether there is something to begin with, instead of training."""
        name = self.state.snapshot  # once, as another thread may be changing it
        return name is not None and self._files.part(name).exists()

    def has_current_snapshot(self) -> bool:
        """Whether the forest as of the last receipt is kept."""
        return self.has_snapshot() and self.state.snapshot_fingerprint == self.state.last_fingerprint()

    def load_snapshot(self, name: str, fingerprint: str | None, n_jobs: int | None) -> Forest | None:
        """The forest of this snapshot, if it is sound."""
        from .._forest import DareForest
        from ..model_file import load

        try:
            forest = load(self._files.part(name), n_jobs=n_jobs, max_memory=math.inf)
        except CorruptModelError:
            return None
        is_it = isinstance(forest, DareForest) and forest.fingerprint() == fingerprint
        return cast("Forest", forest) if is_it else None

    def close(self) -> None:
        """Look no more."""
        self.state.close()


def snapshot_bytes(folder: str | os.PathLike[str]) -> tuple[memoryview, str | None] | None:
    """The forest as of the last receipt as bytes, and the fingerprint that it should have, if it is kept."""
    kept = Kept.looked_at(folder)
    try:
        with kept.state.one_view():
            if not kept.has_current_snapshot():
                return None
            return mapped(kept._files.part(str(kept.state.snapshot))), kept.state.last_fingerprint()
    except FileNotFoundError:  # replaced in between
        return None
    finally:
        kept.close()
