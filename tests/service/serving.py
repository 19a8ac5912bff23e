"""Services for tests: real processes on this machine, and applications in this process where limits are odd."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from deciduous.live import LiveForest
from deciduous.service.app import app_of
from deciduous.service.keys import Keys, Scope
from deciduous.service.metrics import Metrics
from deciduous.service.models import Model, Models
from deciduous.service.serving import Service
from deciduous.service.settings import Settings
from live_tables import Database, make_live, make_patients, patient
from patience import LIMIT, wait_until

COMMAND = Path(sys.executable).with_name("deciduous")
BESIDE = ("id", "person_id", "readmitted")


def features(number: int) -> dict[str, Any]:
    """A patient as somebody asks for a prediction."""
    return {name: value for name, value in patient(number).items() if name not in BESIDE}


PROBES = [features(n) for n in range(1000, 1020)]


def make_clinic(home: Path, n_rows: int = 120, **options: Any) -> tuple[Database, Path]:
    """A table of patients, and a folder of a live forest that follows it, closed."""
    database, folder = Database(f"sqlite:///{home}/clinic.db"), home / "clinic.forest"
    make_patients(database, n_rows)
    make_live(database, folder, **({"capture": True} | options)).close()
    return database, folder


def make_key(folder: Path, *scopes: str) -> str:
    """A key for the service of a folder."""
    with Keys.of(folder) as keys:
        return keys.create(map(Scope, scopes))[1]


@dataclass
class Running:
    """A process that serves."""

    folders: tuple[Path, ...]
    options: tuple[str, ...] = ()
    key: str | None = None
    lines: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start it, and wait until it follows its tables."""
        self.process = subprocess.Popen(
            [COMMAND, "serve", *map(str, self.folders), "--port", "0", *self.options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: self.url or self.process.poll() is not None, "the service answered")
        assert self.url, self.log
        wait_until(lambda: httpx.get(f"{self.url}/ready").status_code == 200, "the models were ready")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    @property
    def log(self) -> str:
        """All that it wrote."""
        return "".join(self.lines)

    @property
    def url(self) -> str | None:
        """Where it listens, when it does."""
        found = re.findall(r"Serving .* at (http://\S+)", self.log)
        return found[-1] if found else None

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        """Somebody with a key."""
        given = key or self.key
        headers = {} if given is None else {"Authorization": f"Bearer {given}"}
        return httpx.Client(base_url=str(self.url), headers=headers, timeout=LIMIT, **options)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait until the process is gone."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=LIMIT)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def running(*folders: Path, options: tuple[str, ...] = (), scopes: tuple[str, ...] = ("admin",)) -> Iterator[Running]:
    """A service of these folders with a key, or without any if there are no scopes."""
    key = make_key(folders[0], *scopes) if scopes else None
    service = Running(folders, options, key)
    try:
        service.start()
        yield service
    finally:
        if service.process.poll() is None:
            service.end(signal.SIGKILL)


@contextmanager
def served_here(folder: Path, **limits: Any) -> Iterator[tuple[Service, Any]]:
    """The application of a folder in this process, without keys, and its models, which follow their tables."""
    settings, metrics = Settings(**limits), Metrics()
    model = Model("clinic", LiveForest.open(folder), settings, metrics)
    service = Service(Models([model]), None, settings, metrics)
    service.models.start()
    try:
        wait_until(lambda: model.is_ready, "the model was ready")
        yield service, app_of(service)
    finally:
        service.models.close()


def asked(app: Any, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer of an application in this process."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **request)

    return asyncio.run(ask())


def kind_of(response: httpx.Response) -> str:
    """By which a problem is known, of an answer that is one."""
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == response.status_code
    kind: str = told["type"]
    return kind.removeprefix("urn:deciduous:problem:")
