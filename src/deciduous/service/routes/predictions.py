"""Predictions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from ..access import needs
from ..answers import Predictions
from ..bodies import ROWS_IN, rows_of, sent
from ..keys import Scope
from ..models import Model
from ..problems import documented
from ..serving import ModelOf, ServiceOf
from .rows import OF_BODIES

router = APIRouter(tags=["predictions"])
Quantile = Annotated[float, Field(ge=0, le=1)]
Quantiles = Annotated[
    list[Quantile] | None,
    Query(description="Quantiles of the target to predict, of a regression, from 0 to 1.", max_length=100),
]


@router.post(
    "/v1/models/{name}/predictions",
    response_model=Predictions,
    response_model_exclude_none=True,
    responses=documented(*OF_BODIES, "other-task", "empty-forest"),
    openapi_extra=ROWS_IN,
    dependencies=[needs(Scope.predict)],
)
async def predict(request: Request, model: ModelOf, service: ServiceOf, quantiles: Quantiles = None) -> Any:
    """Predict rows. Predictions go on while rows are added or deleted, and are of the forest before or after that."""
    model.require_loaded()
    body = await sent(request, service.settings)

    def work(model: Model) -> JSONResponse:
        features = set(model.live.columns)
        kinds = [its for its in model.live.kinds if its.name in features]
        rows = rows_of(body, kinds, service.settings, takes_others=True)
        predicted = model.predicted(rows, quantiles)
        service.metrics.count("deciduous_predictions_total", len(predicted["predictions"]), model=model.name)
        return JSONResponse(predicted)  # here, as it takes its time, too

    return await service.in_thread(work, model)
