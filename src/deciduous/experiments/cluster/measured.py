"""What the benchmark measured of the parts of a change: the only source of times for model and simulation.

The file is one of results as `python -m benchmarks --only cluster` writes it. `MEASURED` is the one that comes with the
package; docs/make_scale.py puts another one in its place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError
from . import keys

MEASURED = Path(__file__).with_name("measured.json")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """How long something takes: on average, and each of the times that were measured, as a multiple of that."""

    mean: float
    shape: Floats  # in ascending order

    @classmethod
    def of(cls, times: Sequence[float]) -> Self:
        """Times that were measured."""
        mean = sum(times) / len(times)
        return cls(mean, np.sort(np.asarray(times)) / mean)

    def like(self, mean: float) -> Times:
        """The same distribution with another mean."""
        return Times(mean, self.shape)

    def at_most(self, limit: float) -> Times:
        """The same times, where longer ones than this take just as long as this."""
        cut = np.minimum(self.mean * self.shape, limit)
        return Times(float(cut.mean()), cut / cut.mean())

    def drawn(self, random: np.random.Generator, n: int | None = None) -> Any:
        """One of the times, or n of them."""
        return self.mean * self.shape[random.integers(0, len(self.shape), n)]

    def largest_of(self, n: float) -> float:
        """The mean of the largest of n times."""
        return self.mean * float(self._chances_of_largest(n) @ self.shape)

    def deviation_of_largest(self, n: float) -> float:
        """The standard deviation of the largest of n times."""
        chances = self._chances_of_largest(n)
        return self.mean * math.sqrt(float(chances @ self.shape**2) - float(chances @ self.shape) ** 2)

    def _chances_of_largest(self, n: float) -> Floats:
        """How likely each time is the largest of n."""
        return np.diff((np.arange(len(self.shape) + 1) / len(self.shape)) ** max(n, 1.0))

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return self.mean * float(self.shape.std())

    def percentile(self, q: float) -> float:
        """The time that q per cent do not exceed."""
        return self.mean * float(np.percentile(self.shape, q))


@dataclass(frozen=True)
class Line:
    """y = base + slope * x."""

    base: float
    slope: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Self:
        """The line of least squares of relative errors; neither part is negative."""
        x, y = np.asarray(points, float).T
        slope, base = (float(its) for its in np.polyfit(x, y, 1, w=1 / y)) if len(points) > 1 else (0.0, float(y[0]))
        if base < 0:
            return cls(0.0, float(np.mean(y / x)))
        return cls(base, slope) if slope > 0 else cls(float(np.mean(y)), 0.0)

    def at(self, x: float) -> float:
        """The value there."""
        return self.base + self.slope * x


@dataclass(frozen=True)
class Curve:
    """Points, between which and beyond which logarithms go straight on."""

    points: Sequence[tuple[float, float]]

    def at(self, x: float) -> float:
        """The value there; beyond the points by the slope of them all."""
        log_x, log_y = np.log(np.asarray(self.points)).T
        if log_x[0] <= math.log(x) <= log_x[-1] or len(log_x) == 1:
            return float(np.exp(np.interp(math.log(x), log_x, log_y)))
        end = 0 if math.log(x) < log_x[0] else -1
        return float(np.exp(log_y[end] + self.exponent * (math.log(x) - log_x[end])))

    @cached_property
    def exponent(self) -> float:
        """The e in y ~ x^e."""
        if len(self.points) == 1:
            return 1.0
        log_x, log_y = np.log(np.asarray(self.points)).T
        return float(np.polyfit(log_x, log_y, 1)[0])


@dataclass(frozen=True, eq=False)
class Measured:
    """A file of results."""

    content: dict[str, Any]

    @classmethod
    def read(cls, path: Path = MEASURED) -> Self:
        """From a file."""
        its = cls(json.loads(path.read_text(encoding="utf-8")))
        if "cluster" not in its.content.get("options", {}):
            raise InvalidInputError(f"{path} has no case `cluster`: python -m benchmarks --only cluster writes one.")
        return its

    def value(self, key: str) -> float:
        """The mean of a series."""
        values = self.content["series"][key]["values"]
        return float(sum(values) / len(values))

    def times(self, key: str) -> Times:
        """All times of a series."""
        return Times.of(self.content["latencies"][key])

    def has(self, key: str) -> bool:
        """Whether a series was measured."""
        return key in self.content["series"]

    @property
    def options(self) -> dict[str, Any]:
        """What was measured: rows, columns, trees, and how often."""
        its: dict[str, Any] = self.content["options"]["cluster"]
        return its

    def numbers_in(self, key: str) -> list[int]:
        """For which numbers there are times under a key that has # in the place of the number."""
        pattern = re.compile(re.escape(key).replace(re.escape("#"), r"(\d+)"))
        found = (pattern.fullmatch(name) for name in self.content["latencies"])
        return sorted(int(its[1]) for its in found if its)

    # ------------------------------------------------------------------------------------------------------ the parts

    def call(self, n_processes: int) -> Times:
        """Calls to so many processes at once, until all have answered."""
        return self.times(keys.calls(1)).like(self._calls.at(n_processes))

    @cached_property
    def _calls(self) -> Line:
        numbers = self.numbers_in(keys.calls("#"))
        return Line.through([(n, self.value(keys.calls(n))) for n in numbers])

    def file(self, step: str, n_rows: float) -> Times:
        """A step of changing a file of so many rows."""
        return self.times(keys.store(min(self._files), step)).like(self._file_line(step).at(n_rows))

    def _file_line(self, step: str) -> Line:
        return Line.through([(n, self.value(keys.store(n, step))) for n in self._files])

    @cached_property
    def _files(self) -> list[int]:
        return self.numbers_in(keys.store("#", keys.STORE_STEPS[0]))

    def tree(self, n_rows: float) -> Times:
        """A deletion from one tree of a forest: in the middle of others, which push it out of the caches."""
        nearest = min(self._trees, key=lambda n: abs(math.log(n / n_rows)))
        return self.times(keys.tree(nearest)).like(self._deletions.at(n_rows) * self.crowding)

    @cached_property
    def _trees(self) -> list[int]:
        return self.numbers_in(keys.tree("#"))

    @cached_property
    def _deletions(self) -> Curve:
        return Curve([(n, self.value(keys.tree(n))) for n in self._trees])

    @property
    def exponent_of_rows(self) -> float:
        """The e in: the time of a deletion from a tree grows like rows^e."""
        return self._deletions.exponent

    @cached_property
    def crowding(self) -> float:
        """How many times as long a deletion takes for a tree of the measured forest as for a tree alone."""
        of_each = self.value(keys.whole(keys.LOCAL, 1, "delete")) / self.options["trees"]
        return float(of_each / self._deletions.at(self.options["rows"]))

    @cached_property
    def merging(self) -> float:
        """The e in: k rows that leave a tree at once take k^e times as long as one."""
        return Curve([(k, self.value(keys.batch(k))) for k in self.numbers_in(keys.batch("#"))]).exponent

    def fit(self, n_rows: float) -> float:
        """Growing one tree of a forest, which has stored the rows once for all of them."""
        alone = Curve([(n, self.value(keys.tree_fit(n))) for n in self._trees])
        of_each = self.value(keys.whole(keys.LOCAL, 1, "fit")) / self.options["trees"]
        return float(alone.at(n_rows) * of_each / alone.at(self.options["rows"]))

    @property
    def bytes_of_row(self) -> float:
        """What the values of a row take in a worker."""
        return self.value(keys.tree_data(max(self._trees))) / max(self._trees)

    @property
    def bytes_of_row_in_tree(self) -> float:
        """What a row takes in each of its trees."""
        n_rows = max(self._trees)
        return self.value(keys.tree_memory(n_rows)) / n_rows - self.bytes_of_row
