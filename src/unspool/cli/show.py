"""``unspool runs show``: what a run did, from its journal alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..safe_text import one_line
from ..types import DRIVEN
from .exits import errors_as_exits
from .options import RunName, RunsFolder
from .runs import find_run, journal_in, runs_option, to_go_on

if TYPE_CHECKING:
    from ..events import Event
    from ..trace import TraceBuilder
    from ..types import Branch, Node, SubCall, Turn
    from .paint import Paper, Row


def show(
    run: RunName,
    runs: RunsFolder = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="ID", help='This node alone, such as "0.1", with its children in the tree.'),
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="A turn in full: words, code, output, sub-calls.")
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="The sub-calls, prompts and replies.")] = False,
    code: Annotated[bool, typer.Option("--code", help="The code of a node's cells as one script.")] = False,
    answer: Annotated[
        bool, typer.Option("--answer", help="The answer alone, with the exit code that ask ended with.")
    ] = False,
    as_object: Annotated[bool, typer.Option("--json", help="Print one JSON object an event.")] = False,
) -> None:
    """Show a run as a tree, and its answer; or a part of it in full."""
    with errors_as_exits():
        from ..errors import ConfigError
        from ..trace import folded
        from .paint import Paper

        if calls + code + answer + as_object > 1:
            raise ConfigError("--calls, --code, --answer and --json: give one of them")
        if answer and (node is not None or turn is not None):
            raise ConfigError("--answer: is of the whole run, so leave out --node and --turn")
        journal = journal_in(runs)
        name = find_run(journal, run)
        events = journal.read(name)
        paper = Paper.stdout()
        if as_object:
            _events(events, paper)
            return
        builder = folded(events)
        if answer:
            _answer(builder)
            return
        going = builder.ended is None and journal.is_written(name)
        part = _Part.of(builder, node, turn)
        if code:
            _code(part, paper)
        elif calls:
            _calls(part, paper, going)
        elif part.turn is not None:
            _turn(part, paper, going)
        else:
            _tree(builder, part, name, paper, going)
            if node is None:
                _end(builder, name, runs, paper, going)


@dataclass(frozen=True, slots=True)
class _Part:
    """What is shown: a node, all of it or one turn. ``roots``: all there is, where no node was named."""

    node: Node | None
    turn: Turn | None
    roots: tuple[Node, ...]

    @staticmethod
    def of(builder: TraceBuilder, node: str | None, turn: int | None) -> _Part:
        from ..errors import ConfigError

        found, roots = builder.root(), builder.roots()
        if node is not None:
            found = next((here for root in roots if (here := root.find(node)) is not None), None)
        if node is not None and found is None:
            some = [each.id for root in roots for each in root.walk()][:10]
            raise ConfigError(
                f"there is no node {node!r} in this run; there are: {', '.join(some) or 'none'}"
            )
        if turn is None:
            return _Part(found, None, roots if node is None else ())
        turns = found.turns if found else ()
        for each in turns:
            if each.number == turn:
                return _Part(found, each, roots if node is None else ())
        there = f"{turns[0].number} to {turns[-1].number}" if turns else "none"
        raise ConfigError(f"--turn {turn}: there is no such turn in node {node or '0'}; there are: {there}")

    def calls(self) -> Iterator[SubCall]:
        if self.node is None:
            return
        if self.turn is not None:
            for cell in self.turn.cells:
                yield from cell.sub_calls
            return
        named = () if self.roots else (self.node,)
        for node in (*named, *(each for root in self.roots for each in root.walk())):
            yield from node.calls()


def _answer(builder: TraceBuilder) -> None:
    """What ``unspool ask`` has printed; why there is none goes to stderr."""
    import sys

    from .exits import CODES, FAILED
    from .plain import as_text
    from .terminal import Output, complain, is_terminal, safe

    ended = builder.ended
    if ended is None:
        complain("it has no answer: it has not ended")
        raise typer.Exit(FAILED)
    if ended.status != "answered":
        complain(f"{ended.status}: {ended.reason}")
    if ended.draft is not None:
        complain(f"the answer is a draft: {ended.draft}")
    if text := as_text(ended.answer):
        text = safe(text) if is_terminal(sys.stdout) else text
        Output(sys.stdout).write(text if text.endswith("\n") else f"{text}\n")
    raise typer.Exit(CODES[ended.status])


def _events(events: list[Event], paper: Paper) -> None:
    from .plain import as_json

    for event in events:
        paper.out.line(as_json({"kind": event.kind, **asdict(event)}))


def _code(part: _Part, paper: Paper) -> None:
    from ..words import script
    from .paint import code_block
    from .terminal import safe

    text = script(part.node, part.turn.number if part.turn else None) if part.node else ""
    if paper.width is None:
        paper.out.write(safe(text))
    else:
        paper.write(code_block(text, indent=""), whole=True)


def _calls(part: _Part, paper: Paper, going: bool) -> None:
    from .paint import DIM
    from .paint import part as told
    from .turns import calls

    made = list(part.calls())
    paper.write(calls(made, going=going) if made else [(told("no sub-calls", DIM),)])


def _turn(part: _Part, paper: Paper, going: bool) -> None:
    import time

    from .turns import turn_rows

    assert part.node is not None and part.turn is not None  # noqa: PT018 (a turn is of a node)
    now = time.time() if going else None
    rows = turn_rows(part.node, part.turn, now=now, short=paper.width is not None)
    paper.write(islice(rows, 1), hang=2)
    paper.write(rows, whole=True)


def _tree(builder: TraceBuilder, part: _Part, name: str, paper: Paper, going: bool) -> None:
    import time

    from .tree import tree

    now, page = time.time() if going else None, None if paper.width else paper.page
    if part.node is None or part.roots:
        paper.write(_head(builder, name, now), hang=2)
    branches = builder.branches() if part.roots else ()
    for branch in branches:
        between = [()] if branch is not branches[0] else []
        paper.write([*between, _branch(branch), *tree(branch.trace, now=now, page=page)])
    if part.node is not None and not branches:
        paper.write(tree(part.node, now=now, page=page))


def _branch(branch: Branch) -> Row:
    from .paint import BOLD, DIM, GREEN, part
    from .plain import as_text

    said = as_text(branch.answer) if branch.answer is not None else "no answer"
    if branch.agrees is None:
        ended = f"{branch.status} ({branch.draft or branch.reason})" if branch.status else "has not ended"
        agrees = part(f"  {one_line(ended)}", DIM)
    else:
        agrees = part("  agrees", GREEN) if branch.agrees else part("  does not agree", DIM)
    return (part(f"branch {branch.number}", BOLD), agrees, part(f"  {one_line(said)}"))


def _head(builder: TraceBuilder, name: str, now: float | None) -> Iterator[Row]:
    """What was asked of what, how the run stands, what it took. ``now``: the clock of one that goes on."""
    import time

    from ..trace import total
    from .paint import BOLD, DIM, part
    from .report import count, duration, model_name, money, tokens
    from .tree import status_style

    started, ended, root = builder.started, builder.ended, builder.root()
    if started is None:
        yield (part(f"run: {name}, of which nothing else is kept"),)
        return
    yield (part(f"run: {name}, {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(started.time))}"),)
    yield (part("question: "), part(started.query.strip(), BOLD))
    if started.sources:
        yield (part(f"input: {', '.join(started.sources)}"),)
    if builder.chosen is not None or builder.strategy != "rlm":
        why = f" ({builder.chosen.reason})" if builder.chosen else ""
        yield (part(f"strategy: {builder.strategy}{why}"),)
    status = ended.status if ended else None
    so_far = builder.lasted if now is None else max(0.0, builder.lived(now) - started.time)
    lasted = duration(ended.seconds if ended else so_far)
    state = f"{status} in" if status else "interrupted after" if now is None else "running for"
    yield (part(f"{state} {lasted}", status_style(status)),)
    nodes = [node for each in builder.roots() for node in each.walk()]
    usage, cost = (ended.usage, ended.cost) if ended else total(builder.roots())
    sub_calls = ended.sub_calls if ended else sum(not call.refused for node in nodes for call in node.calls())
    begun = max((turn.number for turn in root.turns), default=0) if root else 0
    turns = ended.turns if ended else begun
    children = sum(node.parent is not None for node in nodes)
    amounts = [count(turns, "turn"), count(sub_calls, "sub-call")]
    amounts += [f"{children:,} {'child' if children == 1 else 'children'}"] if children else []
    amounts += [tokens(usage), money(cost)]
    yield (part(", ".join(amounts)),)
    for line in ended.ledger if ended else ():
        paid = (
            f"{line.role}: {model_name(line.model)}, {count(line.usage.calls, 'call')}, {tokens(line.usage)}"
        )
        yield (part(f"  {paid}, {money(line.cost)}", DIM),)
    limits = [
        f"{name} {started.settings[name]}" for name in _LIMITS if started.settings.get(name) is not None
    ]
    if (own := started.settings.get("strategy_turns")) is not None:
        limits.append(f"turns of the strategy {own}")
    yield (part(f"limits: {', '.join(limits)}", DIM),)
    yield ()


_LIMITS = ("usd", "tokens", "calls", "seconds", "max_turns", "max_depth")


def _end(builder: TraceBuilder, name: str, runs: Path | None, paper: Paper, going: bool) -> None:
    """The notes, the answer, and what can be done with a run that has none."""
    from .paint import DIM, RED, block, part
    from .plain import as_text
    from .reading import reading_lines

    ended = builder.ended
    rows: list[Row] = [()]
    if ended is not None:
        rows += [(part(f"note: {note}", DIM),) for note in ended.notes]
        if ended.status != "answered":
            rows.append((part(f"{ended.status}: {ended.reason}", RED),))
        if ended.draft is not None:
            rows.append((part(f"the answer is a draft: {ended.draft}", RED),))
        reading = builder.reading
        rows += [(part(line, DIM),) for line in reading_lines(reading.coverage(), reading.citations())]
    paper.write(rows if len(rows) > 1 else [], hang=2)
    more: list[Row] = []
    if ended is not None and ended.answer is not None:
        more += block(as_text(ended.answer), indent="")
    driven = builder.started is not None and builder.started.model.startswith(DRIVEN)
    if not driven and (ended is None or ended.status != "answered"):
        watched = f"it is still going: unspool watch {name}{runs_option(runs)}"
        unread = f"nothing of it can be read. To remove it: unspool runs rm {name}{runs_option(runs)}"
        told = unread if builder.started is None else to_go_on(name, runs, ended, builder.started)
        more += [(part(watched if going else told),)] if going or told else []
    paper.write([()] if more else [])
    paper.write(more, whole=True)
