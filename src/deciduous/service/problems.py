"""Problems as answers (RFC 9457), and the one place that knows which error of the library is which.

No detail has a value of a row, a path or what a database says: errors whose words may have them get words of ours.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from .. import errors

MEDIA = "application/problem+json"
KIND = "urn:deciduous:problem:"
# By the end of their type: the status, and the title.
KINDS: dict[str, tuple[int, str]] = {
    "invalid-request": (422, "The request is not as the API describes it"),
    "invalid-rows": (422, "The rows cannot be taken as they are"),
    "other-task": (422, "The model is for another task"),
    "unreadable-body": (400, "The body cannot be read"),
    "unsupported-media-type": (415, "The body is of a kind that is not read here"),
    "body-too-large": (413, "The body is too large"),
    "body-too-slow": (408, "The body did not arrive in time"),
    "unauthenticated": (401, "A key is needed"),
    "forbidden": (403, "The key does not open this"),
    "cross-origin": (403, "Requests of other sites are refused"),
    "not-found": (404, "There is nothing here"),
    "unknown-model": (404, "There is no such model"),
    "unknown-receipt": (404, "There is no such receipt"),
    "unknown-verification": (404, "There is no such verification"),
    "unknown-rows": (404, "There are no such rows"),
    "method-not-allowed": (405, "That cannot be done here"),
    "ids-taken": (409, "The table holds rows with these ids"),
    "empty-forest": (409, "The forest holds no rows"),
    "table-changed": (409, "The table is not as the forest needs it"),
    "too-many-requests": (429, "Too many requests"),
    "internal-error": (500, "A fault of the service"),
    "not-followed": (500, "The table was changed, and the forest has not followed yet"),
    "damaged-folder": (500, "The folder of the model is not as it should be"),
    "overloaded": (503, "Too much is waiting"),
    "timed-out": (503, "It took too long"),
    "not-ready": (503, "The model is not ready"),
    "shutting-down": (503, "The service is shutting down"),
    "database-unavailable": (503, "The database does not answer"),
}


class ProblemDetails(BaseModel):
    """A problem, as RFC 9457 describes it. `type` is stable: programs can tell problems by it."""

    type: str = Field(examples=[f"{KIND}unknown-model"])
    title: str
    status: int
    detail: str
    fields: list[dict[str, Any]] | None = Field(None, description="Where the request is wrong, and how.")


class ProblemError(Exception):
    """A problem that the client is told of."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.kind = kind
        self.status, self.title = KINDS[kind]
        self.detail = detail
        self.fields = fields
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
        super().__init__(detail)

    def content(self) -> dict[str, Any]:
        """The body of the answer."""
        told = {"type": KIND + self.kind, "title": self.title, "status": self.status, "detail": self.detail}
        return told if self.fields is None else told | {"fields": list(self.fields)}


class NotFollowedError(errors.DeciduousError):
    """Raised when rows of the table were changed as asked, and the sync failed that was to follow."""


def problem_of(error: Exception) -> ProblemError:
    """What the client is told of an error."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, NotFollowedError):
        cause = error.__cause__
        why = f" {problem_of(cause).detail}" if isinstance(cause, Exception) else ""
        return ProblemError(
            "not-followed",
            "The rows of the table were changed as asked. The forest follows with the next sync that succeeds, so do "
            f"not send this again.{why}",
        )
    for kind, its in PROBLEMS.items():
        if isinstance(error, its):
            return ProblemError(kind, str(error))
    if isinstance(error, errors.FolderBusyError | errors.FolderInUseError):
        return ProblemError(
            "overloaded", "Another program has the folder of the model locked. Try again.", retry_after=5
        )
    if isinstance(error, errors.FolderError):
        return ProblemError(
            "damaged-folder", "The folder of the model is not as it was written. `deciduous live verify` says more."
        )
    if isinstance(error, SQLAlchemyError | sqlite3.Error):
        return ProblemError("database-unavailable", "A database is locked or cannot be reached.", retry_after=2)
    return ProblemError(
        "internal-error", f"This is a fault of the service ({type(error).__name__}). Its log says where."
    )


# The words of these errors name columns, places and numbers of rows, and no values.
PROBLEMS: dict[str, type[Exception] | tuple[type[Exception], ...]] = {
    "ids-taken": errors.TakenIdsError,
    "unknown-rows": errors.UnknownIdsError,
    "other-task": errors.OtherTaskError,
    "empty-forest": errors.EmptyForestError,
    "table-changed": errors.SchemaChangedError,
    "invalid-rows": errors.InvalidInputError,
}


def documented(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """What the API's description says of an operation that may end with these problems."""
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        by_status.setdefault(KINDS[kind][0], []).append(kind)
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(f'`{kind}`' for kind in its)}.",
            "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status, its in sorted(by_status.items())
    }
