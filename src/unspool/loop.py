"""The algorithm: one node's turns, from query to status (arXiv 2512.24601, Algorithm 1).

::

    REPL ← context;  history ← [system, description(context), query]
    repeat:
        reply ← model(history)
        for each cell in reply:  outcome ← run it in the REPL, until one submits
        history ← history + reply + what the cells printed (bounded)
    until an answer is accepted or a limit is reached

Contract: :func:`run_node` always returns an :class:`Outcome` and emits ``node.started`` and
``node.ended``; only cancellation, and what a model raises by mistake, pass through it. The history is
append-only. A node that stops without an answer hands over its best draft: the last refused submission,
else a variable named like a result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import events as ev
from ._runtime import alone, both
from .budget import OverBudget
from .cells import Cell, Found
from .contexts.doubtful import doubtful
from .contexts.sources import sources_in
from .drafts import hand_over_draft
from .errors import ContextError, Divergence, JournalError, ModelError, SandboxError, mishap
from .journal import without_secrets
from .models.protocol import Message, ModelReply, ModelRequest
from .pace import Pace
from .past import PastCell
from .prompts import First
from .prompts.feedback import Shown
from .prompts.profile import Look
from .repl_api import ReplApi
from .replay import said, seed_of
from .sandbox.protocol import CellResult, Repl, ReplSpec
from .scope import Outcome, Scope, Task
from .strategies.window import handed_over
from .tools import DRAFT
from .types import ROOT, Limit, Status, TextPart

MAX_SILENT = 3  # replies in a row with nothing to run, after which a node ends
MAX_REPEATS = 3  # of one reply, all with the same outcome, after which a node ends


class Stuck(Exception):
    """The model wrote prose again and again, or the same code."""


async def run_node(scope: Scope, task: Task, make: Callable[..., NodeLoop] | None = None) -> Outcome:
    """One RLM over one context, to its end. ``make``: what runs it in the place of :class:`NodeLoop`."""
    node = (make or NodeLoop)(scope, task)
    scope.log.emit(
        ev.NodeStarted(
            node=task.node,
            parent=task.parent,
            depth=task.depth,
            query=task.query,
            context=task.description,
            ranges=task.ranges if task.parent is not None else None,
            stretches=task.stretches,
        )
    )
    node.api.measured()
    try:
        outcome = await node.run()
    except asyncio.CancelledError:
        why = "the others have decided" if task.branch and task.branch.decided else scope.stopped
        scope.node_ended(task, node.api.answers.outcome(node.asked) or Outcome("cancelled", why))
        raise
    except BaseException as error:
        if (mistake := mishap(error)) is not None:
            scope.node_ended(task, failed := Outcome("failed", mistake, turns=node.asked))
            if task.parent is None:
                scope.leave(failed)
        raise
    scope.node_ended(task, outcome)
    return outcome


class NodeLoop:
    """The turns of one node."""

    def __init__(self, scope: Scope, task: Task) -> None:
        self.scope = scope
        self.task = task
        self.profile = scope.profile
        self.api = ReplApi(scope, task)
        self.pace = Pace(task.meter, max_turns=scope.limits.max_turns)
        self.history: list[Message] = []
        self.stable = 0  # messages of the history that other nodes begin with, too
        self.repl: Repl | None = None
        self.turn = self.cells = self.silent = self.repeats = 0
        self.asked = 0  # turns for which a request was sent, or the reply known
        self.seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()  # codes of a turn, and outputs
        self.failed = False  # the last reply repeated itself, or what it submitted was refused

    def _first_messages(self, look: str) -> list[Message]:
        scope, task = self.scope, self.task
        first = First(
            query=task.query,
            description=task.description,
            answer=task.answer.words,
            instructions=scope.instructions,
            tools=scope.tools.describe(),
            look=look,
            depth=scope.limits.max_depth - task.depth,
        )
        return [
            Message("system", self.profile.system),
            *self.profile.examples(task.query, look, scope.limits.max_depth - task.depth),
            Message("user", self.profile.first(first)),
        ]

    async def run(self) -> Outcome:
        try:
            return await self._to_the_end()
        finally:
            self.pace.give_back()
            if self.repl is not None:
                self.scope.retire(self.repl)

    async def _to_the_end(self) -> Outcome:
        """Turns until an answer stands or something stops them; then the status for it."""
        deadline = self.task.meter.deadline()
        status: Status = "partial"
        reason, stuck = "", False
        limit: Limit | None = None
        try:
            async with asyncio.timeout(deadline[0] if deadline else None):
                await self._turns()
        except TimeoutError:
            status, limit = "budget", "seconds"
            reason = f"{deadline[1] if deadline else 'a time limit'} is reached"
        except OverBudget as error:  # or the last turn was used
            status, reason, limit = "budget", str(error), error.limit
        except Stuck as error:
            reason, stuck = str(error), True
        except ModelError as error:
            reason = f"the model {self.scope.root.info.name} failed: {error.message}"
        except Divergence:
            raise
        except (ContextError, SandboxError, JournalError) as error:
            reason = str(error)
        except asyncio.CancelledError:
            answered, branch = self.api.answers.outcome(self.asked), self.task.branch
            if answered and branch:  # only the branches stop one, and they count it
                return answered
            if self.task.parent is None and not (branch and branch.decided):
                self.scope.leave(answered or await self._stopped("cancelled", self.scope.stopped))
            raise
        if (answered := self.api.answers.outcome(self.asked)) is not None:
            return answered
        return replace(await self._stopped(status, reason, limit), stuck=stuck)

    async def _turns(self) -> None:
        """Algorithm 1. Returns once an answer is accepted."""
        if self.profile.look is None:
            self.history = self._first_messages("")
        else:
            repl = await self._open(self.profile.window)
            self.history = self._first_messages(await self._first_look(repl, self.profile.look))
        self.stable = len(self.history) - 1
        if not getattr(self.scope.sandbox, "proven", False) or doubtful(self.task.context):
            await self._open()  # it, or what leads there, may be wrong: known before a model is asked
        last = None if self.scope.limits.max_turns > 1 else "the one turn is used"
        while True:
            self.turn = self.api.place.turn = self.turn + 1
            self.scope.log.emit(ev.TurnStarted(node=self.task.node, turn=self.turn))
            repl, reply = await both(self._open(), self._ask())  # opening hides behind the first reply
            found = self.profile.read(reply)
            shown = await self._run_cells(repl, found.cells)
            if self.api.answers.accepted is not None:
                return
            if self.scope.fatal is not None:
                raise self.scope.fatal
            hints = self._hints(found, shown, reply, told=last is None)
            if last is not None:
                raise OverBudget(last, self.pace.limit)
            if self.profile.keep_repeats or not self.repeats or self.pace.next_is_last(self.turn):
                last = self._remember(reply, shown, hints)

    async def _open(self, window: int | None = None) -> Repl:
        """The node's REPL, opened on first use. ``window``: of a look that prints an input for the model."""
        if (branch := self.task.branch) and branch.forks and self.profile.window is None:
            self.repl = await branch.forks.repl(self.task, self.turn, self.repl, self.api)
        if self.repl is None:
            context = "" if self.profile.window and window is None else self.task.context
            if isinstance(context, TextPart) and not getattr(self.scope.sandbox, "takes_parts", False):
                context = context.text
            spec = ReplSpec(
                context=context,
                tools=(*self.scope.tools.names, DRAFT),
                imports=self.profile.imports,
                memory=self.scope.limits.cell_memory,
                seed=seed_of(self.scope.log.run, ROOT if self.task.branch else self.task.node),
                shown=window or self.profile.shown,
                tables=self.task.answer.tables or self.scope.tools.tables,
                files=any(sources_in(context)),
                without=self.profile.without,
                libraries=self.scope.libraries,
            )
            self.repl = await self.scope.sandbox.open(spec, self.api)
        return self.repl

    async def _first_look(self, repl: Repl, look: Look) -> str:
        """What the profile's own look prints: turn 0, before the model is asked."""
        self.scope.log.emit(ev.TurnStarted(node=self.task.node, turn=0))
        (shown,) = await self._run_cells(repl, [Cell(look(self.task.query), "look", True)])
        if self.profile.window is not None:
            self.scope.check()
            self.scope.note(handed_over(shown.result, *self.api.failures))
            self.api.printed = True  # the model has looked, even at an empty input
            self.scope.retire(repl)
            self.repl = None
            self.api.context_goes()
        return shown.result.output.strip()

    async def _ask(self) -> ModelReply:
        past = self.scope.replay.reply(self.task.node, self.turn)
        if past is not None:
            reply, self.asked = said(past), self.turn
            self.pace.replied(self.history, reply)
            return reply
        self.scope.check()
        request, caller = self._request(), self.scope.root
        purse = self.pace.purse(self.history, caller.info)
        try:
            with purse:
                reply = await caller.call(request, purse)
        except ModelError as error:
            if error.kind != "empty":  # which is a turn without code: the model is told, and may do better
                raise
            reply = ModelReply("", "other", purse.usage, caller.info.name, cost=purse.cost)
        finally:
            self.asked = self.turn if purse.sent else self.asked
        self.scope.has_answered(caller.info.name, reply.notes)
        self.pace.replied(self.history, reply)
        self.scope.log.emit(
            ev.ModelReplied(
                node=self.task.node,
                turn=self.turn,
                role="root",
                model=reply.model,
                text=reply.text,
                thinking=reply.thinking,
                code=reply.code,
                finish=reply.finish,
                usage=reply.usage,
                cost=reply.cost,
                seconds=reply.seconds,
                retries=reply.retries,
            )
        )
        return reply

    def _request(self) -> ModelRequest:
        sampling, branch = self.profile.sampling, self.task.branch
        request = ModelRequest(
            tuple(self.history),
            max_tokens=sampling.max_tokens,
            temperature=sampling.retry_temperature if self.failed else sampling.temperature,
            stop=sampling.stop,
            schema=self.profile.schema,
            stable=self.stable,
            grows=True,
            on_delta=self.scope.teller(self.task.node, self.turn),
        )
        request = self.scope.settings.over(request, differently=self.failed)
        return branch.over(request) if branch else request

    async def _run_cells(self, repl: Repl, cells: Sequence[Cell]) -> list[Shown]:
        shown: list[Shown] = []
        for cell in cells:
            self.cells += 1
            self.api.cell_began(self.cells, cell.code)
            past = self.scope.replay.cell(self.task.node, self.turn, self.cells, cell.code)
            began = ev.CellStarted(node=self.task.node, turn=self.turn, cell=self.cells, code=cell.code)
            self.scope.log.emit(began)
            result = await self._execute(repl, self.cells, cell.code, past)
            self.api.cell_ended(result.outcome)
            repairs = (f"about the code: {repair}" for repair in cell.repairs)
            notes = (*repairs, *self.scope.noted(result.notes), *self.api.take_notes())
            if past is not None and past.sealed:  # what the model was told, to the letter
                result, notes = past.result, past.result.notes
            (read,) = [past.read] if past and past.skipped else self.api.ground.read(result.ranges, 1)
            self.api.prints.add(read.ranges or ())
            self.api.measured()
            self.scope.log.emit(
                ev.CellEnded(
                    node=self.task.node,
                    turn=self.turn,
                    cell=self.cells,
                    outcome=result.outcome,
                    output=result.output,
                    printed=result.printed,
                    omitted=result.omitted,
                    error=result.error,
                    notes=notes,
                    seconds=result.seconds,
                    own_seconds=result.own_seconds,
                    ranges=read.ranges,
                    unplaced=read.unplaced,
                )
            )
            self.api.printed = self.api.printed or result.printed > 0
            shown.append(Shown(self.cells, cell.code, result, notes))
            if self.api.answers.accepted is not None or self.scope.fatal is not None:
                break
        return shown

    async def _execute(self, repl: Repl, number: int, code: str, past: PastCell | None) -> CellResult:
        """Runs a cell; one that ran before has to do the same, and is passed over where it left nothing."""
        if past is not None and past.skipped:
            self.api.skip(past)
            return past.result
        try:
            result = await repl.execute(code, seconds=self.scope.limits.cell_seconds, number=number)
        except BaseExceptionGroup as errors:  # of a batch
            raise alone(errors) from None
        if past is not None and past.sealed:
            self.scope.replay.check(past, result, without_secrets(result.output))
        return result

    def _hints(self, found: Found, shown: Sequence[Shown], reply: ModelReply, *, told: bool) -> list[str]:
        hints = [f"The {s.lang or 'untagged'} block was not run: {s.reason}" for s in found.skipped]
        if reply.finish == "length":
            hints.append("Your reply was cut at the output limit: write less, no long comments in code.")
        if found.cells:
            self.silent = 0
        else:
            self.silent += 1
            hints.append(found.hint or "Nothing was run. Reply with one ```python block.")
        codes = tuple(s.code for s in shown)
        outputs = tuple(s.result.output for s in shown)
        repeated = bool(codes) and (codes, outputs) in self.seen
        self.repeats = self.repeats + 1 if repeated else 0
        errors = [s.result.error.type for s in shown if s.result.error is not None]
        self.failed = repeated or "AnswerRefused" in errors
        if repeated:
            hints.append(
                "This is the code of an earlier turn again, with the same outcome. Do something else: "
                "fix the cause of the error, look at other data, or submit what you have."
            )
        if found.cells:
            self.seen.add((codes, outputs))
        for hint in hints if told else ():  # nobody reads what comes after the last turn
            self.scope.log.emit(ev.Hinted(node=self.task.node, turn=self.turn, text=hint))
        if self.silent == MAX_SILENT:
            raise Stuck(f"the model sent {MAX_SILENT} replies in a row without code to run")
        if self.repeats == MAX_REPEATS:
            raise Stuck(f"{MAX_REPEATS} replies in a row were code of earlier turns, with the same outcome")
        return hints

    def _remember(self, reply: ModelReply, shown: Sequence[Shown], hints: Sequence[str]) -> str | None:
        """Adds the turn to the history, which only ever grows at its end.

        Where the next turn is the last, the model is told so, and this is why.
        """
        text = reply.text
        if reply.code:
            text = "\n\n".join([text, *(f"```python\n{code}\n```" for code in reply.code)]).strip()
        self.history.append(Message("assistant", text or "(no text)"))
        told, last = self._budget_left(hints, sum(len(each.result.output) for each in shown))
        for line in told:
            self.scope.log.emit(ev.Hinted(node=self.task.node, turn=self.turn, text=line))
        nudge = self.profile.nudge(self.task.query)
        text = self.profile.feedback(shown, hints=[*hints, *told], nudge=nudge)
        self.history.append(Message("user", text))
        return last

    def _budget_left(self, hints: Sequence[str], printed: int) -> tuple[list[str], str | None]:
        """What to tell of the limits after this turn, and why the next is the last, if it is.

        A turn that is resumed tells what it told; it ends the node only where a limit still says so.
        """
        past = self.scope.replay.told(self.task.node, self.turn)
        if past is not None:
            lines = sorted((line for line in past if line not in hints), key=self.profile.last_turn.__eq__)
            if self.profile.last_turn not in lines:
                return lines, None
            return lines, self.pace.next_is_last(self.turn, self.history, printed)
        last = self.pace.next_is_last(self.turn, self.history, printed)
        left = self.pace.left(self.turn)
        return ([left] if left else []) + ([self.profile.last_turn] if last else []), last

    async def _stopped(self, status: Status, reason: str, limit: Limit | None = None) -> Outcome:
        """No answer: the best draft, and the status that says so."""
        no_use = isinstance(self.scope.fatal, ModelError)  # every further call fails: nothing was found out
        if not self.api.answers.drafts and not no_use and self.cells and self.repl:
            reason += await hand_over_draft(self.repl, hurried=status == "budget")
        if self.api.answers.drafts:
            source, value = self.api.answers.drafts[0]
            return Outcome(status, reason, value, source, self.asked, limit)
        return Outcome("failed" if status == "partial" else status, reason, turns=self.asked, limit=limit)
