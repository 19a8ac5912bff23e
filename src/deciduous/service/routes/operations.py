"""For those who run the service: whether it is well, and what it does."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from ..access import needs
from ..answers import Health
from ..problems import ProblemError, documented
from ..serving import ServiceOf
from .models import COMMON

router = APIRouter(tags=["operations"])
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/health",
    response_model=Health,
    responses=documented("invalid-request", "cross-origin", "overloaded", "shutting-down"),
)
async def health() -> dict[str, Any]:
    """Tell that the service answers. Needs no key."""
    return {"status": "ok"}


@router.get(
    "/ready",
    response_model=Health,
    responses=documented("invalid-request", "cross-origin", "overloaded", "shutting-down", "not-ready"),
)
async def ready(service: ServiceOf) -> dict[str, Any]:
    """Tell whether all models follow their tables. Needs no key."""
    if not all(model.is_ready for model in service.models):
        raise ProblemError("not-ready", "Not all models follow their tables.", retry_after=2)
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=documented(*COMMON, "internal-error", "damaged-folder"),
    dependencies=[needs()],
)
async def metrics(service: ServiceOf) -> PlainTextResponse:
    """Tell what is counted and timed, as Prometheus reads it."""
    text = await service.in_thread(lambda: service.metrics.text(service.models.gauges()))
    return PlainTextResponse(text, media_type=PROMETHEUS)
