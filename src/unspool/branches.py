"""Several trajectories for one question; where they agree is the answer.

Contract: :func:`run_branches` runs the trunk (the node ``0``) through its first look and its first turn,
which nearly every sample of a model spends on the same look at the input. Then the others leave it: each
has the trunk's first reply and what came of it for nothing (:meth:`unspool.replay.Replay.share`), in a REPL
of its own in which the cells have run, and goes on with samples of its own. Where the trunk has answered or
failed in that turn, there is nothing to leave from, and they begin at the beginning. An answer is taken
when the branches that are still going cannot change it; they are stopped, but one whose answer was accepted
by then has answered and counts. All spend from the run's budget. What was decided is an event,
``branches.decided``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import replace

from . import events as ev
from .agreement import Branches, Tally, agreed, normalised
from .budget import Budget, Meter
from .foreign_errors import said
from .forks import SHARED_TURNS, Forks
from .scope import Branch, Outcome, Scope, Task
from .types import ROOT


async def run_branches(scope: Scope, task: Task, plan: Branches) -> Outcome:
    """The outcome of the run: of the branch that most others agree with."""
    return await _Race(scope, task, plan).run()


def name_of(number: int) -> str:
    """The node of a branch.

    >>> name_of(1), name_of(3)
    ('0', '0@3')
    """
    return ROOT if number == 1 else f"{ROOT}@{number}"


class _Race:
    """The branches of one run while they go."""

    def __init__(self, scope: Scope, task: Task, plan: Branches) -> None:
        self._scope = scope
        self._task = task
        self._plan = plan
        self._tally = Tally(plan.count)
        self._outcomes: dict[int, Outcome] = {}
        self._going: dict[asyncio.Task[Outcome], Branch] = {}
        self._left = asyncio.Event()  # the trunk is so far that others can leave it
        self._stopped: list[int] = []
        self._forks: Forks | None = None
        if getattr(scope.sandbox, "forks", False):
            numbers = range(2, plan.count + 1)
            self._forks = Forks(scope, [n for n in numbers if scope.replay.branch(name_of(n)) is None])

    async def run(self) -> Outcome:
        try:
            return await self._run()
        finally:
            for repl in self._forks.left() if self._forks else ():
                self._scope.retire(repl)

    async def _run(self) -> Outcome:
        try:
            await self._trunk()
            if not self._failed_at_once() and self._scope.fatal is None:
                self._others()
            while self._going and not self._tally.decided:
                await self._wait()
            await self._stop()
        except BaseException as error:
            self._take_ended(quietly=True)
            await self._give_up(quietly=True)
            if isinstance(error, asyncio.CancelledError):
                self._leave()
            raise
        return self._decide()

    async def _trunk(self) -> None:
        """Starts the first branch; returns where the others leave it, or when it is over."""
        log = self._scope.log
        log.listen(self._watch)
        for event in log.events:  # of a run that is resumed
            self._watch(event)
        self._start(1)
        left = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait([left, *self._going], return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
        self._take_ended()

    def _failed_at_once(self) -> bool:
        """Whether the trunk ended by an error before any other could leave it: so would they."""
        outcome = self._outcomes.get(1)
        return not self._left.is_set() and outcome is not None and outcome.status in ("failed", "partial")

    def _watch(self, event: ev.Event) -> None:
        if isinstance(event, ev.TurnStarted) and event.node == ROOT and event.turn > SHARED_TURNS:
            self._left.set()

    def _others(self) -> None:
        trunk = self._trunk_events()
        if not trunk:
            self._forks = None
        for number in range(2, self._plan.count + 1):
            if trunk:
                self._scope.replay.share(name_of(number), trunk)
            self._start(number)
        self._take_ended()

    def _trunk_events(self) -> list[ev.Event]:
        """What the trunk did in the turns that are shared; nothing where it got no further."""
        found: list[ev.Event] = []
        for event in self._scope.log.events:
            node = str(getattr(event, "node", ""))
            if node == ROOT or node.startswith(f"{ROOT}."):
                found.append(event)
            if isinstance(event, ev.TurnStarted) and node == ROOT and event.turn > SHARED_TURNS:
                return found
        return []

    def _start(self, number: int) -> None:
        task, node = self._task, name_of(number)
        past = self._scope.replay.branch(node)
        if past is not None:  # it has answered before the run was resumed
            self._ended(number, past)
            return
        branch = Branch(number, forks=self._forks)
        meter = Meter(Budget(), parent=task.meter, owner=f"branch {number}")
        job = replace(task, node=node, meter=meter, branch=branch)
        self._going[asyncio.ensure_future(self._scope.spawn(self._scope, job))] = branch

    async def _wait(self) -> None:
        await asyncio.wait(self._going, return_when=asyncio.FIRST_COMPLETED)
        self._take_ended()

    def _take_ended(self, *, quietly: bool = False) -> None:
        """``quietly``: of those that ended by an error, nothing more is said."""
        over = [task for task in self._going if task.done()]
        for task in sorted(over, key=lambda task: self._going[task].number):
            branch = self._going.pop(task)
            if not quietly or not (task.cancelled() or task.exception()):
                self._ended(branch.number, task.result())

    def _ended(self, number: int, outcome: Outcome) -> None:
        self._outcomes[number] = outcome
        if number == 1 and self._forks is not None:
            self._forks.give_up()
        if outcome.status == "answered":
            self._tally.add(number, self._key(outcome.answer))
        else:
            self._tally.ended(number)

    def _key(self, answer: object) -> Hashable:
        try:
            key = self._plan.key(answer)
            hash(key)
        except BaseException as error:  # a function of the user's: whatever it raises, there are answers
            self._scope.note([f"agree= raised {said(error)}; such answers were compared as they are"])
            return normalised(answer)
        return key

    async def _stop(self) -> None:
        """Those that cannot change the answer any more; one that has given its own is none of them."""
        for branch in self._going.values():
            branch.decided = True
        self._stopped = await self._give_up()

    async def _give_up(self, *, quietly: bool = False) -> list[int]:
        """Ends those that are going. The numbers of those that were stopped by it."""
        going, self._going = self._going, {}
        for task in going:
            task.cancel()
        if going:
            await asyncio.wait(going)
        for task in going:
            if not task.cancelled() and (error := task.exception()) is not None and not quietly:
                raise error
        for task, branch in going.items():
            if not task.cancelled() and not task.exception():
                self._ended(branch.number, task.result())
        return sorted(branch.number for task, branch in going.items() if task.cancelled())

    def _decide(self) -> Outcome:
        agreeing = self._tally.agreeing
        chosen = agreeing[0] if agreeing else self._best_draft()
        self._scope.log.emit(
            ev.BranchesDecided(
                node=name_of(chosen),
                count=self._plan.count,
                agreeing=tuple(map(name_of, agreeing)),
                stopped=tuple(map(name_of, self._stopped)),
            )
        )
        outcome = self._outcomes[chosen]
        if not agreeing:
            return replace(outcome, stuck=all(each.stuck for each in self._outcomes.values()))
        how = agreed(len(agreeing), self._plan.count, len(self._stopped), self._tally.answered)
        return replace(outcome, reason=f"{outcome.reason}; {how}")

    def _best_draft(self) -> int:
        """Where nobody has answered: the first with a draft, else the first."""
        drafts = (number for number, each in sorted(self._outcomes.items()) if each.draft is not None)
        return next(drafts, min(self._outcomes))

    def _leave(self) -> None:
        """The run is cancelled: an answer that one branch has given is the best draft there is."""
        if agreeing := self._tally.agreeing:
            outcome = self._outcomes[agreeing[0]]
            self._scope.left = Outcome(
                "cancelled", "cancelled", outcome.answer, f"the answer of branch {agreeing[0]}", outcome.turns
            )
