"""Connecting this process to a cluster, with an error that says what is wrong if that fails."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Mapping
from typing import Any

import ray

from .errors import NoClusterError

HOST_AND_PORT = re.compile(r"\[?([^/]+?)\]?:(\d+)")
SECONDS_TO_ANSWER = 10.0


def join(address: str | None) -> None:
    """Connect this process to the cluster at an address, unless it is connected to one."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of a fit that Ctrl-C stopped, for one
    if address is not None and (found := HOST_AND_PORT.fullmatch(address)):
        _require_answer(address, found[1], int(found[2]))
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, SystemExit) as error:  # the last one after two minutes without answer
        raise NoClusterError(address, str(error)) from None


def _require_answer(address: str, host: str, port: int) -> None:
    """Ray itself tries for two minutes, and then ends the process."""
    try:
        socket.create_connection((host, port), SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise NoClusterError(address, str(error)) from None


def nodes() -> list[Mapping[str, Any]]:
    """Those that run something: the head of a cluster may have no processors for it."""
    found: list[Mapping[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in found if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
