"""What the report says about each experiment: tables with the paper's figures beside ours, and the figures redrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import paper
from .datasets import REGISTRY, entry_of
from .drawing import Panel, grouped_bars, line_panels
from .measuring import geometric_mean, standard_error
from .page import Figure, Part, Section, Table, Text
from .protocols import PROTOCOLS, performance
from .protocols.batch import SIZES
from .protocols.deletion import ADVERSARIES
from .protocols.deletion import MODELS as DELETION_MODELS
from .protocols.exactness import LEMMA
from .protocols.stream import KINDS, SHARES
from .scales import Scale
from .store import Record, Runs
from .task import G_DARE
from .wording import NOTHING, digits, listed, points, ratio, score, sentence, shown

MB = 1e6
METRICS = {"accuracy": "accuracy", "auc": "AUC", "average_precision": "avg. precision"}
TITLES = {G_DARE: "G-DaRE"} | {f"r_dare_{tolerance}": f"R-DaRE {tolerance}%" for tolerance in paper.TOLERANCES}
ADVERSARY_TITLES = {"random": "random", "worst_of_1000": "worst of 1000"}


def sections(runs: Runs, scale: Scale) -> list[Section]:
    """One for each experiment that was run."""
    written = {
        "performance": performance_parts,
        "deletion": deletion_parts,
        "random-depth": random_depth_parts,
        "thresholds": threshold_parts,
        "memory": memory_parts,
        "training-time": training_time_parts,
        "tuning": tuning_parts,
        "exactness": exactness_parts,
        "batch": batch_parts,
        "stream": stream_parts,
    }
    return [
        Section(name, name, [Text(sentence(PROTOCOLS[name].about)), *parts(runs.done(name), scale)])
        for name, parts in written.items()
        if runs.done(name)
    ]


def data_section(runs: Runs) -> Section:
    """The registry, and which data sets this run had."""
    reasons = {record.unit.dataset: str(record.reason) for record in runs.without_result()}
    used = set(Runs(record for record in runs if record.result is not None).datasets())
    rows = []
    for its in REGISTRY.values():
        theirs = paper.dataset(its.paper_name)
        expected = its.expected
        state = "used" if its.name in used else reasons.get(its.name, "not part of this run")
        rows.append(
            [
                its.title,
                _beside(expected.n_train, theirs.n_train),
                _beside(expected.n_test, theirs.n_test),
                _beside(expected.n_attributes, theirs.n_attributes),
                f"{100 * expected.positive_rate:.1f}%",
                METRICS[its.metric],
                f"{its.origin}. {its.note}",
                state,
            ]
        )
    head = ("data set", "train rows", "test rows", "attributes", "positive", "metric", "origin", "in this run")
    about = (
        "Sizes are checked whenever a set is loaded. Attributes are counted after one-hot encoding on the train part. "
        "Where the paper's tables have another number, it stands in brackets."
    )
    return Section("data", "data sets", [Text(about), Table("Tables 1 and 4", head, rows, frozenset({0, 6, 7}))])


def _beside(ours: int, theirs: int) -> str:
    """Our number, and the paper's where it is another one."""
    return f"{ours:,}" if ours == theirs else f"{ours:,} (paper {theirs:,})"


def extent(runs: Runs) -> str:
    """Rows, trees and seeds of some records."""
    if not len(runs):
        return NOTHING
    n_rows, n_trees = (max(runs.values(name)) for name in ("n_rows", "n_trees"))
    n_seeds = len({record.unit.seed for record in runs})
    return f"{n_rows:,.0f} rows, {n_trees:.0f} trees, {n_seeds} seed{'s' if n_seeds > 1 else ''}"


def by_dataset(runs: Runs) -> list[tuple[str, Runs]]:
    """Records of each data set of the registry."""
    return [(name, Runs(r for r in runs if r.unit.dataset == name)) for name in REGISTRY if name in runs.datasets()]


# --------------------------------------------------------------------------------------------------------- performance


def performance_parts(runs: Runs, _: Scale) -> list[Part]:
    """G-DaRE beside the paper's, and beside other models."""
    return [performance_table(runs), *model_tables(runs)]


