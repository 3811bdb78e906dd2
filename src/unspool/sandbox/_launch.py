"""Starting the zygote: one per host process and kind, shared by all sandboxes of that kind.

Contract: :func:`zygote` gives the running one, or starts one without waiting for it: requests are
kept by the socket until it is warm. The process gets a fixed environment, its sockets and nothing
else of the host's. A thread of its own starts it, hears its news and waits for its end, because the
kernel ties the zygote's life to the thread that made it.

A zygote is *warm* once it has imported what models use (numpy, pandas and pyarrow among it), which takes a
second. There may be a :class:`Small` one beside it, which has none of those three: its nodes are there from
the start, are forked in half the time, and import a library when code asks for it. Once the other is warm it
*settles*: it imports the modules of the standard library that models use.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from ..errors import SandboxUnavailable
from ..shortage import shortage_told
from ._request import SETTLE, Libraries, Request, Setup

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",  # a resumed run must see sets in the same order
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",  # Arrow's CPU count too
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # a fork copies page tables: fewer of them
}


def packages() -> list[str]:
    """The host's folders of installed packages; never its working directory."""
    paths = [*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    if site.ENABLE_USER_SITE:
        paths.append(site.getusersitepackages())
    wanted = {os.path.realpath(path) for path in sys.path if path}
    return [path for path in dict.fromkeys(paths) if os.path.realpath(path) in wanted and os.path.isdir(path)]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a zygote is asked to be. ``namespaces`` False: not even where they are to be had. ``libraries``
    says when what models use is imported: ``beside`` REPLs that need none, ``before`` any, or ``never``."""

    hardened: bool
    namespaces: bool = True
    libraries: Libraries = "beside"


class Died(SandboxUnavailable):
    """Processes that a REPL was to be made of have ended, before anything ran in them: killed from outside,
    such as for want of memory. Others may live."""


def _said(control: socket.socket) -> bytes | None:
    """What has come over a socket that does not block. None: nothing yet; empty: no more will."""
    try:
        return control.recv(1 << 16)
    except BlockingIOError:
        return None
    except OSError:  # it was closed here
        return b""


class Zygote:
    """The host's end of one zygote."""

    seconds = 60.0  # for a node to be ready, of one that is not warm yet

    def __init__(self, kind: Kind) -> None:
        self.hello: Mapping[str, object] = {}
        self.status: int | None = None  # how it ended
        self._failure = ""
        self._lock = threading.RLock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        setup: Setup = {
            "hardened": kind.hardened, "namespaces": kind.namespaces, "packages": packages(),
            "libraries": kind.libraries,
        }  # fmt: skip
        self._control.send(json.dumps(setup).encode())
        self.pid: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.ended: Future[None] = Future()
        self.warm: Future[None] = Future()  # done when it is, and when it will not be any more
        self._small: Small | None = None
        others = [theirs]
        if kind.libraries == "beside":
            try:
                self._small = Small(self)
            except OSError:
                for end in (self._control, theirs):
                    end.close()
                raise
            others.append(self._small.theirs)
        threading.Thread(target=self._live, args=(others,), name="unspool-zygote", daemon=True).start()

    def _live(self, theirs: Sequence[socket.socket]) -> None:
        try:
            self._run(theirs)
        finally:
            self._end_small()
            self.ended.set_result(None)

    def _run(self, theirs: Sequence[socket.socket]) -> None:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zygote.py")
        fds = [end.fileno() for end in theirs]
        # Not -I: it would ignore PYTHONHASHSEED too. The environment is ours, so nothing else differs.
        command = [sys.executable, "-S", "-s", "-P", path, *map(str, fds)]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(ENVIRONMENT), cwd="/", pass_fds=fds, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            self._failure = f"{sys.executable!r} could not be started: {error}"
            self.status = -1
            return
        finally:
            for end in theirs:
                end.close()
        self._process, self.pid = process, process.pid
        with contextlib.suppress(ValueError):  # it was closed here
            self._hear()
        self.status = process.wait()

    def _hear(self) -> None:
        """Its news, and those of the small one, until it ends."""
        poll, small = select.poll(), self._small
        poll.register(self._control, select.POLLIN)
        if small is not None:
            poll.register(small.control, select.POLLIN)
        own = self._control.fileno()
        while True:
            for fd, _ in poll.poll():
                if fd == own:
                    if not self.listen():
                        return
                elif small is None or not small.listen():
                    poll.unregister(fd)

    def small(self, likely: bool) -> Small | None:
        """Who makes the node of a REPL that needs no libraries, where that is sooner. ``likely``: its code
        will probably ask for some."""
        small = self._small
        if self.warm.done() and (likely or small is None or not small.settled):
            return None
        return small

    def without_small(self) -> None:
        """It is there no more."""
        self._small = None

    def _now_warm(self) -> None:
        with self._lock:
            if not self.warm.done():
                if self._small is not None:
                    self._small.settle()
                self.warm.set_result(None)

    def _end_small(self) -> None:
        with self._lock:
            small, self._small = self._small, None
            if small is not None:
                small.close()
        self._now_warm()

    @property
    def alive(self) -> bool:
        return self.status is None and not self.failure()

    def failure(self) -> str:
        """Why it cannot serve, in words; empty while nothing is known to be wrong."""
        self.listen()
        if error := self.hello.get("error"):
            return str(error)
        if self._failure or self.status is None:
            return self._failure
        return f"the zygote ended with status {self.status}"

    def listen(self) -> bool:
        """Takes in what it has said, if it has; whether more may come. From any thread."""
        with self._lock:
            if data := _said(self._control):
                self.hello = {**self.hello, **json.loads(data)}
        if "warm" in self.hello:
            self._now_warm()
        return data != b""

    def open(self, request: Request, fds: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], fds)
        except OSError as error:
            why = f"the sandbox cannot start: {self.failure() or error}; {ADVICE}"
            if self.hello.get("error"):
                raise SandboxUnavailable(why) from None
            self._failure = self._failure or f"it does not take requests: {error}"  # another one is started
            raise Died(why) from None

    async def why(self, reason: str) -> SandboxUnavailable:
        """Its own words for why it cannot serve, where it has some."""
        for _ in range(20):
            if failure := self.failure():
                told = f"the sandbox cannot start: {failure}; {ADVICE}"
                return (SandboxUnavailable if self.hello.get("error") else Died)(told)
            await asyncio.sleep(0.01)
        return Died(f"the REPL did not start: {reason}")

    def gone(self) -> str:
        """A keeper never ends by what a cell does."""
        return "all its processes were killed from outside, by the system for want of memory or by a person"

    def close(self) -> None:
        """Lets it end; its nodes end with it. ``ended`` is done when they have."""
        with contextlib.suppress(OSError):  # it has ended
            self._control.shutdown(socket.SHUT_RDWR)  # close alone would not wake who waits for its news
        self._control.close()
        if self._process is not None and not self.warm.done():
            self._process.send_signal(signal.SIGTERM)  # it does not listen while it imports
        self._end_small()


