"""For all tests and examples: runs are kept in a folder of the tests, never in the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# What needs an extra to be imported is not tried where that is not installed: modules whose classes are made
# of those of pydantic-ai, and one that inspect-ai alone loads, by its entry point.
collect_ignore = [
    *([] if find_spec("pydantic_ai") else [f"src/unspool/pydantic_ai/{n}.py" for n in ("model", "streamed")]),
    *([] if find_spec("inspect_ai") else ["src/unspool/evals/inspect_tasks.py"]),
]


@pytest.fixture(autouse=True, scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("UNSPOOL_RUNS")
    os.environ["UNSPOOL_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    yield
    if before is None:
        del os.environ["UNSPOOL_RUNS"]
    else:
        os.environ["UNSPOOL_RUNS"] = before
