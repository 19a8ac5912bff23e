"""Signed statements of live forests: keys, rotation, older copies that are put back, and what others may see."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import statement_reader as independent
from deciduous.errors import CorruptRecordError, EvidenceError, InvalidInputError
from deciduous.evidence import PrivateKey, PublicKey, Statement, read_envelopes, verify_statements
from deciduous.live import LiveForest, check_against, connect, read_record
from deciduous.live.connecting import HandedOver
from live_tables import Database, contents, make_live, make_patients
from test_live_crash import Worker, started_worker

SMALL = {"n_estimators": 2, "max_depth": 4, "random_state": 3}
REASON = "Needed for a claim of Ms Unmistakable."


@pytest.fixture
def live(sqlite_database: Database, folder: Path) -> Iterator[LiveForest]:
    """A live forest with receipts of most kinds, and no key."""
    make_patients(sqlite_database, 60)
    with make_live(sqlite_database, folder, params=SMALL) as live:
        live.erase("u-1", idempotency_key="9f0c")
        live.erase("u-1")
        assert live.verify()
        live.requests.refuse(live.requests.receive("u-2").id, REASON)
        live.requests.receive("u-4")
        yield live


def publics(live: LiveForest) -> list[PublicKey]:
    return [PublicKey.from_pem(key.public_key) for key in live.signing_keys()]


def exported(live: LiveForest, **how: Any) -> bytes:
    path = live._store.path.parent / "statements.jsonl"
    live.export_statements(path, **how)
    return path.read_bytes()


def keys_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*key-*"))


# ------------------------------------------------------------------------------------------------------ what is signed


def test_statements_say_what_receipts_say(live: LiveForest) -> None:
    """Read by ours and by the independent reader."""
    live.new_key()
    data = exported(live)
    assert verify_statements(data, publics(live), opening=live.opening()).fingerprint == live.status()["fingerprint"]
    found = independent.chain_in(data.decode(), [live.signing_keys()[0].public_key])
    receipts = live.receipts()
    assert len(found) == len(receipts) == 10
    for statement, receipt in zip(found, receipts, strict=True):
        says = statement["predicate"]
        assert (says["number"], says["kind"], says["time"]) == (receipt.number, receipt.kind, receipt.time)
        assert (says["receipt"], says["requests"], says["due"]) == (receipt.chain, list(receipt.requests), receipt.due)
        assert says["verification"] == ("exact" if receipt.kind == "verified" else None)
        assert says["record"] == receipts[0].chain
        (subject,) = statement["subject"]
        if receipt.after is not None:
            assert subject["digest"] == {"deciduousCommitmentV1": receipt.after}
            assert says["rows"]["total"] == receipt.n_rows
            assert says["parameters"] == {"deciduousCommitmentV1": receipt.parameters}
        assert (says["rows"]["deleted"], says["people"]["erased"]) == (receipt.n_deleted, receipt.n_people_erased)


def test_statements_are_the_same_whenever_they_are_made(live: LiveForest, folder: Path) -> None:
    """Nothing of them is stored, and what was handed out is the beginning of what comes later."""
    live.new_key()
    before = exported(live)
    assert exported(live) == before
    live.sync(compare=True)
    live.erase("u-9")
    after = exported(live)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert exported(live, first=3) == b"".join(after.splitlines(keepends=True)[2:])
    assert not any(b"vnd.in-toto" in data for data in contents(folder).values())


def test_a_recovery_is_told_as_one(live: LiveForest, sqlite_database: Database, folder: Path) -> None:
    """It is not known what changed, so its counts do not add up; all others do."""
    live.new_key()
    live.close()
    next(folder.glob("rows-*")).unlink()
    sqlite_database.run("DELETE FROM patients WHERE id IN (40, 41)")
    with LiveForest.open(folder) as live:
        live.sync()
        live.erase("u-16")
        report = verify_statements(exported(live), publics(live))
        assert report.problem is None
        assert [its.kind for its in report.statements[-4:]] == ["signing key", "recovered", "received", "synced"]
        assert [its.n_rows for its in report.statements[-2:]] == [55, 52]


def test_statements_name_no_person_table_row_or_reason(live: LiveForest) -> None:
    """They hold nothing but numbers, times, random ids and digests under keys that go."""
    live.new_key()
    fingerprint = live.status()["fingerprint"]
    text = "".join(envelope.payload.decode() for envelope in read_envelopes(exported(live)))
    receipts = live.receipts()
    secrets = ["u-1", "u-4", "patients", "person_id", "claim", "Unmistakable", fingerprint, live._key.hex()]
    secrets += [its for receipt in receipts for its in (receipt.subject, receipt.idempotency) if its]
    secrets += [live._encoder.subject_digest(name).hex() for name in ("u-1", "u-4")]
    assert len(secrets) > 12
    assert [secret for secret in secrets if secret in text] == []


def test_a_former_statement_cannot_be_opened(live: LiveForest) -> None:
    """The key of its commitment is gone, so a guess of the former fingerprint cannot be tested."""
    live.new_key()
    former, opening = live.opening(), live._state.opening
    live.erase("u-7")
    statements = [Statement.from_payload(its.payload) for its in read_envelopes(exported(live))]
    assert former.commitment == statements[-2].before or former.commitment in {its.after for its in statements[:-1]}
    data = b"\0".join(contents(live._store.path).values())
    for secret in (opening.fingerprint_key, former.fingerprint.encode(), bytes.fromhex(former.key)):
        assert secret not in data
        assert secret.hex().encode() not in data
    assert "it is of another state" in str(verify_statements(exported(live), publics(live), opening=former).problem)


def test_without_a_key_all_is_as_before(live: LiveForest, folder: Path) -> None:
    """Receipts have the entries that they always had, so records of older releases and ours are read by both."""
    with pytest.raises(InvalidInputError, match="has no signing key, so it signs nothing: `new_key` makes one"):
        live.statements()
    assert live.signing_keys() == []
    assert live.status()["signing_key"] is None
    assert all("signing_key" not in receipt.as_dict() for receipt in live.receipts())
    assert "Statements signed by" not in live.certificate()
    assert live.head().number == len(live.receipts())
    assert keys_in(folder) == []


def test_certificates_name_the_key(live: LiveForest) -> None:
    key_id = live.new_key()
    assert f"Statements signed by</th><td><code>{key_id}</code>" in live.certificate()
    assert live.status()["signing_key"] == key_id


@pytest.mark.parametrize(("first", "problem"), [(0, "from 1 on, but is 0"), (12, "no receipt 12: the newest is 10")])
def test_numbers_that_are_not_there_are_errors(live: LiveForest, first: int, problem: str) -> None:
    live.new_key()
    with pytest.raises(InvalidInputError, match=problem):
        live.statements(first)


# ------------------------------------------------------------------------------------------------------------- the keys


def test_the_private_key_is_a_file_of_the_folder(live: LiveForest, folder: Path, tmp_path: Path) -> None:
    """Only the owner can read it, and it is in nothing that is exported."""
    key_id = live.new_key()
    (name,) = keys_in(folder)
    assert name == f"key-{key_id[:16]}.pem"
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    secret = (folder / name).read_bytes().splitlines()[1]
    live.export_receipts(tmp_path / "receipts.json")
    exports = exported(live) + live.opening().as_json() + (tmp_path / "receipts.json").read_bytes()
    assert secret not in exports + live.certificate().encode()


def test_rotation_keeps_what_the_old_key_has_signed(live: LiveForest, folder: Path) -> None:
    """Its private half goes, and the bytes that were handed out stay what they were."""
    first = live.new_key()
    before = exported(live)
    live.erase("u-8")
    second = live.new_key()
    live.erase("u-9")
    third = live.new_key()
    assert keys_in(folder) == [f"key-{third[:16]}.pem"]
    after = exported(live)
    assert after[: len(before)] == before
    keys = live.signing_keys()
    assert [key.id for key in keys] == [first, second, third]
    assert [key.until for key in keys] == [keys[1].since, keys[2].since, None]
    report = verify_statements(after, publics(live)[:1])
    assert report.problem is None
    assert {its.key_id: its.vouched_in for its in report.signers} == {
        first: None,
        second: keys[1].receipt,
        third: keys[2].receipt,
    }
    independent.chain_in(after.decode(), [keys[0].public_key])
    assert live.verify()


def test_a_key_that_is_lost_is_replaced(live: LiveForest, folder: Path) -> None:
    """Statements are the same, but the new key signs those that nobody else can sign any more."""
    live.new_key()
    before = exported(live)
    (folder / keys_in(folder)[0]).unlink()
    with pytest.raises(InvalidInputError, match="is_lost=True"):
        live.statements()
    with pytest.raises(InvalidInputError, match="is_lost=True"):
        live.new_key()
    live.new_key(is_lost=True)
    after = exported(live)
    assert "none that was given" in str(verify_statements(after, publics(live)[:1]).problem)
    assert verify_statements(after, publics(live))
    assert [its.payload for its in read_envelopes(after)][:10] == [its.payload for its in read_envelopes(before)]
    live.new_key()  # and what it signed in the place of the first one is kept
    assert exported(live)[: len(after)] == after


def test_a_key_may_be_elsewhere(live: LiveForest, folder: Path, tmp_path: Path) -> None:
    """It is said with each call where it is, and never remembered."""
    path, second = tmp_path / "signing.pem", tmp_path / "second.pem"
    live.new_key(path)
    assert keys_in(folder) == []
    with pytest.raises(InvalidInputError, match="`signing_key="):
        live.statements()
    assert verify_statements(exported(live, signing_key=path), publics(live))
    with pytest.raises(InvalidInputError, match="already"):
        live.new_key(path, former=path)
    live.new_key(second, former=path)
    with pytest.raises(InvalidInputError, match="Name the file of that one"):
        live.statements(signing_key=path)
    assert path.exists()  # what the user has is not ours to remove
    assert verify_statements(exported(live, signing_key=second), publics(live)[:1])
    assert b"signing.pem" not in b"".join(contents(folder).values())


def test_a_key_with_a_name_is_not_in_the_folder(live: LiveForest, folder: Path) -> None:
    """It would be taken for a stray when the next one comes."""
    with pytest.raises(InvalidInputError, match="is in the folder of the live forest"):
        live.new_key(folder / "key-0123456789abcdef.pem")
    assert live.signing_keys() == []


def test_a_former_key_goes_with_a_key_in_use(live: LiveForest, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="leave it out"):
        live.new_key(former=tmp_path / "nothing.pem")
    assert len(live.receipts()) == 9


def test_a_receipt_that_cannot_be_written_leaves_no_key(
    live: LiveForest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = live.new_key()
    before = exported(live)

    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(live._state, "keep_signatures", full)
    with pytest.raises(OSError, match="no space"):
        live.new_key()
    monkeypatch.undo()
    assert keys_in(folder) == [f"key-{first[:16]}.pem"]
    assert exported(live) == before


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker whose children are killed at calls that change files."""
    with started_worker(tmp_path_factory.mktemp("native")) as worker:
        yield worker


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library, as Linux does it")
def test_kills_leave_a_key_and_statements_that_fit(live: LiveForest, folder: Path, worker: Worker) -> None:
    """Either the old key is in use or the new one; what was signed stays, and the next key takes strays away."""
    live.new_key()
    live.close()
    n_calls = worker.run("key", folder)["calls"]
    assert n_calls > 10
    with LiveForest.open(folder) as live:
        before = exported(live)
    n_killed = 0
    for at_call in range(1, n_calls + 2, 2):
        n_killed += worker.run("key", folder, at_call=at_call)["status"] == -9
        with LiveForest.open(folder) as live:
            after = exported(live)
            assert after[: len(before)] == before
            assert verify_statements(after, publics(live)[:1])
            assert not list(folder.glob(".key-*"))
            assert live.new_key() == live.status()["signing_key"]
            assert len(keys_in(folder)) == 1
            before = exported(live)
    assert n_killed > 5


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library, as Linux does it")
def test_kills_of_syncs_leave_statements_that_fit(
    live: LiveForest, sqlite_database: Database, folder: Path, worker: Worker
) -> None:
    """What was handed out stays the beginning of what comes, wherever a sync ends."""
    live.new_key()
    before = exported(live)
    live.close()
    for number, at_call in enumerate((5, 12, 19, 26, 33)):
        sqlite_database.run("DELETE FROM patients WHERE id = :id", id=30 + number)
        worker.run("sync", folder, at_call=at_call)
        with LiveForest.open(folder) as live:
            after = exported(live)
            live.sync()
            assert after[: len(before)] == before
            assert exported(live)[: len(after)] == after
            assert verify_statements(exported(live), publics(live), earlier=before)
            before = exported(live)


