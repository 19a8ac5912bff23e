"""What commands about the service share: whether it is installed, and where its keys are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidInputError
from ._databases import is_live

KeysFileOption = Annotated[
    Path | None,
    typer.Option("--keys", readable=False, help="File of the keys. Default: service.db in the first folder."),
]


def needed() -> None:
    """Raises if something is missing that the service needs."""
    from ..export import imported

    for library in ("sqlalchemy", "fastapi", "uvicorn", "pyarrow"):
        imported(library, "service")


def keys_path(folder: Path, keys: Path | None) -> Path:
    """The file of the keys for a live folder."""
    from ..service.keys import NAME

    if keys is not None:
        return keys
    if not is_live(folder):
        raise InvalidInputError(f"There is no live forest in {folder}. `deciduous live create` makes one.")
    return folder / NAME
