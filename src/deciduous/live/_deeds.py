"""What the process that has a folder open does for others: questions and answers as plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from .. import errors
from ..evidence.anchors import Head
from ..evidence.opening import ForestOpening
from ._signing import SigningKey
from .receipts import Receipt
from .reports import ErasureReport, LiveVerifyReport, SyncReport
from .requests import Request

VALUES: dict[str, Callable[..., Any]] = {
    its.__name__: its
    for its in (ErasureReport, ForestOpening, Head, LiveVerifyReport, Receipt, Request, SigningKey, SyncReport)
}
ERRORS = {
    its.__name__: its
    for its in (errors.InvalidInputError, errors.FolderError, errors.FolderBusyError, errors.SchemaChangedError)
}


def _stored(live: Any) -> None:
    assert live.forest is not None  # made, if it is not there
    live.store()


DEEDS: dict[str, Callable[..., Any]] = {
    "sync": lambda live, **how: live.sync(**how),
    "erase": lambda live, **how: live.erase(**how),
    "verify": lambda live: live.verify(),
    "store": _stored,
    "status": lambda live: live.status(),
    "receipts": lambda live, **how: live.receipts(**how),
    "certificate": lambda live, **how: live.certificate(**how),
    "install_capture": lambda live: live.install_capture(),
    "remove_capture": lambda live: live.remove_capture(),
    "new_key": lambda live, **how: live.new_key(**how),
    "signing_keys": lambda live: live.signing_keys(),
    "statements": lambda live, **how: live.statements(**how),
    "head": lambda live: live.head(),
    "opening": lambda live: live.opening(),
    "receive": lambda live, **how: live.requests.receive(**how),
    "refuse": lambda live, **how: live.requests.refuse(**how),
    "requests": lambda live: list(live.requests),
}


def done(live: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked, and say what came of it."""
    deed, arguments = DEEDS.get(str(question.get("deed"))), question.get("arguments", {})
    try:
        if deed is None or not isinstance(arguments, dict):
            raise errors.InvalidInputError(f"A live forest does {', '.join(DEEDS)}, and was asked for something else.")
        if live is None:
            raise errors.FolderError("The live forest was just closed. Try again.")
        with live._turn():
            return {"result": as_plain(deed(live, **arguments))}
    except Exception as error:
        kinds = [its.__name__ for its in type(error).__mro__ if its.__name__ in ERRORS]
        text = str(error.id) if isinstance(error, errors.UnknownRequestError) else str(error)
        return {"error": text or repr(error), "kind": kinds[0] if kinds else type(error).__name__}


def result_of(answer: dict[str, Any]) -> Any:
    """The result, or the error that the other process had, raised here."""
    if "error" in answer:
        kind, text = str(answer.get("kind")), str(answer["error"])
        if kind == errors.UnknownRequestError.__name__:
            raise errors.UnknownRequestError(text)
        if kind not in ERRORS:
            raise errors.DeciduousError(f"The process that has the folder open failed: {kind}: {text}")
        error = ERRORS[kind].__new__(ERRORS[kind], text)
        error.args = (text,)
        raise error
    return from_plain(answer.get("result"))


def as_plain(value: Any) -> Any:
    """A value as JSON has it."""
    if is_dataclass(value):
        return {"is": type(value).__name__} | {its.name: as_plain(getattr(value, its.name)) for its in fields(value)}
    return [as_plain(each) for each in value] if isinstance(value, list | tuple) else value


def from_plain(value: Any) -> Any:
    """Back from JSON."""
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict) or value.get("is") not in VALUES:
        return value
    kind: Any = VALUES[value["is"]]
    entries = {its.name: from_plain(value[its.name]) for its in fields(kind)}
    several = {its.name for its in fields(kind) if str(its.type).startswith("tuple")}
    return kind(**{name: tuple(its) if name in several else its for name, its in entries.items()})
