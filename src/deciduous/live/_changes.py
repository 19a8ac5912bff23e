"""What differs between a table and the rows that the forest holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._rows import EncodedRows, refuse_duplicates
from ._settings import Settings


@dataclass(frozen=True)
class Changes:
    """Rows that came, went, or are others than before; and what the forest, which may lack rows, makes of that."""

    added: EncodedRows  # the new versions of updated rows among them
    gone: NDArray[Any]  # what was known of rows that are gone or updated
    updated: NDArray[np.int64]  # ids
    to_learn: EncodedRows  # the added rows, and those that the forest lacks
    to_forget: NDArray[np.int64]  # ids of the rows that are gone or updated, without those that the forest lacks

    def __bool__(self) -> bool:
        return len(self.added) + len(self.gone) > 0

    @property
    def n_updated(self) -> int:
        """Rows that are others than before."""
        return len(self.updated)

    @property
    def n_added(self) -> int:
        """Rows that were not there before."""
        return len(self.added) - self.n_updated

    @property
    def n_deleted(self) -> int:
        """Rows that are not there any more."""
        return len(self.gone) - self.n_updated


class Comparison:
    """Compares rows, batch by batch, with those that are held; memory goes by what differs and what is to be learned.

    All rows that are held have been learned by the forest, unless `is_learned` says otherwise.
    """

    def __init__(self, held: NDArray[Any], settings: Settings, is_learned: NDArray[np.bool_] | None = None) -> None:
        self._held = held
        self._n_columns = len(settings.columns)
        self._is_learned = np.ones(len(held), dtype=bool) if is_learned is None else is_learned
        self._is_present = np.zeros(len(held), dtype=bool)
        self._is_updated = np.zeros(len(held), dtype=bool)
        self._fresh: list[EncodedRows] = []
        self._lacking: list[EncodedRows] = []

    def see(self, rows: EncodedRows) -> None:
        """Take in rows that the table has."""
        ids = rows.known["id"]
        places = np.searchsorted(self._held["id"], ids)
        inside = np.minimum(places, max(0, len(self._held) - 1))
        is_known = (self._held["id"][inside] == ids) if len(self._held) else np.zeros(len(ids), dtype=bool)
        known_places = inside[is_known]
        if self._is_present[known_places].any():
            refuse_duplicates()
        self._is_present[known_places] = True
        is_same = is_known.copy()
        is_same[is_known] = self._held[known_places] == rows.known[is_known]
        self._is_updated[inside[is_known & ~is_same]] = True
        if not is_same.all():
            self._fresh.append(rows.only(~is_same))
        is_lacking = is_same.copy()
        is_lacking[is_same] = ~self._is_learned[inside[is_same]]
        if is_lacking.any():
            self._lacking.append(rows.only(is_lacking))

    def changes(self, among: NDArray[np.int64] | None = None) -> Changes:
        """What differs, if the rows seen are all that the table has, or all that it has of some ids."""
        is_gone = ~self._is_present
        if among is not None:
            is_gone &= np.isin(self._held["id"], among)
        added = EncodedRows.together(self._fresh, self._n_columns)
        if len(np.unique(added.known["id"])) < len(added):
            refuse_duplicates()
        is_outdated = is_gone | self._is_updated
        return Changes(
            added=added,
            gone=self._held[is_outdated],
            updated=self._held["id"][self._is_updated],
            to_learn=EncodedRows.together([added, *self._lacking], self._n_columns) if self._lacking else added,
            to_forget=self._held["id"][is_outdated & self._is_learned],
        )


def people_of(subjects: NDArray[np.uint64], among: NDArray[np.bytes_] | None = None) -> NDArray[np.bytes_]:
    """The digests of the subjects of rows, each once, or of those among some; a row may have none."""
    digests = np.ascontiguousarray(subjects).view("S16").ravel()
    digests = np.unique(digests if among is None else digests[np.isin(digests, among)])
    present: NDArray[np.bytes_] = digests[digests != b""]
    return present


def people_from(digests: Iterable[bytes]) -> NDArray[np.bytes_]:
    """Digests of subjects, as `people_of` gives them."""
    return np.array(list(digests), dtype="S16")
