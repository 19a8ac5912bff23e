"""How another process asks the one that has a folder open to do something: by a socket in the folder.

One line of JSON goes each way, and one in between says that the question was understood. Only the owner of the folder
can ask, and nothing that is said is written to a file.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import FolderError, FolderInUseError
from ._folder import LEFT_TO_THE_PARENT

NAME = "socket"
LONGEST_QUESTION = 2**16  # bytes
PATIENCE = 10.0  # seconds that somebody has to ask
ENDURANCE = 60.0  # seconds that somebody waits to be heard
AT_ONCE = 16  # who may be asking
WAITING = 128  # who may wait for that; the system sends others away
HAS_DOORS = hasattr(socket, "AF_UNIX")
LONGEST_ADDRESS = 103  # bytes, where there is no other way to name a socket; 108 on Linux, which has one

Answer = Callable[[dict[str, Any]], dict[str, Any]]  # to a question


class Door:
    """Answers whoever asks, each in a thread of its own, until it is closed. Needs the lock of the folder."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        self._path = folder / NAME
        self._answer = answer
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._socket = _listening(folder)
        self._process = os.getpid()
        LEFT_TO_THE_PARENT.add(self)
        if self._socket is not None:
            threading.Thread(target=self._serve, args=(self._socket,), daemon=True, name="deciduous door").start()

    def close(self) -> None:
        """Let nobody in any more. Once: later, the socket in the folder is somebody else's."""
        door, self._socket = self._socket, None
        if door is None:
            return
        if os.getpid() == self._process:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)  # wakes the thread, where closing alone does not
            self._path.unlink(missing_ok=True)
        door.close()

    def _serve(self, door: socket.socket) -> None:
        while True:
            self._room.acquire()
            try:
                guest, _ = door.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._attend, args=(guest,), daemon=True, name="deciduous guest").start()

    def _attend(self, guest: socket.socket) -> None:
        try:
            with guest, suppress(OSError, ValueError, RecursionError):  # who leaves early, is slow, or talks nonsense
                if _is_ours(guest):
                    question = json.loads(_question(guest))
                    if not isinstance(question, dict):
                        return
                    guest.settimeout(None)
                    guest.sendall(b'{"heard": true}\n')
                    guest.sendall(json.dumps(self._answer(question)).encode() + b"\n")
        finally:
            self._room.release()


def asked(folder: Path, question: dict[str, Any]) -> dict[str, Any]:
    """The answer of the process that has the folder open."""
    try:
        with _connected(folder) as host, host.makefile("rb") as answers:
            host.sendall(json.dumps(question).encode() + b"\n")
            if not answers.readline():
                raise ConnectionError("it hung up")
            host.settimeout(None)  # a training may take hours
            answer = json.loads(answers.readline())
    except (OSError, ValueError) as error:
        raise FolderInUseError(folder, f"by a process that does not answer: {error}") from None
    if not isinstance(answer, dict):
        raise FolderInUseError(folder, "by a process that answers something else")
    return answer


def _question(guest: socket.socket) -> bytes:
    """What a guest asks: one line, which ends in time and is not too long."""
    deadline, data = time.monotonic() + PATIENCE, bytearray()
    while not data.endswith(b"\n"):
        guest.settimeout(max(0.001, deadline - time.monotonic()))
        piece = guest.recv(LONGEST_QUESTION + 1 - len(data))
        data += piece
        if not piece or len(data) > LONGEST_QUESTION:
            raise ConnectionError("the line has no end")
    return bytes(data)


def _is_ours(guest: socket.socket) -> bool:
    """Whether somebody asks who could open the folder as well: permissions say so, and Linux tells who it is."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return user in (os.geteuid(), 0)


# ------------------------------------------------------------------------------------------------------------ addresses


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The address of the socket. It has few bytes, so on Linux it is named by way of a descriptor of the folder."""
    if sys.platform == "linux":
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{descriptor}/{NAME}"
        finally:
            os.close(descriptor)
        return
    address = str(folder / NAME)
    if len(os.fsencode(address)) > LONGEST_ADDRESS:
        raise OSError(f"the name of the folder is too long for a socket in it ({LONGEST_ADDRESS} bytes)")
    yield address


@contextmanager
def _connected(folder: Path) -> Iterator[socket.socket]:
    if not HAS_DOORS:
        raise OSError("this system has no sockets in folders")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host, _address(folder) as address:
        host.settimeout(ENDURANCE)
        _knock(host, address)
        yield host


def _knock(host: socket.socket, address: str) -> None:
    """Connect, also if many others wait: the system does not wait for room, and says at once that there is none."""
    deadline = time.monotonic() + ENDURANCE
    while True:
        try:
            return host.connect(address)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _listening(folder: Path) -> socket.socket | None:
    """A socket in the folder, in the place of one that a process may have left; none where that is impossible."""
    if not HAS_DOORS:
        return None
    path = folder / NAME
    if path.is_symlink() or path.exists():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FolderError(f"{path} is in the place of the socket of a live forest, and is none. Remove it.")
        path.unlink()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(OSError):
            os.fchmod(door.fileno(), 0o600)  # from the start, where the system allows it
        with _address(folder) as address:
            door.bind(address)
        path.chmod(0o600)
        door.listen(WAITING)
    except OSError:  # a file system without sockets, or a long name: others get an error when they ask
        door.close()
        return None
    return door
