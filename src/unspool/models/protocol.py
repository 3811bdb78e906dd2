"""The seam to language models: what the engine asks of one, and what it gets back.

Contract of :class:`Model`:

- ``complete`` sends one request once and returns one reply. It does not retry, does not queue and
  does not cap concurrency: :class:`unspool.models.calls.Caller` does, for every model alike.
- It raises :class:`unspool.errors.ModelError` and nothing else for a failed call.
- Cancelling the task that awaits ``complete`` stops the request: the connection is closed.
- Usage is normalised as in :class:`unspool.types.Usage`; cost is ``None`` where no price is known.
- Where ``request.on_delta`` is set, a model that can calls it with each piece of the reply as it
  comes. Pieces are for showing: the reply that is returned is what counts.
- ``close`` frees connections and processes; calling it twice is fine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..errors import ModelError
from ..images import Image
from ..types import Finish, Usage

BYTES_PER_TOKEN = 4  # more than most text has: what is refused with it surely does not fit


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()  # before the text


Effort = Literal["off", "minimal", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply that is still being written. ``fresh``: what came before it is void.

    ``trouble`` is no piece: it says why the call failed, which is sent again after a while.
    """

    text: str = ""
    thinking: str = ""
    fresh: bool = False
    trouble: str = ""


OnDelta = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. ``None`` leaves the choice to the provider. ``timeout`` is in seconds.

    ``schema`` is a JSON schema that the reply has to fit, given to providers that can enforce it.
    ``choices`` asks for exactly one of these texts; models that can constrain do, others are
    checked by the caller. ``stable``: how many of the first messages other conversations begin with,
    too, so that it pays to keep what was made of them. ``grows``: this conversation goes on, so that
    the next request begins with all of these messages.
    """

    messages: tuple[Message, ...]
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    effort: Effort | None = None  # of thinking, for models that can be told
    schema: Mapping[str, object] | None = None
    choices: tuple[str, ...] = ()
    stable: int = 0
    grows: bool = False
    timeout: float = 600.0
    on_delta: OnDelta | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply. ``code`` holds code that came inside provider tool calls, in order.

    ``scores`` has the log probability of each of the request's choices, from models that tell it.
    """

    text: str
    finish: Finish
    usage: Usage
    model: str  # the model that served it, as the provider names it
    thinking: str = ""
    code: tuple[str, ...] = ()
    cost: float | None = None  # US dollars; 0.0 for a model on this machine
    seconds: float = 0.0
    retries: int = 0
    scores: Mapping[str, float] | None = None
    source: str = ""  # the name of the model that served it, as in ``ModelInfo``
    notes: tuple[str, ...] = ()  # what the run's notes should say of how it came about

    def served(self, seconds: float, retries: int, source: str) -> ModelReply:
        """With what its caller alone knows. As ``replace`` would make it, which takes four times as long: a
        batch has thousands."""
        return ModelReply(
            self.text, self.finish, self.usage, self.model, self.thinking, self.code, self.cost, seconds,
            retries, self.scores, source, self.notes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Price:
    """The most that a model costs, in US dollars: for each token read, each written, and each call.

    It bounds what a call may cost; what it did cost is in its reply.
    """

    read: float = 0.0
    written: float = 0.0
    call: float = 0.0

    def of(self, usage: Usage) -> float | None:
        """What this usage costs; unknown where it has a price and is not reported."""
        total = self.call * usage.calls
        for rate, tokens in ((self.read, usage.input_tokens), (self.written, usage.output_tokens)):
            if rate and tokens is None:
                return None
            total += rate * (tokens or 0)
        return total


FREE = Price()
PROGRAM = "command:"  # begins the name of a model that is a program: no provider charges for it


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model before it is called. Sizes in tokens; an unknown price is ``None``."""

    name: str  # "provider:model", the name used in settings, events and the REPL
    profile: str = "frontier"  # the prompts that suit it
    window: int | None = None
    max_output: int | None = None
    parallel: int | None = None  # requests it serves at once, where that is fixed (local slots)
    price: Price | None = None
    endpoint: str | None = None  # where it is served, if that is not the provider's own address


class Model(Protocol):
    """A language model. See the module docstring for the contract."""

    @property
    def info(self) -> ModelInfo: ...

    async def complete(self, request: ModelRequest) -> ModelReply: ...

    async def close(self) -> None: ...


def refuse_too_long(request: ModelRequest, info: ModelInfo) -> None:
    """Raise ``too_long`` where the prompt cannot fit. The estimate is low: it never refuses in doubt."""
    if info.window is None:
        return
    size = size_of(request)
    if size > info.window:
        raise ModelError(
            "too_long",
            f"the prompt is about {size:,} tokens and {info.name} reads at most {info.window:,}: "
            "send slices of it, one call for each",
            model=info.name,
        )


def refuse_images(request: ModelRequest, info: ModelInfo) -> None:
    """Raise ``bad_request`` where there are images in a prompt for a model that takes none."""
    if any(message.images for message in request.messages):
        raise ModelError(
            "bad_request",
            f"{info.name} takes no images: ask a model that does, llm_query(prompt, images=…, model=…)",
            model=info.name,
        )


def size_of(request: ModelRequest) -> int:
    """About how many tokens a prompt has, at the least."""
    return sum(_bytes(message.text) for message in request.messages) // BYTES_PER_TOKEN


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
