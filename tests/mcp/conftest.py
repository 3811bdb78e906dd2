"""Servers in the test's own process. Without the extra ``mcp`` the tests of this folder are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .helpers import MakeDesk


@pytest.fixture
async def make_desk() -> AsyncIterator[MakeDesk]:
    """``await make_desk(model, …)``: a server whose sessions are closed after the test."""
    from .helpers import desks

    async with desks() as make:
        yield make
