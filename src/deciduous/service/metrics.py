"""What is counted and timed, in the text format of Prometheus: names of models, routes and scopes, never values."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
HELP = {
    "deciduous_requests_total": "Requests, by method, route and status.",
    "deciduous_request_seconds": "Seconds until a request was answered, by route.",
    "deciduous_predictions_total": "Rows that were predicted.",
    "deciduous_changed_rows_total": "Rows that were inserted or deleted, by kind of change.",
    "deciduous_sync_seconds": "Seconds that a sync with changes took.",
    "deciduous_ready": "Whether the model follows its table.",
    "deciduous_waiting": "Changes that wait for their turn.",
    "deciduous_rows": "Rows in the forest.",
    "deciduous_last_sync_timestamp_seconds": "When the model last was in sync with its table.",
}
Labels = tuple[tuple[str, str], ...]


@dataclass
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0


class Metrics:
    """Counters and histograms of one service."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._histograms: dict[str, dict[Labels, _Histogram]] = defaultdict(lambda: defaultdict(_Histogram))

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counters[name][_labels(labels)] += amount

    def time(self, name: str, seconds: float, **labels: str) -> None:
        """Add to a histogram."""
        with self._lock:
            histogram = self._histograms[name][_labels(labels)]
            histogram.counts[bisect_left(BOUNDS, seconds)] += 1
            histogram.total += seconds

    def text(self, gauges: Mapping[str, Mapping[str, float]]) -> str:
        """All of it, with gauges by model that are read at this moment."""
        lines: list[str] = []
        with self._lock:
            for name, counters in self._counters.items():
                lines += [*_head(name, "counter"), *(_line(name, its, value) for its, value in counters.items())]
            for name, histograms in self._histograms.items():
                lines += [*_head(name, "histogram"), *_of_histograms(name, histograms)]
        for name, by_model in gauges.items():
            lines += _head(name, "gauge")
            lines += [_line(name, (("model", model),), value) for model, value in by_model.items()]
        return "\n".join(lines) + "\n"


def _of_histograms(name: str, histograms: Mapping[Labels, _Histogram]) -> Iterable[str]:
    for labels, histogram in histograms.items():
        so_far = 0
        for bound, count in zip((*BOUNDS, "+Inf"), histogram.counts, strict=True):
            so_far += count
            yield _line(f"{name}_bucket", (*labels, ("le", str(bound))), so_far)
        yield _line(f"{name}_sum", labels, histogram.total)
        yield _line(f"{name}_count", labels, so_far)


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    listed = ",".join(f'{label}="{text}"' for label, text in labels)
    return f"{name}{{{listed}}} {value:g}" if listed else f"{name} {value:g}"


def _labels(labels: Mapping[str, str]) -> Labels:
    """Of names of our own, of models, and of methods: none has a character that needs care."""
    return tuple(sorted(labels.items()))
