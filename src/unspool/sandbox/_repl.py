"""The namespace of a node, and what runs one cell in it and repairs what that broke.

Contract: :meth:`Repl.run` returns how the cell ended, whatever it raised; names that are not the model's are
put back by :meth:`Repl.finish`. Standard library only; importable as a sibling module too.
"""

from __future__ import annotations
import __future__

import _sitebuiltins
import ast
import builtins
import dataclasses
import itertools
import linecache
import mmap
import signal
import socket
import sys
import threading
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..reach.marks import Marks
if TYPE_CHECKING or __package__:
    from ._calls import OPEN, Calls, Interrupts, Submitted
    from ._failure import Failure, describe, message_of
    from ._frames import Frame, FrameReader, pack
    from ._functions import Functions
    from ._reach import REACH, reach
    from ._screen import NoInput, Screen, Stream, leave, no_input
    from ._shown import cut, short
    from ._values import ContextLost, Named
else:
    from _calls import OPEN, Calls, Interrupts, Submitted
    from _failure import Failure, describe, message_of
    from _frames import Frame, FrameReader, pack
    from _functions import Functions
    from _reach import REACH, reach
    from _screen import NoInput, Screen, Stream, leave, no_input
    from _shown import cut, short
    from _values import ContextLost, Named

BALLAST = 16 << 20
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_COROUTINE = 0x80
_MISSING: object = object()


