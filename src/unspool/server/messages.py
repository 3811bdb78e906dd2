"""Messages of either API as one list of turns: who said it, its texts, files and images.

Contract: nothing is fetched and nothing is guessed. A part that cannot be read here (audio, a binary file, a
file or an image by address or id) is a :class:`Problem` that names it; it is never left out in silence.

>>> from .bodies import ChatMessage
>>> turns_of_chat([ChatMessage(role="user", content="hi")])
[Turn(role='user', texts=('hi',), files=(), images=(), other=None)]
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote_to_bytes

from ..contexts.text import decode
from ..errors import ContextError
from ..images import Image, header
from .bodies import ChatMessage, ChatPart, ImageUrl, InputItem, InputPart
from .problems import Problem

_TEXTS = {"text", "input_text", "output_text"}
_THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class File:
    """A text file of a message."""

    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``other``: what it holds besides, as it came (calls of the client's own tools)."""

    role: str
    texts: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    images: tuple[Image, ...] = ()
    other: object = None

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


def turns_of_chat(messages: Sequence[ChatMessage]) -> list[Turn]:
    turns: list[Turn] = []
    for place, message in enumerate(messages):
        role = "system" if message.role == "developer" else message.role
        turn = Turn(role, *_read(message.content, f"messages[{place}].content"), message.tool_calls or None)
        turns += _without_thoughts(turn)
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
        role = "system" if item.role == "developer" else item.role
        turns += _without_thoughts(Turn(role, *_read(item.content, f"input[{place}].content")))
    return turns


def _without_thoughts(turn: Turn) -> list[Turn]:
    """Some clients send the progress that they were told back as text, at the start of what was replied.

    >>> _without_thoughts(Turn("assistant", ("<think>turn 1</think>\\nYes.",)))[0].texts
    ('Yes.',)
    """
    if turn.role != "assistant" or not turn.texts or not _THOUGHTS.match(turn.texts[0]):
        return [turn]
    first = _THOUGHTS.sub("", turn.texts[0], count=1)
    rest = replace(turn, texts=((first,) if first else ()) + turn.texts[1:])
    return [rest] if rest != Turn("assistant") else []


def _read(
    content: str | Sequence[ChatPart | InputPart] | None, place: str
) -> tuple[tuple[str, ...], tuple[File, ...], tuple[Image, ...]]:
    if content is None or isinstance(content, str):
        return ((content,) if content else ()), (), ()
    texts: list[str] = []
    files: list[File] = []
    images: list[Image] = []
    for number, part in enumerate(content):
        field = f"{place}[{number}]"
        if part.type in _TEXTS or part.type == "refusal":
            texts += _text(part, field)
        elif part.type in ("file", "input_file"):
            found = _file(part, field)
            if isinstance(found, Image):
                images.append(found)
            else:
                files.append(found)
        elif part.type in ("image_url", "input_image"):
            images.append(_image(part, field))
        else:
            raise Problem(
                400,
                f"{field}.type: {part.type[:40]!r} is not read here: send text, files or images (data)",
                code="unsupported_part",
                param=f"{field}.type",
            )
    return tuple(texts), tuple(files), tuple(images)


def _text(part: ChatPart | InputPart, field: str) -> list[str]:
    name, text = ("refusal", part.refusal) if part.type == "refusal" else ("text", part.text)
    if text is None:
        raise Problem(400, f"{field}.{name}: is missing", param=f"{field}.{name}")
    return [text] if text else []


def _file(part: ChatPart | InputPart, field: str) -> File | Image:
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
    content = _data(data, f"{field}.file_data")
    if header(content) is not None:
        return _taken(content, field)
    try:
        return File(name, decode(content, name or "the file"))
    except ContextError as error:
        raise Problem(400, f"{field}: {error}", code="unsupported_file", param=field) from None


def _image(part: ChatPart | InputPart, field: str) -> Image:
    field += ".image_url"
    url = part.image_url.url if isinstance(part.image_url, ImageUrl) else part.image_url
    if url is None or not url.startswith("data:"):
        raise Problem(
            400,
            f"{field}: images by address or id are not read here: send a data: URL",
            code="unsupported_file",
            param=field,
        )
    return _taken(_data(url, field), field)


def _taken(content: bytes, field: str) -> Image:
    try:
        return Image.of(content)
    except ValueError as error:
        raise Problem(400, f"{field}: {error}", code="unsupported_file", param=field) from None


def _data(data: str, field: str) -> bytes:
    try:
        return _bytes(data)
    except binascii.Error:
        message = f"{field}: is neither base64 nor a data: URL"
        raise Problem(400, message, code="invalid_value", param=field) from None


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
