"""A program as a model: it reads the prompt on stdin and prints the reply.

Contract: implements :class:`unspool.models.protocol.Model`. The command is split as a shell would
split it and started as it is: there is no shell, so that nothing in a prompt can become a command.
One message is sent as its text alone, a conversation as its messages under ``# System``, ``# User``
and ``# Assistant``. Exit code 0 makes stdout the reply; another one is a failure that carries the
end of stderr, tried again only for 75 (EX_TEMPFAIL). A call that is cancelled or out of time kills
the program and what it started. Usage and cost are not known.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> model = CommandModel("tr a-z A-Z")
>>> asyncio.run(model.complete(ModelRequest((Message("user", "hello"),)))).text
'HELLO'
"""

from __future__ import annotations

import asyncio
import codecs
import os
import shlex
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

from ..errors import ConfigError, ModelError
from ..types import Usage
from .failures import scrub
from .protocol import PROGRAM, Delta, Message, ModelInfo, ModelReply, ModelRequest, OnDelta, refuse_images
from .replies import split_thinking
from .schemas import in_words

_LARGEST_REPLY = 32 << 20
_STDERR_SHOWN = 1_000
_READ = 1 << 16
_END_SECONDS = 5.0
_TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h


class CommandModel:
    """One command."""

    def __init__(self, command: str, *, profile: str = "frontier") -> None:
        self._command = _split(command)
        self._info = ModelInfo(f"{PROGRAM}{command.strip()}", profile=profile)

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def complete(self, request: ModelRequest) -> ModelReply:
        started = perf_counter()
        refuse_images(request, self._info)
        asked = in_words(request.messages, request.schema) if request.schema else request.messages
        prompt = as_prompt(asked).encode("utf-8", "replace")
        try:
            process = await self._start()
        except OSError as error:
            raise self._failed(f"could not be started: {error.strerror or error}", started=False) from None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_feed(process, prompt))
                said = group.create_task(_read_reply(process, request.on_delta))
                complaint = group.create_task(_read_end(process))
            code = await process.wait()
        except BaseException as error:
            await _end(process)
            if isinstance(error, ExceptionGroup) and error.split(_TooLarge)[0] is not None:
                raise self._failed(f"printed more than {_LARGEST_REPLY >> 20} MB") from None
            raise
        if code != 0:
            raise self._ended_badly(code, complaint.result())
        thinking, text = split_thinking(said.result())
        return ModelReply(
            text.rstrip("\r\n"),
            "stop",
            Usage(calls=1, calls_unmeasured=1),
            self._info.name,
            thinking=thinking,
            seconds=perf_counter() - started,
        )

    async def close(self) -> None:
        return None

    async def _start(self) -> asyncio.subprocess.Process:
        """The program, running. asyncio leaves a start that is cancelled half done, so none is."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(OSError):  # it was not started at all
                await _end(await starting)
            raise

    def _ended_badly(self, code: int, complaint: str) -> ModelError:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        last = scrub(complaint.strip(), None)
        return self._failed(f"{how}: {last}" if last else f"{how} and said nothing", code == _TRY_LATER)

    def _failed(self, what: str, again: bool = False, started: bool = True) -> ModelError:
        message = f"{self._command[0]} {what}"
        return ModelError("server", message, model=self._info.name, retryable=again, unsure=started)


def as_prompt(messages: Sequence[Message]) -> str:
    """What the program reads.

    >>> print(as_prompt((Message("system", "Be brief."), Message("user", "Hi"))))
    # System
    Be brief.
    <BLANKLINE>
    # User
    Hi
    """
    if len(messages) == 1:
        return messages[0].text
    return "\n\n".join(f"# {message.role.capitalize()}\n{message.text}" for message in messages)


def _split(command: str) -> tuple[str, ...]:
    """The words of a command whose program exists here."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"command:{command}: this cannot be split into words ({error})") from None
    if not words:
        raise ConfigError("command: needs a program, e.g. command:llm -m MODEL")
    if shutil.which(words[0]) is None:
        raise ConfigError(f"command:{command}: there is no program {words[0]!r} here")
    return words


class _TooLarge(Exception):
    """The program prints without end."""


async def _feed(process: asyncio.subprocess.Process, prompt: bytes) -> None:
    stdin = process.stdin
    assert stdin is not None
    # A program that does not read all of its prompt may still answer.
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(prompt)
        await stdin.drain()
        stdin.close()  # not awaited: that is of no use, and asyncio complains where it is cancelled


async def _read_reply(process: asyncio.subprocess.Process, on_delta: OnDelta | None) -> str:
    assert process.stdout is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts: list[str] = []
    size, fresh = 0, True
    while data := await process.stdout.read(_READ):
        size += len(data)
        if size > _LARGEST_REPLY:
            raise _TooLarge
        texts.append(decoder.decode(data))
        if on_delta is not None and texts[-1]:
            on_delta(Delta(texts[-1], fresh=fresh))
            fresh = False
    texts.append(decoder.decode(b"", final=True))
    return "".join(texts)


async def _read_end(process: asyncio.subprocess.Process) -> str:
    """The end of stderr; all of it is read, or the program would stand still."""
    assert process.stderr is not None
    kept = b""
    while data := await process.stderr.read(_READ):
        kept = (kept + data)[-_STDERR_SHOWN:]
    return kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Nothing of it is left: it leads a session of its own, so that what it started goes with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # asyncio sees the end only once the pipes are read out. What left the session may keep one open.
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            await asyncio.gather(_drain(process.stdout), _drain(process.stderr), process.wait())


async def _drain(pipe: asyncio.StreamReader | None) -> None:
    while pipe is not None and await pipe.read(_READ):
        pass
