"""The main job, for real: the local model, the real sandbox, a real log, the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from unspool.models.catalog import DEFAULT, find

LOG = Path(__file__).parent.parent / "examples" / "data" / "openssh_2k.log"
QUESTION = "Which IP address had the most failed password attempts?"


@pytest.mark.local
@pytest.mark.skipif(find(DEFAULT) is None, reason="no local model file: unspool models pull")
def test_the_local_model_answers_a_question_over_a_real_log() -> None:
    attempts = re.findall(r"Failed password for .* from (\S+) port", LOG.read_text(encoding="utf-8"))
    ((right, _),) = Counter(attempts).most_common(1)
    done = subprocess.run(
        [sys.executable, "-m", "unspool", "ask", QUESTION, str(LOG), "--model", f"local:{DEFAULT}", "--json"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["answer"] == right
    assert told["status"] == "answered"
    assert told["cost"] == 0.0
    assert told["usage"]["calls"] == told["turns"]
