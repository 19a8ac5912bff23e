"""A page that says what was erased from a forest, and how anyone can check it. See docs/certificate.md."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .receipts import Receipt
from .requests import Request

STYLE = """
@page { size: A4; margin: 18mm }
body { font: 10.5pt/1.45 Georgia, "Times New Roman", serif; color: #1a1a1a; max-width: 174mm; margin: 12mm auto }
h1 { font-size: 19pt; font-weight: normal; margin: 0 0 1mm; letter-spacing: .01em }
h2 { font: bold 9pt/1 Helvetica, Arial, sans-serif; text-transform: uppercase; letter-spacing: .08em; color: #3c5a3c;
     border-bottom: .3mm solid #3c5a3c; padding-bottom: 1.2mm; margin: 6mm 0 2mm }
p { margin: 0 0 2mm }
.lead { color: #444 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .9mm 0; font-weight: normal }
th { width: 46mm; color: #555; padding-right: 4mm }
code { font: 8.6pt/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere }
ul { margin: 0; padding-left: 5mm }
.sign { display: flex; gap: 10mm; margin-top: 13mm }
.sign div { flex: 1; border-top: .2mm solid #777; padding-top: 1mm; color: #555; font-size: 9pt }
@media print { body { margin: 0 } }
"""
MOST_LISTED = 4  # of requests or people; more would not fit on a page


def certificate(receipt: Receipt, requests: Sequence[Request], verification: Receipt | None) -> str:
    """The page about one receipt, the requests that it settled, and the verification that came after it."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Certificate of erasure, receipt {receipt.number}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{_title(receipt)}</h1>
<p class="lead">Receipt {receipt.number} of the forest on <b>{escape(receipt.source)}</b>, {_day(receipt.time)}</p>
<h2>What was done</h2>
{_table(_deeds(receipt, requests))}
<h2>The model</h2>
{_table(_model(receipt))}
<h2>Verification</h2>
<p>{_verification(verification)}</p>
<h2>What this says, and what it does not</h2>
<ul>
<li>The model after the change has the fingerprint above. It is the one that training on the rows that are left gives,
with the same parameters and seed: retraining and comparing fingerprints is the proof, and whoever has
the table, the parameters and the seed can do it.</li>
<li>People are named by keyed digests. Only the holder of the key can tell whose they are.</li>
<li>It says nothing about copies elsewhere: backups, exports, predictions, or logs of the database.</li>
</ul>
<h2>Place in the record</h2>
{_table([("This receipt", _code(receipt.chain)), ("The one before", _code(receipt.previous))])}
<div class="sign"><div>Filed by</div><div>Date</div><div>Signature</div></div>
</body>
</html>
"""


def _title(receipt: Receipt) -> str:
    return "Certificate of erasure" if receipt.deleted or receipt.updated else "Certificate of training"


def _deeds(receipt: Receipt, requests: Sequence[Request]) -> list[tuple[str, str]]:
    lines = [
        ("Request", f"{_code(request.id)} of {request.received[:10]}, due {request.due[:10]}, now {request.state}")
        for request in requests[:MOST_LISTED]
    ]
    if len(requests) > MOST_LISTED:
        lines.append(("", f"and {len(requests) - MOST_LISTED:,} more requests: see the receipt"))
    counts = f"{receipt.deleted:,} deleted, {receipt.updated:,} updated, {receipt.added:,} added; {receipt.rows:,} now"
    lines.append(("Rows", counts))
    if receipt.reason is not None:
        lines.append(("Remark", escape(receipt.reason)))
    if receipt.subjects_erased:
        lines.append(("Erased in full", _people(receipt.subjects_erased)))
    if receipt.subjects_changed:
        lines.append(("Erased or changed in part", _people(receipt.subjects_changed)))
    return lines


def _model(receipt: Receipt) -> list[tuple[str, str]]:
    before = (
        "none: trained for the first time" if receipt.fingerprint_before is None else _code(receipt.fingerprint_before)
    )
    return [
        ("Fingerprint before", before),
        ("Fingerprint after", _code(receipt.fingerprint_after or "")),
        ("Digest of parameters", _code(receipt.parameters or "")),
    ]


def _verification(verification: Receipt | None) -> str:
    if verification is None:
        return "Not yet. <code>LiveForest.verify</code> trains anew from the table and compares. Print this page then."
    return (
        f"On {_day(verification.time)} the model was trained anew from the table as it was then (receipt "
        f"{verification.number}), and had the fingerprint of the model in use: "
        f"{_code(verification.fingerprint_after or '')}."
    )


def _people(digests: Sequence[str]) -> str:
    listed = " ".join(map(_code, digests[:MOST_LISTED]))
    more = len(digests) - MOST_LISTED
    return listed + (f"<br>and {more:,} more: see the receipt" if more > 0 else "")


def _table(lines: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in lines)
    return f"<table>{rows}</table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _day(time: str) -> str:
    return f"{time[:10]} {time[11:16]} UTC"
