"""A run as one page that needs nothing else: the viewer, with all that it would ask for inside.

Contract: pure. The page's policy allows its own script and style, named by their hashes, and nothing else: no
request, no other script. What a run says stands in elements that no browser runs, as JSON in which every
text only shows (:func:`.told.as_body`) and no ``<`` is left, so that it cannot end its element. The first
says in which of the others an answer is: so the page reads what it shows, and not all that there is.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast
from urllib.parse import quote

from ..cli.plain import as_text
from ..safe_text import one_line, safe
from .assets import SCRIPT, STYLE, assets
from .followed import Seen
from .readers import map_told
from .texts import Texts
from .told import as_body, call_told, calls_told, node_told, run_told, turn_told

GROUP = 250_000  # characters of answers that are read at once


def page(seen: Seen, *, redacted: bool) -> str:
    """The whole page."""
    places, groups = _grouped(_answers(seen))
    head = as_body({"run": seen.run, "redacted": redacted, "places": places}).decode()
    data = "".join(
        f'<script type="application/json" id="data{name}">{_shown(text)}</script>\n'
        for name, text in (("", head), *((f"-{place}", group) for place, group in enumerate(groups)))
    )
    style, code = assets()[STYLE].text, assets()[SCRIPT].text
    title = one_line(seen.started.query, 100) if seen.started else seen.run
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, code)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">\n'
        f'<title>{_e(title)}</title><link rel="icon" href="data:,">\n<style>{style}</style></head><body>\n'
        f'<div id="app"></div>\n<noscript>{_plain(seen)}</noscript>\n'
        f"{data}"
        f"<script>{code}</script>\n</body></html>\n"
    )


def _grouped(answers: Iterable[tuple[str, object]]) -> tuple[Mapping[str, int], Sequence[str]]:
    """The answers as JSON objects of about that size, and in which of them each is."""
    places: dict[str, int] = {}
    groups: list[list[str]] = []
    room = 0
    for question, answer in answers:
        told = f"{as_body(question).decode()}:{as_body(answer).decode()}"
        if not groups or len(told) > room:
            groups.append([])
            room = GROUP
        room -= len(told)
        groups[-1].append(told)
        places[question] = len(groups) - 1
    return places, [f"{{{','.join(group)}}}" for group in groups]


def _shown(data: str) -> str:
    return data.replace("<", "\\u003c")


def _answers(seen: Seen) -> Iterator[tuple[str, object]]:
    """Each question that the page may ask of a run, and the answer to it."""
    texts, run = Texts(seen, first=None), f"runs/{quote(seen.run, safe='')}"
    yield run, run_told(seen, texts)
    since, more = 0, True
    while more:
        told = calls_told(seen, since)
        yield f"{run}/calls?since={since}", told
        since, more = cast("int", told["seq"]), told["more"] is True
    yield f"{run}/map", map_told(seen)
    for node in seen.nodes.values():
        yield f"{run}/nodes/{quote(node.id, safe='')}", node_told(seen, texts, node)
        for turn in node.turns:
            yield f"{run}/turns/{quote(node.id, safe='')}/{turn.number}", turn_told(seen, texts, node, turn)
    for call in seen.calls.values():
        yield f"{run}/calls/{call.id}", call_told(seen, texts, call)


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _plain(seen: Seen) -> str:
    """For who runs no scripts: the question and the answer."""
    question = seen.started.query if seen.started else seen.run
    answer = as_text(seen.ended.answer) if seen.ended else ""
    return (
        f"<h1>{_e(question)}</h1><pre>{_e(answer or 'There is no answer.')}</pre>"
        "<p>The rest of this page needs JavaScript. It asks for nothing.</p>"
    )


def _e(text: str) -> str:
    return html.escape(safe(text))