# ------------------------------------------------------------------------------------------------- one that others have


def test_others_sign_by_way_of_the_process_that_has_it_open(live: LiveForest, folder: Path, tmp_path: Path) -> None:
    with connect(folder) as other:
        assert isinstance(other, HandedOver)
        key_id = other.new_key(tmp_path / "signing.pem")
        assert [key.id for key in other.signing_keys()] == [key_id] == [key.id for key in live.signing_keys()]
        assert other.statements(2, signing_key=tmp_path / "signing.pem") == live.statements(
            2, signing_key=tmp_path / "signing.pem"
        )
        other.export_statements(tmp_path / "theirs.jsonl", signing_key=tmp_path / "signing.pem")
        assert (tmp_path / "theirs.jsonl").read_bytes() == exported(live, signing_key=tmp_path / "signing.pem")
        assert (other.head(), other.opening()) == (live.head(), live.opening())
        with pytest.raises(InvalidInputError, match="with the private half of key"):
            other.statements()
        assert check_against(folder, tmp_path / "theirs.jsonl")


# ------------------------------------------------------------------------------------------------- copies put back


def put_back(copy: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)


def test_an_older_copy_that_is_put_back_is_noticed(live: LiveForest, folder: Path, tmp_path: Path) -> None:
    """By whoever holds a later statement; and so is a folder that then went on by itself."""
    live.new_key()
    live.close()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with LiveForest.open(folder) as live:
        live.erase("u-8")
        kept = exported(live)
        newest = kept.splitlines(keepends=True)[-1]
        assert check_against(folder, kept)
        assert check_against(folder, newest).outcome == "continued"
    put_back(copy, folder)
    for statements in (kept, newest):
        found = check_against(folder, statements)
        assert (found.outcome, found.newest, found.n_receipts) == ("rolled back", 12, 10)
        assert "the folder ends with number 10, and statement 12 of" in str(found.problem)
        assert not found
    with LiveForest.open(folder) as live:
        live.sync()  # all that is in the folder is consistent, and says nothing
        assert live.verify()
        found = check_against(folder, kept)
        assert found.outcome == "forked"
        assert "something else than statement 11, and is the same up to statement 10" in str(found.problem)
        assert check_against(folder, newest).outcome == ("forked" if len(live.receipts()) >= 12 else "rolled back")
        assert check_against(folder, exported(live))
        assert verify_statements(exported(live), publics(live))  # a fork does not show from within


