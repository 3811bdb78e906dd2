"""The providers that are known by name: their keys, addresses and default models.

Contract: a table, no I/O but reading the environment. ``root`` is the model that is taken where
only a key was found, ``sub`` the cheaper one that sub-calls then go to; both are ``None`` for
servers on this machine, which are asked what they serve. ``lm15`` is the entry of lm15's registry
that speaks the wire; ``prices`` the provider's name in genai-prices. Clouds (Azure, Bedrock) serve
what their customers deployed there, so that a model is always named.

>>> PROVIDERS["openai"].keys
('OPENAI_API_KEY',)
>>> PROVIDERS["ollama"].here
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ..errors import ConfigError

Dialect = Literal["chat", "anthropic", "gemini"]

COMPATIBLE = "compatible"
"""The wire of a server that speaks chat completions and is none of the services known by name."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table. ``here``: a keyless server on this machine, at ``base_url``."""

    name: str
    keys: tuple[str, ...] = ()
    root: str | None = None
    sub: str | None = None
    lm15: str = COMPATIBLE
    prices: str | None = None
    base_url: str | None = None  # None: the one that lm15 knows
    base_url_variable: str | None = None
    here: bool = False
    cloud: bool = False  # reached through an account's own address: see :mod:`.cloud`

    def key(self, environ: Mapping[str, str]) -> str | None:
        for variable in self.keys:
            if value := environ.get(variable, "").strip():
                return value
        return None

    def address(self, environ: Mapping[str, str]) -> str | None:
        """The base URL to use, or None for the provider's own."""
        if self.base_url_variable and (value := environ.get(self.base_url_variable, "").strip()):
            return _whole(value, self.base_url or "") if self.here else value
        return self.base_url

    @property
    def dialect(self) -> Dialect:
        """The form of requests and replies, whoever serves them."""
        if self.lm15.endswith("anthropic"):
            return "anthropic"
        return "gemini" if self.lm15 == "gemini" else "chat"

    def redirected(self, environ: Mapping[str, str]) -> bool:
        """Whether the environment points this name at another server than the provider's own."""
        return self.address(environ) != self.base_url


_ROWS = (
    Provider(
        "openai", ("OPENAI_API_KEY",), "gpt-6.1-sol", "gpt-6-luna",
        lm15="openai-chat", prices="openai", base_url_variable="OPENAI_BASE_URL",
    ),
    Provider(
        "anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-5-5", "claude-haiku-5-5",
        lm15="anthropic", prices="anthropic",
    ),
    Provider(
        "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-3.8-flash", "gemini-3.5-flash-lite",
        lm15="gemini", prices="google",
    ),
    Provider(
        "openrouter", ("OPENROUTER_API_KEY",), "anthropic/claude-sonnet-5", "openai/gpt-oss-120b",
        lm15="openrouter", prices="openrouter",
    ),
    Provider(
        "deepseek", ("DEEPSEEK_API_KEY",), "deepseek-v4-pro", "deepseek-v4-flash",
        lm15="deepseek", prices="deepseek",
    ),
    Provider(
        "groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b", "openai/gpt-oss-20b",
        lm15="groq", prices="groq",
    ),
    Provider(
        "mistral", ("MISTRAL_API_KEY",), "mistral-medium-latest", "mistral-small-latest",
        prices="mistral", base_url="https://api.mistral.ai/v1",
    ),
    Provider(
        "xai", ("XAI_API_KEY",), "grok-4.7", "grok-4-1-fast-non-reasoning",
        lm15="xai", prices="x-ai",
    ),
    Provider(
        "together", ("TOGETHER_API_KEY",), "deepseek-ai/DeepSeek-V4.1-Flash", "openai/gpt-oss-120b",
        lm15="together", prices="together",
    ),
    Provider(
        "fireworks", ("FIREWORKS_API_KEY",),
        "accounts/fireworks/models/deepseek-v4-pro", "accounts/fireworks/models/deepseek-v4-flash",
        lm15="fireworks", prices="fireworks",
    ),
    Provider(
        "moonshotai", ("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"), "kimi-k2.7-code", "kimi-k2.6",
        lm15="moonshotai", prices="moonshotai",
    ),
    Provider("azure", ("AZURE_OPENAI_API_KEY",), lm15="azure-chat", prices="azure", cloud=True),
    Provider(
        "azure-anthropic", ("ANTHROPIC_FOUNDRY_API_KEY",),
        lm15="azure-anthropic", prices="azure", cloud=True,
    ),
    Provider("bedrock", ("AWS_BEARER_TOKEN_BEDROCK",), lm15="bedrock-chat", prices="aws", cloud=True),
    Provider(
        "bedrock-anthropic", ("AWS_BEARER_TOKEN_BEDROCK",),
        lm15="bedrock-anthropic", prices="aws", cloud=True,
    ),
    Provider(
        "ollama", lm15="ollama", base_url="http://127.0.0.1:11434/v1",
        base_url_variable="OLLAMA_HOST", here=True,
    ),
    Provider(
        "llamacpp", base_url="http://127.0.0.1:8080/v1",
        base_url_variable="LLAMACPP_BASE_URL", here=True,
    ),
    Provider(
        "vllm", lm15="vllm", base_url="http://127.0.0.1:8000/v1",
        base_url_variable="VLLM_BASE_URL", here=True,
    ),
    Provider(
        "lmstudio", base_url="http://127.0.0.1:1234/v1",
        base_url_variable="LMSTUDIO_BASE_URL", here=True,
    ),
)  # fmt: skip

PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}


def _whole(address: str, usual: str) -> str:
    """A server's base URL from what its own variable may hold, e.g. Ollama's ``0.0.0.0:11434``."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    try:
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return address  # no address at all: asking it says so
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    who = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    if port is None and parts.scheme == "http":
        port = urlsplit(usual).port
    path = parts.path.rstrip("/")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{who}{host}{f':{port}' if port else ''}{path or urlsplit(usual).path}"


def check_address(url: str, said: str) -> None:
    """Raises :class:`ConfigError` for what is no address of a server. ``said``: who said it, e.g. a variable.

    >>> check_address("http://127.0.0.1:8000/v1", "OPENAI_BASE_URL")
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port that is none
        good = False
    if not good:
        raise ConfigError(
            f"{masked(f'{said}={url}')}: this is no http or https address of a server; "
            "one is http://127.0.0.1:8000/v1"
        )


def masked(text: str) -> str:
    """An address without the name and password that may stand in it: fit to be shown.

    >>> masked("OPENAI_BASE_URL=https://me:secret@example.org/v1")
    'OPENAI_BASE_URL=https://***@example.org/v1'
    """
    return re.sub(r"//[^/@\s]+@", "//***@", text)
