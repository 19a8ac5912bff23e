"""What a forest is beside its rows and trees, as plain JSON, and back, checked as if an enemy had written it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._class_weights import ClassWeights
from ._core import CandidateScheme, Criterion, Params
from ._row_weights import WHOLE
from ._targets import CLASSIFICATION, LARGEST_TARGET, LOWEST_EXPONENT, RANGE_BITS, REGRESSION, TargetScale
from ._validation import MAX_DEPTH, MAX_STABILITY, MAX_TREES, is_missing
from .errors import CorruptModelError, shown

# Resolved parameters that define a forest, with the range of each.
CORE_RANGES = {
    "n_trees": (1, MAX_TREES),
    "trees_per_row": (1, MAX_TREES),
    "max_depth": (1, MAX_DEPTH),
    "random_depth": (0, MAX_DEPTH),
    "n_thresholds": (0, 10**6),
    "max_features": (1, 2**30),
    "min_samples_split": (2, 2**31 - 1),
    "min_samples_leaf": (1, 2**31 - 1),
    "seed": (0, 2**64 - 1),
}
PRESENT_ARGUMENTS = ("lazy", "n_jobs", "verbose")  # those that do not define the forest
STRUCTURED = {"class_weight", "categorical_features", "target_range"}  # arguments that are more than a plain value
HIGHEST_EXPONENT = math.frexp(2 * LARGEST_TARGET)[1]  # of the smallest power of two that no range of targets exceeds
LABEL_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str}
FOREST, FROZEN = "forest", "frozen"  # kinds of models
ESTIMATORS = {CLASSIFICATION: "classifier", REGRESSION: "regressor"}  # what their models are called
FREE_PADDING = 2**26  # bytes
LABEL_TYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U\d{1,9}")


def params_state(params: Params) -> dict[str, Any]:
    """The core's parameters."""
    numbers = {name: getattr(params, name) for name in CORE_RANGES}
    stability = {"stability": params.stability} if params.stability > 0 else {}
    return numbers | stability | {"candidates": params.candidates.name, "criterion": params.criterion.name}


def params_from(state: Mapping[str, Any]) -> Params:
    """The core's parameters, each in its range."""
    require_known(state, {*CORE_RANGES, "stability", "candidates", "criterion"})
    params = Params()
    for name, (least, greatest) in CORE_RANGES.items():
        value = entry(state, name, int)
        if not least <= value <= greatest:
            raise CorruptModelError(f"its parameter {name} is {value}, outside of [{least}, {greatest}]")
        setattr(params, name, value)
    params.stability = entry(state, "stability", float) if "stability" in state else 0.0
    if not 0 <= params.stability <= MAX_STABILITY:
        raise CorruptModelError(f"its stability is {params.stability}, outside of [0, {MAX_STABILITY}]")
    if params.trees_per_row > params.n_trees:
        raise CorruptModelError(f"a row cannot be in {params.trees_per_row} of {params.n_trees} trees")
    params.candidates = _member(CandidateScheme, entry(state, "candidates", str))
    params.criterion = _member(Criterion, entry(state, "criterion", str))
    if params.candidates == CandidateScheme.uniform and params.n_thresholds == 0:
        raise CorruptModelError("it has uniform candidates without a number of thresholds")
    return params


def _member(kinds: Any, name: str) -> Any:
    if name not in kinds.__members__:
        raise CorruptModelError(f"it names {name!r}, which is not known")
    return kinds[name]


def target_scale_state(scale: TargetScale) -> dict[str, Any]:
    """The scale of the targets of a regressor."""
    return {"targets": {"exponent": scale.exponent, "offset": scale.offset}}


def target_scale_from(meta: Mapping[str, Any]) -> TargetScale:
    """The scale of the targets of a regressor: such as a range of targets gives."""
    state = entry(meta, "targets", dict)
    scale = TargetScale(entry(state, "exponent", int), entry(state, "offset", float) + 0.0)  # no -0.0
    power = scale.exponent + RANGE_BITS
    if len(state) != 2 or not LOWEST_EXPONENT <= power <= HIGHEST_EXPONENT:
        raise CorruptModelError(f"the scale of its targets is {state!r}")
    step = math.ldexp(1.0, power)
    if not abs(scale.offset) <= min(LARGEST_TARGET + step, 2.0**54 * step) or math.fmod(scale.offset, step) != 0:
        raise CorruptModelError(f"the offset of its targets is {scale.offset!r}, which no range of targets gives")
    return scale


def entry(state: Mapping[str, Any], name: str, kind: type) -> Any:
    """An entry that must be there and of this kind."""
    value = state.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CorruptModelError(f"its description has no {name!r} of the kind {kind.__name__}")
    return value


