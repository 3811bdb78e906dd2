"""Doubles for tests: a model that answers from a script, and a server that misbehaves on order.

Contract: both are public API, for users' tests as for our own. Neither leaves loopback.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> model = ScriptedModel(["hello", "bye"])
>>> asyncio.run(model.complete(ModelRequest((Message("user", "hi"),)))).text
'hello'
>>> model.requests[0].messages[-1].text
'hi'
"""

from __future__ import annotations

from .behaviour import Ask, Behaviour
from .scripted import ScriptedModel
from .server import FaultyServer
from .store import MemoryStore

__all__ = ["Ask", "Behaviour", "FaultyServer", "MemoryStore", "ScriptedModel"]
