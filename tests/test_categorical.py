"""Categorical columns: the forest of the one-hot matrix, byte for byte, without the matrix."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import deciduous
from deciduous import DareForestClassifier, FrozenForestClassifier, InvalidInputError
from deciduous.export import to_onnx, to_shap, to_treelite
from deciduous.pictures import export_text
from deciduous.tuning import tune

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 9, "n_thresholds": 5, "random_state": 7}
CATEGORICAL = ["colour", "shop", "doors"]
N_SHOPS = 300
N_FIT, N_NEW = 500, 80

SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "every threshold": {"n_thresholds": None},
    "uniform": {"candidates": "uniform", "n_thresholds": 4},
    "random upper layers": {"random_depth": 3},
    "random trees": {"random_depth": 9},
    "entropy, large leaves": {"criterion": "entropy", "min_samples_leaf": 3},
    "a third of the trees": {"max_samples": 1 / 3},
    "all features": {"max_features": None, "max_depth": 4},
    "weighted classes": {"class_weight": {"bad": 3.5}},
    "balanced": {"class_weight": "balanced"},
    "lazy": {"lazy": True},
    "threads": {"n_jobs": 2},
}


# ---------------------------------------------------------------------------------------------------- the same rows


def frame_of(n_rows: int, seed: int) -> pandas.DataFrame:
    """Three categorical columns among three numeric ones: missing values in one of each, many shops with few rows."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 80, n_rows),
        "colour": rng.choice(np.array(["red", "green", "blue", "violet", None], dtype=object), n_rows),
        "price": np.where(rng.random(n_rows) < 0.2, np.nan, rng.lognormal(size=n_rows)),
        "shop": np.array([f"shop {i:03}" for i in range(N_SHOPS)], dtype=object)[
            rng.permutation(np.arange(n_rows) % N_SHOPS)
        ],
        "doors": rng.choice(np.array(["3", "4", "5"], dtype=object), n_rows),
        "rating": rng.normal(size=n_rows),
    }
    return pandas.DataFrame({name: pandas.Series(its, dtype=its.dtype) for name, its in columns.items()})


def labels_of(frame: pandas.DataFrame, seed: int) -> np.ndarray:
    """Three labels that depend on all columns, with noise."""
    shop = frame["shop"].map(lambda name: int(name[-3:]) % 7 if isinstance(name, str) else 0).to_numpy()
    score = (frame["colour"] == "red") + (frame["doors"] == "5") + shop / 3 + frame["rating"] + (frame["age"] > 50)
    noise = np.random.default_rng(seed).normal(size=len(frame))
    return np.array(["bad", "good", "so-so"])[np.digitize(score.to_numpy() + noise, [1.5, 3.0])]


FIT = frame_of(N_FIT, seed=1)
TABLE = FIT.astype(dict.fromkeys(CATEGORICAL, "category"))  # its dtypes declare the categories
LABELS = labels_of(FIT, seed=2)


def new_rows(n_rows: int, seed: int) -> pandas.DataFrame:
    """Rows with categories that nobody has seen before, and missing values where there were none."""
    frame = frame_of(n_rows, seed)
    frame.loc[::5, "colour"] = "infrared"
    frame.loc[::7, "shop"] = "shop 999"
    frame.loc[1::7, "shop"] = None
    frame.loc[::3, "doors"] = "2"
    return frame


NEW = new_rows(N_NEW, seed=3)
NEW_LABELS = labels_of(NEW, seed=4)
PROBES = pandas.concat([FIT[:100], new_rows(100, seed=5)], ignore_index=True)


def encoded(frame: pandas.DataFrame, fit: pandas.DataFrame = FIT) -> np.ndarray:
    """The one-hot matrix, by scikit-learn, of the categories in `fit`: column by column, category by category."""
    parts = []
    for name in frame:
        if name in CATEGORICAL:
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(fit[[name]].to_numpy(object))
            parts.append(encoder.transform(frame[[name]].to_numpy(object)))
        else:
            parts.append(frame[[name]].to_numpy(float))
    return np.hstack(parts).astype(np.float32)


FIT_MATRIX, NEW_MATRIX, PROBE_MATRIX = encoded(FIT), encoded(NEW), encoded(PROBES)


def categorical(**options: Any) -> DareForestClassifier:
    """A small forest for tables with our columns."""
    return DareForestClassifier(**(SMALL | {"categorical_features": CATEGORICAL} | options))