def performance_table(runs: Runs) -> Table:
    """G-DaRE on all rows: the paper's score, ours, and what lies between."""
    rows = []
    for name, its in by_dataset(runs.done("performance", model=G_DARE, rows="all")):
        theirs, ours = paper.score(entry_of(name).paper_name, G_DARE), its.mean("score")
        difference = None if ours is None else ours - theirs
        rows.append(
            [
                entry_of(name).title,
                METRICS[entry_of(name).metric],
                f"{theirs:.3f}",
                score(ours, standard_error(its.values("score"))),
                points(difference),
                f"{(ours or 0) / theirs:.3f}x",
                extent(its),
            ]
        )
    head = ("data set", "metric", "paper", "ours ± s.e.", "ours − paper, points", "ratio", "measured on")
    return Table("G-DaRE beside the paper's (Table 5)", head, rows, frozenset({0, 1, 6}))


def model_tables(runs: Runs) -> list[Part]:
    """All models on the same rows, the paper's scores on all rows in brackets."""
    tables: list[Part] = []
    for which in ("all", "some"):
        chosen = Runs(r for r in runs if r.unit.options["rows"] == which)
        if set(chosen.datasets()) and {r.unit.options["model"] for r in chosen} != {G_DARE}:
            rows = [_model_row(name, its) for name, its in by_dataset(chosen)]
            head = ("data set", *performance.TITLES.values(), "measured on")
            title = "All models on the same rows; the paper's, on all rows, in brackets"
            tables.append(Table(title, head, rows, frozenset({0, len(head) - 1})))
    return tables


def _model_row(name: str, runs: Runs) -> list[str]:
    def cell(model: str) -> str:
        its = runs.done("performance", model=model)
        mean = its.mean("score")
        ours = NOTHING if mean is None else f"{mean:.3f}"
        known = model in paper.rows("predictive_performance")[0] and not entry_of(name).stands_in_for
        return f"{ours} ({paper.score(entry_of(name).paper_name, model):.3f})" if known else ours

    return [entry_of(name).title, *map(cell, performance.TITLES), extent(runs)]


# ------------------------------------------------------------------------------------------------------------ deletion


def speedups(runs: Runs, criterion: str, adversary: str, model: str) -> dict[str, float]:
    """The mean speed-up on each data set."""
    chosen = runs.done("deletion", criterion=criterion, adversary=adversary, model=model)
    return {name: its.mean("speedup") or 0.0 for name, its in by_dataset(chosen)}


def error_increase(runs: Runs, criterion: str, model: str) -> dict[str, float]:
    """By how much the test error grows from G-DaRE to a model, on each data set, as a share of one."""
    increases = {}
    for name, its in by_dataset(runs.done("deletion", criterion=criterion, adversary="random")):
        greedy = its.done("deletion", model=G_DARE).mean("score")
        other = its.done("deletion", model=model).mean("score")
        if greedy is not None and other is not None:
            increases[name] = greedy - other
    return increases


def deletion_parts(runs: Runs, scale: Scale) -> list[Part]:
    """Summary, per data set, latencies, and the figure."""
    parts: list[Part] = [
        Text(
            "The speed-up is the number of rows deleted one by one in the time in which one retraining deletes one. "
            f"Of worst-of-1000 it is that of the costliest of {scale.n_candidates:,} candidates each time. "
            f"Measured on at most {extent(runs)}. The paper gives the summary as numbers, the data sets as a picture."
        ),
        speedup_table(runs),
    ]
    for criterion in scale.criteria:
        if runs.done("deletion", criterion=criterion):
            parts += [_deletion_figure(runs, criterion), _by_data_set(runs, criterion), _latencies(runs, criterion)]
    return parts


