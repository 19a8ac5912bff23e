"""What the report says about each experiment: tables that compare our figures with the paper's, and its pictures."""

from __future__ import annotations

from ..page import Section, Text
from ..protocols import PROTOCOLS
from ..scales import Scale
from ..store import Runs
from ..wording import sentence
from .choosing import of_kind
from .costs import memory_parts, training_time_parts, tuning_parts
from .deletions import deletion_parts, random_depth_parts, regression_parts, threshold_parts
from .quality import performance_parts
from .stability import stability_parts
from .updates import batch_parts, exactness_parts, stream_parts

ABOUT_REGRESSION = (
    "Regression: the same experiment with targets that are numbers, on forests of DareForestRegressor, judged by R². "
    "The paper has no regression: data sets and hyperparameters are ours. The tolerances of R-DaRE are points of R²."
)


def sections(runs: Runs, scale: Scale) -> list[Section]:
    """One for each experiment that was run, and one more if it was run on data sets for regression."""
    for_classes = {
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
    for_numbers = {"deletion": regression_parts, "exactness": exactness_parts}
    found = []
    for name, parts in for_classes.items():
        classes, numbers = (of_kind(runs.done(name), is_regression) for is_regression in (False, True))
        if classes:
            found.append(Section(name, name, [Text(sentence(PROTOCOLS[name].about)), *parts(classes, scale)]))
        if numbers:
            parts_of_numbers = for_numbers[name](numbers, scale)
            found.append(
                Section(f"{name}-regression", f"{name}, regression", [Text(ABOUT_REGRESSION), *parts_of_numbers])
            )
    return found
