"""Libraries of `native`, which tests load or preload."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "native"


def built_library(name: str, folder: Path) -> Path:
    """Build one of them into a folder, or skip the test."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = folder / f"{name}.so"
    source = SOURCES / f"{name}.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lm"], check=True)
    return library