def speedup_table(runs: Runs) -> Table:
    """Minimum, maximum and geometric mean over the data sets, the paper's and ours."""
    rows = []
    for criterion in ("gini", "entropy"):
        for adversary in ADVERSARIES:
            for model in DELETION_MODELS:
                ours = list(speedups(runs, criterion, adversary, model).values())
                if not ours:
                    continue
                low, high, mean = paper.speedup(criterion, adversary, model)
                figures = min(ours), max(ours), geometric_mean(ours)
                rows.append(
                    [
                        f"{criterion}, {ADVERSARY_TITLES[adversary]}",
                        TITLES[model],
                        *(f"{digits(value)}x" for value in (low, high, mean)),
                        *(f"{digits(value)}x" for value in figures),
                        ratio(figures[2], mean),
                        str(len(ours)),
                    ]
                )
    head = ("criterion, adversary", "model", "paper: min", "max", "geometric mean", "ours: min", "max",
            "geometric mean", "ratio of means", "data sets")  # fmt: skip
    return Table("Speed-up over naive retraining (Tables 2 and 9)", head, rows, frozenset({0, 1}))


def _deletion_figure(runs: Runs, criterion: str) -> Part:
    def bars(value: Callable[[str], dict[str, float]], models: Sequence[str]) -> dict[str, dict[str, float]]:
        groups: dict[str, dict[str, float]] = {}
        for model in models:
            for name, height in value(model).items():
                groups.setdefault(name, {})[TITLES[model]] = height
        return groups

    rows = [
        (f"{title}: speed-up", bars(lambda m, a=adversary: speedups(runs, criterion, a, m), DELETION_MODELS))  # type: ignore[misc]
        for adversary, title in ADVERSARY_TITLES.items()
    ]
    errors = bars(lambda m: {n: 100 * e for n, e in error_increase(runs, criterion, m).items()}, DELETION_MODELS[1:])
    svg = grouped_bars([*rows, ("test error increase, points", errors)], [True, True, False])
    return Figure(svg, f"Figure 1 of the paper, redrawn with our runs ({criterion}).")


def _by_data_set(runs: Runs, criterion: str) -> Table:
    rows = []
    for name, _ in by_dataset(runs.done("deletion", criterion=criterion)):
        for adversary in ADVERSARIES:
            ours = [speedups(runs, criterion, adversary, model).get(name) for model in DELETION_MODELS]
            rows.append([entry_of(name).title, ADVERSARY_TITLES[adversary], *(shown(value, "x") for value in ours)])
        errors = [error_increase(runs, criterion, model).get(name) for model in DELETION_MODELS[1:]]
        rows.append([entry_of(name).title, "test error, points more", "", *map(points, errors)])
    head = ("data set", "", *(TITLES[model] for model in DELETION_MODELS))
    return Table(f"Speed-up and error by data set ({criterion})", head, rows, frozenset({0, 1}), is_folded=True)


def _latencies(runs: Runs, criterion: str) -> Table:
    rows = []
    for name, its in by_dataset(runs.done("deletion", criterion=criterion)):
        for adversary in ADVERSARIES:
            for model in (G_DARE, "r_dare_0.25"):
                chosen = its.done("deletion", adversary=adversary, model=model)
                figures = [shown(chosen.mean("delete", key), "s") for key in ("mean", "p50", "p99", "max")]
                rows.append(
                    [
                        entry_of(name).title,
                        f"{TITLES[model]}, {ADVERSARY_TITLES[adversary]}",
                        shown(chosen.mean("retraining"), "s"),
                        *figures,
                        digits(chosen.mean("delete", "n") or 0),
                        digits(chosen.mean("rows_retrained") or 0),
                        shown(chosen.mean("choosing", "mean"), "s"),
                    ]
                )
    head = ("data set", "", "retraining", "deletion: mean", "p50", "p99", "max", "deletions", "rows retrained by one",
            "time to choose the worst")  # fmt: skip
    return Table(f"Latency of single deletions ({criterion})", head, rows, frozenset({0, 1}), is_folded=True)


# ------------------------------------------------------------------------------------------- random depth, thresholds


def random_depth_parts(runs: Runs, _: Scale) -> list[Part]:
    """Efficiency, error, and rows retrained by depth."""
    parts: list[Part] = [Text(f"Measured on at most {extent(runs)}.", is_note=True)]
    for name, its in by_dataset(runs):
        panels = [_depth_curve(its, "speedup", "speed-up", is_log_y=True), _depth_curve(its, "score", "test score")]
        panels += [_retrained_panel(its, adversary) for adversary in ADVERSARIES]
        svg = line_panels(panels, n_columns=4)
        parts.append(Figure(svg, f"Figure 2 of the paper, redrawn for {entry_of(name).title}."))
    return [*parts, _depth_table(runs)]


