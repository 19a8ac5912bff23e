"""Ed25519 keys: the private half, which signs, and the public half, by which others check.

Public halves are PEM files, and the id of a key is the SHA-256 digest of what is in such a file (the DER of
SubjectPublicKeyInfo): `openssl pkey -pubin -in key.pem -outform DER | sha256sum`. To read and to name them needs no
library. A private half is a PEM file as well (PKCS 8), which only its owner can read.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .._container import write_atomically
from ..errors import EvidenceError, InvalidInputError
from ._strict import decoded, digest_of, encoded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_SIZE, SIGNATURE_SIZE = 32, 64
PRIVATE = 0o600
PUBLIC_PREFIX = bytes.fromhex("302a300506032b6570032100")  # DER: an Ed25519 key of 32 bytes follows
PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n?-----END \1-----")
PUBLIC_LABEL = "PUBLIC KEY"
# Points of small order, whatever the sign: for these, others can make signatures that fit any text, or many texts.
SMALL_ORDER = frozenset(
    bytes.fromhex(point)
    for point in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != KEY_SIZE or self.raw[:-1] + bytes([self.raw[-1] & 0x7F]) in SMALL_ORDER:
            raise EvidenceError("a public key is none that can be trusted: it is not an Ed25519 key of full order")

    @property
    def id(self) -> str:
        """The id of the key: a digest of its public half."""
        return digest_of(PUBLIC_PREFIX + self.raw)

    @property
    def pem(self) -> str:
        """The key as a PEM file."""
        return f"-----BEGIN {PUBLIC_LABEL}-----\n{encoded(PUBLIC_PREFIX + self.raw)}\n-----END {PUBLIC_LABEL}-----\n"

    @classmethod
    def from_pem(cls, text: str) -> Self:
        """Read a key from PEM, spelled as `pem` does it."""
        try:
            keys = [cls(raw) for raw in _raw_keys(text)]
        except EvidenceError:
            keys = []
        if len(keys) != 1 or keys[0].pem != text:
            raise EvidenceError("a public key is not an Ed25519 key in PEM")
        return keys[0]

    def has_signed(self, data: bytes, signature: bytes) -> bool:
        """Whether this is the signature of the private half under some bytes."""
        ed25519, exceptions = _library("hazmat.primitives.asymmetric.ed25519"), _library("exceptions")
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except exceptions.InvalidSignature:
            return False
        return True


class PrivateKey:
    """The private half of a key. Signatures are a function of key and text, so they can be made again at any time."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.id[:16]}…)"  # nothing of the key itself, in no log

    @classmethod
    def fresh(cls) -> Self:
        """Make a new key."""
        return cls(_library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a key from a PEM file that only its owner may read."""
        _require_private(Path(path))
        serialization = _library("hazmat.primitives.serialization")
        try:
            key = serialization.load_pem_private_key(Path(path).read_bytes(), password=None)
        except TypeError:
            raise InvalidInputError(f"{path} is encrypted. Give a private key without a password.") from None
        except ValueError:
            key = None
        if not isinstance(key, _library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey):
            raise InvalidInputError(
                f"{path} does not hold a private Ed25519 key in PEM. `deciduous live key` makes one."
            )
        return cls(key)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the key to a new file that only its owner may read, from the first byte."""
        if os.path.lexists(path):
            raise InvalidInputError(f"There is a file {path} already. A key is never put in the place of a file.")
        serialization: Any = _library("hazmat.primitives.serialization")
        forms = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        write_atomically(path, [self._key.private_bytes(*forms)], mode=PRIVATE)

    def sign(self, data: bytes) -> bytes:
        """The signature under some bytes."""
        return self._key.sign(data)


def read_public_keys(paths: Sequence[str | os.PathLike[str]]) -> list[PublicKey]:
    """Read the public keys in some PEM files, each of which may hold several."""
    return [key for path in paths for key in _keys_in(Path(path))]


def _keys_in(path: Path) -> list[PublicKey]:
    text = path.read_bytes().decode("ascii", "replace")
    if "PRIVATE KEY" in text:
        raise InvalidInputError(
            f"{path} holds a private key, which nobody else should have. Give its public half: `deciduous live key "
            "FOLDER -o FILE` writes it."
        )
    try:
        keys = [PublicKey(raw) for raw in _raw_keys(text)]
    except EvidenceError:
        keys = []
    if not keys:
        raise InvalidInputError(f"{path} does not hold public Ed25519 keys in PEM. `deciduous live key` writes them.")
    return keys


def _raw_keys(text: str) -> list[bytes]:
    """What is in the blocks of a PEM file, all of which must be Ed25519 keys."""
    keys = []
    for label, body in PEM_BLOCK.findall(text):
        der = decoded("".join(body.split()), "a public key")
        if label != PUBLIC_LABEL or der[: len(PUBLIC_PREFIX)] != PUBLIC_PREFIX:
            raise EvidenceError("a public key is of another kind")
        keys.append(der[len(PUBLIC_PREFIX) :])
    return keys


def _require_private(path: Path) -> None:
    """Raises unless the file is its owner's alone."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path} is not a file. Name the file of a private key.")
    if os.name == "posix" and mode & 0o077:
        raise InvalidInputError(
            f"{path} holds a private key, and others may read it (mode {stat.S_IMODE(mode):o}). If nobody did: "
            f"chmod 600 {path}. Otherwise replace the key: `deciduous live key FOLDER --new`."
        )


def _library(module: str) -> Any:
    """A module of the library that signs, or an error that says how to get it."""
    try:
        return importlib.import_module(f"cryptography.{module}")
    except ModuleNotFoundError:
        raise ImportError("Signatures need cryptography: pip install 'deciduous[evidence]'.") from None
