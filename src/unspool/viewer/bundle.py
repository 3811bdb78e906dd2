"""The modules of the page as one script, for a page that is a file: browsers load no modules for those.

Contract: pure. Each module becomes a function that runs once, after those that it needs; what it exports is
what the others get. Only the two forms that our modules have are known: ``import { a } from "./b.js";`` on a
line of its own, and ``export`` before a function or a constant. Anything else raises ``ValueError``.

>>> modules = {"a.js": 'import { b } from "./b.js";\\nb();\\n', "b.js": "export function b() {}\\n"}
>>> print(bundled(modules, "a.js"))
"use strict";
const modules = {};
(() => {
function b() {}
modules["b.js"] = { b };
})();
(() => {
const { b } = modules["b.js"];
b();
})();
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|let) (\w+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundled(modules: Mapping[str, str], first: str) -> str:
    """``modules`` by their names, and the one that begins."""
    order: list[str] = []
    _place(modules, first, order, ())
    parts = [_module(name, modules[name]) for name in order]
    return '"use strict";\nconst modules = {};\n' + "".join(parts)


def _place(modules: Mapping[str, str], name: str, order: list[str], above: tuple[str, ...]) -> None:
    """Puts a module into the order, after those that it needs."""
    if name in above:
        raise ValueError(f"modules need each other: {' → '.join((*above, name))}")
    if name in order:
        return
    for _, needed in _IMPORT.findall(modules[name]):
        _place(modules, needed, order, (*above, name))
    order.append(name)


def _module(name: str, text: str) -> str:
    names = [found[1] for found in _EXPORT.findall(text)]
    body = _IMPORT.sub(lambda match: f'const {match[1]} = modules["{match[2]}"];', text)
    body = _EXPORT.sub(lambda match: f"{match[1]} {match[2]}", body)
    if (left := _LEFT.search(body)) is not None:
        raise ValueError(f"{name}: a form that is not known: {left[0]}")
    told = f'modules["{name}"] = {{ {", ".join(names)} }};\n' if names else ""
    return f"(() => {{\n{body}{told}}})();\n"
