"""Ray clusters that commands work on, and the forests there: brought for one command, or at home under a name."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tasks import task_of
from ..errors import InvalidInputError
from ._output import warn

if TYPE_CHECKING:
    from .._forest import DareForest
    from ..ray.estimators import RayForest

AT_HOME = "cluster:"  # what names of forests that live on a cluster begin with, where commands take a model
TRIES_TO_REMOVE = 50
SECONDS_BETWEEN_TRIES = 0.1


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process has joined, and what the user says about forests there."""

    address: str
    n_workers: int | None = None
    folder: Path | None = None  # for rows, on a file system that all its machines share

    @classmethod
    def joined(cls, address: str, n_workers: int | None, folder: Path | None) -> Cluster:
        """Join a cluster: before anything else, as it may not be there."""
        if folder is not None and not folder.is_dir():
            raise InvalidInputError(f"There is no folder {folder} for the rows. Make one that the whole cluster sees.")
        from ..ray._connecting import join

        join(address)
        return cls(address, n_workers, folder)

    def at_home(self, name: str) -> RayForest:
        """The forest of this name that lives on the cluster."""
        if self.n_workers is not None or self.folder is not None:
            raise InvalidInputError(
                f"{AT_HOME}{name} has its workers and its folder already: leave out --workers and --folder."
            )
        from ..ray import connect

        return connect(name, self.address)

    @contextmanager
    def for_a_while(self, forest: DareForest) -> Iterator[RayForest]:
        """An estimator with these parameters and with workers, which end when it is done; no row of it is left."""
        with _temporary_folder(self.folder) as rows:
            its = self._with_workers(forest, folder=rows)
            try:
                yield its
            finally:
                its.shut_down()

    @contextmanager
    def for_good(self, forest: DareForest, name: str) -> Iterator[RayForest]:
        """An estimator with these parameters and with workers, which stay there when it is trained."""
        its = self._with_workers(forest, folder=self.folder, name=name)
        try:
            yield its
        except BaseException:
            its.shut_down()
            raise

    def _with_workers(self, forest: DareForest, **own: Any) -> RayForest:
        from ..ray.estimators import KINDS

        own |= {"address": self.address, "n_workers": self.n_workers}
        return KINDS[task_of(forest)](**forest.get_params(deep=False), **own)

    def require_free(self, name: str) -> None:
        """Raises unless a forest of this name can be trained on the cluster."""
        if self.folder is None:
            raise InvalidInputError(
                f"{AT_HOME}{name} keeps its rows in files: name an empty folder that all machines of the cluster see "
                "with --folder."
            )
        if any(self.folder.iterdir()):
            raise InvalidInputError(f"The folder {self.folder} is not empty. Name one that is, for the rows.")
        from ..ray import UnknownForestError
        from ..ray.estimators import found

        with suppress(UnknownForestError):
            found(name, self.address)
            raise InvalidInputError(f"The cluster has a forest {name!r} already. Choose another name.")


def home_name(model: Path) -> str | None:
    """The name of a forest that lives on a cluster; None if a file or folder is meant."""
    text = str(model)
    return text.removeprefix(AT_HOME) if text.startswith(AT_HOME) else None


def required(cluster: Cluster | None, model: Path) -> Cluster:
    """The cluster that a forest lives on."""
    if cluster is None:
        raise InvalidInputError(
            f"{model} is the name of a forest on a Ray cluster: say on which one with --ray. "
            "A command without --ray works on files, such as `deciduous freeze` makes."
        )
    return cluster


@contextmanager
def _temporary_folder(parent: Path | None) -> Iterator[Path]:
    """A folder for a while, in which processes that have just ended may still be writing when it is removed."""
    folder = Path(tempfile.mkdtemp(prefix="deciduous-", dir=parent))
    try:
        yield folder
    finally:
        for _ in range(TRIES_TO_REMOVE):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            warn(f"The folder {folder}, with the rows of the forest, cannot be removed. Remove it.")