class Reserve:
    """Memory set aside, so that a cell that ran out of it can still be reported."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None

    def take(self) -> bool:
        """Whether there is as much again beside it: without that, the next cell would fail at once."""
        try:
            mmap.mmap(-1, 2 * BALLAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
            self._memory = self._memory or mmap.mmap(-1, BALLAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, MemoryError):
            return False
        return True

    def drop(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


@dataclasses.dataclass(slots=True)
class Ended:
    """How a cell ended."""

    outcome: str = "ok"
    failure: Failure | None = None
    memory: bool = False  # it ran out of memory


class Repl:
    """The namespace of one node and what runs cells in it."""

    def __init__(
        self, screen: Screen, context: object, tools: Sequence[str], imports: Sequence[str], reserve: Reserve,
        tables: bool = False, marks: Marks | None = None, without: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.screen = screen
        self._tables = tables
        self.context = context
        self.marks = marks  # what is read of the context; None: nobody traces it
        self.reserve = reserve
        self.interrupts = Interrupts()
        self.calls: Calls = cast(Calls, None)  # each cell has its own
        self.notes: list[str] = []
        self._flags = 0
        self._module = types.ModuleType("__main__")
        self.namespace: dict[str, object] = self._module.__dict__
        sys.modules["__main__"] = self._module
        builtins.input = no_input
        builtins.exit = builtins.quit = leave  # type: ignore[assignment]
        builtins.help = _sitebuiltins._Helper()  # made by site, which is not imported here
        self._builtins = dict(vars(builtins))
        self._builtin_names = {name for name in self._builtins if not name.startswith("_")}
        self._answer: dict[str, object] = {"content": "", "ready": False}
        self._contexts = {"context": context, **(context if isinstance(context, Named) else {})}
        names = {name: value for name, value in Functions(self, tools).names.items() if name not in without}
        self._fixed = {**self._contexts, **names, "__builtins__": builtins}
        self.namespace.update(self._fixed, answer=self._answer, __name__="__main__")
        if f"{REACH}.desk" in sys.modules:  # what is in files: loaded by the zygote
            reach("desk").DESK.connect(
                lambda source, numbers: self.calls.call_for(OPEN, (source, list(numbers)), {})
            )
        self._streams = Stream(screen, 1), Stream(screen, 2), NoInput()
        self._restore_streams()
        threading.excepthook = self._thread_failed
        self._import(imports)
        self._given = dict(self.namespace)

    @classmethod
    def asked_for(
        cls, frame: Frame, screen: Screen, context: object, reserve: Reserve, marks: Marks | None
    ) -> Repl:
        """The one that the host's first frame asks for."""
        tools, imports, _ = cast("tuple[list[str], list[str], int | None]", frame.values)
        without = cast("list[str]", frame.fields.get("without") or [])
        tables = frame.fields.get("tables") is True
        return cls(screen, context, tools, imports, reserve, tables, marks, without)

    def _import(self, imports: Sequence[str]) -> None:
        for line in imports:
            try:
                exec(compile(line, "<imports>", "exec", dont_inherit=True), self.namespace)
            except Exception as error:
                self.note(f"{line!r} did not work here: {type(error).__name__}: {error}")

    def outgoing(self, value: object) -> object:
        """A value on its way to the host, its DataFrames told apart where they are wanted as such."""
        return reach("dataframes").told(value) if self._tables else value

    def note(self, text: str) -> None:
        if len(self.notes) < 30 and text not in self.notes:
            self.notes.append(cut(text, 1_000))

    def take_notes(self) -> list[str]:
        passed = sys.modules.get(f"{REACH}.passed")
        for told in passed.PASSED.take() if passed else ():
            self.note(told)
        notes, self.notes = self.notes, []
        return notes

    def made(self, answer: bool = False) -> dict[str, object]:
        """The names that cells have made."""
        made = {
            name: value
            for name, value in list(self.namespace.items())
            if self._given.get(name, _MISSING) is not value
            and not name.startswith("__")
            and name not in self._fixed
        }
        current = self.namespace.get("answer")
        untouched = current is self._answer and self._answer == {"content": "", "ready": False}
        if answer and "answer" in self.namespace and not untouched:
            made["answer"] = current
        return made

    def run(self, number: int, source: str) -> Ended:
        """One cell, from its text to how it ended. Never raises."""
        name = f"<cell {number}>"
        ended = Ended()
        try:
            linecache.cache[name] = (len(source), None, source.splitlines(True), name)
            codes = self._compile(name, source)
            try:
                self.interrupts.armed = True
                value = self._execute(codes)
                if value is not None:
                    sys.stdout.write(short(value, 2 * self.screen.shown) + "\n")
            finally:
                self.interrupts.armed = False
            value = None
        except BaseException as error:  # whatever a cell raises is data
            self.interrupts.armed = False
            self._raised(error, name, ended)
            error.__traceback__ = None  # its frames hold the locals of the cell's functions
        return ended

    def rehearse(self) -> None:
        """Goes through the motions of a cell: a fresh fork copies each page that it first writes to,
        and that is better done now than when a cell waits."""
        self.interrupts.install()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(pack("cell", ["print(end='')"]))
            calls = Calls(ours, self.interrupts)
            ended = self.run(0, str(calls.receive().values[0]))
            self._restore_names()
            made = list(self.made(answer=True))
            calls.send(pack("end", ["", ended.failure, made, list(map(str, self._fixed))], n=0))

    def _compile(self, name: str, source: str) -> list[types.CodeType]:
        """The statements, and the last one apart where it is a bare expression."""
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        codes = [compile(tree, name, "exec", flags, dont_inherit=True)]
        self._flags |= codes[0].co_flags & _FUTURE
        if isinstance(last, ast.Expr):
            codes.append(compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True))
        return codes

    def _execute(self, codes: Sequence[types.CodeType]) -> object:
        if any(code.co_flags & _COROUTINE for code in codes):
            import asyncio  # it takes longer to import than all the rest of a worker

            try:
                return asyncio.run(self._execute_async(codes))
            finally:  # run leaves the thread without a loop, where asyncio.get_event_loop() would make one
                asyncio.set_event_loop_policy(None)
        value = None
        for code in codes:
            value = eval(code, self.namespace)
        return value

    async def _execute_async(self, codes: Sequence[types.CodeType]) -> object:
        value = None
        for code in codes:
            value = eval(code, self.namespace)
            if code.co_flags & _COROUTINE:
                value = await value
        import asyncio

        me = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not me]
        if left:
            self.note(f"{len(left)} task(s) were not awaited and are cancelled at the end of the cell")
        return value

    def _raised(self, error: BaseException, name: str, ended: Ended) -> None:
        if isinstance(error, Submitted):
            return
        if isinstance(error, SystemExit):
            said = "" if error.code in (None, 0) else f" with {cut(message_of(error), 200)!r}"
            self.note(f"exit was called{said}: the cell ended there; the REPL goes on")
            return
        if isinstance(error, MemoryError):
            self.reserve.drop()
            ended.memory = True
        ended.outcome = "error"
        ended.failure = describe(error, name)

    def finish(self, ended: Ended) -> None:
        """What follows a cell: an answer left in ``answer``, and the repair of what it broke."""
        self._restore_builtins()
        if not self.calls.over:
            self._submit_answer(ended)
        self._restore_streams()
        self._restore_names()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.calls.over:
            ended.outcome, ended.failure = "submitted", None
        elif self.interrupts.seen:
            ended.outcome = "interrupted"

    def told(self, number: int, ended: Ended) -> bytes:
        """The end of a cell, for the host."""
        output, printed, omitted = self.screen.take()
        failure = ended.failure and (
            ended.failure.type, ended.failure.message, ended.failure.traceback, ended.failure.line
        )  # fmt: skip
        names = [name[:60] for name in itertools.islice(self.made(answer=True), 100)]
        return pack(
            "end", [output, failure, self.take_notes(), names, self.read(output)], n=number,
            outcome=ended.outcome, printed=printed, omitted=omitted,
        )  # fmt: skip

    def read(self, output: str) -> bytes | None:
        """The ranges of the context in what is shown of a cell."""
        try:
            return None if self.marks is None else self.marks.printed(output)
        except Exception:  # whatever code has done to it: the cell stands, what it showed is unknown
            return None

    def _submit_answer(self, ended: Ended) -> None:
        """The value of ``answer`` at the end of the cell counts, after an exception too."""
        answer = self.namespace.get("answer")
        if not isinstance(answer, dict) or self.interrupts.seen:
            return
        try:
            if not answer.get("ready"):
                return
            answer["ready"] = False
            content = answer.get("content")
            if content is None or (isinstance(content, str) and not content.strip()):
                self.note(
                    'answer["ready"] was set, but answer["content"] is empty: set the content, then ready'
                )
                return
            self.calls.call(
                "submit",
                (self.outgoing(content),),
                {"printed": self.screen.printed, "variable": None, "via": "answer"},
            )
        except Submitted:
            pass
        except BaseException as error:
            failure = describe(error, "")
            if ended.failure is None:
                ended.outcome, ended.failure = "error", failure
            else:
                self.note(f"answer was not taken: {failure.type}: {failure.message}")

    def _restore_builtins(self) -> None:
        known = vars(builtins)
        for name, value in self._builtins.items():
            if known.get(name, _MISSING) is not value:
                known[name] = value
                self.note(f"the builtin {name} was changed; it is back")

    def _restore_names(self) -> None:
        space = self.namespace
        space["__name__"] = "__main__"
        for name, value in self._fixed.items():
            now = space.get(name, _MISSING)
            if now is value:
                continue
            space[name] = value
            if name != "__builtins__":
                what = "deleted" if now is _MISSING else "rebound"
                kept = self._keep(name, now) if name in self._contexts else ""
                self.note(f"{name} was {what}; it is back as it was{kept}")
        for name in self._builtin_names & space.keys() - self._fixed.keys():
            value = space[name]
            if self._imported(value):
                continue
            del space[name]
            self.note(f"{name} is a builtin again{self._keep(name, value)}; use another name for a variable")

    @staticmethod
    def _imported(value: object) -> bool:
        """A function of a library under a builtin's name, as after ``from math import pow``."""
        home = getattr(value, "__module__", None) or type(value).__module__
        return callable(value) and home not in ("builtins", "__main__")

    def _keep(self, name: str, value: object) -> str:
        """A value that lost its name is not lost."""
        if value is None or value is _MISSING or callable(value) or f"{name}_" in self.namespace:
            return ""
        self.namespace[f"{name}_"] = value
        return f"; your value is in {name}_"

    def _restore_streams(self) -> None:
        sys.stdout, sys.stderr, sys.stdin = self._streams
        sys.__stdout__, sys.__stderr__, sys.__stdin__ = self._streams  # type: ignore[misc,assignment]
        sys.modules["__main__"] = self._module

    def _thread_failed(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit | Submitted):
            sys.stderr.write(f"in a thread: {describe(args.exc_value, '').traceback}\n")


def not_opened(error: Exception) -> bytes:
    """Why there is no REPL, for the host."""
    lost = isinstance(error, ContextLost)
    why = f"the context cannot be handed over: {error}" if lost else f"{type(error).__name__}: {error}"
    return pack("failed", [why], context=lost)


def rehearse() -> None:
    """Makes a REPL and throws it away: see :meth:`Repl.rehearse`."""
    reserve = Reserve()
    reserve.take()
    screen = Screen(8_000)
    Repl(screen, "", ["tool"], ["import re"], reserve).rehearse()
    screen.close()
    reserve.drop()
    FrameReader().feed(pack("ready"))
