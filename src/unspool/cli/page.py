"""A run as one HTML page that needs nothing else: no script, no request, no other file. Pure.

Contract: every text of a model, an input or code goes through :func:`_e`: escaped for HTML, controls as
visible escapes. The page's policy allows its own style sheet, named by its hash, and nothing else. Nodes,
turns and sub-calls are ``<details>`` with ids, so that ``FILE#call-12`` names one.

>>> _e("<b>\\x1b[2J")
'&lt;b&gt;\\\\x1b[2J'
"""

from __future__ import annotations

import base64
import hashlib
import html
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ..safe_text import one_line
from ..trace import TraceBuilder
from ..types import CellRun, LedgerLine, Node, SubCall, Turn
from ..words import words
from .plain import as_text
from .report import count, duration, money, tokens
from .terminal import safe
from .tree import calls_told, short_tokens, took


def page(builder: TraceBuilder, run: str, *, redacted: bool) -> str:
    """The whole page."""
    return "\n".join(_page(builder, run, redacted)) + "\n"


def _e(text: str) -> str:
    return html.escape(safe(text))


def _pre(text: str, kind: str = "") -> str:
    # The first line break after the tag is not shown by browsers: one that belongs to the text is doubled.
    body = _e(text.rstrip("\n"))
    name = f' class="{kind}"' if kind else ""
    return f"<pre{name}>{chr(10) if body.startswith(chr(10)) else ''}{body}</pre>"


@cache
def _style() -> str:
    return (Path(__file__).parent / "page.css").read_text("utf-8")


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _page(builder: TraceBuilder, run: str, redacted: bool) -> Iterator[str]:
    started, roots = builder.started, builder.roots()
    title = one_line(started.query, 100) if started else run
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
    yield f"<title>{_e(title)}</title><style>{_style()}</style></head><body>"
    yield '<a class="skip" href="#answer">To the answer</a>'
    yield from _header(builder, run, redacted)
    yield '<nav aria-label="Nodes of the run"><h2>Nodes</h2>'
    if roots:
        yield f"<ul>{''.join(map(_link, roots))}</ul>"
    yield "</nav><main>"
    yield from _answer(builder)
    yield '<section aria-labelledby="work"><h2 id="work">What was done</h2>'
    for root in roots:
        yield from _node(root, opened=True)
    yield "</section>"
    yield "</main><footer><p>Made by unspool from the journal of the run.</p></footer></body></html>"


def _header(builder: TraceBuilder, run: str, redacted: bool) -> Iterator[str]:
    started, ended = builder.started, builder.ended
    yield "<header>"
    yield f"<h1>{_e(started.query if started else run)}</h1>"
    if redacted:
        yield '<p role="note">Redacted: texts stand here as sizes and hashes.</p>'
    facts = [("run", run)]
    if started is not None:
        models = (
            started.model if started.model == started.sub_model else f"{started.model}, {started.sub_model}"
        )
        begun = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(started.time))
        facts += [("begun", begun), ("models", models)]
    if ended is not None:
        amounts = f"{count(ended.turns, 'turn')}, {count(ended.sub_calls, 'sub-call')}"
        facts += [
            ("status", ended.status if ended.status == "answered" else f"{ended.status}: {ended.reason}"),
            ("took", f"{duration(ended.seconds)}, {money(ended.cost)}, {tokens(ended.usage)}, {amounts}"),
        ]
    else:
        facts.append(("status", "not ended"))
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{_e(told)}</dd>" for name, told in facts) + "</dl>"
    if ended is not None and ended.ledger:
        yield from _ledger(ended.ledger)
    if started is not None:
        yield "<details><summary>the context, as the model was told of it</summary>"
        yield f"{_pre(started.context)}</details>"
    yield "</header>"


def _ledger(lines: Sequence[LedgerLine]) -> Iterator[str]:
    yield "<table><caption>What was paid for</caption><thead><tr>"
    yield "".join(f'<th scope="col">{name}</th>' for name in ("role", "model", "calls", "tokens", "cost"))
    yield "</tr></thead><tbody>"
    for line in lines:
        cells = (line.role, line.model, f"{line.usage.calls:,}", tokens(line.usage), money(line.cost))
        yield f"<tr>{''.join(f'<td>{_e(cell)}</td>' for cell in cells)}</tr>"
    yield "</tbody></table>"


def _link(node: Node) -> str:
    below = "".join(_link(child) for child in node.children)
    name = f'<a href="#node-{_e(node.id)}">{_e(node.id)}</a> {_e(_told_of(node))}'
    return f"<li>{name}{f'<ul>{below}</ul>' if below else ''}</li>"


def _told_of(node: Node) -> str:
    usage, cost = node.spent()
    parts = (node.status or "not ended", took(node.started, node.ended), money(cost), short_tokens(usage))
    return ", ".join(each for each in parts if each)


