"""Signed statements: their form, who must have signed, and everything that is refused."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import statement_reader as independent
from deciduous.errors import EvidenceError, InvalidInputError
from deciduous.evidence import (
    Envelope,
    ForestOpening,
    PrivateKey,
    PublicKey,
    Statement,
    read_envelopes,
    read_public_keys,
    verify_statements,
)
from deciduous.evidence.envelopes import Signature, as_file, signed_bytes
from deciduous.evidence.keys import SMALL_ORDER
from deciduous.evidence.statements import KINDS, NewKey
from deciduous.evidence.verifying import require_next
from deciduous.live import _digests
from deciduous.live import receipts as live_receipts

A, B, C = (PrivateKey.fresh() for _ in range(3))
RECORD = "ab" * 32


def forest(number: int) -> str:
    """A commitment."""
    return f"{number:064x}"


def next_of(former: Statement, kind: str = "synced", **entries: Any) -> Statement:
    """A statement that may follow."""
    number = former.number + 1
    after = forest(number) if kind == "synced" else former.after
    same = {"kind": kind, "before": former.after, "after": after, "record": former.record, "receipt": forest(number)}
    counts = {"n_rows": former.n_rows - (kind == "synced"), "n_deleted": int(kind == "synced")}
    return Statement(
        **{"number": number, "previous": former.digest, "time": former.time, "parameters": former.parameters}
        | same
        | counts
        | entries
    )


FIRST = Statement(
    number=1,
    previous="0" * 64,
    record=RECORD,
    receipt=RECORD,
    kind="created",
    time="2026-11-19T08:00:00+00:00",
    before=None,
    after=forest(1),
    parameters="cd" * 32,
    n_rows=100,
    n_added=100,
)


def history(*, is_lost: bool = False, with_deleted: int = 1) -> list[Envelope]:
    """Statements that key A signs, then B, for which A vouches unless A is lost."""
    statements = [FIRST]
    statements.append(next_of(statements[-1], "signing key", new_key=NewKey(A.public, None)))
    counts = {"n_deleted": with_deleted, "n_rows": 100 - with_deleted, "n_people_erased": 1}
    statements.append(next_of(statements[-1], requests=("0123456789abcdef",), **counts))
    statements.append(next_of(statements[-1], "verified"))
    statements.append(next_of(statements[-1], "signing key", new_key=NewKey(B.public, A.public.id)))
    statements.append(next_of(statements[-1]))
    signers = [[A]] * 4 + [[B] if is_lost else [A, B], [B]]
    return [Envelope.signed(its.payload(), keys) for its, keys in zip(statements, signers, strict=True)]


HISTORY = history()
KEYS = [A.public, B.public]


def lines(envelopes: list[Envelope]) -> bytes:
    return as_file([its.as_json() for its in envelopes])


# ---------------------------------------------------------------------------------------------------------- the format


def test_statements_come_back_from_their_bytes() -> None:
    for envelope in HISTORY:
        statement = Statement.from_payload(envelope.payload)
        assert statement.payload() == envelope.payload
        assert Envelope.from_json(envelope.as_json().encode()) == envelope
    assert read_envelopes(lines(HISTORY)) == HISTORY


def test_what_is_signed_is_that_of_the_specification() -> None:
    """The example of DSSE's protocol."""
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert signed_bytes(b"hello world", "http://example.com/HelloWorld") == expected


def test_an_independent_reader_agrees() -> None:
    """With an implementation of Ed25519 of its own."""
    text = lines(HISTORY).decode()
    found = independent.chain_in(text, [A.public.pem])
    assert [its["predicate"]["number"] for its in found] == [1, 2, 3, 4, 5, 6]
    assert independent.id_of(A.public.pem) == A.public.id
    with pytest.raises(AssertionError):
        independent.chain_in(text, [C.public.pem])
    with pytest.raises(AssertionError):
        independent.chain_in(text.replace(text.splitlines()[2] + "\n", ""), [A.public.pem])


