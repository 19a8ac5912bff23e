"""Verifications, which take as long as training, with how far they are."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .._progress import heard_by
from ..live import LiveForest
from .problems import ProblemError, problem_of
from .writer import Writer

REMEMBERED = 100  # verifications
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


@dataclass
class Verification:
    """One verification, as it is now. The writer's thread changes it, and others read it."""

    id: str
    asked: str
    state: str = WAITING
    step: str | None = None
    n_done: int | None = None
    n_steps: int | None = None
    outcome: str | None = None
    problem: str | None = None
    fingerprint: str | None = None
    n_receipts: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be told."""
        return self.state in (DONE, FAILED)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))

    def hear(self, step: str, n_done: int, n_steps: int) -> None:
        """How far it is."""
        self.step, self.n_done, self.n_steps = step, n_done, n_steps


class Verifications:
    """Those of one model, the newest ones. The receipts tell of all that found the forest exact."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Verification] = OrderedDict()

    def begin(self) -> Verification:
        """Begin one, or return the one that is under way: a second would tell the same."""
        with self._lock:
            newest = next(reversed(self._known.values()), None)
            if newest is not None and not newest.is_over:
                return newest
            its = Verification(secrets.token_hex(8), datetime.now(UTC).isoformat(timespec="seconds"))
            self._writer.do(lambda live: _verify(live, its))
            self._known[its.id] = its
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            return its

    def __getitem__(self, id: str) -> Verification:
        with self._lock:
            found = self._known.get(id)
        if found is None:
            raise ProblemError("unknown-verification", "There is none with this id since the service was started.")
        return found


def _verify(live: LiveForest, its: Verification) -> None:
    its.state = RUNNING
    try:
        with heard_by(its.hear):
            report = live.verify()
    except Exception as error:
        its.problem, its.state = problem_of(error).detail, FAILED
        return
    its.outcome, its.problem, its.fingerprint = report.outcome, report.problem, report.fingerprint
    its.n_receipts, its.state = report.n_receipts, DONE