def along(runs: Runs, option: str, *path: str) -> list[tuple[float, float]]:
    """The mean of a figure for each value of an option, ascending."""
    values = sorted({record.unit.options[option] for record in runs})
    chosen = ((x, Runs(r for r in runs if r.unit.options[option] == x).mean(*path)) for x in values)
    return [(float(x), y) for x, y in chosen if y is not None]


def _depth_curve(runs: Runs, key: str, label: str, is_log_y: bool = False) -> Panel:
    adversaries = ADVERSARIES if key == "speedup" else ADVERSARIES[:1]
    lines = {
        ADVERSARY_TITLES[adversary]: along(runs.done("random-depth", adversary=adversary), "random_depth", key)
        for adversary in adversaries
    }
    return Panel(label, "d_rmax", label, lines, is_log_y=is_log_y)


def _retrained_panel(runs: Runs, adversary: str) -> Panel:
    lines: dict[str, list[tuple[float, float]]] = {}
    for record in runs.done("random-depth", adversary=adversary):
        d_rmax = record.unit.options["random_depth"]
        if record.unit.seed == 1 and d_rmax in (0, 4, 10, 20):
            by_depth = (record.result or {})["rows_retrained_by_depth"]
            lines[f"d_rmax {d_rmax}"] = [(depth, rows) for depth, rows in enumerate(by_depth) if rows > 0]
    title = f"rows retrained, {ADVERSARY_TITLES[adversary]}"
    return Panel(title, "depth", "rows per deletion", lines, is_log_y=True)


def _depth_table(runs: Runs) -> Table:
    rows = []
    for name, its in by_dataset(runs):
        for (x, random), (_, worst), (_, quality), (_, n_rows) in zip(
            along(its.done("random-depth", adversary="random"), "random_depth", "speedup"),
            along(its.done("random-depth", adversary="worst_of_1000"), "random_depth", "speedup"),
            along(its.done("random-depth", adversary="random"), "random_depth", "score"),
            along(its.done("random-depth", adversary="random"), "random_depth", "rows_retrained"),
            strict=False,
        ):
            cells = [shown(random, "x"), shown(worst, "x"), score(quality), digits(n_rows)]
            rows.append([entry_of(name).title, f"{x:.0f}", *cells])
    head = ("data set", "d_rmax", "speed-up, random", "speed-up, worst of 1000", "test score", "rows retrained, random")
    return Table("Effect of d_rmax", head, rows, is_folded=True)


def threshold_parts(runs: Runs, _: Scale) -> list[Part]:
    """Quality and efficiency by k."""
    quality = {name: along(its, "k", "score") for name, its in by_dataset(runs)}
    faster = {name: along(its, "k", "speedup") for name, its in by_dataset(runs)}
    svg = line_panels(
        [
            Panel("test score", "k", "score", quality, is_log_x=True),
            Panel("speed-up, random adversary", "k", "speed-up", faster, is_log_x=True, is_log_y=True),
        ],
        n_columns=2,
    )
    ks = sorted({record.unit.options["k"] for record in runs})
    rows = []
    for name, its in by_dataset(runs):
        scores, gains = dict(along(its, "k", "score")), dict(along(its, "k", "speedup"))
        rows.append([entry_of(name).title, "score", *(score(scores.get(k)) for k in ks)])
        rows.append([entry_of(name).title, "speed-up", *(shown(gains.get(k), "x") for k in ks)])
    table = Table("Effect of k", ("data set", "", *(f"k = {k}" for k in ks)), rows, frozenset({0, 1}), is_folded=True)
    note = Text(f"Measured on at most {extent(runs)}.", is_note=True)
    return [note, Figure(svg, "Figure 3 of the paper, redrawn for all data sets."), table]


# --------------------------------------------------------------------------------------------- memory, training, tuning


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
        Table("Accounting beside the memory of a process", head_resident, resident, frozenset({0, 1})),
    ]


