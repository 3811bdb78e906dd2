"""Profiles: how a family of models is spoken to. One file each, the plain text beside the code.

Contract: the system prompt and the first message never change within a node, so that a provider's
prefix cache works; a profile is data and pure functions, nothing in it calls a model.

>>> get_profile("frontier").name
'frontier'
"""

from __future__ import annotations

from ..checks import meant
from ..errors import WrongSetting
from .profile import First, Profile, Sampling, read_text

__all__ = ["First", "Profile", "Sampling", "get_profile", "read_text"]

PROFILES = ("frontier", "small", "paper")


def get_profile(name: str) -> Profile:
    """The profile of that name. Raises :class:`WrongSetting` for another name."""
    if name == "frontier":
        from .frontier import FRONTIER

        return FRONTIER
    if name == "small":
        from .small import SMALL

        return SMALL
    if name == "paper":
        from .paper import PAPER

        return PAPER
    raise WrongSetting("profile", name, f"there are {', '.join(PROFILES)}{meant(name, PROFILES)}")
