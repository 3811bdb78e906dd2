"""A command that gives stdin and stdout of an interpreter, as a maker of one node.

Contract: :class:`Line` is what a zygote is to :class:`unspool.sandbox._processes.NodeProcesses`, for one node
alone. A thread of its own starts the command, finds Python behind whatever is printed before it, sends what
runs there (:mod:`unspool.sandbox._sent`) and carries the node's sockets over the two pipes. When the
connection ends, for any reason, the node's sockets close, and :attr:`Line.failure` says why, with the end of
what the command wrote to stderr.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence

from ..errors import SandboxUnavailable
from . import _packets, _sent, _wire
from ._request import Request

READY_SECONDS = 60.0  # for the REPL, once Python has answered
_NOISE = 1 << 20  # bytes that may come before Python's own first word
_SAID = 2_000  # characters of stderr that are kept
_END = 3.0  # seconds for the command to end by itself, and again for a TERM
_AT_ONCE = 0.2
_PROMPT = re.compile(r"^(>>> )+|^(Python \d.*|Type \"help\".*)$", re.MULTILINE)


_REASONS = ("memory", "scratch", "processes", "gone")  # of the keeper's
_Sockets = tuple[socket.socket, socket.socket]  # the worker's control stream, the keeper's orders


def with_prompt(argv: Sequence[str]) -> list[str]:
    """``python3 -`` reads to the end before it runs anything; with ``-i`` it runs line by line."""
    *before, last = argv
    if last == "-":
        return [*before, "-qi", "-"]
    if last.endswith(" -"):  # in a line for a shell
        return [*before, f"{last[:-1]}-qi -"]
    return [*argv]


class _HostSide(_wire.Mux):
    """This end of the wire."""

    def __init__(self, wire: _wire.Wire, control: socket.socket, orders: socket.socket, room: int) -> None:
        super().__init__(wire, control, orders, bounded=True)
        self._room = room
        self.room = os.fstat(room).st_size  # bytes
        self._streams = 0
        self.over = ""  # why it is

    def heard(self, number: int, data: bytes, fds: list[int]) -> None:
        if number == 0 and fds:
            self._streams += 1
            self.add(self._streams, socket.socket(fileno=fds[0]))
            self.wire.put(b"N", self._streams, data)
            return
        if fds:
            sizes = [os.fstat(fd).st_size for fd in fds]
            self.wire.put(b"F", number, json.dumps(sizes).encode())
            self.feeds.append(_files(fds, sizes, number, data))
            return
        super().heard(number, data, fds)

    def hung_up(self) -> None:
        self.over = "the REPL was closed"

    def passed(self, data: bytes) -> bytes:
        """The keeper is as little to be trusted as all that runs where the command leads to."""
        try:
            said = json.loads(data)
            why, numbers = said.pop("why"), list(said.values())
            good = why in _REASONS and all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)
        except (ValueError, AttributeError, KeyError, RecursionError):
            good = False
        if not good:
            raise _wire.Broken("no message of a keeper's")
        return data

    def arrived(self, kind: bytes, number: int, data: bytes) -> None:
        if kind == b"Q":
            self.over = "its processes there are no more"
        elif kind == b"S":
            if len(data) != self.room:
                raise _wire.Broken("a screen of another size")
            os.pwrite(self._room, data, 0)
        else:
            super().arrived(kind, number, data)


def _pieces(fd: int, size: int, kind: bytes, number: int = 0) -> Iterator[_wire.Piece]:
    """A file as messages. One that has become shorter is filled up: the other side waits for it all."""
    at = 0
    while at < size:
        most = min(_wire.PIECE, size - at)
        data = os.pread(fd, most, at) or bytes(most)
        yield kind, number, data
        at += len(data)


def _files(fds: Sequence[int], sizes: Sequence[int], number: int, data: bytes) -> Iterator[_wire.Piece]:
    """Files, and then the bytes that they come with."""
    try:
        for fd, size in zip(fds, sizes, strict=True):
            yield from _pieces(fd, size, b"P", number)
    finally:
        for fd in fds:
            os.close(fd)
    yield b"C", number, data


class Line:
    """See the module docstring."""

    def __init__(self, argv: Sequence[str], seconds: float) -> None:
        self._argv = with_prompt(argv)
        self._answer_in = seconds
        self.seconds = seconds + READY_SECONDS
        self.failure = ""
        self._met = False  # Python has answered: what is on stdout from then on is the wire
        self._said = bytearray()

    def open(self, request: Request, fds: Sequence[int]) -> None:
        """Returns at once."""
        control, orders, context, room = map(os.dup, fds)
        sockets = socket.socket(fileno=control), _packets.at(orders)
        threading.Thread(
            target=self._live, args=(request, sockets, context, room), name="unspool-command", daemon=True
        ).start()

    async def why(self, reason: str) -> SandboxUnavailable:
        return SandboxUnavailable(self.failure or f"{self._name()}: {reason}{self._words()}")

    def gone(self) -> str:
        return self.failure or "the connection to the command was lost"

    def _name(self) -> str:
        return f"the command {shlex.join(self._argv)[:300]!r}"

    def _words(self) -> str:
        """What the command has said, for an error."""
        said = _PROMPT.sub("", self._said.decode("utf-8", "replace")).strip()[-_SAID:]
        return f"; it said: {said}" if said else ""

    def _live(self, request: Request, sockets: _Sockets, context: int, room: int) -> None:
        with contextlib.ExitStack() as held:  # the node hears of the end only when its reason is known
            for fd in (context, room):
                held.callback(os.close, fd)
            for sock in sockets:
                held.enter_context(sock)
            try:
                process = subprocess.Popen(
                    self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    bufsize=0, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as error:
                why = "there is no such program" if isinstance(error, FileNotFoundError) else str(error)
                self.failure = f"{self._name()} could not be started: {why}"
                return
            why = "the connection was lost"
            try:
                stdin, stdout, stderr = pipes = _pipes(process)
                if self._hello(pipes, sockets[1]):
                    side = _HostSide(_wire.Wire(stdout, stdin), *sockets, room)
                    held.callback(side.close)
                    why = self._carry(side, stderr, request, context)
            except OSError:  # nobody reads its stdin any more
                pass
            except _wire.Broken as error:
                why = f"the connection broke: {error}"
            finally:
                status = self._ended(process)
            self.failure = self.failure or f"{why}: {self._name()} {status}{self._words()}"

    def _hello(self, pipes: tuple[int, int, int], orders: socket.socket) -> bool:
        """Whether Python is there, and new enough. What is printed before it speaks is noise."""
        stdin, stdout, stderr = pipes
        token = secrets.token_hex(16).encode()
        mark = re.compile(rb"\n" + token + rb" (\d{1,3})\.(\d{1,3})\n")
        first = _sent.first_line(token)
        os.write(stdin, first)
        heard = bytearray()
        until = time.monotonic() + self._answer_in
        while (match := mark.search(heard)) is None:
            if first.strip() in heard:
                self.failure = (
                    f"{self._name()} gives back what it is sent, and does not run it: "
                    "it is no Python, or there is a terminal between (leave out -t)"
                )
                return False
            left = until - time.monotonic()
            if left <= 0 or len(heard) > _NOISE:
                what = f"within {self._answer_in:g} s" if left <= 0 else f"in {_NOISE:,} bytes"
                self._said += heard[-_SAID:]
                self.failure = (
                    f"no Python answered {what} from {self._name()}{self._words()}. It has to run what it "
                    "reads on stdin line by line: end it in `python3 -`, or `python3 -i`"
                )
                return False
            poll = select.poll()
            for fd in (stdout, stderr, orders.fileno()):
                poll.register(fd, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(1000 * left)}
            if orders.fileno() in ready:  # the host does not want it any more
                self.failure = "closed"
                return False
            if stderr in ready and not self._hear(stderr) and stdout not in ready:
                time.sleep(0.01)  # it is closed, which is no news each time
            if stdout in ready:
                data = os.read(stdout, 1 << 16)
                heard += data
                if not data:
                    self._said += heard[-_SAID:]
                    return False
        version = int(match[1]), int(match[2])
        if version < _sent.LEAST:
            least, there = (".".join(map(str, v)) for v in (_sent.LEAST, version))
            self.failure = f"{self._name()} gives Python {there}: the sandbox needs {least} or newer there"
            return False
        self._met = True
        return True

    def _hear(self, pipe: int) -> bool:
        """Keeps the end of what the command says; whether there was something."""
        try:
            data = os.read(pipe, 1 << 16)
        except OSError:
            return False
        self._said += data
        del self._said[: -4 * _SAID]
        return bool(data)

    def _carry(self, side: _HostSide, stderr: int, request: Request, context: int) -> str:
        """Until one side is gone; which it was."""
        size = os.fstat(context).st_size
        side.wire.put_before(_sent.parcel())
        side.wire.put(b"O", 0, json.dumps({"request": request, "size": size, "room": side.room}).encode())
        side.feeds.append(_pieces(context, size, b"X"))
        extra: tuple[int, ...] = (stderr,)
        while not side.over and not side.wire.ended:
            if side.step(extra) and not self._hear(stderr):
                extra = ()
        return side.over or "the connection was lost"

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        """Waits for its end, which it is helped to; how it was, in words."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        seconds = _END if self._met else _AT_ONCE  # what is no interpreter need not see the end of stdin
        for number in (signal.SIGTERM, signal.SIGKILL, None):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
                break
            if number is not None:  # not waited for: the number is still its own
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            seconds = _END
        self._hear(process.stderr.fileno())
        if not self._met:
            self._hear(process.stdout.fileno())
        process.stdout.close()
        process.stderr.close()
        status = process.returncode
        if status is None:
            return "does not end"
        return f"ended with status {status}" if status >= 0 else f"was killed by signal {-status}"


def _pipes(process: subprocess.Popen[bytes]) -> tuple[int, int, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    pipes = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
    for pipe in pipes:
        os.set_blocking(pipe, False)
    return pipes