def test_a_copy_of_before_the_key_is_noticed_with_a_key_that_was_kept(
    live: LiveForest, folder: Path, tmp_path: Path
) -> None:
    """The folder does not know the key any more, and who compares says which one is trusted."""
    live.close()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with LiveForest.open(folder) as live:
        live.new_key()
        first, kept = publics(live), exported(live)
        live.new_key()
        both, later = publics(live), exported(live)
    put_back(copy, folder)
    with pytest.raises(InvalidInputError, match="say whose signature is to be trusted"):
        check_against(folder, kept)
    assert check_against(folder, kept, first).outcome == "rolled back"
    assert check_against(folder, later, first).outcome == "rolled back"  # the first vouches for the second
    with pytest.raises(EvidenceError, match="none that was given"):
        check_against(folder, later.splitlines(keepends=True)[-1], [PrivateKey.fresh().public])
    assert check_against(folder, later.splitlines(keepends=True)[-1], both[1:]).outcome == "rolled back"


def test_statements_of_another_forest_are_told_apart(live: LiveForest, folder: Path, tmp_path: Path) -> None:
    live.new_key()
    with make_live(Database(live._settings.url), tmp_path / "other", params=SMALL) as other:
        other.new_key()
        with pytest.raises(EvidenceError, match="is none that was given"):
            check_against(folder, exported(other))
        found = check_against(folder, exported(other), publics(other))
        assert (found.outcome, found.matches) == ("unrelated", False)


