"""unspool: ask a question of an input that no context window holds.

A Recursive Language Model engine: the model never sees the input, which is a variable in a Python
REPL; it writes code that looks at it, calls models on slices of it, and submits an answer.

The names below are the public surface; each is loaded on first use, so that importing the package
costs next to nothing.

>>> from unspool import RLM
>>> from unspool.testing import ScriptedModel
>>> model = ScriptedModel(["```python\\nprint(context[:9])\\nsubmit(context.upper())\\n```"])
>>> run = RLM(model).run("Shout.", "hi")
>>> run.answer, run.status
('HI', 'answered')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .budget import Budget
    from .contexts.several import Contexts
    from .errors import (
        ConfigError,
        ContextError,
        ModelError,
        NoModelFound,
        SandboxError,
        UnspoolError,
    )
    from .events import Event
    from .images import Image
    from .models.protocol import Message, Model, ModelInfo, ModelReply, ModelRequest
    from .models.settings import ModelSettings
    from .rlm import RLM
    from .sandbox.protocol import Sandbox
    from .types import FailedCall, Run, Usage

__version__ = "0.1.0"

_HOME = {
    "RLM": "rlm",
    "Budget": "budget",
    "Contexts": "contexts.several",
    "Run": "types",
    "Usage": "types",
    "FailedCall": "types",
    "Event": "events",
    "Image": "images",
    "Model": "models.protocol",
    "ModelInfo": "models.protocol",
    "ModelRequest": "models.protocol",
    "ModelReply": "models.protocol",
    "Message": "models.protocol",
    "ModelSettings": "models.settings",
    "Sandbox": "sandbox.protocol",
    "UnspoolError": "errors",
    "ConfigError": "errors",
    "ContextError": "errors",
    "ModelError": "errors",
    "NoModelFound": "errors",
    "SandboxError": "errors",
}

__all__ = [  # noqa: RUF022 (grouped as above)
    "RLM",
    "Contexts",
    "Budget",
    "Run",
    "Usage",
    "FailedCall",
    "Event",
    "Image",
    "Model",
    "ModelInfo",
    "ModelRequest",
    "ModelReply",
    "Message",
    "ModelSettings",
    "Sandbox",
    "UnspoolError",
    "ConfigError",
    "ContextError",
    "ModelError",
    "NoModelFound",
    "SandboxError",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'unspool' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
