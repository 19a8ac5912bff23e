"""Parameters of scikit-learn's forests, or of forests of the other kind, that a forest does not have, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NOT_LOCAL = "a split must depend on the rows of its node alone, or a deletion could change every tree everywhere"

REASONS = {
    "bootstrap": "rows are not drawn with replacement: `max_samples` puts each row into a share of the trees.",
    "ccp_alpha": f"pruning compares subtrees with the whole tree, and {NOT_LOCAL}.",
    "max_leaf_nodes": f"which leaves are split first depends on all others, and {NOT_LOCAL}; use `max_depth`.",
    "min_impurity_decrease": f"scikit-learn weighs it by the number of all rows, and {NOT_LOCAL}; use "
    "`min_samples_leaf`.",
    "min_weight_fraction_leaf": f"it is a share of the weight of all rows, and {NOT_LOCAL}; use `min_samples_leaf`.",
    "monotonic_cst": "splits that respect constraints are not part of the definition of these forests.",
    "oob_score": "no parameter is needed: read `oob_score_` whenever you like, if `max_samples` is below 1.",
    "splitter": "use `n_thresholds`, `candidates` and `random_depth` to say how thresholds are chosen.",
    "warm_start": "a forest is a function of its parameters and rows, never of one that was there before; `add` and "
    "`partial_fit` bring new rows in.",
}
REASONS_OF_CLASSIFIERS = REASONS | {
    "target_range": "classes have no range; `DareForestRegressor` is for numbers.",
}
REASONS_OF_REGRESSORS = REASONS | {
    "class_weight": "there are no classes; use `sample_weight` for rows that are to count for more.",
    "stability": "its unit is a row, and scores of targets are squares of the unit of the targets.",
}
# Of values of `criterion`.
REASONS_OF_CRITERIA = {
    "absolute_error": "medians are no sums, which rows can be taken from; use 'squared_error'.",
    "friedman_mse": "it would choose the same splits as 'squared_error'.",
    "log_loss": "this is scikit-learn's other name of 'entropy'.",
    "mse": "this is the former name of 'squared_error'.",
    "poisson": "it is not part of the definition of these forests; use 'squared_error'.",
}


def refuse(estimator: str, names: Iterable[str], reasons: Mapping[str, str]) -> None:
    """Raise a TypeError, as for any unknown argument, that gives the reason."""
    for name in names:
        if name in reasons:
            raise TypeError(f"{estimator} has no parameter {name!r}: {reasons[name]}")
