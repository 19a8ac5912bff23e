"""Bodies of requests: read with limits, and taken apart, as JSON, CSV or Arrow.

Values are judged by the library, and text becomes values by the rules that the command line has, too. What is wrong is
told by columns and places.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError
from starlette.requests import ClientDisconnect

from .._tables.arrow import ArrowSource
from .._tables.csv import GZIP, CsvSource
from .._tables.files import ColumnTwiceError
from .._tables.values import MisfitError, converted, guessed_type
from ..errors import InvalidInputError
from ..live._settings import INTEGER, LABEL, NUMBER, ColumnKind
from .problems import ProblemError
from .settings import Settings

JSON, CSV = "application/json", "text/csv"
ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")
MOST_FIELDS = 10  # that are told of
WORDS = {NUMBER: "numbers", INTEGER: "whole numbers", LABEL: "numbers or truth values"}
THE_BODY = "The body"

Value = StrictStr | StrictBool | StrictInt | StrictFloat | None
Id = StrictStr | StrictInt


class Plain(BaseModel):
    """A body of JSON: only what is described, and no numbers that JSON does not have."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RowsBody(Plain):
    """Rows, each with its values by the names of columns. A missing value is null."""

    rows: Annotated[list[dict[str, Value]], Field(min_length=1)]


class IdsBody(Plain):
    """Ids of rows."""

    ids: Annotated[list[Id], Field(min_length=1)]


class WhichBody(Plain):
    """Rows by their ids, or all rows of a subject: one of both."""

    ids: Annotated[list[Id] | None, Field(min_length=1)] = None
    subject: Id | None = None


def _in_json(kind: type[Plain]) -> dict[str, Any]:
    return {JSON: {"schema": kind.model_json_schema()}}