def numeric(**options: Any) -> DareForestClassifier:
    """The same for matrices."""
    return DareForestClassifier(**(SMALL | options))


def assert_same(forest: DareForestClassifier, plain: DareForestClassifier, probes: Any = PROBES) -> None:
    """The fingerprint and the bits of the predictions are the same, and the forest is sound."""
    assert forest.check()
    assert forest.fingerprint() == plain.fingerprint()
    assert forest.predict_proba(probes).tobytes() == plain.predict_proba(PROBE_MATRIX).tobytes()
    assert forest.classes_.tolist() == plain.classes_.tolist()


# ------------------------------------------------------------------------------------------------- the same forest


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_forest_is_that_of_the_one_hot_matrix(options: dict[str, Any]) -> None:
    """When fitted, and after deletions, additions and both; rows of unknown categories come and go, too."""
    forest, plain = categorical(**options).fit(FIT, LABELS), numeric(**options).fit(FIT_MATRIX, LABELS)
    assert forest.one_hot(FIT).tobytes() == FIT_MATRIX.tobytes()
    assert_same(forest, plain)
    assert forest.deletion_costs(range(100)).tolist() == plain.deletion_costs(range(100)).tolist()
    for doomed in ([0], [17], range(100, 200), [i for i in range(200, N_FIT) if i % 3]):
        assert forest.deletion_cost(doomed) == plain.deletion_cost(doomed)
        assert forest.delete(doomed) == plain.delete(doomed)
        assert_same(forest, plain)
    assert forest.add(NEW, NEW_LABELS) == plain.add(NEW_MATRIX, NEW_LABELS)
    assert_same(forest, plain)
    for i in (0, 50):
        row = NEW[i : i + 1].reset_index(drop=True)  # the rows of a slice are named by its index, those of a matrix not
        assert forest.add(row, ["new"]) == plain.add(NEW_MATRIX[i : i + 1], ["new"])
    assert_same(forest, plain)
    assert forest.delete(range(N_FIT, N_FIT + 40)) == plain.delete(range(N_FIT, N_FIT + 40))
    assert_same(forest, plain)
    assert forest.verify()


def containers(frame: pandas.DataFrame) -> dict[str, tuple[Any, Any]]:
    """The same rows in many ways, with the `categorical_features` that they need to fit."""
    table = polars.DataFrame({name: frame[name].tolist() for name in frame}, nan_to_null=True)
    kinds = dict.fromkeys(CATEGORICAL, polars.Categorical)
    arrow = table.to_arrow()
    for i, name in enumerate(frame):
        if name in CATEGORICAL:
            arrow = arrow.set_column(i, name, arrow.column(name).dictionary_encode())
    rows = frame.to_numpy(object)
    return {
        "pandas objects": (frame, CATEGORICAL),
        "pandas strings": (frame.astype(dict.fromkeys(CATEGORICAL, "string")), CATEGORICAL),
        "pandas categories": (frame.astype(dict.fromkeys(CATEGORICAL, "category")), "from_dtype"),
        "polars strings": (table, CATEGORICAL),
        "polars categories": (table.cast(kinds), "from_dtype"),
        "pyarrow strings": (table.to_arrow(), CATEGORICAL),
        "pyarrow dictionaries": (arrow, "from_dtype"),
        "object array": (rows, [1, 3, 4]),
        "list": (rows.tolist(), [False, True, False, True, True, False]),
        "listed": (frame, {"colour": "auto", 3: [f"shop {i:03}" for i in range(N_SHOPS)], "doors": ["3", "4", "5"]}),
    }


@pytest.mark.parametrize("kind", containers(FIT))
def test_forest_does_not_depend_on_the_container(kind: str) -> None:
    """Neither at fit nor for additions or predictions; missing values are None, NaN, NA or null in their turn."""
    table, choice = containers(FIT)[kind]
    forest, plain = categorical(categorical_features=choice).fit(table, LABELS), numeric().fit(FIT_MATRIX, LABELS)
    probes, new = containers(PROBES)[kind][0], containers(NEW)[kind][0]
    assert_same(forest, plain, probes)
    forest.delete(range(0, N_FIT, 4))
    plain.delete(range(0, N_FIT, 4))
    assert forest.add(new, NEW_LABELS) == plain.add(NEW_MATRIX, NEW_LABELS)
    assert_same(forest, plain, probes)
    assert forest.categories_[1] == ["blue", "green", "red", "violet", None]
    assert forest.categories_[4] == ["3", "4", "5"]
    assert forest.categories_[0] is None


