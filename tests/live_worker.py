"""A process that works on a live forest in children of its own, which are killed. Driven by lines of JSON.

It forks children rather than starting anew, because importing takes longer than the work.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
import traceback
from typing import Any

from deciduous.live import LiveForest
from live_tables import Database, make_live


def work(task: dict[str, Any]) -> None:
    """What a child does, until it is killed."""
    if task["what"] == "create":
        live = make_live(Database(task["url"]), task["folder"], capture=task["capture"])
    else:
        live = LiveForest.open(task["folder"])
    if task["what"] == "sync":
        live.sync()
    elif task["what"] == "erase":
        live.erase(task["subject"])
    live.close()


def child(task: dict[str, Any], report: int) -> None:
    """Work, with a count of the calls that change files."""
    library = ctypes.CDLL(None)
    library.calls_so_far.restype = ctypes.c_long
    library.kill_at_call(ctypes.c_long(task.get("at_call", -1)))
    try:
        work(task)
        os.write(report, str(library.calls_so_far()).encode())
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
    calls = os.read(reading, 100).decode()
    os.close(reading)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "calls": int(calls) if calls else None,
        "seconds": time.monotonic() - begin,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
