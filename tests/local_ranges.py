"""Questions about numbers in plain lines that have no head: prices, sizes, temperatures, statuses.

``scripts/bench local --set ranges`` runs them. Contract: as in ``local_suite``; the data come from seeds. They
were written since ranges were the weakest kind of the held-out questions, without a look at those; then the
profile was tuned on them.

>>> {q.kind for q in RANGES}, len({q.id for q in RANGES})
({'range'}, 12)
"""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from .local_suite import Question, same_name, same_number

WOODS = "Walnut Oak Pine Beech Birch Maple Cherry Ash Elm Teak".split()  # noqa: SIM905
THINGS = "desk chair shelf lamp stool table bench drawer frame tray".split()  # noqa: SIM905
SURNAMES = [
    *["Adams", "Abbott", "Baker", "Barnes", "Bell", "Bishop", "Brown", "Burke", "Carter", "Chapman", "Clark", "Cole", "Cooper", "Cox", "Cross"],
    *["Davies", "Dean", "Dixon", "Doyle", "Evans", "Ford", "Fox", "Grant", "Gray", "Green", "Hall", "Harris", "Hill", "Hunt", "Jones", "Kelly", "King"],
    *["Lane", "Lee", "Marsh", "Mills"],
]  # fmt: skip
STATUSES = (200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503)


class Ware(NamedTuple):
    number: int
    name: str
    price: float
    stock: int


@cache
def wares() -> tuple[Ware, ...]:
    chance = random.Random(51)
    return tuple(
        Ware(
            1000 + at,
            f"{chance.choice(WOODS)} {chance.choice(THINGS)}",
            chance.randint(900, 60_000) / 100,
            chance.randint(0, 900),
        )
        for at in range(400)
    )


@cache
def files() -> tuple[tuple[str, int, int], ...]:
    """Name, bytes, day of March."""
    chance = random.Random(52)
    ranges = ((100, 900), (10_000, 900_000), (1_000_000, 9_000_000))
    return tuple(
        (f"{chance.choice(THINGS)}{at}.txt", chance.randint(*chance.choice(ranges)), chance.randint(1, 28))
        for at in range(350)
    )


@cache
def staff() -> tuple[tuple[str, int, int], ...]:
    """Surname, room, year."""
    chance = random.Random(53)
    return tuple((name, chance.randint(100, 399), chance.randint(1998, 2030)) for name in SURNAMES * 7)


@cache
def requests() -> tuple[tuple[int, int, int], ...]:
    """Page, status, milliseconds."""
    chance = random.Random(54)
    return tuple((chance.randint(1, 90), chance.choice(STATUSES), chance.randint(1, 900)) for _ in range(600))


@cache
def readings() -> tuple[tuple[int, float, int], ...]:
    """Station, degrees, wind."""
    chance = random.Random(55)
    return tuple(
        (chance.randint(1, 40), chance.randint(-200, 350) / 10, chance.randint(0, 90)) for _ in range(500)
    )


@cache
def releases() -> tuple[tuple[int, int, int], ...]:
    return tuple((one, two, three) for one in (1, 2, 3) for two in range(13) for three in range(4))


def stock_list() -> str:
    return "\n".join(
        f"SKU-{ware.number}  {ware.name:<16} price {ware.price:.2f} EUR  stock {ware.stock}"
        for ware in wares()
    )


def listing() -> str:
    return "\n".join(
        f"-rw-r--r-- 1 ann staff {size:>8} Mar {day:>2} 10:{day + 10} {name}" for name, size, day in files()
    )


def people() -> str:
    return "\n".join(f"{name}, Bo - room {room} - since {year}" for name, room, year in staff())


def served() -> str:
    return "\n".join(f"GET /page/{page} -> {status} in {taken} ms" for page, status, taken in requests())


def measured() -> str:
    return "\n".join(
        f"station {station}: {degrees:+.1f} degrees, wind {wind} km/h"
        for station, degrees, wind in readings()
    )


def notes() -> str:
    return "\n".join(
        f"v{one}.{two}.{three} (20{20 + one}-{two % 12 + 1:02}-{5 + three:02}): fixes"
        for one, two, three in releases()
    )


def fullest() -> str:
    return f"SKU-{max((ware for ware in wares() if ware.price < 50), key=lambda ware: ware.stock).number}"


RANGES: tuple[Question, ...] = (
    Question(
        "range-price",
        "range",
        "How many products cost between 100 and 200 EUR?",
        stock_list,
        lambda: sum(100 <= ware.price <= 200 for ware in wares()),
        same_number,
    ),
    Question(
        "range-stock",
        "range",
        "Which SKU with a price below 50 EUR has the largest stock? Answer as in SKU-1000.",
        stock_list,
        fullest,
        same_name,
    ),
    Question(
        "range-files",
        "range",
        "How many files are larger than 1,000,000 bytes?",
        listing,
        lambda: sum(size > 1_000_000 for _, size, _ in files()),
        same_number,
    ),
    Question(
        "range-rooms",
        "range",
        "How many people have a room on the second floor, that is a room from 200 to 299?",
        people,
        lambda: sum(200 <= room <= 299 for _, room, _ in staff()),
        same_number,
    ),
    Question(
        "range-since",
        "range",
        "How many people have been there since 2020 or later?",
        people,
        lambda: sum(year >= 2020 for _, _, year in staff()),
        same_number,
    ),
    Question(
        "range-first",
        "range",
        "How many of the first 100 lines have the status 404?",
        served,
        lambda: sum(status == 404 for _, status, _ in requests()[:100]),
        same_number,
    ),
    Question(
        "range-client",
        "range",
        "How many requests ended with a status from 400 to 499?",
        served,
        lambda: sum(400 <= status <= 499 for _, status, _ in requests()),
        same_number,
    ),
    Question(
        "range-slow",
        "range",
        "How many requests took longer than 500 ms?",
        served,
        lambda: sum(taken > 500 for _, _, taken in requests()),
        same_number,
    ),
    Question(
        "range-cold",
        "range",
        "How many readings are below zero degrees?",
        measured,
        lambda: sum(degrees < 0 for _, degrees, _ in readings()),
        same_number,
    ),
    Question(
        "range-wind",
        "range",
        "How many readings have a wind of 50 to 60 km/h?",
        measured,
        lambda: sum(50 <= wind <= 60 for _, _, wind in readings()),
        same_number,
    ),
    Question(
        "range-letters",
        "range",
        "How many people have a surname that begins with a letter from A to C?",
        people,
        lambda: sum(name[0] in "ABC" for name, _, _ in staff()),
        same_number,
    ),
    Question(
        "range-versions",
        "range",
        "How many releases of version 2 are from 2.3.0 to 2.8.3?",
        notes,
        lambda: sum(one == 2 and 3 <= two <= 8 for one, two, _ in releases()),
        same_number,
    ),
)
