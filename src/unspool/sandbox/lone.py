"""REPLs in plain processes, one each, kept from outside: the sandbox ``none`` where there is no Linux.

Contract: :class:`Sandbox` and :class:`Repl` of :mod:`unspool.sandbox.protocol`. It needs POSIX and nothing of
Linux's own. As it is, code can do there what you can. What it cannot do is told in :data:`LACKS`: a cell that
crashes, or that cannot be interrupted, costs the variables (``restarted``), and no REPL is forked. The limits
of memory and scratch are kept by a look from outside, a few times a second while a cell runs.

>>> import asyncio
>>> async def main():
...     async def on_call(call):
...         return HostReply()
...     sandbox = LoneSandbox()
...     repl = await sandbox.open(ReplSpec(context="a\\nb"), on_call)
...     result = await repl.execute("len(context)", seconds=5)
...     await sandbox.close()
...     return result.output
>>> asyncio.run(main())
'3\\n'
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from ..errors import SandboxUnavailable
from . import _packets
from ._alone import Asked
from ._launch import ENVIRONMENT, packages
from ._node import remove_tree, scratch_bytes
from ._processes import Maker
from ._request import SCRATCH, Request
from ._screen import Screen
from ._watch import Watch
from .process import Home, HostReply
from .protocol import ReplSpec

__all__ = ["LACKS", "HostReply", "LoneSandbox"]

LACKS: Mapping[Literal["rollback", "forks"], str] = MappingProxyType(
    {
        "rollback": "no checkpoint is made: a fork without an exec is not safe on macOS",
        "forks": "nor is a REPL forked",
    }
)
BUSY, CALM = 0.2, 2.0  # seconds between two looks, while a cell runs and else
GOING = 0.5  # seconds for a process that has closed all to be gone
_SAID = 2_000  # characters of stderr that are kept
_MESSAGE = 4096

Wrap = Callable[[str, Sequence[str]], Sequence[str]]


class LoneSandbox(Home):
    """A maker of REPLs in plain processes, without any isolation."""

    def maker(self, spec: ReplSpec) -> Maker:
        return Lone(self.wrap)

    def wrap(self, folder: str, program: Sequence[str]) -> Sequence[str]:
        """What starts the program, which may write to ``folder`` alone. It has to become the program."""
        return program


class Lone:
    """The maker and the keeper of one process."""

    seconds = 60.0  # for it to be ready

    def __init__(self, wrap: Wrap) -> None:
        self._wrap = wrap
        self._failure = ""

    def open(self, request: Request, fds: Sequence[int]) -> None:
        """Returns at once."""
        held = [os.dup(fd) for fd in fds]
        threading.Thread(target=self._live, args=(request, held), name="unspool-lone", daemon=True).start()

    async def why(self, reason: str) -> SandboxUnavailable:
        return SandboxUnavailable(self._failure or f"the REPL did not start: {reason}")

    def gone(self) -> str:
        return self._failure or "its process is no more"

    def _live(self, request: Request, held: Sequence[int]) -> None:
        control, orders, context, room = held
        with contextlib.ExitStack() as stack:  # the host hears of the end when all else is away
            link = stack.enter_context(_packets.at(orders))
            stack.callback(os.close, room)
            try:
                with contextlib.ExitStack() as theirs:
                    for fd in (control, context):
                        theirs.callback(os.close, fd)
                    folder = os.path.realpath(tempfile.mkdtemp(prefix="unspool-"))
                    stack.callback(_remove, folder)
                    life, end = socket.socketpair()
                    stack.enter_context(life)
                    theirs.enter_context(end)
                    process = self._start(request, folder, (control, context, room, end.fileno()))
                stack.callback(self._end, process)
                stack.enter_context(Watch(process.pid, folder))
                _Keeper(process, link, life, room, folder, request["memory"] + request["mapped"]).serve()
            except OSError as error:
                self._failure = f"the REPL's process could not be started: {error}"

    def _start(
        self, request: Request, folder: str, fds: tuple[int, int, int, int]
    ) -> subprocess.Popen[bytes]:
        asked: Asked = {
            "request": request, "packages": packages(), "folder": folder, "file_size": SCRATCH, "fds": fds,
        }  # fmt: skip
        path = str(Path(__file__).with_name("_alone.py"))
        # Not -I: it would ignore PYTHONHASHSEED too. The environment is ours, so nothing else differs.
        program = [sys.executable, "-S", "-s", "-P", path, json.dumps(asked)]
        return subprocess.Popen(
            self._wrap(folder, program), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=dict(ENVIRONMENT), cwd=folder, pass_fds=fds, start_new_session=True,
        )  # fmt: skip

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends it, and what it has started."""
        if process.returncode is None:  # not waited for yet: the number is its own
            kill(process.pid)
        status = process.wait()
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        said = (process.stderr.read() or b"").decode("utf-8", "replace").strip()[-_SAID:]
        process.stderr.close()
        name = shlex.quote(os.path.basename(str(process.args[0])))  # type: ignore[index]
        how = f"ended with status {status}" if status >= 0 else f"was killed by signal {-status}"
        self._failure = f"{name} {how}" + (f"; it said: {said}" if said else "")


