"""What was run, as lines of JSON in a file: a finished unit is never run again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InvalidInputError
from . import machine

DIGITS = 7


@dataclass(frozen=True)
class Unit:
    """The least that is run and kept: an experiment on a data set with a seed, and what else tells it from others."""

    experiment: str
    dataset: str
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same for equal units, in any run."""
        return json.dumps([self.experiment, self.dataset, self.seed, dict(self.options)], sort_keys=True)

    def __str__(self) -> str:
        return " ".join([self.experiment, self.dataset, *map(str, self.options.values()), f"seed {self.seed}"])


@dataclass(frozen=True)
class Surroundings:
    """Where a unit is run."""

    machine: str
    commit: str | None
    version: str
    n_beside: int | None = None  # other units that may run on the machine at the same time; None without a cluster

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        return cls(machine.summary(), machine.commit(), __version__)


@dataclass(frozen=True)
class Record:
    """A line of the file: a unit with its result, or why there is none."""

    unit: Unit
    scale: str
    commit: str | None
    version: str
    machine: str
    finished: str
    seconds: float
    result: dict[str, Any] | None = None
    reason: str | None = None
    n_beside: int | None = None

    def as_line(self) -> str:
        """As JSON."""
        its = self.unit
        named = {"experiment": its.experiment, "dataset": its.dataset, "seed": its.seed, "options": dict(its.options)}
        rest = vars(self) | {"unit": None}
        rest = {name: value for name, value in rest.items() if value is not None}
        return json.dumps(named | rest) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read what `as_line` wrote."""
        content = json.loads(line)
        unit = Unit(content.pop("experiment"), content.pop("dataset"), content.pop("seed"), content.pop("options"))
        return cls(unit, content.pop("scale"), content.pop("commit", None), **content)


class Store:
    """The records of runs of one scale, in memory and in a file to which each is added as soon as it is there."""

    def __init__(self, path: Path, scale: str) -> None:
        self.path = path
        self.scale = scale
        self._records = {record.unit.key: record for record in _read(path)}
        if others := {record.scale for record in self._records.values()} - {scale}:
            raise InvalidInputError(
                f"{path} holds a run of the scale {', '.join(others)}, not {scale}. Nothing was changed. Name another "
                "folder with --out."
            )
        self._here = Surroundings.here()

    def is_done(self, unit: Unit) -> bool:
        """Whether the unit has a result."""
        record = self._records.get(unit.key)
        return record is not None and record.result is not None

    def add(
        self,
        unit: Unit,
        seconds: float,
        result: dict[str, Any] | None = None,
        reason: str | None = None,
        surroundings: Surroundings | None = None,
    ) -> Record:
        """Keep a result, or why there is none; when this returns it is on the disk. Default surroundings: here."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        took = round(seconds, 3)
        kept = _rounded(result)  # as it will be read again, so that a report is the same then
        its = surroundings or self._here
        where = its.commit, its.version, its.machine
        record = Record(unit, self.scale, *where, now, took, kept, reason, its.n_beside)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(record.as_line())
            file.flush()
            os.fsync(file.fileno())
        self._records[unit.key] = record
        return record

    @property
    def runs(self) -> Runs:
        """Everything that was run, the latest record of each unit."""
        return Runs(self._records.values())


class Runs:
    """Records to choose from."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = tuple(records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def read(cls, path: Path) -> Runs:
        """The records of a file, the latest of each unit."""
        return cls({record.unit.key: record for record in _read(path)}.values())

    def done(self, experiment: str, dataset: str | None = None, **options: Any) -> Runs:
        """The finished ones of an experiment, of a data set, with these options."""
        return Runs(
            record
            for record in self
            if record.result is not None
            and record.unit.experiment == experiment
            and dataset in (None, record.unit.dataset)
            and options.items() <= record.unit.options.items()
        )

    def without_result(self) -> Runs:
        """Those that are missing."""
        return Runs(record for record in self if record.result is None)

    def datasets(self) -> list[str]:
        """Names of data sets, in the order in which they were run."""
        return list(dict.fromkeys(record.unit.dataset for record in self))

    def values(self, *path: str) -> list[float]:
        """A number out of each result, by the names that lead to it; None is left out."""
        found = []
        for record in self:
            value: Any = record.result
            for name in path:
                value = None if value is None else value.get(name)
            if value is not None:
                found.append(float(value))
        return found

    def mean(self, *path: str) -> float | None:
        """The mean of such numbers, if there are any."""
        values = self.values(*path)
        return sum(values) / len(values) if values else None


def _rounded(value: Any) -> Any:
    """Numbers with as many digits as a measurement can have."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _read(path: Path) -> Iterator[Record]:
    """The records of a file. Half a last line, from a crash while it was written, is cut off."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole, _, rest = content.rpartition(b"\n")
    if rest:
        os.truncate(path, len(content) - len(rest))
    for number, line in enumerate(whole.decode("utf-8").splitlines(), start=1):
        try:
            yield Record.from_line(line)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"Line {number} of {path} is damaged: {error!r}. Nothing was changed.") from None
