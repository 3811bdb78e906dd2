"""What code in the REPL may call, host side: sub-calls, children, the budget, the answer, tools.

Contract: one :class:`ReplApi` a node; the sandbox awaits it for every host call, several at a time.
What goes wrong is raised as :class:`HostCallError`, which becomes an exception in the cell.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from . import events as ev
from .answers import AnswerType
from .budget import Budget, Meter
from .contexts.grants import OPEN, Grants
from .contexts.identity import context_hash
from .contexts.looking import looked
from .contexts.sources import sources_in
from .errors import ConfigError, ContextError, HostCallError
from .event_lines import is_exact
from .request_key import SIZE
from .sandbox.protocol import HostCall, HostReply
from .schema import Schema
from .scope import Place, Scope, Task
from .sub_calls import SubCalls, as_items, as_text
from .submission import Submissions
from .tools import DRAFT
from .types import CellOutcome, FailedCall

if TYPE_CHECKING:
    from .past import PastCell


class ReplApi:
    """The host's side of one node's REPL."""

    def __init__(self, scope: Scope, task: Task) -> None:
        self._scope = scope
        self._task = task
        self._children = 0
        self._names = itertools.count(scope.replay.born(task.node) + 1)
        self.place = Place()
        self.notes: list[str] = []  # for the model, shown with the turn's outcome
        self.printed = False
        self._subs = SubCalls(scope, task, self.place)
        self.answers = Submissions(scope, task, self.place)
        self._grants = Grants(task.context)

    @property
    def looked(self) -> bool:
        """Whether anything was printed or asked yet."""
        return self.printed or self._subs.made + self._children > 0

    def cell_began(self, number: int) -> None:
        self.place.cell = number
        self._subs.known.cell_began()

    def cell_ended(self, outcome: CellOutcome) -> None:
        """A cell that left nothing behind has not paid in vain."""
        if outcome in ("rolled_back", "restarted"):
            self._subs.known.cell_undone()

    async def __call__(self, call: HostCall) -> HostReply:
        try:
            return await self._dispatch(call)
        except IndexError:  # the worker's own stubs always pass it; other frames may not
            raise HostCallError("TypeError", f"{call.name}: an argument is missing") from None

    async def _dispatch(self, call: HostCall) -> HostReply:
        kwargs = call.kwargs
        match call.name:
            case "llm_query":
                asked = (call.args[0], kwargs.get("model"), kwargs.get("schema"))
                return HostReply(await self._subs.query(*asked))
            case "llm_query_batched":
                return HostReply(await self._subs.batch_of_texts(call))
            case "classify":
                return HostReply(await self._subs.classify(call))
            case "rlm_query":
                return HostReply(await self._child(call.args[0], kwargs.get("context"), kwargs.get("schema")))
            case "rlm_query_batched":
                return HostReply(await self._children_batch(call))
            case "budget":
                return HostReply(await self._remembered(call, self._budget))
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
        return self.answers.submit(call, looked=self.looked, sub_calls=self._subs.made)

    def skip(self, past: PastCell) -> None:
        """A cell that is not run again, as its variables are gone: what it did counts all the same."""
        assert past.ended is not None
        self.printed = self.printed or past.ended.printed > 0
        self._children += len(past.children)
        for refused in past.refused:
            self.answers.refuse_again(refused)
        self._subs.skip(past)

    async def _budget(self) -> object:
        turns = self._scope.limits.max_turns - self.place.turn
        return {"turns": turns, "depth": self._depth_left(), **self._task.meter.left()}

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

    # Children

    def _depth_left(self) -> int:
        return max(0, self._scope.limits.max_depth - self._task.depth)

    async def _child(self, query: object, context: object, schema: object) -> object:
        question, context = as_text(query), self._grants.resolve(context)
        if self._depth_left() == 0:
            if any(sources_in(context)):
                raise HostCallError(
                    "ValueError", "rlm_query: no depth is left, so a sub-call would answer, and that takes "
                    "text: give a slice, text[a:b], or use llm_query on pieces"
                )  # fmt: skip
            self._note("rlm_query: no depth is left, so a sub-call answered (llm_query on query and context)")
            text = question if context is None else f"{question}\n\n{as_text(context)}"
            return await self._subs.query(text, None, schema)
        wanted = _answer_of(schema)
        if context is None:
            context = ""
        if question == self._task.query and _same(context, self._task.context):
            raise HostCallError(
                "ValueError",
                "rlm_query: this is your own question over your own context; ask a shorter one, "
                "for what has to be known first, or give a part of the context",
            )
        self._children += 1
        context, told = await self._described(context)
        past = self._scope.replay.child(self._task.node, self.place.cell, question, told)
        name, outcome = past or (f"{self._task.node}.{next(self._names)}", None)
        if outcome is None:
            outcome = await self._scope.spawn(
                self._scope,
                Task(
                    node=name,
                    parent=self._task.node,
                    depth=self._task.depth + 1,
                    query=question,
                    context=context,
                    description=told,
                    answer=wanted,
                    meter=Meter(Budget(), parent=self._task.meter, owner=f"node {name}"),
                ),
            )
        if outcome.status != "answered":
            raise HostCallError(
                "LLMError", f"the child ended {outcome.status}: {outcome.reason}", failure="child"
            )
        return outcome.answer

    async def _described(self, context: object) -> tuple[object, str]:
        """The context of a child and its description; what is in files is looked at."""
        profile = self._scope.profile
        try:
            return await looked(context, self._scope.sandbox, head=profile.head, tail=profile.tail)
        except ContextError as error:
            raise HostCallError("ValueError", f"rlm_query: {error}") from None

    async def _children_batch(self, call: HostCall) -> list[object]:
        queries = as_items(call.args[0])
        given = call.kwargs.get("contexts")
        contexts: Sequence[object] = [None] * len(queries) if given is None else as_items(given)
        if len(contexts) != len(queries):
            raise HostCallError(
                "ValueError", f"rlm_query_batched: {len(queries)} queries but {len(contexts)} contexts"
            )

        async def one(query: object, context: object) -> object:
            try:
                return await self._child(query, context, call.kwargs.get("schema"))
            except HostCallError as error:
                return FailedCall(error.failure or "child", error.message)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(q, c)) for q, c in zip(queries, contexts, strict=True)]
        return [task.result() for task in tasks]

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _answer_of(schema: object) -> AnswerType:
    """What a child's answer is checked against when it submits."""
    wanted = Schema.of(schema)
    try:
        return AnswerType(wanted.json if wanted else None)
    except ConfigError as error:
        raise HostCallError("ValueError", str(error).replace("answer=", "schema=")) from None


def _same(given: object, own: object) -> bool:
    """Whether a child would be given the context of its parent; tables are no truth values."""
    if isinstance(given, str) or isinstance(own, str):
        return given == own
    return (known := context_hash(given)) is not None and known == context_hash(own)