@pytest.mark.usefixtures("live")
def test_comparing_needs_a_key(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="whose signature is to be trusted"):
        check_against(folder, b"")


def test_looking_at_statements_changes_nothing(live: LiveForest, folder: Path) -> None:
    live.new_key()
    kept = exported(live)
    before = contents(folder)
    assert check_against(folder, kept)
    assert live.statements()
    assert contents(folder) == before


# ---------------------------------------------------------------------------------------------------- a changed record


def state_of(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "state.db", isolation_level=None)


def test_signatures_that_were_changed_are_noticed(live: LiveForest, folder: Path) -> None:
    live.new_key()
    live.new_key()
    state = state_of(folder)
    state.execute("UPDATE meta SET value = zeroblob(64) WHERE name LIKE 'signature 3 %'")
    with pytest.raises(CorruptRecordError, match="a signature that is kept of receipt 3 is not what was written"):
        live.statements()
    state.execute("UPDATE meta SET value = 'x' WHERE name LIKE 'signature 3 %'")
    with pytest.raises(CorruptRecordError, match="what is kept of signatures"):
        live.statements()
    state.execute("DELETE FROM meta WHERE name LIKE 'signature 3 %'")
    state.execute("INSERT INTO meta VALUES ('signature x', zeroblob(64))")
    with pytest.raises(CorruptRecordError, match="what is kept of signatures"):
        live.statements()
    state.close()


