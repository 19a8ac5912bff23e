"""Predictions and changes per second of a service: `python -m benchmarks.service_load [rows] [seconds]`.

The service is a process of its own, and so are its clients, as they take about as long as what they ask for. Each
client waits for an answer before it asks again. See docs/service.md.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

N_NUMBERS = 20  # columns of the tables of `live_tables`
READERS, WRITERS = 4, 16
ROWS_AT_ONCE = 100  # in the larger requests
PATH = "/v1/models/t"
COMMAND = Path(sys.executable).with_name("deciduous")


@dataclass
class Client:
    """Somebody who asks again and again, over one connection, for so long."""

    port: int
    key: str
    seconds: float

    def asked(self, method: str, path: str, bodies: Iterator[Any], at_most: int = 10**9) -> list[float]:
        """The seconds that each answer took."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        times: list[float] = []
        end = time.perf_counter() + self.seconds
        while (begin := time.perf_counter()) < end and len(times) < at_most:
            connection.request(method, f"{PATH}/{path}", json.dumps(next(bodies)), headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status == 503 and not times:  # the model is being read
                time.sleep(0.2)
                continue
            if answer.status != 200:
                raise RuntimeError(f"{method} {path}: {answer.status} {content.decode()}")
            times.append(time.perf_counter() - begin)
        return times


def values_of(number: int) -> dict[str, Any]:
    """What a forest splits on, of a row that was not there."""
    numbers = np.random.default_rng(number).normal(size=N_NUMBERS).tolist()
    return {f"x{i}": value for i, value in enumerate(numbers)} | {"city": "abcdefgh"[number % 8]}


def reading(client: Client, n_rows: int) -> list[float]:
    """Predictions of so many rows each."""
    body = {"rows": [values_of(n) for n in range(n_rows)]}
    return client.asked("POST", "predictions", iter(lambda: body, None))


def reading_once(client: Client, n_rows: int) -> list[float]:
    """The first prediction, when the model is ready."""
    body = {"rows": [values_of(n) for n in range(n_rows)]}
    return client.asked("POST", "predictions", iter([body] * 1000), at_most=1)


def inserting(client: Client, number: int) -> list[float]:
    """New rows, one at a time."""
    begin = 10**6 * (number + 1)
    rows = ({"id": n, "person": n, "y": n % 2} | values_of(n) for n in range(begin, begin + 10**6))
    return client.asked("POST", "rows", ({"rows": [row]} for row in rows))


def deleting(client: Client, number: int) -> list[float]:
    """Rows that were there, one at a time."""
    return client.asked("DELETE", "rows", ({"ids": [n]} for n in range(number, 10**6, WRITERS)))


def work(deed: Callable[..., list[float]], client: Client, argument: int, times: Any, others: Any) -> None:
    """In a process of its own, when the others are there, too."""
    others.wait()
    try:
        times.put((deed.__name__, deed(client, argument)))
    except BaseException as error:
        times.put((str(error), None))


def under(client: Client, *clients: tuple[Callable[..., list[float]], int]) -> dict[str, list[float]]:
    """What clients saw who were at work together."""
    spawning = multiprocessing.get_context("spawn")
    times: Any = spawning.Queue()
    others = spawning.Barrier(len(clients))
    processes = [
        spawning.Process(target=work, args=(deed, client, argument, times, others)) for deed, argument in clients
    ]
    for process in processes:
        process.start()
    found: dict[str, list[float]] = {}
    for _ in processes:
        name, seen = times.get()
        if seen is None:
            raise RuntimeError(name)
        found.setdefault(name, []).extend(seen)
    for process in processes:
        process.join()
    return found


def told(what: str, seconds: float, found: dict[str, list[float]]) -> None:
    """A line for each kind of client."""
    for name, times in found.items():
        median, late = np.quantile(times, [0.5, 0.99]) * 1000
        per_second = len(times) / seconds
        print(f"{what}: {name}: {per_second:.0f}/s, p50 {median:.1f} ms, p99 {late:.1f} ms ({len(times)})", flush=True)


def started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A service, and its port."""
    command = [
        str(COMMAND),
        "serve",
        str(folder),
        "--port",
        "0",
        "--json",
        "--rate",
        "1000000",
        "--every",
        "3600",
        "--no-vacuum",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    url: str = json.loads(process.stdout.readline())["url"]
    return process, int(url.rpartition(":")[2])


def main(n_rows: int, seconds: float) -> None:
    """Predictions alone, changes alone, and both at once."""
    # Here, as clients do without, and would wait for them.
    from deciduous.live import LiveForest
    from deciduous.service.keys import Keys, Scope

    from .live_tables import PARAMS, make_table

    print(f"{n_rows} rows, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        database, folder = make_table(Path(home, "t.db"), n_rows), Path(home, "t.forest")
        database.execute("PRAGMA journal_mode=WAL")
        options: dict[str, Any] = {"table": "t", "id": "id", "target": "y", "subject": "person", "capture": True}
        LiveForest.create(f"sqlite:///{home}/t.db", folder=folder, params=PARAMS, **options).close()
        with Keys.of(folder) as keys:
            _, key = keys.create([Scope.admin])
        process, port = started(folder)
        try:
            client = Client(port, key, seconds)
            readers = [(reading, 1)] * READERS
            writers = [(inserting, n) for n in range(WRITERS // 2)] + [(deleting, n) for n in range(WRITERS // 2)]
            under(Client(port, key, 60), (reading_once, 1))
            told("predictions alone, 1 row each", seconds, under(client, *readers))
            told(f"predictions alone, {ROWS_AT_ONCE} rows each", seconds, under(client, *[(reading, ROWS_AT_ONCE)] * 2))
            told("changes alone, 1 row each", seconds, under(client, *writers))
            again = [(deed, number + WRITERS // 2) for deed, number in writers]
            told("both at once", seconds, under(client, *readers, *again))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 20_000, float(given[1]) if len(given) > 1 else 10.0)
