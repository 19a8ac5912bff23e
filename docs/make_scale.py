"""Writes the tables of docs/scale.md and its picture, from the measurements that come with the package.

With a file of results, `python docs/make_scale.py build/bench/results.json` first puts that in their place.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from deciduous.experiments.cluster.findings import Findings
from deciduous.experiments.cluster.measured import MEASURED, Measured
from deciduous.experiments.cluster.picture import drawn
from deciduous.experiments.cluster.telling import block

PAGE = Path(__file__).with_name("scale.md")
PICTURE = Path(__file__).with_name("pictures") / "erasures.svg"
BLOCK = re.compile(r"(<!-- (\w+): made by docs/make_scale\.py -->\n).*?(<!-- end -->)", re.DOTALL)
DIGITS_OF_TIMES = 6  # significant ones


def page(text: str, findings: Findings) -> str:
    """The page with the numbers of these findings between its markers."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{block(findings, found[2])}\n\n{found[3]}", text)


def keep(path: Path) -> None:
    """Put a file of results in the place of the measurements that come with the package."""
    content = Measured.read(path).content
    for times in content["latencies"].values():
        times[:] = [float(f"{time:.{DIGITS_OF_TIMES}g}") for time in times]
    MEASURED.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        keep(Path(given))
    its = Findings(Measured.read())
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), its), encoding="utf-8")
    PICTURE.write_text(drawn(its), encoding="utf-8")
