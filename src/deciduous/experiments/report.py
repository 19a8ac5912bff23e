"""The report of a run: one page that holds everything, and the same claims for docs/experiments.md."""

from __future__ import annotations

from pathlib import Path

from .claims import Verdict, claims, claims_table
from .datasets import REGISTRY
from .page import Section, Text, page
from .protocols import PROTOCOLS
from .runner import Request
from .scales import Scale
from .sections import sections
from .sections.deletions import regression_table, speedup_table
from .sections.quality import performance_table
from .sections.stability import fastest_table
from .sections.surroundings import data_section, missing_section, run_section
from .store import Runs

TITLE = "Machine unlearning for random forests: the paper's evaluation, with our results next to theirs"


def write(runs: Runs, scale: Scale, path: Path) -> Path:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_html(runs, scale), encoding="utf-8")
    return path


def as_html(runs: Runs, scale: Scale) -> str:
    """The whole page."""
    runs = _in_planned_order(runs, scale)
    note = "A verdict is for this run, at this scale; what was scaled down from the paper's stands at the end."
    first = Section("claims", "claims", [Text(note, is_note=True), claims_table(runs)])
    rest = [data_section(runs), *sections(runs, scale), missing_section(runs), run_section(runs, scale)]
    return page(TITLE, [summary(runs, scale)], [first, *rest])


def _in_planned_order(runs: Runs, scale: Scale) -> Runs:
    """So that a report does not depend on the order in which units ended. What is not planned comes last."""
    everything = Request.checked(list(PROTOCOLS), scale.name, list(REGISTRY))
    units = [*everything.units_without_data(), *(unit for name in REGISTRY for unit in everything.units(name))]
    places = {unit.key: place for place, unit in enumerate(units)}
    return Runs(sorted(runs, key=lambda record: places.get(record.unit.key, len(places))))


def summary(runs: Runs, scale: Scale) -> str:
    """What the page is, in a few sentences."""
    verdicts = [its.verdict for its in claims(runs)]
    counts = ", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in Verdict if verdict in verdicts)
    return (
        "Brophy and Lowd, “Machine Unlearning for Random Forests” (ICML 2021), run again with deciduous at the scale "
        f"“{scale.name}”. Verdicts on {len(verdicts)} claims: {counts}. “Paper” are the figures of its tables, “ours” "
        "come from this run, and a ratio is ours divided by the paper's."
    )


def as_markdown(runs: Runs, scale: Scale) -> str:
    """Claims and the main tables for the documentation."""
    runs = _in_planned_order(runs, scale)
    stability = fastest_table(runs.done("stability"))
    parts = [
        summary(runs, scale),
        claims_table(runs).as_markdown(),
        "### Quality of G-DaRE",
        performance_table(runs.done("performance")).as_markdown(),
        "### Speed-up over naive retraining",
        speedup_table(runs.done("deletion")).as_markdown(),
        "### Stable splits compared with random levels",
        f"{stability.title}; in brackets its parameter, and how its score changes.",
        stability.as_markdown(),
        "### Regression",
        "Targets that are numbers: R² in place of accuracy and AUC. The paper has no regression.",
        regression_table(runs.done("deletion")).as_markdown(),
        "### The run",
        *(
            part.as_markdown() if not isinstance(part, Text) else part.text
            for part in run_section(runs, scale).parts
            if hasattr(part, "as_markdown") or isinstance(part, Text)
        ),
    ]
    return "\n\n".join(parts) + "\n"
