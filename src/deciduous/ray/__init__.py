"""Forests, and other work, on a Ray cluster: the same bytes for any number of workers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from .._lazy import found_when_asked

if find_spec("ray") is None:
    raise ImportError("Work on a cluster needs Ray: pip install 'deciduous[ray]'.")

if TYPE_CHECKING:
    from .errors import (
        CancelledError,
        ClusterError,
        NoClusterError,
        OutOfStepError,
        QueueFullError,
        UnknownForestError,
        WorkerLostError,
    )
    from .estimators import RayForestClassifier, RayForestRegressor, connect

__all__ = [
    "CancelledError",
    "ClusterError",
    "NoClusterError",
    "OutOfStepError",
    "QueueFullError",
    "RayForestClassifier",
    "RayForestRegressor",
    "UnknownForestError",
    "WorkerLostError",
    "connect",
]

_HOMES = {name: "errors" if name.endswith("Error") else "estimators" for name in __all__}

if not TYPE_CHECKING:  # a worker that starts takes a part of this, and none of scikit-learn
    __getattr__ = found_when_asked(__name__, _HOMES)
