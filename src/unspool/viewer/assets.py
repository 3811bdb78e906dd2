"""The page's own files: plain ES modules, a style sheet, a page. What is here is what is served.

Contract: :func:`asset` gives a file by its name, and nothing that is not one of them.

>>> asset("main.js").kind
'text/javascript'
>>> asset("../__init__.py") is None
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_KINDS: Mapping[str, str] = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
PAGE = "index.html"


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


def asset(name: str) -> Asset | None:
    return assets().get(name)
