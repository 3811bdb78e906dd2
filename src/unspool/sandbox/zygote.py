"""The zygote: a warm, hardened process that forks a node in milliseconds. Runs no model code.

Contract: the host executes this file once with a fixed environment and one inherited socket, and
sends it :class:`Setup`. It enters the sandbox (``linux.enter``) while it has one thread and nothing
imported, then imports what models use, and answers every ``open`` request by forking a keeper,
which forks the worker. It ends when the host's end of the socket closes.

A request carries file descriptors: the worker's control socket, the keeper's orders, the memfd with the
context, and one for what cells print. What goes wrong before the first request is sent to the host in words.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypedDict

if TYPE_CHECKING or __package__:
    from ..reach.marks import Marks
    from . import _branching, _forks, _parcel, _practice, _texts, keeper, linux, worker
else:  # executed as a file: its siblings are not a package here
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import _forks

    _forks.watch()
    import _branching
    import _parcel
    import _practice
    import _texts
    import keeper
    import linux
    import worker

    # The folder of reach has modules named as the standard library's: it comes last.
    sys.path[0:1] = []
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import reach.dataframes
    import reach.part_of
    import reach.pictures
    import reach.tables
    import reach.typed  # noqa: F401
    from reach.marks import Marks

    del sys.path[-1]

WARM = """
__future__ abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath collections
collections.abc colorsys concurrent.futures contextlib copy csv ctypes dataclasses datetime decimal
difflib email email.utils enum fractions functools gc getpass glob graphlib gzip hashlib heapq html
html.parser inspect io itertools json linecache locale logging math mmap multiprocessing numbers
operator os pathlib pickle pprint queue re reprlib secrets select shlex shutil signal sqlite3 stat
statistics string struct sys tempfile textwrap threading time timeit token tokenize traceback types
typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo
numpy pandas pyarrow
"""
SPARES = 3  # nodes that wait for a request
MOST_SPARES = 8  # where so many were asked for at once
QUIET = 10  # milliseconds without a request, after which another one is made
CALM = 150  # the same for those beyond the usual
SCRATCH = 256 << 20  # bytes
MAX_PROCESSES = 32  # of one node; what is more than a handful is a mistake that multiplies

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


class Setup(TypedDict):
    """The host's first message."""

    hardened: bool
    namespaces: bool  # enter them where they are to be had
    packages: list[str]  # site-packages: read-only, on sys.path
    warm: list[str]  # modules to import beside the usual ones


class Request(TypedDict):
    """The host's request for a node. Sizes in bytes, a text's place in characters."""

    memory: int
    mapped: int
    context: str  # "pickle", or the layout of a text
    start: int
    length: int
    files: bool  # it will be handed descriptors of the user's files


def import_random() -> None:
    """It would reseed itself in every fork, and so forget a cell's ``random.seed(…)`` by the next one."""
    register, os.register_at_fork = os.register_at_fork, lambda **_: None
    try:
        import random  # noqa: F401
    finally:
        os.register_at_fork = register


def warm_up(more: list[str]) -> list[str]:
    """Imports what models use; returns what is there. Never computes: threads must not start."""
    import warnings

    import_random()
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [*WARM.split(), *more]:
            with contextlib.suppress(Exception):  # whatever a package does at import is not our concern
                __import__(name)
                done.append(name)
    return done


def reseed() -> None:
    """Nodes must not draw the same random numbers."""
    import random

    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4), "little"))