def test_the_independent_ed25519_is_that_of_the_rfc() -> None:
    """Test 3 of RFC 8032, so that its agreement says something."""
    public = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
    signature = bytes.fromhex(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    assert independent.has_signed(public, b"\xaf\x82", signature)
    assert not independent.has_signed(public, b"\xaf\x83", signature)
    assert PublicKey(public).has_signed(b"\xaf\x82", signature)


def test_kinds_and_commitments_are_those_of_receipts() -> None:
    """Evidence stands below live forests, and so has names of its own for what both have."""
    assert set(KINDS) == set(live_receipts.KINDS)
    key = _digests.fresh_key()
    opening = ForestOpening("5f" * 32, key.hex())
    assert opening.commitment == _digests.commitment(key, _digests.FOREST, b"5f" * 32)


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("openssl")), reason="needs jq and OpenSSL")
def test_the_steps_by_hand_work(tmp_path: Path) -> None:
    """Those of docs/evidence.md, as they stand there."""
    page = (Path(__file__).parents[1] / "docs" / "evidence.md").read_text(encoding="utf-8")
    (steps,) = (block for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) if "openssl pkeyutl" in block)
    (tmp_path / "statements.jsonl").write_bytes(lines(HISTORY))
    (tmp_path / "clinic.pem").write_text(A.public.pem)
    to_id = "openssl pkey -pubin -in clinic.pem -outform DER | sha256sum"
    assert to_id in page.replace("\\|", "|")
    command = ["bash", "-e", "-o", "pipefail", "-c", f"{steps}{to_id}"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if "rawin" in ended.stderr:
        pytest.skip("needs OpenSSL 3")
    assert ended.returncode == 0, ended.stderr
    assert "Signature Verified Successfully" in ended.stdout
    assert f"{Statement.from_payload(HISTORY[3].payload).previous}  payload" in ended.stdout
    assert f"{A.public.id}  -" in ended.stdout


# ----------------------------------------------------------------------------------------------------- whose signature


@pytest.mark.parametrize("trusted", [[A.public], KEYS, [C.public, A.public]])
def test_a_key_vouches_for_the_next(trusted: list[PublicKey]) -> None:
    report = verify_statements(lines(HISTORY), trusted)
    assert report
    assert (report.problem, len(report.statements)) == (None, 6)
    assert {its.key_id: its.vouched_in for its in report.signers}[B.public.id] == (None if B.public in trusted else 5)
    assert report.proves


@pytest.mark.parametrize(("trusted", "number"), [([C.public], 1), ([B.public], 1)])
def test_statements_of_other_keys_are_refused(trusted: list[PublicKey], number: int) -> None:
    report = verify_statements(HISTORY, trusted)
    assert not report
    assert f"statement {number} is signed by key '{A.public.id}', which is none that was given" in str(report.problem)
    assert report.proves == ()


def test_without_keys_nothing_is_checked() -> None:
    with pytest.raises(InvalidInputError, match="anybody may have signed"):
        verify_statements(HISTORY, [])


def test_a_key_that_was_replaced_signs_nothing_more() -> None:
    """Whoever finds the old private key cannot go on with it."""
    late = next_of(Statement.from_payload(HISTORY[-1].payload))
    report = verify_statements([*HISTORY, Envelope.signed(late.payload(), [A])], KEYS)
    assert f"signed by key {A.public.id}, which statement 5 has replaced" in str(report.problem)
    assert verify_statements([*HISTORY, Envelope.signed(late.payload(), [A, B])], KEYS)


def test_a_new_key_must_have_signed_as_well() -> None:
    """Nobody can adopt the key of somebody else."""
    alone = Envelope.signed(HISTORY[4].payload, [A])
    pretended = dataclasses.replace(alone, signatures=(*alone.signatures, Signature(B.public.id, bytes(64))))
    for envelope in (alone, pretended):
        report = verify_statements([*HISTORY[:4], envelope], [A.public])
        assert f"statement 5 brings in key {B.public.id}, which has not signed it" in str(report.problem)


def test_nobody_vouches_for_the_key_after_one_that_is_lost() -> None:
    """It has to be given, and then all is well."""
    lost = history(is_lost=True)
    assert "statement 5 is signed by key" in str(verify_statements(lost, [A.public]).problem)
    assert verify_statements(lost, KEYS)


def test_a_key_replaces_the_one_in_use() -> None:
    statement = next_of(
        Statement.from_payload(HISTORY[3].payload), "signing key", new_key=NewKey(B.public, C.public.id)
    )
    for new_key in (NewKey(B.public, C.public.id), NewKey(B.public, None)):
        its = dataclasses.replace(statement, new_key=new_key)
        report = verify_statements([*HISTORY[:4], Envelope.signed(its.payload(), [A, B])], KEYS)
        assert "does not go on from the key that signed before it" in str(report.problem)
    back = next_of(Statement.from_payload(HISTORY[-1].payload), "signing key", new_key=NewKey(A.public, B.public.id))
    report = verify_statements([*HISTORY, Envelope.signed(back.payload(), [B, A])], KEYS)
    assert "does not go on from" in str(report.problem)


def test_other_signatures_are_no_business_of_ours() -> None:
    """As DSSE has it: one that is trusted is enough, unless one of a known key is wrong."""
    both = Envelope.signed(FIRST.payload(), [C, A])
    assert verify_statements([both], [A.public])
    wrong = dataclasses.replace(both, signatures=(both.signatures[1], Signature(C.public.id, both.signatures[1].bytes)))
    assert verify_statements([wrong], [A.public])
    report = verify_statements([wrong], [A.public, C.public])
    assert f"does not have the signature of key {C.public.id}" in str(report.problem)


def test_a_wrong_key_id_is_refused() -> None:
    (signature,) = HISTORY[0].signatures
    for key_id in (B.public.id, "", A.public.id[:16], A.public.id.upper()):
        renamed = dataclasses.replace(HISTORY[0], signatures=(Signature(key_id, signature.bytes),))
        assert not verify_statements([renamed], KEYS)


def test_signatures_have_one_form() -> None:
    """S plus the order of the group is the same signature to careless readers."""
    (signature,) = HISTORY[0].signatures
    s = int.from_bytes(signature.bytes[32:], "little") + independent.ORDER
    other = Signature(signature.key_id, signature.bytes[:32] + s.to_bytes(32, "little"))
    assert not verify_statements([dataclasses.replace(HISTORY[0], signatures=(other,))], KEYS)


# ------------------------------------------------------------------------------------------------------------ the order


def shuffled(*places: int) -> list[Envelope]:
    return [HISTORY[place] for place in places]


@pytest.mark.parametrize(
    ("envelopes", "problem"),
    [
        (shuffled(0, 2), "statement 2 is missing"),
        (shuffled(1, 0), "statement 2 is followed by statement 1"),
        (shuffled(0, 0), "statement 1 is followed by statement 1"),
        (shuffled(0, 1, 3, 2), "statement 3 is missing"),
    ],
)
def test_order_and_gaps_are_told(envelopes: list[Envelope], problem: str) -> None:
    assert verify_statements(envelopes, KEYS).problem == problem


@given(st.lists(st.integers(0, len(HISTORY) - 1), min_size=1, max_size=len(HISTORY) + 1))
def test_any_choice_of_statements_but_a_run_of_them_is_refused(places: list[int]) -> None:
    is_run = places == list(range(places[0], places[0] + len(places)))
    assert bool(verify_statements(shuffled(*places), KEYS)) == is_run


def test_a_part_of_a_chain_is_checked_as_such() -> None:
    report = verify_statements(HISTORY[2:4], KEYS)
    assert report
    assert [its.number for its in report.statements] == [3, 4]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"previous": forest(7)}, "does not follow from"),
        ({"record": forest(7)}, "does not follow from"),
        ({"before": forest(7)}, "does not begin with the forest"),
        ({"n_rows": 1}, "counts its rows wrongly"),
    ],
)
def test_statements_must_fit_together(changes: dict[str, Any], problem: str) -> None:
    """Even if the holder of the key has signed nonsense."""
    statement = dataclasses.replace(next_of(FIRST), **changes)
    with pytest.raises(EvidenceError, match=problem):
        require_next(FIRST, statement)


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 0},
        {"number": 2},
        {"previous": forest(7)},
        {"receipt": forest(7)},
        {"kind": "synced"},
        {"before": forest(7)},
        {"new_key": NewKey(A.public, None)},
    ],
)
def test_a_first_statement_begins_something(changes: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError):
        Statement.from_payload(dataclasses.replace(FIRST, **changes).payload())


