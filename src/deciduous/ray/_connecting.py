"""The way to a cluster."""

from __future__ import annotations

import ray

from .errors import ClusterError


def connect(address: str | None) -> None:
    """Connect this process to the cluster at an address, unless it is connected to one."""
    if ray.is_initialized():
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise ClusterError(f"There is no way to a Ray cluster at {address!r}: {error}") from error
