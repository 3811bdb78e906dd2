"""What a run has read of its input, folded from its events.

Contract: :class:`CoverageBuilder` folds the events of a run into :class:`unspool.reading.Coverage`: of the
root's context, what children read of theirs mapped back. What is not known is never counted as read, and
never as nothing: see ``unknown`` and ``unplaced`` there. What is put before a model (a description, a first
look, a question, a prompt) is read once the model has replied, for before that it may never have been sent.

>>> from unspool.types import Usage
>>> builder = CoverageBuilder()
>>> builder.add(ev.NodeStarted(node="0", parent=None, depth=0, query="q", context="10 characters"))
>>> builder.add(ev.ContextMeasured(node="0", size=10, parts=1, sizes=(10,), shown=((0, 0, 4),)))
>>> builder.coverage().share, builder.coverage().parts[0].unread
(0.0, ((0, 10),))
>>> builder.add(ev.ModelReplied(node="0", turn=1, role="root", model="m", text="hi", thinking="", code=(),
...     finish="stop", usage=Usage(calls=1), cost=None, seconds=0.1, retries=0))
>>> builder.coverage().share, builder.coverage().parts[0].unread
(0.4, ((4, 10),))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import events as ev
from .ranges import IDENTITY, Shown, Spans, Stretch, share_of, unread
from .reading import Citation, Coverage, PartCoverage, Range
from .types import DRIVEN, ROOT, SubCall


@dataclass(slots=True)
class _Node:
    """What one node has read: by cell, so that what a divergence has dropped can go."""

    started: ev.NodeStarted | None = None
    measured: ev.ContextMeasured | None = None
    asked_in: int = 0  # the cell of its parent
    last_cell: int = 0
    heard: bool = False  # its model has replied
    first: dict[int, Shown] = field(default_factory=dict)  # what is there before its model is asked
    prints: dict[int, Shown] = field(default_factory=dict)
    calls: dict[int, dict[int, Shown]] = field(default_factory=dict)

    def texts(self) -> list[Shown]:
        """What was printed for its model, as far as that has read it."""
        return [*(self.first.values() if self.heard else ()), *self.prints.values()]

    def prompts(self) -> list[Shown]:
        return [shown for of_cell in self.calls.values() for shown in of_cell.values()]


class CoverageBuilder:
    """Takes events one by one; :meth:`coverage` says what is known so far."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._cited: list[ev.Cited] = []
        self._root = ROOT
        self._driven = False

    def add(self, event: ev.Event) -> None:
        match event:
            case ev.CallStarted():  # calls first, as there may be many thousands
                shown = Shown(event.ranges, event.unplaced)
                self._of(event.node).calls.setdefault(event.cell, {})[event.call] = shown
            case ev.CallEnded():
                if not was_sent(event):
                    for of_cell in self._of(event.node).calls.values():
                        of_cell.pop(event.call, None)
            case ev.RunStarted():
                self._driven = event.model.startswith(DRIVEN)
            case ev.NodeStarted():
                node = self._nodes.setdefault(event.node, _Node())
                node.started = event
                node.heard |= self._driven and event.parent is None  # who drives it has been told
                node.asked_in = self._nodes[event.parent].last_cell if event.parent in self._nodes else 0
            case ev.ContextMeasured():
                self._of(event.node).measured = event
                self._of(event.node).first[0] = Shown(event.shown)
            case ev.ModelReplied():
                self._of(event.node).heard = True
            case ev.CellStarted():
                self._of(event.node).last_cell = event.cell
            case ev.CellEnded():
                ranges = event.ranges if event.output else ()
                node = self._of(event.node)
                (node.prints if event.turn else node.first)[event.cell] = Shown(ranges, event.unplaced)
            case ev.Cited():
                self._cited.append(event)
            case ev.Diverged():
                self._drop(event.node, event.cell)
            case ev.BranchesDecided():
                self._root = event.node or ROOT
            case _:
                return  # the others tell nothing of reading

    def _of(self, node: str) -> _Node:
        return self._nodes.setdefault(node, _Node())

    def _drop(self, name: str, cell: int) -> None:
        node = self._of(name)
        for kept in (node.first, node.prints, node.calls):
            for later in [number for number in kept if number > cell]:
                del kept[later]
        for child in self._children().get(name, ()):
            if self._nodes[child].asked_in > cell:
                for below in [n for n in self._nodes if (n + ".").startswith(child + ".")]:
                    del self._nodes[below]

    def _children(self) -> dict[str, list[str]]:
        """The nodes below each that has some."""
        below: dict[str, list[str]] = {}
        for name, node in self._nodes.items():
            if node.started and node.started.parent is not None:
                below.setdefault(node.started.parent, []).append(name)
        return below

    def coverage(self) -> Coverage:
        """Of the root's context, of several branches by the chosen one."""
        root = self._nodes.get(self._root)
        if root is None or root.measured is None:
            return Coverage()
        prints, calls = Spans(), Spans()
        unplaced = unknown = 0
        traced = not root.prompts()
        for shown in root.texts():
            unknown += shown.ranges is None
            unplaced += shown.unplaced
            prints.add(shown.ranges or ())
        for shown in root.prompts():
            traced |= shown.ranges is not None
            unknown += shown.ranges is None
            unplaced += shown.unplaced
            calls.add(shown.ranges or ())
        children = Spans()
        ranges, more_unplaced, more_unknown = self._by_children(self._root, self._children())
        children.add(ranges)
        told = _told(root.measured, prints, calls, children, unplaced + more_unplaced, unknown + more_unknown)
        return told if traced else replace(told, by_sub_calls=None)

    def citations(self) -> tuple[Citation, ...]:
        """The quotes of the root and its children."""
        below = self._root + "."
        found = [e for e in self._cited if e.node == self._root or e.node.startswith(below)]
        return tuple(
            dict.fromkeys(
                Citation(e.quote, e.source, e.offset, e.line, e.found, e.verified, e.node, e.via, e.place)
                for e in found
            )
        )

    def _by_children(self, name: str, below: Mapping[str, Sequence[str]]) -> tuple[list[Range], int, int]:
        """What the children of a node read of its context, and the characters and texts not placed."""
        found: list[Range] = []
        unplaced = unknown = 0
        for child in below.get(name, ()):
            node = self._nodes[child]
            assert node.started is not None
            ranges, late, lost = self._by_children(child, below)
            texts = [*node.texts(), *node.prompts()]
            for shown in texts:
                lost += shown.ranges is None
                late += shown.unplaced
                ranges += shown.ranges or ()
            if node.heard:
                unknown += node.started.ranges is None
                found += node.started.ranges or ()
            if node.started.stretches is None:
                unknown += len(texts)
            else:
                found += mapped(ranges, node.started.stretches)
                unplaced, unknown = unplaced + late, unknown + (lost if node.started.stretches else 0)
        return found, unplaced, unknown


