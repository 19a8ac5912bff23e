"""What is deleted is gone from the folder and from the memory of the workers when the deletion is acknowledged."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deciduous import DeciduousError
from tests.residues import found, images_of, number_images

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
RayForestClassifier, RayForestRegressor = ray_forests.RayForestClassifier, ray_forests.RayForestRegressor
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

N_ROWS = 2000
PLACE = 700  # of the row that goes
VALUES = np.array([0x4B3C2D1F, 0x4C5B6A79, 0x4A918273, 0x4B0A1B2C], np.uint32).view(np.float32)
NAME, PERSON = "row-quetzal-5531", "person-axolotl-9127"
SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 8, "random_state": 3, "n_workers": 2}
CHUNK = 2**24
N_KILLS = 5


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, len(VALUES))).astype(np.float32)
    X[PLACE] = VALUES
    table = pd.DataFrame(X, columns=list("abcd"))
    table["y"] = np.where(X[:, 0] > 0, "yes", "no")
    table["row"] = [f"row-{i}" for i in range(N_ROWS)]
    table["person"] = [f"person-{i}" for i in range(N_ROWS)]
    table.loc[PLACE, ["y", "row", "person"]] = "label-ocelot", NAME, PERSON
    return table


def images() -> dict[str, bytes]:
    named = {"row": NAME, "person": PERSON, "label": "label-ocelot"}
    values = {f"value {i}": number_images(float(value)) for i, value in enumerate(VALUES)}
    return images_of(named) | {
        f"{i}, {form}": its for i, forms in values.items() for form, its in forms.items() if len(its) > 4
    }


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def memory_of(pid: int) -> Iterator[bytes]:
    """What a process has written to memory of its own, piece by piece."""
    with open(f"/proc/{pid}/smaps") as regions, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in regions:
            if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line):
                place, end = int(match[1], 16), int(match[2], 16)
                is_own = match[3] == "rw-p"
            elif line.startswith("Rss:") and is_own and int(line.split()[1]):
                while place < end:
                    with suppress(OSError):
                        memory.seek(place)
                        yield memory.read(min(end - place, CHUNK))
                    place += CHUNK


def occurrences(pid: int, forms: dict[str, bytes]) -> dict[str, int]:
    counts = dict.fromkeys(forms, 0)
    for content in memory_of(pid):
        for form, image in forms.items():
            counts[form] += content.count(image)
    return counts


def numbers_in_memory() -> dict[str, bytes]:
    """Two neighbouring values as they come, and each as the core keeps it."""
    ordered = VALUES.view(np.uint32) | np.uint32(0x80000000)
    return {"row": VALUES[:2].tobytes(), **{f"value {i}": bits.tobytes() for i, bits in enumerate(ordered)}}


def fitted(way: str, tmp_path: Path) -> Any:
    table = people()
    columns = {"target": "y", "id": "row", "subject": "person"}
    forest = RayForestClassifier(**SMALL, folder=tmp_path / "rows")
    is_late = way == "add"
    early = table.drop(index=PLACE) if is_late else table  # with an index of pandas that is no feature
    early.to_parquet(tmp_path / "rows.parquet")
    forest.fit(tmp_path / "rows.parquet", **columns)
    if is_late:
        late = table.loc[[PLACE]]
        forest.add(late[list("abcd")], late["y"], ids=[NAME], subjects=[PERSON])
    return forest


@pytest.mark.parametrize("way", ["fit", "add"])
def test_deleted_row_is_nowhere_in_folder_and_workers(way: str, tmp_path: Path) -> None:
    """Not its values, name, person or label; nor in the coordinator if the row came from a file."""
    forest = fitted(way, tmp_path)
    try:
        status = forest.status()
        workers = [worker["pid"] for worker in status["workers"]]
        forms = numbers_in_memory()
        control = {form: bytes(np.frombuffer(image, np.uint8) ^ 0x35) for form, image in forms.items()}
        assert found(images(), *contents(tmp_path / "rows"))
        assert any(occurrences(pid, forms)["value 0"] for pid in workers)
        forest.delete(subjects=[PERSON])
        assert found(images(), *contents(tmp_path / "rows")) == set()
        for pid in [*workers, *([status["pid"]] if way == "fit" else [])]:
            assert sum(occurrences(pid, forms).values()) <= sum(occurrences(pid, control).values())
    finally:
        forest.shut_down()


def kill_coordinator(forest: Any, rng: np.random.Generator) -> None:
    for _ in range(N_KILLS):
        time.sleep(rng.uniform(0.02, 0.3))
        with suppress(ProcessLookupError):
            os.kill(forest.status()["pid"], signal.SIGKILL)


def test_nothing_of_rows_stays_behind_after_kills(tmp_path: Path) -> None:
    """A coordinator that is killed while it writes leaves half-written files; the next one removes them."""
    forest = fitted("fit", tmp_path)
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    try:
        table = people()
        killer = threading.Thread(target=kill_coordinator, args=(forest, rng))
        killer.start()
        for row in range(1000, 1100):
            again = table.loc[[row]]
            with suppress(DeciduousError):  # the answer to the first try was lost
                forest.delete([f"row-{row}"])
            with suppress(DeciduousError):
                forest.add(again[list("abcd")], again["y"], ids=[f"row-{row}"], subjects=["somebody"])
            if not killer.is_alive():
                break
        killer.join()
        with suppress(DeciduousError):
            forest.delete([NAME])
        assert NAME not in forest.ids_.tolist()
        assert found(images(), *contents(tmp_path / "rows")) == set()
        left = {path.name for path in (tmp_path / "rows").rglob("*")}
        assert not [name for name in left if name.endswith((".part", ".new"))]
        assert forest.verify()
    finally:
        forest.shut_down()


def test_shut_down_removes_the_folder_that_nobody_named() -> None:
    """One that somebody named stays, with the forest in it."""
    table = people()
    forest = RayForestClassifier(**SMALL).fit(table[list("abcd")], table["y"])
    folder = Path(forest.status()["folder"])
    assert contents(folder)
    forest.shut_down()
    assert not folder.exists()
