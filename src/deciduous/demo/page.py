"""The story as one page of HTML: no scripts, and nothing is fetched from elsewhere. It names no patient."""

from __future__ import annotations

import os
import platform
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version

from .. import __version__
from .folder import CERTIFICATE, FOREST, RECEIPTS
from .measures import Story, TableErasure
from .wording import counted, duration, threads, times

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2b2a; --soft: #5d6b6a; --line: #dfe6e4; --card: #f4f8f6;
        --good: #00785a; --bad: #b00020; --link: #0b5a8a }
@media (prefers-color-scheme: dark) {
  :root { --paper: #161c1b; --ink: #e6eeec; --soft: #9fb0ad; --line: #2b3533; --card: #1e2725; --good: #2fd6a3;
          --bad: #ff7b8a; --link: #7cc4f2 } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
       max-width: 54rem; padding: 2rem 1.25rem 3rem }
h1 { font-size: 2.3rem; line-height: 1.15; margin: 0 0 .6rem; letter-spacing: -.01em }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem }
.lead { font-size: 1.13rem; margin: 0 0 1.4rem }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; margin: 0 0 1.6rem }
.cards div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem }
.cards b { display: block; font-size: 1.35rem; line-height: 1.3; white-space: nowrap }
.cards span { color: var(--soft); font-size: .88rem }
figure { margin: 0 0 1.6rem } img { width: 100%; height: auto; display: block }
figcaption, .note { color: var(--soft); font-size: .9rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .95rem }
th, td { text-align: right; white-space: nowrap; padding: .35rem .6rem; border-bottom: 1px solid var(--line);
         vertical-align: top }
th { font-weight: 600; color: var(--soft); font-size: .88rem }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
table.facts td { text-align: left; white-space: normal } table.facts td:first-child { color: var(--soft); width: 15rem }
code { font: .85em/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere }
.good { color: var(--good); font-weight: 600 } .bad { color: var(--bad); font-weight: 600 }
a { color: var(--link) } a.button { display: inline-block; border: 1px solid var(--line); background: var(--card);
  border-radius: .5rem; padding: .45rem .9rem; margin: .2rem .5rem .2rem 0; text-decoration: none; font-weight: 600 }
footer { margin-top: 2.6rem; border-top: 1px solid var(--line); padding-top: .8rem; color: var(--soft);
         font-size: .88rem }
"""


def page(story: Story, pictures: Mapping[str, bytes], receipt: str | None) -> str:
    """The page, with the picture in light and dark, if there is one."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forgotten in {duration(story.erasure.seconds)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Forgotten in {duration(story.erasure.seconds)}</h1>
{_lead(story)}
{_cards(story)}
{_figure(story, pictures)}
<h2>How long deletions take</h2>
{_latencies(story)}
<h2>One patient says: delete my data</h2>
{_facts(_deeds(story))}
<h2>The proof</h2>
{_proof(story)}
<h2>The certificate</h2>
{_certificate(story.table, receipt)}
<h2>What to make of it</h2>
{_remarks(story)}
<footer>{_footer(story)}</footer>
</body>
</html>
"""


def _lead(story: Story) -> str:
    setting, training = story.setting, story.training
    return (
        f'<p class="lead">A random forest has learned from {setting.n_rows:,} visits of {training.n_patients:,} '
        "patients which of them come back within 30 days. One patient asks to be forgotten. Their "
        f"{counted(story.erasure.n_visits, 'visit')} leave the model in {duration(story.erasure.seconds)}; retraining "
        f"takes {duration(story.retraining)}. {_verdict(story)}</p>"
    )


def _verdict(story: Story) -> str:
    if story.is_exact:
        files = "" if story.table is None else ", and no file of table or forest names the patient any more"
        return f"The result is the same, <b>byte for byte</b>: not one that resembles it{files}."
    return '<b class="bad">The result is not the same. That should not be: please report it.</b>'


def _cards(story: Story) -> str:
    cards = {
        duration(story.erasure.seconds): "to delete a patient from the forest",
        times(story.retraining, story.deletions.mean): "as fast as retraining, mean of "
        + counted(len(story.deletions.singles), "single deletion"),
        "same bytes" if story.is_exact else "other bytes": "as the forest that never saw the rows",
        f"{story.training.accuracy:.3f} → {story.deletions.accuracy:.3f}": "accuracy on other patients, before and "
        f"after {_n_deleted(story):,} rows are deleted",
    }
    return (
        '<div class="cards">' + "".join(f"<div><b>{a}</b><span>{b}</span></div>" for a, b in cards.items()) + "</div>"
    )


def _n_deleted(story: Story) -> int:
    return story.erasure.n_visits + len(story.deletions.singles) + story.deletions.n_batch


def _figure(story: Story, pictures: Mapping[str, bytes]) -> str:
    if not pictures:
        return (
            "<p class=note>There is no picture, because matplotlib is not installed: pip install 'deciduous[plot]'.</p>"
        )
    light, dark = (f"data:image/png;base64,{b64encode(pictures[name]).decode()}" for name in ("light", "dark"))
    training = story.training
    return f"""<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">
