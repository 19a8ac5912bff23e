"""`make demo`: what it shows is so, all of it is in its folder, and nothing of others is ever touched."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deciduous.demo import command, picture, story
from deciduous.demo.folder import MARKER, fresh_folder
from deciduous.demo.forests import one_patient
from deciduous.demo.measures import Setting, Story
from deciduous.demo.page import page
from deciduous.demo.searching import Traces, sqlite_varint
from deciduous.demo.visits import CATEGORIES, generated
from deciduous.demo.wording import counted, duration, times
from deciduous.errors import InvalidInputError

SMALL = Setting(n_rows=1000, n_trees=3, n_jobs=1, n_singles=10)
FILES = {"index.html", "latency.png", "certificate.html", "receipts.json", "clinic.db", "clinic.forest", MARKER}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Story]:
    """The folder of a run, and what it found."""
    folder = tmp_path_factory.mktemp("demo") / "shown"
    return folder, command.run(SMALL, folder)


@pytest.fixture
def text(shown: tuple[Path, Story]) -> str:
    return (shown[0] / "index.html").read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------------- what it shows


def test_all_is_exact_and_there(shown: tuple[Path, Story]) -> None:
    folder, its = shown
    assert its.is_exact
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "latency.png").read_bytes().startswith(b"\x89PNG")
    assert its.table is not None
    assert its.proof.after_deletion == its.proof.retrained == its.table.fingerprint
    assert len(its.deletions.singles) == SMALL.n_singles


def test_page_tells_the_story_by_itself(shown: tuple[Path, Story], text: str) -> None:
    """Fingerprints, figures, picture and links; no scripts, and nothing from elsewhere."""
    _, its = shown
    assert its.table is not None
    for expected in (
        its.proof.retrained,
        its.table.reference,
        duration(its.erasure.seconds),
        'href="certificate.html"',
    ):
        assert expected in text
    assert text.count("data:image/png;base64,") == 2
    assert not re.search(r"https?:|//|<script|@import|url\(", re.sub(r"base64,[\w+/=]+", "", text))


def test_certificate_is_of_the_erasure(shown: tuple[Path, Story]) -> None:
    folder, its = shown
    certificate = (folder / "certificate.html").read_text(encoding="utf-8")
    assert its.table is not None
    assert its.table.reference in certificate
    assert "City Clinic" in certificate


def test_patient_is_nowhere_in_the_folder(shown: tuple[Path, Story]) -> None:
    """Not in the page either."""
    folder, its = shown
    visits, _ = generated(SMALL.n_rows)
    patient = one_patient(visits)
    theirs = visits.ids[visits.patients == patient].tolist()
    assert len(theirs) == its.erasure.n_visits
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert Traces.of(patient, theirs).count(files) == 0
    others = visits.ids[visits.patients != patient].tolist()
    assert Traces.of(visits.patients[0], others[:1]).count(files) > 1  # so that the search could find something


@pytest.mark.parametrize("part", ["proof", "deletions", "table"])
def test_whatever_is_not_exact_is_said(shown: tuple[Path, Story], part: str) -> None:
    _, its = shown
    assert its.table is not None
    wrong = {
        "proof": replace(its.proof, retrained="0" * 64),
        "deletions": replace(its.deletions, is_exact=False),
        "table": replace(its.table, files_after=1),
    }[part]
    broken = replace(its, **{part: wrong})  # type: ignore[arg-type]
    assert not broken.is_exact
    assert "please report it" in page(broken, {}, "receipt 3")


def test_exit_code_is_one_unless_exact(
    shown: tuple[Path, Story], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(shown[1], deletions=replace(shown[1].deletions, is_exact=False))
    monkeypatch.setattr(story, "told", lambda *_: broken)
    assert command.main(["--out", str(tmp_path / "shown")]) == 1


def test_what_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without SQLAlchemy no table and no certificate, without matplotlib no picture; the rest is as it was."""
    monkeypatch.setattr(story, "_has_tables", lambda: False)
    monkeypatch.setattr(picture, "can_draw", lambda: False)
    its = command.run(SMALL, tmp_path / "shown")
    assert its.is_exact
    assert its.table is None
    assert {path.name for path in (tmp_path / "shown").iterdir()} == {"index.html", MARKER}
    printed, text = capsys.readouterr().out, (tmp_path / "shown" / "index.html").read_text(encoding="utf-8")
    for hint in ("deciduous[live]", "deciduous[plot]"):
        assert hint in printed
        assert hint in text


