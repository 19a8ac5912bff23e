"""The data sets, what is missing, and where and how large the run was."""

from __future__ import annotations

from .. import paper
from ..datasets import REGISTRY, Entry
from ..page import Part, Section, Table, Text
from ..scales import Scale
from ..store import Runs
from ..wording import NOTHING, digits, listed
from .choosing import METRICS


def data_section(runs: Runs) -> Section:
    """The registry, and which data sets this run had."""
    reasons = {record.unit.dataset: str(record.reason) for record in runs.without_result()}
    used = set(Runs(record for record in runs if record.result is not None).datasets())
    rows: dict[bool, list[list[str]]] = {False: [], True: []}
    for its in REGISTRY.values():
        state = "used" if its.name in used else reasons.get(its.name, "not part of this run")
        rows[its.is_regression].append([*_described(its), METRICS[its.metric], f"{its.origin}. {its.note}", state])
    sizes = ("data set", "train rows", "test rows", "attributes")
    rest = ("metric", "origin", "in this run")
    about = (
        "Sizes are checked whenever a set is loaded. Attributes are counted after one-hot encoding on the train part. "
        "Where the paper's tables have another number, it stands in brackets."
    )
    texts = frozenset({0, 6, 7})
    tables = [
        Table("Tables 1 and 4", (*sizes, "positive", *rest), rows[False], texts),
        Table("Regression, not in the paper", (*sizes, "mean target", *rest), rows[True], texts),
    ]
    return Section("data", "data sets", [Text(about), *tables])


def _described(its: Entry) -> list[str]:
    """Title, sizes, and the share of positive rows or the mean target."""
    ours = its.expected
    if its.is_regression:
        return [its.title, *(f"{n:,}" for n in (ours.n_train, ours.n_test, ours.n_attributes)), digits(ours.mean_label)]
    theirs = paper.dataset(its.paper_name)
    return [
        its.title,
        _beside(ours.n_train, theirs.n_train),
        _beside(ours.n_test, theirs.n_test),
        _beside(ours.n_attributes, theirs.n_attributes),
        f"{100 * ours.mean_label:.1f}%",
    ]


def _beside(ours: int, theirs: int) -> str:
    """Our number, and the paper's where it is another one."""
    return f"{ours:,}" if ours == theirs else f"{ours:,} (paper {theirs:,})"


def missing_section(runs: Runs) -> Section:
    """What has no result, and why."""
    rows = [[str(record.unit), str(record.reason)] for record in runs.without_result()]
    text = "" if rows else "Everything that was planned has a result."
    return Section("missing", "missing", [Text(text), Table("", ("what", "why"), rows, frozenset({0, 1}))])


def run_section(runs: Runs, scale: Scale) -> Section:
    """Machine, commits, time, and what was scaled down."""
    finished = sorted(record.finished for record in runs)
    rows = [
        ["machine", listed(sorted({record.machine for record in runs}))],
        ["commit", listed(sorted({record.commit or f"release {record.version}" for record in runs}))],
        ["units", f"{len(runs):,}, of which {len(runs.without_result())} have no result"],
        ["time of all units", f"{sum(record.seconds for record in runs) / 60:.1f} minutes"],
        ["when", f"{finished[0]} to {finished[-1]}" if finished else NOTHING],
        ["scale", f"{scale.name}. {scale.about}"],
    ]
    if beside := [record.n_beside for record in runs if record.n_beside]:
        rows.append(
            [
                "units beside others",
                f"{len(beside):,}: up to {max(beside)} others may have run on the same machine at the same time, so "
                "times of theirs may be too long",
            ]
        )
    parts: list[Part] = [Table("", ("", ""), rows, frozenset({0, 1}))]
    if scale.scaled_down:
        parts.append(Text("Scaled down from the paper's: " + "; ".join(scale.scaled_down) + "."))
    return Section("run", "this run", parts)
