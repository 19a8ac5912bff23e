"""Rows named by strings and UUIDs, and rows that belong to subjects."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pandas as pd
import polars as pl
import pytest

import deciduous
from deciduous import (
    DareForestClassifier,
    InvalidInputError,
    RowExistsError,
    UnknownRowError,
    UnknownSubjectError,
    _row_names,
)

SPACE = UUID(int=7)
X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)
STRINGS = [f"row-{i}" for i in range(60)]
UUIDS = [uuid5(SPACE, name) for name in STRINGS]
PEOPLE = [f"u-{i % 20}" for i in range(60)]


def forest(**others: Any) -> DareForestClassifier:
    """A small forest."""
    return DareForestClassifier(n_estimators=5, random_state=1, max_samples=0.6, **others)


@pytest.mark.parametrize("names", [STRINGS, UUIDS, np.array(STRINGS), np.array(STRINGS, dtype=object)])
def test_rows_are_known_by_the_names_they_were_given(names: Any) -> None:
    """Reports, `ids_` and leaves speak of the user's names."""
    fitted = forest().fit(X, Y, ids=names)
    assert fitted.ids_.tolist() == sorted(names)
    assert fitted.deletion_cost([names[3]]).ids == (names[3],)
    assert fitted.delete([names[3], names[10]]).ids == (names[3], names[10])
    assert fitted.n_rows_ == 58
    assert {i for node in fitted.tree_nodes(0) for i in node.ids} <= set(names)
    assert fitted.add(X[[3]], Y[[3]], ids=[names[3]]).ids == (names[3],)
    assert fitted.check()


@pytest.mark.parametrize("names", [STRINGS, UUIDS])
def test_history_of_named_rows_leaves_no_trace(names: list[Any]) -> None:
    """The forest depends on names, not on the order in which they came: the promise holds, with max_samples too."""
    order = np.random.default_rng(1).permutation(60)
    fitted = forest().fit(X[order[:40]], Y[order[:40]], ids=[names[i] for i in order[:40]])
    fitted.add(X[order[40:]], Y[order[40:]], ids=[names[i] for i in order[40:]])
    fitted.delete([names[i] for i in range(30, 60)])
    fresh = forest().fit(X[:30], Y[:30], ids=names[:30])
    assert fitted.fingerprint() == fresh.fingerprint()


def test_names_of_another_kind_are_refused() -> None:
    """A forest of strings does not take integers, nor the other way round; nothing changes."""
    fitted = forest().fit(X, Y, ids=STRINGS)
    before = fitted.fingerprint()
    with pytest.raises(InvalidInputError, match="17"):
        fitted.delete([17])
    with pytest.raises(InvalidInputError, match="give `ids`"):
        fitted.add(X[:1], Y[:1])
    with pytest.raises(UnknownRowError, match="nobody"):
        fitted.delete(["row-1", "nobody"])
    with pytest.raises(InvalidInputError, match="row-2"):
        fitted.delete(["row-2", "row-2"])
    with pytest.raises(RowExistsError, match="row-5"):
        fitted.add(X[:1], Y[:1], ids=["row-5"])
    with pytest.raises(InvalidInputError, match="'x'"):
        forest().fit(X, Y).delete(["x"])
    with pytest.raises(InvalidInputError, match="integers"):
        forest().fit(X, Y, ids=[*STRINGS[:59], 5])
    assert fitted.fingerprint() == before


@pytest.mark.parametrize("ids", [None, STRINGS, UUIDS])
def test_deleting_a_subject_removes_all_its_rows(ids: Any) -> None:
    """Person u-3 has the rows 3, 23 and 43."""
    fitted = forest().fit(X, Y, ids=ids, subjects=PEOPLE)
    names = list(range(60)) if ids is None else ids
    assert fitted.ids_of(["u-3"]) == sorted([names[3], names[23], names[43]])
    assert fitted.deletion_cost(subjects=["u-3"]).n_rows == 3
    report = fitted.delete(subjects=["u-3"])
    assert set(report.ids) == {names[3], names[23], names[43]}
    assert "u-3" not in fitted.subjects_
    others = [i for i in range(60) if i % 20 != 3]
    fresh = forest().fit(X[others], Y[others], ids=[names[i] for i in others])
    assert fitted.fingerprint() == fresh.fingerprint()


def test_subjects_follow_additions_and_deletions_of_rows() -> None:
    """A subject is there as long as one of its rows is; rows without a subject are fine."""
    fitted = forest().fit(X[:40], Y[:40])
    assert fitted.subjects_ == []
    fitted.add(X[40:42], Y[40:42], subjects=[17, 17])
    fitted.delete([40])
    assert fitted.ids_of(17) == [41]
    fitted.delete([41])
    with pytest.raises(UnknownSubjectError, match="17"):
        fitted.delete(subjects=17)


def test_rows_must_be_meant_in_one_way() -> None:
    """By ids or by subjects, not by both, not by neither; and subjects are names."""
    fitted = forest().fit(X, Y, subjects=PEOPLE)
    for arguments in ({}, {"ids": [1], "subjects": ["u-1"]}):
        with pytest.raises(InvalidInputError, match="either"):
            fitted.delete(**arguments)
    with pytest.raises(InvalidInputError, match="60 rows"):
        forest().fit(X, Y, subjects=PEOPLE[:5])
    with pytest.raises(InvalidInputError, match=r"1\.5"):
        forest().fit(X, Y, subjects=[1.5] * 60)
    assert fitted.n_rows_ == 60


