"""How much a model reads at once and writes at most, in tokens, where that is known by its name.

Contract: a table, no I/O. It holds what the providers publish for families of models that the list of
prices has no sizes for; a name that it does not have is ``None``, never a guess. What a server of one's
own says of its models comes before it.

>>> output_limit("claude-haiku-4-5-20251001"), output_limit("anthropic/claude-haiku-4.5")
(64000, 64000)
>>> output_limit("some-model") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_OUTPUT = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"claude-3-(?:haiku|opus|sonnet)", 4_096),
        (r"claude-3[-.]5", 8_192),
        (r"claude-(?:haiku|sonnet|opus)-4[-.]5", 64_000),
        (r"(?:^|/)gpt-4o", 16_384),
        (r"(?:^|/)gpt-4\.1", 32_768),
        (r"(?:^|/)gpt-5(?!-chat)", 128_000),
        (r"(?:^|/)o[134](?:-|$)", 100_000),
        (r"gemini-2\.5", 65_536),
    )
)
_WINDOW_FIELDS = ("max_model_len", "loaded_context_length", "context_length", "max_context_length")


def output_limit(model: str) -> int | None:
    """The most tokens of one reply."""
    return next((tokens for pattern, tokens in _OUTPUT if pattern.search(model)), None)


def window_of(entry: Mapping[str, object]) -> int | None:
    """What a server's list of models says of the window: vLLM, LM Studio, OpenRouter and llama.cpp do.

    >>> window_of({"id": "m", "max_model_len": 8192}), window_of({"meta": {"n_ctx": 4096}})
    (8192, 4096)
    """
    meta = entry.get("meta")
    found = [entry.get(field) for field in _WINDOW_FIELDS]
    if isinstance(meta, Mapping):
        found += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    sizes = (size for size in found if isinstance(size, int) and not isinstance(size, bool) and size > 0)
    return next(sizes, None)
