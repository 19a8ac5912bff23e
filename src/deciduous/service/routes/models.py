"""Models: which there are, and what is known of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from ..access import needs
from ..answers import ModelDescription, ModelList
from ..problems import documented
from ..serving import ModelOf, ServiceOf

router = APIRouter(tags=["models"])
COMMON = (
    "invalid-request",
    "cross-origin",
    "unauthenticated",
    "forbidden",
    "too-many-requests",
    "overloaded",
    "timed-out",
    "shutting-down",
)


@router.get("/v1/models", response_model=ModelList, responses=documented(*COMMON), dependencies=[needs()])
async def list_models(service: ServiceOf) -> dict[str, Any]:
    """List the models that are served."""
    return {"models": [model.listed() for model in service.models]}


@router.get(
    "/v1/models/{name}",
    response_model=ModelDescription,
    responses=documented(*COMMON, "unknown-model", "not-ready", "internal-error", "damaged-folder"),
    dependencies=[needs()],
)
async def describe_model(model: ModelOf, service: ServiceOf) -> dict[str, Any]:
    """Describe a model: its task, columns, parameters without the seed, counts, fingerprint and memory."""
    return await service.in_thread(model.described)
