"""Memory, training time, and the hyperparameters that were selected."""

from __future__ import annotations

from typing import Any

from .. import paper
from ..datasets import REGISTRY, entry_of
from ..page import Part, Table, Text
from ..scales import Scale
from ..store import Record, Runs
from ..wording import NOTHING, digits, ratio, score, shown
from .choosing import by_dataset, extent

MB = 1e6


def scaled_memory(record: Record) -> dict[str, float]:
    """The parts of a record in megabytes, those of the trees in proportion to the paper's number of trees."""
    its: dict[str, Any] = record.result or {}
    factor = its["n_trees_of_the_paper"] / its["n_trees"] / MB
    parts = {part: its[part] * factor for part in ("structure", "decision_stats", "leaf_stats", "sklearn")}
    total = sum(parts[part] for part in ("structure", "decision_stats", "leaf_stats"))
    matrix = its["matrix"] / MB
    held = its["data"] / MB
    return parts | {
        "data": held,
        "total": total,
        "matrix": matrix,
        "overhead": (held + total) / (matrix + parts["sklearn"]),
    }


def memory_parts(runs: Runs, _: Scale) -> list[Part]:
    """The paper's table with ours below each line, and accounting against resident memory."""
    rows, resident = [], []
    for name, its in by_dataset(runs):
        record = next(iter(its))
        ours, theirs = scaled_memory(record), paper.memory(entry_of(name).paper_name)
        keys = ("data", "structure", "decision_stats", "leaf_stats")
        title = entry_of(name).title
        is_same_size = not entry_of(name).stands_in_for
        if is_same_size:
            cells = [digits(theirs[key]) for key in (*keys, "g_dare_total", "sklearn_rf")]
            rows.append([title, "paper", *cells, f"{theirs['overhead_x']:.1f}x"])
        cells = [digits(ours[key]) for key in (*keys, "total", "sklearn")]
        rows.append([title, "ours", *cells, f"{ours['overhead']:.2f}x"])
        if is_same_size:
            pairs = [(ours[key], theirs[key]) for key in keys]
            pairs += [(ours["total"], theirs["g_dare_total"]), (ours["sklearn"], theirs["sklearn_rf"])]
            rows.append(
                [title, "ratio", *(ratio(*pair) for pair in pairs), ratio(ours["overhead"], theirs["overhead_x"])]
            )
        resident.append(_resident_row(title, record))
    head = ("data set", "", "data", "structure", "decision stats", "leaf stats", "total", "scikit-learn RF", "overhead")
    about = (
        "In megabytes. Our forest keeps the training data itself, compressed (“data”); the overhead is (our data + "
        "forest) / (float32 matrix + scikit-learn's forest), the paper's (data + G-DaRE) / (data + scikit-learn). "
        "Parts of the trees are extrapolated in proportion to the paper's number of trees where fewer were grown; sets "
        "that were cut to fewer rows are smaller for that reason."
    )
    note = (
        "Growth of a process of its own by training. Memory that is reserved but never written to is accounted, and "
        "allocated, but not resident."
    )
    head_resident = ("data set", "measured on", "our accounting", "resident growth", "resident / accounted",
                     "allocated", "allocated / accounted")  # fmt: skip
    return [
        Text(about),
        Table("Memory (Table 3)", head, rows, frozenset({0, 1})),
        Text(note),
        Table("Accounting compared with the memory of a process", head_resident, resident, frozenset({0, 1})),
    ]


def _resident_row(title: str, record: Record) -> list[str]:
    its: dict[str, Any] = record.result or {}
    resident, allocated = its["resident_growth"], its.get("allocated_growth")
    amounts = [shown(its["total"], "B"), shown(resident, "B"), f"{resident / its['total']:.3f}"]
    asked_for = [shown(allocated, "B"), f"{allocated / its['total']:.3f}"] if allocated else [NOTHING, NOTHING]
    return [title, extent(Runs([record])), *amounts, *asked_for]


def training_time_parts(runs: Runs, _: Scale) -> list[Part]:
    """Seconds compared with the paper's and scikit-learn's."""
    rows = []
    for name, its in by_dataset(runs):
        factor = (its.mean("n_trees_of_the_paper") or 0) / (its.mean("n_trees") or 1)
        ours, other = (its.mean("seconds") or 0) * factor, (its.mean("sklearn_seconds") or 0) * factor
        known = not entry_of(name).stands_in_for
        theirs = paper.train_seconds(entry_of(name).paper_name)[0] if known else None
        expected = entry_of(name).expected.n_train
        note = "" if its.mean("n_rows") == expected else f" of {expected:,}"
        cells = [shown(theirs, "s"), shown(ours, "s"), ratio(ours, theirs), shown(other, "s"), ratio(ours, other)]
        rows.append([entry_of(name).title, *cells, extent(its).replace(" rows", f"{note} rows")])
    head = ("data set", "paper", "ours", "ratio", "scikit-learn RF here", "ours / scikit-learn", "measured on")
    about = (
        "One thread. The paper's processor is another one (Xeon E5-2690 v4), so its times give only an order of "
        "magnitude; scikit-learn's were taken here. Fewer trees than the paper's are extrapolated in proportion."
    )
    return [Text(about), Table("Training time (Table 7)", head, rows, frozenset({0, 6}))]


def tuning_parts(runs: Runs, scale: Scale) -> list[Part]:
    """What was selected, compared with the paper's."""
    rows = []
    for record in sorted(runs, key=lambda r: list(REGISTRY).index(r.unit.dataset)):
        its, name = record.result or {}, record.unit.dataset
        criterion = record.unit.options["criterion"]
        theirs = next(
            row
            for row in paper.rows("hyperparameters")
            if row["dataset"] == entry_of(name).paper_name and row["criterion"] == criterion
        )
        d_rmax = ", ".join(str(depth) for depth in its["d_rmax"].values())
        d_rmax_theirs = ", ".join(theirs[f"d_rmax_tol_{tolerance}"] for tolerance in paper.TOLERANCES)
        first = [f"{entry_of(name).title}, {criterion}"]
        rows.append([*first, "paper", theirs["T"], theirs["d_max"], theirs["k"], d_rmax_theirs, "", ""])
        own = [str(its[key]) for key in ("T", "d_max", "k")]
        rows.append([*first, "ours", *own, d_rmax, score(its["score"]), f"{its['n_rows']:,}"])
    head = ("data set, criterion", "", "T", "d_max", "k", "d_rmax at 0.1, 0.25, 0.5, 1.0%", "cross-validated", "rows")
    grid = scale.tuning
    about = (
        f"Tried: T in {grid.n_trees}, d_max in {grid.depths}, k in {grid.thresholds}, {grid.n_folds} folds"
        + (f", at most {grid.max_rows:,} rows." if grid.max_rows else ".")
        + (" Less than the paper tried: the choices can only be alike." if grid.max_rows else "")
    )
    return [Text(about), Table("Selected hyperparameters (Tables 6 and 8)", head, rows, frozenset({0, 1}))]
