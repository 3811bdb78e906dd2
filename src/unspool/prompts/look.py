"""The first look that a profile may take before the first reply: code run in the REPL, for any text.

Contract: :func:`look_cell` gives code that prints at most ``room`` characters: the forms of the
lines that share words with the question, with how many lines have each form and one example. A
form is a line with its rare words and numbers left out, so that "user bob from 10.0.0.7" and "user
eve from 10.0.0.9" are one. Time is linear in the text, and bounded: at most ``READ`` characters.

>>> scope = {"context": "door 1 opened by ann\\nlamp 7 on\\ndoor 2 opened by bo\\n"}
>>> exec(look_cell("How often was a door opened?"), scope)
Lines that share words with the question, by form (how many lines, an example):
2: door 1 opened by ann
"""

from __future__ import annotations

import inspect

READ = 20_000_000  # characters


def _look(context: object, query: str, room: int, read: int) -> None:
    """Runs in the REPL: everything it needs is inside it."""
    import re
    from collections import Counter

    if isinstance(context, dict):
        texts = [text for text in context.values() if isinstance(text, str)]
    elif isinstance(context, str):
        texts = [context]
    elif isinstance(context, list | tuple):
        texts = [text for text in context if isinstance(text, str)]
    else:
        return
    lines: list[str] = []
    for text in texts:
        lines += text[:read].splitlines()
        read -= len(text)
        if read <= 0:
            break
    common = (
        "the and for with from that this what which who whom whose when where how many much often was were "
        "are had has have does did been its than then them they there their each into over about most least "
        "give me"
    )
    words = set(re.findall(r"[a-z_]{3,}|\d[\d.:]+", query.lower())) - set(common.split())
    stems = {re.sub(r"(ings?|ions?|ed|es|s|e)$", "", w) if len(w) > 4 else w for w in words}
    rough = re.compile("|".join(map(re.escape, sorted(stems, key=len, reverse=True))) or r"(?!)")
    found = [(line, len(set(rough.findall(line.lower())))) for line in lines]
    found = [(line, hits) for line, hits in found if hits]
    often: Counter[str] = Counter(w for line, _ in found for w in set(line.split()))
    rare = max(2, len(found) // 100)
    forms: dict[str, tuple[int, int, str]] = {}
    for line, hits in found:
        form = " ".join(w for w in line.split() if often[w] >= rare and not re.search(r"\d", w)) or line[:40]
        count, best, example = forms.get(form, (0, hits, line))
        forms[form] = (count + 1, max(best, hits), example)
    ranked = sorted(forms.values(), key=lambda f: (-f[1], -f[0]))
    if not ranked:
        return
    print("Lines that share words with the question, by form (how many lines, an example):")  # noqa: T201 (runs in the REPL)
    for count, _, example in ranked[:5]:
        shown = f"{count}: {example[:200]}"
        room -= len(shown)
        if room < 0:
            break
        print(shown)  # noqa: T201


def look_cell(query: str, room: int = 800) -> str:
    """The code of the first look for this question."""
    source = inspect.getsource(_look).replace(
        '    """Runs in the REPL: everything it needs is inside it."""\n', ""
    )
    return f"{source}\n_look(context, {query!r}, {room}, {READ})\ndel _look"
