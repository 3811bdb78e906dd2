"""Keeps on disk what a local model made of the start of a prompt, so that it is not read again.

A small model on two cores reads some 50 tokens a second: the instructions of a run take it a
quarter of a minute, once for each start of the process. Its state after them is a file of some
megabytes that is loaded in milliseconds.

Contract of :class:`Prefixes`: ``prepare`` is called before a request, with the messages that others
begin with, too (``ModelRequest.stable`` of them). The first time that they come, the state is loaded
from disk, or made and saved. Short ones are left alone. Failing at any of it costs time and nothing
else. At most ``KEPT`` files are kept, readable by the user alone.

>>> from unspool.models.protocol import Message
>>> worth_keeping([Message("system", "short")])
False
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from ..errors import ModelError
from .protocol import Message

KEPT = 14  # the ten starts of the small profile, 20 MB each with 1.5B, and some of sub-calls
SHORTEST = 600  # characters; below, reading is as fast as looking
_MARK = "\x02here\x02"

Post = Callable[[str, Mapping[str, object]], Awaitable[Mapping[str, object]]]

log = logging.getLogger("unspool.models")


class Prefixes:
    """The saved states of one model file. ``seed``: all that a state depends on but the prompt.

    Each start of a conversation gets a slot of its own, in turn, so that the instructions of the
    root and those of sub-calls do not push each other out.
    """

    def __init__(self, folder: Path, seed: str, slots: int) -> None:
        self._folder = folder
        self._seed = seed
        self._slots = slots
        self._seen: dict[tuple[int, str], asyncio.Event] = {}

    async def prepare(self, prefix: Sequence[Message], start: int, post: Post) -> None:
        """Bring the server, in its ``start``-th start, into the state after these messages."""
        if not worth_keeping(prefix):
            return
        digest = self._digest(prefix)
        key = (start, digest)
        if (ready := self._seen.get(key)) is not None:
            if not ready.is_set():
                await ready.wait()  # many sub-calls at once: one reads what all begin with
            return
        slot = sum(1 for began, _ in self._seen if began == start) % self._slots
        ready = self._seen[key] = asyncio.Event()
        file = self._folder / f"{digest}.state"
        try:
            if file.exists():
                await post(f"/slots/{slot}?action=restore", {"filename": file.name})
                os.utime(file)
            else:
                await self._make(prefix, file, slot, post)
        except (ModelError, OSError, KeyError, ValueError) as error:
            log.debug("the state after the instructions could not be kept: %s", error)
        finally:
            ready.set()

    async def _make(self, prefix: Sequence[Message], file: Path, slot: int, post: Post) -> None:
        messages = [{"role": m.role, "content": m.text} for m in prefix]
        template = await post(
            "/apply-template", {"messages": [*messages, {"role": "user", "content": _MARK}]}
        )
        before, mark, _ = str(template["prompt"]).partition(_MARK)
        if not mark:
            raise ValueError("the chat template changes its texts")
        await post("/completion", {"prompt": before, "n_predict": 0, "id_slot": slot, "cache_prompt": True})
        await post(f"/slots/{slot}?action=save", {"filename": f"{file.name}.new"})
        new = file.with_name(f"{file.name}.new")
        new.chmod(0o600)
        new.replace(file)
        self._forget_old()

    def _digest(self, prefix: Sequence[Message]) -> str:
        digest = hashlib.sha256(self._seed.encode())
        for message in prefix:
            digest.update(f"\0{message.role}\0{message.text}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    def _forget_old(self) -> None:
        files = sorted(self._folder.glob("*.state"), key=lambda f: f.stat().st_mtime, reverse=True)
        for file in files[KEPT:]:
            file.unlink(missing_ok=True)


def worth_keeping(prefix: Sequence[Message]) -> bool:
    """Whether this start of conversations is long enough to keep what was made of it."""
    return sum(len(message.text) for message in prefix) >= SHORTEST
