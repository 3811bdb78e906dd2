"""What the host tells a zygote: how it is to be, and for which node it is asked.

Contract: both travel as JSON. Standard library only; importable as a sibling module too.

>>> Request(memory=1, mapped=0, context="pickle", start=0, length=0, files=False)["memory"]
1
"""

from __future__ import annotations

from typing import Literal, TypedDict

Libraries = Literal["beside", "before", "never"]
SCRATCH = 256 << 20  # bytes of a node's folder
SETTLE = b"settle"  # in the place of a request, to a small zygote: the rest can be imported now


class Setup(TypedDict):
    """The host's first message."""

    hardened: bool
    namespaces: bool  # enter them where they are to be had
    packages: list[str]  # site-packages: read-only, on sys.path
    libraries: Libraries  # when it imports what models use: see :mod:`unspool.sandbox._launch`


class Request(TypedDict):
    """The host's request for a node. Sizes in bytes, a text's place in characters."""

    memory: int
    mapped: int
    context: str  # "pickle", or the layout of a text
    start: int
    length: int
    files: bool  # it will be handed descriptors of the user's files
