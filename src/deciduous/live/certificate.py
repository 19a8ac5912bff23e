"""A page that says what was erased from a forest, and how anyone can check it. See docs/certificate.md."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .. import __version__
from ._history import Request
from .receipts import CREATED, NOTHING_LEFT, RECOVERED, Receipt

# Sizes in points and millimetres, and room for the widest of common fonts on the shorter of common papers.
STYLE = """
@page { margin: 14mm 18mm }
* { overflow-wrap: anywhere }
body { font: 9.5pt/1.32 Georgia, "Times New Roman", "Liberation Serif", "Noto Serif", "DejaVu Serif", serif;
       color: #1a1a1a; max-width: 174mm; margin: 12mm auto }
h1 { font-size: 18pt; line-height: 1.15; font-weight: normal; margin: 0 0 1mm }
h2 { font: bold 8pt/1 Helvetica, Arial, "Liberation Sans", "Noto Sans", "DejaVu Sans", sans-serif; color: #3c5a3c;
     text-transform: uppercase; letter-spacing: .08em; border-bottom: .3mm solid #3c5a3c; padding-bottom: 1mm;
     margin: 4mm 0 1.2mm }
p { margin: 0 0 1.2mm }
.plain { font-size: 12.5pt; line-height: 1.3; margin: 3.5mm 0 4mm }
.lead, .made { color: #444 }
.made { font-size: 8pt; margin: 2.5mm 0 0 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5mm 0; font-weight: normal }
th { width: 36mm; color: #555; padding-right: 4mm }
code { font: 7.6pt/1.3 Menlo, Consolas, "Liberation Mono", "Noto Sans Mono", "DejaVu Sans Mono", monospace }
ul { margin: 0; padding-left: 5mm }
.sign { display: flex; gap: 10mm; margin-top: 11mm }
.sign div { flex: 1; border-top: .2mm solid #777; padding-top: 1mm; color: #555; font-size: 8.5pt }
@media print { body { margin: 0 } }
"""
MOST_LISTED = 4  # requests; more would not fit on a page
LONGEST = 120  # letters of a name that others gave


def certificate(
    receipt: Receipt,
    requests: Sequence[Request],
    verification: Receipt | None,
    organisation: str | None,
    key_id: str | None,
) -> str:
    """The page about one receipt, the requests that it settled, and the verification that came after it.

    `key_id` is the id of the key that signs statements about the receipts, if there is one.
    """
    title = _title(receipt)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}, receipt {receipt.number}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p class="lead">{_issuer(organisation)}Receipt {receipt.number} of the forest on <b>{_name(receipt.source)}</b>,
{_day(receipt.time)}</p>
<p class="plain">{_plain(receipt)}</p>
<h2>What was done</h2>
{_table(_deeds(receipt, requests))}
{_about_the_model(receipt, verification)}
<h2>What this says, and what it does not</h2>
<ul>
{_explained(receipt)}
<li>People are known by the references of their requests, and by nothing else.</li>
<li>It says nothing about copies elsewhere: backups, exports, predictions, or logs of the database.</li>
</ul>
<h2>Place in the record</h2>
{_table(_place(receipt, key_id))}
<div class="sign"><div>Filed by</div><div>Date</div><div>Signature</div></div>
<p class="made">Made by deciduous {__version__}.</p>
</body>
</html>
"""


def _title(receipt: Receipt) -> str:
    if (receipt.requests and receipt.kind != NOTHING_LEFT) or receipt.n_deleted:
        return "Certificate of erasure"
    other = {
        CREATED: "Certificate of training",
        RECOVERED: "Certificate of recovery",
        NOTHING_LEFT: "Answer to a request for erasure",
    }
    return other.get(receipt.kind, "Certificate of an update")


def _plain(receipt: Receipt) -> str:
    """What happened, in one sentence for the person whom it concerns."""
    references = ", ".join(f"<b>{id}</b>" for id in receipt.requests[:MOST_LISTED])
    if receipt.kind == NOTHING_LEFT:
        return (
            f"No data of the person with reference {references} is part of this model. There was nothing left to erase."
        )
    if len(receipt.requests) == 1:
        return f"The data of the person with reference {references} is no longer part of this model."
    if receipt.requests:
        more = len(receipt.requests) - MOST_LISTED
        people = f"{len(receipt.requests):,} people, with the references {references}"
        others = f" and {more:,} more" if more > 0 else ""
        return f"The data of {people}{others}, is no longer part of this model."
    if receipt.kind == CREATED:
        return f"This model was trained for the first time, on {_rows(receipt.n_added)}."
    if receipt.kind == RECOVERED:
        return "This model was trained anew from its table, after files of it had been lost."
    if receipt.n_deleted:
        them = "is" if receipt.n_deleted == 1 else "are"
        return f"{_rows(receipt.n_deleted).capitalize()} of the table {them} no longer part of this model."
    if receipt.n_updated:
        return f"The former values of {_rows(receipt.n_updated)} of the table are no longer part of this model."
    return f"{_rows(receipt.n_added).capitalize()} came to this model."


def _deeds(receipt: Receipt, requests: Sequence[Request]) -> list[tuple[str, str]]:
    lines = [
        ("Request", f"{_code(request.id)} of {request.received[:10]}, due {request.due[:10]}, now {request.state}")
        for request in requests[:MOST_LISTED]
    ]
    if len(requests) > MOST_LISTED:
        lines.append(("", f"and {len(requests) - MOST_LISTED:,} more requests: see the receipt"))
    if receipt.n_rows is not None:
        counts = f"{receipt.n_deleted:,} deleted, {receipt.n_updated:,} updated, {receipt.n_added:,} added"
        lines.append(("Rows", f"{counts}; {receipt.n_rows:,} now"))
    if receipt.n_people_erased or receipt.n_people_changed:
        people = f"{receipt.n_people_erased:,} erased in full, {receipt.n_people_changed:,} erased or changed in part"
        lines.append(("People", people))
    if receipt.reason is not None:
        lines.append(("Remark", escape(receipt.reason)))
    return lines


def _about_the_model(receipt: Receipt, verification: Receipt | None) -> str:
    if receipt.after is None:
        return ""
    before = "none: trained for the first time" if receipt.before is None else _code(receipt.before)
    same = " (the same: no row that it was trained on has changed)" if receipt.before == receipt.after else ""
    commitments = [
        ("Model before", before + same),
        ("Model after", _code(receipt.after)),
        ("Parameters", _code(receipt.parameters or "")),
    ]
    return f"<h2>The model</h2>\n{_table(commitments)}\n<h2>Verification</h2>\n<p>{_verification(verification)}</p>"


def _explained(receipt: Receipt) -> str:
    if receipt.after is None:
        return (
            "<li>The model follows a table. When the request was answered, the table held no row of this person, and "
            "so the model was trained on none.</li>"
        )
    return (
        "<li>After the change the model was the one that training on the rows that were left gives, with the same "
        "parameters and seed. Whoever has the table and the folder can check that for as long as the model stays as it "
        "is.</li>\n<li>Model and parameters are given as commitments: digests whose keys the next change destroys, so "
        "that nobody can try what was erased.</li>"
    )


def _place(receipt: Receipt, key_id: str | None) -> list[tuple[str, str]]:
    signed = [] if key_id is None else [("Statements signed by", _code(key_id))]
    return [("This receipt", _code(receipt.chain)), ("The one before", _code(receipt.previous)), *signed]


def _verification(verification: Receipt | None) -> str:
    if verification is None:
        return "Not yet. <code>LiveForest.verify</code> trains anew from the table and compares. Print this page then."
    return (
        f"On {_day(verification.time)} the model was trained anew from the table as it was then (receipt "
        f"{verification.number}), and was the model in use: {_code(verification.after or '')}."
    )


def _issuer(organisation: str | None) -> str:
    return "" if organisation is None else f"<b>{_name(organisation)}</b>. "


def _name(text: str) -> str:
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _rows(number: int) -> str:
    return "one row" if number == 1 else f"{number:,} rows"


def _table(lines: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in lines)
    return f"<table>{rows}</table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _day(time: str) -> str:
    return f"{time[:10]} {time[11:16]} UTC"
