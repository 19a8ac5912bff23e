"""What all routes share: the models, the keys, the limits, and the threads for whatever blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from .keys import Keys
from .limits import RateLimit
from .metrics import Metrics
from .models import Model, Models
from .problems import ProblemError
from .settings import Settings

T = TypeVar("T")
FAILURES_PER_SECOND, FAILURES_AT_ONCE = 10.0, 100  # of an address that comes without a key


@dataclass
class Service:
    """One running service. Without keys, everybody may do everything: that is for this machine alone."""

    models: Models
    keys: Keys | None
    settings: Settings
    metrics: Metrics
    is_closing: bool = False
    n_requests: int = 0  # under way
    rates: RateLimit = field(init=False)
    failures: RateLimit = field(init=False)
    threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.rates = RateLimit(self.settings.rate, self.settings.burst)
        self.failures = RateLimit(FAILURES_PER_SECOND, FAILURES_AT_ONCE)
        self.threads = ThreadPoolExecutor(self.settings.threads, "deciduous reader")

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do what blocks in one of a few threads, for which others may have to wait, but not for ever.

        Nobody waits longer than that for a thread that is stuck, and there are never more of them.
        """
        doing = asyncio.get_running_loop().run_in_executor(self.threads, lambda: work(*arguments))
        try:
            return await asyncio.wait_for(doing, self.settings.patience)
        except TimeoutError:
            raise ProblemError("timed-out", "It could not be done in time. Try again.", retry_after=5) from None

    async def written(self, outcome: Future[T]) -> T:
        """What the writer did. What has not begun in time is withdrawn, and whatever has begun is carried out."""
        waiting = asyncio.wrap_future(outcome)
        done, _ = await asyncio.wait([waiting], timeout=self.settings.patience)
        if not done and outcome.cancel():
            raise ProblemError("timed-out", "It was not begun in time. Nothing was changed.", retry_after=5)
        try:
            return await waiting
        except (asyncio.CancelledError, CancelledError):
            raise ProblemError(
                "shutting-down", "The service is shutting down. Nothing was changed.", retry_after=5
            ) from None


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


def require_known_query(request: Request) -> None:
    """Raises if a query has something that the operation does not know: a slip would be taken for nothing."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    if not set(request.query_params) <= set(known):
        raise ProblemError(
            "invalid-request", f"The query has a parameter that is not known here. Known: {', '.join(known) or 'none'}."
        )


ServiceOf = Annotated[Service, Depends(service_of)]


def model_of(name: str, service: ServiceOf) -> Model:
    """The model that a path names."""
    return service.models[name]


ModelOf = Annotated[Model, Depends(model_of)]
