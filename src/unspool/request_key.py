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

from .models.protocol import ModelRequest

_to_json = json.JSONEncoder(sort_keys=True, default=repr).encode
SIZE = 24  # hexadecimal digits: 96 bits


def request_key(model: str, request: ModelRequest) -> str:
    """Of the model and all that decides the reply; the time a reply may take does not."""
    told = (
        model,
        [(m.role, m.text, *(image.hash for image in m.images)) for m in request.messages],
        request.max_tokens,
        request.temperature,
        request.seed,
        request.stop,
        request.schema,
        request.choices,
        *([request.effort] if request.effort else ()),
    )
    return hashlib.sha256(_to_json(told).encode()).hexdigest()[:SIZE]
