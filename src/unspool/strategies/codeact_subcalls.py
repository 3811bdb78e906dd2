"""``codeact_subcalls``: see :mod:`unspool.strategies.codeact`."""

from __future__ import annotations

from .codeact import codeact_subcalls

__all__ = ["codeact_subcalls"]
