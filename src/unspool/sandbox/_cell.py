"""One cell in a node, from the host's side: its channel, its clock, its host calls, its end.

Contract: :meth:`CellRun.run` returns how the cell ended, always within its limit of own time plus
the grace for an interrupt and a roll-back. The clock stands still while a host call is open. On
cancellation it stops the cell first. Open host calls are cancelled and awaited before it returns.
Everything that the worker says is checked; what breaks a rule ends the node, never the host.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import dataclass, field
from typing import cast

from ..errors import HostCallError
from ..foreign_errors import is_stop, passable
from ..images import Image
from ..types import CellError, FailedCall, FailureKind
from ._channel import FrameChannel
from ._frames import Frame, FrameReader, ProtocolError, pack
from ._handover import pickled
from ._processes import NodeProcesses
from ._values import FailedCall as WorkersFailedCall
from .protocol import HostCall, OnCall

GRACE = 0.5  # between an interrupt and a kill
HURRY = 0.1  # the same where the cell is cancelled: its run is over, and may have a time to keep
ROLL_BACK = 5.0  # for the checkpoint to take over
ASK = 0.5  # for the keeper to say what there is of a cell that could not be stopped
ENDING = 1.0  # for a cell to end after its answer was accepted
MAX_CALLS = 512  # open at once; further ones wait in the socket
_KINDS: frozenset[str] = frozenset(FailureKind.__args__)  # type: ignore[attr-defined]


@dataclass(slots=True)
class CellEnd:
    """How a cell ended. ``how``: "end" (it ran to its end), "rolled_back", or "lost"."""

    how: str = "lost"
    outcome: str = ""
    output: str = ""
    printed: int = 0
    omitted: int = 0
    error: CellError | None = None
    notes: list[str] = field(default_factory=list)
    names: list[str] | None = None
    status: int = 0  # how the killed process ended
    word: str = ""  # why it gave up by itself: "memory" or "links"
    killed_for: str = ""  # the keeper's reason
    used: int = 0
    reason: str = ""
    interrupted: bool = False  # an interrupt was ordered
    killed: bool = False  # a kill was ordered
    accepted: bool = False  # the answer was accepted
    seconds: float = 0.0
    own_seconds: float = 0.0
    ranges: bytes | None = None


class OwnClock:
    """A cell's own time: stands still while at least one host call is open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.started = loop.time()
        self._since = self.started
        self._before = 0.0
        self.calls = 0

    def own(self) -> float:
        return self._before + (0.0 if self.calls else self._loop.time() - self._since)

    def call_opens(self) -> None:
        if not self.calls:
            self._before = self.own()
        self.calls += 1

    def call_ends(self) -> None:
        self.calls -= 1
        if not self.calls:
            self._since = self._loop.time()


def hosts_failed(kind: str, message: str) -> FailedCall:
    """A failed item that came out of a REPL."""
    if kind not in _KINDS:
        raise ProtocolError(f"there is no failure of kind {kind[:40]!r}")
    return FailedCall(cast(FailureKind, kind), message)


