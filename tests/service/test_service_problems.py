"""Which error is which problem, and that no problem repeats words that may have values or paths in them."""

from __future__ import annotations

import sqlite3

import pytest
import sqlalchemy as sa

from deciduous import errors
from deciduous.service.metrics import Metrics
from deciduous.service.problems import KINDS, NotFollowedError, ProblemError, documented, problem_of

SECRET = "Zyxwvutsrq"
ERRORS: list[tuple[Exception, str, int]] = [
    (ProblemError("not-ready", "Wait.", retry_after=0.2), "not-ready", 503),
    (errors.TakenIdsError([3]), "ids-taken", 409),
    (errors.UnknownIdsError([3]), "unknown-rows", 404),
    (errors.OtherTaskError("It predicts numbers."), "other-task", 422),
    (errors.EmptyForestError(), "empty-forest", 409),
    (errors.SchemaChangedError("age", "is gone", "Bring it back."), "table-changed", 409),
    (errors.InvalidInputError("Rows have no column."), "invalid-rows", 422),
    (errors.FolderBusyError(SECRET, 30), "overloaded", 503),
    (errors.FolderInUseError(SECRET, SECRET), "overloaded", 503),
    (errors.CorruptRecordError(SECRET), "damaged-folder", 500),
    (errors.FolderError(SECRET), "damaged-folder", 500),
    (sa.exc.OperationalError(SECRET, {}, Exception(SECRET)), "database-unavailable", 503),
    (sa.exc.StatementError(SECRET, SECRET, {}, Exception(SECRET)), "database-unavailable", 503),
    (sqlite3.OperationalError(SECRET), "database-unavailable", 503),
    (KeyError(SECRET), "internal-error", 500),
    (errors.UnknownRowError([SECRET], 3), "internal-error", 500),
]


@pytest.mark.parametrize(("error", "kind", "status"), ERRORS, ids=lambda its: getattr(its, "__class__", its).__name__)
def test_errors_are_problems(error: Exception, kind: str, status: int) -> None:
    problem = problem_of(error)
    assert (problem.kind, problem.status) == (kind, status)
    assert SECRET not in str(problem.content())
    if status in (429, 503):
        assert int(problem.headers["Retry-After"]) >= 1


def test_changes_that_the_forest_did_not_follow_say_why() -> None:
    error = NotFollowedError()
    error.__cause__ = errors.SchemaChangedError("age", "is gone", "Bring it back.")
    assert "Column 'age' is gone" in problem_of(error).detail
    error.__cause__ = sa.exc.OperationalError(SECRET, {}, Exception(SECRET))
    assert SECRET not in problem_of(error).detail


def test_each_kind_has_a_status_and_a_title() -> None:
    assert all(400 <= status < 600 and title for status, title in KINDS.values())
    assert list(documented("unknown-model", "unknown-receipt", "forbidden")) == [403, 404]


def test_histograms_count_what_is_at_most_a_bound() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.002, 0.7, 99.0):
        metrics.time("deciduous_sync_seconds", seconds, model="clinic")
    lines = metrics.text({}).splitlines()
    counts = {line.split('le="')[1].split('"')[0]: line.rsplit(" ", 1)[1] for line in lines if "_bucket" in line}
    assert (counts["0.001"], counts["0.0025"], counts["0.5"], counts["1.0"], counts["+Inf"]) == (
        "1",
        "2",
        "2",
        "3",
        "4",
    )
    assert lines[-1] == 'deciduous_sync_seconds_count{model="clinic"} 4'