<img src="{light}" alt="Latency of single deletions, on a logarithmic axis, far below the time of retraining"></picture>
<figcaption>Single rows, chosen at random, deleted one after the other. Accuracy on the visits of other patients:
{training.accuracy:.4f} before, {story.deletions.accuracy:.4f} after all deletions; scikit-learn's forest has
{training.scikit_learn_accuracy:.4f}.</figcaption></figure>"""


def _latencies(story: Story) -> str:
    found, ours, peer = story.deletions, story.retraining, story.training.scikit_learn_seconds
    n = len(found.singles)
    rows = [
        ("one row, median", found.median),
        ("one row, mean", found.mean),
        (f"one row, slowest of {n}", found.slowest),
        (f"the patient's {counted(story.erasure.n_visits, 'row')}", story.erasure.seconds),
        (f"{found.n_batch:,} rows at once, 1% of all", found.batch_seconds),
    ]
    lines = [(what, duration(seconds), times(ours, seconds), times(peer, seconds)) for what, seconds in rows]
    head = (
        "deleted",
        "takes",
        f"retraining this forest<br>({duration(ours)}) takes",
        f"retraining scikit-learn's<br>({duration(peer)}) takes",
    )
    return _table(head, lines)


def _deeds(story: Story) -> list[tuple[str, str]]:
    its, table = story.erasure, story.table
    deeds = [
        ("found by subject", counted(its.n_visits, "visit")),
        (
            "what it costs, by a dry run",
            f"{counted(its.n_nodes_rebuilt, 'node')} of {story.training.n_nodes:,} rebuilt, "
            f"{counted(its.n_rows_retrained, 'row')} retrained on",
        ),
        ("gone from the forest in", duration(its.seconds)),
    ]
    if table is not None:
        everywhere = (
            f"{duration(table.seconds)}: rows deleted from the table, forest updated, receipt written, and the file of "
            "the database rewritten, because deleting alone can leave copies in it"
        )
        deeds.append(("gone everywhere in", everywhere))
    return deeds


def _proof(story: Story) -> str:
    proof, table = story.proof, story.table
    facts = [("forest after the deletion", f"<code>{proof.after_deletion}</code>")]
    if table is not None:
        facts.append(("forest of the table", f"<code>{table.fingerprint}</code>"))
    facts.append(("trained without the patient", f"<code>{proof.retrained}</code> {_mark(proof.is_exact)}"))
    if table is not None:
        facts += [
            ("trained again from the table", "the same, and the receipts are whole " + _mark(table.is_verified)),
            ("files that name the patient", f"{_search(table)} {_mark(table.files_after == 0)}"),
        ]
    facts.append((f"after {_n_deleted(story):,} deletions", f"again the same {_mark(story.deletions.is_exact)}"))
    explained = (
        "<p class=note>A fingerprint is a digest of every node, threshold, count and row. Two forests have the same "
        "one only if they are the same.</p>"
    )
    return _facts(facts) + explained


def _search(table: TableErasure) -> str:
    return (
        f"{table.files_before} before, {table.files_after} of {table.files_searched} after, searched byte by byte for "
        f"the ids of patient and visits ({table.bytes_searched / 1e6:.0f} MB)"
    )


def _mark(is_good: bool) -> str:
    return '<span class="good">✓</span>' if is_good else '<span class="bad">✗</span>'


def _certificate(table: TableErasure | None, receipt: str | None) -> str:
    if table is None:
        return "<p class=note>Left out, because SQLAlchemy is not installed: pip install 'deciduous[live]'.</p>"
    return (
        "<p>The forest follows a table of a database, and each change leaves a receipt. This one is "
        f"{escape(str(receipt))} The patient is given the reference <code>{table.reference}</code>; the record does "
        f'not know whose it is.</p><p><a class="button" href="{CERTIFICATE}">The certificate, to print and file</a>'
        f'<a class="button" href="{RECEIPTS}">All receipts, as JSON</a></p>'
    )


def _remarks(story: Story) -> str:
    remarks = [
        "The data is generated, with a fixed seed. Both forests have the same rows, the same number of trees "
        f"({story.setting.n_trees}) and the same depth (at most {story.setting.depth}), and use "
        f"{threads(story.setting.n_jobs)}. Categories are one-hot columns for scikit-learn.",
        "A deletion is slow when it turns a split high up in a tree: then a large part of that tree is grown again. "
        f"The slowest one here took {duration(story.deletions.slowest)}.",
        f"A batch gains less than single rows do: 1% of the rows take {duration(story.deletions.batch_seconds)}, "
        f"and retraining is {times(story.retraining, story.deletions.batch_seconds)} that.",
        "This page does not name the patient. If it did, it would be a copy that deletion does not reach, as backups "
        "and exported models are.",
    ]
    if story.table is not None:
        remarks.append(f"To go on: <code>deciduous live status {FOREST}</code>, in the folder of this page.")
    return "<ul>" + "".join(f"<li>{text}</li>" for text in remarks) + "</ul>"


def _footer(story: Story) -> str:
    machine = counted(os.cpu_count() or 1, "processor")
    return (
        f"deciduous {__version__}, scikit-learn {version('scikit-learn')}, Python {platform.python_version()}; "
        f"measured on a machine with {machine}. {story.setting.n_thresholds} thresholds are tried for each attribute."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{text}</th>" for text in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{titles}</tr>{lines}</table></div>'


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return '<table class="facts">' + "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in facts) + "</table>"