class CellRun:
    """See the module docstring."""

    def __init__(self, node: NodeProcesses, number: int, on_call: OnCall) -> None:
        self._node = node
        self._number = number
        self._on_call = on_call
        self._loop = asyncio.get_running_loop()
        self._clock = OwnClock(self._loop)
        self._wake: asyncio.Future[None] = self._loop.create_future()
        self._timed = False
        self._ending_at: float | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._broken: BaseException | None = None
        self._over = False
        self.end = CellEnd()
        ours, theirs = socket.socketpair()
        self._channel = FrameChannel(
            ours, FrameReader(failed=hosts_failed, image=Image.of), self._on_cell_frame, self._on_closed
        )
        node.listener = self
        self._theirs = theirs
        try:
            node.start_cell(number, theirs)
        except OSError:
            node.listener = None
            self._channel.close()
            theirs.close()
            raise
        finally:
            if sys.platform != "darwin":  # it may lose a socket that its sender closes while it is on its way
                theirs.close()

    async def run(self, code: str, seconds: float) -> CellEnd:
        self._channel.send(pack("cell", [code]))
        if self._node.lost is not None:
            self.on_lost(self._node.lost)
        try:
            await self._until_limit(seconds)
            await self._stop(GRACE)
        except asyncio.CancelledError:
            await self._stop_for_good()
            raise
        finally:
            await self._finish()
        if self._broken is not None:
            raise self._broken
        return self.end

    async def _until_limit(self, seconds: float) -> None:
        """Returns when the cell is over or its time is."""
        while not self._over and self._broken is None:
            now = self._loop.time()
            left = None if self._clock.calls else seconds - self._clock.own()
            if self._ending_at is not None:
                left = min(self._ending_at - now, 1e9 if left is None else left)
            if left is not None and left <= 0:
                return
            await self._sleep(left)

    async def _sleep(self, seconds: float | None) -> None:
        """Until something happens, or so long."""
        self._wake = self._loop.create_future()
        self._timed = seconds is not None
        timer = self._loop.call_later(seconds, self._notify) if seconds is not None else None
        try:
            await self._wake
        finally:
            if timer is not None:
                timer.cancel()

    def _notify(self) -> None:
        if not self._wake.done():
            self._wake.set_result(None)

    async def _stop(self, grace: float) -> None:
        """Interrupt, then kill, then give the node up; at once where the cell is over."""
        if not self._over:
            self.end.interrupted = True
            self._node.order("I", self._number)
            await self._wait_over(grace)
        if not self._over:
            self.end.killed = True
            self._node.order("K", self._number)
            await self._wait_over(ROLL_BACK)
        if not self._over:
            self._node.order("S", self._number)
            await self._wait_over(ASK)
            self.on_lost("it could not be stopped, and its keeper does not answer")

    async def _wait_over(self, seconds: float) -> None:
        deadline = self._loop.time() + seconds
        while not self._over and (left := deadline - self._loop.time()) > 0:
            await self._sleep(left)

    async def _stop_for_good(self) -> None:
        """The same in a task of its own, so that a second cancellation does not leave the cell running."""
        self._cancel_calls()
        stopping = self._loop.create_task(self._stop(HURRY))
        while not stopping.done():
            try:
                await asyncio.shield(stopping)
            except asyncio.CancelledError:
                continue

    async def _finish(self) -> None:
        clock, end = self._clock, self.end
        end.own_seconds, end.seconds = clock.own(), self._loop.time() - clock.started
        self._over = True
        self._node.listener = None
        tasks = list(self._tasks.values())
        self._cancel_calls()
        self._channel.close()
        self._theirs.close()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    def _cancel_calls(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    # What the worker and the keeper say

    def _on_cell_frame(self, frame: Frame) -> None:
        if self._over:
            return
        if frame.kind == "call":
            self._take_call(frame)
        elif frame.kind == "end":
            self._take_end(frame)
        else:
            raise ProtocolError(f"a cell may not say {frame.kind[:40]!r}")

    def _on_closed(self, reason: str) -> None:
        """A cell that closes its channel still has to end, or its time runs out; a broken one is over."""
        if reason:
            self.on_lost(reason)

    def on_frame(self, frame: Frame) -> None:
        """From the checkpoint, over the node's own channel."""
        if frame.kind != "rolled_back" or frame.number("n") != self._number:
            raise ProtocolError(f"unexpected {frame.kind[:40]!r}")
        end = self.end
        if len(frame.values) != 2:
            raise ProtocolError("an end is malformed")
        (end.output,) = _texts(frame.values[:1], 1)
        end.ranges = _ranges(frame.values[1])
        end.printed, end.omitted = frame.number("printed"), frame.number("omitted")
        end.status = frame.number("status", 1 << 16)
        end.word = frame.text("word", 8)
        self._node.hear_keeper()
        end.how = "rolled_back"
        self._end()

    def on_keeper(self, message: dict[str, object]) -> None:
        if message.get("why") == "state":
            self.on_lost(f"it could not be stopped ({str(message['state'])[:500]})")
        elif message.get("n") == self._number and message.get("why") != "gone":
            self.end.killed_for = str(message["why"])
            self.end.used = int(cast(int, message.get("used", 0)))
        elif message.get("why") == "gone":
            self.end.status = int(cast(int, message.get("status", 0)))

    def on_lost(self, reason: str) -> None:
        if self._over:
            return
        end = self.end
        end.how, end.reason = "lost", reason
        if (screen := self._node.screen()) is not None:
            end.word = screen.last_word().decode("ascii", "replace")
            end.output, end.printed, end.omitted = screen.take()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._notify()

    def _take_end(self, frame: Frame) -> None:
        if len(frame.values) != 5:
            raise ProtocolError("an end is malformed")
        output, failure, notes, names, ranges = frame.values
        end = self.end
        end.ranges = _ranges(ranges)
        (end.output,) = _texts([output], 1)
        end.notes = _texts(notes, None)
        end.names = _texts(names, None)
        end.error = None if failure is None else _cell_error(failure)
        end.outcome = frame.text("outcome")
        if end.outcome not in ("ok", "error", "submitted", "interrupted"):
            raise ProtocolError("an end is malformed")
        end.printed, end.omitted = frame.number("printed"), frame.number("omitted")
        end.how = "end"
        self._end()

    # Host calls

    def _take_call(self, frame: Frame) -> None:
        number, name = frame.number("id"), frame.text("name")
        kwargs = frame.values[-1] if frame.values else None
        if (
            number in self._tasks
            or not isinstance(kwargs, dict)
            or not all(type(key) is str for key in kwargs)
        ):
            raise ProtocolError("a call is malformed")
        call = HostCall(name, tuple(frame.values[:-1]), kwargs)
        self._clock.call_opens()
        self._tasks[number] = self._loop.create_task(self._serve(number, call))
        if len(self._tasks) == MAX_CALLS:
            self._channel.hold(True)

    async def _serve(self, number: int, call: HostCall) -> None:
        fds: tuple[int, ...] = ()
        try:
            reply = await self._on_call(call)
            fds = reply.fds
            data = _reply(reply.value, number, reply.end, len(fds))
            if reply.end:
                self.end.accepted = True
                self._ending_at = self._loop.time() + ENDING
        except HostCallError as error:
            data = pack("error", [error.message], id=number, type=error.type, failure=error.failure)
        except BaseException as error:
            if is_stop(error):
                data = pack(
                    "error", ["the cell was stopped"], id=number, type="LLMError", failure="cancelled"
                )
                self._channel.send(data)
                raise
            # A fault of the host's own, or of a store of the user's: the cell ends, and it is raised there.
            self._broken = self._broken or passable(error)
            data = pack("error", ["the host failed"], id=number, type="LLMError", failure="cancelled")
        finally:
            self._call_ends(number)
        self._channel.send(data, fds)

    def _call_ends(self, number: int) -> None:
        if len(self._tasks) == MAX_CALLS and not self._over:
            self._channel.hold(False)
        del self._tasks[number]
        self._clock.call_ends()
        if not self._timed or self._ending_at is not None or self._broken is not None:
            self._notify()


def _reply(value: object, number: int, end: bool, fds: int) -> bytes:
    """A reply; what is not plain data goes as a pickle: the worker may trust the host."""
    failed = (FailedCall, WorkersFailedCall)
    try:
        return pack("reply", [value], id=number, end=end, fds=fds, failed=failed, plain=True)
    except TypeError:
        pass
    try:
        return pack("reply", [pickled(value)], id=number, end=end, pickled=True)
    except Exception as error:  # pickling runs code of the value's class
        message = f"the reply, a {type(value).__name__}, cannot be handed to the REPL: {error}"
        return pack("error", [message], id=number, type="ToolError", failure=None)


def _texts(value: object, count: int | None) -> list[str]:
    if not isinstance(value, list) or not all(type(item) is str for item in value):
        raise ProtocolError("texts are expected")
    if (count is not None and len(value) != count) or len(value) > 200:
        raise ProtocolError("texts are expected")
    return cast("list[str]", value)


def _ranges(value: object) -> bytes | None:
    if value is not None and type(value) is not bytes:
        raise ProtocolError("ranges are malformed")
    return value


def _cell_error(value: object) -> CellError:
    if not isinstance(value, tuple) or len(value) != 4:
        raise ProtocolError("an error is malformed")
    kind, message, traceback = _texts(list(value[:3]), 3)
    line = value[3]
    if line is not None and (type(line) is not int or not 0 <= line < 1 << 31):
        raise ProtocolError("an error is malformed")
    return CellError(kind, message, traceback, line)
