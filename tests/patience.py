"""How long a test waits for what another process does.

No test's outcome may depend on how busy the machine is: these limits tell a hang from work, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT = 600.0  # seconds


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Return once it has happened."""
    end = time.monotonic() + LIMIT
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"Within {LIMIT:.0f} seconds it did not happen that {what}.")
        time.sleep(0.02)
