"""Files whose checksums are right, but whose description or categories are impossible."""

import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
import pytest

from deciduous import CorruptModelError, DareForestClassifier, DareForestRegressor, FrozenForestClassifier
from deciduous._validation import MAX_DEPTH
from file_format import Model, as_json, container, sections_of, with_section
from mutants import EVERY_MODEL, description_mutants, is_refused, places
from tampering import (
    CATEGORICAL,
    INF,
    NAN,
    REGRESSION,
    SOUND,
    Change,
    categorical_forest,
    changed,
    drop_meta,
    model,
    outcome,
    refusal,
    set_categories,
    set_meta,
    set_node,
    set_value,
)

# ------------------------------------------------------------------------------------------------------ description


NOT_JSON = {
    "empty": b"",
    "not JSON": b"{",
    "not text": b"\xff\xfe\xfd",
    "zeros": b"\0\0\0\0",
    "two objects": b"{}{}",
    "list": b"[]",
    "string": b'"meta"',
    "number": b"1",
    "null": b"null",
    "empty object": b"{}",
    "deep": b"[" * 100_000,
    "deep and closed": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "huge number": b'{"n_features_in":' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("meta", NOT_JSON.values(), ids=NOT_JSON)
def test_description_that_is_no_object_is_refused(meta: bytes) -> None:
    """Whatever else may be in its place."""
    refusal(with_section(SOUND, "meta", meta))


REQUIRED = [
    ("arguments",),
    ("params",),
    ("classes",),
    ("classes", "type"),
    ("classes", "values"),
    ("class_weight",),
    ("class_weight", "unit"),
    ("class_weight", "weights"),
    ("n_features_in",),
    ("feature_names_in",),
    *(("params", name) for name in model().meta["params"]),
]
ODD_VALUES = {
    "null": None,
    "true": True,
    "text": "1",
    "float": 1.5,
    "NaN": NAN,
    "list": [1],
    "object": {"a": 1},
    "huge": 10**400,
    "negative": -1,
}


@pytest.mark.parametrize("path", REQUIRED, ids=".".join)
def test_missing_entry_of_the_description_is_refused(path: tuple[str, ...]) -> None:
    """Each entry must be there: none has a default that could be the wrong one."""
    assert path[-1] in refusal(changed(drop_meta(*path)))


@pytest.mark.parametrize("odd", ODD_VALUES)
@pytest.mark.parametrize(
    "path", [path for path in REQUIRED if path not in {("class_weight",), ("feature_names_in",)}], ids=".".join
)
def test_entry_of_a_wrong_kind_is_refused(path: tuple[str, ...], odd: str) -> None:
    """No entry may be of another kind, or a number out of its range."""
    refusal(changed(set_meta(*path, to=ODD_VALUES[odd])))


TARGET_ENTRIES = [("targets",), ("targets", "exponent"), ("targets", "offset")]


@pytest.mark.parametrize("path", TARGET_ENTRIES[1:], ids=".".join)
def test_missing_entry_of_the_scale_of_targets_is_refused(path: tuple[str, ...]) -> None:
    """Neither has a default."""
    assert path[-1] in refusal(changed(drop_meta(*path), REGRESSION), DareForestRegressor)


@pytest.mark.parametrize("odd", [odd for odd in ODD_VALUES if odd != "negative"])
@pytest.mark.parametrize("path", TARGET_ENTRIES, ids=".".join)
def test_entry_of_a_wrong_kind_in_the_scale_of_targets_is_refused(path: tuple[str, ...], odd: str) -> None:
    """The exponent is an integer, the offset a number with a fraction that is a multiple of the scale."""
    refusal(changed(set_meta(*path, to=ODD_VALUES[odd]), REGRESSION), DareForestRegressor)


@pytest.mark.parametrize("which", EVERY_MODEL)
def test_anything_anywhere_in_a_description_is_refused_or_sound(which: str) -> None:
    """Each part of each description becomes each odd value; what loads can be saved and loaded again."""
    n_refused = n_sound = 0
    for what, data in description_mutants(EVERY_MODEL[which]):
        try:
            is_bad = is_refused(which, data)
        except Exception as error:
            raise AssertionError(f"{what} gives {type(error).__name__}: {error}") from error
        n_refused, n_sound = n_refused + is_bad, n_sound + (not is_bad)
    assert n_refused > n_sound > 0
    assert n_refused + n_sound > 300


@pytest.mark.parametrize("which", EVERY_MODEL)
def test_unknown_entry_anywhere_in_a_description_is_refused(which: str) -> None:
    """A later release may add entries that change what others mean: who does not know them would misread the file."""
    sections = dict(sections_of(EVERY_MODEL[which]))
    for name in sections.keys() & {"meta", "names", "categories"}:
        for path in places(json.loads(sections[name])):
            description = json.loads(sections[name])
            part = reduce(getitem, path, description)
            if isinstance(part, dict):
                part["later"] = 1
                assert is_refused(which, with_section(EVERY_MODEL[which], name, as_json(description))), (name, path)


BAD_META: dict[str, tuple[Change, str]] = {
    "no trees": (set_meta("params", "n_trees", to=0), "n_trees"),
    "other number of trees": (set_meta("params", "n_trees", to=3), "2 trees instead of 3"),
    "too many trees": (set_meta("params", "n_trees", to=2**20), "n_trees"),
    "rows in more trees than there are": (set_meta("params", "trees_per_row", to=3), "3 of 2"),
    "rows in no tree": (set_meta("params", "trees_per_row", to=0), "trees_per_row"),
    "depth 0": (set_meta("params", "max_depth", to=0), "max_depth"),
    "depth beyond the greatest": (set_meta("params", "max_depth", to=MAX_DEPTH + 1), "max_depth"),
    "random depth beyond the greatest": (set_meta("params", "random_depth", to=MAX_DEPTH + 1), "random_depth"),
    "negative stability": (set_meta("params", "stability", to=-0.5), "stability"),
    "stability beyond the greatest": (set_meta("params", "stability", to=1e4), "stability"),
    "stability as a text": (set_meta("params", "stability", to="0.1"), "stability"),
    "too many thresholds": (set_meta("params", "n_thresholds", to=10**6 + 1), "n_thresholds"),
    "no features": (set_meta("params", "max_features", to=0), "max_features"),
    "split of one row": (set_meta("params", "min_samples_split", to=1), "min_samples_split"),
    "leaf of no rows": (set_meta("params", "min_samples_leaf", to=0), "min_samples_leaf"),
    "seed of 65 bits": (set_meta("params", "seed", to=2**64), "seed"),
    "negative seed": (set_meta("params", "seed", to=-1), "seed"),
    "unknown candidates": (set_meta("params", "candidates", to="all"), "'all'"),
    "private name of candidates": (set_meta("params", "candidates", to="__class__"), "'__class__'"),
    "unknown criterion": (set_meta("params", "criterion", to="mse"), "'mse'"),
    "uniform without thresholds": (
        lambda p: p.meta["params"].update(candidates="uniform", n_thresholds=0),
        "without a number of thresholds",
    ),
    "no attributes": (set_meta("n_features_in", to=0), "0 columns"),
    "one attribute less": (set_meta("n_features_in", to=1), "too many"),
    "one attribute more": (set_meta("n_features_in", to=3), ""),
    "more attributes than bytes": (set_meta("n_features_in", to=2**40), "columns"),
    "attributes beyond 64 bits": (set_meta("n_features_in", to=2**70), "columns"),
    "labels of an unknown type": (set_meta("classes", "type", to="<c16"), "'<c16'"),
    "labels of Python objects": (set_meta("classes", "type", to="|O"), "'|O'"),
    "labels of records": (set_meta("classes", "type", to="i8,i8"), "'i8,i8'"),
    "labels of dates": (set_meta("classes", "type", to="<M8[s]"), "type"),
    "labels of bytes": (set_meta("classes", "type", to="|S3"), "type"),
    "labels of the other byte order": (set_meta("classes", "type", to=">i8"), "'>i8'"),
    "type with a line break": (set_meta("classes", "type", to="<i8\n"), "type"),
    "strings among numbers": (set_meta("classes", "values", to=[0, "1", 2]), "label"),
    "numbers among strings": (set_meta("classes", to={"type": "<U3", "values": ["a", 1, "c"]}), "label"),
    "strings longer than their type": (set_meta("classes", to={"type": "<U1", "values": ["a", "b", "cc"]}), "label"),
    "null among labels": (set_meta("classes", "values", to=[0, None, 2]), "label"),
    "list among labels": (set_meta("classes", "values", to=[0, [1], 2]), "label"),
    "nothing but lists": (set_meta("classes", "values", to=[[0], [1], [2]]), "label"),
    "duplicate labels": (set_meta("classes", "values", to=[0, 1, 1]), "distinct"),
    "duplicate strings": (set_meta("classes", to={"type": "<U3", "values": ["a", "b", "a"]}), "distinct"),
    "strings that differ in zeros at the end": (
        set_meta("classes", to={"type": "<U3", "values": ["a", "b", "a\0"]}),
        "distinct",
    ),
    "labels that do not fit": (set_meta("classes", to={"type": "|u1", "values": [0, 1, 256]}), "label"),
    "negative labels of a type without sign": (set_meta("classes", to={"type": "<u4", "values": [0, 1, -1]}), "label"),
    "labels beyond 64 bits": (set_meta("classes", "values", to=[0, 1, 2**70]), "label"),
    "half labels of a whole type": (set_meta("classes", "values", to=[0, 1.5, 2]), "label"),
    "numbers as booleans": (set_meta("classes", to={"type": "|b1", "values": [0, 7]}), "label"),
    "booleans as numbers": (set_meta("classes", "values", to=[False, True, 2]), "label"),
    "NaN as a label": (set_meta("classes", to={"type": "<f8", "values": [0.0, 1.0, NAN]}), "JSON"),
    "infinity as a label": (set_meta("classes", to={"type": "<f8", "values": [0.0, 1.0, INF]}), "JSON"),
    "label too large for its float": (set_meta("classes", to={"type": "<f4", "values": [0.0, 1.0, 1e300]}), "label"),
    "label that a narrow float cannot hold": (
        set_meta("classes", to={"type": "<f4", "values": [0.0, 1.0, 0.1]}),
        "label",
    ),
    "half a character as a label": (set_meta("classes", to={"type": "<U3", "values": ["a", "b", "\ud800"]}), "label"),
    "fewer classes than labels in rows": (set_meta("classes", "values", to=[0, 1]), "class 2 of 2"),
    "no classes": (set_meta("classes", "values", to=[]), "class"),
    "class weights of a wrong kind": (set_meta("class_weight", to=[[0, 1.0]]), "class_weight"),
    "class weights of short pairs": (set_meta("class_weight", "weights", to=[[0]]), "class_weight"),
    "class weights as an object": (set_meta("class_weight", "weights", to={"0": 1.0}), "class_weight"),
    "class weight beyond the unit": (set_meta("class_weight", "weights", to=[[0, 2.5]]), "unit"),
    "unit of class weights below 1": (set_meta("class_weight", to={"unit": 0.5, "weights": []}), "unit"),
    "infinite unit of class weights": (set_meta("class_weight", "unit", to=INF), "JSON"),
    "class weight 0": (set_meta("class_weight", "weights", to=[[0, 0.0]]), "class_weight"),
    "negative class weight": (set_meta("class_weight", "weights", to=[[0, -1.0]]), "class_weight"),
    "infinite class weight": (set_meta("class_weight", "weights", to=[[0, INF]]), "JSON"),
    "class weight NaN": (set_meta("class_weight", "weights", to=[[0, NAN]]), "JSON"),
    "huge class weight": (set_meta("class_weight", "weights", to=[[0, 10**400]]), "class_weight"),
    "class weight true": (set_meta("class_weight", "weights", to=[[0, True]]), "class_weight"),
    "class weight of a list": (set_meta("class_weight", "weights", to=[[[0], 1.0]]), "class_weight"),
    "class weight given twice": (set_meta("class_weight", "weights", to=[[0, 1.0], [0, 2.0]]), "class_weight"),
    "unknown entry": (set_meta("first_fresh_id", to=22), "'first_fresh_id'"),
    "unknown parameter of the core": (set_meta("params", "pruning", to=0.5), "'pruning'"),
    "unit of weights 1": (set_meta("weight_unit", to=1.0), "unit of its weights is 1.0"),
    "unit of weights 0": (set_meta("weight_unit", to=0.0), "unit of its weights is 0.0"),
    "negative unit of weights": (set_meta("weight_unit", to=-0.5), "unit of its weights is -0.5"),
    "unit of weights too large": (set_meta("weight_unit", to=1e300), "unit of its weights is 1e+300"),
    "unit of weights without a fraction": (set_meta("weight_unit", to=2), "'weight_unit'"),
    "unit of weights null": (set_meta("weight_unit", to=None), "'weight_unit'"),
    "too few names of columns": (set_meta("feature_names_in", to=["a"]), "names of columns"),
    "too many names of columns": (set_meta("feature_names_in", to=["a", "b", "c"]), "names of columns"),
    "names that are no strings": (set_meta("feature_names_in", to=["a", 1]), "names of columns"),
    "names as one string": (set_meta("feature_names_in", to="ab"), "names of columns"),
    "unknown argument": (set_meta("arguments", "secret", to=1), "'secret'"),
    "argument that is a method": (set_meta("arguments", "fit", to=1), "'fit'"),
    "argument self": (set_meta("arguments", "self", to=1), "'self'"),
    "argument of a wrong kind": (set_meta("arguments", "max_depth", to=[1]), "'max_depth'"),
    "argument class_weight of a wrong kind": (set_meta("arguments", "class_weight", to=7), "class_weight"),
    "argument class_weight huge": (set_meta("arguments", "class_weight", to=[[0, 10**400]]), "class_weight"),
    "argument n_jobs 0": (set_meta("arguments", "n_jobs", to=0), "n_jobs"),
    "argument n_jobs as text": (set_meta("arguments", "n_jobs", to="all"), "n_jobs"),
    "argument n_jobs beyond 64 bits": (set_meta("arguments", "n_jobs", to=2**70), "n_jobs"),
    "argument lazy as text": (set_meta("arguments", "lazy", to="yes"), "lazy"),
}


@pytest.mark.parametrize(("change", "words"), BAD_META.values(), ids=BAD_META)
def test_impossible_description_is_refused(change: Change, words: str) -> None:
    """Though all checksums are right."""
    assert words in refusal(changed(change))


def set_scale(exponent: int, offset: float) -> Change:
    """The scale of the targets is another."""
    return set_meta("targets", to={"exponent": exponent, "offset": offset})


CLASSES = {"type": "<i8", "values": [0]}
BAD_REGRESSION_META: dict[str, tuple[Change, str]] = {
    "exponent beyond the greatest": (set_meta("targets", "exponent", to=961), "the scale of its targets"),
    "exponent below the least": (set_meta("targets", "exponent", to=-999), "the scale of its targets"),
    "exponent beyond 64 bits": (set_meta("targets", "exponent", to=2**70), "the scale of its targets"),
    "exponent true": (set_meta("targets", "exponent", to=True), "'exponent'"),
    "exponent with a fraction": (set_meta("targets", "exponent", to=-32.0), "'exponent'"),
    "offset NaN": (set_meta("targets", "offset", to=NAN), "JSON"),
    "infinite offset": (set_meta("targets", "offset", to=-INF), "JSON"),
    "offset true": (set_meta("targets", "offset", to=True), "'offset'"),
    "offset without a fraction": (set_meta("targets", "offset", to=64), "'offset'"),
    "offset that is half a step": (set_meta("targets", "offset", to=32.0), "offset of its targets is 32.0"),
    "smallest offset": (set_meta("targets", "offset", to=5e-324), "offset of its targets is 5e-324"),
    "offset beyond all targets": (set_scale(900, 2.0**1000), "offset of its targets"),
    "offset that the scale does not reach": (set_scale(-998, 1.0), "offset of its targets is 1.0"),
    "more than a scale": (set_meta("targets", "unit", to=1.0), "'unit'"),
    "a scale of pairs": (set_meta("targets", to=[["exponent", -32], ["offset", 0.0]]), "'targets'"),
    "no scale": (set_meta("targets", to=None), "'targets'"),
    "criterion of classes": (set_meta("params", "criterion", to="gini"), "'gini' does not fit its targets"),
    "stability": (set_meta("params", "stability", to=0.5), "stability is 0.5"),
    "classes beside targets": (set_meta("classes", to=CLASSES), "unknown entries 'classes'"),
    "class weights beside targets": (set_meta("class_weight", to=None), "unknown entries 'class_weight'"),
    "argument class_weight": (set_meta("arguments", "class_weight", to=None), "'class_weight'"),
    "argument stability": (set_meta("arguments", "stability", to=0.0), "'stability'"),
    "argument target_range of one number": (set_meta("arguments", "target_range", to=[1.0]), "'target_range' is [1.0]"),
    "argument target_range of three": (set_meta("arguments", "target_range", to=[0.0, 1.0, 2.0]), "'target_range'"),
    "argument target_range as a number": (set_meta("arguments", "target_range", to=5), "'target_range' is 5"),
    "argument target_range as text": (set_meta("arguments", "target_range", to="ab"), "'target_range'"),
    "argument target_range of integers": (set_meta("arguments", "target_range", to=[0, 1]), "'target_range'"),
    "argument target_range of booleans": (set_meta("arguments", "target_range", to=[False, True]), "'target_range'"),
    "argument target_range out of order": (set_meta("arguments", "target_range", to=[1.0, 0.5]), "'target_range'"),
    "argument target_range too large": (set_meta("arguments", "target_range", to=[0.0, 1e301]), "'target_range'"),
    "argument target_range of NaN": (set_meta("arguments", "target_range", to=[NAN, 1.0]), "JSON"),
    "targets left out": (drop_meta("targets"), "it is a classifier, not a regressor"),
}


@pytest.mark.parametrize(("change", "words"), BAD_REGRESSION_META.values(), ids=BAD_REGRESSION_META)
def test_impossible_description_of_a_regressor_is_refused(change: Change, words: str) -> None:
    """Though all checksums are right."""
    assert words in refusal(changed(change, REGRESSION), DareForestRegressor)


SOUND_SCALES = {
    "coarsest": set_scale(960, 0.0),
    "finest": set_scale(-998, 0.0),
    "far offset": set_scale(-38, 2.0**54),
    "largest offset": set_scale(959, 2.0**997),
    "negative zero": set_scale(-32, -0.0),
    "negative exponent of one": set_scale(-1, 0.0),
}


@pytest.mark.parametrize("change", SOUND_SCALES.values(), ids=SOUND_SCALES)
def test_other_scale_of_targets_is_sound(change: Change) -> None:
    """The same trees with other numbers, all of them finite; the limits of its targets can be added."""
    data = changed(change, REGRESSION)
    assert outcome(data, updates=True, reader=DareForestRegressor) is None
    forest = DareForestRegressor.from_bytes(data)
    assert forest.verify()
    assert np.isfinite(forest.rows(forest.ids_).y).all()
    forest.add([[0, 0], [1, 1]], forest.target_range_)
    assert forest.verify()


def test_classifier_of_a_regressors_criterion_is_refused() -> None:
    """And one with a scale of targets beside its classes is no classifier."""
    assert "'squared_error' does not fit" in refusal(changed(set_meta("params", "criterion", to="squared_error")))
    both = changed(set_meta("targets", to={"exponent": -32, "offset": 0.0}))
    assert "it is a regressor, not a classifier" in refusal(both)
    assert "unknown" in refusal(both, DareForestRegressor)


def test_wrong_class_says_what_a_file_is_and_what_reads_it() -> None:
    """Before it says anything of entries that it does not know."""
    words = "it is a {}, not a {}; `deciduous.load` reads both"
    assert refusal(REGRESSION) == words.format("regressor", "classifier")
    assert refusal(SOUND, DareForestRegressor) == words.format("classifier", "regressor")
    with pytest.raises(CorruptModelError, match="it is a regressor"):  # as a pickle that was tampered with
        DareForestClassifier().__setstate__({"_model": REGRESSION})


# ------------------------------------------------------------------------------------------------------- categories


def drop_category(parts: Model) -> None:
    """A category less, though rows have it: here the missing colour."""
    parts.categories["features"][0]["has_missing"] = False


COLOURS = ("features", 0, "values")
COLOUR_NAMES = (*COLOURS, "values")
BAD_CATEGORIES: dict[str, tuple[Change, str]] = {
    "no features": (lambda p: p.categories.pop("features"), "'features'"),
    "an object of features": (set_categories("features", to={}), "'features'"),
    "features null": (set_categories("features", to=None), "'features'"),
    "empty list": (set_categories("features", to=[]), "each of its 3 features"),
    "one feature less": (lambda p: p.categories["features"].pop(), "each of its 3 features"),
    "one feature more": (lambda p: p.categories["features"].append(None), "each of its 3 features"),
    "a list for a feature": (set_categories("features", 0, to=["red"]), "feature 0"),
    "text for a feature": (set_categories("features", 0, to="red"), "feature 0"),
    "true for a feature": (set_categories("features", 2, to=True), "feature 2"),
    "empty object for a feature": (set_categories("features", 0, to={}), "feature 0"),
    "has_missing left out": (lambda p: p.categories["features"][0].pop("has_missing"), "has_missing"),
    "has_missing a number": (set_categories("features", 0, "has_missing", to=1), "has_missing"),
    "has_missing null": (set_categories("features", 0, "has_missing", to=None), "has_missing"),
    "values left out": (lambda p: p.categories["features"][0].pop("values"), "values"),
    "values a list": (set_categories(*COLOURS, to=["red"]), "values"),
    "values a number": (set_categories(*COLOURS, to=3), "values"),
    "no category at all": (set_categories("features", 1, to={"values": None, "has_missing": False}), "feature 1"),
    "type left out": (lambda p: p.categories["features"][0]["values"].pop("type"), "type"),
    "unknown type": (set_categories(*COLOURS, "type", to="<c16"), "'<c16'"),
    "Python objects": (set_categories(*COLOURS, "type", to="|O"), "'|O'"),
    "another type": (set_categories(*COLOURS, "type", to="<i8"), "type"),
    "longer type": (set_categories(*COLOURS, "type", to="<U99"), "long"),
    "widest type": (set_categories(*COLOURS, "type", to="<U999999999"), "long"),
    "empty list of values": (set_categories(*COLOUR_NAMES, to=[]), "feature 0"),
    "a value twice": (set_categories(*COLOUR_NAMES, to=["red", "blue", "red"]), "distinct"),
    "a number among strings": (set_categories(*COLOUR_NAMES, 0, to=1), "type"),
    "null among strings": (set_categories(*COLOUR_NAMES, 0, to=None), "type"),
    "half a character": (set_categories(*COLOUR_NAMES, 0, to="\ud800"), "feature 0"),
    "a string that ends in zero": (set_categories(*COLOUR_NAMES, 0, to="red\0"), "feature 0"),
    "NaN among numbers": (set_categories("features", 2, "values", "values", 0, to=NAN), "JSON"),
    "infinity among numbers": (set_categories("features", 2, "values", "values", 0, to=INF), "JSON"),
    "a huge number": (set_categories("features", 2, "values", "values", 0, to=10**400), "feature 2"),
    "a number column called categorical": (
        set_categories("features", 1, to={"values": None, "has_missing": True}),
        "column 1 has the unknown category",
    ),
    "a category less": (drop_category, "column 0 has the unknown category 3"),
    "two categories less": (
        set_categories("features", 0, to={"values": None, "has_missing": True}),
        "column 0 has the unknown category",
    ),
    "a categorical column called numeric": (set_categories("features", 0, to=None), "attribute"),
    "all columns called numeric": (set_categories("features", to=[None] * 3), "attribute"),
    "section left out": (lambda p: setattr(p, "categories", None), "attribute"),
}


@pytest.mark.parametrize(("change", "words"), BAD_CATEGORIES.values(), ids=BAD_CATEGORIES)
def test_impossible_categories_are_refused(change: Change, words: str) -> None:
    """Though all checksums are right: entries of other kinds, and others than rows and splits need."""
    assert words in refusal(changed(change, CATEGORICAL))


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_categories_that_are_no_object_are_refused(text: bytes) -> None:
    """As the description is."""
    refusal(with_section(CATEGORICAL, "categories", text))


def test_truncated_categories_are_refused() -> None:
    """At each length."""
    section = dict(sections_of(CATEGORICAL))["categories"]
    for length in range(len(section)):
        refusal(with_section(CATEGORICAL, "categories", section[:length]))


@pytest.mark.parametrize("encoding", ["coded", "plain"])
@pytest.mark.parametrize(
    "number", [4.0, 0.5, 2.999, -1.0, -0.001, 1e-40, 255.0, 2.0**24, 2.0**31, 2.0**32, 3e38, -3e38]
)
def test_rows_of_impossible_categories_are_refused(number: float, encoding: str) -> None:
    """Numbers beyond the last category, negative ones, and those between two categories."""

    def change(parts: Model) -> None:
        column = parts.rows.columns[0]
        if encoding == "plain":
            column.values, column.codes = [column.values[code] for code in column.codes], None
        column.values[0] = number

    assert "column 0 has the unknown category" in refusal(changed(change, CATEGORICAL))


@pytest.mark.parametrize("number", [INF, -INF])
def test_rows_of_infinite_categories_are_refused(number: float) -> None:
    """As in any other column."""
    assert "column 0" in refusal(changed(set_value(0, 0, number), CATEGORICAL))


def test_attributes_of_splits_are_those_of_all_categories() -> None:
    """Four colours, a number and two sizes are seven attributes; an eighth does not exist."""
    parts = Model.parsed(CATEGORICAL)
    assert len({attribute for tree in parts.trees for attribute in tree.attributes}) > 2
    assert "attribute 7 of 7" in refusal(changed(set_node("attributes", 0, 7), CATEGORICAL))


CHANGED_CHOICES = {
    "text": (7, False),
    "true": (True, False),
    "lists in a list": ([[0]], False),
    "null in a list": ([None], False),
    "floats": ([0.5], False),
    "no pairs": ({}, False),
    "pairs null": ({"pairs": None}, False),
    "pairs and more": ({"pairs": [], "more": 1}, False),
    "short pair": ({"pairs": [[0]]}, False),
    "pair of a float": ({"pairs": [[0.5, ["a"]]]}, False),
    "pair of a list": ({"pairs": [[[0], ["a"]]]}, False),
    "pair with a number": ({"pairs": [[0, 3]]}, False),
    "pair with lists": ({"pairs": [[0, [["a"]]]]}, False),
    "another word": ("whatever", True),  # `fit` will refuse it, and nothing before that reads it
    "other columns": ([5, 6, 7], True),
    "null": (None, True),
}


@pytest.mark.parametrize(("choice", "is_sound"), CHANGED_CHOICES.values(), ids=CHANGED_CHOICES)
def test_parameter_categorical_features_is_plain(choice: Any, is_sound: bool) -> None:
    """A word, a list, or pairs of a column and its categories; what `fit` made of it stands in the section."""
    reason = outcome(changed(set_meta("arguments", "categorical_features", to=choice), CATEGORICAL), updates=True)
    assert (reason is None) == is_sound
    assert is_sound or "categorical_features" in str(reason)


def test_other_names_of_categories_are_sound() -> None:
    """Nothing in a file depends on them: the forest is the same, and knows other words."""
    data = changed(set_categories(*COLOUR_NAMES, to=["maple", "oak", ""]), CATEGORICAL)
    forest = DareForestClassifier.from_bytes(data)
    assert forest.categories_[0] == ["maple", "oak", "", None]
    assert forest.fingerprint() == categorical_forest().fingerprint()


FROZEN_CATEGORIES: dict[str, Callable[[Any], Any]] = {
    "one feature less": lambda categories: categories["features"].pop(),
    "a feature of no categories": lambda categories: categories["features"][0].update(values=None, has_missing=False),
    "a category less": lambda categories: categories["features"][0]["values"].update(values=["green"]),
    "a category more": lambda categories: categories["features"][0]["values"]["values"].append("x"),
    "a category twice": lambda categories: categories["features"][0]["values"]["values"].append("green"),
    "numeric features": lambda categories: categories.update(features=[None] * 3),
}


@pytest.mark.parametrize("change", FROZEN_CATEGORIES.values(), ids=FROZEN_CATEGORIES)
def test_impossible_categories_of_a_frozen_forest_are_refused(change: Callable[[Any], Any]) -> None:
    """The splits of a frozen forest tell how many attributes there are, so a file cannot have others."""
    sound = categorical_forest().freeze().to_bytes()
    sections = sections_of(sound)
    assert container(sections) == sound
    categories = json.loads(dict(sections)["categories"])
    assert categories["features"][0]["values"]["values"] == ["blue", "green"]
    change(categories)
    with pytest.raises(CorruptModelError) as caught:
        FrozenForestClassifier.from_bytes(with_section(sound, "categories", as_json(categories)))
    assert caught.value.reason
    without = container([(name, data) for name, data in sections if name != "categories"])
    with pytest.raises(CorruptModelError):
        FrozenForestClassifier.from_bytes(without)
