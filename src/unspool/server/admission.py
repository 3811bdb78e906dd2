"""Who may ask a server of this machine: by its token, and by the name that a request has for it.

Contract: pure but for :func:`given_token`, which looks at the environment. The token is the option's, else
the variable's; the white space around it is none of it. One that is given and empty is refused by
:class:`.settings.ServerSettings` and never means that none is needed: a shell's ``--token "$UNSET"`` must not
open a server.

>>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
(True, True, True, False)
>>> names_this_machine("[::1]:80"), names_this_machine("LOCALHOST"), names_this_machine("evil.example:8642")
(True, True, False)
>>> names_this_machine("localhost:1", 8643), names_this_machine("localhost", 8643)
(False, False)
>>> bears("Bearer secret", "secret"), bears("Basic secret", "secret"), bears("", "secret")
(True, False, False)
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Mapping

from .problems import Problem

TOKEN_VARIABLE = "UNSPOOL_TOKEN"
_HTTP_PORT = 80  # which no client names


def given_token(option: str | None) -> str | None:
    """What ``--token`` or the environment says; None where neither does."""
    token = os.environ.get(TOKEN_VARIABLE) if option is None else option
    return None if token is None else token.strip()


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_this_machine(host: str, port: int | None = None) -> bool:
    """Whether a ``Host`` header is a name of this machine, and of this ``port`` where it has to be.

    A page of elsewhere whose name was made to lead here (DNS rebinding) has another one, and cannot set it.
    """
    name, colon, given = host.rpartition(":")
    if not colon or not given.isdecimal():
        name, given = host, str(_HTTP_PORT)
    if port is not None and given != str(port):
        return False
    return is_loopback(name.lower().removeprefix("[").removesuffix("]"))


def bears(authorization: str, token: str) -> bool:
    """Whether a request with this ``Authorization`` carries the token."""
    kind, _, key = authorization.partition(" ")
    return kind.lower() == "bearer" and hmac.compare_digest(key.strip().encode(), token.encode())


def check_token(headers: Mapping[str, str], token: str) -> None:
    """Raises :class:`Problem` for a request that does not carry the token."""
    given = headers.get("authorization", "")
    if not bears(given, token):
        message = "the token is wrong" if given else "a token is needed: Authorization: Bearer TOKEN"
        raise Problem(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
