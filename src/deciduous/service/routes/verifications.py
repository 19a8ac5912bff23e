"""Verifications: training again from the table, in the background, and comparing every byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from ..access import needs
from ..answers import VerificationState
from ..keys import Scope
from ..problems import documented
from ..serving import ModelOf, Service, ServiceOf
from ..verifications import Verification
from .models import COMMON

router = APIRouter(tags=["verifications"])
EVENTS = "text/event-stream"
BETWEEN_LOOKS = 0.1  # seconds
BETWEEN_SIGNS = 15.0  # seconds without an event until a comment tells that somebody is there
AS_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, until it is over.", "content": {EVENTS: {"schema": {"type": "string"}}}}
}
OF_ONE = (*COMMON, "unknown-model", "unknown-verification")


@router.post(
    "/v1/models/{name}/verifications",
    status_code=202,
    response_model=VerificationState,
    responses=documented(*COMMON, "unknown-model", "not-ready"),
    dependencies=[needs(Scope.approve)],
)
async def begin_verification(model: ModelOf, response: Response) -> dict[str, Any]:
    """Begin to verify a model, or join the verification that is under way. Changes wait; predictions go on."""
    its = model.verifications.begin()
    response.headers["Location"] = f"/v1/models/{model.name}/verifications/{its.id}"
    return its.as_dict()


@router.get(
    "/v1/models/{name}/verifications/{id}",
    response_model=VerificationState,
    responses=documented(*OF_ONE),
    dependencies=[needs(Scope.approve)],
)
async def read_verification(model: ModelOf, id: str) -> dict[str, Any]:
    """Tell how far a verification is, or how it ended. It is known until the service ends."""
    return model.verifications[id].as_dict()


@router.get(
    "/v1/models/{name}/verifications/{id}/events",
    response_class=StreamingResponse,
    responses=AS_EVENTS | documented(*OF_ONE),
    dependencies=[needs(Scope.approve)],
)
async def follow_verification(model: ModelOf, id: str, service: ServiceOf) -> StreamingResponse:
    """Follow a verification by server-sent events: `progress`, and at the end `end`, each with its state as JSON."""
    return StreamingResponse(_events(model.verifications[id], service), media_type=EVENTS)


async def _events(its: Verification, service: Service) -> AsyncIterator[str]:
    """Its states, each once. If the service ends first, so do they, and the client may ask again."""
    told, n_quiet = None, 0
    while not service.is_closing:
        is_over, now = its.is_over, json.dumps(its.as_dict())
        if now != told:
            yield f"event: {'end' if is_over else 'progress'}\ndata: {now}\n\n"
            told, n_quiet = now, 0
        if is_over:
            return
        n_quiet += 1
        if n_quiet * BETWEEN_LOOKS >= BETWEEN_SIGNS:
            yield ": still there\n\n"
            n_quiet = 0
        await asyncio.sleep(BETWEEN_LOOKS)
