"""The keeper: one process per node that watches and ends the node's processes. Runs no model code.

Contract: it is forked from the zygote, forks the worker, and lives until the host's end of
``orders`` closes; then it kills everything of the node and ends. It knows which process runs the
cell from messages over ``desk`` whose sender the kernel vouches for (SO_PASSCRED), so that a
process can speak for itself alone. From the host: ``I n`` interrupts cell n, ``K n`` kills it and
every stray process, but not the checkpoint, ``S n`` asks what there is of a cell that neither of
these has ended. To the host: one JSON object a message, with ``why``: ``memory``, ``scratch``,
``processes`` (a limit: cell n was killed for it), ``gone`` (nothing is left that could go on) or
``state``. Code in a cell can write to ``desk``, too: so nothing here waits for a reader of it, and
no more is read at once than a few messages. Standard library only; importable as a sibling module too.

>>> descendants(2**22)
[]
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

CALM, HURRIED, IDLE = 0.1, 0.02, 1.0  # seconds between two samples
FEW = 8  # processes
AT_ONCE = 64  # messages read before the host's orders have their turn
OTHER_ENTRIES = 80  # more than /proc holds beside the pids
_CREDENTIALS = struct.Struct("3i")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TREE = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    if not _TREE:
        return [child for child, parent in _parents() if parent == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat behind the name: state, parent, …"""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                yield int(name), int(_stat(int(name))[1])


def descendants(pid: int) -> list[int]:
    """All living processes that descend from ``pid``, zombies left out."""
    found: list[int] = []
    todo = children(pid)
    while todo:
        child = todo.pop()
        todo += children(child)
        if _alive(child):
            found.append(child)
    return found


def _alive(pid: int) -> bool:
    try:
        return _stat(pid)[0] not in (b"Z", b"X")
    except OSError:
        return False


def kill_all(group: int, spare: Collection[int] = (), heir: int = 0) -> None:
    """Kill all processes of the node but ``spare``, and but what descends from ``heir``. Where the heir is
    no more, this comes too late, and those that live now are of later cells: then none is killed.

    ``group``: their process group, where this is not the first process of a pid namespace. Everything
    is stopped first, in one call that no fork escapes: so a crowd of processes cannot outrun it, nor
    keep the processor from us.
    """

    me, kept = os.getpid(), {*spare, *(descendants(heir) if heir else ())}
    there = set(descendants(me))
    if not there - kept:
        return
    _signal_node(group, signal.SIGSTOP, there | kept)
    kept = {*spare, *(descendants(heir) if heir else ())}
    if heir and not _alive(heir):  # asked only now that nothing moves
        _go_on(group, kept, there)
        return
    for attempt in range(500):
        pids = set(descendants(me)) - kept
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005 * 2**attempt if attempt < 5 else 0.02)
    _go_on(group, kept, there)


def _go_on(group: int, kept: Collection[int], there: Collection[int]) -> None:
    """All that are left, for one may have lost its parent meanwhile; and by number those out of the group."""
    _signal_node(group, signal.SIGCONT, {*kept, *there})
    for pid in kept:
        if pid:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)


def _end(pid: int) -> None:
    """Ends a child of ours, and waits until it is gone, or a second: its children become ours with that."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        for attempt in range(130):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.0005 * 2 ** min(attempt, 4))


def end_all(group: int) -> None:
    """Kill all processes of the node and wait until they are gone."""
    _signal_node(group, signal.SIGKILL, descendants(os.getpid()))  # nothing that forks meanwhile gets away
    if os.getpid() != 1:
        kill_all(group)  # what is not in the group yet, or, without hardening, not any more
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _signal_node(group: int, number: int, pids: Collection[int]) -> None:
    """The group, as long as one of ours is in it: once all are gone, its number may be a stranger's. ``pids``
    are ours. They are not looked for here: while a parent ends, its children are in no list for a moment."""
    with contextlib.suppress(OSError):
        if os.getpid() == 1:
            os.kill(-1, number)
        elif any(_group_of(pid) == group for pid in pids):
            os.killpg(group, number)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:  # it has ended
        return 0


def resident(pids: Collection[int]) -> int:
    """Bytes of memory, pages that processes share counted for each: an upper bound, quickly had."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", "rb") as file:
            total += int(file.read().split()[1]) * _PAGE
    return total


