"""Rows on their way into a forest."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._row_names import Names, RowNames, name_list, subject_list
from ._row_weights import in_units, unit_of, weight_array
from ._validation import require_one_each
from .errors import InvalidInputError

FIRST_RANDOM_ID, END_OF_IDS = 2**62, 2**63
NO_IDS = np.empty(0, np.int64)


@dataclass(slots=True)  # not frozen, as every deletion makes one, and one that is frozen takes three times as long
class Batch:
    """Checked rows: as many ids, labels, weights and subjects as rows, and none of weight 0."""

    ids: NDArray[np.int64]  # the core's
    rows: NDArray[np.float32]
    labels: NDArray[Any]  # or targets, of a regressor
    weights: NDArray[np.uint32] | None  # in units
    names: list[Any] | None
    subjects: list[Any] | None
    n_counted: int | None  # how far rows are counted when these are in; None if ids were ever given
    left_out: NDArray[np.int64]  # ids of rows of weight 0
    unit: float  # of the weights

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown_ids(self) -> list[Any]:
        """The ids as their user knows them."""
        return self.ids.tolist() if self.names is None else self.names

    @classmethod
    def nothing(cls, n_columns: int, labels: NDArray[Any], n_counted: int | None, unit: float) -> Batch:
        """No rows, with labels of a type that need not be asked for."""
        return cls(NO_IDS, np.empty((0, n_columns), np.float32), labels[:0], None, None, None, n_counted, NO_IDS, unit)

    @classmethod
    def checked(
        cls,
        rows: NDArray[np.float32],
        labels: NDArray[Any],
        *,
        ids: Names | None,
        sample_weight: ArrayLike | None,
        subjects: Names | None,
        known: RowNames,
        n_counted: int | None,
        holds: Callable[[NDArray[np.int64]], NDArray[Any]] | None,
        weight_unit: Any,
        takes_fractions: bool,
    ) -> Batch:
        """The batch, if everything fits together; `labels` do already.

        Weights are in `weight_unit`, or if that is None in the unit that follows from them, and may be no fractions in
        the unit 1 unless the batch `takes_fractions`. Rows without ids are
        counted on from `n_counted`. If that is None, they get random ones that nobody `holds`.
        """
        n_rows = len(rows)
        given = weight_array(sample_weight, n_rows)
        unit = unit_of(given, weight_unit)
        weights = in_units(given, n_rows, unit, takes_fractions=takes_fractions)
        core_ids, names = _numbered(n_rows, known, n_counted, holds) if ids is None else _named(ids, n_rows, known)
        people = None if subjects is None else subject_list(subjects)
        if people is not None:
            require_one_each("subjects", len(people), n_rows)
        if ids is not None:
            n_counted = None if n_rows else n_counted
        elif n_counted is not None:
            n_counted += n_rows
        if weights is None:
            return cls(core_ids, rows, labels, None, names, people, n_counted, core_ids[:0], unit)
        counts = np.flatnonzero(weights)
        return cls(
            core_ids[counts],
            rows[counts],
            labels[counts],
            weights[counts],
            None if names is None else [names[i] for i in counts],
            None if people is None else [people[i] for i in counts],
            n_counted,
            core_ids[weights == 0],
            unit,
        )


@dataclass(slots=True)
class PendingUpdate:
    """What the core was asked for, noted before, so that whoever is interrupted can tell later what came of it."""

    n_updates: int  # of the core, before this one
    leaving: list[int]
    coming: Batch
    classes: NDArray[Any]  # before


def random_ids(n_rows: int, holds: Callable[[NDArray[np.int64]], NDArray[Any]] | None) -> NDArray[np.int64]:
    """Numbers in a row from a random place far beyond those that people use, none of which is held.

    They tell nothing: the next one after those ever used would tell of a row that is gone.
    """
    while True:
        first = FIRST_RANDOM_ID + secrets.randbelow(END_OF_IDS - FIRST_RANDOM_ID - n_rows)
        ids = np.arange(first, first + n_rows, dtype=np.int64)
        if holds is None or not holds(ids).any():
            return ids


def _numbered(
    n_rows: int, known: RowNames, n_counted: int | None, holds: Callable[[NDArray[np.int64]], NDArray[Any]] | None
) -> tuple[NDArray[np.int64], None]:
    """Ids for rows that came without any."""
    if known.kind is not None:
        raise InvalidInputError("The rows of this forest are not named by integers, so give `ids` for new ones.")
    return (random_ids(n_rows, holds) if n_counted is None else np.arange(n_counted, n_counted + n_rows)), None


def _named(ids: Names, n_rows: int, known: RowNames) -> tuple[NDArray[np.int64], list[Any] | None]:
    """The core's ids of the rows, and their names if those are something else."""
    names = None if known.kind is None else name_list(ids)
    core_ids = known.core_ids(ids if names is None else names)
    require_one_each("ids", len(core_ids), n_rows)
    return core_ids, names
