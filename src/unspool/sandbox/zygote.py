"""The zygote: a warm, hardened process that forks a node in milliseconds. Runs no model code.

Contract: the host executes this file once with a fixed environment and one or two inherited sockets, and
sends it :class:`Setup`. It enters the sandbox (``linux.enter``) while it has one thread and nothing
imported, then imports what models use (and says so), and answers every ``open`` request by forking a keeper,
which forks the worker. It ends when the host's end of the first socket closes.

The imports take a second, for which a REPL need not wait, and a process that has numpy, pandas and pyarrow
takes twice as long to fork: where there is a second socket, a fork that has not made them, the *small*
zygote, answers the requests that come over it. Told to settle, when nobody waits for it, it imports the rest
of what models use.

A request carries file descriptors: the worker's control socket, the keeper's orders, the memfd with the
context, and one for what cells print. What goes wrong before the first request is sent to the host in words.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING or __package__:
    from . import _birth, _forks, _practice, _texts, _warm, keeper, linux, worker
    from ._request import SETTLE, Libraries, Setup
else:  # executed as a file: its siblings are not a package here
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import _birth
    import _forks
    import _practice
    import _texts
    import _warm
    import keeper
    import linux
    import worker
    from _request import SETTLE, Libraries, Setup

    sys.path[0:1] = []

SPARES, FEW = 3, 1  # nodes that wait for a request
MOST_SPARES = 8  # where so many were asked for at once
QUIET = 10  # milliseconds without a request, after which another one is made
CALM = 150  # the same for those beyond the usual
HEAD_START = 100  # milliseconds that the first REPL has the processor for itself, if no more is asked for

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


class Zygote:
    """See the module docstring."""

    def __init__(self, control: socket.socket, spares: int = SPARES) -> None:
        self._control = control
        self._usual = spares
        self._keepers: set[int] = set()
        self._forking = False
        self._zero_copy = False
        self._hardened = False
        self._held: list[object] = []  # see fill_up
        self._spares: deque[tuple[int, socket.socket]] = deque()  # nodes that wait for a request
        self._wanted = spares
        self._asked = 0.0  # when a request came last

    def serve(self, small: socket.socket | None = None) -> NoReturn:
        """Becomes a zygote, and another one without libraries, which answers ``small``."""
        setup: Setup = json.loads(self._control.recv(1 << 20) or b"null") or os._exit(0)
        hello: dict[str, object] = {}
        try:
            hello = self._prepare(setup)
        except RuntimeError as error:
            self._control.send(json.dumps({"error": str(error)}).encode())
            os._exit(1)
        self._tell(hello)
        self._heed(signal.SIGTERM)  # while it imports, it does not listen for the end of the host
        if small is not None:
            self._fork_small(small)
            self._usual = self._wanted = FEW  # most REPLs are the other one's
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            if any(event & select.POLLHUP for _, event in poll.poll(HEAD_START)):
                self._end()
        warm = self._warm_up(setup["libraries"])
        self._heed(0)
        self._tell({"warm": warm})
        self._answer()

    def _heed(self, order: int) -> None:
        """From here on this signal ends it, which it gets when the host dies, too. 0: not any more."""
        signal.signal(signal.SIGTERM, self._end if order else signal.SIG_DFL)
        if not self._hardened:  # else it dies at once
            ctypes.CDLL(None).prctl(_SET_PDEATHSIG, order)

    def _tell(self, news: dict[str, object]) -> None:
        with contextlib.suppress(OSError):  # the host may have gone: then there is nothing to read, either
            self._control.send(json.dumps(news).encode())

    def _answer(self) -> NoReturn:
        """Nodes for the host, until it goes."""
        signal.signal(signal.SIGCHLD, self._reap)
        self._reap()
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
            if data == SETTLE:
                self._settle()
            else:
                self._open(data, fds)

    def _patience(self) -> float | None:
        """Milliseconds to wait for a request before another spare is made; None: until one comes.

        What a crowd of children has used up comes back when they have their first turns behind them."""
        if len(self._spares) >= self._wanted:
            return None
        since = 1000 * (time.monotonic() - self._asked)
        return QUIET if len(self._spares) < self._usual else max(0.0, CALM - since)

    def _prepare(self, setup: Setup) -> dict[str, object]:
        here = os.path.dirname(os.path.abspath(__file__))
        self._hardened = setup["hardened"]
        packages = [path for path in setup["packages"] if os.path.isdir(path)]
        sys.path += packages
        tier = linux.enter([*packages, here], setup["namespaces"]) if self._hardened else "none"
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
        self._zero_copy = _texts.self_test()
        _warm.import_random()
        return {"tier": tier, "zero_copy": self._zero_copy}

    def _warm_up(self, libraries: Libraries) -> list[str]:
        """Makes what all nodes have in common; returns the modules that models use."""
        done = []
        if libraries == "never":
            self._leave_cold()
        else:
            done = _warm.warm_up(_warm.WARM)
        self._make_ready()
        return done

    def _make_ready(self) -> None:
        """What nodes would do each for itself, and what their forks need not copy then."""
        _forks.unwatch()
        _birth.reseed()  # as each node will
        _practice.practise()
        gc.collect()
        self._held = _practice.fill_up()
        gc.freeze()

    @staticmethod
    def _leave_cold() -> None:
        sys.meta_path.insert(0, _warm.Late(_warm.WARM, worker.seed_numpy, worker.beginning))

    def _settle(self) -> None:
        """The small one, now that nobody waits for its nodes: what the standard library has for them."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _warm.Late)]
        _forks.watch()
        _warm.warm_up(_warm.STANDARD)
        self._leave_cold()
        self._make_ready()
        old = list(self._spares)  # they have none of it
        self._spares.clear()  # before they end, which may be seen at once
        for _, post in old:
            post.close()
        self._usual = self._wanted = SPARES
        self._tell({"settled": True})

    def _fork_small(self, control: socket.socket) -> None:
        """The small zygote. It ends with this one at the latest."""
        parent = os.getpid()
        pid = _forks.fork()
        if pid:
            control.close()
            self._keepers.add(pid)
            return
        try:
            prctl = ctypes.CDLL(None).prctl
            prctl(_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                prctl(_SET_CHILD_SUBREAPER, 1)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                self._control.close()
                self._leave_cold()
                _forks.unwatch()
                small = Zygote(control, spares=FEW)
                small._hardened, small._zero_copy = self._hardened, self._zero_copy
                small._make_spare()
                small._answer()
        finally:
            os._exit(1)

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
                _birth.run_node(theirs, hardened=self._hardened, zero_copy=self._zero_copy)
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

    def _end(self, *signalled: object) -> NoReturn:
        """The host is gone. Every keeper sees it too; where this is pid 1, its end is theirs."""
        if os.getpid() != 1:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for _, post in self._spares:
                post.close()
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        os._exit(0)


if __name__ == "__main__":
    first, *more = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:])
    Zygote(first).serve(*more)
