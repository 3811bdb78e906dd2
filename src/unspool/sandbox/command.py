"""The sandbox ``command``: a REPL in whatever a command leads to, such as a container or another machine.

Contract: :class:`Sandbox` and :class:`Repl` of :mod:`unspool.sandbox.protocol`. The command has to give stdin
and stdout of a Python interpreter (on Linux, 3.11 or newer, standard library); nothing has to be installed
there, what runs in it is sent. Each REPL is a run of the command of its own, and ends with it. It is as safe
as what the command runs in: unspool adds limits of memory, time and processes, but no isolation. A lost
connection ends the cell; the REPL begins anew with the context alone (``restarted``), and says what was lost.

>>> import asyncio
>>> async def main():
...     async def on_call(call):
...         return HostReply()
...     sandbox = CommandSandbox([sys.executable, "-"])
...     repl = await sandbox.open(ReplSpec(context="a\\nb"), on_call)
...     result = await repl.execute("len(context)", seconds=5)
...     await sandbox.close()
...     return result.output
>>> asyncio.run(main())
'3\\n'
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from ..checks import number
from ..errors import ConfigError, HostCallError, SandboxUnavailable
from ._line import Line
from ._processes import Maker
from .process import Home, ProcessRepl
from .protocol import HostCall, HostReply, OnCall, ReplSpec

__all__ = ["CommandSandbox", "HostReply"]

START_SECONDS = 120.0  # an image may have to be pulled
MOST_FILE = 512 << 20  # bytes of a file that is sent whole


class CommandSandbox(Home):
    """A maker of REPLs behind a command.

    :param command: the program and its arguments, or one text, split as a shell does; no shell runs it. It
        ends in ``python3 -``, where unspool puts what makes Python run line by line, or gives an interpreter
        that does so, as ``python3 -i``.
    :param start_seconds: how long it may take until Python answers there.
    """

    def __init__(self, command: str | Sequence[str], *, start_seconds: float = START_SECONDS) -> None:
        try:
            argv = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise ConfigError(f"command {command!r}: {error}; quote it as for a shell") from None
        if not argv or not all(isinstance(part, str) for part in argv) or not argv[0]:
            raise ConfigError(
                f"command {command!r}: give a program and its arguments, "
                "e.g. 'docker run -i --rm --network none python:3.13-slim python3 -'"
            )
        number("start_seconds", start_seconds, 0.001)
        if sys.platform == "win32":
            raise SandboxUnavailable("this sandbox needs Linux or macOS: run unspool itself in the container")
        super().__init__()
        self._argv = argv
        self._seconds = start_seconds

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        return await super().open(spec, _Bounded(on_call) if spec.files else on_call)

    def maker(self, spec: ReplSpec) -> Maker:
        return Line(self._argv, self._seconds)

    def default_memory(self) -> int:
        return 0


class _Bounded:
    """Files go over the pipe whole: those that are too large for that are refused in words."""

    def __init__(self, on_call: OnCall) -> None:
        self._on_call = on_call

    async def __call__(self, call: HostCall) -> HostReply:
        reply = await self._on_call(call)
        if sum(os.fstat(fd).st_size for fd in reply.fds) > MOST_FILE:
            for fd in reply.fds:
                os.close(fd)
            raise HostCallError(
                "ValueError",
                f"this sandbox gets files as copies, and these are more than {MOST_FILE >> 20} MB: "
                "use sandbox='process', or pass a part of the file",
            )
        return reply