def test_only_changes_change_the_forest() -> None:
    statement = next_of(FIRST, "verified", after=forest(7))
    with pytest.raises(EvidenceError, match="changes the forest, and does not say so"):
        Statement.from_payload(statement.payload())


def test_a_new_key_has_its_own_id_and_replaces_another() -> None:
    payload = HISTORY[4].payload
    itself = next_of(FIRST, "signing key", new_key=NewKey(B.public, B.public.id)).payload()
    for nonsense in (payload.replace(B.public.id.encode(), C.public.id.encode()), itself):
        with pytest.raises(EvidenceError, match="names its new key wrongly"):
            Statement.from_payload(nonsense)


@pytest.mark.parametrize(
    ("earlier", "later", "problem"),
    [
        (slice(0, 3), slice(0, 6), None),
        (slice(2, 3), slice(0, 6), None),
        (slice(0, 6), slice(0, 6), None),
        (slice(1, 4), slice(2, 6), None),
        (slice(0, 3), slice(3, 6), None),  # they meet, without having one in common
        (slice(0, 2), slice(3, 5), "statements 3 to 3 are missing, so they cannot be compared"),
        (slice(0, 5), slice(0, 4), "this file ends with number 4, and statement 5 of"),
    ],
)
def test_statements_go_on_from_those_that_were_kept(earlier: slice, later: slice, problem: str | None) -> None:
    report = verify_statements(HISTORY[later], KEYS, earlier=HISTORY[earlier])
    assert (problem or "") in (report.problem or "")
    assert report.n_earlier == (0 if problem else len(HISTORY[earlier]))


