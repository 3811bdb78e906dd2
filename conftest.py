"""For all tests and examples: runs are kept in a folder of the tests, never in the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Its classes are made of those of pydantic-ai; the rest of the package can be imported without any extra.
collect_ignore = (
    [] if find_spec("pydantic_ai") else [f"src/unspool/pydantic_ai/{n}.py" for n in ("model", "streamed")]
)


@pytest.fixture(autouse=True, scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("UNSPOOL_RUNS")
    os.environ["UNSPOOL_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    yield
    if before is None:
        del os.environ["UNSPOOL_RUNS"]
    else:
        os.environ["UNSPOOL_RUNS"] = before
