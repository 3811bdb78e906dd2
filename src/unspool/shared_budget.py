"""A budget in a file: several processes spend from it, and together they never go over it.

Contract: whoever wants to send holds the worst case first, under a lock on the file, and tells after it what
the call took (:class:`SharedPurse`). A process that dies while it holds something has spent it: what was
sent may have been charged for. The file is JSON that anyone may read; a limit that is given is written
into it, so that a greater one given later goes on: when it is begun, so that who is refused before has left
no file, and changed none. The lock is ``flock``: the file lies on a disk of this machine.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     file = SharedBudget(f"{folder}/budget.json", Budget(calls=1))
...     ticket = file.hold(Amount(calls=1))
...     file.hold(Amount(calls=1)).words
'the limit of 1 sub-call of budget.json'
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from .budget import NO_USAGE, NOTHING, Amount, Block, Budget, Meter, OverBudget
from .errors import ConfigError, ModelError
from .folders import try_out
from .models.protocol import FREE, ModelInfo, ModelRequest, Price
from .purse import LEAST_REPLY, MOST_REPLY, prompt_tokens, worst_case
from .types import Usage, known_sum

VERSION = 1
LIMITS = ("usd", "tokens", "calls")
LOOK_AGAIN = 0.1  # seconds, where what others hold may come free
_MARK = "unspool_budget"


@dataclass(slots=True)
class _State:
    """What is in the file. ``unpriced``: some calls had a price that is not known, so the dollars are not.
    ``unmeasured``: so many calls did not tell what they took; the most that it may be is spent."""

    limits: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(LIMITS))
    spent: Amount = NOTHING
    held: dict[str, Amount] = field(default_factory=lambda: dict[str, Amount]())
    unpriced: bool = False
    unmeasured: int = 0


class SharedBudget:
    """The budget in ``path``. ``given``: the limits that this process keeps, and writes down.

    Raises :class:`ConfigError` where the file is none of ours, cannot be used, or has no limit.
    """

    def __init__(self, path: str | os.PathLike[str], given: Budget = Budget()) -> None:  # noqa: B008 (frozen)
        self._path = Path(path)
        self._given = {name: getattr(given, name) for name in LIMITS}
        self._owner = f"{os.getpid()}:{_began(os.getpid())}"
        self._numbers = itertools.count(1)
        self._begun = False
        self.limits = self._limits(self._with_given(self._seen()))

    def begin(self) -> None:
        """Makes the file, where there is none, and writes down the limits that were given. The first call
        that is paid from it does so, too."""
        with self._open():
            pass

    def says(self, limit: str) -> str:
        """The path, where a limit stands in the file alone and was not given; else ""."""
        return str(self._path) if self._given[limit] is None else ""

    def hold(self, amount: Amount) -> str | Block:
        """A ticket, or the limit that stands in the way."""
        with self._open() as state:
            meter = Meter(self._limits(state), owner=self._path.name)
            meter.spent = state.spent
            meter.held = sum(state.held.values(), NOTHING)
            blocked = meter.block(amount)
            if blocked is not None:
                return blocked
            ticket = f"{self._owner}:{next(self._numbers)}"
            state.held[ticket] = amount
            return ticket

    def settle(self, ticket: str, took: Amount, *, priced: bool = True, measured: bool = True) -> None:
        """What was held is held no more; ``took`` is spent. ``priced``: its dollars are known; ``measured``:
        its tokens are, and are not the most that it may have taken."""
        with self._open() as state:
            state.held.pop(ticket, None)
            state.spent += took
            state.unpriced = state.unpriced or not priced
            state.unmeasured += not measured

    def free(self) -> Mapping[str, float | None]:
        """What is left of each limit."""
        with self._open() as state:
            taken = sum(state.held.values(), state.spent)
            limits = self._limits(state)
            return {
                name: None
                if (limit := getattr(limits, name)) is None
                else max(0, limit - getattr(taken, name))
                for name in LIMITS
            }

    def _with_given(self, state: _State) -> _State:
        """The state with the limits that were given in it."""
        state.limits |= {name: limit for name, limit in self._given.items() if limit is not None}
        if not any(limit is not None for limit in state.limits.values()):
            raise ConfigError(f"{self._path} has no limit yet: give --usd, --tokens or --calls")
        if state.unpriced and state.limits["usd"] is not None:
            raise ConfigError(
                f"{self._path}: calls of a price that is not known were paid from it, so a limit in dollars "
                "cannot be kept: name another file"
            )
        return state

    def _limits(self, state: _State) -> Budget:
        """Those that this process was given; else those in the file, as they are now."""
        now = {name: state.limits[name] if mine is None else mine for name, mine in self._given.items()}
        return Budget(usd=now["usd"], tokens=_whole(now["tokens"]), calls=_whole(now["calls"]))

    def _seen(self) -> _State:
        """The file's state, where there is one. Nothing is made or written; whether it could be is tried."""
        with self._usable():
            if not self._path.exists():
                os.stat(self._path.parent)
                try_out(self._path.parent)
                return _State()
            with self._locked(os.O_RDWR) as descriptor:
                return self._understood(_read_all(descriptor))

    @contextmanager
    def _open(self) -> Iterator[_State]:
        """The file's state, alone with it; written back at the end of the block, in one piece."""
        with self._usable(), self._locked(os.O_RDWR | os.O_CREAT) as descriptor:
            before = _read_all(descriptor)
            state = self._understood(before)
            yield state if self._begun else self._with_given(state)
            after = _written(state, len(before))
            if after != before:
                os.pwrite(descriptor, after, 0)
            self._begun = True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigError(f"{self._path} cannot be used as a budget: {error.strerror}") from None

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        try:
            import fcntl
        except ImportError:
            raise ConfigError("a budget in a file needs file locks, which this system has not") from None
        descriptor = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _understood(self, data: bytes) -> _State:
        if not data.strip():
            return _State()
        try:
            told = json.loads(data)
            if told[_MARK] != VERSION:
                raise ValueError
            state = _State(
                {name: _limit(told["limits"][name]) for name in LIMITS},
                _amount(told["spent"]),
                {ticket: _amount(amount) for ticket, amount in told["held"].items()},
                unpriced=told["spent"]["usd"] is None,
                unmeasured=int(told["spent"].get("unmeasured", 0)),
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
            raise ConfigError(f"{self._path} is no budget of unspool's: name another file") from None
        owners = {ticket: ticket.rpartition(":")[0] for ticket in state.held}
        gone = {owner for owner in set(owners.values()) if owner != self._owner and not _alive(owner)}
        for ticket in [ticket for ticket, owner in owners.items() if owner in gone]:
            state.spent += state.held.pop(ticket)
            state.unmeasured += 1
        return state


class SharedPurse:
    """Pays for the sends of one call from a shared budget: a :class:`unspool.models.calls.Payer`.

    ``check`` is called when the turn of a send has come, and raises where nothing more is to be sent.
    """

    def __init__(self, file: SharedBudget, *, check: Callable[[], None] | None = None) -> None:
        self.usage = NO_USAGE
        self.cost: float | None = 0.0
        self._file = file
        self._check = check
        self._held: tuple[str, Amount] | None = None
        self._priced = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refused()  # of what was held and not sent

    async def reserve(self, request: ModelRequest, info: ModelInfo) -> ModelRequest:
        if self._check is not None:
            self._check()
        price, self._priced = info.price or FREE, info.price is not None
        prompt, most = (
            prompt_tokens(request),
            request.max_tokens or min(MOST_REPLY, info.max_output or MOST_REPLY),
        )
        while True:
            amount = replace(worst_case(prompt, most, price), calls=1)
            got = self._file.hold(amount)
            if isinstance(got, str):
                self._held = got, amount
                return replace(request, max_tokens=most) if self._file.limits.counts_tokens else request
            fits = _reply_that_fits(self._file.free(), prompt, price)
            if LEAST_REPLY <= fits < most:
                most = fits
            elif got.passes:
                await asyncio.sleep(LOOK_AGAIN)
            else:
                room = (
                    "is reached"
                    if got.limit == "calls"
                    else f"has no room for a call of {prompt:,} tokens and a reply"
                )
                raise OverBudget(f"{got.words} {room}", got.limit)

    def served(self, usage: Usage, cost: float | None) -> None:
        self.usage = self.usage + usage if self.usage.calls else usage
        self.cost = known_sum(self.cost, cost)
        if self._held is None:
            return
        worst = self._held[1]
        tokens, measured = worst.tokens, False
        if usage.input_tokens is not None and usage.output_tokens is not None:
            tokens, measured = usage.input_tokens + usage.output_tokens, True
        priced = self._priced or cost is not None  # of a price that is known, the worst case is spent
        took = Amount(1, tokens, worst.usd if cost is None else cost)
        self._settle(took, priced=priced, measured=measured)

    def failed(self, error: ModelError) -> None:
        """Nothing: a call outside of a run ends with its own error."""

    def refused(self) -> None:
        self._settle(NOTHING)

    def lost(self) -> None:
        if self._held is not None:
            self._settle(self._held[1], priced=self._priced, measured=False)

    def _settle(self, took: Amount, *, priced: bool = True, measured: bool = True) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._file.settle(held[0], took, priced=priced, measured=measured)


def _reply_that_fits(free: Mapping[str, float | None], prompt: int, price: Price) -> int:
    fits = math.inf
    if (tokens := free["tokens"]) is not None:
        fits = tokens - prompt
    if (usd := free["usd"]) is not None and price.written:
        fits = min(fits, (usd - price.call - prompt * price.read) / price.written)
    return MOST_REPLY if fits == math.inf else int(fits)


def _read_all(descriptor: int) -> bytes:
    data = b""
    while piece := os.pread(descriptor, 1 << 20, len(data)):
        data += piece
    return data


def _written(state: _State, least: int) -> bytes:
    """One line, of ``least`` bytes or more: one write and never a shorter one, so that a kill leaves the
    old or the new."""
    held = {ticket: asdict(amount) for ticket, amount in state.held.items()}
    spent = {
        **asdict(state.spent),
        **({"usd": None} if state.unpriced else {}),
        **({"unmeasured": state.unmeasured} if state.unmeasured else {}),
    }
    told = {_MARK: VERSION, "limits": state.limits, "spent": spent, "held": held}
    return json.dumps(told).encode().ljust(least - 1) + b"\n"


def _limit(told: object) -> float | None:
    if told is not None and not (isinstance(told, int | float) and told >= 0):
        raise ValueError(f"{told!r} is no limit")
    return told


def _amount(told: Mapping[str, object]) -> Amount:
    usd, tokens, calls = (_limit(told[name]) for name in LIMITS)
    if tokens is None or calls is None:
        raise ValueError("tokens and calls are always known")
    return Amount(int(calls), int(tokens), usd or 0.0)


def _whole(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


def _alive(owner: str) -> bool:
    """Whether a process is still there."""
    pid, _, began = owner.partition(":")
    return _began(int(pid)) == began


def _began(pid: int) -> str:
    """When a process began, so that a number that is used again is not taken for it; "" where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        if Path("/proc/self").exists():
            return ""
    try:  # no /proc on this system
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "unknown"
    return "unknown"