@pytest.mark.parametrize("ids", [None, STRINGS, UUIDS])
@pytest.mark.parametrize("way", ["file", "pickle"])
def test_names_and_subjects_survive_saving(ids: Any, way: str, tmp_path: Path) -> None:
    """And the loaded forest deletes by them."""
    fitted = forest().fit(X, Y, ids=ids, subjects=PEOPLE)
    fitted.delete(subjects=["u-0"])
    if way == "file":
        fitted.save(tmp_path / "m.forest")
        loaded = deciduous.load(tmp_path / "m.forest")
    else:
        loaded = pickle.loads(pickle.dumps(fitted))
    assert loaded.ids_.tolist() == fitted.ids_.tolist()
    assert loaded.subjects_ == fitted.subjects_
    assert loaded.delete(subjects=["u-7"]) == fitted.delete(subjects=["u-7"])
    assert loaded.fingerprint() == fitted.fingerprint()


def test_deleted_names_are_not_in_the_file() -> None:
    """Neither the row's nor the person's."""
    fitted = forest().fit(X, Y, ids=STRINGS, subjects=[f"person {i}" for i in range(60)])
    fitted.delete(["row-13"])
    stored = fitted.to_bytes()
    assert b"row-14" in stored
    assert b"row-13" not in stored
    assert b"person 13" not in stored


@pytest.mark.parametrize(
    "subjects",
    [
        ["ann", None, "bob", None],
        ["ann", float("nan"), "bob", np.nan],
        pd.Series(["ann", pd.NA, "bob", None], dtype="string"),
        pl.Series(["ann", None, "bob", None]),
    ],
    ids=["None", "NaN", "NA", "null"],
)
def test_rows_may_belong_to_nobody(subjects: Any) -> None:
    """Missing subjects, in any form, in `fit`, `add` and files."""
    X = np.arange(8.0).reshape(4, 2)
    forest = DareForestClassifier(3, random_state=0).fit(X, [0, 1, 0, 1], subjects=subjects)
    assert forest.subjects_ == ["ann", "bob"]
    forest.add(X, [0, 1, 0, 1], subjects=subjects)
    loaded = DareForestClassifier.from_bytes(forest.to_bytes())
    assert loaded.ids_of(["ann"]) == [0, 4]
    loaded.delete(subjects=["ann", "bob"])
    assert loaded.ids_.tolist() == [1, 3, 5, 7]
    assert loaded.subjects_ == []
    with pytest.raises(UnknownSubjectError):
        loaded.delete(subjects=[None])


def test_integers_stay_integers_beside_missing_subjects() -> None:
    """Tables turn them into floats; a number that a float does not hold exactly is refused, as are fractions."""
    X = np.arange(6.0).reshape(3, 2)
    forest = DareForestClassifier(3, random_state=0).fit(X, [0, 1, 0], subjects=pd.Series([17, None, 4]))
    assert sorted(forest.subjects_) == [4, 17]
    assert forest.ids_of([17]) == [0]
    for wrong in (2.0**53, 0.5, True):
        with pytest.raises(InvalidInputError, match="Subjects"):
            forest.add(X[:1], [0], subjects=[wrong])


def test_message_about_names_says_what_works() -> None:
    """Strings do, if all rows have them."""
    with pytest.raises(InvalidInputError, match="strings or UUIDs"):
        DareForestClassifier(3).fit(np.zeros((2, 2)), [0, 1], ids=[1, "a"])


def test_names_with_the_same_digest_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that nobody gave deletes nothing, and is not taken for one that is there; here digests have two bits."""
    monkeypatch.setattr(_row_names, "_digest", lambda name: len(name) % 4)
    forest = DareForestClassifier(2, random_state=0).fit([[0], [1], [2]], [0, 1, 0], ids=["a", "bb", "ccc"])
    before = forest.fingerprint()
    for use in (
        lambda: forest.delete(["xx"]),
        lambda: forest.deletion_cost(["xx"]),
        lambda: forest.add([[3]], [1], ids=["xx"]),
        lambda: forest.update([[3]], [1], ["xx"]),
    ):
        with pytest.raises(InvalidInputError, match="'xx' has the same digest of 64 bits as 'bb'"):
            use()
    assert (forest.fingerprint(), list(forest.ids_)) == (before, ["a", "bb", "ccc"])


@pytest.mark.parametrize("purpose", ["ids", "subjects"])
def test_chosen_names_cost_no_more_time_than_others(monkeypatch: pytest.MonkeyPatch, purpose: str) -> None:
    """Python's hash of all these UUIDs is 0: a set or dict of them would compare each one with all others."""
    names = [UUID(int=number * sys.hash_info.modulus) for number in range(400)]
    assert {hash(name) for name in names} == {0}
    compared = []
    is_equal = UUID.__eq__
    monkeypatch.setattr(UUID, "__eq__", lambda one, other: compared.append(1) or is_equal(one, other))
    fitted = forest().fit(np.zeros((400, 3)), np.arange(400) % 2, **{purpose: names})
    loaded = DareForestClassifier.from_bytes(fitted.to_bytes())
    loaded.delete(**{purpose: names[:200]})
    loaded.add(np.zeros((200, 3)), np.arange(200) % 2, **{purpose: names[:200]})
    assert len(compared) < 10 * len(names)
