"""The profile for capable models: a short contract, no worked turns."""

from __future__ import annotations

from .feedback import short_message
from .profile import Profile, read_text

FRONTIER = Profile(
    name="frontier", system=read_text("frontier.md"), tells_unread=True, feedback=short_message
)