def _answer(builder: TraceBuilder) -> Iterator[str]:
    yield '<section id="answer" aria-labelledby="answer-title"><h2 id="answer-title">Answer</h2>'
    ended = builder.ended
    if ended is None or (ended.answer is None and not ended.notes):
        yield "<p>There is none.</p>"
    else:
        if ended.draft is not None:
            yield f"<p>It is a draft: {_e(ended.draft)}</p>"
        if ended.answer is not None:
            yield _pre(as_text(ended.answer), "answer")
        if ended.notes:
            yield f"<ul>{''.join(f'<li>{_e(note)}</li>' for note in ended.notes)}</ul>"
    yield "</section>"


def _details(name: str, summary: str, *, opened: bool = False, kind: str = "") -> str:
    name = f' id="{_e(name)}"' if name else ""
    kind = f' class="{kind}"' if kind else ""
    return f"<details{name}{kind}{' open' if opened else ''}><summary>{summary}</summary>"


def _node(node: Node, *, opened: bool = False) -> Iterator[str]:
    kind = f"node {'good' if node.status == 'answered' else 'bad' if node.status else 'open'}"
    summary = f"<b>node {_e(node.id)}</b> {_e(_told_of(node))}"
    if node.parent is not None:
        summary += f" <q>{_e(one_line(node.query, 150))}</q>"
    yield _details(f"node-{node.id}", summary, opened=opened, kind=kind)
    if node.parent is not None:
        yield f"<h3>Question</h3>{_pre(node.query)}"
        if node.answer is not None:
            yield f"<h3>Answer</h3>{_pre(as_text(node.answer), 'answer')}"
    if node.status not in (None, "answered"):
        yield f"<p>{_e(node.reason)}</p>"
    for turn in node.turns:
        yield from _turn(node, turn)
    yield "</details>"


def _turn(node: Node, turn: Turn) -> Iterator[str]:
    name = f"turn {turn.number}" if turn.number else "first look"
    parts = [took(turn.started, turn.ended), short_tokens(turn.usage), calls_told(turn.cells)]
    parts += [f"{cell.error.type}" for cell in turn.cells if cell.error is not None]
    told = ", ".join(each for each in parts if each)
    bad = any(cell.error is not None for cell in turn.cells)
    summary = f"<b>{name}</b> {_e(told)}"
    yield _details(f"node-{node.id}-turn-{turn.number}", summary, kind="turn bad" if bad else "turn")
    if turn.thinking.strip():
        yield f"<details><summary>the model's thoughts</summary>{_pre(turn.thinking)}</details>"
    if said := words(turn):
        yield f"<h3>The model's words</h3>{_pre(said, 'words')}"
    for cell in turn.cells:
        yield from _cell(cell)
        for child in node.children:
            if child.cell == cell.number:
                yield from _node(child)
    for hint in turn.hints:
        yield f"<h3>Told the model</h3>{_pre(hint)}"
    yield "</details>"


def _cell(cell: CellRun) -> Iterator[str]:
    time_ = f", {duration(cell.seconds)}" if cell.seconds is not None else ""
    yield f'<h3>Code of cell {cell.number}</h3><pre class="code">{_highlighted(cell.code)}</pre>'
    yield f"<h3>Output <small>{cell.outcome or 'not ended'}{time_}</small></h3>{_pre(cell.output, 'output')}"
    if cell.error is not None:
        yield _pre(cell.error.traceback or f"{cell.error.type}: {cell.error.message}", "error")
    for note in cell.notes:
        yield f"<p>{_e(note)}</p>"
    if cell.sub_calls:
        yield _details("", _e(calls_told([cell])), kind="calls")
        for call in cell.sub_calls:
            yield from _call(call)
        yield "</details>"


def _highlighted(code: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    text: str = highlight(safe(code.strip("\n")), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return text.rstrip("\n")


def _call(call: SubCall) -> Iterator[str]:
    figures = [call.model, duration(call.seconds) if call.seconds else "", short_tokens(call.usage)]
    figures += [money(call.cost)] if call.usage.calls else []
    figures += [f"sent {call.retries + 1} times"] if call.retries else []
    figures += ["from the cache"] if call.cached else []
    figures += [f"failed: {call.error.kind}"] if call.error is not None else []
    told = ", ".join(each for each in figures if each)
    summary = f"<b>{call.id}</b> {_e(told)} <q>{_e(one_line(call.prompt, 80))}</q>"
    yield _details(f"call-{call.id}", summary, kind="call bad" if call.error is not None else "call")
    yield f"<h4>Prompt</h4>{_pre(call.prompt)}"
    if call.error is not None:
        yield f"<h4>Failed</h4>{_pre(call.error.message, 'error')}"
    elif call.reply is not None:
        yield f"<h4>Reply</h4>{_pre(call.reply)}"
    else:
        yield "<p>no reply yet</p>"
    yield "</details>"