def test_two_histories_are_told_without_the_folder() -> None:
    """By statements that they have in common, or by the link from one to the next."""
    other = history(with_deleted=2)
    report = verify_statements(other, KEYS, earlier=HISTORY[:4])
    assert "tells something else than statement 3, and is the same up to statement 2" in str(report.problem)
    report = verify_statements(other[3:], KEYS, earlier=HISTORY[:3])
    assert "tells something else than statement 3: an older copy was put back" in str(report.problem)
    assert verify_statements(HISTORY, [A.public], earlier=HISTORY[5:])  # by a key that the first vouches for
    stranger = Envelope.signed(HISTORY[5].payload, [C])
    assert "signed by key" in str(verify_statements(HISTORY, [A.public], earlier=[stranger]).problem)
    foreign = dataclasses.replace(FIRST, record="ef" * 32, receipt="ef" * 32)
    report = verify_statements(HISTORY, KEYS, earlier=[Envelope.signed(foreign.payload(), [A])])
    assert "is about another live forest" in str(report.problem)


def test_the_opening_is_of_the_newest_statement(tmp_path: Path) -> None:
    opening = ForestOpening("5f" * 32, "07" * 32)
    newest = Statement.from_payload(HISTORY[-1].payload)
    opened = dataclasses.replace(newest, after=opening.commitment)
    envelopes = [*HISTORY[:-1], Envelope.signed(opened.payload(), [B])]
    (tmp_path / "opening.json").write_bytes(opening.as_json())
    report = verify_statements(envelopes, KEYS, opening=ForestOpening.read(tmp_path / "opening.json"))
    assert (report.problem, report.fingerprint) == (None, "5f" * 32)
    assert "it is of another state" in str(verify_statements(HISTORY, KEYS, opening=opening).problem)
    (tmp_path / "opening.json").write_bytes(b"{}\n")
    with pytest.raises(EvidenceError, match="the opening does not have the entries"):
        ForestOpening.read(tmp_path / "opening.json")


# ------------------------------------------------------------------------------------------------------ what is refused

LINE = HISTORY[2].as_json()
PAYLOAD = json.loads(LINE)["payload"]


def with_entries(**changes: Any) -> str:
    return json.dumps(json.loads(LINE) | changes)


