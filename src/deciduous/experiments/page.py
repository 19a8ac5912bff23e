"""A self-contained HTML page out of sections of tables, figures and sentences."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

LONG_CELL = 90  # characters

STYLE = """
:root { --ink: #1d2b2a; --soft: #5d6b6a; --line: #dfe6e4; --good: #1b7a2f; --bad: #b00020; --mixed: #9a6700 }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 76rem; padding: 1rem 1.5rem }
h1 { font-size: 1.7rem; margin: .5rem 0 }
h2 { margin: 2.2rem 0 .4rem; border-top: 3px solid var(--line); padding-top: 1rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem } p, li { max-width: 62rem }
.note { color: var(--soft); font-size: .87rem }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .8rem 0; font-size: .9rem } a { color: #0b5a8a }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .86rem; margin: .3rem 0 .8rem }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
th { border-bottom: 2px solid #9fb0ad; vertical-align: bottom; white-space: normal; min-width: 3.2rem }
th:first-child, td:first-child, td.text, th.text { text-align: left }
td.long { white-space: normal; min-width: 16rem; font-size: .8rem } td.text { white-space: normal; min-width: 5rem }
tr:hover td { background: #f4f8f7 } summary { cursor: pointer; color: #0b5a8a; margin: .3rem 0 }
figure { margin: .8rem 0 } figure svg { max-width: 100%; height: auto }
figcaption { color: var(--soft); font-size: .87rem }
.holds { color: var(--good); font-weight: 600 } .fails { color: var(--bad); font-weight: 600 }
.part { color: var(--mixed); font-weight: 600 } .absent { color: var(--soft) }
@media print { nav { display: none } details { display: block } }
"""


@dataclass(frozen=True)
class Text:
    """A sentence or more; a note is set in small."""

    text: str
    is_note: bool = False

    def as_html(self) -> str:
        """As HTML."""
        return f"<p{' class=note' if self.is_note else ''}>{html.escape(self.text)}</p>"


@dataclass(frozen=True)
class Table:
    """Rows of cells. Columns of text are set left; a folded table opens on demand."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: frozenset[int] = frozenset({0})
    classes: Sequence[str] = ()  # of the last cell of each row
    is_folded: bool = False

    def as_html(self) -> str:
        """As HTML; nothing without rows."""
        if not self.rows:
            return ""
        head = "".join(self._cell("th", i, name) for i, name in enumerate(self.head))
        rows = "".join(f"<tr>{self._row(number, row)}</tr>" for number, row in enumerate(self.rows))
        table = f"<div class=scroll><table><tr>{head}</tr>{rows}</table></div>"
        title = html.escape(self.title)
        return f"<details><summary>{title}</summary>{table}</details>" if self.is_folded else f"<h3>{title}</h3>{table}"

    def as_markdown(self) -> str:
        """As a Markdown table, without its title."""
        lines = [self.head, ["---" if i in self.text_columns else "---:" for i in range(len(self.head))], *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def _row(self, number: int, row: Sequence[str]) -> str:
        last = len(row) - 1
        style = self.classes[number] if self.classes else ""
        return "".join(self._cell("td", i, cell, style if i == last else "") for i, cell in enumerate(row))

    def _cell(self, tag: str, column: int, text: str, style: str = "") -> str:
        width = "long" if len(text) > LONG_CELL else ""
        names = " ".join(filter(None, ["text" if column in self.text_columns else "", width, style]))
        attribute = f' class="{names}"' if names else ""
        return f"<{tag}{attribute}>{html.escape(text)}</{tag}>"


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG."""

    svg: str
    caption: str

    def as_html(self) -> str:
        """As HTML."""
        return f"<figure>{self.svg}<figcaption>{html.escape(self.caption)}</figcaption></figure>"


Part = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    name: str
    title: str
    parts: Sequence[Part] = field(default_factory=list)

    def as_html(self) -> str:
        """As HTML."""
        return f'<h2 id="{self.name}">{html.escape(self.title)}</h2>' + "".join(part.as_html() for part in self.parts)


def page(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page; it refers to nothing outside of itself."""
    links = "".join(f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections)
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
    )
    lead_html = "".join(f"<p>{html.escape(text)}</p>" for text in lead)
    body = f"<h1>{html.escape(title)}</h1>{lead_html}<nav>{links}</nav>" + "".join(its.as_html() for its in sections)
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n"
