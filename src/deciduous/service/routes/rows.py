"""Rows that come and go, and what it would take that they go."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from ..access import needs
from ..answers import Change, Cost
from ..bodies import IDS_IN, ROWS_IN, WHICH_IN, IdsBody, WhichBody, parsed, rows_of, sent, values_of
from ..keys import Scope
from ..problems import ProblemError, documented
from ..serving import ModelOf, ServiceOf
from ..writer import DELETED, INSERTED, Changed
from .models import COMMON

router = APIRouter(tags=["rows"])
OF_BODIES = (
    *COMMON,
    "unknown-model",
    "not-ready",
    "invalid-rows",
    "unreadable-body",
    "unsupported-media-type",
    "body-too-large",
    "body-too-slow",
    "database-unavailable",
    "internal-error",
    "damaged-folder",
)
OF_CHANGES = (*OF_BODIES, "table-changed", "not-followed")


@router.post(
    "/v1/models/{name}/rows",
    response_model=Change,
    responses=documented(*OF_CHANGES, "ids-taken"),
    openapi_extra=ROWS_IN,
    dependencies=[needs(Scope.write)],
)
async def add_rows(request: Request, model: ModelOf, service: ServiceOf) -> dict[str, Any]:
    """Insert rows into the table, all or none, and let the forest follow. Answered when the receipt is on the disk."""
    body = await sent(request, service.settings)
    kinds = model.live.kinds
    rows = await service.in_thread(lambda: rows_of(body, kinds, service.settings, takes_others=False))
    ids = values_of(rows, model.live.kinds[0].name)
    changed = await service.written(model.writer.change(INSERTED, ids, lambda table: table.insert(rows)))
    return _told(changed)


@router.delete(
    "/v1/models/{name}/rows",
    response_model=Change,
    responses=documented(*OF_CHANGES, "unknown-rows"),
    openapi_extra=IDS_IN,
    dependencies=[needs(Scope.erase)],
)
async def delete_rows(request: Request, model: ModelOf, service: ServiceOf) -> dict[str, Any]:
    """Delete rows from the table, all or none, and let the forest forget them. Answered when the receipt is there.

    The forest is then the one that training on the other rows would give.
    """
    ids = parsed(await sent(request, service.settings), IdsBody).ids
    _require_few(len(ids), service)
    vacuum = service.settings.vacuum
    changed = await service.written(model.writer.change(DELETED, ids, lambda table: table.delete(ids, vacuum=vacuum)))
    return _told(changed)


@router.post(
    "/v1/models/{name}/cost",
    response_model=Cost,
    responses=documented(*OF_BODIES, "unknown-rows"),
    openapi_extra=WHICH_IN,
    dependencies=[needs(Scope.erase)],
)
async def cost(request: Request, model: ModelOf, service: ServiceOf) -> dict[str, Any]:
    """Tell what it would take to delete rows, without doing it."""
    model.require_loaded()
    which = parsed(await sent(request, service.settings), WhichBody)
    _require_few(len(which.ids or ()), service)
    return await service.in_thread(model.cost, which.ids, which.subject)


def _require_few(n_ids: int, service: ServiceOf) -> None:
    if n_ids > service.settings.most_rows:
        raise ProblemError(
            "invalid-rows", f"A request has up to {service.settings.most_rows:,} ids, and this one {n_ids:,}."
        )


def _told(changed: Changed) -> dict[str, Any]:
    report = changed.report
    return {
        "n_rows": changed.n_rows,
        "receipt": report.receipts[-1].number if report.receipts else None,
        "fingerprint": report.fingerprint,
        "remains": report.remains,
    }