def signature_with(**changes: Any) -> str:
    return with_entries(signatures=[json.loads(LINE)["signatures"][0] | changes])


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "no end of line": (LINE.encode(), "ends within a line"),
    "cut off": (f"{LINE}\n{LINE[:300]}".encode(), "ends within a line"),
    "cut off, with an end": (f"{LINE[:300]}\n".encode(), "line 1 is not JSON"),
    "an empty line": (f"{LINE}\n\n".encode(), "line 2 is not JSON"),
    "a list": (b"[]\n", "does not have the entries"),
    "deep": (b"[" * 100_000 + b"\n", "is not JSON"),
    "not UTF-8": (b"\xff\n", "is not JSON"),
    "a byte-order mark": (b"\xef\xbb\xbf" + LINE.encode() + b"\n", "is not JSON"),
    "NaN": (b'{"payload": NaN}\n', "is not JSON"),
    "another type": (
        f"{with_entries(payloadType='application/json')}\n".encode(),
        "has a payload of another type than application/vnd.in-toto\\+json",
    ),
    "no signature": (f"{with_entries(signatures=[])}\n".encode(), "has no signature"),
    "an entry too many": (f"{with_entries(more=1)}\n".encode(), "and no others"),
    "an entry too many in a signature": (f"{signature_with(cert='')}\n".encode(), "and no others"),
    "an entry twice": (
        LINE.replace('"payloadType"', '"payloadType":"application/json","payloadType"').encode() + b"\n",
        "line 1 has an entry twice",
    ),
    "a signature twice": (
        f"{with_entries(signatures=json.loads(LINE)['signatures'] * 2)}\n".encode(),
        "two signatures of one key",
    ),
    "a short signature": (f"{signature_with(sig='AAAA')}\n".encode(), "has 3 bytes"),
    "base64 for names of files": (f"{signature_with(sig='-' * 88)}\n".encode(), "is not base64"),
    "base64 with blanks": (f"{with_entries(payload=PAYLOAD[:4] + ' ' + PAYLOAD[4:])}\n".encode(), "is not base64"),
    "base64 without its end": (f"{signature_with(sig='A' * 86)}\n".encode(), "is not base64"),
    "base64 with other last bits": (f"{signature_with(sig='A' * 85 + 'B==')}\n".encode(), "is not base64"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_envelopes_are_refused(name: str) -> None:
    data, problem = BAD_FILES[name]
    with pytest.raises(EvidenceError, match=problem):
        read_envelopes(data)
    assert verify_statements(data, KEYS).problem is not None


def other_spellings(payload: bytes) -> list[bytes]:
    """The same statement, as other programs might write it."""
    value = json.loads(payload)
    return [
        json.dumps(value).encode(),
        json.dumps(value, sort_keys=True, indent=1).encode(),
        payload.replace(b'"due":null', b'"due":null,"due":null'),
        payload.replace(b'"number":3', b'"number":3.0'),
        payload.replace(b'"synced"', b'"s\\u0079nced"'),
        payload + b"\n",
    ]


@pytest.mark.parametrize("place", range(6))
def test_a_statement_has_one_spelling(place: int) -> None:
    payload = other_spellings(HISTORY[2].payload)[place]
    assert payload != HISTORY[2].payload
    report = verify_statements([Envelope.signed(payload, [A])], KEYS)
    assert "the statement on line 1" in str(report.problem)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("0" * 64),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all places in a plain value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, its in inner for place in places(its, (*path, name)))]


