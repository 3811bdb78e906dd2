"""The doors of the clouds: an account's own address, and what opens it.

Contract: reads the given environment and nothing else: no files, no network, no metadata services.
What is missing is a :class:`ConfigError` that names the variable. Azure is reached with a key at
``AZURE_OPENAI_ENDPOINT`` or the resource of that name; Bedrock in ``AWS_REGION`` with a bearer
token (``AWS_BEARER_TOKEN_BEDROCK``) or with the access keys of an account, which sign each request.

>>> from unspool.models.providers import PROVIDERS
>>> door = find_door(PROVIDERS["azure"], {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_RESOURCE": "mine"})
>>> door.settings["resource"], door.endpoint
('mine', None)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from lm15.credentials import AwsCredentials

    from .providers import Provider

_ACCESS_KEY, _SECRET_KEY, _SESSION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"


@dataclass(frozen=True, slots=True)
class Door:
    """Where an account is reached, and with what. ``signer`` is set where requests are signed."""

    settings: Mapping[str, str]
    endpoint: str | None
    key: str | None = field(repr=False)
    signer: AwsCredentials | None = field(default=None, repr=False)

    @property
    def secret(self) -> str | None:
        """What no message may hold."""
        return self.signer.secret_access_key if self.signer else self.key


def find_door(provider: Provider, environ: Mapping[str, str]) -> Door:
    """The door of this provider that the environment describes."""
    from lm15 import LM15Error
    from lm15.cloud.hosts import endpoint_from_env, resolve_settings
    from lm15.registry import PROVIDERS

    host = PROVIDERS[provider.lm15].access.host
    key = provider.key(environ)
    signer = _signer(environ) if key is None and host is not None and host.sigv4_service else None
    if key is None and signer is None:
        other = f", or {_ACCESS_KEY} and {_SECRET_KEY}" if host and host.sigv4_service else ""
        raise ConfigError(f"{provider.name} needs a key: set {' or '.join(provider.keys)}{other}")
    endpoint = endpoint_from_env(host, environ)
    try:
        settings = resolve_settings(host, None, environ, provider=provider.name, endpoint=endpoint)
    except LM15Error as error:
        raise ConfigError(error.message.partition("\n")[0]) from None
    return Door(settings, endpoint, key, signer)


def _signer(environ: Mapping[str, str]) -> AwsCredentials | None:
    from lm15.credentials import AwsCredentials

    access, secret = (environ.get(name, "").strip() for name in (_ACCESS_KEY, _SECRET_KEY))
    if not access or not secret:
        return None
    return AwsCredentials(access, secret, environ.get(_SESSION, "").strip() or None)
