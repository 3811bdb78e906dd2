"""What code in the REPL may call, host side: sub-calls, children, the budget, the answer, tools.

Contract: one :class:`ReplApi` a node; the sandbox awaits it for every host call, several at a time.
A failed sub-call raises ``LLMError`` in the cell, or is a ``FailedCall`` in its place of a batch;
it is never text. After a failure that no retry can mend (``Scope.fatal``), nothing more is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from . import events as ev
from .answers import AnswerType, failed_items, is_empty
from .budget import Budget, Meter, OverBudget
from .errors import HostCallError, ModelError
from .models.calls import Caller
from .models.protocol import Message, ModelReply, ModelRequest
from .sandbox.protocol import HostCall, HostReply
from .schema import Schema
from .scope import Scope, Task
from .tools import DRAFT
from .types import FailedCall, FailureKind, Usage

UNMEASURED = Usage()  # a call that was never sent


@dataclass(slots=True)
class Place:
    """Where the node is: events of host calls carry it."""

    turn: int = 0
    cell: int = 0


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One sub-call before it is sent."""

    messages: tuple[Message, ...]
    schema: Schema | None = None
    choices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.messages[-1].text


class ReplApi:
    """The host's side of one node's REPL."""

    def __init__(self, scope: Scope, task: Task) -> None:
        self._scope = scope
        self._task = task
        self._children = 0
        self._refused: set[str] = set()
        self.place = Place()
        self.notes: list[str] = []  # for the model, shown with the turn's outcome
        self.looked = False  # whether anything was printed or sub-called yet
        self.sub_calls = 0
        self.accepted: ev.AnswerAccepted | None = None
        self.drafts: list[tuple[str, object]] = []  # where from, value; the best first

    async def __call__(self, call: HostCall) -> HostReply:
        try:
            return await self._dispatch(call)
        except IndexError:  # the worker's own stubs always pass it; other frames may not
            raise HostCallError("TypeError", f"{call.name}: an argument is missing") from None

    async def _dispatch(self, call: HostCall) -> HostReply:
        kwargs = call.kwargs
        match call.name:
            case "llm_query":
                return HostReply(await self._query(call.args[0], kwargs.get("model"), kwargs.get("schema")))
            case "llm_query_batched":
                return HostReply(await self._batch_of_texts(call))
            case "classify":
                return HostReply(await self._classify(call))
            case "rlm_query":
                return HostReply(await self._child(call.args[0], kwargs.get("context"), kwargs.get("schema")))
            case "rlm_query_batched":
                return HostReply(await self._children_batch(call))
            case "budget":
                left = self._task.meter.left()
                turns = self._scope.limits.max_turns - self.place.turn
                return HostReply({"turns": turns, "depth": self._depth_left(), **left})
            case "submit":
                return self._submit(call)
            case name if name == DRAFT:
                self.drafts.append((f"variable {call.args[0]}", call.args[1]))
                return HostReply()
            case name if name in self._scope.tools.names:
                return HostReply(await self._scope.tools.call(name, call.args, kwargs, self._scope.loop))
            case name:
                raise HostCallError("ValueError", f"there is no function {name!r}")

    # Sub-calls

    def _caller(self, model: object) -> Caller:
        if model is None:
            return self._scope.sub
        caller = self._scope.models.get(str(model))
        if caller is None:
            known = ", ".join(sorted(self._scope.models))
            raise HostCallError("ValueError", f"model={model!r} is not known here; known: {known}")
        return caller

    async def _query(self, prompt: object, model: object, schema: object) -> object:
        asked = _Prompt((Message("user", _text(prompt)),), Schema.of(schema))
        result = await self._sub_call(asked, self._caller(model), None, 0)
        if isinstance(result, FailedCall):
            raise HostCallError("LLMError", result.message, failure=result.kind)
        return result

    async def _batch_of_texts(self, call: HostCall) -> list[object]:
        schema = Schema.of(call.kwargs.get("schema"))
        prompts = [_Prompt((Message("user", _text(prompt)),), schema) for prompt in _items(call.args[0])]
        on_error = call.kwargs.get("on_error", "item")
        if on_error not in ("item", "raise"):
            raise HostCallError("ValueError", f'on_error={on_error!r}: use "item" or "raise"')
        results = await self._batch(prompts, self._caller(call.kwargs.get("model")))
        failed = next((r for r in results if isinstance(r, FailedCall)), None)
        if failed is not None and on_error == "raise":
            raise HostCallError("LLMError", failed.message, failure=failed.kind)
        return results

    async def _classify(self, call: HostCall) -> list[object]:
        labels = tuple(_text(label) for label in _items(call.args[1]))
        if len(labels) < 2:
            raise HostCallError(
                "ValueError", 'classify(items, ["label a", "label b"]): give two labels or more'
            )
        examples = [(_text(item), _text(label)) for item, label in _pairs(call.kwargs.get("examples"))]
        strange = sorted({label for _, label in examples} - set(labels))
        if strange:
            raise HostCallError("ValueError", f"examples use labels that are not in labels: {strange}")
        make = self._scope.sub_profile.label
        prompts = [
            _Prompt(make(_text(item), labels, examples), choices=labels) for item in _items(call.args[0])
        ]
        return await self._batch(prompts, self._caller(call.kwargs.get("model")))

    async def _batch(self, prompts: Sequence[_Prompt], caller: Caller) -> list[object]:
        batch = next(self._scope.batches)
        place = self.place
        self._scope.log.emit(
            ev.BatchStarted(
                node=self._task.node, turn=place.turn, cell=place.cell, batch=batch, size=len(prompts)
            )
        )
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._sub_call(prompt, caller, batch, index))
                for index, prompt in enumerate(prompts)
            ]
        return [task.result() for task in tasks]

    async def _sub_call(self, asked: _Prompt, caller: Caller, batch: int | None, index: int) -> object:
        """One sub-call, journalled: its text or parsed value, or the typed failure."""
        scope, number = self._scope, next(self._scope.calls)
        self.looked = True
        self.sub_calls += 1
        scope.sub_calls += 1
        scope.log.emit(
            ev.CallStarted(
                node=self._task.node,
                turn=self.place.turn,
                cell=self.place.cell,
                call=number,
                batch=batch,
                index=index,
                role="sub",
                model=caller.info.name,
                prompt=asked.text,
            )
        )
        try:
            if scope.fatal is not None:
                raise scope.fatal
            self._task.meter.take_call()
            reply, value = await self._send(asked, caller)
        except asyncio.CancelledError:
            self._call_ended(number, caller, None, FailedCall("cancelled", "the run stopped"))
            raise
        except OverBudget as over:
            return self._call_ended(number, caller, None, FailedCall("budget", f"over budget: {over}"))
        except ModelError as error:
            if error.fatal:
                scope.fatal = error
            if error.usage is not None:
                self._task.meter.settle("sub", caller.info.name, error.usage, error.cost)
            return self._call_ended(number, caller, None, FailedCall(error.kind, error.message))
        self._call_ended(number, caller, reply, value if isinstance(value, FailedCall) else None)
        return value

    async def _send(self, asked: _Prompt, caller: Caller) -> tuple[ModelReply, object]:
        """Sends it; where a schema or choices are wanted, checks the reply and asks once more."""
        sampling = self._scope.sub_profile.sampling
        request = ModelRequest(
            asked.messages,
            max_tokens=sampling.sub_max_tokens,
            temperature=sampling.sub_temperature,
            schema=asked.schema.json if asked.schema else None,
            choices=asked.choices,
        )
        reply = await self._pay(caller, request)
        if asked.choices:
            label = _choice(reply.text, asked.choices)
            if label is not None:
                return reply, label
            return reply, FailedCall(
                "schema", f"the reply {reply.text[:80]!r} is none of {list(asked.choices)}"
            )
        if asked.schema is None:
            return reply, reply.text
        try:
            return reply, asked.schema.parse(reply.text)
        except ValueError as error:
            repair = f"This does not fit: {error}. Reply again with JSON that fits and nothing else."
        again = (*asked.messages, Message("assistant", reply.text), Message("user", repair))
        second = await self._pay(
            caller, ModelRequest(again, max_tokens=request.max_tokens, schema=request.schema)
        )
        both = ModelReply(
            second.text, second.finish, reply.usage + second.usage, second.model, second.thinking,
            cost=None if reply.cost is None or second.cost is None else reply.cost + second.cost,
            seconds=reply.seconds + second.seconds, retries=reply.retries + second.retries + 1,
        )  # fmt: skip
        try:
            return both, asked.schema.parse(second.text)
        except ValueError as error:
            return both, FailedCall("schema", f"the reply does not fit the schema: {error}")

    async def _pay(self, caller: Caller, request: ModelRequest) -> ModelReply:
        reply = await caller.call(request)
        self._task.meter.settle("sub", caller.info.name, reply.usage, reply.cost)
        return reply

    def _call_ended(
        self, number: int, caller: Caller, reply: ModelReply | None, error: FailedCall | None
    ) -> FailedCall | None:
        self._scope.log.emit(
            ev.CallEnded(
                node=self._task.node,
                call=number,
                model=reply.model if reply else caller.info.name,
                reply=reply.text if reply else None,
                error=error,
                finish=reply.finish if reply else None,
                usage=reply.usage if reply else UNMEASURED,
                cost=reply.cost if reply else None,
                seconds=reply.seconds if reply else 0.0,
                retries=reply.retries if reply else 0,
            )
        )
        return error

    # Children

    def _depth_left(self) -> int:
        return max(0, self._scope.limits.max_depth - self._task.depth)

    async def _child(self, query: object, context: object, schema: object) -> object:
        question = _text(query)
        if self._depth_left() == 0:
            self._note("rlm_query: no depth is left, so a sub-call answered (llm_query on query and context)")
            text = question if context is None else f"{question}\n\n{_text(context)}"
            return await self._query(text, None, schema)
        if context is None:
            context = ""
        if question == self._task.query and context == self._task.context:
            raise HostCallError(
                "ValueError", "rlm_query: this is your own question over your own context; give a part of it"
            )
        self.looked = True
        self._children += 1
        name = f"{self._task.node}.{self._children}"
        outcome = await self._scope.spawn(
            self._scope,
            Task(
                node=name,
                parent=self._task.node,
                depth=self._task.depth + 1,
                query=question,
                context=context,
                answer=AnswerType(None),
                meter=Meter(Budget(), parent=self._task.meter, owner=f"node {name}"),
            ),
        )
        if outcome.status != "answered":
            raise HostCallError(
                "LLMError", f"the child ended {outcome.status}: {outcome.reason}", failure="child"
            )
        wanted = Schema.of(schema)
        return wanted.check(outcome.answer) if wanted else outcome.answer

    async def _children_batch(self, call: HostCall) -> list[object]:
        queries = _items(call.args[0])
        given = call.kwargs.get("contexts")
        contexts: Sequence[object] = [None] * len(queries) if given is None else _items(given)
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

    # The answer

    def _submit(self, call: HostCall) -> HostReply:
        value = call.args[0]
        printed = call.kwargs.get("printed")
        if isinstance(printed, int) and printed > 0:
            self.looked = True
        try:
            value = self._check(value)
        except ValueError as error:
            reason = str(error)
            self.drafts.insert(0, ("refused submission", value))
            place = self.place
            self._scope.log.emit(
                ev.AnswerRefused(
                    node=self._task.node, turn=place.turn, cell=place.cell, value=value, reason=reason
                )
            )
            raise HostCallError("AnswerRefused", reason) from None
        name = call.kwargs.get("variable")
        hint = ""
        if name:
            hint = (
                f"the answer is the text {str(name)!r}; a variable of that name exists and was not submitted"
            )
            self._scope.notes.append(hint)
        self.accepted = ev.AnswerAccepted(
            node=self._task.node,
            turn=self.place.turn,
            cell=self.place.cell,
            value=value,
            via=str(call.kwargs.get("via") or "submit"),
            hint=hint,
        )
        self._scope.log.emit(self.accepted)
        return HostReply(end=True)

    def _check(self, value: object) -> object:
        """The value in the wanted type. Raises ``ValueError`` with the reason for a refusal."""
        failed = failed_items(value)
        if failed:
            raise ValueError(
                f"the answer contains {len(failed)} failed item(s), e.g. {failed[0].message!r}; "
                "leave them out or ask again"
            )
        if is_empty(value):
            raise ValueError("the answer is empty; submit the value that answers the question")
        if not self.looked:
            self._once("nothing has been printed or asked yet: look at the context first, then submit")
        try:
            value = self._task.answer.check(value)
        except ValueError as error:
            raise ValueError(f"the answer does not fit the wanted type: {error}") from None
        reason = self._scope.profile.check_answer(self._task.query, value, self.sub_calls, self.place.turn)
        if reason:
            self._once(reason)
        return value

    def _once(self, reason: str) -> None:
        """Refuses for this reason the first time only: the model may insist."""
        if reason not in self._refused:
            self._refused.add(reason)
            raise ValueError(reason)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _text(value: object) -> str:
    """Prompts and contexts as text: a str as it is, other values as JSON or their repr."""
    if isinstance(value, str):
        return value
    if isinstance(value, FailedCall):
        raise HostCallError(
            "LLMError", f"a failed item was used as text: {value.message}", failure=value.kind
        )
    return repr(value)


def _items(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    raise HostCallError("TypeError", f"a list is needed, not {type(value).__name__}")


def _pairs(value: object) -> list[tuple[object, object]]:
    if value is None:
        return []
    pairs: list[tuple[object, object]] = []
    for pair in value.items() if isinstance(value, dict) else _items(value):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise HostCallError("ValueError", 'examples=[("a text", "its label"), …]: pairs are needed')
        pairs.append((pair[0], pair[1]))
    return pairs


def _choice(text: str, choices: Sequence[str]) -> str | None:
    """The choice that the reply is: exactly, or but for case, quotes and a final full stop."""
    bare = text.strip().strip("\"'`*").rstrip(".").strip().casefold()
    return next((c for c in choices if c.strip().casefold() == bare), None)
