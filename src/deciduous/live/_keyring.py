"""Private keys: files in the folder of a live forest, or where the user has them. Nothing is written in their place.

A new key is on the disk before the record tells of it, and the old one is removed after that. So a process may end at
any moment: the key in use is there, and what else is left goes when the next key is made.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InvalidInputError
from ..evidence.keys import PrivateKey
from ._folder import Folder
from ._signing import Signing

Where = str | os.PathLike[str] | None  # of a private key; None is the folder


class Keyring:
    """The private keys of a live forest that this process alone has open."""

    def __init__(self, folder: Folder, signing: Signing) -> None:
        self._folder = folder
        self._signing = signing

    def current(self, path: Where, argument: str = "signing_key") -> PrivateKey:
        """The key in use; `argument` is how the caller says where it is."""
        current = self._signing.current_id()
        if current is None:
            raise InvalidInputError("This live forest has no signing key, so it signs nothing: `new_key` makes one.")
        where = self._folder.key_path(current) if path is None else Path(path)
        if not where.exists():
            hint = f"Say where it is: `{argument}=...`" if path is None else "Name another file"
            raise InvalidInputError(
                f"There is no file {where} with the private half of key {current}. {hint}, or, if it is lost, make "
                "another key: `new_key(is_lost=True)`."
            )
        private = PrivateKey.read(where)
        if private.public.id != current:
            raise InvalidInputError(
                f"{where} holds key {private.public.id}, and the key in use is {current}. Nothing was changed. Name "
                "the file of that one."
            )
        return private

    def replace(self, path: Where, former: Where, is_lost: bool, source_name: str) -> str:
        """Make another key, which the one in use vouches for unless it is lost, and return its id."""
        current = self._signing.current_id()
        needs_former = current is not None and not is_lost
        if former is not None and not needs_former:
            raise InvalidInputError(
                "`former` is the file of the key in use: leave it out if there is none, or it is lost."
            )
        self._require_elsewhere(path)
        signing = self.current(former, "former") if needs_former else None
        new = PrivateKey.fresh()
        self._folder.remove_keys_but(current)  # what a process that was killed has left
        where = self._folder.key_path(new.public.id) if path is None else Path(path)
        new.write(where)
        try:
            self._signing.begin(new, signing, source_name)
        except BaseException:
            if self._signing.current_id() != new.public.id:  # an error may come after the transaction, too
                where.unlink(missing_ok=True)
            raise
        self._folder.remove_keys_but(new.public.id)
        return new.public.id

    def _require_elsewhere(self, path: Where) -> None:
        """Raises if a path leads into the folder, where keys have names of their own, and others are strays."""
        if path is not None and Path(path).resolve().parent == self._folder.path.resolve():
            raise InvalidInputError(
                f"{path} is in the folder of the live forest. Leave out the name to have the key there, or name a file "
                "elsewhere. Nothing was changed."
            )
