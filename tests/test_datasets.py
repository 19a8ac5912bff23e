"""The data sets of the paper: prepared as their index says, checked at load, missing with a reason, never replaced."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous.experiments import datasets, fetching, paper
from deciduous.experiments.datasets import (
    ENTRIES,
    REGISTRY,
    REGRESSION,
    STAND_IN,
    Unavailable,
    UnexpectedDataError,
    friedman,
    load,
)

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA, PAPER = SHARED / "data", SHARED / "paper"
PREPARATIONS = json.loads((DATA / "PREP.json").read_text()) if (DATA / "PREP.json").exists() else {}

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def sized(name: str) -> Any:
    """Large sets take seconds and gigabytes."""
    return pytest.param(name, marks=pytest.mark.slow) if REGISTRY[name].expected.n_train > 100_000 else name


def needs(name: str) -> Any:
    """Skips a test without the file of a data set."""
    path = DATA / f"{name}.parquet"
    return pytest.mark.skipif(not path.exists(), reason=f"there is no {path}")


# ------------------------------------------------------------------------------------------------------------ registry


def test_registry_has_the_data_sets_of_the_paper() -> None:
    assert [entry.name for entry in ENTRIES] == [row["dataset"] for row in paper.rows("datasets")]
    assert STAND_IN.stands_in_for == "higgs"
    assert not any(entry.is_regression for entry in (*ENTRIES, STAND_IN))
    assert [(entry.is_regression, entry.metric) for entry in REGRESSION] == [(True, "r2")] * len(REGRESSION)


@pytest.mark.skipif(not PAPER.exists(), reason=f"the paper's tables are not at {PAPER}")
@pytest.mark.parametrize("table", ["datasets", "deletion_speedup_summary", "hyperparameters", "memory_mb",
                                   "predictive_performance", "train_seconds"])  # fmt: skip
def test_tables_are_the_papers(table: str) -> None:
    with (PAPER / f"{table}.csv").open(encoding="utf-8") as file:
        assert paper.rows(table) == list(csv.DictReader(file))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_expected_sizes_are_the_papers_but_for_what_is_known(entry: datasets.Entry) -> None:
    """The paper prints one row more or less for four sets, and a column more for one; see the notes."""
    theirs = paper.dataset(entry.name)
    assert abs(entry.expected.n_train - theirs.n_train) <= 1
    assert abs(entry.expected.n_test - theirs.n_test) <= 1
    assert entry.expected.n_attributes - theirs.n_attributes == (-1 if entry.name == "no_show" else 0)
    assert entry.note or entry.expected.n_train + entry.expected.n_test == theirs.n_train + theirs.n_test


@pytest.mark.parametrize("name", [sized(name) for name in PREPARATIONS])
def test_real_sets_are_prepared_as_their_index_says(name: str) -> None:
    """`load` would refuse other numbers of rows, attributes and positives; here the rest."""
    prep, its = PREPARATIONS[name], datasets.table(name, DATA)
    assert (its.numeric, set(its.categories)) == (prep["numeric"], set(prep["one_hot"]))
    data = load(name, DATA)
    assert data.X.shape == (prep["measured"]["train_n"], prep["measured"]["p"])
    assert round(100 * data.y.mean(), 2) == prep["measured"]["train_pos_pct"]
    assert round(100 * data.y_test.mean(), 2) == prep["measured"]["test_pos_pct"]
    assert data.X.dtype == np.float32


# ------------------------------------------------------------------------------------------------------------- refusal


def test_absent_set_is_unavailable_and_says_what_helps(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=rf"no adult.parquet in {tmp_path} \(set DECIDUOUS_DATA .*fetch adult"):
        load("adult", tmp_path)
    with pytest.raises(Unavailable, match=r"no ctr.parquet .* no public loader"):
        load("ctr", tmp_path)


def test_unknown_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Unavailable, match=r"No data set is called 'iris'\. There are surgical, vaccine"):
        load("iris")


def test_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    pandas.DataFrame({"a": [1], "y": ["yes"]}).to_parquet(tmp_path / "bank_marketing.parquet")
    with pytest.raises(UnexpectedDataError, match=r"bank_marketing\.parquet lacks the columns age, campaign"):
        load("bank_marketing", tmp_path)


def test_file_of_other_size_is_refused_with_both_sizes(tmp_path: Path) -> None:
    rows = {f"x{i}": np.arange(10.0) for i in range(13)} | {"label": [0, 1] * 5}
    pandas.DataFrame(rows).to_parquet(tmp_path / "ctr.parquet")
    with pytest.raises(UnexpectedDataError, match=r"8 train rows instead of 800,000; .*5 positives instead of 29,040"):
        load("ctr", tmp_path)


def test_folder_is_the_given_one_then_the_variable_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    assert datasets.data_folder() == tmp_path / "cache" / "deciduous" / "data"
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "named"))
    assert datasets.data_folder() == tmp_path / "named"
    assert datasets.data_folder(tmp_path) == tmp_path


# ----------------------------------------------------------------------------------------------------------- generated


def test_generated_sets_have_the_shape_of_the_paper() -> None:
    for name, n_columns in (("synthetic", 40), ("higgs_stand_in", 28)):
        data = load(name, n_train=1_000)
        assert data.X.shape == (1_000, n_columns)
        assert data.X_test.shape == (250, n_columns)
        assert 0.3 < data.y.mean() < 0.7


def test_friedman_is_its_function_with_noise_of_one() -> None:
    """The first five columns give all of the target but the noise, and the seed decides both."""
    X, y = friedman(20_000, seed=3)
    a, b, c, d, e = X[:, :5].T
    noise = y - (10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e)
    assert X.shape == (20_000, 10)
    assert X.min() >= 0
    assert X.max() < 1
    assert noise.mean() == pytest.approx(0, abs=0.03)
    assert noise.std() == pytest.approx(1, abs=0.03)
    assert np.array_equal(friedman(20_000, seed=3)[1], y)
    assert not np.array_equal(friedman(20_000, seed=4)[1], y)


def test_generated_numbers_are_checked_and_sampled() -> None:
    """All of Friedman's rows have the mean that is expected; a sample of numbers is not stratified."""
    data = load("friedman")
    assert (data.X.shape, data.X_test.shape, data.y.dtype) == ((80_000, 10), (20_000, 10), np.float64)
    assert data.is_regression
    sample = data.sample(100, 50, seed=3)
    assert (len(sample.y), len(sample.y_test)) == (100, 50)
    assert np.isin(sample.y, data.y).all()
    assert not load("synthetic", n_train=100).is_regression


