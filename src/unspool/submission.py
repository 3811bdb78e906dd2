"""The answers that code submits: checked, then accepted or refused with the reason.

Contract: a refusal costs a turn and nothing else. Refusals that the model may overrule (it has not
looked yet; the profile's check objects) come once per reason. ``drafts`` holds what to hand over
where no answer is accepted, the best first.
"""

from __future__ import annotations

from dataclasses import replace

from . import events as ev
from .answers import failed_items, is_empty
from .errors import HostCallError
from .sandbox.protocol import HostCall, HostReply
from .scope import Outcome, Place, Scope, Task


class Submissions:
    """What one node submitted."""

    def __init__(self, scope: Scope, task: Task, place: Place) -> None:
        self._scope = scope
        self._task = task
        self._place = place
        self._refused: set[str] = set()
        self._noticed = False  # it was told what it has not read
        self.accepted: ev.AnswerAccepted | None = None
        self.drafts: list[tuple[str, object]] = []  # where from, value

    def submit(self, call: HostCall, *, looked: bool, sub_calls: int, notice: str | None) -> HostReply:
        value, place = call.args[0], self._place
        try:
            value = self.received(value)
            value = self._check(value, looked, sub_calls)
            if notice and not self._noticed:
                self._noticed = True
                raise ValueError(notice)
        except ValueError as error:
            self.drafts.insert(0, ("refused submission", value))
            refused = ev.AnswerRefused(
                node=self._task.node, turn=place.turn, cell=place.cell, value=value, reason=str(error)
            )
            self._scope.log.emit(refused)
            raise HostCallError("AnswerRefused", refused.reason) from None
        name = call.kwargs.get("variable")
        hint = ""
        if name:
            hint = (
                f"the answer is the text {str(name)!r}; a variable of that name exists and was not submitted"
            )
            self._scope.notes.append(hint)
        self.accepted = ev.AnswerAccepted(
            node=self._task.node,
            turn=place.turn,
            cell=place.cell,
            value=value,
            via=str(call.kwargs.get("via") or "submit"),
            hint=hint,
        )
        self._scope.log.emit(self.accepted)
        return HostReply(end=True)

    def outcome(self, turns: int) -> Outcome | None:
        """How the node ends once an answer is accepted, also where a limit is crossed or it is stopped in
        the moment after that; ``None`` before."""
        accepted = self.accepted
        return None if accepted is None else Outcome("answered", "submitted", accepted.value, None, turns)

    def received(self, value: object) -> object:
        """A value of the REPL, its tables as what is wanted. Raises ``ValueError``."""
        tables = self._task.answer.tables or self._scope.tools.tables
        return self._task.answer.received(value) if tables else value

    def keep_draft(self, call: HostCall) -> None:
        """A variable that may be the answer, of a node that stops without one."""
        try:
            self.drafts.append((f"variable {call.args[0]}", self.received(call.args[1])))
        except ValueError as error:
            raise HostCallError("ValueError", str(error)) from None

    def refuse_again(self, refused: ev.AnswerRefused) -> None:
        """A refusal in a cell that is not run again; told, where the cell was another node's."""
        if refused.node != self._task.node:
            self._scope.log.emit(replace(refused, node=self._task.node))
        self._refused.add(refused.reason)
        self.drafts.insert(0, ("refused submission", refused.value))

    def _check(self, value: object, looked: bool, sub_calls: int) -> object:
        """The value in the wanted type. Raises ``ValueError`` with the reason for a refusal."""
        failed = failed_items(value)
        if failed:
            raise ValueError(
                f"the answer contains {len(failed)} failed item(s), e.g. {failed[0].message!r}; "
                "leave them out or ask again"
            )
        if is_empty(value) and not (value is None and self._task.answer.takes_none()):
            raise ValueError("the answer is empty; submit the value that answers the question")
        if not looked:
            self._once("nothing has been printed or asked yet: look at the context first, then submit")
        try:
            value = self._task.answer.check(value)
        except ValueError as error:
            raise ValueError(f"the answer does not fit the wanted type: {error}") from None
        reason = self._scope.profile.check_answer(self._task.query, value, sub_calls)
        if reason:
            self._once(reason)
        return value

    def _once(self, reason: str) -> None:
        """Refuses for this reason the first time only: the model may insist."""
        if reason not in self._refused:
            self._refused.add(reason)
            raise ValueError(reason)
