"""The finished evaluations of a search for parameters, on disk, so that it can be resumed."""

from __future__ import annotations

import json
import math
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

from ._container import json_section, write_atomically
from .errors import InvalidInputError

FORMAT = 1
TUNED = ("n_estimators", "max_depth", "n_thresholds", "random_depth")


class Setting(NamedTuple):
    """The parameters that are tuned: the paper's T, d_max, k and d_rmax."""

    n_estimators: int
    max_depth: int
    n_thresholds: int | None
    random_depth: int = 0

    @property
    def cost(self) -> tuple[float, ...]:
        """Orders greedy settings by what they cost: by trees, then depth, then thresholds."""
        return self.n_estimators, self.max_depth, math.inf if self.n_thresholds is None else self.n_thresholds


class Journal:
    """Finished evaluations, in memory and, with a path, in a file of JSON lines of which the first is the header."""

    def __init__(self, scores: dict[tuple[Setting, int], float], path: Path | None = None) -> None:
        self.scores = scores
        self.path = path
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, path: str | os.PathLike[str] | None, header: dict[str, Any]) -> Journal:
        """The journal in this file, begun if it is not there, refused if it belongs to another search."""
        if path is None:
            return cls({})
        file = Path(path)
        earlier = read_header(file)
        if earlier is None:
            write_atomically(file, [json_section(header) + b"\n"])
            return cls({}, file)
        _refuse_other_search(file, earlier, header)
        return cls(_read_evaluations(file), file)

    def record(self, setting: Setting, fold: int, score: float) -> None:
        """Keep an evaluation; when this returns it is on the disk."""
        line = json_section({**setting._asdict(), "fold": fold, "score": score}) + b"\n"
        with self._lock:
            if self.path is not None:
                # Opened anew each time, so that nothing is left open when a search is interrupted.
                with self.path.open("ab") as file:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
            self.scores[setting, fold] = score


def read_header(path: Path) -> dict[str, Any] | None:
    """The first line of a journal; None if there is no file, or an empty one."""
    if not path.exists() or path.stat().st_size == 0:
        return None
    with path.open("rb") as file:
        first = file.readline(2**20)
    try:
        header = json.loads(first)
        is_ours = header["deciduous_tuning"] == FORMAT and isinstance(header["settings"]["seed"], int)
        is_ours = is_ours and isinstance(header["data"], str)
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise InvalidInputError(f"resume_from={str(path)!r} is not a file that tune wrote; it was left as it is.")
    return header  # type: ignore[no-any-return]


def _refuse_other_search(path: Path, earlier: dict[str, Any], header: dict[str, Any]) -> None:
    there, here = earlier["settings"], header["settings"]
    differing = ["X or y"] if earlier["data"] != header["data"] else []
    differing += [name for name in here if there.get(name) != here[name]]
    if "seed" in differing:  # which decides the others
        differing = [name for name in differing if name not in ("subsample", "cv")]
    if differing:
        names = ", ".join("random_state" if name == "seed" else name for name in differing)
        raise InvalidInputError(
            f"resume_from={str(path)!r} belongs to another search; it differs in: {names}. Nothing was changed. Name "
            "another file, or remove this one to begin anew."
        )


def _read_evaluations(path: Path) -> dict[tuple[Setting, int], float]:
    """What the lines after the first say. The last line may be damaged, by a crash: it is cut off."""
    with path.open("rb") as file:
        header, *lines = file
    scores: dict[tuple[Setting, int], float] = {}
    end = len(header)
    for number, line in enumerate(lines, start=2):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("the line has no end")
            entry = json.loads(line)
            scores[Setting(*(entry[name] for name in TUNED)), entry["fold"]] = float(entry["score"])
        except (ValueError, KeyError, TypeError) as error:
            if number <= len(lines):
                raise InvalidInputError(f"Line {number} of resume_from={str(path)!r} is damaged: {error!r}.") from None
            os.truncate(path, end)
        end += len(line)
    return scores
