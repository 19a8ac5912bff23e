"""`deciduous live key`, `statements`, `opening`, `anchor` and `check-against`: what a live forest signs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInputError, shown
from . import _options as options
from ._databases import connected_live
from ._output import CHECK_FAILED, JsonOption, counted, note, present, present_table
from ._outputs import App
from ._trusting import LogArgument, StatementsArgument, put, trusted

if TYPE_CHECKING:
    from ..live import SigningKey

app = App()

FolderArgument = Annotated[Path, typer.Argument(readable=False, help="Folder of the live forest.")]
SigningKeyOption = Annotated[
    Path | None,
    typer.Option("--signing-key", readable=False, help="File of the private key, if it is not in the folder."),
]


@app.command(
    epilog=options.examples(
        "deciduous live key clinic.forest --new",
        "deciduous live key clinic.forest -o clinic.pem     # the public half, for those who check",
        "deciduous live key clinic.forest --new --at key.pem",
        "deciduous live key clinic.forest --id 5d1c0e9a -o old.pem",
    )
)
def key(
    folder: FolderArgument,
    new: Annotated[
        bool, typer.Option("--new", help="Make a key, which replaces the one in use if there is one.")
    ] = False,
    at: Annotated[
        Path | None, typer.Option("--at", help="New file for the private half. Default: in the folder.")
    ] = None,
    former: Annotated[
        Path | None,
        typer.Option("--former", readable=False, help="File of the private key in use, if it is not in the folder."),
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="The private key in use is lost: nothing vouches for the new one.")
    ] = False,
    id: Annotated[
        str | None, typer.Option("--id", help="Key to write with --out, by its id or the beginning of it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the public half of a key. Default: of the one in use.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the keys that sign statements about receipts, make one, or write a public half to a file.

    A key that replaces another one is vouched for by that one in a statement. What the old key has signed is kept, and
    its private half is removed from the folder. The private half is a file that only its owner can read: whoever has it
    can sign.
    """
    if not new and (at is not None or former is not None or lost):
        raise typer.BadParameter("--at, --former and --lost are about a key that is made: add --new.")
    with connected_live(folder, None, needs_table=False) as live:
        if new:
            made = live.new_key(at, former=former, is_lost=lost)
            note(f"Made key {made}." + (f" Its private half is in {at}." if at is not None else ""))
        keys = live.signing_keys()
    result = {"folder": str(folder), "keys": [vars(key) for key in keys]}
    if out is not None:
        _write_public(_chosen(keys, id), out)
        present(as_json, {**result, "out": str(out)}, f"Wrote {out}.")
    elif as_json:
        present(True, result)
    else:
        rows = [[key.id, str(key.receipt), key.since, key.until or ""] for key in keys]
        present_table(str(folder), ["key", "receipt", "since", "until"], rows)


def _chosen(keys: list[SigningKey], id: str | None) -> SigningKey:
    """The key in use, or the one that is meant by the beginning of its id."""
    if not keys:
        raise InvalidInputError("This live forest has no signing key. `deciduous live key FOLDER --new` makes one.")
    found = keys[-1:] if id is None else [key for key in keys if id and key.id.startswith(id)]
    if len(found) != 1:
        raise InvalidInputError(
            f"There is no one key whose id begins with {id!r}. The keys are {shown(key.id for key in keys)}."
        )
    return found[0]


def _write_public(key: SigningKey, out: Path) -> None:
    from .._container import write_atomically

    write_atomically(out, [key.public_key.encode()])


@app.command(
    epilog=options.examples(
        "deciduous live statements clinic.forest -o statements.jsonl",
        "deciduous live statements clinic.forest --first 17 -o newest.jsonl",
        "deciduous live statements clinic.forest --signing-key key.pem -o statements.jsonl",
    )
)
def statements(
    folder: FolderArgument,
    first: Annotated[int, typer.Option("--first", min=1, help="Number of the first statement.")] = 1,
    signing_key: SigningKeyOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the statements. Default: stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Sign statements about the receipts, one on each line, for others to keep and to check.

    They are in the formats of in-toto and DSSE. They hold counts, times, ids of requests and commitments, and nothing
    of persons or rows, so they may be handed to anybody. The same statements are the same bytes whenever they are made.
    """
    with connected_live(folder, None, needs_table=False) as live:
        lines = live.statements(first, signing_key=signing_key)
    if out is not None:
        from .._container import write_atomically
        from ..evidence.envelopes import as_file

        write_atomically(out, [as_file(lines)])
        result = {"folder": str(folder), "out": str(out), "n_statements": len(lines)}
        present(as_json, result, f"Wrote {counted(len(lines), 'statement')} to {out}.")
    elif as_json:
        present(True, {"folder": str(folder), "statements": lines})
    else:
        typer.echo("\n".join(lines))


@app.command(epilog=options.examples("deciduous live opening clinic.forest -o opening.json"))
def opening(
    folder: FolderArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for it. Default: stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what opens the newest statement, for an auditor: the fingerprint of the forest, and a key.

    With it, `deciduous receipts verify --opening` tells that the newest statement is about this forest. Destroy it
    after the audit: after the next change, guesses of rows that were erased can be tested with it.
    """
    with connected_live(folder, None, needs_table=False) as live:
        its = live.opening()
    if out is None:
        typer.echo(its.as_json().decode(), nl=False)
        return
    from .._container import PRIVATE, write_atomically

    write_atomically(out, [its.as_json()], mode=PRIVATE)
    present(as_json, {"folder": str(folder), "out": str(out)}, f"Wrote {out}. Destroy it after the audit.")


@app.command(
    epilog=options.examples("deciduous live anchor clinic.forest /elsewhere/anchors.log     # by a timer, say")
)
def anchor(folder: FolderArgument, log: LogArgument, as_json: JsonOption = False) -> None:
    """Write the digest of the newest statement to a log elsewhere, so that it cannot be taken back.

    The log is a file that only grows. It should be where the holder of the folder can add lines and do nothing else. No
    key is needed. Nothing is written if the log shows that an older copy of the folder was put back.
    """
    with connected_live(folder, None, needs_table=False) as live:
        head = live.head()
    put(log, head, as_json)


@app.command(
    epilog=options.examples(
        "deciduous live check-against clinic.forest statements.jsonl",
        "deciduous live check-against clinic.forest newest.jsonl --key clinic.pem --json",
    )
)
def check_against(
    folder: FolderArgument,
    statements: StatementsArgument,
    keys: Annotated[
        list[Path] | None,
        typer.Option("--key", "-k", readable=False, help="File with a trusted public key. Default: the folder's keys."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a folder with statements that were kept elsewhere: was an older copy put back?

    Exits with 1 if the folder ends before the newest statement ("rolled back"), or tells something else ("forked").
    Also works while another process has it open.
    """
    from ..live import check_against as compare

    found = compare(folder, statements, trusted(keys or []))
    line = f"The folder goes on from statement {found.newest}: it has {counted(found.n_receipts, 'receipt')} now."
    present(
        as_json,
        {"folder": str(folder), "file": str(statements), "matches": found.matches, **vars(found)},
        line if found.problem is None else f"NOT the folder that these statements tell of: {found.problem}.",
    )
    if found.problem is not None:
        raise typer.Exit(CHECK_FAILED)
