"""A process that may open few files: what cannot begin for it has failed, and nothing else has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, gc, os, resource, sys
from unspool import RLM
from unspool.testing import ScriptedModel

CHILDREN = '''```python
print(len(context))
got = rlm_query_batched([f"k{i}" for i in range(30)], ["abc" * 100] * 30)
print(next((g.message for g in got if not isinstance(g, int)), "none failed"))
submit([g for g in got if isinstance(g, int)])
```'''

def reply(messages):
    asked = next(m.text for m in messages if m.role == "user")
    return CHILDREN if "Ask all" in asked else "```python\\nprint(1); submit(len(context))\\n```"

def limit(files):
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def opened():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

rlm = RLM(ScriptedModel(reply), runs=False)
assert rlm.run("warm up", "abc").answer == 3

async def many(count):
    runs = await asyncio.gather(*[rlm.arun("q", "abcd") for _ in range(count)])
    return [(run.status, run.reason) for run in runs]

before = opened()
limit(before + int(sys.argv[1]))
run = rlm.run("Ask all", "x" * 1000)
print("children", run.status, run.answer, run.trace.turns[0].cells[0].output.strip().splitlines()[-1] if run.trace.turns else run.reason)
ended = asyncio.run(many(40))
print("runs", len([1 for status, _ in ended if status == "answered"]), {status for status, _ in ended})
print("why", {reason for status, reason in ended if status == "failed"})
limit(4096)
rlm.close()
print("again", rlm.run("q", "abcde").answer)
rlm.close()
print("left", opened() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it counts descriptors in /proc")
@pytest.mark.parametrize("room", [6, 9, 14, 25, 60])
def test_what_cannot_be_opened_is_a_failed_node(room: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(room)],
        capture_output=True, text=True, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    status, answer = told["children"].split(" ", 1)
    assert status in ("answered", "failed")
    assert "no more files can be opened" in answer
    assert "ulimit -n" in answer
    answered, _, statuses = told["runs"].partition(" ")
    assert int(answered) < 40
    assert "failed" in statuses
    assert "ulimit -n" in told["why"]
    assert told["again"] == "5"
    assert int(told["left"]) <= 0
