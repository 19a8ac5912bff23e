"""Where the forest of a live table is: in this process, or with the workers of a Ray cluster.

Wherever it is, it is the same forest, and the folder keeps the same: a forest on a cluster is written to the snapshot,
and brought back from it. Its workers need the rows in files, which are in the folder for as long as it is there. They
count for nothing afterwards: whoever opens the folder next removes them, as the remains of any crash.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._tasks import task_of
from ..errors import InvalidInputError
from ._store import Store

if TYPE_CHECKING:
    from .._tasks import Forest


class Place:
    """This process."""

    def unfitted(self, estimator: Forest, store: Store) -> Forest:  # noqa: ARG002
        """The same estimator, to be fitted here."""
        return estimator

    def brought(self, forest: Forest, store: Store) -> Forest:  # noqa: ARG002
        """The same forest, here."""
        return forest

    def end_all_but(self, kept: Forest | None, store: Store) -> None:
        """Let go of all forests that were made here, except for one that is in use."""


class OnCluster(Place):
    """The workers of a cluster, which this process joins."""

    def __init__(self, address: str, n_workers: int | None) -> None:
        from ..ray._connecting import join

        join(address)
        self._own: dict[str, Any] = {"address": address, "n_workers": n_workers}
        self._made: list[tuple[Any, Path]] = []  # forests, each with the folder of its rows

    def unfitted(self, estimator: Forest, store: Store) -> Forest:
        """An estimator with the same parameters, to be fitted by workers."""
        from ..ray.estimators import KINDS

        rows = store.folder_for_rows()
        its = KINDS[task_of(estimator)](**estimator.get_params(deep=False), **self._own | {"folder": rows})
        self._made.append((its, rows))
        return cast("Forest", its)

    def brought(self, forest: Forest, store: Store) -> Forest:
        """The same forest, whose trees workers grow from its rows."""
        its: Any = self.unfitted(forest, store)
        return cast("Forest", its.bring(forest))

    def end_all_but(self, kept: Forest | None, store: Store) -> None:
        """End the processes of all forests except for one, and remove their rows."""
        gone = [(forest, rows) for forest, rows in self._made if forest is not kept]
        self._made = [(forest, rows) for forest, rows in self._made if forest is kept]
        for forest, rows in gone:
            with suppress(Exception):  # a cluster that is gone: the processes end with this one at the latest
                forest.shut_down()
            store.give_up_rows(rows)
        if gone:
            with suppress(OSError):  # a process that is just ended may still write: whatever is done next tries again
                store.tidy()


def place_at(ray: str | None, n_workers: int | None) -> Place:
    """The place that is asked for: a cluster, if there is an address."""
    if ray is not None:
        return OnCluster(ray, n_workers)
    if n_workers is not None:
        raise InvalidInputError("`n_workers` is about a cluster: give its address as `ray`.")
    return Place()
