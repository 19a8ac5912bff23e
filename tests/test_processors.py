"""The same forest whichever processor the inner loops are for: each set that this machine can run, in a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from deciduous import _core

FORESTS = """
import numpy as np
from deciduous import DareForestClassifier, DareForestRegressor, _core

rng = np.random.default_rng(5)
n = 3_000
X = np.column_stack([rng.normal(size=(n, 4)), rng.integers(0, 2, (n, 6)), rng.integers(0, 90, (n, 2))])
X[rng.random(X.shape) < 0.02] = np.nan

def tell(forest, y, predict):
    forest.fit(X, y)
    forest.delete(np.arange(0, n, 11))
    forest.add(X[:22:11] + 1, y[:22:11], ids=[0, 11])
    assert forest.check()
    assert forest.verify()
    print(forest.fingerprint(), predict(X[:50]).tobytes().hex()[:4000])

print(_core.processor())
ways = [{}, {"candidates": "uniform"}, {"random_depth": 4}, {"n_thresholds": None}]
numbers = np.nan_to_num(X[:, :5]).sum(axis=1) * 2 + rng.normal(size=n)
for n_classes in (2, 7):
    for params in [*ways, {"criterion": "entropy"}]:
        forest = DareForestClassifier(3, random_state=1, **params)
        tell(forest, numbers.round() % n_classes, forest.predict_proba)
for targets in (numbers, numbers.round()):
    for params in ways:
        forest = DareForestRegressor(3, random_state=1, **params)
        tell(forest, targets, forest.predict)
        tell(forest, targets, lambda rows: forest.predict(rows, quantiles=[0.1, 0.9]))
"""


def printed(processor: str | None) -> list[str]:
    environment = os.environ | ({} if processor is None else {"DECIDUOUS_PROCESSOR": processor})
    command = [sys.executable, "-W", "ignore", "-c", FORESTS]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()


def test_plain_processors_are_always_there() -> None:
    assert _core.processors()[0] == "plain"
    assert _core.processor() in _core.processors()


@pytest.mark.parametrize("processor", _core.processors())
def test_forests_are_the_same_for_every_processor(processor: str) -> None:
    name, *forests = printed(processor)
    assert name == processor
    assert forests == printed(_core.processors()[-1])[1:]


def test_processor_that_is_none_is_ignored() -> None:
    assert printed("abacus")[0] == _core.processors()[-1]
