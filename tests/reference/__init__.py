"""The forest of docs/algorithm.md, section 2, in plain Python: slow, obvious, and independent of the package.

Nothing here imports `deciduous`. Where the core and this package disagree, one of them is wrong.
"""

from reference.arrivals import Window, arrivals, window_of
from reference.fingerprints import fingerprint, regression_fingerprint
from reference.forest import (
    Leaf,
    Node,
    Record,
    ReferenceParams,
    Split,
    fit_reference,
    preorder,
)
from reference.hashing import H
from reference.predictions import mean_z, out_of_bag, predict, predict_proba, predict_quantiles, predict_targets
from reference.splits import Candidate, attribute_order, midpoint, sampled_candidates, valid_cuts
from reference.targets import FixedPoint, Sums, fixed_point_of, sums_of, target_range

__all__ = [
    "Candidate",
    "FixedPoint",
    "H",
    "Leaf",
    "Node",
    "Record",
    "ReferenceParams",
    "Split",
    "Sums",
    "Window",
    "arrivals",
    "attribute_order",
    "fingerprint",
    "fit_reference",
    "fixed_point_of",
    "mean_z",
    "midpoint",
    "out_of_bag",
    "predict",
    "predict_proba",
    "predict_quantiles",
    "predict_targets",
    "preorder",
    "regression_fingerprint",
    "sampled_candidates",
    "sums_of",
    "target_range",
    "valid_cuts",
    "window_of",
]