def _resident_row(title: str, record: Record) -> list[str]:
    its: dict[str, Any] = record.result or {}
    resident, allocated = its["resident_growth"], its.get("allocated_growth")
    amounts = [shown(its["total"], "B"), shown(resident, "B"), f"{resident / its['total']:.3f}"]
    asked_for = [shown(allocated, "B"), f"{allocated / its['total']:.3f}"] if allocated else [NOTHING, NOTHING]
    return [title, extent(Runs([record])), *amounts, *asked_for]


def training_time_parts(runs: Runs, _: Scale) -> list[Part]:
    """Seconds beside the paper's and scikit-learn's."""
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
    """What was selected, beside the paper's."""
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


# -------------------------------------------------------------------------------------------- exactness, batch, stream


def exactness_parts(runs: Runs, _: Scale) -> list[Part]:
    """Fingerprints, and the Lemma."""
    lemma = Runs(r for r in runs if r.unit.dataset == LEMMA)
    others = Runs(r for r in runs if r.unit.dataset != LEMMA)
    rows = []
    for name, its in by_dataset(others):
        for record in its:
            result, options = record.result or {}, record.unit.options
            rows.append(
                [
                    entry_of(name).title,
                    TITLES[options["model"]] + (", lazy" if options["lazy"] else ""),
                    digits(result["n_rows"]),
                    digits(result["n_deleted"]),
                    shown(result["deleting"], "s"),
                    shown(result["retraining"], "s"),
                    result["fingerprint"][:16],
                    "same" if result["matches"] else "DIFFERENT",
                ]
            )
    head = (
        "data set",
        "model",
        "rows",
        "deleted one by one",
        "deletions",
        "one retraining",
        "fingerprint",
        "retrained",
    )
    table = Table("1% of the rows deleted, beside retraining without them", head, rows, frozenset({0, 1, 6}))
    return [table, *_lemma_parts(lemma)]


def _lemma_parts(runs: Runs) -> list[Part]:
    rows = []
    for record in runs:
        its = record.result or {}
        for who in ("paper", "ours"):
            shares = ", ".join(f"{float(at):g}: {100 * share:.1f}%" for at, share in its[who]["shares"].items())
            expected = ", ".join(f"{float(at):g}: {100 * share:.1f}%" for at, share in its["retrained"].items())
            statistic = NOTHING if its[who]["chi2"] is None else f"{its[who]['chi2']:,.1f} ({its[who]['freedom']})"
            verdict = "differs" if its[who]["p"] < SIGNIFICANT else "agrees"
            same = "" if who == "paper" else ", same bytes" if its["ours"]["matches"] else ", OTHER BYTES"
            name = record.unit.options["case"] if who == "paper" else ""
            whose = "paper's scheme" if who == "paper" else "ours"
            rows.append([name, whose, shares, expected if who == "paper" else "", statistic, f"{verdict}{same}"])
    n = max(runs.values("n_models"), default=0)
    about = (
        f"Root thresholds of {n:,.0f} stumps after one deletion. The paper resamples thresholds that become invalid "
        "and keeps the others; a threshold that a deletion makes valid is then chosen too seldom. Its Lemma A.1 does "
        "not count such thresholds. The paper's scheme is implemented as written, for stumps; the cases are in "
        "deciduous.experiments.papers_scheme."
    )
    head = ("case", "", "share of thresholds after deletion", "when retrained", "chi² (d.f.)", "beside retraining")
    return [Text(about), Table("The gap in the paper's Lemma", head, rows, frozenset({0, 1, 2, 3, 5}))]


SIGNIFICANT = 1e-6