def require_known(state: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises if there are other entries: what they change is not known here, so the rest could be misread."""
    if unknown := sorted(state.keys() - known):
        raise CorruptModelError(f"its description has the unknown entries {shown(map(repr, unknown))}")


def model_kind(meta: Mapping[str, Any]) -> str:
    """The kind of model that a description is of; without a word on it, a forest with its rows."""
    kind = meta.get("kind", FOREST)
    if kind not in (FOREST, FROZEN):
        raise CorruptModelError(f"it is a model of the unknown kind {kind!r}")
    return str(kind)


def require_kind(meta: Mapping[str, Any], kind: str) -> None:
    """Raises unless a description is of this kind of model."""
    if model_kind(meta) != kind:
        raise CorruptModelError(f"it is of the kind {model_kind(meta)!r}, not {kind!r}; `deciduous.load` reads both")


def weight_unit_state(unit: float) -> dict[str, Any]:
    """The unit of the weights of rows, where they are not whole numbers."""
    return {} if unit == WHOLE else {"weight_unit": unit}


def weight_unit_from(meta: Mapping[str, Any]) -> float:
    """The unit of the weights of rows."""
    if "weight_unit" not in meta:
        return WHOLE
    unit: float = entry(meta, "weight_unit", float)
    if not 1e-300 < unit < 1e300 or unit == WHOLE:
        raise CorruptModelError(f"the unit of its weights is {unit!r}")
    return unit


def task_in(meta: Mapping[str, Any]) -> str:
    """The task of the model that a description is of."""
    return REGRESSION if "targets" in meta else CLASSIFICATION


def require_task(meta: Mapping[str, Any], task: str) -> None:
    """Raises unless a description is of a model for this task."""
    if task_in(meta) != task:
        its, wanted = ESTIMATORS[task_in(meta)], ESTIMATORS[task]
        raise CorruptModelError(f"it is a {its}, not a {wanted}; `deciduous.load` reads both")


def labels_state(labels: NDArray[Any]) -> dict[str, Any]:
    """Labels with their type: little-endian, strings as wide as the longest, half floats as floats."""
    plain = (
        np.array(labels.tolist(), dtype=str)
        if labels.dtype.kind == "U"
        else labels.astype(labels.dtype.newbyteorder("<"))
    )
    if plain.dtype == np.float16:
        plain = plain.astype(np.float32)
    if not LABEL_TYPES.fullmatch(plain.dtype.str):
        raise TypeError(f"Labels of type {labels.dtype} cannot be stored.")
    return {"type": plain.dtype.str, "values": plain.tolist()}


def labels_from(state: Mapping[str, Any]) -> NDArray[Any]:
    """Distinct labels of one type."""
    require_known(state, {"type", "values"})
    kind = entry(state, "type", str)
    values = entry(state, "values", list)
    if not LABEL_TYPES.fullmatch(kind):
        raise CorruptModelError(f"it has labels of the unknown type {kind!r}")
    if not all(type(value) is LABEL_KINDS[kind[1]] for value in values):
        raise CorruptModelError("a label is not of the type of the labels")
    if kind[1] == "U" and not pads_well(values):
        raise CorruptModelError("its labels differ too much in length")
    try:
        # The length of strings is that of the longest one, not what the file claims.
        with np.errstate(over="ignore"):
            labels = np.array(values, dtype=kind if kind[1] != "U" else str)
        "".join(values if kind[1] == "U" else []).encode()
    except (ValueError, OverflowError, TypeError) as error:
        raise CorruptModelError(f"its labels do not fit their type: {error}") from None
    if len(np.unique(labels)) != len(labels):
        raise CorruptModelError("its labels are not distinct")
    if labels.tolist() != values or (kind[1] == "f" and not np.isfinite(labels).all()):
        raise CorruptModelError("a label does not fit the type of the labels")
    if kind[1] == "U" and labels.dtype.str != kind:
        raise CorruptModelError("its labels are not as long as their type")
    return labels


def pads_well(strings: list[str]) -> bool:
    """Whether an array of these strings, each of which takes the room of the longest, is not much larger than they."""
    padded = 4 * len(strings) * max(map(len, strings), default=0)
    return padded <= FREE_PADDING + 64 * sum(map(len, strings))


def class_weights_state(weights: ClassWeights | None) -> dict[str, Any] | None:
    """Weights of classes, and their unit."""
    return None if weights is None else {"unit": weights.unit, "weights": _pairs_state(weights.by_label)}


def class_weights_from(meta: Mapping[str, Any]) -> ClassWeights | None:
    """Weights of classes, none of which is beyond their unit."""
    if meta.get("class_weight", 0) is None:
        return None
    state = entry(meta, "class_weight", dict)
    require_known(state, {"unit", "weights"})
    weights = ClassWeights(_pairs_from(state.get("weights")), entry(state, "unit", float))
    if not ClassWeights.of(weights.by_label).unit <= weights.unit < float("inf"):
        raise CorruptModelError(f"the unit of its 'class_weight' is {weights.unit}")
    return weights


def _pairs_state(weights: Mapping[Any, float]) -> list[list[Any]]:
    """Weights by label, in the order of the labels' text."""
    plain = {_plain(label): float(weight) for label, weight in weights.items()}
    return [[label, plain[label]] for label in sorted(plain, key=repr)]


def _pairs_from(pairs: Any) -> dict[Any, float]:
    """Weights by label."""
    is_sound = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str | int | float)
        and isinstance(pair[1], float)
        and 0 < pair[1] < float("inf")
        for pair in pairs
    )
    is_sound = is_sound and len({label for label, _ in pairs}) == len(pairs)
    if not is_sound:
        raise CorruptModelError("its 'class_weight' are not weights of labels")
    return {label: float(weight) for label, weight in pairs}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def arguments_state(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The estimator's own parameters; those that are no plain values, such as generators, are left out."""
    stored = {name: _plain(value) for name, value in arguments.items() if name not in STRUCTURED}
    plain = {name: value for name, value in stored.items() if isinstance(value, bool | int | float | str | None)}
    class_weight = arguments.get("class_weight")
    weights = class_weight if class_weight is None or isinstance(class_weight, str) else _pairs_state(class_weight)
    choice = {"categorical_features": choice_state(arguments["categorical_features"])}
    if "target_range" in arguments:  # a regressor, which has no class weights
        target_range = arguments["target_range"]
        return plain | choice | {"target_range": None if target_range is None else list(map(float, target_range))}
    return plain | choice | {"class_weight": weights}


def present_state(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of them that do not define the forest. The others may be anything: they are looked at by `fit`."""
    return {name: _plain(arguments[name]) for name in PRESENT_ARGUMENTS}


def choice_state(choice: Any) -> Any:
    """Which features are categorical: a word, a list, or a mapping as the list of its pairs."""
    if choice is None or isinstance(choice, str):
        return choice
    if isinstance(choice, Mapping):
        return {"pairs": [[_plain(feature), _listed(its)] for feature, its in choice.items()]}
    return _listed(choice)


def _listed(values: Any) -> Any:
    if isinstance(values, str):
        return values
    return [None if is_missing(value) else _plain(value) for value in values]


def _choice_from(state: Any) -> Any:
    is_list = isinstance(state, list) and all(isinstance(value, bool | int | str) for value in state)
    if state is None or isinstance(state, str) or is_list:
        return state
    pairs = state.get("pairs") if isinstance(state, dict) and len(state) == 1 else None
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], int | str)
        and (
            isinstance(pair[1], str)
            or (isinstance(pair[1], list) and all(isinstance(v, bool | int | float | str | None) for v in pair[1]))
        )
        for pair in pairs
    ):
        raise CorruptModelError("its parameter 'categorical_features' does not name features")
    return dict(pairs)


def arguments_from(state: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """The estimator's own parameters."""
    for name, value in state.items():
        if name not in known:
            raise CorruptModelError(f"it has the unknown parameter {name!r}")
        if name not in STRUCTURED and not isinstance(value, bool | int | float | str | None):
            raise CorruptModelError(f"its parameter {name!r} is not a plain value")
    arguments = dict(state)
    if not isinstance(state.get("class_weight"), str | None):
        arguments["class_weight"] = _pairs_from(state["class_weight"])
    if state.get("target_range") is not None:
        arguments["target_range"] = _range_from(state["target_range"])
    if "categorical_features" in state:
        arguments["categorical_features"] = _choice_from(state["categorical_features"])
    check_execution(arguments)
    return arguments


def _range_from(state: Any) -> tuple[float, float]:
    """A range of targets."""
    is_pair = isinstance(state, list) and len(state) == 2 and all(isinstance(limit, float) for limit in state)
    if not is_pair or not -LARGEST_TARGET <= state[0] <= state[1] <= LARGEST_TARGET:
        raise CorruptModelError(f"its parameter 'target_range' is {state!r}")
    return state[0], state[1]


def check_execution(arguments: Mapping[str, Any]) -> None:
    """The parameters that calls on a fitted forest read."""
    n_jobs, lazy = arguments.get("n_jobs"), arguments.get("lazy", False)
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) >= 2**31):
        raise CorruptModelError(f"its parameter 'n_jobs' is {n_jobs!r}")
    if not isinstance(lazy, bool):
        raise CorruptModelError(f"its parameter 'lazy' is {lazy!r}")
    verbose = arguments.get("verbose", 0)
    if not isinstance(verbose, int) or not 0 <= verbose < 2**31:
        raise CorruptModelError(f"its parameter 'verbose' is {verbose!r}")


def feature_names(names: Any, n_attributes: int) -> NDArray[Any]:
    """The names of the columns."""
    if not isinstance(names, list) or len(names) != n_attributes or not all(isinstance(n, str) for n in names):
        raise CorruptModelError(f"its names of columns are not {n_attributes} strings")
    return np.array(names, dtype=object)
