"""What code in the REPL may call, host side: sub-calls, children, the budget, the answer, tools.

Contract: one :class:`ReplApi` a node; the sandbox awaits it for every host call, several at a time.
What goes wrong is raised as :class:`HostCallError`, which becomes an exception in the cell.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from . import events as ev
from .children import Children
from .citations import Citations
from .claims import unread_notice
from .contexts.grants import Grants
from .contexts.identity import context_hash
from .errors import HostCallError
from .event_lines import is_exact
from .ground import Ground
from .ranges import Spans
from .request_key import SIZE
from .sandbox._calls import OPEN
from .sandbox._libraries import names_a_library
from .sandbox.protocol import HostCall, HostReply
from .scope import Place, Scope, Task
from .sub_calls import SubCalls
from .submission import Submissions
from .tools import DRAFT
from .types import CellOutcome, FailedCall

if TYPE_CHECKING:
    from .past import PastCell


_NEEDED = {  # arguments
    "llm_query": 1,
    "llm_query_batched": 1,
    "llm_map": 2,
    "classify": 2,
    "rlm_query": 1,
    "rlm_query_batched": 1,
    "submit": 1,
    DRAFT: 2,
}


class ReplApi:
    """The host's side of one node's REPL."""

    def __init__(self, scope: Scope, task: Task) -> None:
        self._scope = scope
        self._task = task
        self.place = Place()
        self.notes: list[str] = []  # for the model, shown with the turn's outcome
        self.printed = False
        profile = scope.profile
        self.ground = Ground.of(task.context, profile.head, profile.tail)
        self._subs = SubCalls(scope, task, self.place, self.ground)
        self._grants = Grants(task.context)
        self._children = Children(scope, task, self.place, self._subs, self._grants, self._note, self.ground)
        self.answers = Submissions(scope, task, self.place)
        self.citations = Citations(scope, task, self.place)
        self.codes: list[str] = []  # of the cells
        self.prints = Spans()  # what they printed of the context
        self.prints.add(self.ground.shown)

    @property
    def looked(self) -> bool:
        """Whether anything was printed or asked yet, or the description already showed all there is."""
        return self.printed or self._subs.made + self._children.made > 0 or self.ground.all_shown

    @property
    def failures(self) -> tuple[int, Sequence[FailedCall]]:
        """How many sub-calls were made, and what became of those that failed."""
        return self._subs.made, self._subs.failed

    def context_goes(self) -> None:
        """The REPL of the turns is another one, without the context: the model copies what it sends."""
        self._subs.has_context = False

    def measured(self) -> None:
        """Tells how large the context is, where that is known and new."""
        if (told := self.ground.measured(self._task.node)) is not None:
            self._scope.log.emit(told)

    def cell_began(self, number: int, code: str) -> None:
        self.place.cell = number
        self.codes.append(code)
        self._scope.libraries = self._scope.libraries or names_a_library(code)
        self._subs.known.cell_began()

    def cell_ended(self, outcome: CellOutcome) -> None:
        """A cell that left nothing behind has not paid in vain."""
        if outcome in ("rolled_back", "restarted"):
            self._subs.known.cell_undone()

    async def __call__(self, call: HostCall) -> HostReply:
        if len(call.args) < _NEEDED.get(call.name, 0):  # the worker's own stubs pass all; others may not
            raise HostCallError("TypeError", f"{call.name}: an argument is missing")
        return await self._dispatch(call)

    async def _dispatch(self, call: HostCall) -> HostReply:
        kwargs = call.kwargs
        match call.name:
            case name if name in self._scope.profile.without:
                raise HostCallError("ValueError", f"there is no function {name!r}")
            case "llm_query":
                return HostReply(await self._subs.query_of(call))
            case "llm_query_batched":
                return HostReply(await self._subs.batch_of_texts(call))
            case "llm_map":
                return HostReply(await self._subs.map(call))
            case "classify":
                return HostReply(await self._subs.classify(call))
            case "rlm_query":
                return HostReply(await self._children.one(call))
            case "rlm_query_batched":
                return HostReply(await self._children.batch(call))
            case "budget":
                return HostReply(await self._remembered(call, self._budget))
            case "cite":
                return self.citations.cite(call)
            case "submit":
                return self._submit(call)
            case name if name == OPEN:  # not journalled: it is opened again when the run is resumed
                return await self._grants.open(call)
            case name if name == DRAFT:
                self.answers.keep_draft(call)
                return HostReply()
            case name if name in self._scope.tools.names:
                tools, loop = self._scope.tools, self._scope.loop
                return HostReply(
                    await self._remembered(call, lambda: tools.call(name, call.args, kwargs, loop))
                )
            case name:
                raise HostCallError("ValueError", f"there is no function {name!r}")

    def _submit(self, call: HostCall) -> HostReply:
        printed = call.kwargs.get("printed")
        self.printed = self.printed or (isinstance(printed, int) and printed > 0)
        notice = self._unread_notice() if self._scope.profile.tells_unread else None
        reply = self.answers.submit(call, looked=self.looked, sub_calls=self._subs.made, notice=notice)
        assert self.answers.accepted is not None  # else it was refused
        self.citations.of_answer(self.answers.accepted.value)
        return reply

    def _unread_notice(self) -> str | None:
        """What of the input was not read, where that matters and is known."""
        if self._subs.unsure or self._children.made:
            return None
        return unread_notice(self._task.query, self.codes, self.ground, self._subs.read, self.prints)

    def skip(self, past: PastCell) -> None:
        """A cell that is not run again, as its variables are gone: what it did counts all the same."""
        assert past.ended is not None
        self.printed = self.printed or past.ended.printed > 0
        self._children.skip(past)
        for refused in past.refused:
            self.answers.refuse_again(refused)
        if past.started.node != self._task.node:
            for cited in past.cited:
                self.citations.again(cited)
        self._subs.skip(past)

    async def _budget(self) -> object:
        free = self._scope.driven and self._task.parent is None
        turns = None if free else self._scope.limits.max_turns - self.place.turn
        return {"turns": turns, "depth": self._children.depth_left, **self._task.meter.left()}

    async def _remembered(self, call: HostCall, make: Callable[[], Awaitable[object]]) -> object:
        """What the call came to before; else what it comes to now, journalled."""
        key = (context_hash((call.args, dict(call.kwargs))) or "")[:SIZE]
        past = self._scope.replay.tool(self._task.node, self.place.cell, call.name, key)
        if past is not None and past.error is not None:
            raise HostCallError("ToolError", past.error)
        if past is not None and past.exact:
            return past.value
        try:
            value = await make()
        except HostCallError as error:
            self._tool_ended(call.name, key, None, error.message)
            raise
        if past is None:
            self._tool_ended(call.name, key, value, None)
        return value

    def _tool_ended(self, name: str, key: str, value: object, error: str | None) -> None:
        exact = is_exact(value)
        self._scope.log.emit(
            ev.ToolEnded(
                node=self._task.node,
                turn=self.place.turn,
                cell=self.place.cell,
                name=name,
                key=key,
                value=value if exact else None,
                error=error,
                exact=exact,
            )
        )

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def take_notes(self) -> tuple[str, ...]:
        """What there is to say since it was asked last."""
        notes, self.notes = tuple(self.notes), []
        return notes
