"""Parameters and criteria of other forests that ours do not have are refused, with the reason in one sentence."""

import inspect
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError
from deciduous._refused import REASONS, REASONS_OF_CLASSIFIERS, REASONS_OF_CRITERIA, REASONS_OF_REGRESSORS
from deciduous._tasks import AUTO, settled_task

PAIRS = [(DareForestClassifier, RandomForestClassifier), (DareForestRegressor, RandomForestRegressor)]
REASONS_BY_KIND = {DareForestClassifier: REASONS_OF_CLASSIFIERS, DareForestRegressor: REASONS_OF_REGRESSORS}
CRITERIA = {"gini", "entropy", "squared_error"}


@pytest.mark.parametrize(
    ("forest", "name", "reason"),
    [(forest, name, reason) for forest, reasons in REASONS_BY_KIND.items() for name, reason in reasons.items()],
)
def test_refused_with_a_reason(forest: Any, name: str, reason: str) -> None:
    """When it is made, and later."""
    for refusing in (lambda: forest(**{name: 1}), lambda: forest().set_params(**{name: 1})):
        with pytest.raises(TypeError) as caught:
            refusing()
        assert str(caught.value) == f"{forest.__name__} has no parameter {name!r}: {reason}"


@pytest.mark.parametrize("criterion", REASONS_OF_CRITERIA)
@pytest.mark.parametrize("forest", [DareForestClassifier, DareForestRegressor])
def test_criterion_is_refused_with_a_reason(forest: Any, criterion: str) -> None:
    """By `fit`, as scikit-learn does it, and where the task is still open."""
    reason = REASONS_OF_CRITERIA[criterion]
    for refusing in (
        lambda: forest(criterion=criterion).fit([[0.0], [1.0]], [0, 1]),
        lambda: settled_task(AUTO, {"criterion": criterion}),
    ):
        with pytest.raises(InvalidInputError) as caught:
            refusing()
        assert str(caught.value).startswith(f"criterion={criterion!r} is not one of ")
        assert str(caught.value).endswith(f": {reason}")


@pytest.mark.parametrize("name", REASONS)
def test_refused_with_a_reason_where_the_task_is_open(name: str) -> None:
    """Live tables and the command line ask before there is a forest."""
    with pytest.raises(InvalidInputError) as caught:
        settled_task(AUTO, {name: 1})
    assert str(caught.value) == f"There is no parameter {name!r}: {REASONS[name]}"


def test_every_criterion_of_scikit_learn_is_there_or_refused() -> None:
    """Of both kinds of its forests."""
    theirs = [kind._parameter_constraints["criterion"][0].options for _, kind in PAIRS]
    assert set().union(*theirs) <= CRITERIA | set(REASONS_OF_CRITERIA)


@pytest.mark.parametrize(
    "reason",
    sorted({*REASONS_OF_CLASSIFIERS.values(), *REASONS_OF_REGRESSORS.values(), *REASONS_OF_CRITERIA.values()}),
)
def test_reasons_are_one_sentence(reason: str) -> None:
    """It ends with its only full stop."""
    assert reason.endswith(".")
    assert ". " not in reason


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_every_parameter_of_scikit_learn_is_there_or_refused(ours: Any, theirs: Any) -> None:
    """Nobody who comes from there is left with "unexpected keyword argument"."""
    assert set(theirs().get_params()) <= set(ours().get_params()) | set(REASONS_BY_KIND[ours])


@pytest.mark.parametrize("forest", [DareForestClassifier, DareForestRegressor])
def test_signature_is_that_of_the_parameters(forest: Any) -> None:
    """Editors and `help` show the parameters; other unknown ones are unexpected as usual."""
    assert set(inspect.signature(forest).parameters) == set(forest().get_params())
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_trees'"):
        forest(n_trees=3)
