"""Made texts for ``local_made``, from seeds as in ``local_made_data``: a chat and a handbook.

>>> len(chat(121, 200).splitlines()), handbook().count("\\n\\n## ")
(200, 13)
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

TALK = {
    "work": (
        "the <> customer wants the invoice by {}", "I pushed the new <> draft, please review it before {}",
        "can somebody restart the <> server?", "the meeting about the <> budget moved to {}",
        "the <> release is blocked, two tests fail", "who has the login for the <> dashboard?",
        "I'll send the <> figures to the client on {}", "the <> contract is signed at last",
    ),
    "private": (
        "anyone up for bowling on {}?", "my daughter lost her first tooth",
        "that pasta place was amazing last night", "we adopted a kitten called Pixel",
        "I slept badly, the neighbours had a party", "happy birthday, dear!",
        "did you watch the match yesterday?",
        "we are going to the seaside with the kids on {}",
    ),
}  # fmt: skip


@lru_cache
def talk(seed: int, length: int) -> tuple[tuple[str, str, str, str], ...]:
    """(time, who, topic, text); no text twice where there are so few"""
    dice, now, made = random.Random(seed), datetime(2026, 2, 3, 10, 2), []
    pool = [(topic, text) for topic, texts in TALK.items() for text in texts]
    drawn = dice.sample(pool, length) if length <= len(pool) else dice.choices(pool, k=length)
    for number, (topic, text) in enumerate(drawn):
        now += timedelta(minutes=dice.randint(0, 4))
        said = text.replace("{}", dice.choice(("Monday", "Friday", "Thursday"))).replace(
            "<>", dice.choice(("Nordlicht", "Acme", "spring", "payroll"))
        )
        if number == 131:
            topic, said = "work", "don't worry about the projector, I'm bringing mine"
        made.append(
            (
                f"{now:%H:%M}",
                dice.choices(("ann", "bo", "carl", "dina", "eva"), (6, 5, 4, 3, 2))[0],
                topic,
                said,
            )
        )
    return tuple(made)


def chat(seed: int, length: int) -> str:
    return "".join(f"[{time}] {who}: {said}\n" for time, who, _, said in talk(seed, length))


class Room(NamedTuple):
    name: str
    opens: str
    sunday: str
    price: int
    keeper: str
    extension: int


@lru_cache
def rooms() -> dict[str, Room]:
    dice = random.Random(131)
    names = ("swimming pool", "sauna", "climbing wall", "library corner", "pottery studio", "gym",
             "dance hall", "tennis court", "music room", "kitchen", "playground", "theatre")  # fmt: skip
    keepers = ("Marta Lind", "Otto Weiss", "Salma Haddad", "Jun Park", "Rita Costa", "Ben Foley", "Nora Dahl",
               "Ivo Petrov", "Aisha Khan", "Luc Moreau", "Greta Holm", "Sam Reyes")  # fmt: skip
    starts, fees, extensions = (
        dice.sample(range(13, 24), 6),
        dice.sample(range(3, 25), 12),
        dice.sample(range(310, 490), 12),
    )
    made = {}
    for n, name in enumerate(names):
        early = dice.choice(starts)
        opens, sunday = (
            f"{half // 2:02}:{30 * (half % 2):02}" for half in (early, early + dice.randint(1, 4))
        )
        made[name] = Room(name, opens, sunday, fees[n], keepers[n], extensions[n])
    return made


@lru_cache
def handbook() -> str:
    dice, parts = random.Random(132), ["# Handbook of the Riverside Centre"]
    rules = (
        "Shoes stay outside.",
        "Dogs must wait at the gate.",
        "Glass bottles are not allowed.",
        "Please book a day ahead.",
    )
    for room in rooms().values():
        parts += [
            f"## The {room.name}",
            f"From Monday to Saturday the {room.name} opens at {room.opens}. "
            f"On Sundays it opens at {room.sunday}.",
            f"A day ticket costs {room.price} euros. "
            f"Members pay half of that, and children under six pay nothing.",
            f"{room.keeper} is in charge of the {room.name} and keeps the key.",
            f"{dice.choice(rules)} Lost property is kept for {dice.randint(2, 9)} weeks.",
        ]
    keepers = sorted(rooms().values(), key=lambda room: room.keeper)
    return "\n\n".join(
        [*parts, "## Contacts", *(f"{r.keeper} has the phone extension {r.extension}." for r in keepers), ""]
    )
