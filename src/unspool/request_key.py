"""What is sent, as one short hash: equal for equal requests to the same model, in every process.

>>> from unspool.models.protocol import Message
>>> request = ModelRequest((Message("user", "hi"),))
>>> request_key("a:m", request) == request_key("a:m", ModelRequest((Message("user", "hi"),), timeout=5.0))
True
>>> request_key("a:m", request) == request_key("b:m", request)
False
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted  # the encoder's own, in C

from .models.protocol import Effort, Message, ModelRequest

_to_json = json.JSONEncoder(sort_keys=True, default=repr).encode
SIZE = 24  # hexadecimal digits: 96 bits


def request_key(model: str, request: ModelRequest) -> str:
    """Of the model and all that decides the reply; the time a reply may take does not."""
    messages = ", ".join(map(_told, request.messages))
    sampling = _sampling(request.max_tokens, request.temperature, request.seed, request.stop)
    schema = "null" if request.schema is None else _to_json(request.schema)
    told = f"[{_quoted(model)}, [{messages}], {sampling}, {schema}, {_rest(request.choices, request.effort)}]"
    return hashlib.sha256(told.encode()).hexdigest()[:SIZE]


def _told(message: Message) -> str:
    images = "".join([f", {_quoted(image.hash)}" for image in message.images])
    return f"[{_quoted(message.role)}, {_quoted(message.text)}{images}]"


# The same in every item of a batch. Typed, for 1 and 1.0 are told otherwise.


@lru_cache(maxsize=64, typed=True)
def _sampling(
    max_tokens: int | None, temperature: float | None, seed: int | None, stop: tuple[str, ...]
) -> str:
    return _to_json((max_tokens, temperature, seed, stop))[1:-1]


@lru_cache(maxsize=64)
def _rest(choices: tuple[str, ...], effort: Effort | None) -> str:
    return _to_json((choices, *([effort] if effort else ())))[1:-1]
