"""Commands as processes: side by side, interrupted, in pipes, without permission, and completed by shells."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pytest

import deciduous
from deciduous import DareForestClassifier
from patience import LIMIT

PROGRAM = [str(Path(sys.executable).parent / "deciduous")]
N_ROWS = 400


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    try:
        out, errors = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    return process.returncode, out, errors


def saved_forest(path: Path) -> DareForestClassifier:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    forest = DareForestClassifier(5, random_state=1).fit(X, (X[:, 0] > 0).astype(int))
    forest.save(path)
    return forest


def loaded(path: Path) -> DareForestClassifier:
    forest = deciduous.load(path)
    assert isinstance(forest, DareForestClassifier)
    return forest


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.forest"
    saved_forest(path)
    return path


# -------------------------------------------------------------------------------------------------------- side by side


def test_deletions_side_by_side_are_all_done(model: Path) -> None:
    """Four processes begin together: none loses what another deleted, and the forest is the one of a fresh fit."""
    processes = [started("delete", model, "--ids", row, "--json") for row in range(4)]
    results = [ended(process) for process in processes]
    assert [code for code, _, _ in results] == [0] * 4, results
    assert sorted(json.loads(out)["n_rows_left"] for _, out, _ in results) == [N_ROWS - n for n in (4, 3, 2, 1)]
    expected = saved_forest(model.with_name("again.forest"))
    expected.delete(range(4))
    assert loaded(model).fingerprint() == expected.fingerprint()
    assert sorted(path.name for path in model.parent.iterdir()) == ["again.forest", "m.forest"]


def locked(model: Path) -> IO[bytes]:
    """The file, with the lock that commands ask for until it is closed."""
    file = open(model, "rb")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def next_note(process: subprocess.Popen[str]) -> str:
    """The next line on stderr that is not about guesses."""
    assert process.stderr is not None
    return next((line for line in process.stderr if "Guessed" not in line), "")


@pytest.mark.parametrize("command", ["delete", "add", "train"])
def test_a_model_that_is_being_changed_is_waited_for(model: Path, command: str) -> None:
    """Who waits says so, and then goes on from the file that was put there meanwhile."""
    rows = [f"{id},{id % 7},{id % 3},{id % 5},{id % 2}" for id in range(1000, 1020)]
    Path("more.csv").write_text("\n".join(["id,a,b,c,y", *rows]))
    arguments = {
        "delete": ["delete", model, "--ids", 17],
        "add": ["add", model, "more.csv"],
        "train": ["train", "more.csv", "-o", model, "--force", "--trees", 2],
    }[command]
    with locked(model):
        process = started(*arguments, "--json")
        assert next_note(process) == f"Another process is changing {model}: waiting until it is done.\n"
        meanwhile = loaded(model)
        meanwhile.delete([42])
        meanwhile.save(model)
        next_one = locked(model)
    with next_one:  # a third process was faster
        assert next_note(process) == f"Another process is changing {model}: waiting until it is done.\n"
        assert process.poll() is None
    code, out, _ = ended(process)
    assert code == 0
    ids = loaded(model).ids_.tolist()
    if command == "train":  # in place of whatever was there
        assert (json.loads(out)["n_rows"], ids) == (20, list(range(1000, 1020)))
    else:
        assert json.loads(out)["n_rows_left"] == (N_ROWS - 2 if command == "delete" else N_ROWS - 1 + 20)
        assert 42 not in ids
        assert (17 in ids) == (command == "add")


def test_ids_are_read_before_the_model_is_locked(model: Path) -> None:
    """Who writes them may be about to change the same model."""
    waiting = started("delete", model, "--ids-file", "-", "--json", stdin=subprocess.PIPE)
    code, out, errors = ended(started("delete", model, "--ids", 17, "--json"))
    assert (code, errors) == (0, "")
    out, _ = waiting.communicate("\n".join(str(row + 1) for row in json.loads(out)["ids"]), timeout=LIMIT)
    assert json.loads(out)["n_rows_left"] == N_ROWS - 2


def test_looking_does_not_wait(model: Path) -> None:
    with locked(model):
        code, _, errors = ended(started("inspect", model))
        assert (code, errors) == (0, "")
        code, out, _ = ended(started("verify", model, "--json"))
        assert (code, json.loads(out)["n_rows"]) == (0, N_ROWS)


# ------------------------------------------------------------------------------------------------ interrupted, in pipes


def write_rows(path: Path, n_rows: int, first: str = "") -> None:
    """A CSV file, with a line of another kind at its beginning."""
    values = np.random.default_rng(2).normal(size=(n_rows, 3)).round(4).tolist()
    with open(path, "w") as file:
        file.write(f"id,a,b,c,y\n{first}")
        file.writelines(f"{i},{a},{b},{c},{i % 2}\n" for i, (a, b, c) in enumerate(values))


@pytest.mark.parametrize("command", ["train", "delete"])
def test_ctrl_c_leaves_everything_as_it_was(model: Path, command: str) -> None:
    """While it reads or trains, and while it waits for another process."""
    before = model.read_bytes()
    write_rows(Path("rows.csv"), 300_000)
    arguments = {
        "delete": ["delete", model, "--ids", 17],
        "train": ["train", "rows.csv", "-o", model, "--force", "--trees", 1000, "--jobs", 1],
    }[command]
    with locked(model):
        process = started(*arguments)
        assert process.stderr is not None
        assert process.stderr.readline() != ""  # it has begun
        process.send_signal(signal.SIGINT)
        code, out, errors = ended(process)
    assert (code, out) == (130, "")
    assert errors.endswith("Interrupted.\n")
    assert model.read_bytes() == before
    assert sorted(path.name for path in model.parent.iterdir()) == ["m.forest", "rows.csv"]


def test_ctrl_c_before_a_command_begins_is_no_traceback(tmp_path: Path) -> None:
    """As Python imports what the command line needs."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    code, out, errors = ended(started("version", env=os.environ | {"PYTHONPATH": str(tmp_path)}))
    assert (code, out, errors) == (130, "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "m.forest", "rows.csv"],
        ["inspect", "m.forest"],
        ["inspect", "m.forest", "--ids"],
        ["inspect", "m.forest", "--importances"],
    ],
)
def test_a_reader_that_has_seen_enough(model: Path, arguments: list[str]) -> None:
    """`| head -1` is no error, however much there still was to read and to write."""
    assert model.exists()
    write_rows(Path("rows.csv"), 200_000)
    script = f"set -o pipefail; {PROGRAM[0]} {' '.join(arguments)} 2> errors.txt | head -1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (result.returncode, result.stdout.count("\n")) == (0, 1)
    assert Path("errors.txt").read_text() in ("", "Guessed: 'id' names the rows (--id).\n")