def _described(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


BYTES = {"schema": {"type": "string", "format": "binary"}}
ROWS_IN = _described(_in_json(RowsBody) | {CSV: {"schema": {"type": "string"}}} | dict.fromkeys(ARROW, BYTES))
IDS_IN = _described(_in_json(IdsBody))
WHICH_IN = _described(_in_json(WhichBody))

Body = TypeVar("Body", bound=Plain)


@dataclass(frozen=True)
class Sent:
    """A body as it was sent."""

    media: str
    content: bytes


async def sent(request: Request, settings: Settings) -> Sent:
    """The body of a request, if it is not too large, and arrives in time."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError("unsupported-media-type", "Bodies are read as they are: leave out Content-Encoding.")
    length = request.headers.get("content-length", "0")
    too_large = ProblemError("body-too-large", f"Bodies have up to {settings.largest_body:,} bytes. Send several.")
    if length.isdigit() and int(length) > settings.largest_body:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for piece in request.stream():
                content += piece
                if len(content) > settings.largest_body:
                    raise too_large
    except TimeoutError:
        raise ProblemError(
            "body-too-slow", f"The body did not arrive within {settings.body_seconds:g} seconds.", headers=CLOSING
        ) from None
    except ClientDisconnect:
        raise ProblemError("unreadable-body", "The body has no end: the client left.") from None
    return Sent(media, bytes(content))


CLOSING = {"Connection": "close"}  # what is left of the body is not waited for


def parsed(body: Sent, kind: type[Body]) -> Body:
    """A body of JSON."""
    if body.media != JSON:
        raise _unsupported((JSON,))
    try:
        return kind.model_validate_json(body.content)
    except ValidationError as error:
        raise _misread(error) from None


def rows_of(body: Sent, kinds: Sequence[ColumnKind], settings: Settings, *, takes_others: bool) -> Any:
    """Rows as the library takes them: a list of dicts, or a table of Arrow.

    CSV has these columns; others are left out, or refused if they count. JSON and Arrow say of themselves what is what.
    """
    rows: Any
    if body.media == JSON:
        rows = parsed(body, RowsBody).rows
    elif body.media == CSV:
        rows = _of_csv(body.content, {its.name: its for its in kinds}, takes_others=takes_others)
    elif body.media in ARROW:
        rows = _of_arrow(body.content)
    else:
        raise _unsupported((JSON, CSV, *ARROW))
    if not 0 < len(rows) <= settings.most_rows:
        raise ProblemError(
            "invalid-rows", f"A request has 1 to {settings.most_rows:,} rows, and this one {len(rows):,}."
        )
    return rows


def values_of(rows: Any, column: str) -> list[Any]:
    """The values of a column of rows, as far as they have it."""
    if isinstance(rows, list):
        return [row[column] for row in rows if column in row]
    return list(rows.column(column).to_pylist()) if column in rows.column_names else []


def _unsupported(known: Sequence[str]) -> ProblemError:
    return ProblemError("unsupported-media-type", f"The Content-Type is to be {' or '.join(known)}.")


def _misread(error: ValidationError) -> ProblemError:
    """What pydantic says, without the values."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    if problems[0]["type"] == "json_invalid":
        return ProblemError("unreadable-body", "The body is not JSON, in UTF-8.")
    return ProblemError("invalid-request", "The body is not as the API describes it.", fields=fields_of(problems))


def fields_of(problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where a request is wrong, and how."""
    return [
        {"field": ".".join(map(str, problem["loc"])), "problem": problem["msg"]} for problem in problems[:MOST_FIELDS]
    ]


# -------------------------------------------------------------------------------------------------------- CSV and Arrow


def _of_csv(content: bytes, kinds: Mapping[str, ColumnKind], *, takes_others: bool) -> Any:
    import pyarrow as pa

    if content.startswith(GZIP):
        raise ProblemError("unreadable-body", "The body is compressed. Send CSV as it is.")
    source = CsvSource(THE_BODY, content)
    try:
        names = list(source.types())
        unknown = [place for place, name in enumerate(names) if name not in kinds]
        if unknown and not takes_others:  # by places, as a file without a header has values there
            raise InvalidInputError(
                f"Column {unknown[0]} of the body, counted from 0, is none that the forest reads: those are "
                f"{', '.join(kinds)}. Nothing was changed. The first line names the columns."
            )
        missing = [name for name in kinds if name not in names]
        if missing:
            raise InvalidInputError(
                f"The body has no column {missing[0]!r}. It needs {', '.join(kinds)}; the first line names them."
            )
        batches = list(source.batches(list(kinds), lambda _: None))
        if not batches:
            return []
        texts = pa.Table.from_batches(batches).combine_chunks()
        return pa.table(
            {name: _converted(texts.column(name).chunk(0), its, source.decimal) for name, its in kinds.items()}
        )
    except ColumnTwiceError:  # whose words have what may be values, in a file without a header
        raise InvalidInputError("The body has two columns of one name. The first line names each once.") from None
    except (pa.ArrowException, UnicodeError):
        raise ProblemError("unreadable-body", "The body cannot be read as CSV, in UTF-8.") from None


def _converted(texts: Any, column: ColumnKind, decimal: str) -> Any:
    """A column of text as what it is to hold."""
    import pyarrow as pa

    types = {NUMBER: pa.float64(), INTEGER: pa.int64()}
    kind = types.get(column.kind, pa.string())
    if column.kind == LABEL:
        kind = guessed_type(texts, is_typed=False, decimal=decimal)
    try:
        return converted(column.name, texts, kind, decimal=decimal, known=column.known)
    except MisfitError:
        raise InvalidInputError(
            f"Column {column.name!r} of the body holds something else than {WORDS[column.kind]}. Nothing was changed."
        ) from None


def _of_arrow(content: bytes) -> Any:
    import pyarrow as pa

    source = ArrowSource(THE_BODY, content)
    try:
        names = list(source.types())
        batches = list(source.batches(names, lambda _: None))
        for batch in batches:
            batch.validate(full=True)  # offsets beyond the buffers would be read, too
        return pa.Table.from_batches(batches) if batches else []
    except (pa.ArrowException, OSError, UnicodeError):
        raise ProblemError("unreadable-body", "The body cannot be read as a stream or file of Arrow.") from None
