"""Plain values that have one spelling: what could be written in two ways could be read in two ways, too."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn

from ..errors import EvidenceError

NONE_BEFORE = "0" * 64  # in the place of the digest of what comes before the first
DIGEST, REFERENCE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{16}")
Check = Callable[[Any], bool]


def digest_of(data: bytes) -> str:
    """The SHA-256 digest of some bytes, which every system has a command for."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> bytes:
    """A plain value as JSON: ASCII, entries in the order of their names, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parsed(data: bytes, what: str) -> Any:
    """The value of some JSON, in which no name occurs twice and every number is one."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_number)
    except EvidenceError as error:
        raise EvidenceError(f"{what} {error.problem}") from None
    except (ValueError, RecursionError):
        raise EvidenceError(f"{what} is not JSON") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise EvidenceError("has an entry twice")
    return entries


def _no_number(_: str) -> NoReturn:
    raise ValueError("no number of JSON")


def require_entries(value: Any, entries: Mapping[str, Check], what: str) -> dict[str, Any]:
    """Raises unless this is an object with exactly these entries, each as it should be."""
    if not isinstance(value, dict) or value.keys() != entries.keys():
        raise EvidenceError(f"{what} does not have the entries {', '.join(entries)}, and no others")
    wrong = [name for name, is_right in entries.items() if not is_right(value[name])]
    if wrong:
        raise EvidenceError(f"{what} has something else than it should in {wrong[0]!r}")
    return value


def encoded(data: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(data).decode()


def decoded(text: Any, what: str) -> bytes:
    """The bytes of base64, which is spelled in the one way that `encoded` does it."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (ValueError, binascii.Error):
        data = None
    if data is None or encoded(data) != text:
        raise EvidenceError(f"{what} is not base64 as it should be")
    return data


# ------------------------------------------------------------------------------------------------ what entries may be


def is_digest(value: Any) -> bool:
    """Whether this may be a digest of 32 bytes, in hexadecimal."""
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def is_reference(value: Any) -> bool:
    """Whether this may be the id of a request."""
    return isinstance(value, str) and REFERENCE.fullmatch(value) is not None


def is_count(value: Any) -> bool:
    """Whether this may be a number of things."""
    return type(value) is int and 0 <= value < 2**63


def is_time(value: Any) -> bool:
    """Whether this is a time in UTC, in the form that records have."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return time is not None and time.tzinfo is UTC and time.isoformat() == value


def or_none(is_right: Check) -> Check:
    """The same check, for what need not be there."""
    return lambda value: value is None or is_right(value)
