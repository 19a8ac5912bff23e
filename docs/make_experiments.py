"""Writes the results into docs/experiments.md, from the run in docs/results. A test fails when they differ."""

from __future__ import annotations

from pathlib import Path

from deciduous.experiments.report import as_markdown
from deciduous.experiments.scales import SMALL
from deciduous.experiments.store import Runs

PAGE = Path(__file__).with_name("experiments.md")
RUN = Path(__file__).with_name("results") / f"{SMALL.name}.jsonl"
BEGIN, END = "<!-- results: made by docs/make_experiments.py -->\n", "<!-- end of results -->\n"
NOTHING = "No run of the small scale is in `docs/results` yet: `make experiments` makes one, and this page with it.\n"


def results() -> str:
    """What the committed run says."""
    return as_markdown(Runs.read(RUN), SMALL) if RUN.exists() else NOTHING


def page(text: str) -> str:
    """The page with the results of now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{results()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
