"""Kills of processes that work on a live forest, with SQLite and PostgreSQL: the next sync gives the fresh fit.

    python tests/torture/live_kills.py --kills 500

Processes end for real (SIGKILL): at random calls that change a file or tell the server something, writes half way
through, and at random moments. They sync, erase and create, with and without triggers. Now and then the clock of the
machine jumps, or the folder is an old copy of itself. After each kill the folder is opened, synced and verified, and
its files are searched for whoever was erased.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import struct
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from deciduous.live import LiveForest
from live_tables import Database, add_patients, contents, fresh_fingerprint, make_live, postgres_server
from test_live_crash import N_ROWS, Table, Worker, problem_of_opening, started_worker

JUMPS = (0, 0, 0, 90_000, -90_000, 10**9, -(10**9))  # seconds by which the clock of a process is wrong


class Victim:
    """A table with a live forest, of which processes are killed."""

    def __init__(self, database: Database, home: Path, worker: Worker, rng: random.Random) -> None:
        self.database, self.home, self.worker, self.rng = database, home, worker, rng
        self.table = Table(database)
        self.folder = home / "clinic.forest"
        self.counts: Counter[str] = Counter()
        self.n_victims = 0
        self.make()

    def make(self) -> None:
        """A live forest, in the place of one that may be there."""
        self.has_triggers = self.rng.random() < 0.5
        with make_live(self.database, self.folder, capture=self.has_triggers) as live:
            live.sync()
        self.copy = self.home / "copy"
        shutil.rmtree(self.copy, ignore_errors=True)

    def round(self) -> None:
        """One kill, and what must be true after it."""
        rng = self.rng
        what = rng.choice(["sync", "sync", "erase", "create"])
        task: dict[str, Any] = {"jump": rng.choice(JUMPS)}
        task |= {"after_seconds": rng.uniform(0, 0.5)} if rng.random() < 0.3 else {"at_call": rng.randrange(150)}
        if what == "create":
            self.killed_creation(task)
        elif what == "erase":
            self.killed_erasure(task)
        else:
            self.refill()
            self.table.change()
            self.run("sync", task)
            self.check()
        if rng.random() < 0.1:
            self.old_copy()

    def refill(self) -> None:
        """Changes delete rows of the first ones, which come back before there are none left."""
        present = {id for (id,) in self.database.rows(f"SELECT id FROM patients WHERE id BETWEEN 3 AND {N_ROWS - 1}")}
        if len(present) < N_ROWS / 4:
            add_patients(self.database, sorted(set(range(3, N_ROWS)) - present))

    def run(self, what: str, task: dict[str, Any]) -> int:
        """How a process ended."""
        status: int = self.worker.run(what, self.folder, **task)["status"]
        self.counts[f"{what} {'killed' if status else 'that ended before'}"] += 1
        return status

    def killed_erasure(self, task: dict[str, Any]) -> None:
        """Of a person whose name and age nobody else has."""
        self.n_victims += 1
        person, age = f"victim {self.n_victims}", 10_000.5 + self.n_victims
        statement = "UPDATE patients SET person_id = :person, age = :age WHERE id IN (0, 1)"
        self.database.run(statement, person=person, age=age)
        with LiveForest.open(self.folder) as live:
            live.sync()
        status = self.run("erase", task | {"subject": person})
        ((n_left,),) = self.database.rows("SELECT count(*) FROM patients WHERE person_id = :person", person=person)
        self.check()
        if status == 0:
            assert n_left == 0, "an erasure was acknowledged, and rows are in the table"
        if n_left == 0:
            image = struct.pack("<f", age)
            assert not [name for name, data in contents(self.folder).items() if image in data], "a file has the row"
            add_patients(self.database, [0, 1])
        else:
            self.database.run("UPDATE patients SET person_id = 'u-0', age = 50 WHERE id IN (0, 1)")

    def killed_creation(self, task: dict[str, Any]) -> None:
        """In the place of the live forest, which is removed first, with its triggers."""
        with LiveForest.open(self.folder) as live:
            live.remove_capture()
        shutil.rmtree(self.folder)
        before = self.database.objects()
        status = self.run("create", task | {"url": self.database.url, "capture": True})
        if problem_of_opening(self.folder) is None:
            with LiveForest.open(self.folder) as live:
                assert live.sync().fingerprint == fresh_fingerprint(self.database, live)
                live.remove_capture()
        else:
            assert status == -9, "a creation that ended left no live forest"
        shutil.rmtree(self.folder, ignore_errors=True)
        assert self.database.objects() == before, "something was left in the database"
        self.make()

    def old_copy(self) -> None:
        """The folder is set back to an earlier state of itself, as from a backup; the table is not."""
        if self.copy.exists():
            shutil.rmtree(self.folder)
            shutil.copytree(self.copy, self.folder)
            self.counts["folder set back"] += 1
            self.check()
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.folder, self.copy)

    def check(self) -> None:
        """A sync gives the fresh fit, the record is whole, and no file is left over."""
        with LiveForest.open(self.folder) as live:
            assert live.sync().fingerprint == fresh_fingerprint(self.database, live), "not the fresh fit"
            assert live.sync().receipts == (), "a second sync found something"
            assert live.verify(), live.verify().problem
            named = {*live._state.buckets().values(), "state.db", "lock"}
        files = set(contents(self.folder))
        assert len(files - named) == 1, f"files are left over: {files - named}"


def tortured(database: Database, home: Path, worker: Worker, n_kills: int, rng: random.Random) -> Counter[str]:
    """As many kills as asked for, with one database."""
    victim = Victim(database, home, worker, rng)
    n_killed = 0
    while n_killed < n_kills:
        victim.round()
        n_killed = sum(n for what, n in victim.counts.items() if what.endswith("killed"))
        if n_killed and n_killed % 50 == 0:
            print(f"{database.engine.dialect.name}: {n_killed} of {n_kills} kills", file=sys.stderr)
    return victim.counts


def main() -> None:
    """Kills processes until there were enough with each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    memory = Path("/dev/shm")
    for name in ("sqlite", "postgresql"):
        with (
            tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder,
            started_worker(Path(folder)) as worker,
            postgres_server() if name == "postgresql" else nullcontext() as server,
        ):
            url = f"sqlite:///{folder}/clinic.db" if server is None else server.url
            counts = tortured(Database(url), Path(folder), worker, arguments.kills, random.Random(arguments.seed))
        told = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        print(f"live forests with {name}: {told}; each time the next sync gave the fresh fit")


if __name__ == "__main__":
    main()
