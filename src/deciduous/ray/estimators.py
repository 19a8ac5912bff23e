"""Forests on a Ray cluster, with the interface of the local ones."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import ray
from numpy.typing import ArrayLike, NDArray
from ray.exceptions import RayActorError

from .._columns import encoded
from .._container import Section, write_atomically
from .._forest import DareForest
from .._progress import bar
from .._validation import n_threads
from ..errors import InvalidInputError
from ..forest import DareForestClassifier
from ..frozen import FrozenForestClassifier, FrozenForestRegressor
from ..model_file import load
from ..regressor import DareForestRegressor
from ..reports import UpdateReport
from ._connecting import join, nodes
from ._coordinator import NAMESPACE, Coordinator, worker_name
from ._parquet import FromFiles, files_named
from ._predicting import View, predicted
from ._row_store import RowStore
from ._status_page import status_page
from ._team import answer_of
from ._training import FromArrays, FromFolder, FromLocal
from ._worker import Worker
from .errors import ClusterError, OutOfStepError, UnknownForestError, WorkerLostError

MOST_WAITING = 64
PATIENCE = 120.0
SECONDS_FOR_ROOM = 30.0
LEAST_MEMORY = 2**20  # of a worker
TRIES_BESIDE_CHANGES = 3  # of a prediction, before it takes its turn among them
SECONDS_BETWEEN_TRIES = 0.05
SECONDS_BETWEEN_REPORTS = 0.5
# Methods and properties that the coordinator answers from what it and the workers know.
READ_METHODS: tuple[str, ...] = (
    "deletion_cost",
    "deletion_costs",
    "fingerprint",
    "verify",
    "check",
    "ids_of",
    "rows",
    "memory_usage",
)
READ_METHODS += ("settle", "compact", "tree_nodes", "tree_view", "apply", "decision_path", "get_depth", "get_n_leaves")
READ_METHODS += ("to_bytes",)
PROPERTIES: tuple[str, ...] = (
    "ids_",
    "id_type_",
    "subjects_",
    "weight_unit_",
    "n_rows_",
    "feature_importances_",
    "classes_",
)
PROPERTIES += ("class_counts_", "class_weight_", "target_range_")
CHANGES = ("add", "update")
OWN_PARAMETERS = {"n_workers": None, "address": None, "name": None, "folder": None, "durable": False}
OWN_PARAMETERS |= {"worker_memory": None}


def _with_own_parameters(base: type[DareForest]) -> inspect.Signature:
    """The signature of the local estimator's `__init__`, and what a cluster needs."""
    signature = inspect.signature(base.__init__)
    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=its) for name, its in OWN_PARAMETERS.items()]
    return signature.replace(parameters=[*signature.parameters.values(), *own])


