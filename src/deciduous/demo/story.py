"""The demonstration, chapter by chapter: each does something, and says what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..forest import DareForestClassifier
from . import picture
from .folder import CERTIFICATE, DATABASE, FOREST, PAGE, PICTURE, RECEIPTS
from .forests import deletions, erased, one_patient, params_of, proven, trained
from .measures import Deletions, Erasure, Proof, Setting, Story, TableErasure, Training, timed
from .page import page
from .telling import Teller
from .visits import Visits, generated
from .wording import counted, duration, threads, times

if TYPE_CHECKING:
    from .clinic import Clinic


def n_steps() -> int:
    """How many of them take time."""
    return 4 + 3 * _has_tables() + picture.can_draw()


def told(setting: Setting, folder: Path, teller: Teller) -> Story:
    """All of it, into an empty folder."""
    visits, test = _visits(setting, teller)
    with _clinic(setting, folder, visits, teller) as clinic:
        forest, training = _training(setting, visits, test, teller)
        patient = one_patient(visits)
        erasure = _erasure(forest, patient, training, teller)
        table = None if clinic is None else _table_erasure(clinic, patient, teller)
        left = visits.part(visits.patients != patient)
        proof = _proof(setting, forest, left, table, teller)
        receipt = None if clinic is None else _certificate(clinic, folder, teller)
    its = _deletions(setting, forest, left, test, teller)
    story = Story(setting, training, erasure, table, proof, its)
    _say_latencies(story, teller)
    _write_page(story, folder, receipt, teller)
    return story


def _visits(setting: Setting, teller: Teller) -> tuple[Visits, Visits]:
    with teller.working("Generating visits to a clinic"):
        visits, test = generated(setting.n_rows)
    teller.heading("A model that has learned from many")
    columns = counted(len(visits.columns), "column")
    teller.say("visits to a clinic", f"{len(visits):,} of {visits.n_patients:,} patients, {columns}, generated")
    return visits, test


@contextmanager
def _clinic(setting: Setting, folder: Path, visits: Visits, teller: Teller) -> Iterator[Clinic | None]:
    """The table and its forest, if SQLAlchemy is there."""
    if not _has_tables():
        teller.say("left out: table and certificate", "they need SQLAlchemy: pip install 'deciduous[live]'")
        yield None
        return
    from .clinic import Clinic, write_database

    database = folder / DATABASE
    with teller.working("Writing them into a database"):
        _, writing = timed(lambda: write_database(database, visits))
    with teller.working("Training a forest that follows the table"):
        clinic, training = timed(lambda: Clinic.opened(database, folder / FOREST, params_of(setting)))
    with clinic:
        megabytes = database.stat().st_size / 1e6
        teller.say("their table, in SQLite", f"{megabytes:.0f} MB, written in {duration(writing)}")
        teller.say("a forest that follows it", f"{duration(training)}, with reading the table and storing the forest")
        yield clinic


def _training(setting: Setting, visits: Visits, test: Visits, teller: Teller) -> tuple[DareForestClassifier, Training]:
    with teller.working("Training both forests in memory, ours and scikit-learn's"):
        forest, its = trained(setting, visits, test)
    size = f"{setting.n_trees} trees of depth {setting.depth} at most, {threads(setting.n_jobs)}"
    accuracy, peer = f"accuracy {its.accuracy:.3f}", f"accuracy {its.scikit_learn_accuracy:.3f}"
    teller.say("training it in memory", f"{duration(its.seconds)}, {accuracy}; {size}")
    teller.say("scikit-learn's forest", f"{duration(its.scikit_learn_seconds)}, {peer}; as many trees, as deep")
    return forest, its


def _erasure(forest: DareForestClassifier, patient: str, training: Training, teller: Teller) -> Erasure:
    teller.heading(f"Patient {patient} says: delete my data")
    its = erased(forest, patient)
    nodes = f"{counted(its.n_nodes_rebuilt, 'node')} of {training.n_nodes:,} to rebuild"
    teller.say("found by subject", counted(its.n_visits, "visit"))
    teller.say("dry run", f"{nodes}, {counted(its.n_rows_retrained, 'row')} to retrain on")
    teller.say("gone from the forest in", duration(its.seconds), "bold")
    return its


def _table_erasure(clinic: Clinic, patient: str, teller: Teller) -> TableErasure:
    with teller.working("Erasing the patient from the table, and training again from it"):
        its = clinic.erased(patient)
    teller.say("gone everywhere in", f"{duration(its.seconds)}: table, forest, files, receipt, database file rewritten")
    return its


def _proof(
    setting: Setting,
    forest: DareForestClassifier,
    left: Visits,
    table: TableErasure | None,
    teller: Teller,
) -> Proof:
    with teller.working("Training a forest that never saw the patient"):
        proof = proven(setting, forest, left)
    teller.heading("The proof")
    teller.say("forest after the deletion", proof.after_deletion)
    if table is not None:
        teller.say("forest of the table", table.fingerprint)
    teller.say("trained without the patient", f"{proof.retrained}  {_yes(proof.is_exact, 'same bytes')}")
    teller.say("that training took", duration(proof.retraining_seconds))
    if table is not None:
        teller.say("trained again from the table", _yes(table.is_verified, "the same, and the receipts are whole"))
        searched = f"of {table.files_searched} searched, {table.bytes_searched / 1e6:.0f} MB"
        teller.say("files that name the patient", f"{table.files_before} before, {table.files_after} after, {searched}")
    return proof


def _certificate(clinic: Clinic, folder: Path, teller: Teller) -> str:
    """Writes certificate and receipts; the receipt of the erasure in a line."""
    (folder / CERTIFICATE).write_text(clinic.certificate(), encoding="utf-8")
    clinic.live.export_receipts(folder / RECEIPTS)
    its = clinic.receipt
    rows, people = counted(its.n_deleted, "row"), counted(its.n_people_erased, "person")
    line = f"receipt {its.number}, {rows} of {people} deleted, {its.n_rows:,} rows left, digest {its.chain[:16]}…"
    teller.heading("The certificate")
    teller.say("receipt", line.removeprefix("receipt "))
    teller.say("certificate, to print and file", str(folder / CERTIFICATE))
    return line


def _deletions(setting: Setting, forest: DareForestClassifier, left: Visits, test: Visits, teller: Teller) -> Deletions:
    with teller.working("Deleting rows one by one, then 1%, then retraining", setting.n_singles) as report:
        return deletions(setting, forest, left, test, report)


def _say_latencies(story: Story, teller: Teller) -> None:
    its, ours, peer = story.deletions, story.retraining, story.training.scikit_learn_seconds
    teller.heading(f"Against retraining: ours {duration(ours)}, scikit-learn's {duration(peer)}")
    rows = {
        f"the patient, {counted(story.erasure.n_visits, 'row')}": story.erasure.seconds,
        f"{len(its.singles)} single rows, median": its.median,
        "mean": its.mean,
        "slowest": its.slowest,
        f"1% at once, {its.n_batch:,} rows": its.batch_seconds,
    }
    for what, seconds in rows.items():
        ratios = f"retraining takes {times(ours, seconds)} as long, scikit-learn's {times(peer, seconds)}"
        teller.say(what, f"{duration(seconds):<8} {ratios}")
    teller.say("accuracy on other patients", f"{story.training.accuracy:.4f} before, {its.accuracy:.4f} after")
    teller.say("trained again after all that", _yes(its.is_exact, "same bytes"))


def _write_page(story: Story, folder: Path, receipt: str | None, teller: Teller) -> None:
    pictures = {}
    if picture.can_draw():
        with teller.working("Drawing"):
            pictures = {"light": picture.drawn(story), "dark": picture.drawn(story, picture.DARK)}
        (folder / PICTURE).write_bytes(pictures["light"])
        teller.say("picture", str(folder / PICTURE))
    else:
        teller.say("left out: the picture", "it needs matplotlib: pip install 'deciduous[plot]'")
    (folder / PAGE).write_text(page(story, pictures, receipt), encoding="utf-8")


def _has_tables() -> bool:
    return find_spec("sqlalchemy") is not None


def _yes(is_so: bool, what: str) -> str:
    return f"✓ {what}" if is_so else f"✗ NOT {what}"