def test_as_a_program(tmp_path: Path) -> None:
    """The last line is the path of the page."""
    arguments = ["--quick", "--rows", "1000", "--trees", "2", "--out", "shown"]
    done = subprocess.run(
        [sys.executable, "-m", "deciduous.demo", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == str(Path("shown/index.html"))
    assert (tmp_path / "shown" / "index.html").exists()


@pytest.mark.parametrize("wrong", [["--rows", "10"], ["--trees", "0"], ["--jobs", "0"], ["--rows", "many"]])
def test_wrong_usage(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(wrong)
    assert end.value.code == 2
    assert wrong[0] in capsys.readouterr().err


# ----------------------------------------------------------------------------------------------------------- its folder


def test_second_run_replaces_the_first(tmp_path: Path) -> None:
    for _ in range(2):
        assert command.run(SMALL, tmp_path / "shown").is_exact
    assert {path.name for path in (tmp_path / "shown").iterdir()} == FILES


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def foreign_folders(folder: Path) -> Iterator[Path]:
    """Files of somebody else: alone, beside ours, in the folder of the forest, and under our names."""
    (folder / "alone").mkdir()
    (folder / "alone" / "thesis.txt").write_text("years of work")
    for name in ("thesis.txt", "clinic.forest/thesis.txt", "latency.png/thesis.txt", "clinic.forest/rows-0/thesis.txt"):
        home = folder / name.replace("/", "-")
        (home / name).parent.mkdir(parents=True)
        (home / MARKER).touch()
        (home / name).write_text("years of work")
        yield home
    yield folder / "alone"


def test_foreign_folder_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for folder in foreign_folders(tmp_path):
        before = contents(tmp_path)
        assert command.main(["--quick", "--out", str(folder)]) == 3
        assert contents(tmp_path) == before


def test_links_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / MARKER).touch()
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(InvalidInputError, match="is not a folder"), fresh_folder(tmp_path / name):
            pass
    (tmp_path / "elsewhere" / "clinic.forest").symlink_to(tmp_path)
    with pytest.raises(InvalidInputError, match=r"clinic\.forest is not of"), fresh_folder(tmp_path / "elsewhere"):
        pass
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("moment", ["_training", "_proof", "_deletions", "_write_page"])
def test_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(story, moment, interrupted)
    assert command.main(["--quick", "--rows", "1000", "--out", str(tmp_path / "shown")]) == 130
    assert list(tmp_path.iterdir()) == []


def test_empty_folder_is_used_and_kept(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), fresh_folder(tmp_path) as folder:
        (folder / "index.html").write_bytes((folder / "missing").read_bytes())
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------ its parts


def test_visits_are_the_same_at_each_call_and_of_different_patients() -> None:
    (visits, test), (again, _) = generated(2000), generated(2000)
    assert len(visits) == 2000
    assert not set(visits.patients) & set(test.patients)
    assert np.array_equal(visits.matrix, again.matrix, equal_nan=True)
    assert np.array_equal(visits.ids, again.ids)
    assert len(set(visits.ids)) == 2000
    assert list(visits.columns) == sorted(visits.columns)
    assert all(list(names) == sorted(names) for names in CATEGORIES.values())
    first = next(visits.records())
    assert (first[0], first[1]) == (visits.ids[0], visits.patients[0])
    assert first[2:-1][list(visits.columns).index("sex")] in CATEGORIES["sex"]


def test_numbers_are_found_as_sqlite_and_forests_store_them(tmp_path: Path) -> None:
    visit = 0x2BADC0FFEE12345
    traces = Traces.of("p-000001", [visit])
    for content in (b"p-000001", struct.pack("<q", visit), struct.pack(">q", visit), sqlite_varint(visit)):
        (tmp_path / "file").write_bytes(b"before" + content + b"after")
        assert traces.count([tmp_path / "file"]) == 1
    (tmp_path / "file").write_bytes(b"p-000002")
    assert traces.count([tmp_path / "file"]) == 0


def test_wording() -> None:
    assert [duration(value) for value in (2e-6, 0.00123, 0.0456, 1.5, 123.4)] == [
        "2 µs",
        "1.23 ms",
        "45.6 ms",
        "1.50 s",
        "123 s",
    ]
    assert [times(3, 1), times(5000, 2), times(1, 4)] == ["3.00×", "2,500×", "0.25×"]
    assert [counted(1, "row"), counted(2000, "row")] == ["1 row", "2,000 rows"]
