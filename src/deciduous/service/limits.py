"""How often somebody may ask: buckets that fill with time, one for each name."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_NAMES = 10_000  # that are remembered; those of whom nothing was heard for longest are forgotten


class RateLimit:
    """Lets each name through so many times per second, and a few more at once."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was left, and when

    def take(self, name: str) -> float:
        """0 if the name may pass, which is counted. Otherwise the seconds until it may."""
        left = self._left(name)
        if left < 1:
            return (1 - left) / self._rate
        self._buckets[name] = (left - 1, self._clock())
        self._buckets.move_to_end(name)
        if len(self._buckets) > MOST_NAMES:
            self._buckets.popitem(last=False)
        return 0.0

    def _left(self, name: str) -> float:
        left, then = self._buckets.get(name, (float(self._burst), 0.0))
        return min(float(self._burst), left + (self._clock() - then) * self._rate)
