"""`deciduous receipts`: signed statements about receipts, on a machine with neither folder nor table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import EvidenceError
from . import _options as options
from ._output import CHECK_FAILED, JsonOption, present
from ._outputs import App
from ._trusting import KeysOption, LogArgument, StatementsArgument, as_plain, put, told, trusted

app = App(no_args_is_help=True, help="Signed statements about live forests, for those who check them.")


@app.command(
    epilog=options.examples(
        "deciduous receipts verify statements.jsonl --key clinic.pem",
        "deciduous receipts verify statements.jsonl --key clinic.pem --anchors anchors.log --json",
        "deciduous receipts verify statements.jsonl --key clinic.pem --earlier statements-of-may.jsonl",
        "deciduous receipts verify statements.jsonl --key old.pem --key new.pem --opening opening.json",
    )
)
def verify(
    statements: StatementsArgument,
    keys: KeysOption,
    anchors: Annotated[
        Path | None,
        typer.Option("--anchors", readable=False, help="Log of anchors, which the statements must agree with."),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--earlier", readable=False, help="File of statements that you kept, which these must go on from."
        ),
    ] = None,
    opening: Annotated[
        Path | None,
        typer.Option("--opening", readable=False, help="What opens the newest statement: its fingerprint is shown."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check signed statements, and say what they prove. Exits with 1 if something is wrong.

    Needs the statements and public keys, and nothing else: no folder, no table, no network. A key that a trusted key
    vouches for in a statement is trusted from then on.
    """
    from ..evidence import EvidenceReport, FileAnchor, ForestOpening, verify_statements

    known = trusted(keys)
    try:
        kept = None if anchors is None else FileAnchor(anchors).entries()
        opened = None if opening is None else ForestOpening.read(opening)
        report = verify_statements(statements, known, anchors=kept, earlier=earlier, opening=opened)
    except EvidenceError as error:  # of the log, or of the opening
        report = EvidenceReport(error.problem)
    lines = told(report) if report.problem is None else [f"NOT evidence that holds: {report.problem}."]
    present(as_json, {"file": str(statements), **as_plain(report)}, *lines)
    if report.problem is not None:
        raise typer.Exit(CHECK_FAILED)


@app.command(epilog=options.examples("deciduous receipts anchor statements.jsonl anchors.log --key clinic.pem"))
def anchor(statements: StatementsArgument, log: LogArgument, keys: KeysOption, as_json: JsonOption = False) -> None:
    """Check signed statements, and write the digest of the newest one to a log of your own.

    Whoever has the log sees later whether statements are withheld, or were replaced by others. The log tells nothing of
    persons or rows. Nothing is written if the log already has a later or another statement of this record.
    """
    from ..evidence import Head, verify_statements

    report = verify_statements(statements, trusted(keys))
    if report.problem is not None:
        raise EvidenceError(report.problem)
    put(log, Head.of(report.statements[-1]), as_json)
