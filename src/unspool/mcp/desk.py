"""The tools, behind any transport: what is asked, done, and given as texts.

Contract: :meth:`Desk.do` gives the blocks of a result, at most ``bounds.MOST`` characters together, or
raises :class:`Refused` with one sentence. Looks and ranges are code like the agent's own, run in the same
REPL, so that they are in the journal and count as read. Cancelling it stops what was asked for, and nothing
else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..budget import Budget
from ..cli.plain import as_json
from ..errors import UnspoolError
from ..types import CellRun, Run
from .asked import Ask, Asked, Close, Look, OpenContext, ReadRange, RunCode
from .bounds import LOOKED, MOST, Refused, fitted
from .handles import Handles, Opened
from .places import Places
from .progress import Progress
from .question import follow

if TYPE_CHECKING:
    from ..rlm import RLM

MOST_ASKED = 8  # questions at once: each is a run with children of its own
_NOTHING = "(ran; nothing was printed)"
_TRACEBACK = 3_000  # characters


class Desk:
    """One for a server. ``asks``: what one ``ask`` may take, within the engine's limits."""

    def __init__(self, engine: RLM, places: Places, *, asks: Budget, handles: Handles) -> None:
        self._engine = engine
        self._places = places
        self._asks = asks
        self.handles = handles
        self._going: set[asyncio.Task[list[str]]] = set()
        self._ending = False
        self._asking = 0

    async def end(self) -> None:
        """Cancels what goes on, and closes every context."""
        self._ending = True
        for work in self._going:
            work.cancel()
        if self._going:
            await asyncio.wait(self._going)
        await self.handles.close_all()

    async def do(self, asked: Asked, by: str, folders: Sequence[str], progress: Progress) -> list[str]:
        """``by``: the client's name. ``folders``: those it may open, where it has given any."""
        work = asyncio.create_task(self._do(asked, by, folders, progress))
        self._going.add(work)
        try:
            return fitted(await work)
        except UnspoolError as error:
            raise Refused(str(error)) from error
        except asyncio.CancelledError:
            if self._ending:
                raise Refused("the server is shutting down") from None
            raise
        finally:
            self._going.discard(work)

    async def _do(self, asked: Asked, by: str, folders: Sequence[str], progress: Progress) -> list[str]:
        match asked:
            case OpenContext():
                return await self._open(asked, by, folders, progress)
            case Look(what="description"):
                async with self.handles.using(asked.handle) as opened:
                    return [opened.session.description]
            case Look():
                return [await self._shown(asked.handle, _look(asked), progress)]
            case ReadRange():
                return [await self._shown(asked.handle, _range(asked), progress)]
            case RunCode():
                return await self._run(asked, progress)
            case Ask():
                return await self._ask(asked, progress)
            case Close():
                return [as_json(_spent(await self.handles.close(asked.handle)))]
            case _:
                raise Refused(f"there is no tool for {type(asked).__name__}")

    async def _open(
        self, asked: OpenContext, by: str, folders: Sequence[str], progress: Progress
    ) -> list[str]:
        async with progress.beating(lambda: "opening"):
            value: object = asked.text
            sources: tuple[str, ...] = ()
            if asked.path:
                read = self._places.within(folders).read
                value, sources = await asyncio.to_thread(read, asked.path)
            opened = await self.handles.open(value, sources, by, asked.budget)
        told = {
            "handle": opened.handle,
            "sub_model": opened.session.sub_model,
            "left": opened.session.left(),
            "most_characters": MOST,
        }
        return [opened.session.description, as_json(told)]

    async def _ask(self, asked: Ask, progress: Progress) -> list[str]:
        if self._asking >= MOST_ASKED:
            raise Refused(f"{MOST_ASKED} questions are under way, as many as may be at once: wait for one")
        self._asking += 1
        try:
            async with self.handles.using(asked.handle) as opened:
                engine = self._engine.within(self._asks.within(asked.budget))
                return await follow(engine, opened, asked.question, asked.answer, progress)
        finally:
            self._asking -= 1

    async def _run(self, asked: RunCode, progress: Progress) -> list[str]:
        async with self.handles.using(asked.handle) as opened:
            began = time.monotonic()
            cell = await _execute(opened, asked.code, progress)
            return [_outcome(cell), as_json(_figures(cell, opened, time.monotonic() - began))]

    async def _shown(self, handle: str, expression: str, progress: Progress) -> str:
        """What an expression prints."""
        async with self.handles.using(handle) as opened:
            cell = await _execute(opened, f"print({expression})", progress)
        if cell.outcome not in ("ok", "error"):
            raise Refused("; ".join(cell.notes) or str(cell.outcome))
        if cell.error is not None:
            raise Refused(cell.error.message or cell.error.type)
        notes = "".join(f"\n[{note}]" for note in cell.notes)
        return cell.output.removesuffix("\n") + notes


async def _execute(opened: Opened, code: str, progress: Progress) -> CellRun:
    async with progress.beating(opened.counts.told):
        return await opened.session.aexecute(code)


def _look(asked: Look) -> str:
    if asked.what == "grep":
        return f"{_PEEK}.grep({_part(asked.part)}, {asked.pattern!r}, {asked.limit})"
    return f"{_PEEK}.{asked.what}({_part(asked.part)}, {LOOKED})"


def _range(asked: ReadRange) -> str:
    if asked.by_lines:
        first = asked.first_line or 1
        last = asked.last_line or first + LOOKED
        return f"{_PEEK}.lines({_part(asked.part)}, {first}, {last}, {LOOKED})"
    return f"{_PEEK}.span({_part(asked.part)}, {asked.start or 0}, {asked.stop}, {LOOKED})"


_PEEK = "__import__('reach').peek"  # without a name in the agent's REPL


def _part(part: str) -> str:
    return f"{_PEEK}.part_of(context, {part!r})" if part else "context"


def _outcome(cell: CellRun) -> str:
    """What the code printed, how it went wrong, and what there is to note, as a model is shown it."""
    parts = [cell.output.rstrip("\n")]
    if cell.error is not None:
        trace = cell.error.traceback.rstrip("\n")
        parts.append(trace if len(trace) <= _TRACEBACK else "… " + trace[-_TRACEBACK:])
    parts += ["(noted as the answer of this session)"] if cell.outcome == "submitted" else []
    parts += [f"Note: {note}" for note in cell.notes]
    return "\n".join(part for part in parts if part) or _NOTHING


def _figures(cell: CellRun, opened: Opened, seconds: float) -> Mapping[str, object]:
    failed = sum(call.error is not None for call in cell.sub_calls)
    return {
        "outcome": cell.outcome,
        "characters_cut": cell.omitted,
        "sub_calls": len(cell.sub_calls),
        "failed": failed,
        "seconds": round(seconds, 3),
        "cost_so_far": opened.session.cost,
        "left": opened.session.left(),
    }


def _spent(run: Run) -> Mapping[str, object]:
    return {
        "closed": run.id,
        "turns": run.turns,
        "sub_calls": run.sub_calls,
        "cost": run.cost,
        "answer_kept": run.status == "answered",
        "coverage": {"share": run.coverage.share, "read": run.coverage.read, "size": run.coverage.size},
    }