class Zygote:
    """See the module docstring."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._keepers: set[int] = set()
        self._forking = False
        self._zero_copy = False
        self._hardened = False
        self._held: list[object] = []  # see fill_up
        self._spares: deque[tuple[int, socket.socket]] = deque()  # nodes that wait for a request
        self._wanted = SPARES
        self._asked = 0.0  # when a request came last

    def serve(self) -> NoReturn:
        setup: Setup = json.loads(self._control.recv(1 << 20) or b"null") or os._exit(0)
        hello: dict[str, object] = {}
        try:
            hello = self._prepare(setup)
        except RuntimeError as error:
            self._control.send(json.dumps({"error": str(error)}).encode())
            os._exit(1)
        self._control.send(json.dumps(hello).encode())
        signal.signal(signal.SIGCHLD, self._reap)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            # The forks of a node take longer than all the rest: they are made ahead, in a quiet moment.
            if not poll.poll(self._patience()):
                self._make_spare()
                continue
            data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 8)
            if not data:
                self._end()
            self._open(data, fds)

    def _patience(self) -> float | None:
        """Milliseconds to wait for a request before another spare is made; None: until one comes.

        What a crowd of children has used up comes back when they have their first turns behind them."""
        if len(self._spares) >= self._wanted:
            return None
        since = 1000 * (time.monotonic() - self._asked)
        return QUIET if len(self._spares) < SPARES else max(0.0, CALM - since)

    def _prepare(self, setup: Setup) -> dict[str, object]:
        here = os.path.dirname(os.path.abspath(__file__))
        self._hardened = setup["hardened"]
        packages = [path for path in setup["packages"] if os.path.isdir(path)]
        sys.path += packages
        tier = linux.enter([*packages, here], setup["namespaces"]) if self._hardened else "none"
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
        self._zero_copy = _texts.self_test()
        warm = warm_up(setup["warm"])
        _forks.unwatch()
        reseed()  # as each node will
        _practice.practise()
        gc.collect()
        self._held = _practice.fill_up()
        gc.freeze()
        return {"tier": tier, "zero_copy": self._zero_copy, "warm": warm}

    def _open(self, request: bytes, fds: list[int]) -> None:
        self._asked = time.monotonic()
        for _ in range(len(self._spares) + 1):
            if not self._spares:
                self._make_spare()
                if select.select([self._control], [], [], 0)[0]:  # others wait by now: it is a crowd
                    self._wanted = min(self._wanted + 1, MOST_SPARES)
            with contextlib.suppress(IndexError, OSError):  # it may have died in its sleep
                _, post = self._spares.popleft()
                with post:
                    socket.send_fds(post, [request], fds)
                break
        for fd in fds:
            os.close(fd)

    def _make_spare(self) -> None:
        post, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fork: Callable[[], int] = linux.fork_node if self._hardened else _forks.fork
        self._forking = True  # a keeper that is not on the list yet must not be taken for a stray
        pid = fork()
        if not pid:
            code = 1
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._control.close()
                for held in (post, *(post for _, post in self._spares)):
                    held.close()
                run_node(theirs, hardened=self._hardened, zero_copy=self._zero_copy)
                code = 0
            finally:
                os._exit(code)
        theirs.close()
        self._keepers.add(pid)
        self._spares.append((pid, post))
        self._forking = False
        self._reap()

    def _reap(self, *signalled: object) -> None:
        """Keepers that have ended; and what a killed keeper has left behind."""
        if self._forking:
            return
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                break
            self._keepers.discard(pid)
            for spare in [spare for spare in self._spares if spare[0] == pid]:
                spare[1].close()
                self._spares.remove(spare)
        for pid in keeper.children(os.getpid()):
            if pid not in self._keepers:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def _end(self) -> NoReturn:
        """The host is gone. Every keeper sees it too; where this is pid 1, its end is theirs."""
        if os.getpid() != 1:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for _, post in self._spares:
                post.close()
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        os._exit(0)


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
    for link in links:  # the host waits for their end, and need not wait for this process to give back its memory
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
        worker.rehearse()
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
    worker.Worker(socket.socket(fileno=control), desk, _forks.fork).serve(
        load, room, Marks, functools.partial(_branching.fork_off, known)
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


if __name__ == "__main__":
    Zygote(socket.socket(fileno=int(sys.argv[1]))).serve()
