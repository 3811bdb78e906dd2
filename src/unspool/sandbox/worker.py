"""The worker: the life of a process that is a REPL for model-written code.

Contract: :meth:`Worker.serve` opens the REPL and runs cells until the host goes: a checkpoint before each
cell, rollback, take-over. It is standard library of Python 3.11 or newer, in this file and those beside it,
and can be sent to any interpreter: :mod:`_repl` runs a cell, with :mod:`_functions` (which have
:mod:`_arguments`), :mod:`_calls`, :mod:`_screen`, :mod:`_failure` and :mod:`_shown`. :mod:`_frames` and
:mod:`_values` are the host's as well, so that there is one copy of them. Importable as a sibling module too.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING:
    from ..reach.marks import Marks
if TYPE_CHECKING or __package__:
    from ._calls import Calls
    from ._frames import Frame, FrameReader, pack
    from ._repl import Ended, Repl, Reserve, not_opened
    from ._screen import Screen
else:
    from _calls import Calls
    from _frames import Frame, FrameReader, pack
    from _repl import Ended, Repl, Reserve, not_opened
    from _screen import Screen

_seeds: list[int] = []  # of this node, where it has one


def reseed(seed: int) -> None:
    """A node that is resumed draws the same random numbers again, the system's too: ``uuid4`` and numpy's
    ``default_rng()`` begin with those. Nothing here has to be kept from guessing them."""
    import random  # the zygote has it, in a way that keeps a seed through forks

    system, plain = random.Random(~seed), random.Random.seed
    os.urandom = random._urandom = system.randbytes  # type: ignore[attr-defined]

    def seeded(self: random.Random, a: object = None, version: int = 2) -> None:
        plain(self, system.getrandbits(256) if a is None else a, version)  # type: ignore[arg-type]

    random.Random.seed = seeded  # type: ignore[method-assign]
    random.seed = random._inst.seed
    random.seed(seed)
    _seeds.append(seed)
    seed_numpy()


def seed_numpy() -> None:
    """The same of numpy's own numbers, where it is there by now: it may be imported later."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and _seeds:
        numpy.random.seed(_seeds[-1] & 0xFFFFFFFF)


def _tasks() -> int:
    """How many threads this process has.

    Landlock refuses to open /proc, but not to ask for a folder's number of links.
    """
    try:
        return os.stat("/proc/self/task").st_nlink - 2
    except OSError:
        return threading.active_count()


_begun: dict[int, int] = {}  # by process: threads that the import of libraries has begun


@contextlib.contextmanager
def beginning() -> Iterator[None]:
    """Threads that C code begins in here, and that no fork has, are not counted by :meth:`Worker.threads`.

    They are those of an import; another import may be within it.
    """

    def unknown() -> int:
        return _tasks() - threading.active_count() - _begun.get(os.getpid(), 0)

    before = unknown()
    try:
        yield
    finally:
        _begun[os.getpid()] = _begun.get(os.getpid(), 0) + max(0, unknown() - before)


