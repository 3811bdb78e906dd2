"""The OpenAPI document of the server, made from the models that its bodies are checked with.

>>> sorted(document(with_token=False)["paths"])[:2]
['/health', '/metrics']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic.json_schema import models_json_schema

from .. import __version__
from .bodies import MODEL, ChatBody, ResponsesBody

Json = dict[str, object]

_REFUSED: Mapping[str, str] = {
    "400": "The body is wrong; `param` names the field.",
    "401": "The token is missing or wrong.",
    "402": "A limit of the budget was reached, and there is no draft.",
    "403": "Without a token, only this machine is served.",
    "404": "There is no such model.",
    "408": "The body did not come in time.",
    "413": "The body is too large.",
    "415": "The body is not announced as JSON.",
    "429": "As many runs go on as may; Retry-After says when to come back.",
    "500": "A bug of the server.",
    "502": "The run failed.",
    "503": "The server is shutting down.",
    "504": "The run took too long, and there is no draft.",
}
_ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
                "run": {"type": "string"},
            },
        }
    },
}


def document(*, with_token: bool, names: Sequence[str] = (MODEL,)) -> Json:
    """OpenAPI 3.1. ``names``: those of the models."""
    _, schemas = models_json_schema(
        [(ChatBody, "validation"), (ResponsesBody, "validation")], ref_template="#/components/schemas/{model}"
    )
    known = {"type": "string", "enum": [*names]}
    for body in ("ChatBody", "ResponsesBody"):
        schemas["$defs"][body]["properties"]["model"] |= known
    parts: Json = {"schemas": {**schemas["$defs"], "Error": _ERROR}}
    if with_token:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "unspool",
            "version": __version__,
            "summary": "An RLM as a model.",
        },
        "paths": {
            "/v1/chat/completions": {"post": _asked("ChatBody", "A chat completion.")},
            "/v1/responses": {"post": _asked("ResponsesBody", "A response.")},
            "/v1/models": {"get": _page("The models.", guarded=True)},
            "/v1/models/{name}": {
                "get": {
                    **_page("One model.", guarded=True, missing=True),
                    "parameters": [{"name": "name", "in": "path", "required": True, "schema": known}],
                }
            },
            "/health": {"get": _page("Whether it is up; 503 while it shuts down.", stopping=True)},
            "/metrics": {"get": _page("Counts, for Prometheus.", guarded=True, kind="text/plain")},
            "/openapi.json": {"get": _page("This document.")},
        },
        "components": parts,
        **({"security": [{"token": []}]} if with_token else {}),
    }


def _asked(body: str, what: str) -> Json:
    said: Json = {
        "200": {
            "description": f"{what} With `stream`, as server-sent events.",
            "headers": {"X-Unspool-Run": {"schema": {"type": "string"}, "description": "The id of the run."}},
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "text/event-stream": {"schema": {}},
            },
        },
        **{status: _problem(words) for status, words in _REFUSED.items()},
    }
    return {
        "summary": what,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{body}"}}},
        },
        "responses": said,
    }


def _page(
    what: str,
    *,
    guarded: bool = False,
    missing: bool = False,
    stopping: bool = False,
    kind: str = "application/json",
) -> Json:
    refused = (*(("401", "403") if guarded else ("403",)), *(("404",) if missing else ()))
    said: Json = {"200": {"description": what, "content": {kind: {"schema": {}}}}}
    said |= {status: _problem(_REFUSED[status]) for status in refused}
    if stopping:
        said["503"] = {"description": _REFUSED["503"]}
    free: Json = {} if guarded else {"security": []}
    return {"summary": what, **free, "responses": said}


def _problem(words: str) -> Json:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": words, "content": {"application/json": {"schema": schema}}}
