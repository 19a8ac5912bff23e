"""What a folder keeps, and the order in which it changes, so that a process may end at any moment.

The forest is a function of the settings and of the rows of the table, so its snapshot is no more than a way to save
time. A change that takes away rows removes the snapshot first, because it holds them; one that only adds rows leaves
it, and it is then behind. Then one transaction of the state brings in the new index of rows, the receipt, and
everything else; then the files that are named no more are removed. Before that transaction nothing has happened yet,
and the next sync finds the same changes. After it, all is done.

A call that fails may leave files that the state does not name: they are removed at once, or, if that fails too, before
anything else is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptModelError, FolderError
from ._folder import Folder
from ._kept import Kept
from ._opening import Opening
from ._row_index import RowIndex, write_bucket
from ._settings import Settings
from ._state import State
from .receipts import Receipt

if TYPE_CHECKING:
    from .._tasks import Forest


class Store(Kept):
    """A folder that this object alone has open."""

    def __init__(self, folder: Folder, state: State) -> None:
        super().__init__(folder, state)
        self._folder = folder
        self._index: tuple[RowIndex, bool] | None = None  # and whether it is lost; not read yet
        self._is_tidy = False
        self._rows_in_use: set[Path] = set()  # folders of forests on a cluster

    @property
    def folder(self) -> Folder:
        """The folder, and its files."""
        return self._folder

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
            store = cls(folder, state)
            store.tidy()
            on_failure.pop_all()
        return store

    def tidy(self) -> None:
        """Remove what counts no more, unless that is done: nothing may be acknowledged before."""
        if not self._is_tidy:
            self._folder.remove_strays(self._named(), self._rows_in_use)
            self._is_tidy = True
        self.state.finish_rewriting()  # also what a request that was refused has left, if the file was busy then

    def _named(self) -> list[str]:
        snapshot = self.state.snapshot
        return [*self.state.buckets().values(), *([] if snapshot is None else [snapshot])]

    @contextmanager
    def _tidily(self) -> Iterator[None]:
        """Files are written and replaced in this block. When it is left, also by an error, only those that count stay.

        Which ones count the state alone knows, as the error may have come after the transaction, too.
        """
        self._is_tidy = False
        try:
            yield
            self.tidy()
        except BaseException:
            self._index = None
            with suppress(Exception):  # if this fails as well, whatever is called next tries again
                self.tidy()
            raise

    # ------------------------------------------------------------------------------------------------ the index of rows

    @property
    def index(self) -> RowIndex:
        """The rows that the forest holds."""
        return self._read_index()[0]

    @property
    def index_is_lost(self) -> bool:
        """Whether a file of it is missing or damaged; it is then empty, until the next commit."""
        return self._read_index()[1]

    def _read_index(self) -> tuple[RowIndex, bool]:
        if self._index is None:
            n_buckets = self.state.n_buckets
            try:
                index = RowIndex.read(self._folder, self.state.buckets(), n_buckets)
                if len(index) != self.state.last_change().n_rows:
                    raise CorruptModelError("the index has not as many rows as the newest receipt tells of")
                self._index = index, False
            except (FileNotFoundError, CorruptModelError):
                self._index = RowIndex({}, n_buckets), True
        return self._index

    def begin(self, settings: Settings, key: bytes, rows: NDArray[Any], receipt: Receipt, opening: Opening) -> Receipt:
        """Make the first state."""
        index, fresh = RowIndex.of(rows)
        with self._tidily():
            files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
            with self.state.transaction():
                self.state.begin_life(settings, key, opening)
                self.state.divide_anew(index.n_buckets)
                self.state.set_buckets(files)
                written = self.state.append(receipt)
            self._index = index, False
        return written

    def commit(
        self,
        gone: NDArray[np.int64],
        come: NDArray[Any],
        settings: Settings | None,
        receipt: Receipt,
        opening: Opening,
        also: Callable[[], None],
    ) -> Receipt:
        """Apply a change to all that is kept. When this returns, nothing of rows that are gone is in any file."""
        holds_gone_rows = len(gone) > 0 or self.index_is_lost
        index, fresh = self.index.changed(gone, come)
        is_divided_anew = self.index_is_lost or index.n_buckets != self.index.n_buckets
        with self._tidily():
            if holds_gone_rows:
                self.retire_snapshot()
            files = {number: write_bucket(self._folder, its) for number, its in fresh.items()}
            with self.state.transaction():
                if is_divided_anew:
                    self.state.divide_anew(index.n_buckets)
                self.state.set_buckets(files)
                if holds_gone_rows:
                    self.state.set_snapshot(None)
                if settings is not None:
                    self.state.forget_names(settings)
                written = self.state.append(receipt)
                self.state.opening = opening
                also()
            self._index = index, False
        return written

    # --------------------------------------------------------------------------------------------- rows, for a cluster

    def folder_for_rows(self) -> Path:
        """A new folder for rows that are there as long as the forest of this process is."""
        rows = self._folder.make_place()
        self._rows_in_use.add(rows)
        return rows

    def give_up_rows(self, rows: Path) -> None:
        """Nobody needs these rows any more: they are to be removed."""
        self._rows_in_use.discard(rows)
        self._is_tidy = False

    # --------------------------------------------------------------------------------------------------------- snapshot

    def retire_snapshot(self) -> None:
        """Remove the snapshot; the forest can be made again from the table."""
        if self.state.snapshot is not None:
            self._folder.remove(self.state.snapshot)

    def write_snapshot(self, forest: Forest) -> None:
        """Keep the forest as of the last receipt, unless it is kept already."""
        if self.has_current_snapshot():
            return
        with self._tidily():
            name = self._folder.write_part("snapshot", forest._pieces())
            with self.state.transaction():
                self.state.set_snapshot(name, self.state.last_fingerprint())

    def read_snapshot(self, n_jobs: int | None) -> Forest | None:
        """The forest as of the last receipt, or one that lacks rows which came since, if it is kept and sound."""
        name = self.state.snapshot
        if name is None or not self.has_snapshot() or self.index_is_lost:
            return None
        forest = self.load_snapshot(name, self.state.snapshot_fingerprint, n_jobs)
        if forest is None:
            self.retire_snapshot()
        return forest

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
