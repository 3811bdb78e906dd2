"""The page's own files: plain ES modules, a style sheet, a page. What is here is what is served.

Contract: :func:`asset` gives a file by its name, and nothing that is not one of them. The page asks for all
of its modules in one (:mod:`.bundle`): 30 requests one after the other take longer than all the rest.

>>> asset("main.js").kind, asset(SCRIPT).text.startswith('"use strict";')
('text/javascript', True)
>>> asset("../__init__.py") is None
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .bundle import bundled

_KINDS: Mapping[str, str] = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
PAGE, SCRIPT = "index.html", "page.js"


@dataclass(frozen=True, slots=True)
class Asset:
    name: str
    kind: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")


@cache
def assets() -> Mapping[str, Asset]:
    folder = Path(__file__).parent / "app"
    return {
        path.name: Asset(path.name, _KINDS[path.suffix], path.read_bytes())
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS
    }


@cache
def script() -> Asset:
    """All modules as one."""
    modules = {name: each.text for name, each in assets().items() if name.endswith(".js")}
    return Asset(SCRIPT, _KINDS[".js"], bundled(modules, "main.js").encode())


def asset(name: str) -> Asset | None:
    return script() if name == SCRIPT else assets().get(name)
