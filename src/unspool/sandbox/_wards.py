"""The REPLs of one node, as its keeper knows them: whose a process is, who runs a cell, what each may use.

Contract: a :class:`Ward` for each REPL, which hears what its processes say over ``desk`` and tells the host
over ``orders`` (see :mod:`keeper`); one :class:`Node` for all of them, which tells their processes apart.
Standard library only; importable as a sibling module too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._branching import Room
if TYPE_CHECKING or __package__:
    from ._descent import (
        children,
        descendants,
        end_child,
        kill_all,
        kill_these,
        newest,
        resident,
        state_of,
        wake,
    )
else:
    from _descent import (
        children,
        descendants,
        end_child,
        kill_all,
        kill_these,
        newest,
        resident,
        state_of,
        wake,
    )

CALM, HURRIED, IDLE = 0.1, 0.02, 1.0  # seconds between two samples
FEW = 8  # processes
AT_ONCE = 64  # messages read before the host's orders have their turn
OTHER_ENTRIES = 80  # more than /proc holds beside the pids
_CREDENTIALS = struct.Struct("3i")


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


class Node:
    """What the REPLs of a node share: their processes are told apart here."""

    def __init__(self, group: int) -> None:
        self.group = group
        self.wards: list[Ward] = []
        self.memory = 0  # what all of them together may use, where there are several
        self._seen_in: dict[int, Ward] = {}

    def kill(self, ward: Ward, spare: Collection[int] = (), heir: int = 0) -> None:
        """Kills the processes of a REPL but ``spare`` and the heir with what descends from it."""
        if len(self.wards) == 1:
            kill_all(self.group, spare, heir)
            return
        kill_these(lambda: self._own(ward) - {*spare, heir, *(descendants(heir) if heir else ())}, heir)

    def _own(self, ward: Ward) -> set[int]:
        """Its processes, and those without a parent that can be of no other one."""
        # Before the others are asked: one of theirs that has lost its parent by now has told of itself.
        orphans = self._orphans()
        quiet = not any(other.busy for other in self.wards if other is not ward)
        found = ward.family()
        for pid in orphans:
            owner = self._seen_in.get(pid)
            if owner is ward or (quiet and owner not in self.wards):
                found |= {pid, *descendants(pid)}
        self._see(found, ward)
        return found

    def _see(self, found: Collection[int], ward: Ward) -> None:
        """Between cells, what descends from a REPL may be a fork of it that has not told of itself yet."""
        if ward.runner or all(other.repl for other in self.wards):
            self._seen_in.update(dict.fromkeys(found, ward))

    def of(self, ward: Ward) -> list[int]:
        """The processes that are counted to a REPL."""
        alive = descendants(os.getpid())
        if len(self.wards) == 1:
            return alive
        found = ward.family()
        self._seen_in = {pid: owner for pid, owner in self._seen_in.items() if pid in alive}
        self._see(found, ward)
        for pid in self._orphans():
            if ward.busy and self._seen_in.get(pid, ward) is ward:
                found |= {pid, *descendants(pid)}
        return [pid for pid in alive if pid in found]

    def share(self) -> None:
        """Where all REPLs together have taken more than they may, the cell that has most of it is killed."""
        running = [ward for ward in self.wards if ward.runner]
        if len(self.wards) < 2 or not running or sum(ward.used for ward in self.wards) <= self.memory:
            return
        measure = self.wards[0].limits.measure_memory
        used = measure(descendants(os.getpid())) - self.wards[0].base
        if used > self.memory:
            max(running, key=lambda ward: measure(self.of(ward))).over("memory", used)

    def _orphans(self) -> list[int]:
        heads = {pid for ward in self.wards for pid in ward.heads()}
        return [pid for pid in children(os.getpid()) if pid not in heads]


@dataclass(eq=False, slots=True)
class Ward:
    """One REPL, and what is known of its processes."""

    node: Node
    orders: socket.socket
    desk: socket.socket
    limits: Limits
    repl: int = 0  # what stands for the REPL between cells; in a cell, its checkpoint. 0: not there yet
    base: int = 0  # what the worker had before its first cell
    room: Room | None = None  # of one that was forked
    cell: int = 0  # the number of the running cell
    runner: int = 0  # the process that runs it
    checkpoint: int = 0
    used: int = 0  # bytes of memory, when they were looked at last
    listening: bool = True
    asked: int = 0  # how often its process has been told to fork, and was not answered yet
    forks: list[tuple[int, socket.socket, socket.socket]] = field(default_factory=list)  # that the host wants
    next_sample: float = field(default_factory=lambda: time.monotonic() + CALM)
    _handle: int | None = None  # a pidfd of the runner
    _dying: int = 0  # the last checkpoint, which its cell has killed
    _waiting: list[tuple[str, int]] = field(default_factory=list)  # orders for a cell that has not registered
    _samples: int = 0
    _newest: bytes = b""
    _pids: list[int] = field(default_factory=list)  # of its processes, as of then
    _files: int = 0

    @property
    def busy(self) -> bool:
        """Whether it may start processes now, or may have done so since it was heard."""
        if self.runner or not self.repl:
            return True
        try:
            return bool(self.desk.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def heads(self) -> set[int]:
        return {self.repl, self.runner, self.checkpoint, self._dying} - {0}

    def family(self) -> set[int]:
        """Its own processes, as far as they have not lost their parents."""
        heads = self.heads()
        return {*heads, *(pid for head in heads for pid in descendants(head))}

    def read_desk(self) -> None:
        for _ in range(AT_ONCE):
            if not self.listening:
                return
            try:
                data, more, _, _ = self.desk.recvmsg(
                    64, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_DONTWAIT
                )
            except BlockingIOError:
                return
            pid = next(
                (_CREDENTIALS.unpack(raw)[0] for _, kind, raw in more if kind == socket.SCM_CREDENTIALS), 0
            )
            kind, _, number = data.partition(b" ")
            if not data:
                self.listening = False  # no process of the REPL is left
            elif pid and number.isdigit():
                self._hear(kind, pid, int(number[:18]))

    def _hear(self, kind: bytes, pid: int, number: int) -> None:
        """``R`` ready, ``C`` a cell starts, ``D`` it is done, ``E`` the same and no fork follows, ``T`` the
        checkpoint has taken over, ``P`` a fork that will run the next cell, ``F`` it will be forked."""
        if kind == b"C":
            self._start(pid, number)
        elif kind == b"F":
            self.asked += 1
        elif kind in (b"R", b"D", b"E", b"T"):
            self._dying = self.checkpoint
            if self._dying and kind != b"T" and pid == self.runner:  # it may not send signals
                # Where the host has hung up, and this is the only REPL, all of it ends.
                end_child(self._dying, self.orders.fileno() if len(self.node.wards) == 1 else -1)
            self.stop()
            self.repl = pid
            if kind == b"R":
                self.base = self.base or resident([pid])
            elif kind != b"D":
                self.node.kill(self, [pid, self._dying])  # what a cell starts ends with it
                self._answer()
        elif kind == b"P" and not self.runner:
            self.node.kill(self, [self.repl, pid, self._dying], heir=pid)

    def _answer(self) -> None:
        """Never waits: who has not read hundreds of answers is no worker of ours."""
        with contextlib.suppress(OSError):
            self.desk.send(b"ok", socket.MSG_DONTWAIT)

    def _start(self, pid: int, number: int) -> None:
        self.stop()
        self.cell, self.runner = number, pid
        self.checkpoint = self.repl if pid != self.repl else 0
        with contextlib.suppress(OSError):
            self._handle = os.pidfd_open(pid)
        self.next_sample = time.monotonic() + CALM
        waiting, self._waiting = self._waiting, []
        for kind, wanted in waiting:
            self.carry_out(kind, wanted)

    def stop(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self.cell, self.runner, self.checkpoint = None, 0, 0, 0

    def ended(self, pid: int, status: int) -> None:
        """A process without a parent inside is no more."""
        self.read_desk()  # a cell registers before it kills its checkpoint: hear that first
        if pid == self.checkpoint:  # the cell is done, or has killed it
            self.checkpoint = 0
            self.repl = self.runner
        elif pid in (self.repl, self.runner):
            self.say("gone", status=status)

    def carry_out(self, kind: str, number: int) -> None:
        if kind == "S":
            self.say("state", of=number, state=self._state())
        elif number > self.cell and not self.runner:
            self._waiting.append((kind, number))
        elif number == self.cell and kind == "K":
            self.kill_cell()
        elif number == self.cell and self._handle is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._handle, signal.SIGINT)

    def kill_cell(self) -> None:
        self.node.kill(self, [self.checkpoint] if self.checkpoint else [])

    def _state(self) -> str:
        """Who is there, and what each does, as in /proc/PID/stat: D waits for a disk, T is stopped."""
        names = {self.runner: "cell", self.checkpoint: "checkpoint", self.repl: "repl"}
        found = [f"{names.get(pid, 'other')} {state_of(pid)}" for pid in descendants(os.getpid())[:FEW]]
        return f"cell {self.cell} runs; " + (", ".join(found) or "no process")

    def say(self, why: str, **more: int | str) -> None:
        with contextlib.suppress(OSError):  # the host may have gone
            self.orders.send(json.dumps({"why": why, "n": self.cell, **more}).encode())

    def sample(self) -> float:
        """Looks what the REPL uses, kills it over a limit; the seconds until the next look.

        First what is quickly had: while processes multiply, a close look at each would take seconds. A calm
        node takes next to nothing: there may be a hundred, all of which wait for models.
        """
        limits, node, last = self.limits, self.node, newest()
        begun = not last or last != self._newest or len(self._pids) > FEW
        if begun:
            self._newest = last
            alone = os.getpid() == 1 and len(node.wards) == 1
            if alone and (crowd := len(os.listdir("/proc")) - OTHER_ENTRIES) > limits.processes:
                self.over("processes", crowd)
            self._pids = node.of(self)
        if len(self._pids) <= FEW:
            wake(self._pids)
        pids = [pid for pid in self._pids if pid != self.checkpoint]
        if len(pids) > limits.processes:
            self.over("processes", len(pids))
        elif begun and (tasks := limits.count_tasks(pids)) > limits.tasks:
            self.over("processes", tasks)
        self._samples += 1
        if self._samples % (3 if len(pids) <= FEW else 30) == 0:
            if (scratch := limits.measure_scratch()) > limits.scratch:
                self.over("scratch", scratch)
            self._files = limits.measure_files(pids)
        used = self._files + sum(max(0, resident([pid]) - self.base) for pid in pids)
        if used > limits.memory // 2:  # pages that they share were counted for each of them
            used = limits.measure_memory(pids) - self.base
        if used > limits.memory:
            self.over("memory", used)
        growth, self.used = used - self.used, used
        if not self.runner and len(pids) <= FEW:
            return IDLE
        hurried = len(pids) > FEW or used > limits.memory // 2 or used + 3 * growth > limits.memory
        return HURRIED if hurried else CALM

    def over(self, why: str, used: int) -> None:
        self.say(why, used=used)
        self.kill_cell()

    def close(self) -> None:
        """Ends its processes, those of others not."""
        self.stop()
        self.node.kill(self)
        self.desk.close()
        for _, orders, desk in self.forks:
            orders.close()
            desk.close()
        if self.room is not None:
            self.room.remove()
