"""Model calls from code: one, a batch, or one per item to label.

Contract: a failed single call raises ``LLMError`` in the cell; in a batch it is a ``FailedCall`` in
its place, never text. What a schema or a list of labels asks for is checked here, whatever the
provider promises. After a failure that no retry can mend (``Scope.fatal``) nothing more is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from . import events as ev
from .budget import OverBudget
from .errors import HostCallError, JournalError, ModelError
from .models.calls import Caller
from .models.protocol import Message, ModelReply, ModelRequest
from .request_key import request_key
from .sandbox.protocol import HostCall
from .schema import Schema
from .scope import Place, Scope, Task
from .types import FailedCall, Usage

UNSENT = Usage()


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One sub-call before it is sent."""

    messages: tuple[Message, ...]
    schema: Schema | None = None
    choices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.messages[-1].text


class SubCalls:
    """The sub-calls of one node. ``made`` counts them, failed ones included."""

    def __init__(self, scope: Scope, task: Task, place: Place) -> None:
        self._scope = scope
        self._task = task
        self._place = place
        self.made = 0

    def _caller(self, model: object) -> Caller:
        if model is None:
            return self._scope.sub
        caller = self._scope.models.get(str(model))
        if caller is None:
            known = ", ".join(sorted(self._scope.models))
            raise HostCallError("ValueError", f"model={model!r} is not known here; known: {known}")
        return caller

    async def query(self, prompt: object, model: object, schema: object) -> object:
        asked = _Prompt((Message("user", as_text(prompt)),), Schema.of(schema))
        result = await self._sub_call(asked, self._caller(model), None, 0)
        if isinstance(result, FailedCall):
            raise HostCallError("LLMError", result.message, failure=result.kind)
        return result

    async def batch_of_texts(self, call: HostCall) -> list[object]:
        schema = Schema.of(call.kwargs.get("schema"))
        prompts = [_Prompt((Message("user", as_text(prompt)),), schema) for prompt in as_items(call.args[0])]
        on_error = call.kwargs.get("on_error", "item")
        if on_error not in ("item", "raise"):
            raise HostCallError("ValueError", f'on_error={on_error!r}: use "item" or "raise"')
        results = await self._batch(prompts, self._caller(call.kwargs.get("model")))
        failed = next((r for r in results if isinstance(r, FailedCall)), None)
        if failed is not None and on_error == "raise":
            raise HostCallError("LLMError", failed.message, failure=failed.kind)
        return results

    async def classify(self, call: HostCall) -> list[object]:
        labels = tuple(as_text(label) for label in as_items(call.args[1]))
        if len(labels) < 2:
            raise HostCallError(
                "ValueError", 'classify(items, ["label a", "label b"]): give two labels or more'
            )
        items, most = as_items(call.args[0]), self._scope.sub_profile.most_items
        if most is not None and len(items) > most:
            raise HostCallError(
                "ValueError",
                f"classify: {len(items):,} items are too many for one call, at most {most}. Each is a "
                "model call. Use code where the data says it; else pick the items that matter first",
            )
        examples = [(as_text(item), as_text(label)) for item, label in _pairs(call.kwargs.get("examples"))]
        strange = sorted({label for _, label in examples} - set(labels))
        if strange:
            raise HostCallError("ValueError", f"examples use labels that are not in labels: {strange}")
        make = self._scope.sub_profile.label
        prompts = [_Prompt(make(as_text(item), labels, examples), choices=labels) for item in items]
        return await self._batch(prompts, self._caller(call.kwargs.get("model")))

    async def _batch(self, prompts: Sequence[_Prompt], caller: Caller) -> list[object]:
        place, node, size = self._place, self._task.node, len(prompts)
        batch = self._scope.replay.batch(node, place.cell, size)
        if batch is None:
            batch = next(self._scope.batches)
            self._scope.log.emit(
                ev.BatchStarted(node=node, turn=place.turn, cell=place.cell, batch=batch, size=size)
            )
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._sub_call(prompt, caller, batch, index))
                for index, prompt in enumerate(prompts)
            ]
        return [task.result() for task in tasks]

    async def _sub_call(self, asked: _Prompt, caller: Caller, batch: int | None, index: int) -> object:
        """One sub-call, journalled: its text or parsed value, or the typed failure."""
        request = self._request(asked)
        key = request_key(caller.info.name, request)
        past = self._scope.replay.call(self._task.node, self._place.cell, key)
        self.made += 1
        if past is not None and past.ended is not None:
            return _same_again(asked, past.ended)
        number = past.started.call if past else self._call_starts(asked, caller, key, batch, index)
        return await self._make(asked, caller, request, number)

    def _call_starts(self, asked: _Prompt, caller: Caller, key: str, batch: int | None, index: int) -> int:
        number = next(self._scope.calls)
        self._scope.sub_calls += 1
        self._scope.log.emit(
            ev.CallStarted(
                node=self._task.node,
                turn=self._place.turn,
                cell=self._place.cell,
                call=number,
                batch=batch,
                index=index,
                role="sub",
                model=caller.info.name,
                prompt=asked.text,
                key=key,
            )
        )
        return number

    async def _make(self, asked: _Prompt, caller: Caller, request: ModelRequest, number: int) -> object:
        scope = self._scope
        try:
            if isinstance(scope.fatal, JournalError):
                return self._call_ended(number, caller, None, FailedCall("cancelled", str(scope.fatal)))
            if scope.fatal is not None:
                raise scope.fatal
            self._task.meter.take_call()
            reply, value = await self._send(asked, caller, request)
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

    def _request(self, asked: _Prompt) -> ModelRequest:
        sampling = self._scope.sub_profile.sampling
        return ModelRequest(
            asked.messages,
            max_tokens=sampling.sub_max_tokens,
            temperature=sampling.sub_temperature,
            schema=asked.schema.json if asked.schema else None,
            choices=asked.choices,
        )

    async def _send(self, asked: _Prompt, caller: Caller, request: ModelRequest) -> tuple[ModelReply, object]:
        """Sends it; where a schema or choices are wanted, checks the reply and asks once more."""
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
                usage=reply.usage if reply else UNSENT,
                cost=reply.cost if reply else None,
                seconds=reply.seconds if reply else 0.0,
                retries=reply.retries if reply else 0,
            )
        )
        return error


