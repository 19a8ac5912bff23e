"""Errors of forests on a cluster."""

from __future__ import annotations

from ..errors import DeciduousError


class ClusterError(DeciduousError, RuntimeError):
    """Base class of errors of the cluster, not of what was asked."""


class OutOfStepError(ClusterError):
    """Raised by a worker that is in another state of the forest than the one that was asked about."""


class CancelledError(ClusterError):
    """Raised when a fit was stopped by whoever asked for it."""

    def __str__(self) -> str:
        return "The fit was stopped. The forest is what it was before."


class WorkerLostError(ClusterError):
    """Raised when a worker does not come back in time. What was asked was not done, or will be when it is back."""


class QueueFullError(ClusterError):
    """Raised when too many changes wait for their turn. Nothing was changed."""

    def __init__(self, n_waiting: int) -> None:
        self.n_waiting = n_waiting
        super().__init__(n_waiting)

    def __str__(self) -> str:
        return (
            f"{self.n_waiting} changes are waiting already, which is as many as may wait. Nothing was changed. Try "
            "again in a moment; send several rows in one call; or connect with a larger `max_waiting`."
        )


class UnknownForestError(ClusterError, KeyError):
    """Raised when the cluster has no forest of this name."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        super().__init__(name, address)

    def __str__(self) -> str:
        return f"The cluster at {self.address} has no forest {self.name!r}. Names are given by `fit`: `name=...`."


class NoClusterError(ClusterError, ConnectionError):
    """Raised when there is no cluster at an address, or it does not let this process in."""

    def __init__(self, address: str | None, reason: str) -> None:
        self.address, self.reason = address, " ".join(reason.split()).rstrip(".")
        super().__init__(address, reason)

    def __str__(self) -> str:
        where = "to be found" if self.address is None else f"at {self.address}"
        return f"There is no Ray cluster {where} that this process can join: {self.reason}."
