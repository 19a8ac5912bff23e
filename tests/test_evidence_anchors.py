"""Anchors: a log of heads that only grows, and what it shows of statements that are withheld or were replaced."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deciduous.errors import EvidenceError
from deciduous.evidence import Anchor, Anchored, FileAnchor, Head, Statement, verify_statements
from test_evidence import HISTORY, KEYS, RECORD, A, forest, history

STATEMENTS = [Statement.from_payload(its.payload) for its in HISTORY]
HEADS = [Head.of(its) for its in STATEMENTS]


def test_lines_follow_from_one_another(tmp_path: Path) -> None:
    log: Anchor = FileAnchor(tmp_path / "log")
    put = [log.put(head) for head in HEADS[:3]]
    put.append(log.put(HEADS[2]))  # again, which says that it was still the newest
    assert list(log.entries()) == put
    first, second, *_ = (tmp_path / "log").read_text().splitlines()
    assert json.loads(first).keys() == {"number", "previous", "record", "statement", "time"}
    assert json.loads(first)["previous"] == "0" * 64
    assert json.loads(second)["statement"] == STATEMENTS[1].digest


def test_one_log_serves_several_records(tmp_path: Path) -> None:
    log = FileAnchor(tmp_path / "log")
    log.put(HEADS[4])
    log.put(Head("ef" * 32, 1, forest(9)))
    assert [its.head.record for its in log.entries()] == [RECORD, "ef" * 32]


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (HEADS[2], "statement 4 was anchored at .* and the newest is 3: an older copy was put back"),
        (dataclasses.replace(HEADS[3], statement=forest(9)), "another statement 4 was anchored at"),
    ],
)
def test_a_log_takes_no_step_back(tmp_path: Path, head: Head, problem: str) -> None:
    """Whoever anchors the head of an older copy hears of it, and nothing is written."""
    log = FileAnchor(tmp_path / "log")
    log.put(HEADS[3])
    before = (tmp_path / "log").read_bytes()
    with pytest.raises(EvidenceError, match=problem):
        log.put(head)
    assert (tmp_path / "log").read_bytes() == before


def test_a_line_that_was_interrupted_counts_for_nothing(tmp_path: Path) -> None:
    """It was never acknowledged: readers say so, and the next line takes its place."""
    path = tmp_path / "log"
    log = FileAnchor(path)
    log.put(HEADS[0])
    whole = path.read_bytes()
    log.put(HEADS[1])
    second = path.read_bytes()[len(whole) :]
    for end in (1, 10, 11, 12, 60, len(second) - 1):
        path.write_bytes(whole + second[:end])
        with pytest.raises(EvidenceError, match="is not complete: anchor the head again"):
            log.entries()
    log.put(HEADS[1])
    assert [its.head for its in log.entries()] == HEADS[:2]


@pytest.mark.parametrize("text", ["mine", "mine\n", "mine\nall mine", '{"number":1,"previous":"mine', '{"number":x'])
def test_files_of_others_stay_what_they_are(tmp_path: Path, text: str) -> None:
    """Somebody may name the wrong file, and its last line may have no end."""
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(EvidenceError, match=r"is not a log of anchors|is not JSON"):
        FileAnchor(path).put(HEADS[0])
    assert path.read_text() == text


@pytest.fixture
def log(tmp_path: Path) -> FileAnchor:
    log = FileAnchor(tmp_path / "log")
    for head in HEADS[:4]:
        log.put(head)
    return log


@pytest.mark.usefixtures("log")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_any_other_byte_in_a_log_is_noticed(tmp_path: Path, at: int, byte: int) -> None:
    """But in the last line, which no other line covers, another digest or time may stand."""
    path = tmp_path / "log"
    data = path.read_bytes()
    at %= len(data)
    other = tmp_path / "other"
    other.write_bytes(data[:at] + bytes([byte]) + data[at + 1 :])
    is_covered = at < data[:-1].rfind(b"\n")
    if other.read_bytes() == data:
        assert len(FileAnchor(other).entries()) == 4
    elif is_covered:
        with pytest.raises(EvidenceError):
            FileAnchor(other).entries()


def test_lines_taken_away_or_exchanged_are_noticed(tmp_path: Path, log: FileAnchor) -> None:
    path = tmp_path / "log"
    lines = path.read_bytes().splitlines(keepends=True)
    for others in (lines[1:], lines[:1] + lines[2:], [lines[1], lines[0], *lines[2:]], [*lines, lines[0]]):
        path.write_bytes(b"".join(others))
        with pytest.raises(EvidenceError, match="does not follow"):
            log.entries()


def test_a_line_has_one_spelling(tmp_path: Path, log: FileAnchor) -> None:
    """Also if nothing follows that it would have to fit."""
    path = tmp_path / "log"
    *before, last = path.read_bytes().splitlines(keepends=True)
    for other in (json.dumps(json.loads(last)).encode() + b"\n", last.replace(b"}", b"} ")):
        path.write_bytes(b"".join([*before, other]))
        with pytest.raises(EvidenceError, match="line 4 of the log of anchors is not spelled as it was written"):
            log.entries()


def test_many_may_anchor_at_once(tmp_path: Path) -> None:
    """Each line follows from the one before, whoever wrote it."""
    records = [f"{number:064x}" for number in range(8)]

    def work(record: str) -> None:
        for number in range(1, 6):
            FileAnchor(tmp_path / "log").put(Head(record, number, forest(number)))

    threads = [threading.Thread(target=work, args=(record,)) for record in records]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(FileAnchor(tmp_path / "log").entries()) == 40


# ---------------------------------------------------------------------------------------------- what anchors show


def test_statements_that_were_anchored_are_told(log: FileAnchor) -> None:
    report = verify_statements(HISTORY, KEYS, anchors=log.entries())
    assert report
    assert [its.head.number for its in report.anchored] == [1, 2, 3, 4]
    assert any("existed when they were anchored" in its for its in report.proves)
    assert len(verify_statements(HISTORY[2:], KEYS, anchors=log.entries()).anchored) == 2


def test_statements_that_are_withheld_are_noticed(log: FileAnchor) -> None:
    report = verify_statements(HISTORY[:2], KEYS, anchors=log.entries())
    assert "statement 3 was anchored at" in str(report.problem)
    assert "these end with 2: later ones are withheld" in str(report.problem)
    assert report.anchored == ()


def test_another_history_is_noticed(log: FileAnchor) -> None:
    """Signed by the right keys, and without a gap; but not the one that was anchored."""
    others = history(with_deleted=2)
    assert verify_statements(others, KEYS)
    report = verify_statements(others, KEYS, anchors=log.entries())
    assert "another statement 3 was anchored at" in str(report.problem)


class Published:
    """Another kind of anchor: what a newspaper, a notary or a service with an interface of its own keeps."""

    def __init__(self) -> None:
        self._kept: list[Anchored] = []

    def put(self, head: Head) -> Anchored:
        self._kept.append(Anchored(head, "2026-11-19T08:00:00+00:00"))
        return self._kept[-1]

    def entries(self) -> list[Anchored]:
        return self._kept


def test_anchors_of_other_kinds_serve_as_well() -> None:
    anchor: Anchor = Published()
    anchor.put(HEADS[3])
    assert verify_statements(HISTORY, KEYS, anchors=anchor.entries()).anchored[0].head == HEADS[3]
    assert not verify_statements(HISTORY[:2], KEYS, anchors=anchor.entries())


def test_a_log_about_others_proves_nothing(tmp_path: Path) -> None:
    log = FileAnchor(tmp_path / "log")
    log.put(Head("ef" * 32, 1, forest(9)))
    report = verify_statements(HISTORY, [A.public], anchors=log.entries())
    assert report.problem == "the log of anchors has nothing about this record"
