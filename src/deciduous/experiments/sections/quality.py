"""Quality of G-DaRE compared with the paper's, and compared with other models."""

from __future__ import annotations

from .. import paper
from ..datasets import entry_of
from ..measuring import standard_error
from ..page import Part, Table
from ..protocols import performance
from ..scales import Scale
from ..store import Runs
from ..task import G_DARE
from ..wording import NOTHING, points, score
from .choosing import METRICS, by_dataset, extent


def performance_parts(runs: Runs, _: Scale) -> list[Part]:
    """G-DaRE compared with the paper's, and compared with other models."""
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
    return Table("G-DaRE compared with the paper's (Table 5)", head, rows, frozenset({0, 1, 6}))


def model_tables(runs: Runs) -> list[Part]:
    """All models on the same rows, the paper's scores on all rows in brackets."""
    tables: list[Part] = []
    for which in ("all", "some"):
        chosen = Runs(r for r in runs if r.unit.options["rows"] == which)
        if set(chosen.datasets()) and {r.unit.options["model"] for r in chosen} != {G_DARE}:
            rows = [_model_row(name, its) for name, its in by_dataset(chosen)]
            head = ("data set", *performance.TITLES.values())
            title = f"All models on the same rows, at most {extent(chosen)}; the paper's, on all rows, in brackets"
            tables.append(Table(title, head, rows))
    return tables


def _model_row(name: str, runs: Runs) -> list[str]:
    def cell(model: str) -> str:
        its = runs.done("performance", model=model)
        mean, error = its.mean("score"), standard_error(its.values("score"))
        ours = NOTHING if mean is None else f"{mean:.3f}" + ("" if error is None else f" ± {error:.3f}")
        known = model in paper.rows("predictive_performance")[0] and not entry_of(name).stands_in_for
        return f"{ours} ({paper.score(entry_of(name).paper_name, model):.3f})" if known else ours

    return [entry_of(name).title, *map(cell, performance.TITLES)]
