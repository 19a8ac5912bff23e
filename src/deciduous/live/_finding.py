"""Looks at the table for what changed since the last sync: by capture where that is possible, else by comparing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from .._progress import bar
from ._capture import Capture, Captured, Stamp
from ._changes import Changes, Comparison, people_of
from ._rows import Encoder
from ._settings import Settings
from ._source import Source, require_same_columns

COMPARISON, CAPTURE = "comparison", "capture"


@dataclass(frozen=True)
class Finding:
    """What a look at the table gave."""

    changes: Changes
    method: str
    captured: Captured
    lacks_triggers: bool  # that should be there
    stamp: Stamp | None  # of the table after the sync, if there are triggers
    settings: Settings  # with the names of categories that still have rows
    asked: Mapping[str, bytes]  # the subjects of the requests that were open before, by the ids of the requests
    unlabelled: NDArray[np.bytes_]  # the subjects of rows without label, if rows are gone or somebody asked


class Finder:
    """Finds changes of a source."""

    def __init__(self, source: Source, capture: Capture, verbose: int) -> None:
        self._source = source
        self._capture = capture
        self._verbose = verbose

    def found(
        self,
        encoder: Encoder,
        held: NDArray[Any],
        is_learned: NDArray[np.bool_],
        last: Stamp | None,
        asked: Mapping[str, bytes],
    ) -> Finding:
        """What is not as in the rows that are held, of which the forest may have learned only some so far."""
        settings = encoder.settings
        with self._source.reading() as connection:
            require_same_columns(settings, self._source.column_names(connection))
            is_captured = settings.captures and self._capture.is_installed(connection)
            captured = self._capture.captured(connection, last) if is_captured else Captured()
            changes, method = None, CAPTURE
            if captured.ids is not None and is_learned.all():
                changes = self._captured_changes(connection, encoder, captured.ids, held)
            if changes is None:
                changes, method = self._compared(connection, encoder, held, is_learned), COMPARISON
            if len(changes.gone) or not len(held):  # no row is known if the index was lost: any may be gone
                settings = self._without_idle_names(connection, settings)
            is_about_people = settings.subject is not None and (len(asked) > 0 or len(changes.gone) > 0)
            others = self._source.subjects_without_label(connection, settings) if is_about_people else []
        lacks_triggers = settings.captures and not is_captured
        unlabelled = people_of(encoder.subject_digests(others))
        stamp = captured.stamp(last if method == CAPTURE else None) if is_captured else None
        return Finding(changes, method, captured, lacks_triggers, stamp, settings, asked, unlabelled)

    def _captured_changes(
        self, connection: sa.Connection, encoder: Encoder, ids: list[Any], held: NDArray[Any]
    ) -> Changes | None:
        """The changes of captured rows, or None if there must be others: the number of rows would not be right."""
        comparison = Comparison(held, encoder.settings)
        if ids:
            self._source.read(
                connection,
                encoder.settings,
                lambda rows: comparison.see(encoder.encoded(rows)),
                among=self._capture.ids(),
            )
        core_ids = encoder.core_ids(ids) if ids else np.empty(0, dtype=np.int64)
        changes = comparison.changes(core_ids)
        n_expected = len(held) + changes.n_added - changes.n_deleted
        return changes if self._source.count(connection, encoder.settings) == n_expected else None

    def _compared(
        self, connection: sa.Connection, encoder: Encoder, held: NDArray[Any], is_learned: NDArray[np.bool_]
    ) -> Changes:
        comparison = Comparison(held, encoder.settings, is_learned)
        with bar("Reading", len(held), self._verbose > 0, "rows") as report:
            see_all(comparison, self._source, connection, encoder, report)
        return comparison.changes()

    def _without_idle_names(self, connection: sa.Connection, settings: Settings) -> Settings:
        """The settings without the names of learned categories that no row has any more."""
        columns = tuple(
            self._source.without_idle_names(connection, settings, column) if column.is_learned else column
            for column in settings.columns
        )
        return replace(settings, columns=columns)


def see_all(
    comparison: Comparison,
    source: Source,
    connection: sa.Connection,
    encoder: Encoder,
    report: Callable[[int], None] | None,
) -> None:
    """Show all rows of the source to a comparison, and report how many there were so far."""
    n_seen = 0

    def see(rows: Sequence[Sequence[Any]]) -> None:
        nonlocal n_seen
        comparison.see(encoder.encoded(rows))
        n_seen += len(rows)
        if report is not None:
            report(n_seen)

    source.read(connection, encoder.settings, see)
