"""What a client is told when there is no answer: a status, and a body in OpenAI's shape.

Contract: every reply of the server with a status of 400 and more has this body, and ``message`` says what
is wrong and what to do. ``param`` names the field. What was paid for carries ``x-should-retry: false``:
OpenAI's own clients would ask, and pay, twice more.

>>> Problem(400, "n: only 1 answer is given", param="n").body()["error"]["param"]
'n'
>>> where(("body", "messages", 0, "content", "str"))
'messages[0].content'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..misfits import plainly

if TYPE_CHECKING:
    from pydantic import ValidationError

_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    408: "timeout_error",
    429: "rate_limit_error",
    504: "timeout_error",
}
SHOWN = 5  # wrong fields that one message names


class Problem(Exception):
    """Becomes the reply. ``run`` is the id of the run that it is about, where there is one."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        run: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})
        self.run = run

    @property
    def type(self) -> str:
        return _TYPES.get(self.status) or ("server_error" if self.status >= 500 else "invalid_request_error")

    def body(self) -> dict[str, dict[str, str | None]]:
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": {**error, "run": self.run} if self.run else error}


def where(place: Sequence[str | int]) -> str:
    """A field as a client writes it. Parts that name a kind of value, not a field, are left out."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in _KINDS and "[" not in part:
            path += f".{part}" if path else part
    return path


_KINDS = {"body", "str", "int", "float", "bool", "ChatPart", "InputPart", "dict", "list"}


def of_validation(error: ValidationError) -> Problem:
    """The fields that are wrong, and how."""
    told: dict[str, list[str]] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        if each["type"] == "json_invalid":
            why = each["msg"].removeprefix("Invalid JSON: ")
            return Problem(400, f"the body is no JSON: {why}", code="invalid_json")
        field = where(each["loc"])
        told.setdefault(field, []).append(
            _unknown(field) if each["type"] == "extra_forbidden" else plainly(each["msg"])
        )
    first = next(iter(told))
    lines = [f"{field or 'the body'}: {' or '.join(said)}" for field, said in list(told.items())[:SHOWN]]
    if len(told) > SHOWN:
        lines.append(f"and {len(told) - SHOWN} more")
    return Problem(400, "; ".join(lines), code="invalid_value", param=first or None)


def _unknown(field: str) -> str:
    """Of a field of ``unspool``, where none may be that is not known."""
    from .bodies import Limits, Options  # pydantic, which not every server needs

    kind = Limits if field.startswith("unspool.budget.") else Options
    return f"there is no such field; known: {', '.join(kind.model_fields)}"
