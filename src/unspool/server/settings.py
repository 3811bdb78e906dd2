"""What a server was started with.

>>> ServerSettings(host="::1").in_address
'[::1]'
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigError
from .admission import TOKEN_VARIABLE, is_loopback

PORT = 8642  # of its own: local model servers that unspool looks for have 8000, 8080, 1234 and 11434
RUNS = 16
BODY_MB = 64
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Limits of a server. ``seconds`` is the most that one run may take.

    Raises :class:`ConfigError` for a host that others reach without a token.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    runs: int = RUNS  # at once
    body_bytes: int = BODY_MB << 20
    seconds: float = SECONDS
    head_seconds: float = 15.0  # for the head of a request, from the connection or the reply before it
    body_seconds: float = 30.0  # in which a piece of a body has to come
    send_seconds: float = 30.0  # in which a client has to take what it is sent
    beat_seconds: float = 15.0  # after which a silent stream says that it is alive

    @property
    def in_address(self) -> str:
        """The host as it stands in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def __post_init__(self) -> None:
        for name, value, least in (("runs", self.runs, 1), ("body", self.body_bytes, 1)):
            if value < least:
                raise ConfigError(f"{name}={value}: give at least {least}")
        if not self.seconds > 0:
            raise ConfigError(f"seconds={self.seconds}: give a time above zero")
        if self.token is not None and (not self.token.isascii() or not self.token.strip()):
            raise ConfigError(
                f"the token is empty or has other characters than ASCII (--token, {TOKEN_VARIABLE}): give "
                "one, or none at all"
            )
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"host {self.host}: others reach it, so it needs a token: set {TOKEN_VARIABLE} (or --token), "
                "or stay on 127.0.0.1"
            )
