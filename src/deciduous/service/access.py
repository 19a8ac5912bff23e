"""Who may do what: keys with scopes, and how often they may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from .keys import Key, Scope
from .problems import ProblemError
from .serving import ServiceOf

BEARER = HTTPBearer(auto_error=False, description="A key of this service, as `deciduous keys create` makes it.")
CHALLENGE = {"WWW-Authenticate": "Bearer"}
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]
Check = Callable[..., Awaitable[None]]


def needs(*scopes: Scope) -> Any:
    """Lets those through who have a key with one of these scopes; any key, if none is named."""

    async def check(request: Request, service: ServiceOf, credentials: Credentials) -> None:
        if service.keys is None:
            _require_rate(service, "everybody")
            return
        key = _key(request, service, credentials)
        request.state.key = key.id
        _require_rate(service, key.id)
        if not key.opens(scopes or Scope):
            wanted = " or ".join(scopes)
            raise ProblemError("forbidden", f"This needs a key with the scope {wanted}, or admin.")

    return Depends(check)


def _key(request: Request, service: ServiceOf, credentials: Credentials) -> Key:
    """The key that comes with a request. An address that comes without any has to wait after a while.

    Whoever has a key is let in all the same: behind a proxy, others may come from the same address.
    """
    assert service.keys is not None
    found = None if credentials is None else service.keys.found(credentials.credentials)
    if found is None:
        address = request.client.host if request.client else "unknown"
        wait = service.failures.take(address)
        if wait:
            raise _too_many(wait)
        raise ProblemError(
            "unauthenticated",
            "Send a key of this service, which is not revoked: Authorization: Bearer dcd_….",
            headers=CHALLENGE,
        )
    return found


def _require_rate(service: ServiceOf, name: str) -> None:
    wait = service.rates.take(name)
    if wait:
        raise _too_many(wait)


def _too_many(wait: float) -> ProblemError:
    return ProblemError(
        "too-many-requests", "There were too many requests. Wait, as Retry-After says.", retry_after=wait
    )
