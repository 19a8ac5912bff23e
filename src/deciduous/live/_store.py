"""What a folder keeps, and the order in which it changes, so that a process may end at any moment.

The forest is a function of the settings and of the rows of the table, so its snapshot is no more than a way to save
time. A change that takes away rows removes the snapshot first, because it holds them; one that only adds rows leaves
it, and it is then behind. Then one transaction of the state brings in the new index of rows, the receipt, and
everything else; then the files that are named no more are removed. Before that transaction nothing has happened yet,
and the next sync finds the same changes. After it, all is done.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import ExitStack
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

    index: RowIndex
    index_is_lost = False  # a file of it is missing or damaged; it is then empty, until the next commit

    def __init__(self, folder: Folder, state: State) -> None:
        self._folder = folder
        self.state = state

    @classmethod
    def empty(cls, path: str | os.PathLike[str]) -> Self:
        """A folder for a new live forest."""
        with ExitStack() as on_failure:
            folder = Folder(path, create=True)
            on_failure.callback(folder.close)
            state = State(folder.state_path)
            on_failure.callback(state.close)
            if state.is_complete():
                raise FolderError(
                    f"There is a live forest in {folder.path} already. Open it, or choose another folder."
                )
            folder.remove_strays(())  # of a creation that was interrupted
            on_failure.pop_all()
        return cls(folder, state)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> Self:
        """The folder of a live forest, without anything that an interrupted process may have left."""
        with ExitStack() as on_failure:
            folder = Folder(path)
            on_failure.callback(folder.close)
            state = State.opened(folder.state_path)
            on_failure.callback(state.close)
            files = state.buckets()
            folder.remove_strays({*files.values(), *filter(None, [state.snapshot])})
            state.finish_rewriting()
            store = cls(folder, state)
            try:
                store.index = RowIndex.read(folder, files, state.n_buckets)
            except (FileNotFoundError, CorruptModelError):
                store.index, store.index_is_lost = RowIndex({}, state.n_buckets), True
            on_failure.pop_all()
        return store

    def begin(self, settings: Settings, key: bytes, rows: NDArray[Any], receipt: Receipt) -> Receipt:
        """Make the first state."""
        self.index, fresh = RowIndex.of(rows)
        files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
        with self.state.transaction():
            self.state.begin_life(settings, key)
            self.state.divide_anew(self.index.n_buckets)
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
        holds_gone_rows = len(gone) > 0 or self.index_is_lost
        if holds_gone_rows:
            self.retire_snapshot()
        index, fresh = self.index.changed(gone, come)
        is_divided_anew = self.index_is_lost or index.n_buckets != self.index.n_buckets
        old = self.state.buckets()
        files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
        with self.state.transaction():
            if is_divided_anew:
                self.state.divide_anew(index.n_buckets)
            self.state.set_buckets(files)
            if holds_gone_rows:
                self.state.snapshot = None
            if settings is not None:
                self.state.forget_names(settings)
            written = self.state.append(receipt)
            also()
        self.index, self.index_is_lost = index, False
        self._folder.remove(name for number, name in old.items() if is_divided_anew or number in files)
        self.state.finish_rewriting()
        return written

    # --------------------------------------------------------------------------------------------------------- snapshot

    def retire_snapshot(self) -> None:
        """Remove the snapshot; the forest can be made again from the table."""
        if self.state.snapshot is not None:
            self._folder.remove([self.state.snapshot])

    def write_snapshot(self, forest: DareForestClassifier) -> None:
        """Keep the forest as of the last receipt, unless it is kept already."""
        if self.has_current_snapshot():
            return
        old, name = self.state.snapshot, _snapshot_name(self.state.last_fingerprint())
        forest.save(self._folder.path / name)
        with self.state.transaction():
            self.state.snapshot = name
        if old not in (None, name):
            self._folder.remove([old])

    def read_snapshot(self, n_jobs: int | None) -> DareForestClassifier | None:
        """The forest as of the last receipt, or one that lacks rows which came since, if it is kept and sound."""
        name = self.state.snapshot
        if name is None or not self.has_snapshot() or self.index_is_lost:
            return None
        try:
            forest = load(self._folder.path / name, n_jobs=n_jobs, max_memory=math.inf)
        except CorruptModelError:
            forest = None
        if isinstance(forest, DareForestClassifier) and _snapshot_name(forest.fingerprint()) == name:
            return forest
        self.retire_snapshot()
        return None

    def has_snapshot(self) -> bool:
        """Whether there is something to begin with, instead of training."""
        return self.state.snapshot is not None and (self._folder.path / self.state.snapshot).exists()

    def has_current_snapshot(self) -> bool:
        """Whether the forest as of the last receipt is kept."""
        return self.has_snapshot() and self.state.snapshot == _snapshot_name(self.state.last_fingerprint())

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


def _snapshot_name(fingerprint: str) -> str:
    """The file of a forest, by which it can be told whether a snapshot is the one of the last receipt."""
    return f"snapshot-{fingerprint}"
