"""What goes to Python's ``logging``, and that a program has the say."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import stories


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "unspool"]


def test_a_line_a_turn_and_warnings_for_what_failed(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.INFO, "unspool"):
        run = stories.with_children(tmp_path)
    lines = told(caplog)
    assert all(text.startswith(f"run {run.id}: ") for _, text in lines)
    short = [(level, text.removeprefix(f"run {run.id}: ")) for level, text in lines]
    assert short[0] == ("INFO", "begins with scripted:model, sub-calls scripted:sub")
    turns = [text.partition(":")[0] for _, text in short if ", turn " in text]
    assert sorted(turns) == [
        "node 0, turn 1", "node 0, turn 2", "node 0, turn 3", "node 0.1, turn 1", "node 0.2, turn 1",
    ]  # fmt: skip
    (first,) = [text for _, text in short if text.startswith("node 0, turn 1")]
    assert re.search(r"\d+ tokens in, 45 out, \$0\.0010; 1 cell \(ok\); 4 sub-calls, 1 failed; ", first)
    warnings = [text for level, text in short if level == "WARNING"]
    assert warnings == ["node 0: sub-call 3 failed: bad_request: the server said 400"]
    assert short[-1][0] == "INFO"
    assert short[-1][1].startswith("answered in ")
    everything = " ".join(text for _, text in lines)
    assert "spam" not in everything


def test_hostile_text_cannot_make_lines_or_commands(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    from unspool import RLM
    from unspool.errors import ModelError
    from unspool.testing import ScriptedModel

    evil = ScriptedModel(lambda m: ModelError("bad_request", f"a\nrun 1: answered {stories.ESCAPES}"))
    replies = [stories.py("print(llm_query_batched(['x']))"), stories.py("submit(1)")]
    with caplog.at_level(logging.INFO, "unspool"):
        RLM(ScriptedModel(replies), sub_model=evil, runs=tmp_path).run("?", "x")
    (text,) = [text for level, text in told(caplog) if level == "WARNING"]
    assert text.isprintable()
    assert "\\x1b]0;owned\\x07" in text


@pytest.mark.parametrize(("cost", "price"), [(0.0, "$0"), (None, "cost unknown"), (0.0123, "$0.0123")])
def test_figures_are_grouped_and_a_cost_is_said_as_it_is_known(
    caplog: pytest.LogCaptureFixture, cost: float | None, price: str
) -> None:
    from unspool import RLM
    from unspool.testing import ScriptedModel
    from unspool.types import Usage

    model = ScriptedModel([stories.py("print(1)\nsubmit(2)")], usage=Usage(1, 5156, 1200), cost=cost)
    with caplog.at_level(logging.INFO, "unspool"), RLM(model, runs=False) as rlm:
        rlm.run("?", "x")
    *_, (_, ended) = told(caplog)
    assert ended.endswith(f": 1 turn, 0 sub-calls, 5,156 tokens in, 1,200 out, {price}")


def test_nothing_is_shown_until_a_program_asks_for_it() -> None:
    code = (
        "from unspool import RLM\nfrom unspool.testing import ScriptedModel\nimport logging, sys\n"
        "replies = ['```python\\nprint(llm_query_batched([\"x\"]))\\n```', '```python\\nsubmit(1)\\n```'] * 2\n"
        "sub = ScriptedModel(lambda m: (_ for _ in ()).throw(ValueError()) if 0 else '')\n"
        "ask = lambda: RLM(ScriptedModel(replies), sub_model=sub, runs=False).run('?', 'x')\n"
        "ask()\n"
        "logging.basicConfig(level='INFO', stream=sys.stdout, format='%(levelname)s %(name)s')\n"
        "ask()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""
    assert "WARNING unspool" in done.stdout
    assert done.stdout.count("INFO unspool") == 4  # begins, two turns, the end
