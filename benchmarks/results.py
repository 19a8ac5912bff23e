"""What was measured, raw, and as JSON. Ratios and verdicts are made from it by the report, never stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .measuring import percentile

FILE_NAME = "results.json"
STAND_INS = "stand_ins"  # of the options: by data set, what was measured in its place


@dataclass
class Series:
    """One quantity, one value per seed."""

    unit: str
    values: list[float]


@dataclass
class Results:
    """A run of the benchmarks.

    Keys of series read `data set/system/quantity`. Curves read `parameter/quantity` and hold pairs (x, value).
    """

    machine: dict[str, Any]
    options: dict[str, Any]
    series: dict[str, Series] = field(default_factory=dict)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)

    def record(self, key: str, value: float, unit: str) -> None:
        """One more value of a series."""
        self.series.setdefault(key, Series(unit, [])).values.append(float(value))

    def record_latencies(self, key: str, times: Sequence[float]) -> None:
        """The mean of these times as the series `key`, their percentiles beside it, and all of them for plots."""
        self.record(key, sum(times) / len(times), "s")
        for name, q in (("p50", 50.0), ("p99", 99.0), ("max", 100.0)):
            self.record(f"{key} {name}", percentile(times, q), "s")
        self.latencies.setdefault(key, []).extend(round(time, 9) for time in times)

    def record_point(self, curve: str, x: float, value: float) -> None:
        """One more point of a curve."""
        self.curves.setdefault(curve, []).append((float(x), float(value)))

    def note_stand_in(self, data: str, what: str) -> None:
        """Say that a data set is not here, and what stands in its place."""
        self.options.setdefault(STAND_INS, {})[data] = what

    def forget(self, prefix: str) -> None:
        """Drop the series that begin like this, to be measured anew."""
        self.series = {key: series for key, series in self.series.items() if not key.startswith(prefix)}
        self.latencies = {key: times for key, times in self.latencies.items() if not key.startswith(prefix)}

    def save(self, folder: Path) -> Path:
        """Write the file into this folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE_NAME
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read a file that `save` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        content["series"] = {key: Series(**series) for key, series in content["series"].items()}
        content["curves"] = {key: [(x, y) for x, y in points] for key, points in content["curves"].items()}
        return cls(**content)
