"""How a fork of the zygote becomes a node: a keeper, and the worker that it watches.

Contract: :func:`run_node` is called in a fresh fork, with the socket over which a request will come; it
returns when the node is no more. Standard library only; importable as a sibling module too.

>>> MAX_PROCESSES
32
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING:
    from ..reach.marks import Marks
if TYPE_CHECKING or __package__:
    from . import _branching, _forks, _parcel, _reach, _repl, _texts, keeper, linux, worker
    from ._request import SCRATCH, Request
else:
    import _forks

    _forks.watch()
    import _branching
    import _parcel
    import _reach
    import _repl
    import _texts
    import keeper
    import linux
    import worker
    from _request import SCRATCH, Request

    # The folder of reach has modules named as the standard library's: it comes last.
    own, sys.path[0:1] = sys.path[0:1], []
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import reach.dataframes
    import reach.marks
    import reach.part_of
    import reach.pictures
    import reach.tables
    import reach.typed  # noqa: F401

    del sys.path[-1]
    sys.path[0:0] = own

MAX_PROCESSES = 32  # of one node; what is more than a handful is a mistake that multiplies

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


def reseed() -> None:
    """Nodes must not draw the same random numbers."""
    import random

    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4), "little"))


def run_node(post: socket.socket, *, hardened: bool, zero_copy: bool) -> None:
    """In a fresh fork of the zygote: becomes the keeper of a node, forks its worker, and waits for the
    request over ``post``."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_CHILD_SUBREAPER, 1)
    # A session each for keeper and worker: the scheduler shares the processor between sessions
    # (autogroups), so that a crowd in the worker's cannot starve the one that has to end it.
    os.setsid()
    if os.getpid() != 1:  # else the kernel ends all that is inside
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        prctl(_SET_PDEATHSIG, signal.SIGTERM)
    scratch = _make_scratch(hardened)
    links: list[socket.socket] = []
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        pid = _forks.fork()
        if not pid:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setsid()
                ours.close()
                post.close()
                run_worker(theirs, scratch, hardened=hardened, zero_copy=zero_copy)
            finally:
                os._exit(1)
        theirs.close()
        data, fds, _, _ = socket.recv_fds(post, 1 << 16, 4)
        if not data:
            return
        control, orders, context, room = fds
        socket.send_fds(ours, [data], [control, context, room])
        known = _branching.identities(context, room)
        for fd in (control, context, room):
            os.close(fd)
        rooms = _branching.Rooms(scratch, SCRATCH, known, hardened=hardened)
        limits = _limits(json.loads(data), rooms, known[0])
        host = socket.socket(fileno=orders)
        links = keeper.run_keeper(host, ours, pid, limits, rooms)
    finally:
        _remove_scratch(scratch, hardened)
    # The host waits for their end, and need not wait until this process has given back its memory.
    for link in links:
        link.close()


def _make_scratch(hardened: bool) -> str:
    if hardened:
        return linux.make_scratch("node", SCRATCH)
    import tempfile

    path = os.path.join(tempfile.mkdtemp(prefix="unspool-"), linux.OWN)
    os.mkdir(path, 0o700)
    return path


def _remove_scratch(path: str, hardened: bool) -> None:
    if hardened:
        linux.remove_scratch(path)
    else:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def _limits(request: Request, rooms: _branching.Rooms, context: tuple[int, int]) -> keeper.Limits:
    return keeper.Limits(
        memory=request["memory"] + request["mapped"],
        scratch=SCRATCH,
        processes=MAX_PROCESSES,
        tasks=linux.MAX_TASKS,
        count_tasks=linux.node_tasks,
        measure_memory=functools.partial(linux.node_memory, known=[context]),
        measure_files=functools.partial(linux.node_files, known=[context]),
        measure_scratch=rooms.measure_own,
    )


def run_worker(desk: socket.socket, scratch: str, *, hardened: bool, zero_copy: bool) -> NoReturn:
    """In a fresh fork of the keeper: hardens itself and becomes the REPL."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    linux.close_others({1, 2, desk.fileno()})
    os.open("/dev/null", os.O_RDONLY)  # the lowest that is free: 0
    reseed()
    confined = linux.confine_worker(scratch=scratch, read_only=[]) if hardened else None
    poll = select.poll()
    poll.register(desk, select.POLLIN)
    if not poll.poll(0):
        _repl.rehearse()
    data, fds, _, _ = socket.recv_fds(desk, 1 << 16, 3)
    control, context, room = fds
    known = _branching.identities(0, context, room)
    request: Request = json.loads(data)
    load: Callable[[], object] = functools.partial(_parcel.open_parcel, context, zero_copy=zero_copy)
    copied = request["mapped"]  # mapped so that it can be written to
    if request["context"] != "pickle":
        copied = 0
        text = _texts.map_text(
            context, request["context"], request["start"], request["length"], zero_copy=zero_copy
        )
        os.close(context)
        load = functools.partial(str, text)  # a str of a str is the same object
    if confined is not None:
        memory, mapped, files = request["memory"], request["mapped"], request["files"]
        linux.seal_worker(confined, memory=memory, mapped=mapped, copied=copied, files=files)
    else:
        _limit_plainly(scratch, request["memory"] + copied)
    trace = cast("type[Marks]", _reach.reach("marks").Marks)
    worker.Worker(socket.socket(fileno=control), desk, _forks.fork).serve(
        load, room, trace, functools.partial(_branching.fork_off, known)
    )


def _limit_plainly(scratch: str, memory: int) -> None:
    """Without hardening: the limits that keep a mistake from taking the machine with it."""
    import resource

    os.chdir(scratch)
    for name in ("HOME", "TMPDIR", "PWD"):
        os.environ[name] = scratch
    import tempfile

    tempfile.tempdir = None  # it remembers where files of the zygote would go
    with open("/proc/self/statm", "rb") as file:
        now = int(file.read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (now + memory, now + memory))
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
