"""A REPL in one process that forks nothing: what runs where Linux's own calls are not to be had.

Contract: this file is executed with :class:`Asked`, as JSON, as its only argument. It is the worker itself:
its host watches and ends it from outside (:mod:`unspool.sandbox.lone`). No checkpoint is made before a cell,
so one that crashes costs the variables: on macOS, what goes on in a fork without an exec cannot rely on the
system's own libraries, among them the one that numpy multiplies with. It ends with the host. Standard library
only.
"""

from __future__ import annotations

import _thread
import errno
import functools
import json
import os
import resource
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypedDict

if TYPE_CHECKING or __package__:
    from ..reach.marks import Marks
    from . import _parcel, _texts, worker
    from ._request import Request
else:  # executed as a file: its siblings are not a package here
    _HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, _HERE)
    import _parcel
    import _texts
    import worker

    # The folder of reach has modules named as the standard library's: it comes last.
    sys.path[0:1] = []
    sys.path.append(os.path.dirname(_HERE))
    from reach.marks import Marks

    del sys.path[-1]


LEAVING = 10.0  # seconds, for a host that ends to be gone


class Asked(TypedDict):
    """What the host wants."""

    request: Request
    packages: Sequence[str]  # site-packages
    folder: str  # the only one that it may write to
    file_size: int  # bytes of a file at most
    fds: tuple[int, int, int, int]  # the worker's socket, the context, room for the screen, the host's life


class Alone(worker.Worker):
    """A worker that falls back on nothing."""

    def threads(self) -> int:
        """Those of cells make no difference here, and one that waits for the host's end is none of them."""
        return 1

    def leave(self) -> NoReturn:
        """A host that hangs up ends this process. One that is no more cannot: :func:`outlived` does, when it
        has tidied up. So the wait is over before its time."""
        time.sleep(LEAVING)
        os._exit(0)


def no_fork() -> int:
    raise OSError(errno.ENOTSUP, "REPLs are not forked here")


def outlived(life: int, folder: str) -> NoReturn:
    """Waits for the end of the host, which writes nothing, and ends. A cell may keep this thread from its
    turn: :mod:`unspool.sandbox._watch` ends such a one, and is not there yet when this process begins."""
    try:
        os.read(life, 1)
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # it leads its session: what its cells have started goes with it
    finally:
        os._exit(0)


def run(asked: Asked) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until a cell runs
    control, context, room, life = asked["fds"]
    for fd in asked["fds"]:
        os.set_inheritable(fd, False)
    _thread.start_new_thread(outlived, (life, asked["folder"]))
    sys.path += asked["packages"]
    for name in ("HOME", "TMPDIR", "PWD"):
        os.environ[name] = asked["folder"]
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, asked["file_size"])):
        resource.setrlimit(limit, (most, most))
    request = asked["request"]
    load: Callable[[], object] = functools.partial(_parcel.open_parcel, context, zero_copy=False)
    if request["context"] != "pickle":
        text = _texts.map_text(
            context, request["context"], request["start"], request["length"], zero_copy=False
        )
        os.close(context)
        load = functools.partial(str, text)  # a str of a str is the same object
    alone = Alone(socket.socket(fileno=control), None, no_fork)
    try:
        alone.serve(load, room, Marks)
    except ConnectionError:  # the host went while it was told something
        alone.leave()


if __name__ == "__main__":
    told: Asked = json.loads(sys.argv.pop())
    run(told)
