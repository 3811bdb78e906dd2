"""The seam to sandboxes: a REPL that runs model-written code and can call back.

Contract of :class:`Sandbox` and :class:`Repl`:

- ``open`` makes one REPL for one node, with the context bound and the functions of the REPL
  contract in its namespace. Two REPLs share nothing that one could see of the other.
- ``execute`` runs one cell and always returns a :class:`CellResult`: an exception, a hang, a crash
  or a memory kill in the cell is data. ``seconds`` limits the cell's own time; the clock stands
  still while at least one host call is open. It raises :class:`unspool.errors.SandboxLost` only
  when the REPL is gone for good. Cancelling it stops the cell (interrupt, then kill and roll back).
  ``number`` is what the run calls the cell, and what its tracebacks say (``cell 3, line 1``): a run that is
  resumed passes over cells that left nothing. 0, or one that was used, is the next.
- ``on_call`` is awaited on the host's loop for every host call, several at a time. It may raise
  :class:`unspool.errors.HostCallError`, which becomes an exception in the cell.
- What comes out of a REPL is hostile: it is checked for size, depth and ids, and never unpickled.
- ``close`` ends every process of the REPL (or of the sandbox); calling it twice is fine.
- A sandbox may say ``forks = True``: its REPLs are :class:`Forking`. A fork has all that is in the REPL, also
  what cannot be pickled, as it is between two cells; from then on neither sees what the other does, and
  each ends by itself. Where that cannot be now, ``fork`` raises :class:`unspool.errors.SandboxError` with the
  reason, and the REPL is as it was.
- A sandbox may say ``proven = True``: its REPLs will open, as far as can be known. Then the first one opens
  while the model replies; of any other it is awaited before a model is asked, since what leads there may be
  wrong.

Host calls by name (arguments already normalised by the worker, aliases resolved):

=====================  ==========================================================================
``llm_query``          args (prompt,), kwargs model, schema, ranges → str or parsed value
``llm_query_batched``  args (prompts,), kwargs model, schema, on_error, ranges → list of str | FailedCall
``llm_map``            args (instruction, items), kwargs schema, model, pack, ranges → as in a batch
``classify``           args (items, labels), kwargs meanings, examples, model, ranges → as in a batch
``rlm_query``          args (query,), kwargs context or part, schema, ranges, stretches → the child's answer
``rlm_query_batched``  args (queries,), kwargs contexts, parts, schema, ranges, stretches → list | FailedCall
                       (a part is (start, length) of a text in the REPL's own context)
``cite``               args (quote, part, offset | None, line, source, place | None): where the worker found
                       it → None (place, in files: part of the coverage, first byte, the one behind the last)
``budget``             → dict of what is left
``submit``             args (value,), kwargs printed (int: characters the cell has printed so
                       far), variable (str | None: the text names a variable of that name),
                       via (str: the alias used) → HostReply(end=True), or AnswerRefused
``draft``              args (name, value): the best draft, asked for by the engine
``_unspool_open``      args (source, numbers of its files) → for each ``None`` or why not, and
                       their descriptors; asked by the REPL itself
any tool's name        args, kwargs as the code gave them
=====================  ==========================================================================

``ranges`` and ``stretches`` (bytes | None) say what the texts have of the context, see ``reach/marks.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..types import CellError, CellOutcome


@dataclass(frozen=True, slots=True)
class HostCall:
    """One call from code in a REPL to the host. Values are plain data, decoded and bounded."""

    name: str
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=lambda: dict[str, object]())


@dataclass(frozen=True, slots=True)
class HostReply:
    """The host's reply. ``end`` ends the cell at once (an accepted answer).

    ``fds`` go with it, 64 at most; whoever sends the reply closes them.
    """

    value: object = None
    end: bool = False
    fds: tuple[int, ...] = ()


OnCall = Callable[[HostCall], Awaitable[HostReply]]


@dataclass(frozen=True, slots=True)
class ReplSpec:
    """What a REPL is opened with.

    ``context`` is any value; a :class:`unspool.types.TextPart`, bound to its text, only where the sandbox
    says ``takes_parts = True``: one that can give a REPL a range of what another one has, without a copy.
    ``shown`` is the number of characters of a cell's output that are kept (about two thirds from
    its head, the rest from its tail). ``memory`` is in bytes; ``None`` is half of what is free.
    ``seed`` is of the random numbers, the system's too; ``None`` is another each time.
    ``tables``: what code submits and gives to tools tells DataFrames apart (see
    :mod:`unspool.reach.dataframes`); without it they are lists of records.
    ``files``: descriptors of the user's files will be handed to it.
    ``without``: functions of the REPL contract that this one does not have.
    ``libraries``: its code will probably use numpy, pandas or pyarrow: it has them from the start, if it can.
    """

    context: object
    tools: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()  # import statements run before the first cell, e.g. "import re"
    memory: int | None = None
    shown: int = 8_000
    seed: int | None = None
    tables: bool = False
    files: bool = False
    without: tuple[str, ...] = ()
    libraries: bool = False


@dataclass(frozen=True, slots=True)
class CellResult:
    """What became of one cell.

    ``outcome``: ``ok``; ``error`` (an exception; variables kept); ``submitted``; ``interrupted``
    (stopped at its limit; variables kept); ``rolled_back`` (killed or crashed; everything is as it
    was before the cell); ``restarted`` (the REPL had to begin anew with the context alone).
    """

    outcome: CellOutcome
    output: str = ""
    printed: int = 0  # characters printed in all
    omitted: int = 0  # characters of them not in ``output``
    error: CellError | None = None
    notes: tuple[str, ...] = ()  # for the model: names restored, what was lost, why it was stopped
    seconds: float = 0.0
    own_seconds: float = 0.0
    ranges: bytes | None = None  # what ``output`` shows of the context, as reach/marks.py packs it; unchecked


class Repl(Protocol):
    """One node's REPL. See the module docstring for the contract."""

    async def execute(self, code: str, *, seconds: float, number: int = 0) -> CellResult: ...

    async def close(self) -> None: ...


class Forking(Repl, Protocol):
    """A REPL that another one can be made of, host calls of which go to ``on_call``."""

    async def fork(self, on_call: OnCall) -> Repl: ...


@dataclass(frozen=True, slots=True)
class Protection:
    """One protection, as ``unspool doctor`` shows it."""

    name: str  # a stable id, e.g. "network"
    holds: bool
    how: str  # what enforces it, or why it does not hold
    meaning: str  # in words a user understands


Tier = Literal[
    "namespaces", "landlock", "seatbelt", "none", "other"
]  # "other": what it leads to protects, or not


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """What a sandbox gives on this machine. ``tier`` None: it cannot run here."""

    name: str
    tier: Tier | None
    protections: tuple[Protection, ...]
    advice: str = ""


class Sandbox(Protocol):
    """A maker of REPLs. See the module docstring for the contract."""

    async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl: ...

    async def close(self) -> None: ...
