"""Where the package ``reach`` is: beside this folder; by its own name where these files run as scripts.

Contract: :func:`reach` gives one of its modules. Standard library only; importable as a sibling module too.

>>> reach("marks").__name__.endswith("reach.marks")
True
"""

from __future__ import annotations

import importlib
import sys
import types

REACH = f"{__package__.rpartition('.')[0]}.reach" if __package__ else "reach"  # what it is called here


def reach(name: str) -> types.ModuleType:
    """A module of the package ``reach``: beside this file's folder, and in the sandbox loaded before."""
    return sys.modules.get(f"{REACH}.{name}") or importlib.import_module(f"{REACH}.{name}")