class Worker:
    """The life of a worker: it waits for cells, and forks a checkpoint of itself before each."""

    def __init__(
        self, control: socket.socket, desk: socket.socket | None, fork: Callable[[], int] = os.fork
    ) -> None:
        self._control = control
        self._desk = desk  # the keeper's
        self._fork = fork
        self._frames = FrameReader()
        self._fds: list[int] = []
        self._channel: socket.socket | None = None
        self._links: dict[int, int] = {}
        self._checkpoint = 0  # the pid of the process that this one falls back on
        self._stands = Screen.STANDS  # the state of the screen when nothing runs
        self._fresh = True  # no cell has run: a new REPL is as good as a checkpoint
        self._ahead = True
        self._forking = False
        self._unguarded = False
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A process that code in a cell forks off must not speak for the REPL."""
        if self._forking:
            return
        for link in self._own_links():
            link.close()

    def serve(
        self, load: Callable[[], object], room: int = -1, trace: Callable[[object], Marks] | None = None,
        fork_off: Callable[[Worker, list[int]], None] | None = None,
    ) -> NoReturn:  # fmt: skip
        """Opens the REPL and runs cells until the host goes. ``load`` makes the context, ``trace`` what
        tells of its reading; ``room`` is for the screen, so that the host can read what a process has
        printed that is no more; ``fork_off`` makes another REPL of this one, where the host asks for it."""
        frame, _ = self._next_order()
        shown = frame.number("shown", 1 << 24)
        if (seed := cast("int | None", frame.values[2])) is not None:
            reseed(seed)
        screen = Screen(shown, room)
        if room >= 0:
            os.close(room)
        screen.attach()
        reserve = Reserve()
        reserve.take()
        try:
            context = load()
            marks = None if trace is None else trace(context)
            self._repl = Repl.asked_for(frame, screen, context, reserve, marks)
        except Exception as error:  # whatever it is, the host is told
            reserve.drop()
            self._control.sendall(not_opened(error))
            os._exit(0)
        self._tell(b"R 0")
        self._control.sendall(pack("ready"))
        while True:
            if not self._fresh:
                self._guard_ahead()
            frame, fds = self._next_order()
            if frame.kind == "fork" and fork_off is not None:
                self._tell(b"F 0")
                fork_off(self, fds)
                continue
            number = frame.number("n")
            self._repl.screen.state = number
            try:
                self._cell(number, socket.socket(fileno=fds[0]))
            except MemoryError:
                self._give_up(b"memory")
            self._fresh = False

    def leave(self) -> NoReturn:
        """The host has hung up."""
        os._exit(0)

    def _next_order(self) -> tuple[Frame, list[int]]:
        while (frame := self._frames.next()) is None:
            data, fds, _, _ = socket.recv_fds(self._control, 65_536, 8)
            if not data:
                self.leave()
            self._frames.feed(data)
            self._fds += fds
        fds, self._fds = self._fds, []
        return frame, fds

    def _tell(self, message: bytes) -> None:
        if self._desk is not None:
            self._desk.send(message)

    def become(self, control: socket.socket, desk: socket.socket, room: int) -> None:
        """In a fork of a REPL: from here on it is one of its own."""
        for link in self._own_links():
            link.close()
        self._control, self._desk, self._frames, self._checkpoint = control, desk, FrameReader(), 0
        self._repl.screen.move(room)
        self._repl.screen.state = self._stands
        os.close(room)
        self._tell(b"R 0")
        control.sendall(pack("ready"))

    def descriptors(self) -> tuple[list[int], int | None]:
        """Those of the REPL itself: its links, and where it reads what is written to 1 and 2."""
        return [link.fileno() for link in self._own_links()], self._repl.screen.pipe

    def fork(self) -> int:
        """A process that goes on as a REPL."""
        self._forking = True
        try:
            return self._fork()
        finally:
            self._forking = False

    def threads(self) -> int:
        """How many threads this process has, those of C libraries too, but not what imports have begun."""
        return max(1, _tasks() - _begun.get(os.getpid(), 0))

    def _cell(self, number: int, channel: socket.socket) -> None:
        self._channel = channel
        if not self._checkpoint and not self._fresh:
            if self._guard():  # threads may have ended meanwhile
                return  # the cell was undone, and its end is told
            self._note_no_checkpoint()
        self._tell(b"C %d" % number)
        repl = self._repl
        pid = os.getpid()
        repl.interrupts.install()
        self._links = {link.fileno(): os.fstat(link.fileno()).st_ino for link in self._own_links()}
        repl.calls = Calls(channel, repl.interrupts)
        source = cast(str, repl.calls.receive().values[0])
        if repl.marks is not None:
            repl.marks.cell_began(source)
        ended = repl.run(number, source)
        if os.getpid() != pid:
            os._exit(0)  # a process that the cell has forked came to its end
        repl.finish(ended)
        repl.calls.drop()
        if ended.memory and not repl.reserve.take() and (self._checkpoint or self._fresh):
            self._give_up(b"memory")
        if not self._linked():
            self._give_up(b"links")
        self._ahead = ended.outcome != "submitted" and self.threads() == 1
        self._report(number, ended)
        channel.close()
        self._channel = None

    def _give_up(self, why: bytes) -> NoReturn:
        """The checkpoint takes over, and tells why."""
        self._repl.screen.last_word(why)
        os._exit(1)

    def _own_links(self) -> list[socket.socket]:
        return [link for link in (self._control, self._desk, self._channel) if link is not None]

    def _linked(self) -> bool:
        """Whether code in the cell has left our own sockets alone."""
        try:
            return all(os.fstat(fd).st_ino == node for fd, node in self._links.items())
        except OSError:
            return False

    def _settle(self) -> None:
        """Waits until the keeper has ended what the cell has left running."""
        if self._desk is not None and not self._desk.recv(16):
            os._exit(0)

    def _report(self, number: int, ended: Ended) -> None:
        repl = self._repl
        frame = repl.told(number, ended)
        # From here on the cell stands: the checkpoint, which the keeper ends when it hears of that, is out of
        # date, and goes by itself if it is woken first.
        self._checkpoint, self._stands = 0, Screen.STANDS + number
        repl.screen.state = self._stands
        # What the cell has left running is ended by the keeper: when it hears of the fork that comes
        # next, or else at once, and then it must have happened before this process forks again.
        self._tell(b"D %d" % number if self._ahead else b"E %d" % number)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the host may have gone
            repl.calls.send(frame)
        if not self._ahead:
            self._settle()

    def _guard_ahead(self) -> None:
        """Makes the checkpoint while the host is busy elsewhere, unless no further cell is likely."""
        if self._ahead:
            os.sched_yield()  # let the host hear how the cell ended first
            self._guard()

    def _guard(self) -> bool:
        """Forks a checkpoint, where there is one thread. Returns in the child, which goes on as the REPL; the
        parent stands for it again each time that it has died. Whether a cell has been undone meanwhile."""
        deaths, undone = 0, False
        while not self._checkpoint and self.threads() == 1 and deaths < 3:
            me = os.getpid()
            try:
                child = self.fork()
            except OSError:
                break
            if child == 0:
                self._checkpoint = me
                self._tell(b"P 0")
                # The next cell of a reply comes at once, that of the next reply later.
                if not (self._channel or select.select([self._control], [], [], 0.002)[0]):
                    self._repl.rehearse()
                break
            _, status = os.waitpid(child, 0)
            state = self._repl.screen.state
            deaths = deaths + 1 if state == self._stands else 0
            if not deaths:
                self._take_over(state, status)
                undone = True
        return undone

    def _note_no_checkpoint(self) -> None:
        if self._checkpoint:
            self._unguarded = False
            return
        if not self._unguarded:
            why = "threads are running in the REPL" if self.threads() > 1 else "no process could be forked"
            self._repl.note(f"{why}: a cell that crashes now loses all variables")
        self._unguarded = True

    def _take_over(self, number: int, status: int) -> None:
        screen = self._repl.screen
        if number & screen.STANDS:  # of a cell that this process knows nothing of
            os._exit(0)
        screen.state = self._stands
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        word = screen.last_word()
        output, printed, omitted = screen.take()
        if self._repl.marks is not None:
            self._repl.marks.cell_died()
        self._tell(b"T %d" % number)
        self._settle()
        frame = pack(
            "rolled_back", [output, self._repl.read(output)], n=number, status=status,
            word=word.decode("ascii", "replace"), printed=printed, omitted=omitted,
        )  # fmt: skip
        self._control.sendall(frame)