def test_categories_can_be_numbers() -> None:
    """Of a plain matrix; NaN is a category where `fit` saw it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 30, 300), rng.normal(size=300), rng.integers(0, 3, 300) / 2])
    X[::10, 0] = np.nan
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 2] > 0.6)).astype(int)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[:, [0, 2]])

    def as_numbers(X: np.ndarray) -> np.ndarray:
        indicators = encoder.transform(X[:, [0, 2]])
        return np.hstack([indicators[:, :31], X[:, [1]], indicators[:, 31:]])

    forest, plain = numeric(categorical_features=[0, 2]).fit(X, y), numeric().fit(as_numbers(X), y)
    probes = np.array([[4, 0.1, 0.5], [np.nan, 0, np.nan], [-1, np.nan, 9]])
    assert forest.fingerprint() == plain.fingerprint()
    assert forest.predict_proba(probes).tobytes() == plain.predict_proba(as_numbers(probes)).tobytes()
    assert forest.categories_ == [[*range(30), None], None, [0.0, 0.5, 1.0]]


def test_declared_categories_are_there_without_rows() -> None:
    """Those of a pandas dtype, in its order: any part of a table has the same attributes, so batches are one table."""
    declared = pandas.CategoricalDtype(["violet", "green", "red", "ultraviolet", "blue"])
    table = FIT.astype({"colour": declared, "shop": "category", "doors": "category"})
    forest = categorical(categorical_features="from_dtype")
    for begin in range(0, N_FIT, 100):
        forest.partial_fit(table[begin : begin + 100], LABELS[begin : begin + 100])
    whole = categorical(categorical_features="from_dtype").fit(table, LABELS)
    assert forest.fingerprint() == whole.fingerprint()
    assert forest.attribute_names()[1:7] == [
        "colour=violet",
        "colour=green",
        "colour=red",
        "colour=ultraviolet",
        "colour=blue",
        "colour=missing",
    ]


def test_weights_ids_and_subjects_go_along() -> None:
    """Rows with categories have names as others do."""
    subjects = [f"person {i % 50}" for i in range(N_FIT)]
    ids = [f"row {i}" for i in range(N_FIT)]
    weights = 1 + np.arange(N_FIT) % 4
    forest = categorical().fit(FIT, LABELS, ids=ids, subjects=subjects, sample_weight=weights)
    plain = numeric().fit(FIT_MATRIX, LABELS, ids=ids, subjects=subjects, sample_weight=weights)
    assert forest.delete(subjects=["person 7", "person 9"]) == plain.delete(subjects=["person 7", "person 9"])
    assert_same(forest, plain)


def test_rows_of_weight_zero_teach_no_categories() -> None:
    """They are no rows, so the forest is the one without them; declared categories are there all the same."""
    counts = np.random.default_rng(0).random(N_FIT) < 0.5
    forest = categorical().fit(FIT, LABELS, sample_weight=counts.astype(int))
    without = categorical().fit(FIT[counts], LABELS[counts], ids=np.flatnonzero(counts))
    assert forest.fingerprint() == without.fingerprint()
    assert forest.categories_ == without.categories_
    assert len(forest.categories_[3]) < N_SHOPS
    declared = categorical(categorical_features="from_dtype").fit(TABLE, LABELS, sample_weight=counts.astype(int))
    assert len(declared.categories_[3]) == N_SHOPS


def test_unknown_categories_are_none_of_them() -> None:
    """They are all alike, whatever their type: the row has a zero for each category of the column."""
    forest = categorical().fit(FIT, LABELS)
    strange = pandas.concat([FIT[:1]] * 4, ignore_index=True)
    strange["shop"] = pandas.Series(["nowhere", "", 5, None], dtype=object)
    matrix = forest.one_hot(strange)
    shops = [name.startswith("shop=") for name in forest.attribute_names()]
    assert not matrix[:, shops].any()
    assert (forest.predict_proba(strange) == forest.predict_proba(strange)[0]).all()


# ----------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("n_categories", [200, 400])
def test_memory_is_that_of_one_column(n_categories: int) -> None:
    """Not of hundreds: as much as if the numbers of the categories were numbers, in a byte or four for each row."""
    codes = np.random.default_rng(0).permutation(np.arange(4000) % n_categories).astype(np.float32)[:, np.newaxis]
    y = (codes[:, 0] % 3 == 0).astype(int)
    forest = numeric(categorical_features=[0]).fit(codes, y)
    one_hot = numeric().fit(codes == np.arange(n_categories), y)
    assert forest.fingerprint() == one_hot.fingerprint()
    # Bytes, whatever the number of rows: where each attribute has its bit, and a number has one attribute, too; and
    # the number of a column with so many categories that they have no bits.
    per_category, per_column = 4, 8
    own = per_category * (n_categories - 1) + per_column
    assert forest.memory_usage().data <= numeric().fit(codes, y).memory_usage().data + own
    assert forest.memory_usage().data < one_hot.memory_usage().data / 5
    assert forest.memory_usage().total < one_hot.memory_usage().total / 3


def test_memory_of_a_table_is_a_fraction() -> None:
    """All of it, with its numeric columns: six values a row instead of 311."""
    forest, plain = categorical().fit(FIT, LABELS), numeric().fit(FIT_MATRIX, LABELS)
    assert FIT_MATRIX.shape[1] == 5 + N_SHOPS + 3 + 3
    assert forest.memory_usage().data < plain.memory_usage().data / 5
    assert len(forest.to_bytes()) < len(plain.to_bytes()) / 2


# ------------------------------------------------------------------------------------------------------- inspecting


@pytest.fixture(scope="module")
def forest() -> DareForestClassifier:
    """Not to be changed."""
    return categorical(random_depth=1).fit(FIT, LABELS)


@pytest.fixture(scope="module")
def plain() -> DareForestClassifier:
    """Its twin of the one-hot matrix, not to be changed."""
    return numeric(random_depth=1).fit(FIT_MATRIX, LABELS)


def test_nodes_are_those_of_the_one_hot_forest(forest: DareForestClassifier, plain: DareForestClassifier) -> None:
    """Attributes, thresholds, rows, leaves that rows reach, and the paths to them."""
    for tree in range(SMALL["n_estimators"]):
        assert forest.tree_nodes(tree) == plain.tree_nodes(tree)
    assert (forest.apply(PROBES) == plain.apply(PROBE_MATRIX)).all()
    paths, begins = forest.decision_path(PROBES)
    plain_paths, plain_begins = plain.decision_path(PROBE_MATRIX)
    assert (paths != plain_paths).nnz == 0
    assert begins.tolist() == plain_begins.tolist()
    assert (forest.get_depth(), forest.get_n_leaves()) == (plain.get_depth(), plain.get_n_leaves())


def test_importance_of_a_column_is_that_of_its_categories(
    forest: DareForestClassifier, plain: DareForestClassifier
) -> None:
    """Summed up."""
    of_attribute = plain.feature_importances_
    names = [name.partition("=")[0] for name in forest.attribute_names()]
    sums = [of_attribute[[name == its for name in names]].sum() for its in FIT]
    assert forest.feature_importances_.shape == (6,)
    np.testing.assert_allclose(forest.feature_importances_, sums, rtol=1e-12)
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)


def test_attributes_have_the_names_of_their_categories(
    forest: DareForestClassifier, plain: DareForestClassifier
) -> None:
    """In text, too; columns without names are numbered."""
    names = forest.attribute_names()
    assert names[:8] == [
        "age",
        "colour=blue",
        "colour=green",
        "colour=red",
        "colour=violet",
        "colour=missing",
        "price",
        "shop=shop 000",
    ]
    assert names[-4:] == ["doors=3", "doors=4", "doors=5", "rating"]
    texts = [export_text(forest, tree) for tree in range(SMALL["n_estimators"])]
    assert texts == [export_text(plain, tree, feature_names=names) for tree in range(SMALL["n_estimators"])]
    assert any("colour=red <= " in text for text in texts)
    nameless = categorical(categorical_features=[1, 3, 4]).fit(FIT.to_numpy(object), LABELS)
    assert nameless.attribute_names()[:2] == ["x0", "x1=blue"]


# ---------------------------------------------------------------------------------------------------------- storing


def through_joblib(forest: Any, folder: Path) -> Any:
    """To a file and back."""
    joblib.dump(forest, folder / "forest.joblib")
    return joblib.load(folder / "forest.joblib")


def through_a_file(forest: Any, folder: Path) -> Any:
    """With `save` and `load`."""
    forest.save(folder / "forest")
    return deciduous.load(folder / "forest")


COPIES: dict[str, Callable[[Any, Path], Any]] = {
    "file": through_a_file,
    "bytes": lambda forest, _: type(forest).from_bytes(forest.to_bytes()),
    "pickle": lambda forest, _: pickle.loads(pickle.dumps(forest)),
    "joblib": through_joblib,
    "copy": lambda forest, _: copy.copy(forest),
    "deepcopy": lambda forest, _: copy.deepcopy(forest),
}
CHOICES: dict[str, Any] = {
    "names": CATEGORICAL,
    "indices": np.array([1, 3, 4]),
    "mask": [False, True, False, True, True, False],
    "lists": {"colour": ["red", np.nan, "blue"], 3: "auto", "doors": ("5", "3")},
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_are_the_same_and_go_on_alike(copied: Callable[[Any, Path], Any], choice: str, tmp_path: Path) -> None:
    """Categories are stored with the forest: rows of tables can be deleted, added and predicted."""
    forest = categorical(categorical_features=CHOICES[choice]).fit(FIT, LABELS)
    loaded = copied(forest, tmp_path)
    for _ in range(2):
        assert loaded.check()
        assert loaded.fingerprint() == forest.fingerprint()
        assert loaded.to_bytes() == forest.to_bytes()
        assert loaded.categories_ == forest.categories_
        assert loaded.attribute_names() == forest.attribute_names()
        assert loaded.predict_proba(PROBES).tobytes() == forest.predict_proba(PROBES).tobytes()
        if loaded.n_rows_ == N_FIT:
            assert loaded.delete(range(0, N_FIT, 3)) == forest.delete(range(0, N_FIT, 3))
            ids = range(5000, 5000 + len(NEW))
            assert loaded.add(NEW, NEW_LABELS, ids=ids) == forest.add(NEW, NEW_LABELS, ids=ids)
    assert loaded.verify()


@pytest.mark.parametrize("choice", CHOICES)
def test_clones_learn_the_categories_again(choice: str) -> None:
    """Clones of the forest, and of what a file makes of it, have its parameters but nothing that it learned."""
    forest = categorical(categorical_features=CHOICES[choice]).fit(FIT, LABELS)
    for twin in (clone(forest), clone(DareForestClassifier.from_bytes(forest.to_bytes()))):
        with pytest.raises(NotFittedError):
            _ = twin.categories_
        assert twin.fit(FIT, LABELS).fingerprint() == forest.fingerprint()
        assert twin.fit(NEW, NEW_LABELS).n_rows_ == N_NEW


def test_failed_fit_leaves_the_old_forest_usable() -> None:
    """With the categories that it had."""
    forest = categorical().fit(FIT, LABELS)
    before = forest.fingerprint()
    with pytest.raises(InvalidInputError, match="categorical_features names 'colour'"):
        forest.fit(FIT.drop(columns="colour"), LABELS)
    with pytest.raises(InvalidInputError, match="y"):
        forest.fit(NEW, LABELS)
    assert forest.fingerprint() == before
    assert forest.categories_[1] == ["blue", "green", "red", "violet", None]
    assert forest.predict(PROBES).shape == (200,)


# ----------------------------------------------------------------------------------------------------------- frozen

SECRET = "Lieselotte"


def forest_with_secret() -> DareForestClassifier:
    """A forest that split on a shop which only some rows had, before they were deleted."""
    table, labels = FIT.copy(), LABELS.copy()
    table.loc[:59, "shop"] = SECRET
    labels[:60] = "bad"
    return categorical(max_features=None).fit(table, labels)


def has_secret(data: bytes) -> bool:
    """Whether the name can be read in these bytes, in UTF-8 or in the wide characters of NumPy."""
    return SECRET.encode() in data or SECRET.encode("utf-32-le") in data


@pytest.mark.parametrize("options", [SETTINGS[name] for name in ("greedy", "uniform", "random trees", "balanced")])
def test_frozen_forest_predicts_the_same(options: dict[str, Any]) -> None:
    """Bit for bit, for unknown categories and missing values too, after updates too."""
    forest = categorical(**options).fit(FIT, LABELS)
    for _ in range(2):
        frozen = forest.freeze()
        for its in (frozen, FrozenForestClassifier.from_bytes(frozen.to_bytes()), pickle.loads(pickle.dumps(frozen))):
            assert its.predict_proba(PROBES).tobytes() == forest.predict_proba(PROBES).tobytes()
            assert its.predict(FIT).tolist() == forest.predict(FIT).tolist()
            assert its.n_features_in_ == 6
        if forest.n_rows_ == N_FIT:
            forest.delete(range(0, N_FIT, 2))
            forest.add(NEW, NEW_LABELS)


@pytest.mark.parametrize("kind", containers(FIT))
def test_frozen_forest_reads_every_container(kind: str) -> None:
    """As the forest does."""
    forest = categorical(categorical_features=containers(FIT)[kind][1]).fit(containers(FIT)[kind][0], LABELS)
    probes = containers(PROBES)[kind][0]
    assert forest.freeze().predict_proba(probes).tobytes() == forest.predict_proba(probes).tobytes()


def test_frozen_forest_has_no_names_of_categories_without_splits(tmp_path: Path) -> None:
    """A category is named in the file as long as a split asks for it; after its rows are deleted none does."""
    forest = forest_with_secret()
    assert has_secret(forest.freeze().to_bytes())
    forest.delete(range(60))
    frozen = forest.freeze()
    forest.save(tmp_path / "frozen", frozen=True)
    joblib.dump(frozen, stream := io.BytesIO())
    for data in (frozen.to_bytes(), (tmp_path / "frozen").read_bytes(), pickle.dumps(frozen), stream.getvalue()):
        assert not has_secret(data)
    assert deciduous.load(tmp_path / "frozen").predict_proba(PROBES).tobytes() == forest.predict_proba(PROBES).tobytes()
    asked = {
        name
        for tree in range(SMALL["n_estimators"])
        for node in forest.tree_nodes(tree)
        if node.attribute is not None and (name := forest.attribute_names()[node.attribute]).startswith("shop=")
    }
    assert 10 < len(asked) < N_SHOPS - 10
    for number in range(N_SHOPS):
        name = f"shop {number:03}"
        assert (name.encode() in frozen.to_bytes()) == (f"shop={name}" in asked)


def test_frozen_forests_of_equal_forests_are_equal() -> None:
    """However the forests came about: the frozen bytes do not tell which categories there were once."""
    forest = forest_with_secret()
    forest.delete(range(60))
    categories = {name: its for name, its in zip(FIT, forest.categories_, strict=True) if its is not None}
    again = categorical(max_features=None, categorical_features=categories)
    again.fit(NEW, np.full(N_NEW, "nothing"), ids=range(1000, 1000 + N_NEW))
    again.add(FIT[60:], LABELS[60:], ids=range(60, N_FIT))
    again.delete(range(1000, 1000 + N_NEW))
    assert again.fingerprint() == forest.fingerprint()
    assert again.freeze().to_bytes() == forest.freeze().to_bytes()
    assert FrozenForestClassifier.from_bytes(forest.freeze().to_bytes()).to_bytes() == forest.freeze().to_bytes()


def test_frozen_leaf_keeps_a_column_of_no_category_in_use() -> None:
    """A forest of one class asks for nothing, yet knows how many columns there are."""
    frozen = categorical().fit(FIT, np.zeros(N_FIT)).freeze()
    assert frozen.predict_proba(PROBES).tolist() == [[1.0]] * len(PROBES)
    for number in range(N_SHOPS):
        assert f"shop {number:03}".encode() not in frozen.to_bytes()


# ---------------------------------------------------------------------------------------------------------- exports


def test_exports_predict_the_same_on_the_one_hot_matrix(forest: DareForestClassifier) -> None:
    """Other libraries get `one_hot(X)`."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    treelite = pytest.importorskip("treelite")
    shap = pytest.importorskip("shap")
    matrix, shares = forest.one_hot(PROBES), forest.predict_proba(PROBES)
    assert matrix.tobytes() == PROBE_MATRIX.tobytes()
    session = runtime.InferenceSession(to_onnx(forest).SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["probabilities"], {"X": matrix})[0], shares, rtol=0, atol=1e-7)
    np.testing.assert_allclose(treelite.gtil.predict(to_treelite(forest), matrix)[:, 0], shares, rtol=0, atol=1e-12)
    explainer = shap.TreeExplainer(to_shap(forest))
    values = np.asarray(explainer.shap_values(matrix)).reshape(*matrix.shape, 3)
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, shares, rtol=0, atol=1e-9)


