"""What an HTTP status means for a call, of whatever library's exception has it.

Contract: pure. An exception has a status where its ``status_code``, ``status`` or that of its ``response`` is
a whole number from 400 to 599, as those of httpx, aiohttp, requests and the SDKs of providers are. Everything
else is none, and is for who asks to judge.

>>> kind_of(429), kind_of(401), kind_of(503), kind_of(418)
('rate_limit', 'auth', 'server', 'bad_request')
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import ModelError
from ..types import FailureKind
from .failures import TOO_LONG, scrub

__all__ = ["failure_of", "kind_of"]

_KINDS: Mapping[int, tuple[FailureKind, str]] = {
    401: ("auth", "refused the key"),
    402: ("auth", "says the account cannot pay"),
    403: ("auth", "refused the key"),
    404: ("unknown_model", "is not there"),
    408: ("timeout", "took too long"),
    409: ("server", "was busy with this request"),
    413: ("too_long", "takes no prompt of this length: send slices of it"),
    425: ("server", "was not ready for this request"),
    429: ("rate_limit", "allows no more requests now"),
    504: ("timeout", "took too long"),
}
_TEXT = (400, 422)  # a prompt that is too long is told in words


def kind_of(status: int) -> FailureKind:
    return _of(status)[0]


def _of(status: int) -> tuple[FailureKind, str]:
    if status in _KINDS:
        return _KINDS[status]
    return ("server", "failed") if status >= 500 else ("bad_request", "refused the request")


def status_of(error: BaseException) -> int | None:
    """The status of an exception; ``None`` where it has none."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            found = getattr(holder, name, None)
            if isinstance(found, int) and 400 <= found <= 599:
                return int(found)
    return None


def failure_of(error: BaseException, name: str) -> ModelError | None:
    """The typed error for an exception that has a status; ``name`` is that of the model."""
    status = status_of(error)
    if status is None:
        return None
    said = scrub(" ".join(str(error).split()), None)[:1000]
    kind, what = _of(status)
    if status in _TEXT and TOO_LONG.search(said):
        kind, what = _KINDS[413]
    told = f"{name} {what} (HTTP {status})"
    return ModelError(kind, f"{told}: {said}" if said else told, model=name, retry_after=_after(error))


def _after(error: BaseException) -> float | None:
    """How many seconds the service asks to wait."""
    given = getattr(error, "retry_after", None)
    if given is None:
        for holder in (getattr(error, "response", None), error):
            headers = getattr(holder, "headers", None)
            if isinstance(headers, Mapping):
                given = given or headers.get("retry-after") or headers.get("Retry-After")
    try:
        seconds = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # none, or a date
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
