"""Three tables, one question, a typed answer: which channel's users come to pay, and how many of them.

``python examples/cohort.py [MODEL]`` asks that model, or the one that unspool finds, for ten minutes at most,
and tells of each turn as it goes. It wants a stronger model than the local one that unspool runs by itself
(Qwen2.5-Coder 1.5B), which is not likely to answer it. 10,000 users, 250,000 events and 10,000 subscriptions
are made from a fixed seed; :func:`ask` is all that a user of unspool writes, and :func:`watch` is the same,
told as it goes.
"""

from __future__ import annotations

import argparse
import asyncio

import numpy
import pandas

from unspool import RLM, Budget, Contexts, Run
from unspool import events as ev

SECONDS = 600  # at most, for the whole run
QUESTION = """Take the users who signed up in the first quarter of 2026 and had at least 5 events within 7
days (less than 7 days after the sign-up). For each channel: what share of them has a subscription that
started within 30 days of the sign-up and was not refunded? Answer with the best share and its channel."""


def ask(rlm: RLM, users: pandas.DataFrame, events: pandas.DataFrame, subscriptions: pandas.DataFrame) -> Run:
    contexts = Contexts(users=users, events=events, subscriptions=subscriptions)
    return rlm.run(QUESTION, contexts, answer=tuple[float, str])


async def watch(
    rlm: RLM, users: pandas.DataFrame, events: pandas.DataFrame, subscriptions: pandas.DataFrame
) -> ev.RunEnded:
    """The same, told as it goes. Returns the end of the run."""
    contexts = Contexts(users=users, events=events, subscriptions=subscriptions)
    async for event in rlm.stream(QUESTION, contexts, answer=tuple[float, str]):
        if line := told(event):
            print(line, flush=True)
    assert isinstance(event, ev.RunEnded)  # the last one always is
    return event


def told(event: ev.Event) -> str:
    """An event in a line; nothing of those that are not worth one."""
    match event:
        case ev.RunStarted():
            return f"asks {event.model}, for at most {SECONDS} seconds"
        case ev.TurnStarted(node="0"):
            return f"turn {event.turn}: waits for the model" if event.turn else "first look"
        case ev.CellEnded(node="0"):
            said = event.error.type if event.error else f"{event.printed:,} characters printed"
            return f"turn {event.turn}: its code ran {event.seconds:.1f} s, {said}"
        case ev.AnswerRefused(node="0"):
            return f"turn {event.turn}: an answer was refused: {event.reason}"
        case _:
            return ""


def tables(seed: int = 7) -> tuple[pandas.DataFrame, pandas.DataFrame, pandas.DataFrame]:
    """Users, events and subscriptions, the same in every run."""
    draw = numpy.random.default_rng(seed)
    start = numpy.datetime64("2025-11-01", "m")
    signed_up = start + draw.integers(0, 200 * 24 * 60, 10_000)
    users = pandas.DataFrame(
        {
            "user_id": numpy.arange(10_000) + 1_000_000,
            "signed_up": pandas.to_datetime(signed_up),
            "channel": pandas.Categorical(draw.choice(["ads", "friends", "search", "store"], 10_000)),
            "country": draw.choice(["DE", "FR", "JP", "US"], 10_000),
        }
    )
    of_user = draw.choice(10_000, 250_000, p=_weights(draw))
    events = pandas.DataFrame(
        {
            "user_id": users["user_id"].to_numpy()[of_user],
            "time": pandas.to_datetime(
                signed_up[of_user] + draw.exponential(9 * 24 * 60, 250_000).astype(int)
            ),
            "kind": pandas.Categorical(draw.choice(["open", "edit", "share", "invite"], 250_000)),
        }
    )
    buyer = draw.integers(0, 10_000, 10_000)  # some have several, many none
    subscriptions = pandas.DataFrame(
        {
            "user_id": users["user_id"].to_numpy()[buyer],
            "started": pandas.to_datetime(signed_up[buyer] + draw.integers(0, 90 * 24 * 60, 10_000)),
            "price": draw.choice([4.99, 9.99, None], 10_000, p=[0.5, 0.4, 0.1]).astype(float),
            "refunded": draw.random(10_000) < 0.15,
        }
    )
    return users, events, subscriptions


def _weights(draw: numpy.random.Generator) -> numpy.ndarray:
    weights = draw.pareto(1.5, 10_000) + 0.2
    return numpy.asarray(weights / weights.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", help="who is asked; without it, the one that unspool finds")
    model = parser.parse_args().model
    with RLM(model, budget=Budget(seconds=SECONDS)) as rlm:
        ended = asyncio.run(watch(rlm, *tables()))
    if ended.status == "answered":
        share, channel = ended.answer  # type: ignore[misc]
        print(f"{channel}: {share:.2%} of the active new users pay within 30 days")
    else:
        print(f"no answer: {ended.reason}; it wants a stronger model: examples/cohort.py MODEL")


if __name__ == "__main__":
    main()