def newest() -> bytes:
    """The last process or thread that was begun, among those that this process can see; nothing where the
    system does not say. While it stays the same, there are no others than before."""
    with contextlib.suppress(OSError), open("/proc/loadavg", "rb") as file:
        return file.read().rpartition(b" ")[2]
    return b""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a node may use. ``measure_…`` come from the hardening, so that there is one way to count."""

    memory: int
    scratch: int
    processes: int
    tasks: int  # processes and threads
    count_tasks: Callable[[Collection[int]], int]
    measure_memory: Callable[[Collection[int]], int]
    measure_files: Callable[[Collection[int]], int]  # what is in that and in no process
    measure_scratch: Callable[[], int]


class Keeper:
    """See the module docstring."""

    def __init__(self, orders: socket.socket, desk: socket.socket, worker: int, limits: Limits) -> None:
        self._orders = orders
        self._desk = desk
        self._limits = limits
        self._group = worker
        self._repl = worker  # the process that stands for the REPL between cells; in a cell, its checkpoint
        self._cell = 0  # the number of the running cell
        self._runner = 0  # the process that runs it
        self._handle: int | None = None  # a pidfd of the runner
        self._checkpoint = 0
        self._dying = 0  # the last checkpoint, which its cell has killed
        self._waiting: list[tuple[str, int]] = []  # orders for a cell that has not registered yet
        self._listening = True
        self._base = 0  # what the worker had before its first cell
        self._samples = 0
        self._newest = b""
        self._pids: list[int] = []  # of all processes of the node, as of then
        self._used = self._files = 0
        self._next_sample = time.monotonic() + CALM

    def serve(self, wakeup: int) -> None:
        """Until the host goes. ``wakeup`` is readable when a child has died."""
        poll = select.poll()
        for fd in (self._orders.fileno(), self._desk.fileno(), wakeup):
            poll.register(fd, select.POLLIN)
        while True:
            if not self._listening:
                with contextlib.suppress(KeyError):
                    poll.unregister(self._desk.fileno())
            ready = {fd for fd, _ in poll.poll(max(1.0, 1000 * (self._next_sample - time.monotonic())))}
            if wakeup in ready:
                os.read(wakeup, 4096)
            self._read_desk()
            self._reap()
            if self._orders.fileno() in ready and not self._obey():
                return
            if time.monotonic() >= self._next_sample:
                self._next_sample = time.monotonic() + self._sample()

    def _read_desk(self) -> None:
        for _ in range(AT_ONCE):
            if not self._listening:
                return
            try:
                data, more, _, _ = self._desk.recvmsg(
                    64, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_DONTWAIT
                )
            except BlockingIOError:
                return
            pid = next(
                (_CREDENTIALS.unpack(raw)[0] for _, kind, raw in more if kind == socket.SCM_CREDENTIALS), 0
            )
            kind, _, number = data.partition(b" ")
            if not data:
                self._listening = False  # no process of the node is left
            elif pid and number.isdigit():
                self._hear(kind, pid, int(number[:18]))

    def _hear(self, kind: bytes, pid: int, number: int) -> None:
        """``R`` ready, ``C`` a cell starts, ``D`` it is done, ``E`` the same and no fork follows, ``T`` the
        checkpoint has taken over, ``P`` a fork that will run the next cell."""
        if kind == b"C":
            self._start(pid, number)
        elif kind in (b"R", b"D", b"E", b"T"):
            self._dying = self._checkpoint
            if self._dying and kind != b"T" and pid == self._runner:  # it may not send signals
                _end(self._dying)
            self._stop()
            self._repl = pid
            if kind == b"R":
                self._base = self._base or resident([pid])
            elif kind != b"D":
                kill_all(self._group, spare=[pid, self._dying])  # what a cell starts ends with it
                self._answer()
        elif kind == b"P" and not self._runner:
            kill_all(self._group, spare=[self._repl, pid, self._dying], heir=pid)

    def _answer(self) -> None:
        """Never waits: who has not read hundreds of answers is no worker of ours."""
        with contextlib.suppress(OSError):
            self._desk.send(b"ok", socket.MSG_DONTWAIT)

    def _start(self, pid: int, number: int) -> None:
        self._stop()
        self._cell, self._runner = number, pid
        self._checkpoint = self._repl if pid != self._repl else 0
        with contextlib.suppress(OSError):
            self._handle = os.pidfd_open(pid)
        self._next_sample = time.monotonic() + CALM
        waiting, self._waiting = self._waiting, []
        for kind, wanted in waiting:
            self._carry_out(kind, wanted)

    def _stop(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._cell, self._runner, self._checkpoint = None, 0, 0, 0

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self._read_desk()  # a cell registers before it kills its checkpoint: hear that first
            if pid == self._checkpoint:  # the cell is done, or has killed it
                self._checkpoint = 0
                self._repl = self._runner
            elif pid in (self._repl, self._runner):
                self._say("gone", status=status)

    def _obey(self) -> bool:
        try:
            order = self._orders.recv(64)
        except OSError:
            return False
        if not order:
            return False
        kind, _, number = order.decode("ascii").partition(" ")
        self._carry_out(kind, int(number))
        return True

    def _carry_out(self, kind: str, number: int) -> None:
        if kind == "S":
            self._say("state", of=number, state=self._state())
        elif number > self._cell and not self._runner:
            self._waiting.append((kind, number))
        elif number == self._cell and kind == "K":
            self._kill_cell()
        elif number == self._cell and self._handle is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._handle, signal.SIGINT)

    def _kill_cell(self) -> None:
        kill_all(self._group, spare=[self._checkpoint] if self._checkpoint else [])

    def _state(self) -> str:
        """Who is there, and what each does, as in /proc/PID/stat: D waits for a disk, T is stopped."""
        names = {self._runner: "cell", self._checkpoint: "checkpoint", self._repl: "repl"}
        found = []
        for pid in descendants(os.getpid())[:FEW]:
            with contextlib.suppress(OSError):
                found.append(f"{names.get(pid, 'other')} {_stat(pid)[0].decode('ascii')}")
        return f"cell {self._cell} runs; " + (", ".join(found) or "no process")

    def _say(self, why: str, **more: int | str) -> None:
        with contextlib.suppress(OSError):  # the host may have gone
            self._orders.send(json.dumps({"why": why, "n": self._cell, **more}).encode())

    def _sample(self) -> float:
        """Looks what the node uses, kills it over a limit; the seconds until the next look.

        First what is quickly had: while processes multiply, a close look at each would take seconds. A calm
        node takes next to nothing: there may be a hundred, all of which wait for models.
        """
        limits, last = self._limits, newest()
        begun = not last or last != self._newest or len(self._pids) > FEW
        if begun:
            self._newest = last
            if os.getpid() == 1 and (crowd := len(os.listdir("/proc")) - OTHER_ENTRIES) > limits.processes:
                self._over("processes", crowd)
            self._pids = descendants(os.getpid())
        pids = [pid for pid in self._pids if pid != self._checkpoint]
        if len(pids) > limits.processes:
            self._over("processes", len(pids))
        elif begun and (tasks := limits.count_tasks(pids)) > limits.tasks:
            self._over("processes", tasks)
        self._samples += 1
        if self._samples % (3 if len(pids) <= FEW else 30) == 0:
            if (scratch := limits.measure_scratch()) > limits.scratch:
                self._over("scratch", scratch)
            self._files = limits.measure_files(pids)
        used = self._files + sum(max(0, resident([pid]) - self._base) for pid in pids)
        if used > limits.memory // 2:  # pages that they share were counted for each of them
            used = limits.measure_memory(pids) - self._base
        if used > limits.memory:
            self._over("memory", used)
        growth, self._used = used - self._used, used
        if not self._runner and len(pids) <= FEW:
            return IDLE
        hurried = len(pids) > FEW or used > limits.memory // 2 or used + 3 * growth > limits.memory
        return HURRIED if hurried else CALM

    def _over(self, why: str, used: int) -> None:
        self._say(why, used=used)
        self._kill_cell()


def run_keeper(orders: socket.socket, desk: socket.socket, worker: int, limits: Limits) -> None:
    """The keeper's life; ends the node with it."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        Keeper(orders, desk, worker, limits).serve(reader)
    finally:
        end_all(worker)
