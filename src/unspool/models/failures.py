"""Turns what lm15 raises into :class:`ModelError`: a kind, and a message that says what to do.

Contract: no message holds a key. ``auth`` names the provider and the variable to set.

>>> scrub("Incorrect API key provided: sk-abc123def456ghi.", "sk-abc123def456ghi")
'Incorrect API key provided: [key].'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..types import FailureKind

if TYPE_CHECKING:
    from lm15 import LM15Error

    from .providers import Provider

# What keys of the well-known services look like, whole or with their middle starred out.
_KEY = re.compile(r"\b(?:sk|pk|gsk|xai|key|tok|AIza|Bearer)[-_ ]?[A-Za-z0-9_*.\-]{8,}[A-Za-z0-9*]")
_SHORTEST_KEY = 8  # a shorter one is a placeholder, and may be a word of the message
TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too (long|large|many tokens)"
    r"|exceeds?.{0,40}(context|token)|prompt is too",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(unsupported|not support|unrecognized|unknown|does not support|not permitted|invalid).{0,60}"
    r"(parameter|value|field|argument|format)|extra (inputs|fields)",
    re.IGNORECASE | re.DOTALL,
)
_EFFORT = re.compile(r"reasoning|thinking|effort", re.IGNORECASE)
_SCHEMA = re.compile(r"response_?(format|schema|json_?schema)|output_config|json_schema", re.IGNORECASE)


def scrub(message: str, key: str | None) -> str:
    """The message without the key, and without anything that looks like one."""
    if key and len(key) >= _SHORTEST_KEY:
        message = message.replace(key, "[key]")
    return _KEY.sub("[key]", message)


def refused_parameter(error: ModelError, sent: tuple[str, ...]) -> str | None:
    """The parameter that the server says it does not take, if it is one of those sent."""
    if error.kind != "bad_request":
        return None
    # Every dialect has its own field for a schema, and its own words for what is wrong with one.
    if "response_format" in sent and _SCHEMA.search(error.message):
        return "response_format"
    if "effort" in sent and _EFFORT.search(error.message):
        return "effort"
    if not _PARAMETER.search(error.message):
        return None
    return next((name for name in sent if name in error.message), None)


def no_key(provider: Provider, name: str) -> ModelError:
    variables = " or ".join(provider.keys)
    return ModelError("auth", f"there is no key for {provider.name}: set {variables}", model=name)


def translate(
    error: LM15Error, provider: Provider, name: str, key: str | None, told_with: int | None = None
) -> ModelError:
    """The typed error for what went wrong with one call. ``told_with``: the status that an error came with
    whose code stands for another."""
    said = scrub(_first_paragraph(error), key)
    kind, message, retryable = _sort(error, said, provider, name, told_with)
    # What never got through was not worked on; what was read in part, or cannot be read, was.
    answered = error.status is not None and error.status < 400  # with what cannot be read
    unsure = True if answered else False if _never_sent(error) else None
    return ModelError(
        kind,
        message,
        model=name,
        retry_after=error.retry_after,
        retryable=retryable,
        unsure=unsure,
        permanent=True if error.status == 404 else None,  # there is nothing at that address
    )


def _never_sent(error: LM15Error) -> bool:
    from lm15.transports import ConnectError, ConnectTimeout

    return isinstance(error.__cause__, ConnectError | ConnectTimeout)


def _may_heal(error: LM15Error) -> bool | None:
    """False where the server speaks no TLS or shows a wrong certificate: asking again changes nothing."""
    import ssl

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__
    return None if cause is None else False


def _sort(
    error: LM15Error, said: str, provider: Provider, name: str, told_with: int | None
) -> tuple[FailureKind, str, bool | None]:
    import lm15

    status = f" (HTTP {told_with or error.status})" if error.status else ""
    variables = " or ".join(provider.keys)
    check = f"check {variables}" if variables else "it wants a key"
    match error:
        case lm15.AuthError() | lm15.NotConfiguredError():
            return "auth", f"{provider.name} refused the key{status}: {check}. It said: {said}", None
        case lm15.BillingError():
            return "auth", f"{provider.name} says the account cannot pay{status}: {said}", None
        case lm15.RateLimitError():
            return "rate_limit", f"{provider.name} allows no more requests now{status}: {said}", None
        case lm15.ContextLengthError():
            return "too_long", f"{said} Send slices of it, one call for each.", None
        case lm15.UnsupportedModelError():
            return "unknown_model", f"{name}: {said}", None
        case lm15.TimeoutError():
            return "timeout", f"{provider.name} took too long{status}: {said}", None
        case lm15.ServerError():
            return "server", f"{provider.name} failed{status}: {said}", None
        case lm15.TransportError():
            return "connection", f"no connection to {provider.name}: {said}", _may_heal(error)
        case lm15.ProviderError() if error.status == 409:
            return "server", f"{provider.name} was busy with this request{status}: {said}", True
        case lm15.ProviderError() if error.status is None or error.status < 400:
            return "server", f"{provider.name} sent a reply that cannot be read: {said}", None
    if error.status in (400, 413, 422) and TOO_LONG.search(said):
        return "too_long", f"{said} Send slices of it, one call for each.", None
    return "bad_request", f"{provider.name} refused the request{status}: {said}", None


def _first_paragraph(error: LM15Error) -> str:
    """The provider's words; lm15 puts advice for its own users behind an empty line."""
    return error.message.partition("\n\n")[0].strip()[:1000] or type(error).__name__