# ------------------------------------------------------------------------------------------- searches and pipelines


def test_tuning_takes_tables_with_categories() -> None:
    """It finds what it finds in the one-hot matrix, and fits the forest on the table."""
    grid: dict[str, Any] = {"n_estimators": (2, 4), "max_depth": (2, 5), "n_thresholds": 3, "cv": 3, "random_state": 1}
    options: dict[str, Any] = {"max_features": 20, "random_state": 5}
    of_table = tune(DareForestClassifier(**options), TABLE, LABELS, **grid)
    of_names = tune(DareForestClassifier(**options, categorical_features=CATEGORICAL), FIT, LABELS, **grid)
    of_matrix = tune(DareForestClassifier(**options), FIT_MATRIX, LABELS, **grid)
    assert of_table.scores == of_names.scores == of_matrix.scores
    assert of_table.random_depths == of_matrix.random_depths
    assert of_table.fitted_forest is not None
    assert of_matrix.fitted_forest is not None
    assert_same(of_table.fitted_forest, of_matrix.fitted_forest, PROBES)


def test_search_is_not_resumed_with_other_categories(tmp_path: Path) -> None:
    """More categories are more attributes, though no row has them: the scores of the journal are of other forests."""
    grid: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "n_thresholds": 3, "cv": 3, "random_state": 1}
    options: dict[str, Any] = {"refit": False, "resume_from": tmp_path / "journal", "tolerances": ()}
    tune(DareForestClassifier(random_state=5), TABLE, LABELS, **grid, **options)
    more = pandas.CategoricalDtype([*TABLE["doors"].cat.categories, *map(str, range(100, 200))])
    with pytest.raises(InvalidInputError, match="another search"):
        tune(DareForestClassifier(random_state=5), TABLE.astype({"doors": more}), LABELS, **grid, **options)


