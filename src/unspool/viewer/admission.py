"""Who may ask the viewer, and what a browser is told to keep to.

Contract: only this machine is served, by its own names: a page of elsewhere whose name was made to lead here
(DNS rebinding) is refused by its Host. What a run says is told only to who sends the token, which is in the
address that ``unspool view`` prints, behind the ``#``: browsers keep that part to themselves, and the page
sends it as a header. So no other page can ask in a browser's name, as it could with a cookie.

>>> Admission("secret", 8643).refusal("127.0.0.1:8643", "Bearer secret") is None
True
>>> Admission("secret", 8643).refusal("evil.example:8643", "Bearer secret").status
403
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..server.admission import bears, names_this_machine

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refusal(Exception):
    """A request that is not answered, with the reason for who asked."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Admission:
    token: str
    port: int

    def host_refusal(self, host: str) -> Refusal | None:
        if names_this_machine(host, self.port):
            return None
        return Refusal(403, f"Host {host[:60]!r}: the viewer answers to 127.0.0.1:{self.port} alone")

    def refusal(self, host: str, authorization: str) -> Refusal | None:
        """Why a request for what is in runs is refused; None where it is not."""
        if (wrong := self.host_refusal(host)) is not None:
            return wrong
        if bears(authorization, self.token):
            return None
        return Refusal(401, "the token is missing or wrong: open the address that unspool view printed")
