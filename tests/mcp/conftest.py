"""Servers in the test's own process. Without the extra ``mcp`` the tests of this folder are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

from unspool.sandbox import _launch

if TYPE_CHECKING:
    from .helpers import MakeDesk


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[None]:
    """The zygotes live from one server to the next; each would start its own otherwise."""
    kinds = (_launch.Kind(hardened=True), _launch.Kind(hardened=False))
    for kind in kinds:
        _launch.use(kind)
    yield
    for kind in kinds:
        _launch.release(kind)


@pytest.fixture
async def make_desk() -> AsyncIterator[MakeDesk]:
    """``await make_desk(model, …)``: a server whose sessions are closed after the test."""
    from .helpers import desks

    async with desks() as make:
        yield make
