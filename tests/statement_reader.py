"""Signed statements read after docs/evidence.md and the specifications it names; imports nothing of ours.

Ed25519 is that of RFC 8032, with whole numbers; the envelope that of DSSE 1.0.2; the statement in-toto's version 1.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z


def added(a: Point, b: Point) -> Point:
    """The sum of two points."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    i, j, k, m = f - e, h - g, h + g, f + e
    return (i * j % P, k * m % P, j * k % P, i * m % P)


def times(factor: int, point: Point) -> Point:
    """A multiple of a point."""
    result: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            result = added(result, point)
        point, factor = added(point, point), factor >> 1
    return result


def are_same(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def point_of(data: bytes) -> Point | None:
    """The point that 32 bytes stand for, if there is one."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point_of(bytes.fromhex("58" + "66" * 31))


def has_signed(public: bytes, data: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature is right."""
    key, nonce, s = point_of(public), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or nonce is None or len(signature) != 64 or s >= ORDER:
        return False
    assert BASE is not None
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + data).digest(), "little") % ORDER
    return are_same(times(s, BASE), added(nonce, times(challenge, key)))


def key_in(pem: str) -> bytes:
    """The 32 bytes of a public key in PEM."""
    begin, body, end = pem.strip().split("\n")
    assert (begin, end) == ("-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----")
    der = base64.b64decode(body, validate=True)
    assert der[:12] == bytes.fromhex("302a300506032b6570032100")
    return der[12:]


def id_of(pem: str) -> str:
    """The id of a public key in PEM."""
    return hashlib.sha256(base64.b64decode(pem.split("\n")[1])).hexdigest()


def statement_in(line: str, pems: list[str]) -> tuple[bytes, dict[str, Any]]:
    """The payload of an envelope that one of these keys has signed, and what it says."""
    envelope = json.loads(line)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"], validate=True)
    signed = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    keys = {id_of(pem): key_in(pem) for pem in pems}
    found = [its for its in envelope["signatures"] if its["keyid"] in keys]
    assert found
    assert all(has_signed(keys[its["keyid"]], signed, base64.b64decode(its["sig"], validate=True)) for its in found)
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://deciduous-forests.github.io/deciduous/evidence/receipt/v1"
    return payload, statement


def chain_in(text: str, pems: list[str]) -> list[dict[str, Any]]:
    """All statements of a file, each of which follows from the one before, and is signed by a key that is trusted."""
    trusted, former, statements = list(pems), None, []
    for line in text.splitlines():
        payload, statement = statement_in(line, trusted)
        says = statement["predicate"]
        assert former is None or says["previous"] == hashlib.sha256(former).hexdigest()
        assert statements == [] or says["number"] == statements[-1]["predicate"]["number"] + 1
        assert statements == [] or says["before"] == statements[-1]["subject"][0]["digest"]
        if says["signingKey"] is not None:
            trusted = [pem for pem in trusted if id_of(pem) != says["signingKey"]["replaces"]]
            trusted.append(says["signingKey"]["publicKey"])
        former = payload
        statements.append(statement)
    return statements
