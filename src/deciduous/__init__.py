"""Random forests that let go of data: exact deletion and addition of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import found_when_asked
from .errors import (
    CorruptModelError,
    DeciduousError,
    EmptyForestError,
    FolderBusyError,
    FolderError,
    FolderInUseError,
    FrozenForestError,
    InvalidInputError,
    LinkedFileError,
    RowExistsError,
    SchemaChangedError,
    UnknownRowError,
    UnknownSubjectError,
)

if TYPE_CHECKING:
    from .forest import DareForestClassifier
    from .frozen import FrozenForestClassifier
    from .model_file import load
    from .reports import FrozenSize, MemoryUse, NodeRecord, UpdateReport, VerifyReport
    from .tuning import TuningResult, tune

__version__ = "0.1.0"

__all__ = [
    "CorruptModelError",
    "DareForestClassifier",
    "DeciduousError",
    "EmptyForestError",
    "FolderBusyError",
    "FolderError",
    "FolderInUseError",
    "FrozenForestClassifier",
    "FrozenForestError",
    "FrozenSize",
    "InvalidInputError",
    "LinkedFileError",
    "MemoryUse",
    "NodeRecord",
    "RowExistsError",
    "SchemaChangedError",
    "TuningResult",
    "UnknownRowError",
    "UnknownSubjectError",
    "UpdateReport",
    "VerifyReport",
    "load",
    "tune",
]

_HOMES = {
    "DareForestClassifier": "forest",
    "FrozenForestClassifier": "frozen",
    "FrozenSize": "reports",
    "MemoryUse": "reports",
    "NodeRecord": "reports",
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
