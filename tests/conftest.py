"""What holds for all tests: what hypothesis makes is the same each time, and no example has to be quick, since the
machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unspool", deadline=None, derandomize=True)
settings.load_profile("unspool")
