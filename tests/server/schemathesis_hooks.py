"""What schemathesis checks beside its own: see test_schemathesis, which hands it this file."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

ENDS = ("response.completed", "response.failed", "response.incomplete")


@schemathesis.check
def no_bug(ctx: Any, response: Any, case: Any) -> None:
    """Its own check takes every 5xx for one: a run that a limit of the body ended is none (502, 504)."""
    assert response.status_code not in (500, 503), response.text


@schemathesis.check
def a_stream_tells_its_end(ctx: Any, response: Any, case: Any) -> None:
    if not response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        return
    data = [line[len("data: ") :] for line in response.text.split("\n") if line.startswith("data: ")]
    events = [json.loads(each) for each in data if each != "[DONE]"]
    assert events, "a stream without an event"
    last = events[-1]
    assert "error" in last or "choices" in last or last.get("type") in ENDS, f"it ends with {last}"


@schemathesis.check
def a_refusal_has_the_shape_of_openai(ctx: Any, response: Any, case: Any) -> None:
    if response.status_code < 400 or case.method == "HEAD":
        return
    error = json.loads(response.text)["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["message"]
