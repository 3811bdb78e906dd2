"""The page's own files, as Vite has built them from ``viewer/``: what is in ``built/`` is what is served.

Contract: :func:`asset` gives a file by its name, and nothing that is not one of them. All that the page runs
is one classic script: one request, and a page that is a file can hold it (browsers load no modules for
those).

>>> asset(SCRIPT).kind, asset(STYLE).kind, asset(PAGE).kind
('text/javascript', 'text/css', 'text/html')
>>> asset("../__init__.py") is None
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE, SCRIPT, STYLE = "index.html", "page.js", "viewer.css"
_KINDS: Mapping[str, str] = {PAGE: "text/html", SCRIPT: "text/javascript", STYLE: "text/css"}


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
    folder = Path(__file__).parent / "built"
    return {name: Asset(name, kind, (folder / name).read_bytes()) for name, kind in _KINDS.items()}


def asset(name: str) -> Asset | None:
    return assets().get(name)
