"""Writes the results into docs/experiments.md, from the run in docs/results that `make experiments` made."""

from __future__ import annotations

from pathlib import Path

from deciduous.experiments.report import as_markdown
from deciduous.experiments.scales import SMALL
from deciduous.experiments.store import Runs

PAGE = Path(__file__).with_name("experiments.md")
RUN = Path(__file__).with_name("results") / f"{SMALL.name}.jsonl"
BEGIN, END = "<!-- results: made by docs/make_experiments.py -->\n", "<!-- end of results -->\n"


def page(text: str) -> str:
    """The page with the results of the run that is there; without one, as it is. Runs are not in the repository."""
    if not RUN.exists():
        return text
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{as_markdown(Runs.read(RUN), SMALL)}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
