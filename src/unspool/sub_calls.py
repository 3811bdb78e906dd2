"""Model calls from code: one, a batch, or one per item to label.

Contract: a failed single call raises ``LLMError`` in the cell; in a batch it is a ``FailedCall`` in
its place, never text. What a schema or a list of labels asks for is checked here, whatever the
provider promises. After a failure that no retry can mend (``Scope.fatal``) nothing more is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import events as ev
from .budget import OverBudget
from .errors import HostCallError, JournalError, ModelError
from .ground import Ground
from .known import Call, Known
from .labels import FEWEST, Labels, best, calibrated, surest
from .mapping import Work, settle, size_of
from .models.calls import Caller
from .models.protocol import Message, ModelReply, ModelRequest
from .packs import Size, comfortable
from .purse import Purse
from .ranges import UNKNOWN, Shown, Spans
from .replay import said_again
from .request_key import request_key
from .sandbox.protocol import HostCall
from .schema import Schema
from .scope import Place, Scope, Task
from .streak import NotSent, Streak
from .sub_prompts import Prompt, Result, as_images, as_items, as_pairs, as_text, told_apart
from .types import FailedCall, was_refused

if TYPE_CHECKING:
    from .past import PastCell

OTHER = "other"
FEWEST_PACKED = 4  # items to label: fewer are asked one by one, each label enforced where the model can


FEWEST_TASKS, TASKS_PER_CALL = 256, 8  # of one batch, however large; the second for each call at a time


class SubCalls:
    """The sub-calls of one node. ``made`` counts them, those included that have ``failed``."""

    def __init__(self, scope: Scope, task: Task, place: Place, ground: Ground) -> None:
        self._scope = scope
        self._task = task
        self._place = place
        self._ground = ground
        self.made = 0
        self.failed: list[FailedCall] = []
        self.read = Spans()  # of the context
        self.unsure = False  # whether more of it may have been read
        self.known = Known(scope.cache)
        self._streaks: dict[tuple[int, str], Streak] = {}  # by cell, as the next one may ask otherwise
        self.has_context = True  # the REPL; else what prompts have of it was copied by the model

    def skip(self, past: PastCell) -> None:
        """The calls of a cell that is not run again. What it has paid for is known, if it was undone."""
        self.made += len(past.calls)
        for made in past.calls:
            self.read.add(made.started.ranges or ())
            self.unsure |= made.started.ranges is None or made.started.unplaced > 0
            reply = said_again(made.ended) if made.ended is not None else None
            caller = self._scope.models.get(made.started.model)
            if reply is not None and caller is not None:
                self.known.note(Call(made.started.call, made.started.key, caller.info), reply)

    def _caller(self, model: object) -> Caller:
        if model is None:
            return self._scope.sub
        caller = self._scope.models.get(str(model))
        if caller is None:
            known = ", ".join(sorted(self._scope.models))
            raise HostCallError("ValueError", f"model={model!r} is not known here; known: {known}")
        return caller

    def _shown(self, call: HostCall, count: int) -> list[Shown]:
        """What each prompt of a call has of the context."""
        return self._ground.read(call.kwargs.get("ranges"), count) if self.has_context else [UNKNOWN] * count

    async def query_of(self, call: HostCall) -> object:
        (shown,) = self._shown(call, 1)
        model, schema, images = (call.kwargs.get(name) for name in ("model", "schema", "images"))
        return await self.query(call.args[0], model, schema, images, shown=shown)

    async def query(
        self, prompt: object, model: object, schema: object, images: object = None, *, shown: Shown = UNKNOWN
    ) -> object:
        message = Message("user", as_text(prompt), as_images(images))
        asked = Prompt((message,), Schema.of(schema), shown=shown)
        value = (await self._sub_call(asked, self._caller(model), None, 0)).value
        if isinstance(value, FailedCall):
            raise HostCallError("LLMError", value.message, failure=value.kind)
        return value

    async def batch_of_texts(self, call: HostCall) -> list[object]:
        schema = Schema.of(call.kwargs.get("schema"))
        texts = [as_text(prompt) for prompt in as_items(call.args[0])]
        given = call.kwargs.get("images")
        lists = [None] * len(texts) if given is None else as_items(given)
        if len(lists) != len(texts):
            raise HostCallError("ValueError", f"images=: {len(texts)} lists are needed, one for each prompt")
        images = list(map(as_images, lists))
        shown = self._shown(call, len(texts))
        prompts = (  # made when the turn of each comes: there may be many thousands
            Prompt((Message("user", text, some),), schema, shown=read)
            for text, some, read in zip(texts, images, shown, strict=True)
        )
        on_error = call.kwargs.get("on_error", "item")
        if on_error not in ("item", "raise"):
            raise HostCallError("ValueError", f'on_error={on_error!r}: use "item" or "raise"')
        caller = self._caller(call.kwargs.get("model"))
        results = [result.value for result in await self._batch(prompts, caller, len(texts))]
        failed = next((r for r in results if isinstance(r, FailedCall)), None)
        if failed is not None and on_error == "raise":
            raise HostCallError("LLMError", failed.message, failure=failed.kind)
        return results

    async def map(self, call: HostCall) -> list[object]:
        """One reply an item, many items in each sub-call."""
        instruction, items = as_text(call.args[0]), [as_text(item) for item in as_items(call.args[1])]
        caller, kwargs = self._caller(call.kwargs.get("model")), call.kwargs
        size = size_of(kwargs.get("pack"), self._comfortable(caller))
        work = Work.of(instruction, Schema.of(kwargs.get("schema")))
        shown = self._shown(call, len(items))
        return await settle(
            work, items, size, lambda prompts: self._batch(prompts, caller, len(prompts)), shown
        )

    def _comfortable(self, caller: Caller) -> Size:
        profile = self._scope.sub_profile
        return comfortable(Size(profile.pack_items, profile.pack_characters), caller.info)

    async def classify(self, call: HostCall) -> list[object]:
        given = tuple(as_text(label) for label in as_items(call.args[1]))
        if not given or len(set(given)) < len(given) or given == (OTHER,):
            raise HostCallError(
                "ValueError", 'classify(items, ["label a", "label b"]): give labels, each once'
            )
        if len(given) == 1:
            given = (*given, OTHER)  # one label asks which items are that, and which are not
        items, most = [as_text(item) for item in as_items(call.args[0])], self._scope.sub_profile.most_items
        if most is not None and len(items) > most:
            raise HostCallError(
                "ValueError",
                f"classify: {len(items):,} items are too many for one call, at most {most}. Each is a "
                "model call. Use code where the data says it; else pick the items that matter first",
            )
        meanings = {as_text(label): as_text(means) for label, means in as_pairs(call.kwargs.get("meanings"))}
        labels = Labels.of(given, meanings)
        examples: list[tuple[str, str]] = []
        for item, label in as_pairs(call.kwargs.get("examples")):
            name = labels.name(as_text(label))
            if name is None:
                raise HostCallError("ValueError", f"examples use a label that is not in labels: {label!r}")
            examples.append((as_text(item), name))
        caller = self._caller(call.kwargs.get("model"))
        shown = self._shown(call, len(items))
        return [
            labels.given(result) if isinstance(result, str) else result
            for result in await self._label(items, shown, labels, examples, caller)
        ]

    async def _label(
        self,
        items: Sequence[str],
        shown: Sequence[Shown],
        labels: Labels,
        examples: Sequence[tuple[str, str]],
        caller: Caller,
    ) -> list[object]:
        """One label an item: in packs, or, as the profile says, one by one, then in two passes where the
        model tells its scores and no examples are given."""
        profile = self._scope.sub_profile
        if profile.packs_labels and len(items) >= FEWEST_PACKED:
            work = Work.labelling(labels.meanings, examples)
            size = self._comfortable(caller)
            return await settle(
                work, items, size, lambda prompts: self._batch(prompts, caller, len(prompts)), shown
            )

        async def judged(examples: Sequence[tuple[str, str]]) -> list[Result]:
            before = profile.label(labels.meanings, examples)
            asked = [
                Prompt((*before, Message("user", item)), choices=labels.names, stable=len(before), shown=read)
                for item, read in zip(items, shown, strict=True)
            ]
            return await self._batch(asked, caller, len(asked))

        results = await judged(examples)
        scored = [result.scores for result in results if result.scores is not None]
        if examples or not profile.own_examples or len(scored) < max(len(items), FEWEST):
            return [result.value for result in results]
        fair = calibrated(scored)
        own = surest(items, fair, profile.own_examples)
        if len({label for _, label in own}) == len(own):  # one example a label, or none, is no help
            return [best(scores) for scores in fair]
        return [result.value for result in await judged(own)]

    async def _batch(self, prompts: Iterable[Prompt], caller: Caller, size: int) -> list[Result]:
        place, node = self._place, self._task.node
        batch = self._scope.replay.batch(node, place.cell, size)
        if batch is None:
            batch = next(self._scope.batches)
            self._scope.log.emit(
                ev.BatchStarted(node=node, turn=place.turn, cell=place.cell, batch=batch, size=size)
            )
        todo = iter(enumerate(told_apart(prompts)))
        results: dict[int, Result] = {}

        async def some() -> None:
            for index, prompt in todo:
                results[index] = await self._sub_call(prompt, caller, batch, index)

        # A task for each that is under way and for many that wait for a next try, and not for all: they
        # would lie in memory, and be cancelled one by one.
        width = max(FEWEST_TASKS, TASKS_PER_CALL * max(each.gate.limit for each in caller.each))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(size, width)):
                group.create_task(some())
        return [results[index] for index in range(size)]

    async def _sub_call(self, asked: Prompt, caller: Caller, batch: int | None, index: int) -> Result:
        """One sub-call, journalled."""
        request, info, shown = self._request(asked), caller.info, asked.shown
        key = request_key(info.name, request)
        past = self._scope.replay.call(self._task.node, self._place.cell, key)
        self.made += 1
        self.read.add(shown.ranges or ())
        self.unsure |= shown.ranges is None or shown.unplaced > 0
        number = past.started.call if past else self._call_starts(asked, info.name, key, batch, index)
        call = Call(number, key, info, asked.occurrence)
        if past is not None and past.ended is not None:
            if past.ended.cached:
                self.known.find(call)  # taken then, taken now
            elif (reply := said_again(past.ended)) is not None:
                self.known.note(call, reply)
            result = _same_again(asked, past.ended)
        else:
            result = await self._make(asked, request, caller, call)
        if isinstance(result.value, FailedCall):
            self.failed.append(result.value)
        return result

    def _call_starts(self, asked: Prompt, model: str, key: str, batch: int | None, index: int) -> int:
        number = next(self._scope.calls)
        self._scope.begun += 1
        self._scope.log.emit(
            ev.CallStarted(
                node=self._task.node,
                turn=self._place.turn,
                cell=self._place.cell,
                call=number,
                batch=batch,
                index=index,
                role="sub",
                model=model,
                prompt=asked.text,
                key=key,
                images=tuple(image.words for image in asked.messages[-1].images),
                ranges=asked.shown.ranges,
                unplaced=asked.shown.unplaced,
            )
        )
        return number

    async def _make(self, asked: Prompt, request: ModelRequest, caller: Caller, call: Call) -> Result:
        scope, name = self._scope, call.info.name
        reply: ModelReply | None
        at, unsent = (self._place.cell, name), False
        if (streak := self._streaks.get(at)) is None:
            streak = self._streaks[at] = Streak(name, scope.answered)

        def check() -> None:
            scope.check()
            streak.check()

        purse = Purse(self._task.meter, "sub", name, check=check)
        try:
            scope.check()
            if (old := self._known_reply(asked, call)) is not None:
                self._task.meter.reuse("sub", name, old.usage, old.cost)
                scope.answered.add(name)  # once
                self._call_ended(call, old, old, None, cached=True)
                return Result(asked.read(old.text), old.scores)
            with purse:
                reply, value = await self._send(asked, request, caller, purse)
        except asyncio.CancelledError:
            self._call_ended(call, purse, None, FailedCall("cancelled", "the run stopped"))
            raise
        except OverBudget as over:
            reply, value = None, FailedCall("budget", f"over budget: {over}")
        except JournalError as error:
            reply, value = None, FailedCall("cancelled", str(error))
        except NotSent as error:
            reply, value, unsent = None, FailedCall(error.kind, str(error)), True
        except ModelError as error:
            if error.fatal:
                scope.fatal = error
            streak.failed(error)
            reply, value = None, FailedCall(error.kind, error.message)
        failed = value if isinstance(value, FailedCall) else None
        if reply is not None and failed is None:
            if purse.usage.calls > 1:  # all that it took
                reply = replace(reply, usage=purse.usage, cost=purse.cost)
            self.known.keep(call, reply)
        self._call_ended(call, purse, reply, failed, unsent=unsent)
        return Result(value, reply.scores if reply else None)

    async def _send(
        self, asked: Prompt, request: ModelRequest, caller: Caller, purse: Purse
    ) -> tuple[ModelReply, object]:
        """Sends it; a reply that does not fit a schema is asked for once more."""
        reply = await caller.call(request, purse)
        self._scope.has_answered(caller.info.name, reply.notes)
        try:
            value = asked.read(reply.text)
        except ValueError as error:
            if asked.schema is None:
                return reply, FailedCall("schema", str(error))
            repair = f"This does not fit: {error}. Reply again with JSON that fits and nothing else."
            again = (*asked.messages, Message("assistant", reply.text), Message("user", repair))
            second = await caller.call(
                self._scope.sub_settings.over(replace(request, messages=again, temperature=None)), purse
            )
            retries = reply.retries + second.retries + 1
            reply = replace(second, seconds=reply.seconds + second.seconds, retries=retries)
            try:
                value = asked.read(reply.text)
            except ValueError as error:
                return reply, FailedCall("schema", f"the reply does not fit the schema: {error}")
        return reply, value

    def _request(self, asked: Prompt) -> ModelRequest:
        sampling = self._scope.sub_profile.sampling
        request = ModelRequest(
            asked.messages,
            max_tokens=None if sampling.sub_max_tokens is None else sampling.sub_max_tokens + asked.room,
            temperature=sampling.sub_temperature,
            schema=asked.schema.json if asked.schema else None,
            choices=asked.choices,
            stable=asked.stable,
        )
        return self._scope.sub_settings.over(request)

    def _known_reply(self, asked: Prompt, call: Call) -> ModelReply | None:
        """The reply that is known, if it fits what is asked."""
        reply = self.known.find(call)
        if reply is not None:
            try:
                asked.read(reply.text)
            except ValueError:
                return None
        return reply

    def _call_ended(
        self,
        call: Call,
        paid: Purse | ModelReply,
        reply: ModelReply | None,
        error: FailedCall | None,
        *,
        cached: bool = False,
        unsent: bool = False,
    ) -> None:
        refused = self._scope.refused
        (refused.add if was_refused(error, paid.usage) else refused.discard)(call.number)
        self._scope.log.emit(
            ev.CallEnded(
                node=self._task.node,
                call=call.number,
                model=reply.model if reply else call.info.name,
                reply=reply.text if reply else None,
                error=error,
                finish=reply.finish if reply else None,
                usage=paid.usage,
                cost=paid.cost,
                seconds=reply.seconds if reply else 0.0,
                retries=reply.retries if reply else 0,
                cached=cached,
                scores=reply.scores if reply else None,
                unsent=unsent,
            )
        )


def _same_again(asked: Prompt, ended: ev.CallEnded) -> Result:
    """What a journalled call came to."""
    if ended.error is not None:
        return Result(ended.error)
    return Result(asked.read(ended.reply or ""), ended.scores)