class Small:
    """The host's end of the zygote without libraries, beside ``zygote``."""

    def __init__(self, zygote: Zygote) -> None:
        self.zygote = zygote
        self.seconds = zygote.seconds
        self.settled = False  # from then on it is as good as it gets
        self.control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setblocking(False)
        self._lock = threading.Lock()  # it is closed by another thread than asks it

    def open(self, request: Request, fds: Sequence[int]) -> None:
        """Asks for a node. Raises :class:`Died` where there is no small zygote any more."""
        with self._lock:
            try:
                socket.send_fds(self.control, [json.dumps(request).encode()], fds)
            except OSError as error:
                self.control.close()
                self.zygote.without_small()  # the next one is asked of the zygote itself
                raise Died(f"the sandbox cannot start: {error}") from None

    def settle(self) -> None:
        """Tells it to; meanwhile nodes are better asked of the other one."""
        with self._lock, contextlib.suppress(OSError):  # it has died, which open will find
            self.control.send(SETTLE)

    def listen(self) -> bool:
        """Takes in what it has said; whether more may come."""
        data = _said(self.control)
        self.settled = self.settled or bool(data)
        return data != b""

    async def warm_by_then(self) -> bool:
        """Whether there are nodes with libraries, for which this waits, but not for ever."""
        warm = asyncio.wrap_future(self.zygote.warm)
        await asyncio.wait([warm], timeout=self.seconds)
        return warm.done()

    async def why(self, reason: str) -> SandboxUnavailable:
        return await self.zygote.why(reason)

    def gone(self) -> str:
        return self.zygote.gone()

    def close(self) -> None:
        """No more nodes; those that there are end with the zygote."""
        with self._lock:
            self.control.close()


ADVICE = (
    'put the code into a container, sandbox="command:docker run -i --rm --network none IMAGE python3 -"; '
    'run in a container and use sandbox="none" there; or, for code you trust, sandbox="none" here; '
    "`unspool doctor` shows what this machine can do"
)
_zygotes: dict[tuple[int, Kind], Zygote] = {}
_users: dict[tuple[int, Kind], int] = {}
_lock = threading.Lock()


def zygote(kind: Kind) -> Zygote:
    """The process's zygote of that kind; started anew where it has died."""
    if not sys.executable or sys.platform != "linux":
        here = 'on macOS, sandbox="seatbelt" has the system confine the code; or ' * (
            sys.platform == "darwin"
        )
        raise SandboxUnavailable(f"the process sandbox needs Linux and a Python executable; {here}{ADVICE}")
    key = os.getpid(), kind
    with _lock:
        known = _zygotes.get(key)
        if known is None or not known.alive:
            if known is not None:
                known.close()
            with shortage_told():
                known = _zygotes[key] = Zygote(kind)
        return known


def use(kind: Kind) -> None:
    """One more sandbox uses the zygote of that kind."""
    key = os.getpid(), kind
    with _lock:
        _users[key] = _users.get(key, 0) + 1


def release(kind: Kind) -> Zygote | None:
    """One sandbox less; after the last one the zygote is told to end, and returned."""
    key = os.getpid(), kind
    with _lock:
        _users[key] = _users.get(key, 0) - 1
        if _users[key] > 0:
            return None
        known = _zygotes.pop(key, None)
    if known is not None:
        known.close()
    return known
