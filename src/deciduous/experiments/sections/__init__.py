"""What the report says about each experiment: tables that compare our figures with the paper's, and its pictures."""

from __future__ import annotations

from ..page import Section, Text
from ..protocols import PROTOCOLS
from ..scales import Scale
from ..store import Runs
from ..wording import sentence
from .costs import memory_parts, training_time_parts, tuning_parts
from .deletions import deletion_parts, random_depth_parts, threshold_parts
from .quality import performance_parts
from .stability import stability_parts
from .updates import batch_parts, exactness_parts, stream_parts


def sections(runs: Runs, scale: Scale) -> list[Section]:
    """One for each experiment that was run."""
    written = {
        "performance": performance_parts,
        "deletion": deletion_parts,
        "random-depth": random_depth_parts,
        "stability": stability_parts,
        "thresholds": threshold_parts,
        "memory": memory_parts,
        "training-time": training_time_parts,
        "tuning": tuning_parts,
        "exactness": exactness_parts,
        "batch": batch_parts,
        "stream": stream_parts,
    }
    return [
        Section(name, name, [Text(sentence(PROTOCOLS[name].about)), *parts(runs.done(name), scale)])
        for name, parts in written.items()
        if runs.done(name)
    ]
