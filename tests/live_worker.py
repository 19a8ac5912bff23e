"""A process that works on a live forest in children of its own, which are killed. Driven by lines of JSON.

It forks children rather than starting anew, because importing takes longer than the work.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deciduous.live import LiveForest, _clock
from live_tables import Database, contents, make_live

LIBRARY = ctypes.CDLL(None)  # with the functions of `native/kill_at_call.c`
FAILURES = (OSError, sqlite3.Error, sa.exc.SQLAlchemyError)


def work(task: dict[str, Any]) -> Any:
    """What a child does, until it is killed."""
    if task["what"] == "create":
        live = make_live(Database(task["url"]), task["folder"], capture=task["capture"])
    else:
        live = LiveForest.open(task["folder"])
    if task["what"] == "sync":
        live.sync()
    elif task["what"] == "erase":
        live.erase(task["subject"])
    elif task["what"] == "key":
        live.new_key()
    elif task["what"] == "fail":
        return failing(live, task)
    live.close()
    return None


def failing(live: LiveForest, task: dict[str, Any]) -> dict[str, Any]:
    """Let calls fail while a person comes and goes, and say what of them is left in files when they are erased."""
    LIBRARY.fail_at_calls(ctypes.c_long(task["at_call"]), ctypes.c_long(task["n_calls"]))
    n_failures = sum(has_failed(deed) for deed in (live.sync, live.store))
    while has_failed(lambda: live.erase(task["subject"])):
        n_failures += 1
    n_calls = LIBRARY.calls_so_far()
    LIBRARY.fail_at_calls(ctypes.c_long(-1), ctypes.c_long(0))
    files = contents(Path(task["folder"])).values()
    found = [image for image in task["images"] if any(bytes.fromhex(image) in data for data in files)]
    live.close()
    return {"n_failures": n_failures, "n_calls": n_calls, "found": found}


def has_failed(deed: Callable[[], Any]) -> bool:
    """Whether it raised what a file that cannot be written makes it raise."""
    try:
        deed()
    except FAILURES:
        return True
    return False


def child(task: dict[str, Any], report: int) -> None:
    """Work, with a count of the calls that change files."""
    LIBRARY.calls_so_far.restype = ctypes.c_long
    wrong = timedelta(seconds=task.get("jump", 0))
    _clock.system_time = lambda: datetime.now(UTC) + wrong
    LIBRARY.kill_at_call(ctypes.c_long(-1 if task["what"] == "fail" else task.get("at_call", -1)))
    try:
        result = work(task)
        calls = LIBRARY.calls_so_far()
        LIBRARY.kill_at_call(ctypes.c_long(-1))  # nor half way through what follows
        os.write(report, json.dumps({"calls": calls, "result": result}).encode())
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def run(task: dict[str, Any]) -> dict[str, Any]:
    """How a child ended, after how many calls and seconds."""
    reading, writing = os.pipe()
    begin = time.monotonic()
    process = os.fork()
    if process == 0:
        child(task, writing)
    os.close(writing)
    if "after_seconds" in task:
        timer = threading.Timer(task["after_seconds"], os.kill, (process, signal.SIGKILL))
        timer.start()
    _, status = os.waitpid(process, 0)
    if "after_seconds" in task:
        timer.cancel()
        timer.join()
    reported = os.read(reading, 10_000).decode()
    os.close(reading)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - begin,
        **(json.loads(reported) if reported else {"calls": None}),
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
