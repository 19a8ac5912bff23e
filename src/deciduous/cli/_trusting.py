"""Signed statements and public keys on the command line: the options, and how checks are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._output import counted, present

if TYPE_CHECKING:
    from ..evidence import EvidenceReport, Head, PublicKey, Statement

StatementsArgument = Annotated[
    Path, typer.Argument(readable=False, help="File of signed statements, as `deciduous live statements` writes it.")
]
LogArgument = Annotated[Path, typer.Argument(readable=False, help="Log of anchors: a file to which a line is added.")]
KeysOption = Annotated[
    list[Path],
    typer.Option("--key", "-k", readable=False, help="File with a public key that you trust. May be repeated."),
]
SHORT = 16  # letters of a digest that people are shown where they do not have to compare it


def trusted(paths: list[Path]) -> list[PublicKey]:
    """The public keys in some files."""
    from ..evidence import read_public_keys

    return read_public_keys(paths)


def told(report: EvidenceReport) -> list[str]:
    """What was found, in words."""
    first, newest = report.statements[0], report.statements[-1]
    which = f"Statement {first.number}" if first is newest else f"Statements {first.number} to {newest.number}"
    follow = "is signed" if first is newest else "are signed and follow from one another"
    before = "" if first.number == 1 else f" What came before statement {first.number} is not here."
    lines = [f"{which} of record {newest.record[:SHORT]} {follow}.{before}", f"The newest: {in_words(newest)}"]
    for signer in report.signers:
        vouched = "" if signer.vouched_in is None else f", for which statement {signer.vouched_in} vouches"
        span = f"{signer.first} to {signer.last}" if signer.first != signer.last else f"{signer.first}"
        lines.append(f"Signed by key {signer.key_id}{vouched}: {span}.")
    if report.anchored:
        last = report.anchored[-1]
        times = counted(len(report.anchored), "time")
        lines.append(f"Anchored {times}, the last time statement {last.head.number} at {last.time}.")
    if report.n_earlier:
        lines.append(f"Goes on from the {counted(report.n_earlier, 'statement')} that were kept earlier.")
    if report.fingerprint is not None:
        lines.append(f"The newest statement is about the forest with fingerprint {report.fingerprint}.")
    lines += ["", "This proves:", *(f"- {text}" for text in report.proves)]
    return [*lines, "It does not prove:", *(f"- {text}" for text in report.does_not_prove)]


def in_words(statement: Statement) -> str:
    """What a statement says, in one line."""
    parts = [f"number {statement.number}, {statement.time}, {statement.kind}"]
    counts = {"added": statement.n_added, "deleted": statement.n_deleted, "updated": statement.n_updated}
    changes = [f"{counted(n, 'row')} {what}" for what, n in counts.items() if n]
    parts.append(", ".join([*changes, f"{counted(statement.n_rows, 'row')} now"]))
    if statement.n_people_erased:
        n_people = statement.n_people_erased
        parts.append(f"{'1 person' if n_people == 1 else f'{n_people:,} people'} erased in full")
    if statement.requests:
        parts.append(f"requests {', '.join(statement.requests)}")
    return f"{'; '.join(parts)}."


def as_plain(report: EvidenceReport) -> dict[str, Any]:
    """What was found, for scripts."""
    newest = report.statements[-1] if report.statements else None
    return {
        "matches": report.matches,
        "problem": report.problem,
        "record": None if newest is None else newest.record,
        "first": None if newest is None else report.statements[0].number,
        "last": None if newest is None else newest.number,
        "head": None if newest is None else newest.digest,
        "kind": None if newest is None else newest.kind,
        "time": None if newest is None else newest.time,
        "keys": [vars(signer) for signer in report.signers],
        "anchored": [{"number": its.head.number, "time": its.time} for its in report.anchored],
        "n_earlier": report.n_earlier,
        "fingerprint": report.fingerprint,
        "proves": list(report.proves),
        "does_not_prove": list(report.does_not_prove),
    }


def put(log: Path, head: Head, as_json: bool) -> None:
    """Anchor a head in a log, and say so."""
    from ..evidence import FileAnchor

    anchored = FileAnchor(log).put(head)
    result = {"log": str(log), **vars(head), "time": anchored.time}
    present(
        as_json, result, f"Anchored statement {head.number} of record {head.record[:SHORT]} in {log}: {head.statement}."
    )
