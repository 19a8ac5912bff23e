"""Random forests that let go of data: exact deletion and addition of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import found_when_asked
from .errors import (
    CorruptModelError,
    DeciduousError,
    EmptyForestError,
    EvidenceError,
    FolderBusyError,
    FolderError,
    FolderInUseError,
    FrozenForestError,
    InvalidInputError,
    LinkedFileError,
    OutOfBagError,
    RowExistsError,
    SchemaChangedError,
    UnknownRowError,
    UnknownSubjectError,
)

if TYPE_CHECKING:
    from .forest import DareForestClassifier
    from .frozen import FrozenForestClassifier, FrozenForestRegressor
    from .model_file import load
    from .regressor import DareForestRegressor
    from .reports import CheckReport, FrozenMemoryUse, MemoryUse, NodeRecord, TrainingRows, UpdateReport, VerifyReport
    from .tuning import TuningResult, tune

__version__ = "0.1.0"

__all__ = [
    "CheckReport",
    "CorruptModelError",
    "DareForestClassifier",
    "DareForestRegressor",
    "DeciduousError",
    "EmptyForestError",
    "EvidenceError",
    "FolderBusyError",
    "FolderError",
    "FolderInUseError",
    "FrozenForestClassifier",
    "FrozenForestError",
    "FrozenForestRegressor",
    "FrozenMemoryUse",
    "InvalidInputError",
    "LinkedFileError",
    "MemoryUse",
    "NodeRecord",
    "OutOfBagError",
    "RowExistsError",
    "SchemaChangedError",
    "TrainingRows",
    "TuningResult",
    "UnknownRowError",
    "UnknownSubjectError",
    "UpdateReport",
    "VerifyReport",
    "load",
    "tune",
]

_HOMES = {
    "CheckReport": "reports",
    "DareForestClassifier": "forest",
    "DareForestRegressor": "regressor",
    "FrozenForestClassifier": "frozen",
    "FrozenForestRegressor": "frozen",
    "FrozenMemoryUse": "reports",
    "MemoryUse": "reports",
    "NodeRecord": "reports",
    "TrainingRows": "reports",
    "TuningResult": "tuning",
    "UpdateReport": "reports",
    "VerifyReport": "reports",
    "load": "model_file",
    "tune": "tuning",
}

if not TYPE_CHECKING:  # to type checkers, a module with this function has every attribute
    __getattr__ = found_when_asked(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
