"""The folder of the demonstration: all of it or nothing, and nothing of others is ever removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InvalidInputError

MARKER = ".deciduous-demo"
WHOSE = "Made by `python -m deciduous.demo`, which replaces what it wrote here when it is run again.\n"
PAGE, PICTURE, CERTIFICATE, RECEIPTS = "index.html", "latency.png", "certificate.html", "receipts.json"
DATABASE, FOREST = "clinic.db", "clinic.forest"
OWN = re.compile(r"\.deciduous-demo|index\.html|latency\.png|certificate\.html|receipts\.json|clinic\.db(-\w+)?")
OWN_OF_FOREST = re.compile(r"(state\.db(-\w+)?|lock|socket|\.?(rows|snapshot)-[0-9a-f]+(\.[0-9a-f]+\.part)?)")


@contextmanager
def fresh_folder(path: Path) -> Iterator[Path]:
    """An empty folder to write to, in the place of one of an earlier run; gone again if something is raised."""
    was_there = path.is_dir()
    _require_replaceable(path)
    _remove_own(path)
    path.mkdir(parents=True, exist_ok=True)
    try:
        (path / MARKER).write_text(WHOSE, encoding="utf-8")
        yield path
    except BaseException:
        _remove_own(path)
        if not was_there:
            _remove_if_empty(path)
        raise


def _require_replaceable(path: Path) -> None:
    """Raises unless there is nothing, or nothing but what an earlier run has made."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InvalidInputError(f"{path} is not a folder. Name another one with --out.")
    if not path.exists() or not any(path.iterdir()):
        return
    if not (path / MARKER).is_file():
        raise InvalidInputError(
            f"{path} holds something that is not of the demonstration. Name another folder with --out."
        )
    foreign = [file for file in _all_in(path) if not _is_own(path, file)]
    if foreign:
        raise InvalidInputError(
            f"{foreign[0]} is not of the demonstration, so {path} is not replaced. Move the file elsewhere, or name "
            "another folder with --out."
        )


def _all_in(path: Path) -> list[Path]:
    """What is in the folder, and in that of the forest."""
    forest = path / FOREST
    return [*path.iterdir(), *(forest.iterdir() if _is_true_folder(forest) else ())]


def _is_own(path: Path, file: Path) -> bool:
    if file.parent == path:
        return _is_true_folder(file) if file.name == FOREST else bool(OWN.fullmatch(file.name)) and not file.is_dir()
    return bool(OWN_OF_FOREST.fullmatch(file.name)) and not file.is_dir()


def _is_true_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_own(path: Path) -> None:
    """The marker goes last, so that a removal that is cut short can be made up for."""
    if not (path / MARKER).exists():
        return
    own = [file for file in _all_in(path) if _is_own(path, file) and file.name not in (MARKER, FOREST)]
    for file in own:
        file.unlink(missing_ok=True)
    if _is_true_folder(path / FOREST):
        _remove_if_empty(path / FOREST)
    (path / MARKER).unlink()


def _remove_if_empty(path: Path) -> None:
    """What somebody has put there meanwhile stays."""
    with suppress(OSError):
        path.rmdir()
