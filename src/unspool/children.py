"""Children of a node: ``rlm_query`` and ``rlm_query_batched``, host side.

Contract: a child is a whole node with turns, a REPL, a trace and a share of its parent's budget. It sees its
query, the context it is given and the tools, and nothing else of its parent. What it submits has to fit the
schema, if there is one. A child that ends without an answer is an ``LLMError`` of the kind ``child``, in a
batch a ``FailedCall``, that says how it ended and what its draft was. A large part of the parent's context
comes as its place in it, and is handed on as that: nobody copies it.

>>> speaks_of_a_text("Who wrote the passage above?"), speaks_of_a_text("Who wrote Moby Dick?")
('the passage above', None)
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .answers import AnswerType
from .budget import Budget, Meter
from .contexts.grants import Grants
from .contexts.identity import context_hash
from .contexts.looking import looked
from .contexts.sources import sources_in
from .errors import ConfigError, ContextError, HostCallError
from .ground import Ground
from .images import Image
from .past import PastCell
from .ranges import UNKNOWN, Shown, Stretch, with_stretches
from .reach import dataframes
from .sandbox.protocol import HostCall
from .schema import Schema
from .scope import Outcome, Place, Scope, Task
from .sub_calls import SubCalls
from .sub_prompts import as_items, as_text
from .types import FailedCall, TextPart

AT_ONCE = 32  # children of one node that live at the same time: each has processes of its own
SHOWN_DRAFT = 300  # characters
BARE = 400  # characters of a query that may hold no text beside what it asks

_THING = (
    "text|chunk|passage|document|excerpt|section|snippet|paragraph|article|email|message|log|list|table|"
    "code|data|context|content|conversation|transcript|page|story|report|lines|items|records"
)
_SPOKEN_OF = re.compile(
    rf"\b(?:th(?:e|is|ese|ose)|following|above|below|given|provided)\s+(?:\w+\s+)?(?:{_THING})s?\s+(?:above|below|here)\b"
    rf"|\bth(?:is|ese)\s+(?:{_THING})s?\b"
    rf"|\b(?:above|below|following|given|provided|attached)\s+(?:{_THING})s?\b",
    re.IGNORECASE,
)


def speaks_of_a_text(query: str) -> str | None:
    """The words of a query that point to a text which it does not give itself."""
    found = _SPOKEN_OF.search(query)
    if found is None or len(query) > BARE:
        return None
    # A text that is given stands behind a colon, between quotes, in a fence, or on lines of its own.
    given = re.search(r":\s*\S.{40,}|[\"“'`].{20,}[\"”'`]|\n\s*\S.{30,}", query, re.DOTALL)
    return None if given else found[0]


@dataclass(frozen=True, slots=True)
class _Handed:
    """What a child is shown of its parent's context by its query, and what its own context has of it."""

    query: Shown = UNKNOWN
    context: tuple[Stretch, ...] | None = None


