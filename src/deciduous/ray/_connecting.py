"""The way to a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def nodes() -> list[Mapping[str, Any]]:
    """Those that run something: the head of a cluster may have no processors for it."""
    found: list[Mapping[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in found if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
