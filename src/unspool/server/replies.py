"""Replies as bytes: JSON, an event of a stream, a refusal.

>>> to_json({"said": "é"}).decode()
'{"said":"é"}'
>>> frame([1])
b'data: [1]\\n\\n'
"""

from __future__ import annotations

import json

from starlette.responses import Response

from ..safe_text import paired
from .problems import Problem


def to_json(value: object) -> bytes:
    """As UTF-8; what UTF-8 has no bytes for (half of a surrogate pair) is U+FFFD: many clients read no escape
    of it either."""
    return paired(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def frame(data: object, event: str | None = None) -> bytes:
    """One event of a stream."""
    head = f"event: {event}\n".encode() if event else b""
    return head + b"data: " + to_json(data) + b"\n\n"


def json_reply(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


def reply_of(problem: Problem) -> Response:
    return Response(
        to_json(problem.body()), problem.status, headers=problem.headers, media_type="application/json"
    )
