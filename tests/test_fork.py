"""A forked process has a forest that works, or one that says at once why it does not; it never hangs.

Everything runs in processes of their own: what hangs can then be ended, and pytest is not forked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from patience import LIMIT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

PREAMBLE = """
    import os, signal, threading, warnings
    import numpy as np
    from deciduous import DareForestClassifier

    warnings.simplefilter("ignore")  # Python warns of forks beside threads, and this is about them
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    forest = DareForestClassifier(n_estimators=10, random_state=0).fit(X, y, ids=[f"row {i}" for i in range(300)])

    def in_child(action):
        '''What the action gave in a forked process: its words, or how it ended.'''
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # ends a process that hangs
            try:
                words = action()
            except Exception as error:
                words = f"{type(error).__name__}: {error}"
            os.write(writing, words.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            words = pipe.read()
        status = os.waitpid(pid, 0)[1]
        return words if status == 0 else f"ended by {status}"
"""


def output_of(program: str) -> str:
    """What a Python program prints."""
    text = textwrap.dedent(PREAMBLE) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


DURING_AN_UPDATE = """
    from contextlib import contextmanager
    import deciduous._forest

    is_inside, may_go_on = threading.Event(), threading.Event()

    @contextmanager
    def bar(*_):
        def report(n_done):
            is_inside.set()
            may_go_on.wait()
        yield report

    deciduous._forest.bar = bar
    updating = threading.Thread(target=lambda: forest.{update})
    updating.start()
    is_inside.wait()  # the core is in the middle of it, and holds its lock
    print(in_child(lambda: str(forest.predict(X[:5]))))
    print(in_child(lambda: str(forest.delete(["row 200"]))))
    print(in_child(lambda: str(forest.ids_)))
    may_go_on.set()
    updating.join()
    print(in_child(lambda: forest.fingerprint()) == forest.fingerprint())
"""


@pytest.mark.parametrize(
    "update",
    [
        "delete(['row 1', 'row 2'])",
        "add(X[:2], y[:2], ids=['a', 'b'])",
        "update(X[:1], y[:1], ['row 9'], delete=['row 1'])",
    ],
    ids=["delete", "add", "update"],
)
def test_process_forked_in_the_middle_of_an_update_says_so_at_once(update: str) -> None:
    """Its copy is half changed. In one that is forked later all is well."""
    *refused, later = output_of(DURING_AN_UPDATE.format(update=update)).splitlines()
    assert len(refused) == 3
    assert all(words.startswith("BrokenForest: Another thread was changing this forest") for words in refused)
    assert later == "True"


BESIDE_READERS = """
    expected = forest.predict_proba(X).tobytes()
    is_done = threading.Event()

    def read():
        while not is_done.is_set():
            forest.predict_proba(X)
            forest.memory_usage()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()

    def use():
        assert forest.predict_proba(X).tobytes() == expected
        forest.delete(["row 1"])
        assert forest.check()
        return forest.fingerprint()

    print({in_child(use) for _ in range(30)} == {in_child(use)})
    is_done.set()
    for reader in readers:
        reader.join()
    forest.delete(["row 1"])
    print(in_child(lambda: forest.fingerprint()) == forest.fingerprint())
"""


def test_process_forked_beside_predictions_goes_on() -> None:
    """It predicts, deletes and checks, whatever the threads were doing that it does not have."""
    assert output_of(BESIDE_READERS).split() == ["True", "True"]


HOLDING_THE_NAMES = """
    is_inside, may_go_on = threading.Event(), threading.Event()

    def hold():
        with forest._one_state():
            is_inside.set()
            may_go_on.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_inside.wait()
    print(in_child(lambda: str(forest.delete(["row 1"]).n_rows)))
    may_go_on.set()
    holder.join()
"""


def test_process_forked_while_a_thread_holds_the_names_goes_on() -> None:
    """The estimator's own lock is free there, too."""
    assert output_of(HOLDING_THE_NAMES).strip() == "1"
