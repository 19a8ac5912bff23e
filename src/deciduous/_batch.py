"""Rows on their way into a forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._row_names import Names, RowNames, name_list, subject_list
from ._validation import fresh_ids, label_array, require_one_each, weight_array
from .errors import InvalidInputError


@dataclass(frozen=True)
class Batch:
    """Checked rows: as many ids, labels, weights and subjects as rows, and none of weight 0."""

    ids: NDArray[np.int64]  # the core's
    rows: NDArray[np.float32]
    labels: NDArray[Any]
    weights: NDArray[np.uint32] | None
    names: list[Any] | None
    subjects: list[Any] | None
    next_fresh: int

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def checked(
        cls,
        rows: NDArray[np.float32],
        y: ArrayLike,
        ids: Names | None,
        sample_weight: ArrayLike | None,
        subjects: Names | None,
        known: RowNames,
        first_fresh: int,
    ) -> Batch:
        """The batch, if everything fits together."""
        n_rows = len(rows)
        labels = label_array(y, n_rows)
        weights = weight_array(sample_weight, n_rows)
        core_ids, names = _ids(ids, n_rows, known, first_fresh)
        people = None if subjects is None else subject_list(subjects)
        if people is not None:
            require_one_each("subjects", len(people), n_rows)
        next_fresh = max(first_fresh, int(core_ids.max(initial=-1)) + 1) if known.kind is None else first_fresh
        if weights is None:
            return cls(core_ids, rows, labels, None, names, people, next_fresh)
        counts = np.flatnonzero(weights)
        return cls(
            core_ids[counts],
            rows[counts],
            labels[counts],
            weights[counts],
            None if names is None else [names[i] for i in counts],
            None if people is None else [people[i] for i in counts],
            next_fresh,
        )


def _ids(
    ids: Names | None, n_rows: int, known: RowNames, first_fresh: int
) -> tuple[NDArray[np.int64], list[Any] | None]:
    """The core's ids of the rows, and their names if those are something else."""
    if ids is None:
        if known.kind is not None:
            raise InvalidInputError("The rows of this forest are not named by integers, so give `ids` for new ones.")
        return fresh_ids(n_rows, first_fresh), None
    names = None if known.kind is None else name_list(ids)
    core_ids = known.core_ids(ids if names is None else names)
    require_one_each("ids", len(core_ids), n_rows)
    return core_ids, names