def test_a_reader_that_has_left_before_a_table_comes(model: Path) -> None:
    """Which of the two is faster does not matter."""
    script = f"set -o pipefail; {PROGRAM[0]} inspect {model} --importances 2> errors.txt | true"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (result.returncode, result.stdout, Path("errors.txt").read_text()) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "m.forest", "rows.csv"],
        ["predict", "m.forest", "rows.csv", "--json"],
        ["inspect", "m.forest"],
        ["inspect", "m.forest", "--json"],
    ],
    ids=" ".join,
)
def test_a_full_disk_is_a_sentence(model: Path, arguments: list[str]) -> None:
    assert model.exists()
    write_rows(Path("rows.csv"), 1000)
    with open("/dev/full", "w") as full:
        result = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr.splitlines()[-1]) == (3, "No space left on device.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_for_which_there_is_no_room_is_told_all_the_same() -> None:
    """On the standard error stream, as without `--json`."""
    with open("/dev/full", "w") as full:
        arguments = [*PROGRAM, "inspect", "no.forest", "--json"]
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (3, "There is no model no.forest. `deciduous train` makes one.\n")


@pytest.mark.parametrize("kind", ["ragged", "empty"])
def test_errors_while_arrow_reads_ahead_end_in_order(tmp_path: Path, kind: str) -> None:
    """Its threads are still at the file as the process ends, which must be no crash."""
    if kind == "ragged":
        path = tmp_path / "rows.csv"
        write_rows(path, 300_000, first="1,2,3,4,5,6,7\n")
    else:
        path = tmp_path / "rows.csv.gz"
        path.write_bytes(gzip.compress(b""))
    code, out, errors = ended(started("train", path, "-t", "y", "-o", tmp_path / "m.forest"))
    assert (code, out, errors.count("\n")) == (3, "", 1), errors
    assert str(path) in errors


# ---------------------------------------------------------------------------------------------------- bars, large files


def test_bars_are_for_terminals(model: Path) -> None:
    """Reading and training are seen on a terminal; the result is printed elsewhere, and is the same."""
    write_rows(Path("rows.csv"), 20_000)
    arguments = [
        "train",
        "rows.csv",
        "-o",
        model.with_name("n.forest"),
        "--force",
        "--trees",
        20,
        "--seed",
        1,
        "--json",
    ]
    silent = ended(started(*arguments))
    mine, its = os.openpty()
    process = subprocess.Popen([*PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=its, text=True)
    os.close(its)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the process is
        while part := os.read(mine, 2**16):
            seen += part
    os.close(mine)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert all(text in seen for text in (b"Reading", b"Training", b"20/20"))
    assert "Reading" not in silent[2]
    assert json.loads(out)["fingerprint"] == json.loads(silent[1])["fingerprint"]


def peak_memory(*arguments: object) -> int:
    """The most bytes that a command has resident, which must succeed."""
    process = subprocess.Popen([*PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


def write_large(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    for begin in range(0, n_rows, 100_000):
        numbers = rng.normal(size=(100_000, 9)).round(4)
        table = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(9)], index=np.arange(100_000) + begin)
        table["city"] = rng.choice([f"city {i}" for i in range(30)], len(table))
        table["y"] = (numbers[:, 0] > numbers[:, 1]).astype(int)
        table.to_csv(path, mode="a", header=begin == 0, index_label="id")


@pytest.mark.slow
def test_memory_goes_by_compact_rows(tmp_path: Path) -> None:
    """Ten columns of text in a file are 40 bytes a row; with the forest and its making a few hundred, not thousands.

    Two million rows take train, delete and verify no more than that for each row above what half a million take.
    """
    peaks: dict[str, list[int]] = {"train": [], "delete": [], "verify": []}
    for n_rows in (500_000, 2_000_000):
        data, model = tmp_path / f"{n_rows}.csv", tmp_path / f"{n_rows}.forest"
        write_large(data, n_rows)
        peaks["train"].append(peak_memory("train", data, "-o", model, "--trees", 3, "--depth", 8))
        peaks["delete"].append(peak_memory("delete", model, "--ids", "17,42"))
        peaks["verify"].append(peak_memory("verify", model))
        assert loaded(model).n_rows_ == n_rows - 2
    assert {command: (more - few) / 1_500_000 < 400 for command, (few, more) in peaks.items()} == dict.fromkeys(
        peaks, True
    ), peaks


# ---------------------------------------------------------------------------------------------------------- permissions


# What root has to leave behind to be refused anything.
HUMBLE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def refused(folder: Path, *arguments: object) -> tuple[int, str, str]:
    """A command in a folder, for which permissions count."""
    command = [*HUMBLE, *PROGRAM, *map(str, arguments)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def closed_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that may be read but not written."""
    saved_forest(tmp_path / "m.forest")
    write_rows(tmp_path / "rows.csv", 50)
    tmp_path.chmod(0o555)
    if HUMBLE and shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv to be refused anything")
    if subprocess.run([*HUMBLE, "touch", tmp_path / "x"], capture_output=True).returncode == 0:
        pytest.skip("permissions do not count here")
    yield tmp_path
    tmp_path.chmod(0o755)


def test_a_folder_that_is_not_ours_is_told_before_the_work(closed_folder: Path) -> None:
    """Not after it, and by the name of the file that was asked for."""
    before = (closed_folder / "m.forest").read_bytes()
    for arguments, name in (
        (["train", "rows.csv", "-o", "new.forest"], "new.forest"),
        (["delete", "m.forest", "--ids", 3], "m.forest"),
        (["predict", "m.forest", "rows.csv", "-o", "p.csv"], "p.csv"),
        (["freeze", "m.forest", "-o", "m.frozen"], "m.frozen"),
    ):
        message = f"The folder {closed_folder} is not yours to write {name} to.\n"
        assert refused(closed_folder, *arguments) == (3, "", message)
    assert (closed_folder / "m.forest").read_bytes() == before
    assert sorted(path.name for path in closed_folder.iterdir()) == ["m.forest", "rows.csv"]


def test_a_model_in_a_folder_that_is_not_ours_can_be_written_elsewhere(
    closed_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("ours") / "n.forest"
    assert refused(closed_folder, "delete", "m.forest", "--ids", 3, "-o", out)[0] == 0
    assert loaded(out).n_rows_ == N_ROWS - 1


def test_a_file_that_is_not_ours_to_read(closed_folder: Path) -> None:
    for name, arguments in (("m.forest", ["verify", "m.forest"]), ("rows.csv", ["predict", "m.forest", "rows.csv"])):
        (closed_folder / name).chmod(0)
        code, out, errors = refused(closed_folder, *arguments)
        (closed_folder / name).chmod(0o644)
        assert (code, out) == (3, "")
        assert name in errors
        assert "Permission denied" in errors


# ----------------------------------------------------------------------------------------------------------- completion


# Typer looks at the process that called it to know the shell. With this it takes the name of one instead.
BY_NAME = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


def shown_completion(shell: str) -> str:
    environment = os.environ | BY_NAME
    return subprocess.run(
        [*PROGRAM, "--show-completion", shell], env=environment, capture_output=True, text=True
    ).stdout


def test_bash_completes_commands(tmp_path: Path) -> None:
    """A real bash takes what is shown, and asks it for the words that begin like this."""
    (tmp_path / "completion.sh").write_text(shown_completion("bash"))
    script = f"""
        PATH={Path(PROGRAM[0]).parent}:$PATH
        source {tmp_path}/completion.sh
        complete -p deciduous > /dev/null || exit 1
        for line in "deciduous ver" "deciduous live stat" "deciduous train --cat"; do
            COMP_WORDS=($line); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
            _deciduous_completion deciduous
            echo "${{COMPREPLY[@]}}"
        done
    """
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert result.stdout.splitlines() == ["verify version", "status statements", "--categorical"], result.stderr


def test_zsh_is_told_commands() -> None:
    assert shown_completion("zsh").startswith("#compdef deciduous\n")
    words = {"_DECIDUOUS_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "deciduous ver"}
    offered = subprocess.run(PROGRAM, env=os.environ | words, capture_output=True, text=True).stdout
    assert '"verify":"Retrain on' in offered
    assert '"version":"Show the versions' in offered


@pytest.mark.parametrize(("shell", "settings"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_completion_is_installed(tmp_path: Path, shell: str, settings: str) -> None:
    """Into the user's home, which is elsewhere here."""
    environment = os.environ | BY_NAME | {"HOME": str(tmp_path)}
    subprocess.run([*PROGRAM, "--install-completion", shell], env=environment, capture_output=True, check=True)
    assert (tmp_path / settings).exists()
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_DECIDUOUS_COMPLETE" in text for text in written)