def was_sent(call: ev.CallEnded | SubCall) -> bool:
    """Whether a model may have read the prompt of a sub-call."""
    return call.error is None or call.reply is not None or call.cached or call.usage.calls > 0


def mapped(ranges: Iterable[Range], stretches: Sequence[Stretch]) -> list[Range]:
    """Ranges of a child's context as ranges of its parent's."""
    if IDENTITY in stretches:
        return list(ranges)
    pieces: dict[int, list[Stretch]] = {}
    for stretch in stretches:
        pieces.setdefault(stretch[0], []).append(stretch)
    found: list[Range] = []
    for part, start, end in ranges:
        for _, at, home, first, last in pieces.get(part, ()):
            low, high = max(start, at), min(end, at + last - first)
            if low < high:
                found.append((home, first + low - at, first + high - at))
    return found


def _told(
    measured: ev.ContextMeasured, prints: Spans, calls: Spans, children: Spans, unplaced: int, unknown: int
) -> Coverage:
    if measured.why:
        return Coverage(why=measured.why)
    every = Spans()
    for spans in (prints, calls, children):
        spans.leave_out(measured.no_text)
        every.join(spans)
    size, read, parts = measured.size, every.size(), range(len(measured.sizes))
    named = len(measured.names)
    no_text = frozenset(measured.no_text)
    if no_text and len(no_text) == measured.parts:
        return Coverage(
            parts_in_all=measured.parts, unit="bytes", why="none of the files can be read as text"
        )
    unmeasured = sum(measured.sizes[part] is None and part not in no_text for part in parts)
    from .reach.sniff import kind_by_name  # with what it brings, it is not for every import of this

    shut = sum(kind_by_name(measured.names[part]) == "document" for part in no_text if part < named)
    return Coverage(
        share=_of(read, size),
        size=size,
        read=read,
        by_prints=_of(prints.size(), size),
        by_sub_calls=_of(calls.size(), size),
        by_children=_of(children.size(), size),
        unplaced=unplaced,
        unknown=unknown,
        parts=tuple(_part(measured, number, every) for number in parts if number not in no_text),
        parts_in_all=measured.parts,
        unit="bytes" if measured.in_bytes else "characters",
        why=_why(None if size is not None else unmeasured, shut),
    )  # fmt: skip


def _why(unmeasured: int | None, shut: int) -> str:
    """Why the share is not known (``unmeasured`` None: it is), and what is not counted in it."""
    why = (
        f"{unmeasured or 'some'} of the files are packed, or documents: their size is known when they were "
        "read to the end"
    )
    told = [] if unmeasured is None else [why]
    if shut:
        told.append(
            f"{shut:,} document{'' if shut == 1 else 's'} that cannot be read {'is' if shut == 1 else 'are'} "
            "not counted"
        )
    return "; ".join(told)


def _of(part: int, whole: int | None) -> float | None:
    return None if whole is None else share_of(part, whole)


def _part(measured: ev.ContextMeasured, number: int, every: Spans) -> PartCoverage:
    size, union = measured.sizes[number], every.union(number)
    return PartCoverage(
        number=number,
        name=measured.names[number] if number < len(measured.names) else None,
        size=size,
        share=_of(sum(end - start for start, end in union), size),
        read=tuple(every.counted(number)),
        unread=() if size is None else tuple(unread(union, size)),
    )
