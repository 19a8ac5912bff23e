"""Runs the commands of the transcript in docs/cli.md and writes what they print. A test fails if they differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
NEW_PATIENTS = (13, 19, 81)
SECONDS = re.compile(r"\d+\.\d\d s\b")


def write_data(folder: Path) -> None:
    """Breast cancer data, as patients.csv; three patients that are not among them, without diagnosis, as new.csv."""
    data = load_breast_cancer()
    names = ",".join(name.replace(" ", "_") for name in data.feature_names)
    values = [",".join(map(repr, row)) for row in data.data.tolist()]
    labels = np.array(data.target_names)[data.target].tolist()
    known = [f"{i},{labels[i]},{row}" for i, row in enumerate(values) if i not in NEW_PATIENTS]
    new = [f"{i},{values[i]}" for i in NEW_PATIENTS]
    (folder / "patients.csv").write_text("\n".join([f"id,diagnosis,{names}", *known]) + "\n")
    (folder / "new.csv").write_text("\n".join([f"id,{names}", *new]) + "\n")


def run(transcript: str) -> str:
    """The transcript, with what its commands print now."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        for command in re.findall(r"^\$ (.*)$", transcript, re.MULTILINE):
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=os.environ | {"PATH": path, "COLUMNS": "120"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            lines += [f"$ {command}\n", done.stdout]
    return "".join(lines)


def masked(transcript: str) -> str:
    """Without times, which are others each time."""
    return SECONDS.sub("… s", transcript)


def transcript_of(page: str) -> str:
    """The transcript in a page."""
    found = BLOCK.search(page)
    assert found is not None, "The page has no block of the kind console."
    return found[1]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    old = transcript_of(text)
    new = run(old)
    if masked(new) != masked(old):
        PAGE.write_text(text.replace(old, new), encoding="utf-8")
