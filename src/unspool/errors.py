"""The tree of errors. Only misuse raises out of a run: a failed node or sub-call is data.

::

    UnspoolError
    ├── ConfigError (ValueError)     a setting is wrong; says what to set
    │   ├── WrongSetting             a value that it cannot have: name=value
    │   ├── UnknownSetting (TypeError)  no setting of that name; says the nearest
    │   ├── UnknownPrice             a limit in dollars that cannot be kept; says the model
    │   ├── NoModelFound             no key, no server, no local model; names the ways out
    │   │   └── NoServer             a server that the environment names gives no model; says why
    │   └── UnknownModel             no such provider or model; lists the known ones
    ├── ContextError (ValueError)    the context cannot be read or handed over; names it
    ├── SandboxError
    │   ├── SandboxUnavailable       this machine cannot harden it, or has no room for it; says what to do
    │   └── SandboxLost              the REPL's processes are gone and could not be restarted
    ├── JournalError                 a run cannot be kept, read or resumed; says why and what to do
    │   ├── NoSuchRun                there is none of that name, or there are several
    │   └── Divergence               a resumed run does not do again what it did; says where
    ├── ModelError                   one model call failed for good; carries a FailureKind
    └── HostCallError                what a host call raises inside a cell (never leaves a run)

>>> ModelError("timeout", "no reply within 60 s", model="openai:gpt-5-mini").kind
'timeout'
"""

from __future__ import annotations

from typing import Literal

from .types import FailureKind, Usage

RETRYABLE: frozenset[FailureKind] = frozenset({"rate_limit", "timeout", "connection", "server"})
MISTAKE_OF = "raised by the model "  # begins the note on an exception that a model raises by mistake
MOST_TOLD = 300  # characters of an exception that is not ours
UNSURE: frozenset[FailureKind] = frozenset({"timeout", "connection"})
PERMANENT: frozenset[FailureKind] = frozenset({"auth", "unknown_model"})


class UnspoolError(Exception):
    """Base of all errors of this package."""


class ConfigError(UnspoolError, ValueError):
    """A setting is wrong. The message names it and says what to do."""


class WrongSetting(ConfigError):
    """A setting with a value that it cannot have: ``name=value: what to give``.

    >>> str(WrongSetting("seconds", -1, "give a time above zero"))
    'seconds=-1: give a time above zero'
    """

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(name, value, wanted)
        self.name, self.value, self.wanted = name, value, wanted

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}: {self.wanted}"


class UnknownSetting(ConfigError, TypeError):
    """There is no setting of that name. The message says the nearest, or where it belongs."""


class UnknownPrice(ConfigError):
    """The price of ``model`` is not known, so a limit in dollars cannot be kept. ``file``: the budget in
    which the limit stands, where it was not given now.

    >>> UnknownPrice("openai:m", "b.json").told("price=READ/WRITTEN", "tokens")
    'b.json has a limit in dollars, which cannot be kept, for the price of openai:m is not known: say it, in \
dollars for a million tokens (price=READ/WRITTEN), or name another file and limit tokens'
    """

    def __init__(self, model: str, file: str = "") -> None:
        super().__init__(model, file)
        self.model, self.file = model, file

    def told(self, price: str, limits: str, usd: str = "usd") -> str:
        """``price``: how a price is said, if it can be; ``limits``: what else may be limited; ``usd``: what
        the limit in dollars is called."""
        ways = [f"say it, in dollars for a million tokens ({price})"] if price else []
        ways += [f"{'name another file and ' if self.file else ''}limit {limits}"] if limits else []
        unknown = f"the price of {self.model} is not known"
        what = (
            f"{self.file} has a limit in dollars, which cannot be kept, for {unknown}"
            if self.file
            else f"{usd}: {unknown}, so a limit in dollars cannot be kept"
        )
        return f"{what}: {', or '.join(ways)}"

    def __str__(self) -> str:
        price = "ModelSettings(price=…); on a command line --set price=READ/WRITTEN"
        return self.told(price, "tokens, calls or seconds")


class NoModelFound(ConfigError):
    """No model was named and none could be found."""


class NoServer(NoModelFound):
    """A server that the environment names gives no model. It may be there again."""


class UnknownModel(ConfigError):
    """No such provider or model. The message lists the known ones."""


class ContextError(UnspoolError, ValueError):
    """The context cannot be read or handed to the sandbox. The message names what and why."""


class SandboxError(UnspoolError):
    """The sandbox failed, not the code in it."""


class SandboxUnavailable(SandboxError):
    """This machine cannot give the protections of the chosen sandbox, or not what its processes need."""


class SandboxLost(SandboxError):
    """The processes of a REPL are gone and it could not be restarted."""


class JournalError(UnspoolError):
    """A run cannot be kept, read or resumed. The message says why and what to do.

    ``kept``: raised by a store that has kept the event all the same, with the last room that it had.
    """

    def __init__(self, message: str, *, kept: bool = False) -> None:
        super().__init__(message)
        self.kept = kept


class NoSuchRun(JournalError):
    """There is no run of that name, or it is the start of several."""


class Divergence(JournalError):
    """A cell of a resumed run does not do again what it did. The message says where and how to go on."""


class ModelError(UnspoolError):
    """One model call failed for good.

    ``retryable`` says whether sending the same request again may help; ``retry_after`` is what
    the server asked for, in seconds. ``unsure`` says whether the server may have done the work, and
    charged for it, all the same. ``permanent`` says whether no other request would fare better.
    ``usage`` and ``cost`` are set where the failure was paid for, as an empty reply is.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        model: str = "",
        retry_after: float | None = None,
        retryable: bool | None = None,
        unsure: bool | None = None,
        permanent: bool | None = None,
        usage: Usage | None = None,
        cost: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.usage = usage
        self.cost = cost
        self.message = message
        self.model = model
        self.retry_after = retry_after
        self.retryable = kind in RETRYABLE if retryable is None else retryable
        self.unsure = kind in UNSURE if unsure is None else unsure
        self.permanent = kind in PERMANENT if permanent is None else permanent

    @property
    def fatal(self) -> bool:
        """Whether every further call to this model would fail the same way."""
        return self.kind == "auth"


class HostCallError(UnspoolError):
    """Raised by the host's side of a host call; becomes an exception of the named type in the cell.

    ``failure`` is set for ``LLMError`` and gives its kind.
    """

    def __init__(
        self,
        type: Literal["LLMError", "AnswerRefused", "ToolError", "TypeError", "ValueError"],
        message: str,
        *,
        failure: FailureKind | None = None,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.failure: FailureKind | None = failure


def mishap(error: BaseException) -> str | None:
    """Why a run ends where somebody's code raises what it should not; None for errors of this package,
    unless a model has raised one.

    >>> error = KeyError("choices")
    >>> error.add_note(f"{MISTAKE_OF}my:model")
    >>> mishap(error), mishap(ZeroDivisionError()), mishap(JournalError("full"))
    ("the model my:model failed: KeyError: 'choices'", 'ZeroDivisionError', None)
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    told = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_TOLD].removesuffix(":")
    for note in getattr(error, "__notes__", ()):
        if note.startswith(MISTAKE_OF):
            return f"the model {note.removeprefix(MISTAKE_OF)} failed: {told}"
    return None if isinstance(error, UnspoolError) else told
