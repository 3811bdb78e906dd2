"""``rlm``: the input is a variable, the model writes code, and code asks models (Algorithm 1)."""

from __future__ import annotations

from .protocol import Given, Plan


def rlm(given: Given) -> Plan:
    """The profile that suits the model, as it is."""
    return Plan(given.profile, given.sub_profile, given.limits)
