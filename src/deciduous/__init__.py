"""Random forests that let go of data: exact deletion and addition of training rows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

# Where to find what is imported only when somebody asks for it. scikit-learn takes a second or two to import, and much
# of the command line does without.
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

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value  # found without this function from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
