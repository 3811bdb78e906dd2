"""A look at what is in files, before a run begins: in a sandbox of its own, for the host never reads them.

Contract: :func:`looked` gives the context with its sources of the kind that their content has and with their
parts, and the description of it. What cannot be read as what it is raises :class:`ContextError`, naming the
file and what to do, before a model is asked. A context without sources is described as it is, and a sandbox
that cannot be had is no matter of the look: the description then tells names and sizes, and the run will say
what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from ..errors import ContextError, HostCallError, SandboxError
from ..sandbox._calls import OPEN
from ..sandbox.protocol import HostCall, HostReply, ReplSpec, Sandbox
from . import describe
from .grants import Grants
from .notebook import LOOK, InKernel, told
from .parts import Parts, numbered, parts_looked
from .several import Contexts
from .sources import Source, looked_at

LOOKED = "_unspool_looked"
SECONDS = 60.0
MEMORY = 2 << 30
MOST_SHOWN = 3  # entries of a mapping that are described one by one
MOST_CHECKED = 1_000

_CELL = f"""
import reach
try:
    {LOOKED}(reach.look_all(context[0], *context[1:]), None)
except (ValueError, OSError, MemoryError, ImportError) as error:
    {LOOKED}(None, str(error) or type(error).__name__)
"""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen of one source. ``parts`` None: its names say it."""

    kind: str
    description: str
    parts: Parts | None

    @classmethod
    def of(cls, said: object) -> _Look | None:
        """``None`` where it makes no sense: what comes out of a sandbox is checked."""
        if type(said) is not tuple or len(said) != 3:
            return None
        kind, description, parts = said
        if type(kind) is not str or type(description) is not str:
            return None
        if parts is None:
            return cls(kind, description, None)
        if type(parts) is not tuple or len(parts) != 3:
            return None
        checked = parts_looked(*parts)
        return None if checked is None else cls(kind, description, checked)

    def not_shown(self) -> _Look:
        """Its description is left out."""
        return self if self.parts is None else replace(self, parts=replace(self.parts, shown=()))


async def looked(context: object, sandbox: Sandbox, head: int, tail: int, ways: bool) -> tuple[object, str]:
    """See the module docstring. ``ways``: whether it says how to reach what is in files."""
    if isinstance(context, InKernel):
        return context, await _live(context, sandbox, head)
    sources = _labelled(context)
    if not sources:
        return context, describe(context, head=head, tail=tail, ways=ways)
    whole = isinstance(context, Source)
    if not whole:
        head, tail = head // 2, tail // 2
    found = await _look(context, sources, sandbox, (head, tail, ways))
    if found is None:
        return context, describe(context, head=head, tail=tail, ways=ways)
    if isinstance(context, Source):
        return looked_at(context, found[0].kind, found[0].parts), found[0].description
    assert isinstance(context, Mapping)
    named = isinstance(context, Contexts)
    by_label = {
        label: each if place < MOST_SHOWN else each.not_shown()
        for place, (label, each) in enumerate(zip(sources, found, strict=True))
    }

    def seen(key: object, value: object) -> object:
        look = by_label.get(_label(key, named)) if isinstance(value, Source) else None
        return value if look is None else looked_at(cast(Source, value), look.kind, look.parts)

    kept: Mapping[object, object] = {key: seen(key, value) for key, value in context.items()}
    if named:
        kept = cast("Mapping[object, object]", Contexts(cast("Mapping[str, object]", kept)))
    kept = cast("Mapping[object, object]", numbered(kept))
    shown = [each.description for each in found[:MOST_SHOWN]]
    return kept, "\n\n".join([describe(kept, head=head, tail=tail, ways=ways), *shown])


async def _live(context: InKernel, sandbox: Sandbox, head: int) -> str:
    """What is told of a live object: it is looked at where it is."""
    said: list[object] = []

    async def on_call(call: HostCall) -> HostReply:
        said.extend(call.args[:1])
        return HostReply()

    repl = await sandbox.open(ReplSpec(context=context, tools=(LOOKED,)), on_call)
    try:
        result = await repl.execute(f"{LOOK}\n{LOOKED}(_look(context, {head}))", seconds=SECONDS)
    finally:
        await repl.close()
    found = said[0] if said else None
    if not isinstance(found, list) or [type(part) for part in found] != [str] * 4:
        why = result.error.message if result.error else "; ".join(result.notes) or result.outcome
        raise ContextError(f"{context!r} could not be looked at: {why[:1_000]}")
    return told(context, tuple(part[: head + 2] for part in found))


def _label(key: object, named: bool) -> str:
    return str(key) if named else f"context[{key!r}]"


def _labelled(context: object) -> dict[str, Source]:
    if isinstance(context, Source):
        return {"context": context}
    if isinstance(context, Mapping):
        named = isinstance(context, Contexts)
        found = {_label(key, named): value for key, value in context.items() if isinstance(value, Source)}
        return dict(list(found.items())[:MOST_CHECKED])
    return {}


async def _look(
    context: object, sources: Mapping[str, Source], sandbox: Sandbox, how: tuple[int, int, bool]
) -> list[_Look] | None:
    grants = Grants(context)
    said: list[tuple[object, object]] = []

    async def on_call(call: HostCall) -> HostReply:
        if call.name == OPEN:
            return await grants.open(call)
        if call.name == LOOKED and len(call.args) == 2:
            said.append((call.args[0], call.args[1]))
            return HostReply()
        raise HostCallError("ValueError", f"there is no function {call.name!r}")

    plain = {label: source.plain() for label, source in sources.items()}
    spec = ReplSpec(context=(plain, *how), tools=(LOOKED,), memory=MEMORY, files=True)
    try:
        repl = await sandbox.open(spec, on_call)
        try:
            result = await repl.execute(_CELL, seconds=SECONDS)
        finally:
            await repl.close()
    except SandboxError:
        return None
    found, wrong = said[0] if said else (None, None)
    if wrong is not None:
        raise ContextError(str(wrong)[:2_000])
    looks = [_Look.of(each) for each in found] if isinstance(found, list) else []
    whole = [look for look in looks if look is not None]
    if result.outcome != "ok" or not len(whole) == len(looks) == len(sources):
        name = " or ".join(source.name for source in list(sources.values())[:MOST_SHOWN])
        why = result.error.message if result.error else "; ".join(result.notes) or result.outcome
        if result.outcome != "ok":  # it was stopped, or has crashed; that a REPL lives on is no news here
            why = why.partition(";")[0]
            why += ". Is the file whole, and no trap? If so, pass its text, or a part of it"
        raise ContextError(f"{name} could not be looked at: {why}")
    return whole