def test_skops_stores_a_forest_with_one_trusted_type() -> None:
    """As without categories."""
    skops_io = pytest.importorskip("skops.io")
    forest = categorical(categorical_features={"colour": "auto", "shop": "auto", "doors": ["3", "5"]}).fit(FIT, LABELS)
    stored = skops_io.dumps(forest)
    trusted = skops_io.get_untrusted_types(data=stored)
    assert trusted == ["deciduous.forest.DareForestClassifier"]
    loaded = skops_io.loads(stored, trusted=trusted)
    assert loaded.predict_proba(PROBES).tobytes() == forest.predict_proba(PROBES).tobytes()
    assert loaded.delete([3, 17]) == forest.delete([3, 17])


def test_cross_validation_scores_are_those_of_the_one_hot_matrix() -> None:
    """For declared categories; learned ones differ by fold, and their scores are scores all the same."""
    forest = categorical(categorical_features="from_dtype")
    of_table = cross_val_score(forest, TABLE, LABELS, cv=4)
    assert of_table.tolist() == cross_val_score(numeric(), FIT_MATRIX, LABELS, cv=4).tolist()
    assert (cross_val_score(categorical(), FIT, LABELS, cv=4) > 0.3).all()


def test_grid_search_and_pipelines_take_tables() -> None:
    """Parameters of categories can be searched over, too, and a step before the forest may make the table."""
    pipeline = make_pipeline(FunctionTransformer(lambda table: table.assign(age=table["age"] // 10)), categorical())
    grid = {
        "dareforestclassifier__max_depth": [2, 5],
        "dareforestclassifier__categorical_features": [CATEGORICAL, {"colour": "auto", "shop": "auto", "doors": ["3"]}],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(FIT, LABELS)
    assert len(search.cv_results_["mean_test_score"]) == 4
    assert search.predict(PROBES).shape == (200,)
    best = search.best_estimator_[-1]
    assert len(best.categories_[3]) == N_SHOPS
    assert best.verify()


# ------------------------------------------------------------------------------------------------------- real data


@pytest.mark.skipif(not (DATA / "adult.parquet").exists(), reason=f"the shared data sets are not at {DATA}")
def test_adult_by_categories_is_adult_one_hot() -> None:
    """All training rows: the same forest before and after deletions, in a fraction of the memory of the rows."""
    frame = pandas.read_parquet(DATA / "adult.parquet")
    is_train = (frame["split"] == "train").to_numpy()
    y = frame["income"].to_numpy()
    table = frame.drop(columns=["split", "income", "education-num"])
    texts = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
    assert len(texts) == 8
    train, test = table[is_train].astype(dict.fromkeys(texts, "category")), table[~is_train]
    parts, probes = [], []
    for name in table:
        encoder = (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False) if name in texts else FunctionTransformer()
        )
        parts.append(encoder.fit_transform(table.loc[is_train, [name]]))
        probes.append(encoder.transform(test[[name]]))
    matrix, probe_matrix = np.hstack(parts).astype(np.float32), np.hstack(probes).astype(np.float32)
    options: dict[str, Any] = {"n_estimators": 5, "max_depth": 12, "n_thresholds": 5, "n_jobs": 2, "random_state": 1}
    forest = DareForestClassifier(**options).fit(train, y[is_train])
    plain = DareForestClassifier(**options).fit(matrix, y[is_train])
    assert forest.one_hot(test).tobytes() == probe_matrix.tobytes()
    for _ in range(2):
        assert forest.fingerprint() == plain.fingerprint()
        assert forest.predict_proba(test).tobytes() == plain.predict_proba(probe_matrix).tobytes()
        doomed = forest.ids_[::50]
        assert forest.delete(doomed) == plain.delete(doomed)
    assert forest.check()
    assert forest.memory_usage().data < plain.memory_usage().data / 2


# ----------------------------------------------------------------------------------------------------------- errors


def test_rows_that_do_not_fit_the_columns_are_refused(forest: DareForestClassifier) -> None:
    """By the forest and the frozen one: other columns, text for numbers, sparse matrices."""
    for its in (forest, forest.freeze()):
        with pytest.raises(ValueError, match="feature names"):
            its.predict(PROBES.rename(columns={"colour": "color"}))
        with pytest.raises(ValueError, match="feature names"):
            its.predict(PROBES[list(reversed(PROBES.columns))])
        with pytest.raises(InvalidInputError, match=r"X\['age'\] holds text, such as 'old'"):
            its.predict(PROBES.assign(age="old"))
        with pytest.raises(InvalidInputError, match="infinity"):
            its.predict(PROBES.assign(rating=np.inf))
        with pytest.warns(UserWarning, match="feature names"), pytest.raises(InvalidInputError, match="X is sparse"):
            its.predict(csr_matrix((2, 6)))
    with pytest.raises(InvalidInputError, match="X is sparse, but has categorical features"):
        numeric(categorical_features=[0]).fit(csr_matrix(np.eye(3)), [0, 1, 0])


def test_refused_additions_change_nothing() -> None:
    """Not even the fresh ids."""
    forest = categorical().fit(FIT, LABELS)
    before = forest.to_bytes()
    for bad in (NEW.assign(age="old"), NEW.drop(columns="shop"), NEW.assign(price=np.inf)):
        with pytest.raises(ValueError):  # noqa: PT011
            forest.add(bad, NEW_LABELS)
    assert forest.to_bytes() == before


def test_text_without_a_choice_says_what_to_do() -> None:
    """Strings are not categories unless the user says so."""
    with pytest.raises(InvalidInputError, match=r"X\['colour'\] holds text.*name it in `categorical_features`"):
        DareForestClassifier().fit(FIT, LABELS)


def test_max_features_counts_attributes() -> None:
    """As for the one-hot matrix: rules and shares are those of 311 attributes, not of 6 columns."""
    for max_features in ("sqrt", "log2", 0.3, 200, None):
        forest = categorical(max_features=max_features, max_depth=3).fit(FIT, LABELS)
        plain = numeric(max_features=max_features, max_depth=3).fit(FIT_MATRIX, LABELS)
        assert forest.fingerprint() == plain.fingerprint()


def test_pyarrow_chunks_are_one_table() -> None:
    """Each with a dictionary of its own."""
    table = containers(FIT)["pyarrow dictionaries"][0]
    parts = [containers(part)["pyarrow dictionaries"][0] for part in (FIT[:123], FIT[123:])]
    chunked = pyarrow.concat_tables(parts)
    assert chunked.column("shop").num_chunks == 2
    forest = categorical(categorical_features="from_dtype")
    assert forest.fit(chunked, LABELS).fingerprint() == clone(forest).fit(table, LABELS).fingerprint()
