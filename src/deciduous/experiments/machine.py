"""Where a run took place."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGES = ("deciduous", "numpy", "scipy", "scikit-learn", "lightgbm", "river", "pandas")


def description() -> dict[str, Any]:
    """Processor, memory, compiler, versions, commit and date, as far as the machine tells."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory_bytes() / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": first_line("c++", "--version"),
        "packages": {name: version for name in PACKAGES if (version := installed(name))},
        "commit": commit(),
        "changed_since_commit": bool(git("status", "--porcelain", "--untracked-files=no")),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def summary() -> str:
    """The machine in a line."""
    packages = ", ".join(f"{name} {version}" for name in ("numpy", "scikit-learn") if (version := installed(name)))
    return (
        f"{cpu_model()}, {os.cpu_count()} cores, {memory_bytes() / 1e9:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}"
    )


def commit() -> str | None:
    """The commit that the package was installed from in place; None for an ordinary installation."""
    return git("rev-parse", "HEAD")


def git(*command: str) -> str | None:
    """The first line of an answer about the package's own repository, if it lies in one."""
    return first_line("git", "-C", str(HERE), *command)


def cpu_model() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_bytes() -> int:
    """Physical memory."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def installed(package: str) -> str | None:
    """Its version, if it is there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def first_line(*command: str) -> str | None:
    """The first line that a command prints, if it can be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.partition("\n")[0] or None
