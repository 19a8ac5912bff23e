"""Names of a package that are imported when somebody asks for them: the one way in which this is done here.

scikit-learn takes a second or two to import, and much of the command line does without. A package says
`__getattr__ = found_when_asked(__name__, {name: module})`. Within functions, an import is local for the same reason.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def found_when_asked(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package, which finds each name in its module."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return find
