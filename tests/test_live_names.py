"""Tables, columns and queries may be called and written as SQL allows it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from deciduous import DareForestClassifier
from deciduous.errors import InvalidInputError
from deciduous.live import LiveForest
from live_tables import PARAMS, Database, fresh_fingerprint, make_live, make_patients, patient

# What a table, its id, its target and its subject are called, and how `table` names the table if not like that.
NAMES: dict[str, tuple[str, str, str, str, str | None]] = {
    "spaces and capitals": ("Patients of Ward 9", "Row Id", "Was Readmitted", "Person", None),
    "reserved words": ("order", "select", "group", "user", None),
    "double quotes": ('the "good" ones', 'i"d', '"target"', 'who"', None),
    "single quotes": ("O'Neill's", "id's", "it's", "who's", None),
    "percents": ("50%", "%s", "100%%", "%(who)s", None),
    "braces and dollars": ("{table}$$", "{id}$$", "$1", "{}", None),
    "colons": ("a:b", ":id", "::int", ":who", None),
    "umlauts": ("Größe der Übergänge, möglichst genau", "Schlüssel", "Rückkehr", "Wär", None),
    "three bytes a letter": ("患者的很长很长很长很长很长的表", "編號", "再入院", "人", None),
    "long": ("x" * 60, "i" * 60, "t" * 60, "s" * 60, None),
    "dots": ("clinic.patients", "row.id", "was.readmitted", "person.id", '"clinic.patients"'),
    "dots and quotes": ('a."b"', "id", "y", "who", '"a.""b"""'),
}


def make_table(database: Database, names: tuple[str, str, str, str]) -> sa.Table:
    """Sixty patients, in columns some of which are called oddly in every case."""
    name, id, target, subject = names
    table = sa.Table(
        name,
        sa.MetaData(),
        sa.Column(id, sa.BigInteger, primary_key=True),
        sa.Column(target, sa.Integer),
        sa.Column(subject, sa.Text),
        sa.Column("Order by", sa.Float),
        sa.Column("50% :w \"'{}", sa.Text),
    )
    with database.engine.begin() as connection:
        table.create(connection)
        for number in range(60):
            its = patient(number)
            values = [number, its["readmitted"], its["person_id"], its["age"], its["ward"]]
            connection.execute(table.insert().values(values))
    return table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_names_that_need_quoting(database: Database, tmp_path: Path, name: str, capture: bool) -> None:
    """In queries, deletions and triggers; and the triggers go without a trace."""
    *names, given = NAMES[name]
    table = make_table(database, (names[0], names[1], names[2], names[3]))
    id, before = table.c[names[1]], database.objects()
    with LiveForest.create(
        database.url,
        table=given or names[0],
        id=names[1],
        target=names[2],
        subject=names[3],
        folder=tmp_path / "forest",
        params=PARAMS,
        capture=capture,
    ) as live:
        live.sync()
        with database.engine.begin() as connection:
            connection.execute(table.delete().where(id == 5))
            connection.execute(table.update().where(id == 8).values({"Order by": 3.5}))
        report = live.sync()
        assert (report.method, report.n_deleted, report.n_updated) == (["comparison", "capture"][capture], 1, 1)
        erased = live.erase("u-3")
        assert (erased.request.state, erased.receipts[0].n_deleted) == ("applied", 3)
        with database.engine.connect() as connection:
            rows = pd.DataFrame(connection.execute(sa.select(table)).mappings().all())
        fresh = DareForestClassifier(**live.params).fit(rows[live.columns], rows[names[2]], ids=rows[names[1]].tolist())
        assert live.forest.fingerprint() == fresh.fingerprint()
        live.remove_capture()
    assert database.objects() == before


def test_two_tables_whose_names_look_alike_are_captured_apart(database: Database, tmp_path: Path) -> None:
    """Odd letters are replaced in names of triggers, and the key of the folder tells them apart."""
    tables = [make_table(database, (name, "id", "y", "who")) for name in ("a b", "a-b")]
    lives = [
        LiveForest.create(
            database.url, table=table.name, id="id", target="y", subject="who",
            folder=tmp_path / str(number), params=PARAMS, capture=True,
        )
        for number, table in enumerate(tables)
    ]  # fmt: skip
    for live in lives:
        live.sync()
    with database.engine.begin() as connection:
        connection.execute(tables[0].delete().where(tables[0].c.id == 5))
    assert [(live.sync().n_deleted, live.sync().method) for live in lives] == [(1, "capture"), (0, "capture")]
    for live in lives:
        live.close()


def test_queries_may_have_colons_percents_and_comments(database: Database, tmp_path: Path) -> None:
    """None of them is a parameter, and a comment at the end does not swallow what follows."""
    make_patients(database)
    database.run("UPDATE patients SET ward = :name WHERE ward = 'north'", name=":north at 12:30")
    query = (
        "SELECT id, person_id, age, ward, CAST(pressure AS INTEGER) AS pressure, readmitted FROM patients\n"
        "WHERE ward <> ' :nobody' AND ward LIKE '%o%' -- :all that is not west"
    )
    with make_live(database, tmp_path / "forest", table=None, query=query) as live:
        assert ":north at 12:30" in live.params["categorical_features"]["ward"]
        database.run("DELETE FROM patients WHERE id = 5")
        wanted = "SELECT * FROM patients WHERE ward <> 'west'"
        assert live.sync().fingerprint == fresh_fingerprint(database, live, wanted)


MISTAKES = {
    "unknown table": ("visits", "no table or view 'visits'. There are patients"),
    "unknown schema": ("nowhere.patients", "no schema 'nowhere'"),
    "three names": ("a.b.patients", "but is 'a.b.patients'"),
    "no name": ("", "but is ''"),
    "open quote": ('"patients', "in double quotes"),
}


@pytest.mark.parametrize(("table", "message"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_tables_that_are_not_there(database: Database, tmp_path: Path, table: str, message: str, capture: bool) -> None:
    """The message says what there is, and the folder can be used."""
    make_patients(database)
    with pytest.raises(InvalidInputError, match=message):
        make_live(database, tmp_path / "forest", table=table, capture=capture)
    make_live(database, tmp_path / "forest").close()


def test_table_that_was_dropped_is_named(database: Database, tmp_path: Path) -> None:
    """By `sync` and `erase`; when it is back, the forest follows it again."""
    make_patients(database)
    with make_live(database, tmp_path / "forest", capture=True) as live:
        live.sync()
        database.run("DROP TABLE patients")
        for deed in (live.sync, lambda: live.erase("u-3")):
            with pytest.raises(InvalidInputError, match="no table or view 'patients'"):
                deed()
        assert len(live.receipts()) == 1
        make_patients(database, 100)
        assert live.sync().fingerprint == fresh_fingerprint(database, live)
        live.remove_capture()


def test_names_in_other_letters_are_the_same_to_sqlite(sqlite_database: Database, tmp_path: Path) -> None:
    """A table that is called in capitals is a table all the same, and a view a view."""
    make_patients(sqlite_database)
    sqlite_database.run("CREATE VIEW stays AS SELECT * FROM patients")
    with make_live(sqlite_database, tmp_path / "a", table="PATIENTS", capture=True) as live:
        live.sync()
        assert live.erase("u-3").request.state == "applied"
        assert live.sync().method == "capture"
    with (
        make_live(sqlite_database, tmp_path / "b", table="STAYS") as live,
        pytest.raises(InvalidInputError, match="view"),
    ):
        live.erase("u-4")
