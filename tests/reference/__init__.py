"""The forest of docs/algorithm.md, section 2, in plain Python: slow, obvious, and independent of the package.

Nothing here imports `deciduous`. Where the core and this package disagree, one of them is wrong.
"""

from reference.arrivals import Window, arrivals, window_of
from reference.fingerprints import fingerprint
from reference.forest import (
    Leaf,
    Node,
    Record,
    ReferenceParams,
    Split,
    fit_reference,
    predict,
    predict_proba,
    preorder,
)
from reference.hashing import H
from reference.splits import Candidate, attribute_order, midpoint, sampled_candidates, valid_cuts

__all__ = [
    "Candidate",
    "H",
    "Leaf",
    "Node",
    "Record",
    "ReferenceParams",
    "Split",
    "Window",
    "arrivals",
    "attribute_order",
    "fingerprint",
    "fit_reference",
    "midpoint",
    "predict",
    "predict_proba",
    "preorder",
    "sampled_candidates",
    "valid_cuts",
    "window_of",
]