@pytest.mark.parametrize(
    "name",
    [pytest.param(its.name, marks=needs(its.made_from or its.name)) for its in REGRESSION if its.is_real],
)
def test_real_numbers_are_read_as_they_are(name: str) -> None:
    """`load` would refuse other numbers of rows and attributes, and another sum; the target is no column."""
    entry, data = REGISTRY[name], load(name, DATA)
    published = pandas.read_parquet(DATA / entry.file_name)[entry.target].to_numpy(np.float64)
    assert np.array_equal(np.sort(np.concatenate([data.y, data.y_test])), np.sort(published))
    table = datasets.table(name, DATA)
    assert entry.target not in table.numeric + table.categories
    assert not np.isnan(data.X).any()


def test_numbers_with_another_sum_are_refused(tmp_path: Path) -> None:
    """The right size is not enough."""
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.random((20_640, 8))).rename(columns=str).assign(MedHouseVal=1.0)
    frame.to_parquet(tmp_path / "california_housing.parquet")
    with pytest.raises(UnexpectedDataError, match="it has 20,640 as the sum of targets instead of 42,695"):
        load("california_housing", tmp_path)


def test_set_made_from_another_is_read_from_its_file(tmp_path: Path) -> None:
    """And says which file is not there, and how to get it."""
    with pytest.raises(Unavailable, match=r"no diabetes.parquet in .*`deciduous experiment fetch diabetes_stay`"):
        load("diabetes_stay", tmp_path)


def test_sample_is_of_the_seed_and_in_order() -> None:
    data = load("synthetic", n_train=1_000)
    sample = data.sample(100, 50, seed=3)
    assert (len(sample.y), len(sample.y_test)) == (100, 50)
    places = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in sample.X]
    assert places == sorted(places)
    assert np.array_equal(sample.X, data.sample(100, 50, seed=3).X)
    assert not np.array_equal(sample.X, data.sample(100, 50, seed=4).X)
    assert sample.y.sum() == round(100 * data.y.mean())
    assert data.sample(None, None, seed=1).X.shape == data.X.shape