class RayForest(DareForest):
    """A forest on a cluster. Everything that is not here is the local estimator's."""

    _local_kind: ClassVar[type[DareForest]]
    _coordinator: Any = None
    _workers: Sequence[Any] = ()
    _view: View | None = None
    _own_folder: Callable[[], Any] | None = None  # removes the folder that was made, as nobody named one
    n_workers: int | None
    address: str | None
    name: str | None
    folder: str | os.PathLike[str] | None
    durable: bool
    worker_memory: int | None

    # ------------------------------------------------------------------------------------------------------------ fit

    def fit(
        self,
        X: ArrayLike | str | os.PathLike[str] | Sequence[str],
        y: ArrayLike | None = None,
        *,
        target: str | None = None,
        id: str | None = None,
        subject: str | None = None,
        weight: str | None = None,
        ids: Any = None,
        subjects: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Build the forest from training rows: arrays and tables as `DareForestClassifier.fit` takes, or Parquet files.

        Files are named by a path, a folder, a pattern such as `rows/*.parquet`, a URI such as `s3://bucket/rows/*.parquet`,
        or a list of these, which all machines must see. Processes beside the workers read them; the rows do not pass
        through this process. `target` names the column with the labels or
        targets, `id` and `subject` those with the names of rows and of the people they belong to, and `weight` that
        with the weights of rows. All other columns are features.
        """
        if not _are_files(X):
            arguments = {"X": X, "y": y, "ids": ids, "subjects": subjects, "sample_weight": sample_weight}
            return self._fit_there(FromArrays(arguments))
        if y is not None or any(given is not None for given in (ids, subjects, sample_weight)):
            raise InvalidInputError(
                "Files have all columns in them: name those with labels, ids, subjects and weights by `target`, `id`, "
                "`subject` and `weight`, instead of giving arrays."
            )
        return self._fit_there(FromFiles(files_named(X), target, id, subject, weight))

    def _fit_there(self, training: Any) -> Self:
        self._start()
        parameters, request = self._local_parameters(), secrets.token_hex(8)
        call = functools.partial(self._ask, "fit", request, parameters, ray.put(training))
        try:
            with bar("Training", parameters["n_estimators"], self._is_verbose()) as report:
                call() if report is None else self._watched(call, report)
        except KeyboardInterrupt:
            ray.get(self._coordinator.cancel.remote(request))
            raise
        self._refresh()
        return self

    def _watched(self, call: Callable[[], Any], report: Any) -> None:
        """Call, and tell how many trees there are meanwhile."""
        failures: list[BaseException] = []
        thread = threading.Thread(target=_kept_from_raising, args=(call, failures), daemon=True)
        thread.start()
        while thread.is_alive():
            report(sum(worker["trees_grown"] for worker in self.status()["workers"] if worker))
            thread.join(SECONDS_BETWEEN_REPORTS)
        for failure in failures:
            raise failure

    def partial_fit(self, X: ArrayLike, y: ArrayLike, *arguments: Any, **named: Any) -> Self:
        """Call `fit` the first time, and `add` from then on."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, *arguments, **named)
        named.pop("classes", None)
        self.add(X, y, **named)
        return self

    def _local_parameters(self) -> dict[str, Any]:
        return {name: its for name, its in self.get_params(deep=False).items() if name not in OWN_PARAMETERS}

    # ---------------------------------------------------------------------------------------- processes on the cluster

    def _start(self) -> None:
        """Start the processes of the forest on the cluster, unless they are there."""
        if self._coordinator is not None:
            return
        join(self.address)
        _require_at_least("worker_memory", self.worker_memory, LEAST_MEMORY)
        n_workers, n_processors = _room(self.n_workers, self.n_jobs)
        name = secrets.token_hex(8) if self.name is None else self.name
        life: dict[str, Any] = {} if self.name is None else {"lifetime": "detached"}
        life |= {"namespace": NAMESPACE, "max_restarts": -1, "max_task_retries": 0}
        worker_kind = _remote(Worker, {"reads": 4, "status": 2})
        self._workers = [  # kept, as an actor ends when nobody holds it
            worker_kind.options(
                name=worker_name(name, i), num_cpus=n_processors, scheduling_strategy="SPREAD", **life
            ).remote(i, n_processors, self.worker_memory)
            for i in range(n_workers)
        ]
        self._wait_for_room(n_processors)
        if self.folder is None:
            folder = tempfile.mkdtemp(prefix="deciduous-")
            self._own_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        else:
            folder = os.path.abspath(self.folder)
        groups = {"changes": MOST_WAITING + 4, "reads": 8, "status": 2}
        coordinator_kind = _remote(Coordinator, groups)
        self._coordinator = coordinator_kind.options(name=f"{name}/coordinator", num_cpus=0, **life).remote(
            self._task, folder, name, n_workers, PATIENCE, MOST_WAITING, self.durable
        )
        self._view = None

    def _wait_for_room(self, n_processors: int) -> None:
        """Wait until all workers have begun; end them if there is no room for some."""
        calls = [worker.status.remote() for worker in self._workers]
        late = ray.wait(calls, num_returns=len(calls), timeout=SECONDS_FOR_ROOM)[1]
        if not late:
            return
        for worker in self._workers:
            ray.kill(worker, no_restart=True)
        n_workers, self._workers = len(self._workers), ()
        present: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
        free = present.get("CPU", 0) + (n_workers - len(late)) * n_processors
        raise ClusterError(
            f"{len(late)} of {n_workers} workers did not begin within {SECONDS_FOR_ROOM:g} seconds. Each takes "
            f"{n_processors} processors, and the cluster has {free:g} free ones. Give a smaller `n_workers` or "
            "`n_jobs`, or `shut_down` forests that are not needed."
        )

    @classmethod
    def connect(cls, name: str, address: str | None = None) -> Self:
        """Return the forest of the cluster that has this name. Another process may have made it."""
        coordinator, task, parameters = found(name, address)
        if task != cls._task:
            raise InvalidInputError(f"The forest {name!r} is for {task}, not for {cls._task}.")
        forest = cls(**parameters, name=name, address=address)
        forest._coordinator, forest._view = coordinator, None
        forest._refresh()
        return forest

    @classmethod
    def from_local(cls, forest: DareForest, **own: Any) -> Self:
        """Bring a forest of this process to the cluster: the same parameters, rows and fingerprint."""
        return cls(**forest.get_params(deep=False), **own).bring(forest)

    def bring(self, forest: DareForest) -> Self:
        """Become the same forest as another one, of this process or of the cluster, in the place of the present one."""
        return self._fit_there(FromLocal(forest.to_bytes()))

    def to_local(self) -> DareForest:
        """Return the forest as one of this process, with the same fingerprint."""
        return self._local_kind.from_bytes(self.to_bytes(), max_memory=float("inf"))

    def status(self) -> dict[str, Any]:
        """Return how the processes are: trees, rows, memory, queue, latencies and restarts, worker by worker."""
        self._require_started()
        found: dict[str, Any] = self._ask("status")
        return found

    def report(self) -> str:
        """Return a page of text that shows how the processes are."""
        return status_page(self.status())

    def shut_down(self) -> None:
        """End the processes of the forest on the cluster, and remove its rows from the folder if nobody named one."""
        if self._coordinator is None:
            return
        for actor in self._ask("processes"):
            ray.kill(actor, no_restart=True)
        ray.kill(self._coordinator, no_restart=True)
        if self._own_folder is not None:
            self._own_folder()
        self._coordinator = None
        self._view = None

    def _require_started(self) -> None:
        if self._coordinator is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call `fit` first.")

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the coordinator; if it fails meanwhile, again when it is back."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return answer_of(getattr(self._coordinator, method).remote(*arguments))
            except RayActorError as error:
                if time.monotonic() > end or not _may_come_back(error):
                    raise WorkerLostError(f"The coordinator of the forest does not come back: {error}") from None
                time.sleep(SECONDS_BETWEEN_TRIES)

    def _read(self, name: str, arguments: dict[str, Any]) -> Any:
        self._require_started()
        return self._ask("read", name, arguments)

    def _change(self, name: str, arguments: dict[str, Any]) -> Any:
        self._require_started()
        result = self._ask("change", secrets.token_hex(8), name, arguments)
        self._refresh()
        return UpdateReport((), (), (), None) if result is None else result

    def delete(self, ids: Any = None, *, subjects: Any = None) -> UpdateReport:
        """Delete training rows, given by id or by subject, as if they had never been seen.

        Deletions that several processes ask for at the same time are carried out in one pass. The report of each names
        its own rows; the nodes and rows retrained are those of the whole pass.
        """
        self._require_started()
        ids, subjects = (list(given) if hasattr(given, "__next__") else given for given in (ids, subjects))
        report: UpdateReport = self._ask("delete", secrets.token_hex(8), ids, subjects)
        return report

    def rename_columns(self, names: Sequence[str], categories: Sequence[Sequence[Any] | None] | None = None) -> Self:
        """Rename the columns, and optionally their categories. Only the names change; the trees stay the same."""
        self._change("rename_columns", {"names": names, "categories": categories})
        self.categorical_features = self._ask("describe_parameters")[1]["categorical_features"]
        return self

    def set_params(self, **arguments: Any) -> Self:
        """Set parameters of the estimator. They take effect at the next `fit`."""
        super().set_params(**arguments)
        if self._coordinator is not None:  # what does not define a forest is stored with it as it is set now
            self._ask("set_params", self._local_parameters())
        return self

    # ---------------------------------------------------------------------------------------------------- predictions

    def _refresh(self) -> View:
        """What is needed to encode rows and to show predictions, as of now."""
        self._require_started()
        view: View = self._ask("view")
        self._take(view)
        return view

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Each answer is of one moment; between two of them, others may change the forest."""
        self._refresh()
        yield

    def _take(self, view: View) -> None:
        self.__dict__.update(view.attributes)
        self._view = view

    def _predictions(self, X: ArrayLike) -> NDArray[np.float64]:
        """What the trees predict: the same sums, in the same order, as in one process."""
        view = self._view or self._refresh()
        for _ in range(TRIES_BESIDE_CHANGES):
            rows = encoded(self, X, self._columns)
            try:
                return predicted(view, rows, len(self._classes))
            except OutOfStepError:  # the forest has changed since, or is just changing
                view = self._refresh()
            except RayActorError:
                self._ask("heal")
                view = self._refresh()
        predictions: NDArray[np.float64]
        predictions, view = self._ask("predict", ray.put(rows))
        self._take(view)
        return predictions

    # -------------------------------------------------------------------------------------------------------- storing

    def _pieces(self) -> list[Section]:
        return [self.to_bytes()]

    def _as_stored(self) -> Self:
        return self.bring(self)

    def save(self, path: str | os.PathLike[str], *, frozen: bool = False, sharded: bool = False) -> None:
        """Save the forest with its rows to a file that `deciduous.load` reads. With `frozen`, leave out the rows.

        With `sharded`, the path is that of a new folder, which all machines must see: processes of the cluster copy the
        rows there, and the forest never is in one place. `load` grows its trees from them again.
        """
        if frozen and sharded:
            raise InvalidInputError("A frozen forest has no rows: save it to one file, without `sharded`.")
        if sharded:
            self._require_started()
            self._ask("save_folder", os.path.abspath(path), secrets.token_hex(8))
        elif frozen:
            self.freeze().save(path)
        else:
            write_atomically(path, [self.to_bytes()])

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Self:
        """Bring a forest that was saved to a file, or to a folder with `sharded`, to the cluster.

        With the same folder as `folder=`, go on with the forest of a cluster that is gone: nothing is copied then.
        """
        if os.path.isdir(path):
            return cls._from_folder(os.path.abspath(path), own)
        forest = load(path)
        if not isinstance(forest, cls._local_kind):
            raise InvalidInputError(
                f"{os.fspath(path)} holds a {type(forest).__name__}, not a {cls._local_kind.__name__}."
            )
        return cls.from_local(forest, **own)

    @classmethod
    def _from_folder(cls, path: str, own: dict[str, Any]) -> Self:
        owner = RowStore(path).recorded_owner
        goes_on = own.get("folder") is not None and os.path.realpath(own["folder"]) == os.path.realpath(path)
        forest = cls(**({"name": owner} if goes_on else {}) | own)
        if goes_on:
            forest._start()
        else:
            forest._fit_there(FromFolder(path))
        _, parameters = forest._ask("describe_parameters")
        forest.set_params(**parameters)
        forest._refresh()
        return forest

    def freeze(self) -> FrozenForestClassifier | FrozenForestRegressor:
        """Return a forest that predicts the same, in this process, but holds no training rows, ids, counts or seed."""
        return self.to_local().freeze()

    def __sklearn_is_fitted__(self) -> bool:
        return self._view is not None

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("A forest on a cluster stays there: give it a `name` and `connect`, or copy `to_local()`.")


def _remote(kind: type, groups: dict[str, int]) -> Any:
    """A kind of actor, with so many threads for each group of its methods."""
    decorate: Any = ray.remote
    return decorate(concurrency_groups=groups)(kind)


def _require_at_least(name: str, value: Any, least: int) -> None:
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if value is not None and not (is_whole and value >= least):
        raise InvalidInputError(f"{name} must be None or an integer that is at least {least}, but is {value!r}.")


def _room(n_workers: Any, n_jobs: Any) -> tuple[int, int]:
    """How many workers, and the threads of each: without `n_workers`, one on each node, with all its processors."""
    _require_at_least("n_workers", n_workers, 1)
    n_threads(n_jobs)  # or raise
    homes = nodes()
    n_processors = min((int(node["Resources"]["CPU"]) for node in homes), default=1)
    if n_jobs is None:
        n_jobs = -1 if n_workers is None else 1
    return int(n_workers or max(1, len(homes))), n_jobs if n_jobs > 0 else max(1, n_processors + 1 + n_jobs)


def found(name: str, address: str | None) -> tuple[Any, str, dict[str, Any]]:
    """The coordinator of the forest of this name, its task and its parameters."""
    join(address)
    try:
        coordinator = ray.get_actor(f"{name}/coordinator", namespace=NAMESPACE)
    except ValueError:
        raise UnknownForestError(name, ray.get_runtime_context().gcs_address) from None
    return coordinator, *answer_of(coordinator.describe_parameters.remote())


def _may_come_back(error: RayActorError) -> bool:
    """Whether it makes sense to wait for an actor: it was not ended on purpose."""
    return "ray.kill" not in str(error)


def _are_files(X: Any) -> bool:
    first = X[0] if isinstance(X, list | tuple) and X else X
    return isinstance(first, str | os.PathLike)


def _kept_from_raising(call: Callable[[], Any], failures: list[BaseException]) -> None:
    try:
        call()
    except BaseException as error:  # for the thread that waits
        failures.append(error)


def _forwarded(name: str, base: type[DareForest], through: str) -> Any:
    """The same method, or property, of the forest that the coordinator holds."""
    found = inspect.getattr_static(base, name)
    if isinstance(found, property):
        return property(lambda self: self._read(name, {}), doc=found.__doc__)
    signature = inspect.signature(found)

    @functools.wraps(found)
    def method(self: RayForest, *arguments: Any, **named: Any) -> Any:
        bound = signature.bind(self, *arguments, **named).arguments
        return getattr(self, through)(name, {key: its for key, its in bound.items() if key != "self"})

    return method


def _forwarding(base: type[DareForest]) -> Callable[[type[Any]], type[Any]]:
    """Give a class the methods of the local one that the coordinator answers."""

    def decorate(kind: type[Any]) -> type[Any]:
        for names, through in ((READ_METHODS, "_read"), (CHANGES, "_change"), (PROPERTIES, "_read")):
            for name in names:
                if hasattr(base, name):
                    setattr(kind, name, _forwarded(name, base, through))
        signature = _with_own_parameters(base)

        def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
            bound = signature.bind(self, *arguments, **named)
            bound.apply_defaults()
            self._keep(bound.arguments)

        init: Any = __init__
        init.__signature__ = signature
        kind.__init__ = init
        parameters = list(signature.parameters.values())[1:]
        kind.__signature__ = signature.replace(parameters=parameters)
        return kind

    return decorate


@_forwarding(DareForestClassifier)
class RayForestClassifier(RayForest, DareForestClassifier):
    """A `DareForestClassifier` whose trees are grown and kept by the workers of a Ray cluster.

    It is the same forest, with the same fingerprint and the same predictions, for any number of workers. It takes the
    same parameters, and these:

    Parameters
    ----------
    n_workers : int, default=None
        Number of processes that share the trees. Default: one on each node of the cluster, with all its processors as
        threads (or `n_jobs` of them), so that each node holds the rows once. If you give a number, `n_jobs` is 1
        unless you give that, too.
    address : str, default=None
        Address of the cluster, as `ray.init` takes it. Default: the cluster that this process is connected to, else one
        that runs on this machine, else one that is started there.
    name : str, default=None
        A name under which other processes find the forest with `connect`. Its processes then stay when this one ends,
        until `shut_down`. Default: they end with this process.
    folder : path, default=None
        An empty folder for the rows, which all nodes must see. Processes that fail grow their trees again from what is
        in it. Default: a temporary folder of this machine, which `shut_down` removes.
    durable : bool, default=False
        Whether changes wait until they are on the disk. Without, no process or node that fails loses anything, but the
        machine with the folder may, if it loses power. Takes some milliseconds for each change.
    worker_memory : int, default=None
        The most bytes of memory that a worker may take for its rows and trees. What would take more raises
        `MemoryError` and changes nothing. Default: no limit.
    """

    _local_kind: ClassVar[type[DareForest]] = DareForestClassifier

    def present_shares(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the classes that have rows, in ascending order, and their predicted probabilities.

        Both belong to the same state of the forest.
        """
        while True:
            before = self._refresh().moment
            (labels, shares), counts = self._labelled_shares(X), self.class_counts_
            if self._refresh().moment == before:
                is_present = np.array([counts[label] > 0 for label in labels.tolist()])
                return labels[is_present], shares[:, is_present]


@_forwarding(DareForestRegressor)
class RayForestRegressor(RayForest, DareForestRegressor):
    """A `DareForestRegressor` whose trees are grown and kept by the workers of a Ray cluster.

    It takes the parameters of `DareForestRegressor`, and those that `RayForestClassifier` has beside. Quantiles and
    intervals need all rows of a leaf in one place: ask `to_local()` for them.
    """

    _local_kind: ClassVar[type[DareForest]] = DareForestRegressor

    def _quantiles(self, rows: Any, shares: Any) -> NDArray[np.float64]:  # noqa: ARG002
        raise InvalidInputError("Quantiles take the rows of all trees in one place: use `to_local()`.")


KINDS: dict[str, type[RayForestClassifier | RayForestRegressor]] = {
    its._task: its for its in (RayForestClassifier, RayForestRegressor)
}


def connect(name: str, address: str | None = None) -> RayForestClassifier | RayForestRegressor:
    """Find the forest of this name on a cluster, whether it is for classes or for numbers."""
    return KINDS[found(name, address)[1]].connect(name, address)
