"""The experiments, one module each: what is run, and how."""

from ..task import Protocol
from . import (
    batch,
    deletion,
    exactness,
    memory,
    performance,
    random_depth,
    stability,
    stream,
    thresholds,
    training_time,
    tuning,
)

PROTOCOLS: dict[str, Protocol] = {
    module.PROTOCOL.name: module.PROTOCOL
    for module in (
        performance,
        deletion,
        random_depth,
        stability,
        thresholds,
        memory,
        training_time,
        tuning,
        exactness,
        batch,
        stream,
    )
}
