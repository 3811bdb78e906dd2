"""A run as one page that needs nothing else: the viewer, with all that it would ask for inside.

Contract: pure. The page's policy allows its own script and style, named by their hashes, and nothing else: no
request, no other script. What a run says stands in an element that no browser runs, as JSON in which every
text only shows (:func:`.told.as_body`) and no ``<`` is left, so that it cannot end the element.
"""

from __future__ import annotations

import base64
import hashlib
import html
import sys
from collections.abc import Iterator
from urllib.parse import quote

from ..cli.plain import as_text
from ..safe_text import one_line, safe
from .assets import assets, script
from .followed import Seen
from .readers import map_told
from .texts import Texts
from .told import as_body, call_told, calls_told, node_told, run_told, turn_told


def page(seen: Seen, *, redacted: bool) -> str:
    """The whole page."""
    answers = dict(_answers(seen))
    data = (
        as_body({"run": seen.run, "redacted": redacted, "answers": answers}).decode().replace("<", "\\u003c")
    )
    style, code = assets()["viewer.css"].text, script().text
    title = one_line(seen.started.query, 100) if seen.started else seen.run
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, code)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">\n'
        f'<title>{_e(title)}</title><link rel="icon" href="data:,">\n<style>{style}</style></head><body>\n'
        f"<noscript>{_plain(seen)}</noscript>\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{code}</script>\n</body></html>\n"
    )


def _answers(seen: Seen) -> Iterator[tuple[str, object]]:
    """Each question that the page may ask of a run, and the answer to it."""
    texts, run = Texts(seen, first=None), f"runs/{quote(seen.run, safe='')}"
    yield run, run_told(seen, texts)
    yield f"{run}/calls?since=0", calls_told(seen, 0, most=sys.maxsize)
    yield f"{run}/map", map_told(seen)
    for node in seen.nodes.values():
        yield f"{run}/nodes/{quote(node.id, safe='')}", node_told(seen, texts, node)
        for turn in node.turns:
            yield f"{run}/turns/{quote(node.id, safe='')}/{turn.number}", turn_told(seen, texts, node, turn)
    for call in seen.calls.values():
        yield f"{run}/calls/{call.id}", call_told(texts, call)


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
