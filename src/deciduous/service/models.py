"""Models that are served: live forests, each with its writer. What they are asked for, as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._targets import CLASSIFICATION
from ..errors import InvalidInputError, SchemaChangedError
from ..live import LiveForest, Receipt
from .metrics import Metrics
from .problems import ProblemError
from .settings import Settings
from .verifications import Verifications
from .writer import Writer

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SUFFIXES = (".forest", ".live")
SECRET = ("random_state", "verbose", "categorical_features")  # categories are values of rows


class Model:
    """A live forest that many read and one writes."""

    def __init__(self, name: str, live: LiveForest, settings: Settings, metrics: Metrics) -> None:
        self.name = name
        self.live = live
        self.writer = Writer(name, live, settings, metrics)
        self.verifications = Verifications(self.writer)

    def close(self) -> None:
        """Do what waits, and store a snapshot, so that the next start is fast."""
        self.writer.close()
        self.live.close(store=self.writer.trouble is None)

    @property
    def is_ready(self) -> bool:
        """Whether it follows its table."""
        return self.writer.is_loaded and self.writer.trouble is None

    def require_loaded(self) -> None:
        """Raises while there is no forest yet."""
        if not self.writer.is_loaded:
            raise ProblemError("not-ready", "The model is being read.", retry_after=2)

    def listed(self) -> dict[str, Any]:
        """In a list of models."""
        return {"name": self.name, "task": self.live.task, "is_ready": self.is_ready}

    def described(self) -> dict[str, Any]:
        """All that may be known of it, which is not its seed, and no value of a row but labels."""
        self.require_loaded()
        status, forest, last = self.live.status(), self.live.forest, self.writer.last_sync
        memory = forest.memory_usage()
        return self.listed() | {
            "source": status["source"],
            "captures": status["captures"],
            "columns": [{"name": its.name, "kind": its.kind} for its in self.live.kinds],
            "id": self.live.kinds[0].name,
            "target": self.live.kinds[1].name,
            "features": self.live.columns,
            "classes": self.live.classes_.tolist() if self.live.task == CLASSIFICATION else None,
            "params": {name: value for name, value in self.live.params.items() if name not in SECRET},
            "n_rows": status["n_rows"],
            "n_trees": forest.get_params()["n_estimators"],
            "fingerprint": status["fingerprint"],
            "memory": asdict(memory) | {"total": memory.total},
            "last_change": status["last_change"],
            "last_sync": None if last is None else datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds"),
            "requests_open": status["requests_open"],
            "requests_overdue": status["requests_overdue"],
        }

    def predicted(self, rows: Any, quantiles: Sequence[float] | None) -> dict[str, Any]:
        """Predictions, all of one state of the forest: the one before or after any sync, and nothing in between."""
        try:
            if quantiles is not None:
                values = self.live.predict(rows, quantiles=quantiles)
                return {"predictions": values.tolist(), "quantiles": list(quantiles)}
            if self.live.task == CLASSIFICATION:
                classes, shares = self.live.present_shares(rows)
                best = classes[shares.argmax(axis=1)]
                return {
                    "predictions": best.tolist(),
                    "classes": classes.tolist(),
                    "probabilities": shares.tolist(),
                }
            return {"predictions": self.live.predict(rows).tolist()}
        except SchemaChangedError as error:
            raise InvalidInputError(
                f"Column {error.column!r} of the rows does not hold what the forest reads there: numbers where there "
                "were numbers, text where there was text."
            ) from None

    def cost(self, ids: Sequence[Any] | None, subject: Any) -> dict[str, Any]:
        """What it would take to delete rows."""
        report = self.live.deletion_cost(ids, subject=subject)
        return {
            "n_rows": report.n_rows,
            "n_nodes_rebuilt": report.n_nodes_rebuilt,
            "n_rows_retrained": report.n_rows_retrained,
            "nodes_rebuilt_by_depth": list(report.nodes_rebuilt_by_depth),
            "rows_retrained_by_depth": list(report.rows_retrained_by_depth),
            "expected_seconds": self.writer.usual_seconds,
            "n_waiting": self.writer.n_waiting,
        }

    def receipts(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Receipts from a number on, oldest first."""
        return [its.as_dict() for its in self.live.receipts() if its.number > after][:limit]

    def receipt(self, number: int) -> Receipt:
        """One receipt."""
        for receipt in self.live.receipts():
            if receipt.number == number:
                return receipt
        raise ProblemError("unknown-receipt", "The model has no receipt with this number.")

    def certificate(self, number: int, organisation: str | None) -> str:
        """The page about one receipt."""
        self.receipt(number)
        try:
            return self.live.certificate(number, organisation=organisation)
        except InvalidInputError:
            raise ProblemError(
                "unknown-receipt", "This receipt is not of a change, so there is no certificate about it."
            ) from None


class Models:
    """All models of a service, by their names."""

    def __init__(self, models: Iterable[Model]) -> None:
        self._models = {model.name: model for model in models}

    @classmethod
    def opened(cls, folders: Sequence[Path], url: str | None, settings: Settings, metrics: Metrics) -> Models:
        """The live forests in these folders, which this process alone has open from now on."""
        names = [name_of(folder) for folder in folders]
        if len(set(names)) < len(names):
            raise InvalidInputError("Two folders have the same name, and models are served by it. Rename one.")
        opened: list[Model] = []
        try:
            for name, folder in zip(names, folders, strict=True):
                opened.append(Model(name, LiveForest.open(folder, url=url), settings, metrics))
        except BaseException:
            for model in opened:
                model.live.close(store=False)
            raise
        return cls(opened)

    def __iter__(self) -> Any:
        return iter(self._models.values())

    def __getitem__(self, name: str) -> Model:
        found = self._models.get(name)
        if found is None:
            raise ProblemError("unknown-model", "No model of this name is served here.")
        return found

    def start(self) -> None:
        """Let all follow their tables."""
        for model in self:
            model.writer.start()

    def close(self) -> None:
        """Let each do what waits, and close it."""
        for model in self:
            model.close()

    def gauges(self) -> dict[str, dict[str, float]]:
        """What metrics show of this moment."""
        models = list(self)
        return {
            "deciduous_ready": {its.name: float(its.is_ready) for its in models},
            "deciduous_waiting": {its.name: its.writer.n_waiting for its in models},
            "deciduous_rows": {its.name: its.live.status()["n_rows"] for its in models if its.writer.is_loaded},
            "deciduous_last_sync_timestamp_seconds": {its.name: its.writer.last_sync or 0.0 for its in models},
        }


def name_of(folder: Path) -> str:
    """The name of a model: that of its folder."""
    name = folder.resolve().name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"A model is served by the name of its folder, and {name!r} does not suit addresses: give it one of "
            "letters, digits, dots, dashes and underscores."
        )
    return name
