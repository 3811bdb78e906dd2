"""For all tests and examples: runs are kept in a folder of the tests, never in the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("UNSPOOL_RUNS")
    os.environ["UNSPOOL_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    yield
    if before is None:
        del os.environ["UNSPOOL_RUNS"]
    else:
        os.environ["UNSPOOL_RUNS"] = before
