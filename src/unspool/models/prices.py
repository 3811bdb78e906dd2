"""What a call cost, in US dollars, from the price list of genai-prices.

Contract: an unknown price is ``None``, never 0. The list is the installed one: nothing is fetched.
Importing it takes about half a second, so ``load`` does that in a thread, once for the process;
start it when the first request is sent and it is there when the reply is.

>>> import asyncio
>>> _ = asyncio.run(ready())
>>> cost("openai", "gpt-5-mini", Counts(input=1_000_000, output=0))
0.25
>>> cost("openai", "no-such-model", Counts(input=10, output=10)) is None
True
"""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from .protocol import Price
from .replies import Counts

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo as ModelPriceInfo
    from genai_prices.types import TieredPrices

log = logging.getLogger("unspool.models")

_loading: Future[None] | None = None
_broken = False
_lock = threading.Lock()


def load() -> Future[None]:
    """Start reading the list, if nobody has; the future says when it is read."""
    global _loading
    with _lock:
        if _loading is None:
            _loading = Future()
            threading.Thread(target=_read, args=(_loading,), name="unspool-prices", daemon=True).start()
    return _loading


async def ready() -> None:
    """Wait until the list is read."""
    loading = load()
    if not loading.done():
        # Shielded: a caller that is cancelled must not cancel the future that all share.
        await asyncio.shield(asyncio.wrap_future(loading))


def loaded() -> bool:
    """Whether the list is read."""
    return _loading is not None and _loading.done()


def cost(provider: str, model: str, counts: Counts) -> float | None:
    """Dollars for these tokens; ``input`` includes ``cached`` and ``written``. After ``ready``."""
    if _broken or counts.input is None or counts.output is None:
        return None
    from genai_prices import Usage, calc_price

    try:
        price = calc_price(
            Usage(
                input_tokens=counts.input,
                output_tokens=counts.output,
                cache_read_tokens=counts.cached or 0,
                cache_write_tokens=counts.written or 0,
            ),
            model_ref=model,
            provider_id=provider,
        )
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


def _listed(provider: str, model: str) -> ModelPriceInfo | None:
    if _broken:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None


def service_of(url: str | None, name: str) -> str | None:
    """What the list calls the service at this address, or of this name where there is none. After ``ready``.

    >>> import asyncio
    >>> asyncio.run(ready())
    >>> service_of("https://api.openai.com/v1/", "openai"), service_of("http://127.0.0.1:1/v1", "openai")
    ('openai', None)
    """
    if _broken:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider(None, None if url else name, url or None).id
    except LookupError:
        return None


@lru_cache(maxsize=256)
def window(provider: str, model: str) -> int | None:
    """Tokens that the model reads at once, where the list has it. After ``ready``."""
    listed = _listed(provider, model)
    return None if listed is None else listed.context_window


@lru_cache(maxsize=256)
def price(provider: str, model: str) -> Price | None:
    """The most that a token of this model costs, its dearest tier. After ``ready``."""
    listed = _listed(provider, model)
    if listed is None:
        return None
    try:
        rates = listed.get_prices(datetime.now(UTC))
    except LookupError:
        return None
    read, written = _dearest(rates.input_mtok), _dearest(rates.output_mtok)
    if read is None or written is None:
        return None
    # What is written to the provider's cache may cost more than what is read.
    read = max(read, _dearest(rates.cache_write_mtok) or 0.0)
    written = max(written, _dearest(rates.output_reasoning_mtok) or 0.0)
    return Price(read / 1e6, written / 1e6, (_dearest(rates.requests_kcount) or 0.0) / 1e3)


def _dearest(rate: Decimal | TieredPrices | None) -> float | None:
    """Dollars for a million tokens, whichever tier the prompt falls into."""
    if rate is None:
        return None
    return float(rate if isinstance(rate, Decimal) else max([rate.base, *(t.price for t in rate.tiers)]))


def _read(loading: Future[None]) -> None:
    try:
        cost("openai", "gpt-5", Counts(input=1, output=1))  # the first price builds the tables
    except Exception as error:  # a broken list must not fail the calls it would price
        global _broken
        _broken = True
        log.warning("no call can be priced, genai-prices does not work here: %s", error)
    finally:
        loading.set_result(None)