class _Keeper:
    """Carries out the host's orders, and looks what the process uses."""

    def __init__(
        self, process: subprocess.Popen[bytes], orders: socket.socket, life: socket.socket, room: int,
        folder: str, memory: int,
    ) -> None:  # fmt: skip
        self._process, self._orders, self._life = process, orders, life
        self._room, self._folder, self._memory = room, folder, memory

    def serve(self) -> None:
        """Until the host hangs up. It hears how the process has ended, where that is what comes first."""
        poll = select.poll()
        for link in (self._orders, self._life):
            poll.register(link, select.POLLIN)
        looked = time.monotonic()
        while True:
            ready = {fd for fd, _ in poll.poll(1000 * BUSY)}
            if self._orders.fileno() in ready and not self._obey():
                return
            # A child that a cell has forked may hold its end of the line open.
            if self._life.fileno() in ready or self._process.poll() is not None:
                self._tell_end()
                return
            if time.monotonic() - looked >= (BUSY if Screen.running(self._room) else CALM):
                self._look()
                looked = time.monotonic()

    def _obey(self) -> bool:
        """One order; whether the host is still there."""
        order = self._orders.recv(_MESSAGE).decode("ascii")
        kind, _, number = order.partition(" ")
        if kind == "I" and Screen.running(self._room) == int(number):
            self._process.send_signal(signal.SIGINT)
        elif kind == "K":
            kill(self._process.pid)
        elif kind == "S":
            self._say("state", of=int(number), state="its process does not end")
        return bool(order)

    def _tell_end(self) -> None:
        """Its end of the line is closed; where it has closed that itself, it is over all the same."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GOING)
        kill(self._process.pid)  # and what it has started: a number is not used again at once
        code = self._process.wait()
        self._say("gone", status=-code if code < 0 else code << 8)
        while self._orders.recv(_MESSAGE):  # until the host has heard it
            pass

    def _look(self) -> None:
        used = resident(self._process.pid)
        if used is not None and used > self._memory:
            self._say("memory", used=used)
            kill(self._process.pid)
        elif (scratch := scratch_bytes(self._folder)) > SCRATCH:
            self._say("scratch", used=scratch)
            kill(self._process.pid)

    def _say(self, why: str, **more: int | str) -> None:
        with contextlib.suppress(OSError):  # the host may have gone
            told = {"why": why, "n": Screen.running(self._room), **more}
            self._orders.send(json.dumps(told).encode())


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):  # code may have made a file in it that cannot be removed
        remove_tree(folder)


def kill(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def resident(pid: int) -> int | None:
    """Bytes of memory that a process has, as any POSIX system tells; ``None`` where it does not.

    >>> resident(os.getpid()) > 1 << 20
    True
    """
    try:
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdout=subprocess.PIPE, env={"PATH": "/bin:/usr/bin"}, timeout=5.0, check=False,
        )  # fmt: skip
        return 1024 * int(told.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