def batch_parts(runs: Runs, _: Scale) -> list[Part]:
    """Seconds by size of the batch, and as a share of retraining."""
    rows, lines = [], {}
    for name, its in by_dataset(runs):
        retraining = its.mean("retraining")
        times = {size: its.mean("batches", size, "deleting") for size in SIZES}
        rows.append(
            [
                entry_of(name).title,
                *(shown(value, "s") for value in times.values()),
                shown(retraining, "s"),
                ratio(times["1%"], retraining),
                ratio(times["10%"], retraining),
                "yes" if all((record.result or {})["is_first_forest_again"] for record in its) else "NO",
            ]
        )
        points_ = [(its.mean("batches", size, "n"), times[size]) for size in SIZES]
        lines[name] = sorted((n, took / retraining) for n, took in points_ if n and took and retraining)
    head = ("data set", *(f"delete {size}" for size in SIZES), "retraining", "1% / retraining", "10% / retraining",
            "same after adding back")  # fmt: skip
    panel = Panel("one batch, as a share of retraining", "rows in the batch", "time / retraining", lines, True, True)
    about = Text(f"One thread, G-DaRE. Measured on at most {extent(runs)}. The paper gives no figures for batches.")
    return [about, Figure(line_panels([panel], 1), "Below 1 a batch is faster than retraining."),
            Table("Batches", head, rows)]  # fmt: skip


def stream_parts(runs: Runs, _: Scale) -> list[Part]:
    """Latencies by kind of operation, and quality."""
    about = Text(
        f"Single rows, one thread, random order of adds, deletions and queries. Measured on at most {extent(runs)}. A "
        "lazy forest retrains when a query passes; the query pays for it. The paper has no such experiment."
    )
    return [about, _stream_figure(runs), _stream_summary(runs), _stream_table(runs)]


def _variants(runs: Runs) -> list[tuple[str, Runs]]:
    return [
        (f"max_samples {share:g}{', lazy' if lazy else ''}", runs.done("stream", max_samples=share, lazy=lazy))
        for share in SHARES
        for lazy in (False, True)
    ]


def _stream_figure(runs: Runs) -> Part:
    panels = []
    for kind in KINDS:
        lines = {}
        for title, its in _variants(runs):
            by_percentile: dict[float, list[float]] = {}
            for record in its:
                for q, value in (record.result or {}).get(kind, {}).get("percentiles", {}).items():
                    by_percentile.setdefault(float(q), []).append(value)
            lines[title] = [(q, geometric_mean(values)) for q, values in sorted(by_percentile.items())]
        panels.append(Panel(kind, "percentile", "seconds, geometric mean over data sets", lines, is_log_y=True))
    return Figure(line_panels(panels), "Distribution of latencies, geometric mean over the data sets.")


def _stream_summary(runs: Runs) -> Table:
    """Over all data sets: geometric means of latencies, and the loss of quality."""
    eager = dict(_scores(runs.done("stream", max_samples=1.0, lazy=False)))
    rows = []
    for title, its in _variants(runs):
        cells = []
        for kind in KINDS:
            for key in ("p50", "p99"):
                values = its.values(kind, key)
                cells.append(shown(geometric_mean(values) if values else None, "s"))
        losses = [value - eager[name] for name, value in _scores(its) if name in eager]
        cells.append(points(sum(losses) / len(losses)) if losses else NOTHING)
        cells.append(points(min(losses)) if losses else NOTHING)
        rows.append([title, *cells])
    head = ("variant", *(f"{kind} {key}" for kind in KINDS for key in ("p50", "p99")), "quality, points (mean)",
            "worst data set")  # fmt: skip
    return Table("Over all data sets", head, rows)


def _scores(runs: Runs) -> list[tuple[str, float]]:
    return [(name, its.mean("score") or 0.0) for name, its in by_dataset(runs)]


def _stream_table(runs: Runs) -> Table:
    rows = []
    for name, mine in by_dataset(runs):
        for title, its in _variants(mine):
            latencies = [shown(its.mean(kind, key), "s") for kind in KINDS for key in ("p50", "p99", "max")]
            rows.append([entry_of(name).title, title, *latencies, score(its.mean("score"))])
    head = ("data set", "", *(f"{kind} {key}" for kind in KINDS for key in ("p50", "p99", "max")), "test score")
    return Table("By data set", head, rows, frozenset({0, 1}), is_folded=True)


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
    parts: list[Part] = [Table("", ("", ""), rows, frozenset({0, 1}))]
    if scale.scaled_down:
        parts.append(Text("Scaled down from the paper's: " + "; ".join(scale.scaled_down) + "."))
    return Section("run", "this run", parts)
