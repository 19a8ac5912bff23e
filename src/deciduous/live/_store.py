"""What a folder keeps, and the order in which it changes, so that a process may end at any moment.

The forest is a function of the settings and of the rows of the table, so its snapshot is no more than a way to save
time. A change removes the snapshot first; then one transaction of the state brings in the new index of rows, the
receipt, and everything else; then the files that are named no more are removed. Before that transaction nothing has
happened yet, and the next sync finds the same changes. After it, all is done.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptModelError, FolderError
from ..forest import DareForestClassifier
from ..model_file import load
from ._folder import Folder
from ._row_index import RowIndex, write_bucket
from ._settings import Settings
from ._state import State
from .receipts import Receipt


class Store:
    """A folder that this object alone has open."""

    def __init__(self, folder: Folder, state: State) -> None:
        self._folder = folder
        self.state = state

    @classmethod
    def empty(cls, path: str | os.PathLike[str]) -> Self:
        """A folder for a new live forest."""
        folder = Folder(path, create=True)
        state = State(folder.state_path)
        if state.is_complete():
            state.close()
            folder.close()
            raise FolderError(f"There is a live forest in {folder.path} already. Open it, or choose another folder.")
        folder.remove_strays(())  # of a creation that was interrupted
        return cls(folder, state)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> Self:
        """The folder of a live forest, without anything that an interrupted process may have left."""
        folder = Folder(path)
        try:
            state = State.opened(folder.state_path)
            files = state.buckets()
            folder.remove_strays({*files.values(), *filter(None, [state.snapshot])})
            state.finish_rewriting()
            store = cls(folder, state)
            store.index = RowIndex.read(folder, files, state.settings.n_buckets)
        except BaseException:
            folder.close()
            raise
        return store

    index: RowIndex

    def begin(self, settings: Settings, key: bytes, rows: NDArray[Any], receipt: Receipt) -> Receipt:
        """Make the first state."""
        nothing = RowIndex({}, settings.n_buckets)
        self.index, fresh = nothing.changed(np.empty(0, dtype=np.int64), rows)
        files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
        with self.state.transaction():
            self.state.begin_life(settings, key)
            self.state.set_buckets(files)
            return self.state.append(receipt)

    def commit(
        self,
        gone: NDArray[np.int64],
        come: NDArray[Any],
        settings: Settings | None,
        receipt: Receipt,
        also: Callable[[], None],
    ) -> Receipt:
        """Apply a change to all that is kept. When this returns, nothing of rows that are gone is in any file."""
        self.retire_snapshot()
        index, fresh = self.index.changed(gone, come)
        old = self.state.buckets()
        files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
        with self.state.transaction():
            self.state.set_buckets(files)
            self.state.snapshot = None
            if settings is not None:
                self.state.forget_names(settings)
            written = self.state.append(receipt)
            also()
        self.index = index
        self._folder.remove(old[number] for number in files if number in old)
        self.state.finish_rewriting()
        return written

    # --------------------------------------------------------------------------------------------------------- snapshot

    def retire_snapshot(self) -> None:
        """Remove the snapshot; the forest can be made again from the table."""
        if self.state.snapshot is not None:
            self._folder.remove([self.state.snapshot])

    def write_snapshot(self, forest: DareForestClassifier) -> None:
        """Keep the forest, unless it is kept already."""
        if self.has_snapshot():
            return
        name = self._folder.part_name("snapshot")
        forest.save(self._folder.path / name)
        with self.state.transaction():
            self.state.snapshot = name

    def read_snapshot(self, n_jobs: int | None) -> DareForestClassifier | None:
        """The forest as of the last receipt, if it is kept and sound."""
        name = self.state.snapshot
        if name is None or not self.has_snapshot():
            return None
        try:
            forest = load(self._folder.path / name, n_jobs=n_jobs, max_memory=math.inf)
        except CorruptModelError:
            forest = None
        if isinstance(forest, DareForestClassifier) and forest.fingerprint() == self.state.last_fingerprint():
            return forest
        self.retire_snapshot()
        return None

    def has_snapshot(self) -> bool:
        """Whether opening is fast."""
        return self.state.snapshot is not None and (self._folder.path / self.state.snapshot).exists()

    def close(self) -> None:
        """Let others open the folder."""
        self.state.close()
        self._folder.close()

    def abandon(self) -> None:
        """Remove what a creation that failed has made."""
        self._folder.remove_strays(())
        self.state.close()
        self._folder.state_path.unlink(missing_ok=True)
        self._folder.close()
