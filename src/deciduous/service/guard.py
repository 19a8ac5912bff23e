"""What stands around all routes: a limit of requests at once, headers for browsers, the log, and the last net.

The log has methods, routes, statuses, times and ids of keys. Addresses as they were asked for, queries, bodies and the
words of unexpected errors are in none: they may have values of rows.
"""

from __future__ import annotations

import logging
import time
import traceback
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import MEDIA, ProblemError, problem_of
from .serving import Service

log = logging.getLogger("deciduous.service")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LOCAL = ("localhost", "127.0.0.1", "[::1]")
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
UNKNOWN = "unknown"


class Guard:
    """Lets requests in, and looks after how they end."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.monotonic(), 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        self._service.n_requests += 1
        try:
            self._require_welcome(scope)
            await self._app(scope, receive, send_on)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.error("%s at %s", type(error).__name__, _places(error))
            if not status:  # else it is too late to tell, and the connection ends
                await answer(problem)(scope, receive, send_on)
        finally:
            self._service.n_requests -= 1
            self._note(scope, status, time.monotonic() - begin)

    def _require_welcome(self, scope: Scope) -> None:
        if self._service.is_closing:
            raise ProblemError("shutting-down", "The service is shutting down.", retry_after=5)
        if self._service.n_requests > self._service.settings.most_requests:
            raise ProblemError("overloaded", "Too many requests are under way.", retry_after=1)
        headers = Headers(scope=scope)
        # A page that a browser shows may ask, too, and where no key is needed it would be let in.
        if self._service.keys is None and (_host(headers) not in LOCAL or "origin" in headers):
            raise ProblemError("cross-origin", "Without keys, only programs of this machine are answered.")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", UNKNOWN)
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN  # which may be any word, too
        metrics = self._service.metrics
        metrics.count("deciduous_requests_total", route=route, method=method, status=str(status))
        metrics.time("deciduous_request_seconds", seconds, route=route, method=method)
        key = scope.get("state", {}).get("key", "none")
        log.info("%s %s %d %.1f ms key=%s", method, route, status, 1000 * seconds, key)


def answer(problem: ProblemError) -> JSONResponse:
    """A problem as a response."""
    return JSONResponse(problem.content(), problem.status, problem.headers, media_type=MEDIA)


def _host(headers: Headers) -> str:
    """The host that was asked for, without its port."""
    host = headers.get("host", "")
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def _places(error: BaseException) -> str:
    """Where an error came from, without its words."""
    frames: Any = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
