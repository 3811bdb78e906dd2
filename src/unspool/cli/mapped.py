"""The calls of ``unspool map``: lines read as there is room, answers written in the order of the lines.

Contract: what is in flight is bounded, whatever the length of the input; one slow reply holds up no other
call; when nobody reads the output any more, nothing more is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import BinaryIO

from ..reach.sizes import sized
from ..safe_text import one_line
from ..single import Single, SingleCalls
from ..types import FailedCall
from .exits import CODES, FAILED
from .plain import as_json
from .report import count, money, tokens
from .terminal import Output, is_terminal, unwritten

MOST_LINE = 64 << 20  # bytes of an item: it is held in memory


@dataclass(frozen=True, slots=True)
class _Item:
    """One line: its number, and its text or what is wrong with it."""

    line: int
    text: str
    error: FailedCall | None = None


@dataclass(slots=True)
class _Counts:
    answered: int = 0
    cached: int = 0
    unread: bool = False
    failed: Counter[str] = field(default_factory=lambda: Counter[str]())

    @property
    def all(self) -> int:
        return self.answered + self.failed.total()


class _NobodyReads(Exception):
    """The reader of the output has gone."""


class Mapping:
    """The calls of all lines, and what is told of them."""

    def __init__(self, single: SingleCalls, instruction: str, *, plain: bool, quiet: bool) -> None:
        self._single = single
        self._instruction = instruction
        self._plain = plain
        self._out = Output(sys.stdout)
        self._err = Output(None if quiet else sys.stderr)
        self._shown = not quiet and is_terminal(sys.stderr) and not is_terminal(sys.stdout)
        self._counts = _Counts()
        self._seen: Counter[bytes] = Counter()

    async def run(self, source: BinaryIO, *, ahead: int) -> None:
        """Reads on as long as there is room, writes what is next as soon as it is there."""
        queue: asyncio.Queue[tuple[_Item, asyncio.Task[Single]] | None] = asyncio.Queue(ahead)

        async def feed(group: asyncio.TaskGroup) -> None:
            async for item in _items(source, plain=self._plain, ahead=ahead):
                task = group.create_task(self._ask(item, self._occurrence(item)))
                await queue.put((item, task))
            await queue.put(None)

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(feed(group))
                while (entry := await queue.get()) is not None:
                    item, task = entry
                    self._write(item, await task)
                    if self._out.gone:
                        raise _NobodyReads
        except* _NobodyReads:
            self._counts.unread = True  # what was under way is cancelled: nothing more is paid

    def _occurrence(self, item: _Item) -> int:
        """Equal items are samples of their own, as in a batch."""
        text = hashlib.blake2b(item.text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        before = self._seen[text]
        self._seen[text] += 1
        return before

    async def _ask(self, item: _Item, occurrence: int) -> Single:
        if item.error is not None:
            return Single(None, item.error)
        return await self._single.ask(f"{self._instruction}\n\n{item.text}", occurrence)

    def _write(self, item: _Item, got: Single) -> None:
        if got.error is None:
            self._counts.answered += 1
            self._counts.cached += got.cached
            told: dict[str, object] = {"line": item.line, "reply": got.reply}
        else:
            self._counts.failed[got.error.kind] += 1
            told = {"line": item.line, "error": asdict(got.error)}
        self._out.write(as_json(told) + "\n")
        if self._shown:
            self._err.write(f"\r{self._counts.all:,} items, {self._counts.failed.total():,} failed ")

    def told(self) -> None:
        """The last line: what there was, and what it took."""
        counts, single = self._counts, self._single
        parts = [
            f"{counts.answered:,} answered"
            + (f" ({counts.cached:,} from the cache)" if counts.cached else "")
        ]
        if counts.failed:
            kinds = ", ".join(f"{kind} {number:,}" for kind, number in counts.failed.most_common())
            parts.append(f"{counts.failed.total():,} failed ({kinds})")
        parts += [tokens(single.usage), money(single.cost)]
        if self._shown:
            self._err.write("\r\x1b[K")
        self._err.line(one_line(f"{count(counts.all, 'item')}: {', '.join(parts)}"))
        unwritten("the replies")

    @property
    def code(self) -> int:
        counts = self._counts
        if self._out.error:
            return FAILED
        if counts.failed["budget"]:
            return CODES["budget"]
        if counts.failed:
            return CODES["partial"] if counts.answered else FAILED
        return 0


async def _items(source: BinaryIO, *, plain: bool, ahead: int) -> AsyncIterator[_Item]:
    """The lines, read by a thread: what is piped in may be slow, and replies go on meanwhile. One that is too
    long is the last: it may have no end."""
    loop = asyncio.get_running_loop()
    room = threading.Semaphore(ahead)
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        def put(line: bytes | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, line)

        try:
            line = b""
            while len(line) <= MOST_LINE and (line := source.readline(MOST_LINE + 1)):
                room.acquire()
                put(line)
            put(None)
        except RuntimeError:  # the loop has ended: nobody reads any more
            return

    threading.Thread(target=read, name="unspool-map-input", daemon=True).start()
    number = 0
    while (line := await queue.get()) is not None:
        room.release()
        number += 1
        if line.strip() or len(line) > MOST_LINE:
            yield _item(number, line, plain=plain)


def _item(number: int, line: bytes, *, plain: bool) -> _Item:
    if len(line) > MOST_LINE:
        why = f"line {number:,} is longer than {sized(MOST_LINE)}: it and what comes after it was not read"
        return _Item(number, "", FailedCall("bad_request", why))
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        if plain:
            return _Item(number, text)
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "UTF-8 text" if isinstance(error, UnicodeDecodeError) else "JSON (plain text: --lines)"
        return _Item(number, "", FailedCall("bad_request", f"line {number:,} is no {what}: {error}"))
    return _Item(number, value if isinstance(value, str) else text.strip())