class Children:
    """The children of one node. ``made`` counts them."""

    def __init__(
        self,
        scope: Scope,
        task: Task,
        place: Place,
        subs: SubCalls,
        grants: Grants,
        note: Callable[[str], None],
        ground: Ground,
    ) -> None:
        self._scope = scope
        self._task = task
        self._place = place
        self._subs = subs
        self._grants = grants
        self._note = note
        self._ground = ground
        self._names = itertools.count(scope.replay.born(task.node) + 1)
        self._room = asyncio.Semaphore(AT_ONCE)
        self.made = 0

    @property
    def depth_left(self) -> int:
        return max(0, self._scope.limits.max_depth - self._task.depth)

    def skip(self, past: PastCell) -> None:
        """The children of a cell that is not run again."""
        self.made += len(past.children)

    async def one(self, call: HostCall) -> object:
        kwargs = call.kwargs
        context = self._given(kwargs.get("context"), kwargs.get("part"))
        (shown,) = self._shown(call, [kwargs.get("part")])
        return await self._child(as_text(call.args[0]), context, kwargs.get("schema"), shown)

    async def batch(self, call: HostCall) -> list[object]:
        queries, schema = [as_text(query) for query in as_items(call.args[0])], call.kwargs.get("schema")
        contexts = self._side(call, "contexts", len(queries))
        parts = self._side(call, "parts", len(queries))

        async def one(query: str, context: object, part: object, shown: _Handed) -> object:
            try:
                return await self._child(query, self._given(context, part), schema, shown)
            except HostCallError as error:
                return FailedCall(error.failure or "child", error.message)

        async with asyncio.TaskGroup() as group:
            rows = zip(queries, contexts, parts, self._shown(call, parts), strict=True)
            tasks = [group.create_task(one(*row)) for row in rows]
        return [task.result() for task in tasks]

    @staticmethod
    def _side(call: HostCall, name: str, count: int) -> Sequence[object]:
        """What stands beside the queries, one for each."""
        given = call.kwargs.get(name)
        items: Sequence[object] = [None] * count if given is None else as_items(given)
        if len(items) != count:
            raise HostCallError("ValueError", f"rlm_query_batched: {count} queries but {len(items)} {name}")
        return items

    def _given(self, context: object, part: object) -> object:
        """The context of a child: as it came, or the part of this node's own that ``part`` names.

        It comes from the REPL: whatever it is, it leads nowhere but into the text that the REPL has.
        """
        if part is None:
            return self._grants.resolve(context)
        own = self._task.context
        if isinstance(own, str | TextPart) and isinstance(part, tuple) and len(part) == 2:
            start, length = part
            if type(start) is int and type(length) is int and 0 <= start <= start + length <= len(own):
                if length == len(own):
                    return own
                at, whole = (own.start, own.whole) if isinstance(own, TextPart) else (0, own)
                return TextPart(whole, at + start, length)
        raise HostCallError("ValueError", "rlm_query: this is no part of the context")

    def _shown(self, call: HostCall, parts: Sequence[object]) -> list[_Handed]:
        """What the queries and the contexts of children have of this node's own context."""
        ground, count = self._ground, len(parts)
        reads = ground.read(call.kwargs.get("ranges"), count)
        packed = call.kwargs.get("stretches")
        stretches = [
            ground.stretches(packed, number, count) if part is None else ground.part(part)
            for number, part in enumerate(parts)
        ]
        return [_Handed(*each) for each in zip(reads, stretches, strict=True)]

    async def _child(self, query: str, context: object, schema: object, shown: _Handed) -> object:
        if dataframes.holds(context):
            context = await asyncio.to_thread(_with_tables, context)
        if context is None and (words := speaks_of_a_text(query)):
            self._note(
                f"rlm_query: the query speaks of a text ({words!r}) and gives none. A child sees its query "
                "and its context alone, nothing of yours: rlm_query(query, the_text)"
            )
        if self.depth_left == 0:
            self._note("rlm_query: no depth is left, so a sub-call answered (llm_query on query and context)")
            if any(sources_in(context)):
                raise HostCallError(
                    "ValueError",
                    "rlm_query: no depth is left, so a sub-call would answer, and that takes "
                    "text: give a slice, text[a:b], or use llm_query on pieces",
                )
            images = [context] if isinstance(context, Image) else context
            if isinstance(images, list) and images and all(isinstance(each, Image) for each in images):
                return await self._subs.query(query, None, schema, images)
            if hasattr(context, "columns"):
                raise HostCallError(
                    "ValueError",
                    "rlm_query: no depth is left, so a sub-call would answer, and that takes text: "
                    "give the rows that matter, table.to_csv()",
                )
            given = context.text if isinstance(context, TextPart) else context
            text = query if given is None else f"{query}\n\n{as_text(given)}"
            return await self._subs.query(
                text, None, schema, shown=with_stretches(shown.query, shown.context)
            )
        wanted = _answer_of(schema)
        context = "" if context is None else context
        if query == self._task.query and _same(context, self._task.context):
            raise HostCallError(
                "ValueError",
                "rlm_query: this is your own question over your own context; ask a shorter one, "
                "for what has to be known first, or give a part of the context",
            )
        self.made += 1
        async with self._room:
            outcome = await self._outcome(query, context, wanted, shown)
        if outcome.status != "answered":
            raise HostCallError("LLMError", _why(outcome), failure="child")
        return outcome.answer

    async def _outcome(self, query: str, context: object, wanted: AnswerType, shown: _Handed) -> Outcome:
        scope, task = self._scope, self._task
        context, told = await self._described(context)
        past = scope.replay.child(task.node, self._place.cell, query, told)
        name, outcome = past or (f"{task.node}.{next(self._names)}", None)
        if outcome is not None:
            return outcome
        return await scope.spawn(
            scope,
            Task(
                node=name,
                parent=task.node,
                depth=task.depth + 1,
                query=query,
                context=context,
                description=told,
                answer=wanted,
                meter=Meter(Budget(), parent=task.meter, owner=f"node {name}"),
                ranges=shown.query.ranges,
                stretches=shown.context,
            ),
        )

    async def _described(self, context: object) -> tuple[object, str]:
        """The context of a child and its description; what is in files is looked at."""
        if context is self._task.context:
            return context, self._task.description  # it is there already
        try:
            return await looked(context, self._scope.sandbox, *self._scope.profile.described)
        except ContextError as error:
            raise HostCallError("ValueError", f"rlm_query: {error}") from None


def _answer_of(schema: object) -> AnswerType:
    """What a child's answer is checked against when it submits."""
    wanted = Schema.of(schema)
    try:
        return AnswerType(wanted.json if wanted else None)
    except ConfigError as error:
        raise HostCallError("ValueError", str(error).replace("answer=", "schema=")) from None


def _same(given: object, own: object) -> bool:
    """Whether a child would be given the context of its parent; tables are no truth values."""
    if given is own:
        return True
    if isinstance(given, str | TextPart) or isinstance(own, str | TextPart):
        return given == own
    return (known := context_hash(given)) is not None and known == context_hash(own)


def _why(outcome: Outcome) -> str:
    """How a child ended that has no answer, and what there is of one."""
    told = f"the child ended {outcome.status}: {outcome.reason}"
    if outcome.draft is None:
        return told
    draft = repr(outcome.answer)
    cut = draft if len(draft) <= SHOWN_DRAFT else draft[:SHOWN_DRAFT] + " …"
    return f"{told}; its draft ({outcome.draft}): {cut}"


def _with_tables(context: object) -> object:
    """The told tables of a context as DataFrames again."""
    try:
        return dataframes.read_all(context)
    except ValueError as error:
        raise HostCallError(
            "ValueError", f"rlm_query: {error}: give the rows, table.to_dict('records')"
        ) from None
