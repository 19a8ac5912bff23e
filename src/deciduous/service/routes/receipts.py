"""Receipts and certificates."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse

from ..access import needs
from ..answers import ReceiptEntry, ReceiptList
from ..keys import Scope
from ..problems import documented
from ..serving import ModelOf, ServiceOf
from .models import COMMON

router = APIRouter(tags=["receipts"])
OF_LISTS = (*COMMON, "unknown-model", "internal-error", "damaged-folder")
OF_ONE = (*OF_LISTS, "unknown-receipt")
Number = Annotated[int, Path(ge=1, le=2**53)]
READERS = (Scope.erase, Scope.approve)


@router.get(
    "/v1/models/{name}/receipts",
    response_model=ReceiptList,
    responses=documented(*OF_LISTS),
    dependencies=[needs(*READERS)],
)
async def list_receipts(
    model: ModelOf,
    service: ServiceOf,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only those with a higher number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
) -> dict[str, Any]:
    """List receipts, oldest first, after their chain was checked."""
    return {"receipts": await service.in_thread(model.receipts, after, limit)}


@router.get(
    "/v1/models/{name}/receipts/{number}",
    response_model=ReceiptEntry,
    responses=documented(*OF_ONE),
    dependencies=[needs(*READERS)],
)
async def read_receipt(model: ModelOf, service: ServiceOf, number: Number) -> dict[str, Any]:
    """Return one receipt."""
    receipt = await service.in_thread(model.receipt, number)
    return receipt.as_dict()


@router.get(
    "/v1/models/{name}/receipts/{number}/certificate",
    response_class=HTMLResponse,
    responses=documented(*OF_ONE),
    dependencies=[needs(*READERS)],
)
async def read_certificate(model: ModelOf, service: ServiceOf, number: Number) -> HTMLResponse:
    """Return the certificate about a receipt of a change, as a page to print and file."""
    page = await service.in_thread(model.certificate, number, service.settings.organisation)
    return HTMLResponse(page)