def _same_again(asked: _Prompt, ended: ev.CallEnded) -> object:
    """What a journalled call came to."""
    if ended.error is not None:
        return ended.error
    text = ended.reply or ""
    if asked.choices:
        return _choice(text, asked.choices)
    return text if asked.schema is None else asked.schema.parse(text)


def as_text(value: object) -> str:
    """Prompts and contexts as text: a str as it is, other values as JSON or their repr."""
    if isinstance(value, str):
        return value
    if isinstance(value, FailedCall):
        raise HostCallError(
            "LLMError", f"a failed item was used as text: {value.message}", failure=value.kind
        )
    return repr(value)


def as_items(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    raise HostCallError("TypeError", f"a list is needed, not {type(value).__name__}")


def _pairs(value: object) -> list[tuple[object, object]]:
    if value is None:
        return []
    pairs: list[tuple[object, object]] = []
    for pair in value.items() if isinstance(value, dict) else as_items(value):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise HostCallError("ValueError", 'examples=[("a text", "its label"), …]: pairs are needed')
        pairs.append((pair[0], pair[1]))
    return pairs


def _choice(text: str, choices: Sequence[str]) -> str | None:
    """The choice that the reply is: exactly, or but for case, quotes and a final full stop."""
    bare = text.strip().strip("\"'`*").rstrip(".").strip().casefold()
    return next((c for c in choices if c.strip().casefold() == bare), None)
