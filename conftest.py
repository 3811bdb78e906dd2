"""For all tests and examples: runs are kept in a folder of the tests, never in the user's."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

# Loaded by inspect-ai alone, by its entry point: there is nothing in it to try where that is not installed.
if importlib.util.find_spec("inspect_ai") is None:
    collect_ignore = ["src/unspool/evals/inspect_tasks.py"]


@pytest.fixture(autouse=True, scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("UNSPOOL_RUNS")
    os.environ["UNSPOOL_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    yield
    if before is None:
        del os.environ["UNSPOOL_RUNS"]
    else:
        os.environ["UNSPOOL_RUNS"] = before
