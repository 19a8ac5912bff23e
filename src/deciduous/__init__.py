"""Random forests that let go of data: exact deletion and addition of training rows."""

from .errors import (
    CorruptModelError,
    DeciduousError,
    EmptyForestError,
    FolderError,
    FolderInUseError,
    FrozenForestError,
    InvalidInputError,
    RowExistsError,
    SchemaChangedError,
    UnknownRowError,
    UnknownSubjectError,
)
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
    "FolderError",
    "FolderInUseError",
    "FrozenForestClassifier",
    "FrozenForestError",
    "FrozenSize",
    "InvalidInputError",
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
