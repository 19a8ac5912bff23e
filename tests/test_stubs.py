"""The type stub of the core says what the core has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).parents[1] / "src/deciduous/_core.pyi"


def test_stub_is_what_the_bindings_generate(tmp_path: Path) -> None:
    """`make stub` would change nothing."""
    fresh = tmp_path / "_core.pyi"
    command = [
        sys.executable,
        "-m",
        "nanobind.stubgen",
        "--quiet",
        "--module",
        "deciduous._core",
        "--output-file",
        fresh,
    ]
    subprocess.run(command, check=True)
    assert STUB.read_text() == fresh.read_text()
