"""Messages of either API as one list of turns: who said it, its texts and its files.

Contract: nothing is fetched and nothing is guessed. A part that cannot be read here (an image, audio, a
file by address or id) is a :class:`Problem` that names it; it is never left out in silence.

>>> from .bodies import ChatMessage
>>> turns_of_chat([ChatMessage(role="user", content="hi")])
[Turn(role='user', texts=('hi',), files=(), other=None)]
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from ..contexts.text import decode
from ..errors import ContextError
from .bodies import ChatMessage, ChatPart, InputItem, InputPart
from .problems import Problem

_TEXTS = {"text", "input_text", "output_text"}


@dataclass(frozen=True, slots=True)
class File:
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``other``: what it holds besides, as it came (calls of the client's own tools)."""

    role: str
    texts: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    other: object = None

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


def turns_of_chat(messages: Sequence[ChatMessage]) -> list[Turn]:
    turns: list[Turn] = []
    for place, message in enumerate(messages):
        texts, files = _read(message.content, f"messages[{place}].content")
        role = "system" if message.role == "developer" else message.role
        turns.append(Turn(role, texts, files, message.tool_calls or None))
    return turns


def turns_of_input(given: str | Sequence[InputItem]) -> list[Turn]:
    if isinstance(given, str):
        return [Turn("user", (given,))]
    turns: list[Turn] = []
    for place, item in enumerate(given):
        if item.type == "reasoning":
            continue  # what a client kept of a run's progress is no part of the question
        if item.type == "item_reference":
            raise Problem(
                400, f"input[{place}]: no items are kept here: send it whole", param=f"input[{place}]"
            )
        if item.type != "message":
            turns.append(Turn("tool", other=item.model_dump(mode="json", exclude_none=True)))
            continue
        if item.role is None:
            field = f"input[{place}].role"
            raise Problem(400, f"{field}: is missing", code="missing_required_parameter", param=field)
        texts, files = _read(item.content, f"input[{place}].content")
        turns.append(Turn("system" if item.role == "developer" else item.role, texts, files))
    return turns


def _read(
    content: str | Sequence[ChatPart | InputPart] | None, place: str
) -> tuple[tuple[str, ...], tuple[File, ...]]:
    if content is None or isinstance(content, str):
        return ((content,) if content else ()), ()
    texts: list[str] = []
    files: list[File] = []
    for number, part in enumerate(content):
        field = f"{place}[{number}]"
        if part.type in _TEXTS or part.type == "refusal":
            text = part.refusal if part.type == "refusal" else part.text
            if text is None:
                name = "refusal" if part.type == "refusal" else "text"
                raise Problem(400, f"{field}.{name}: is missing", param=f"{field}.{name}")
            texts += [text] if text else []
        elif part.type in ("file", "input_file"):
            files.append(_file(part, field))
        else:
            raise Problem(
                400,
                f"{field}.type: {part.type[:40]!r} is not read here: send text, or a text file with its data",
                code="unsupported_part",
                param=f"{field}.type",
            )
    return tuple(texts), tuple(files)


def _file(part: ChatPart | InputPart, field: str) -> File:
    if isinstance(part, ChatPart):
        field += ".file"
        name = part.file.filename if part.file else None
        data = part.file.file_data if part.file else None
    else:
        name, data = part.filename, part.file_data
    if data is None:
        raise Problem(
            400,
            f"{field}.file_data: is missing. Files by id or address are not read here: send the data",
            code="unsupported_file",
            param=f"{field}.file_data",
        )
    try:
        return File(name, decode(_bytes(data), name or "the file"))
    except binascii.Error:
        raise Problem(
            400,
            f"{field}.file_data: is neither base64 nor a data: URL",
            code="invalid_value",
            param=f"{field}.file_data",
        ) from None
    except ContextError as error:
        raise Problem(400, f"{field}: {error}", code="unsupported_file", param=field) from None


def _bytes(data: str) -> bytes:
    if data.startswith("data:"):
        head, comma, data = data.partition(",")
        if not comma:
            raise binascii.Error("a data: URL has a comma")
        if not head.endswith(";base64"):
            return unquote_to_bytes(data)
    if not data.isascii():
        raise binascii.Error("not ASCII")
    return base64.b64decode(data, validate=True)
