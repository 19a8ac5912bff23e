"""A Ray cluster of three nodes on this machine, for the tests in this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

NODE = {"num_cpus": 8, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Three nodes, to which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster

    its = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    for _ in range(2):
        its.add_node(**NODE)
    ray.init(address=its.address, log_to_driver=False, logging_level="error")
    yield its
    ray.shutdown()
    its.shutdown()
