"""The command `deciduous`. Parses, calls, prints; what it does is elsewhere in the package."""

from __future__ import annotations

import json
import signal
import sys
from typing import NoReturn

NEEDED = ("typer", "rich")


def main() -> None:
    """The console script."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        text = f"The command line needs {error.name}. Install it with: pip install 'deciduous[cli]'"
        print(text, file=sys.stderr)
        _end(error, text, 3)
    except KeyboardInterrupt as error:  # commands tell it themselves, but none has begun
        _end(error, "Interrupted.", 128 + signal.SIGINT)
    app()


def _end(error: BaseException, text: str, code: int) -> NoReturn:
    """As `_output` does it, which cannot be imported."""
    if "--json" in sys.argv:
        print(json.dumps({"error": text, "kind": type(error).__name__, "exit_code": code}))
    sys.exit(code)
