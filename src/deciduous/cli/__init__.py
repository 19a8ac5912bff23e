"""The command `deciduous`. Parses, calls, prints; what it does is elsewhere in the package."""

from __future__ import annotations

import signal
import sys

NEEDED = ("typer", "rich")


def main() -> None:
    """The console script."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.exit(f"The command line needs {error.name}. Install it with: pip install 'deciduous[cli]'")
    except KeyboardInterrupt:  # commands tell it themselves, but none has begun
        sys.exit(128 + signal.SIGINT)
    app()
