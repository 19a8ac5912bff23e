"""`deciduous keys`: who may use a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._output import JsonOption, note, present, present_table
from ._outputs import App
from ._serving import KeysFileOption, keys_path, needed

app = App(no_args_is_help=True, help="Keys of those who may use `deciduous serve`.")

FolderArgument = Annotated[
    Path, typer.Argument(readable=False, help="Folder of the live forest, the first one served.")
]


@app.command(
    epilog=options.examples(
        "deciduous keys create clinic.forest --scope predict --note 'the ward'",
        "deciduous keys create clinic.forest --scope write --scope erase --json",
    )
)
def create(
    folder: FolderArgument,
    scope: Annotated[
        list[str],
        typer.Option("--scope", help="What the key opens: predict, write, erase, approve or admin. May be repeated."),
    ],
    described: Annotated[str, typer.Option("--note", help="For whom it is. Stored as it is.")] = "",
    keys: KeysFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key. It is shown once, and stored as a digest. A service that runs takes it at once."""
    needed()
    from ..service.keys import Keys, scopes_of

    scopes = scopes_of(scope)
    with Keys(keys_path(folder, keys)) as its:
        key, text = its.create(scopes, described)
    if not as_json:
        note("Keep it in a safe place: it cannot be shown again.")
    present(as_json, {"key": text, **key.as_dict()}, text)


@app.command(name="list", epilog=options.examples("deciduous keys list clinic.forest"))
def list_(folder: FolderArgument, keys: KeysFileOption = None, as_json: JsonOption = False) -> None:
    """List all keys, revoked ones included, by their ids. The keys themselves are not known."""
    needed()
    from ..service.keys import Keys

    with Keys(keys_path(folder, keys)) as its:
        found = its.all()
    if as_json:
        present(True, {"keys": [key.as_dict() for key in found]})
        return
    rows = [[key.id, " ".join(sorted(key.scopes)), key.note, key.created, key.revoked or ""] for key in found]
    present_table(str(folder), ["id", "scopes", "note", "created", "revoked"], rows)


@app.command(epilog=options.examples("deciduous keys revoke clinic.forest 5d1c0e9a2b7f"))
def revoke(
    folder: FolderArgument,
    id: Annotated[str, typer.Argument(help="The id of the key, which is its middle part.")],
    keys: KeysFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a key open nothing any more. That holds from the next request on, also for a service that runs."""
    needed()
    from ..service.keys import Keys

    with Keys(keys_path(folder, keys)) as its:
        key = its.revoke(id)
    present(as_json, key.as_dict(), f"Revoked {key.id}.")
