"""Random forests that let go of data: exact deletion and addition of training rows."""

from .errors import DeciduousError, EmptyForestError, InvalidInputError, RowExistsError, UnknownRowError
from .forest import DareForestClassifier
from .reports import MemoryUse, NodeRecord, UpdateReport, VerifyReport

__version__ = "0.1.0"

__all__ = [
    "DareForestClassifier",
    "DeciduousError",
    "EmptyForestError",
    "InvalidInputError",
    "MemoryUse",
    "NodeRecord",
    "RowExistsError",
    "UnknownRowError",
    "UpdateReport",
    "VerifyReport",
]
