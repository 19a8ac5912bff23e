"""The application: routes, what stands around them, and how errors become answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .. import __version__
from ..errors import DeciduousError
from .bodies import fields_of
from .guard import Guard, answer
from .problems import ProblemDetails, ProblemError, problem_of
from .routes import models, operations, predictions, receipts, rows, verifications
from .serving import Service, require_known_query

ABOUT = "Models that predict, forget and prove it. Problems are told as RFC 9457 has it; `type` tells them apart."
ROUTERS = (models, predictions, rows, verifications, receipts, operations)
WORDS = {404: "not-found", 405: "method-not-allowed"}


def app_of(service: Service) -> FastAPI:
    """The application of a service. There are no pages of its own documentation: they would load scripts elsewhere."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.models.start()
        try:
            yield
        finally:
            service.is_closing = True
            await to_thread.run_sync(service.models.close)

    app = FastAPI(
        title="deciduous",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        dependencies=[Depends(require_known_query)],
    )
    app.state.service = service
    for its in ROUTERS:
        app.include_router(its.router)
    app.add_middleware(Guard, service=service)
    for error in (ProblemError, DeciduousError, SQLAlchemyError):
        app.add_exception_handler(error, _told)
    app.add_exception_handler(RequestValidationError, _told_of_request)
    app.add_exception_handler(HTTPException, _told_of_route)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


async def _told(_: Request, error: Exception) -> Response:
    return answer(problem_of(error))


async def _told_of_request(_: Request, error: Exception) -> Response:
    """What FastAPI found in the path or the query, without the values."""
    assert isinstance(error, RequestValidationError)
    return answer(
        ProblemError("invalid-request", "The request is not as the API describes it.", fields=fields_of(error.errors()))
    )


async def _told_of_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = WORDS.get(error.status_code, "not-found")
    return answer(ProblemError(kind, "/openapi.json describes what there is.", headers=error.headers))


def _described(app: FastAPI) -> dict[str, Any]:
    """The description of the API, with the shape of problems."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schema["components"]["schemas"]["ProblemDetails"] = ProblemDetails.model_json_schema()
        app.openapi_schema = schema
    return app.openapi_schema
