"""Asks servers what models they have, all at once and within a moment.

Contract: blocking; no server is an answer too. What answers on a usual port need not be a model
server: only a list of models in the common form counts.

>>> from unspool.models.providers import Provider
>>> nobody = Provider("ollama", base_url="http://127.0.0.1:9/v1", here=True)
>>> ask_all([nobody])[nobody].models
()
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from .limits import window_of
from .providers import Provider

_LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """The models a server has with the windows it tells, or the trouble with asking it."""

    models: tuple[str, ...] = ()
    windows: Mapping[str, int | None] = field(default_factory=lambda: dict[str, int | None]())
    trouble: str = ""


def ask_all(
    servers: Sequence[Provider], *, seconds: float = 0.3, key: str | None = None
) -> dict[Provider, Answer]:
    """What each server says. ``seconds`` limits the connection and each read."""
    if not servers:
        return {}
    with ThreadPoolExecutor(len(servers), thread_name_prefix="unspool-probe") as pool:
        answers = pool.map(lambda server: _ask(server.base_url or "", seconds, key), servers)
        return dict(zip(servers, answers, strict=True))


def _ask(base_url: str, seconds: float, key: str | None) -> Answer:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # The system's proxy is for other machines; what it says of ours would be about itself.
    here = "//127." in base_url or "//localhost" in base_url
    opener = build_opener(ProxyHandler({})) if here else build_opener()
    try:
        request = Request(f"{base_url}/models", headers=headers)
    except ValueError:
        return Answer(trouble="this is no URL")
    try:
        with opener.open(request, timeout=seconds) as reply:
            body = json.loads(reply.read(_LARGEST))
    except HTTPError as error:
        error.close()
        return Answer(trouble=f"answers with HTTP {error.code}")
    except URLError as error:
        reason = error.reason
        return Answer(trouble=f"no answer ({getattr(reason, 'strerror', None) or reason})")
    except RecursionError:
        return Answer(trouble="answers, but not as a model server (its list is nested too deeply)")
    except (OSError, HTTPException, ValueError) as error:
        return Answer(trouble=f"answers, but not as a model server ({error or type(error).__name__})")
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return Answer(trouble="answers, but not as a model server")
    windows = {
        entry["id"]: window_of(entry)
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    }
    return Answer(tuple(windows), windows)