# ------------------------------------------------------------------------------------------------------------ fetching


def as_csv(frame: Any, **options: Any) -> bytes:
    """A frame as its source has it: without names of columns unless asked for."""
    return frame.to_csv(index=False, **({"header": False} | options)).encode()


def in_zip(name: str, content: bytes) -> bytes:
    """An archive with one file in a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"folder/{name}", content)
    return buffer.getvalue()


def pages_of(name: str) -> dict[str, bytes]:
    """What UCI serves for a data set, made from our copy: its format, not ours."""
    frame = pandas.read_parquet(DATA / f"{name}.parquet")
    if name == "bank_marketing":
        return {"bank-additional.zip": in_zip("bank-additional-full.csv", as_csv(frame, header=True, sep=";"))}
    if name == "diabetes":
        return {"dataset_diabetes.zip": in_zip("diabetic_data.csv", as_csv(frame, header=True))}
    train, test = (frame[frame["split"] == part].drop(columns="split") for part in ("train", "test"))
    if name == "census":
        return {f"census-income.{part}.gz": gzip.compress(as_csv(rows), 1) for part, rows in
                (("data", train), ("test", test))}  # fmt: skip
    test = test.assign(income=test["income"] + ".")
    spaced = [as_csv(rows).replace(b",", b", ") for rows in (train, test)]
    return {"adult.data": spaced[0], "adult.test": b"|1x3 Cross validator\n" + spaced[1]}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("adult", marks=needs("adult")),
        pytest.param("bank_marketing", marks=needs("bank_marketing")),
        pytest.param("diabetes", marks=[needs("diabetes"), pytest.mark.slow]),
        pytest.param("census", marks=[needs("census"), pytest.mark.slow]),
    ],
)
def test_fetched_set_is_ours(name: str, tmp_path: Path) -> None:
    """The pages of its source give the same rows as our file."""
    pages = pages_of(name)
    path = datasets.fetch(name, tmp_path, download=lambda url: pages[url.rpartition("/")[2]])
    assert path == tmp_path / f"{name}.parquet"
    fetched, ours = load(name, tmp_path), load(name, DATA)
    assert np.array_equal(fetched.X, ours.X)
    assert np.array_equal(fetched.y_test, ours.y_test)


def test_higgs_is_read_as_numbers_and_checked(tmp_path: Path) -> None:
    """A few lines of it are not the data set, and are not kept."""
    lines = "\n".join(",".join(["1.000000e+00", *["0.5"] * 28]) for _ in range(10)).encode()
    frame = fetching.higgs(lambda _: gzip.compress(lines))
    assert frame.shape == (10, 29)
    with pytest.raises(UnexpectedDataError, match="8 train rows instead of 8,800,000"):
        datasets.fetch("higgs", tmp_path, download=lambda _: gzip.compress(lines))
    assert list(tmp_path.iterdir()) == []


def test_california_housing_is_fetched_by_scikit_learn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the archive that scikit-learn keeps; rows that are not the data set are not kept."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    joblib = pytest.importorskip("joblib")
    (tmp_path / "cache").mkdir()
    rows = np.random.default_rng(0).random((20_640, 9)) + 1
    joblib.dump(rows, tmp_path / "cache" / "cal_housing_py3.pkz", compress=6)
    frame = fetching.california_housing(fetching.download)
    assert frame.shape == (20_640, 9)
    with pytest.raises(UnexpectedDataError, match="as the sum of targets instead of 42,695"):
        datasets.fetch("california_housing", tmp_path)
    assert not (tmp_path / "california_housing.parquet").exists()


def test_failed_download_is_unavailable_with_the_reason(tmp_path: Path) -> None:
    def fails(_: str) -> bytes:
        raise OSError("no route to host")

    with pytest.raises(Unavailable, match="adult could not be fetched from UCI, adult: no route to host"):
        datasets.fetch("adult", tmp_path, download=fails)
    with pytest.raises(Unavailable, match="twitter has no public loader"):
        datasets.fetch("twitter", tmp_path)
