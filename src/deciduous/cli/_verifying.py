"""How verifications of forests and of live forests are told, and the exit codes that go with them."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from ._clusters import Cluster
from ._databases import connected_live
from ._output import CHECK_FAILED, STALE, counted, present, with_commands


def verify_live(folder: Path, url: str | None, as_json: bool, cluster: Cluster | None = None) -> None:
    """Verify a live forest: its record, and the forest against the table."""
    begin = time.perf_counter()
    with connected_live(folder, url, cluster) as live:
        report = live.verify()
        n_rows = live.status()["n_rows"]
    seconds = time.perf_counter() - begin
    problem = None if report.problem is None else with_commands(report.problem)
    present_verification(folder, report.outcome, problem, report.fingerprint, n_rows, seconds, as_json)


def present_verification(
    model: Path,
    outcome: str,
    problem: str | None,
    fingerprint: str | None,
    n_rows: int,
    seconds: float,
    as_json: bool,
) -> None:
    """Tell the outcome ("exact", "stale" or "broken"), and exit with its code."""
    result = {
        "model": str(model),
        "matches": outcome == "exact",
        "outcome": outcome,
        "problem": problem,
        "n_rows": n_rows,
        "seconds": seconds,
        "fingerprint": fingerprint,
    }
    line = {
        "exact": f"Exact: retraining on the {counted(n_rows, 'row')} gives the same bytes, in {seconds:.2f} s. "
        f"Fingerprint {fingerprint}.",
        "stale": f"Not compared: {problem}.",
        "broken": f"NOT the forest that retraining gives: {problem}.",
    }[outcome]
    present(as_json, result, line)
    code = {"exact": 0, "stale": STALE, "broken": CHECK_FAILED}[outcome]
    if code:
        raise typer.Exit(code)