def with_other(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_other(value[path[0]], path[1:], other)
    return copy


@given(data=st.data(), number=st.integers(0, len(HISTORY) - 1), other=VALUES)
def test_any_other_value_is_refused_or_read_as_it_is(data: st.DataObject, number: int, other: Any) -> None:
    """Whatever the holder of the key signs raises one kind of error, or comes back as it was."""
    value = json.loads(HISTORY[number].payload)
    path = data.draw(st.sampled_from(places(value)))
    mutant = with_other(value, path, other)
    payload = json.dumps(mutant, sort_keys=True, separators=(",", ":")).encode()
    try:
        statement = Statement.from_payload(payload)
    except EvidenceError:
        return
    assert json.loads(statement.payload()) == mutant


@given(at=st.integers(0, len(LINE) - 1), byte=st.integers(0, 255))
def test_no_byte_of_a_signed_statement_can_change(at: int, byte: int) -> None:
    """Only what JSON writes in several ways, such as blanks and letters of names, reads the same."""
    line = LINE.encode()
    mutant = line[:at] + bytes([byte]) + line[at + 1 :]
    report = verify_statements(mutant + b"\n", [A.public])
    assert report.problem is not None or report.statements[0].payload() == HISTORY[2].payload


@given(st.binary(max_size=300))
def test_nonsense_is_one_clear_error(data: bytes) -> None:
    assert verify_statements(data, KEYS).problem is not None
    with pytest.raises(EvidenceError):
        Statement.from_payload(data)


@given(st.integers(0, len(lines(HISTORY)) - 1))
def test_a_file_that_is_cut_off_is_noticed_or_ends_with_a_statement(end: int) -> None:
    report = verify_statements(lines(HISTORY)[:end], KEYS)
    assert report.problem is not None or lines(HISTORY[: len(report.statements)]) == lines(HISTORY)[:end]


# ----------------------------------------------------------------------------------------------------------------- keys


def test_private_keys_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    A.write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert PrivateKey.read(path).public == A.public
    with pytest.raises(InvalidInputError, match="There is a file"):
        B.write(path)
    os.symlink(tmp_path / "nowhere", tmp_path / "link.pem")
    with pytest.raises(InvalidInputError, match="already"):
        B.write(tmp_path / "link.pem")
    path.chmod(0o640)
    with pytest.raises(InvalidInputError, match=r"others may read it \(mode 640\)"):
        PrivateKey.read(path)
    assert A.public.id[:16] in repr(A)


def test_private_keys_of_other_kinds_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    path = tmp_path / "key.pem"
    formats = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    files: dict[str, bytes] = {
        "does not hold a private Ed25519 key": ec.generate_private_key(ec.SECP256R1()).private_bytes(
            *formats, serialization.NoEncryption()
        ),
        "is encrypted": A._key.private_bytes(*formats, serialization.BestAvailableEncryption(b"secret")),
        "does not hold": b"nothing",
    }
    for problem, data in files.items():
        path.write_bytes(data)
        path.chmod(0o600)
        with pytest.raises(InvalidInputError, match=problem):
            PrivateKey.read(path)


def test_public_keys_come_from_files_of_one_or_more(tmp_path: Path) -> None:
    one, two = tmp_path / "one.pem", tmp_path / "two.pem"
    one.write_text(A.public.pem)
    two.write_text("Comments are fine.\n" + B.public.pem + C.public.pem.replace("\n", "\r\n"))
    assert read_public_keys([one, two]) == [A.public, B.public, C.public]
    A.write(tmp_path / "private.pem")
    with pytest.raises(InvalidInputError, match="holds a private key, which nobody else should have"):
        read_public_keys([tmp_path / "private.pem"])
    der = bytes.fromhex("302a300506032b656e032100") + bytes(32)  # X25519
    for text in (
        "",
        "nothing",
        A.public.pem[:60],
        f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n",
    ):
        one.write_text(text)
        with pytest.raises(InvalidInputError, match="does not hold public Ed25519 keys"):
            read_public_keys([one])


def test_points_of_small_order_are_no_keys() -> None:
    """For these, one signature fits many texts. The list is complete: eight points, and other spellings of some."""
    found = set()
    for raw in SMALL_ORDER:
        for sign in (0, 0x80):
            with pytest.raises(EvidenceError):
                PublicKey(raw[:-1] + bytes([raw[-1] | sign]))
            point = independent.point_of(raw[:-1] + bytes([raw[-1] | sign]))
            if point is not None:
                assert independent.are_same(independent.times(8, point), (0, 1, 1, 0))
                found.add((point[0], point[1]))
    assert len(found) == 8
    with pytest.raises(EvidenceError):
        PublicKey(bytes(31))


def test_checking_needs_the_library_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(ImportError, match=r"pip install 'deciduous\[evidence\]'"):
        verify_statements(HISTORY, KEYS)


def test_checking_needs_neither_sqlalchemy_nor_the_estimator(tmp_path: Path) -> None:
    """The machine of whoever checks has no databases."""
    (tmp_path / "statements.jsonl").write_bytes(lines(HISTORY))
    (tmp_path / "key.pem").write_text(A.public.pem)
    script = """
import sys
sys.modules["sqlalchemy"] = None
from deciduous.evidence import read_public_keys, verify_statements
assert verify_statements("statements.jsonl", read_public_keys(["key.pem"]))
assert not {"sklearn", "scipy", "pandas"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