def test_a_record_without_its_end_has_no_head(live: LiveForest, folder: Path) -> None:
    """Or it could be anchored, and signed, as if nothing had come after it."""
    live.new_key()
    live.close()
    state = state_of(folder)
    state.execute("DELETE FROM receipts WHERE number = 10")
    state.close()
    with LiveForest.open(folder) as live:
        for use in (live.head, live.statements, live.opening):
            with pytest.raises(CorruptRecordError, match="receipt 10 is missing"):
                use()


def with_receipt(live: LiveForest, **entries: Any) -> None:
    """Somebody with the key of the folder adds a receipt."""
    from deciduous.live import Receipt

    receipt = Receipt(0, "signing key", "2026-11-19T08:00:00+00:00", "patients", **entries)
    with live._state.transaction():
        live._state.append(receipt)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({}, "something else than it should in 'signing_key'"),
        ({"signing_key": "x"}, "something else than it should in 'signing_key'"),
        ({"signing_key": "00" * 32}, "does not tell of a key that can sign"),
        ({"signing_key": PrivateKey.fresh().public.raw.hex(), "requests": ("0" * 16,)}, "not tell of a new key"),
    ],
)
def test_receipts_of_keys_that_are_none_are_damage(
    live: LiveForest, folder: Path, entries: dict[str, Any], problem: str
) -> None:
    with_receipt(live, **entries)
    with pytest.raises(CorruptRecordError, match=problem):
        read_record(folder)
    live.close(store=False)


def test_a_key_is_new_once(live: LiveForest, folder: Path) -> None:
    live.new_key()
    with_receipt(live, signing_key=publics(live)[0].raw.hex())
    with pytest.raises(CorruptRecordError, match="does not tell of a new key"):
        read_record(folder)


def test_exports_of_receipts_tell_of_keys(live: LiveForest, tmp_path: Path) -> None:
    live.new_key()
    live.export_receipts(tmp_path / "receipts.json")
    newest = json.loads((tmp_path / "receipts.json").read_text())["receipts"][-1]
    assert newest["kind"] == "signing key"
    assert newest["signing_key"] == publics(live)[0].raw.hex()


def test_a_live_forest_needs_no_library_for_signatures_until_it_signs(live: LiveForest, folder: Path) -> None:
    """Commitments, receipts and comparisons of heads do without."""
    live.close()
    script = f"""
import sys
sys.modules["cryptography"] = None
from deciduous.live import LiveForest
with LiveForest.open({str(folder)!r}) as live:
    live.sync(); live.certificate(); live.head()
    try:
        live.new_key()
    except ImportError as error:
        assert "deciduous[evidence]" in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert keys_in(folder) == []
