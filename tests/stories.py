"""Runs to look at, kept in a folder: one with children and failures, one that is hostile, a long one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unspool import RLM, Run
from unspool.errors import ModelError
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

ESCAPES = "\x1b[31mRED\x1b[0m \x1b]0;owned\x07 \x1b[2J \x9b31m \x08 <script>alert(1)</script> & \u202egnp.exe\u202c \ud800"
SECRET = "sk-do-not-show-0123456789abcdef"


def py(code: str, words: str = "") -> str:
    return f"{words}\n```python\n{code}\n```".strip()


def _sub(messages: Sequence[Message]) -> str | ModelError:
    asked = messages[-1].text
    if "fail" in asked:
        return ModelError("bad_request", "the server said 400")
    return f"seen: {asked[-20:]}"


def with_children(runs: Path, *, context: object = "spam and eggs\n" * 400) -> Run:
    """Two turns and two children; one of four sub-calls fails."""
    root = ScriptedModel(
        lambda messages: (
            py("print(len(context))\nsubmit(context.count('spam'))", "I count.")
            if "How often" in messages[1].text
            else py(
                "print(context[:20])\n"
                "items = llm_query_batched(['is it spam? ' + part for part in ('a', 'b', 'fail', 'c')])\n"
                "print([repr(item) for item in items])",
                "Let me look first.",
            )
            if len(messages) == 2
            else py("raise ValueError('no such column')", "Now I make a mistake.")
            if len(messages) == 4
            else py(
                "counts = rlm_query_batched(['How often is spam there? ' + n for n in 'xy'], [context] * 2)\n"
                "submit({'spam': counts[0]})",
                "Then I ask two children.",
            )
        ),
        cost=0.001,
    )
    return RLM(root, sub_model=ScriptedModel(_sub, cost=0.0001, name="scripted:sub"), runs=runs).run(
        "How much spam is in these mails?", context
    )


def hostile(runs: Path) -> Run:
    """Every text that a model, an input or code can write, with all that a screen or a page could obey."""
    code = f"x = {ESCAPES[:-1]!r} + context\nprint(x, chr(0xd800))\nprint(llm_query(x))\nsubmit(x)"
    replies = [
        py(f"print(context)\nraise ValueError({ESCAPES[:-1]!r})", f"words {ESCAPES}"),
        py(code, "again"),
    ]
    sub = ScriptedModel(lambda messages: f"reply {ESCAPES}")
    return RLM(ScriptedModel(replies), sub_model=sub, runs=runs).run(
        f"question {ESCAPES}", f"input {ESCAPES}"
    )


def with_branches(runs: Path) -> Run:
    """Three branches, of which no two agree; each has a child."""
    answers = iter((3, 4, 5))  # none can be stopped early
    root = ScriptedModel(
        lambda messages: (
            py("submit(1)")
            if "Part" in messages[1].text
            else py(f"print(rlm_query('Part of it?', context[:5]))\nsubmit({next(answers)})")
            if len(messages) > 2
            else py("print(context[:5])")
        ),
        cost=0.001,
    )
    return RLM(root, runs=runs).run("How many?", "some text", branches=3)


def long(runs: Path, calls: int) -> Run:
    """A run with so many sub-calls."""
    root = ScriptedModel(
        [
            py(
                f"print(len(llm_query_batched([f'Is item {{i}} spam? ' + 'x' * 200 for i in range({calls})])))"
            ),
            py("submit('done')"),
        ]
    )
    return RLM(root, sub_model=ScriptedModel(_sub), runs=runs).run("Which are spam?", "x")
