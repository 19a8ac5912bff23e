"""A service on an address, until a signal ends it: what is under way is answered, and what waits is done."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from ..errors import InvalidInputError
from .app import app_of
from .keys import Keys
from .metrics import Metrics
from .models import Models
from .serving import Service
from .settings import Settings

SECONDS_TO_END = 60  # for requests that are under way
SECONDS_OF_SILENCE = 15  # of a connection between requests
MORE_CONNECTIONS = 4  # times as many as requests at once
LARGEST_HEAD = 2**14  # bytes
WAITING = 256  # connections that the system keeps until they are accepted


class _Server(uvicorn.Server):
    """Tells the service at once that it is to end, so that streams of events do."""

    def __init__(self, config: uvicorn.Config, service: Service, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.is_closing = True
        super().handle_exit(sig, frame)


def serve(
    folders: list[Path],
    host: str,
    port: int,
    *,
    url: str | None,
    keys: Path,
    insecure_local: bool,
    settings: Settings,
    tell: Callable[[list[str], str], None],
) -> None:
    """Serve live forests until SIGINT or SIGTERM. Tells the names of the models, and where they are served."""
    keyring = None if insecure_local else Keys(keys)
    _require_safe(host, keyring, keys.parent)
    listening = _bound(host, port)
    metrics = Metrics()
    service = Service(Models.opened(folders, url, settings, metrics), keyring, settings, metrics)
    config = uvicorn.Config(
        app_of(service),
        log_config=None,
        access_log=False,  # it has addresses as they were asked for; ours has routes
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=SECONDS_OF_SILENCE,
        timeout_graceful_shutdown=SECONDS_TO_END,
        limit_concurrency=MORE_CONNECTIONS * settings.most_requests,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        http="h11",
        ws="none",
        backlog=WAITING,
    )
    names = [model.name for model in service.models]
    address = listening.getsockname()
    where = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
    _log_to_stderr()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what supervisors send: end as with Ctrl-C
    try:
        _Server(config, service, lambda: tell(names, where)).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn raises it again when all is done
        pass
    finally:
        service.models.close()  # again, if the application did not come so far
        if keyring is not None:
            keyring.close()


def _require_safe(host: str, keys: Keys | None, folder: Path) -> None:
    """Raises if somebody could use the service without a key, or nobody could with one."""
    if keys is None:
        if not is_loopback(host):
            raise InvalidInputError(
                f"--insecure-local is for this machine alone, but {host} is seen by others. Bind to 127.0.0.1, or make "
                "keys with `deciduous keys create`."
            )
        return
    if not any(key.revoked is None for key in keys.all()):
        keys.close()
        raise InvalidInputError(
            f"There is no key with which somebody could use the service. Make one with `deciduous keys create {folder} "
            "--scope predict`, or use --insecure-local, on this machine alone."
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine sees an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(host: str, port: int) -> socket.socket:
    """A socket on the address; before the models are opened, which takes longer."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol: asyncio sends at once, and does not wait for acknowledgements, only if it sees that.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InvalidInputError(f"The service cannot have {host}, port {port}: {error}.") from None
    return listening


def _log_to_stderr() -> None:
    """One line for each request and each trouble, on the standard error stream."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("deciduous.service").setLevel(logging.INFO)
