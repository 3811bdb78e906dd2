"""The fixture of both tiers: a sandbox to get out of, with everything planted that there is to go for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from unspool.sandbox.attack.arena import Arena, arena
from unspool.sandbox.doctor import report
from unspool.sandbox.process import ProcessSandbox


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=(1, 2), ids=("namespaces", "landlock"))
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Arena]:
    """Skips the first tier where the machine has no namespaces to give."""
    async with arena(ProcessSandbox(namespaces=request.param == 1)) as made:
        if request.param == 1 and not made.tier_1:
            pytest.skip(f"no namespaces here: {report().protections[0].how}")
        assert made.tier_1 == (request.param == 1)
        yield made
