"""Questions over made data: logs, tables, records, a history, a chat, a handbook, reviews.

``scripts/bench local --set made`` runs them. Contract: as in ``local_suite``; the data come from seeds
(``local_made_data``), and none of their kinds is in the other sets. Whoever wrote them had not read the
profile's prompts.

>>> len({q.id for q in MADE}) == len(MADE) == 30
True
"""

from __future__ import annotations

import ast
import configparser
import json
import random
from collections import Counter, defaultdict
from functools import lru_cache
from statistics import mean

from .local_made_data import (
    AREAS,
    CHANGES,
    access,
    best,
    build_log,
    commits,
    config,
    days,
    entries,
    events,
    events_json,
    git_log,
    hits,
    journal,
    module,
    orders,
    orders_csv,
    tests_run,
    weather,
)
from .local_made_texts import chat, handbook, rooms, talk
from .local_suite import (
    Question,
    items,
    labels,
    near_number,
    same_name,
    same_number,
    same_set,
    share_right,
    top,
)

# What is judged by meaning

PRAISE = (
    "Best kettle we ever owned, it boils in no time.",
    "My son has not put it down since his birthday.",
    "Does exactly what it should, and it looks lovely on the shelf.",
    "I bought a second one for my mother right away.",
    "After three years of daily use it still runs like new.",
    "The fabric is soft and the colours are gorgeous.",
    "Setting it up took two minutes, I am delighted.",
    "Worth every cent, I would order it again tomorrow.",
    "Sturdy, quiet and easy to clean. Five stars.",
    "The sound is wonderful for such a small box.",
    "Arrived a day early and fits perfectly.",
    "I was sceptical at first, but now I recommend it to everybody.",
    "Finally a backpack that does not hurt my shoulders!",
    "The support team was friendly and solved my question at once.",
    "Makes fantastic coffee, the whole office loves it.",
    "Light, fast, and the battery lasts all week.",
    "A joy to use, even for an old hand like me.",
    "Such good quality for so little money.",
    "These are the comfiest boots I have ever worn.",
    "Our guests keep asking where we got this beautiful lamp.",
)
BLAME = (
    "Broke on the second day, what a waste of money.",
    "It smells of plastic and the lid never closes.",
    "I sent it back the same evening.",
    "The zip tore off when I opened it for the first time.",
    "Far too loud, the neighbours complained.",
    "Nobody answers my mails, and I am still waiting for a refund.",
    "The picture looks nothing like the thing that I got.",
    "After one wash it had shrunk by two sizes.",
    "Do not buy this, the handle gets burning hot.",
    "The battery dies within an hour.",
    "Half of the screws were missing from the box.",
    "It scratched my new table, I am furious.",
    "The app crashes every time that I press start.",
    "Cheaply made and painful to wear.",
    "I regret spending so much on such rubbish.",
    "Came three weeks late and with a crack in the glass.",
    "The instructions are useless and the parts do not fit.",
    "Stopped charging after a week, and the shop refuses to help.",
    "Tastes like cardboard, even the dog refused it.",
    "My back hurts after ten minutes on this chair.",
)


@lru_cache
def reviews() -> tuple[tuple[str, str], ...]:
    """(label, review) of 40, shuffled"""
    rows = [("positive", text) for text in PRAISE] + [("negative", text) for text in BLAME]
    random.Random(141).shuffle(rows)
    return tuple(rows)


def review_records() -> str:
    return "".join(
        json.dumps({"review_id": n, "review": text}) + "\n" for n, (_, text) in enumerate(reviews()[14:26], 1)
    )


@lru_cache
def changes() -> tuple[tuple[str, str], ...]:
    """(label, subject) of 12 commits"""
    dice = random.Random(142)
    rows = [
        (kind, text.format(dice.choice(AREAS)))
        for kind, texts in CHANGES.items()
        for text in dice.sample(texts, 4)
    ]
    dice.shuffle(rows)
    return tuple(rows)


# Golds of more than one step


def _settings() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read_string(config())
    return parser


def _only(found: list[str]) -> str:
    (one,) = found
    return one


def _classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(module()).body if isinstance(node, ast.ClassDef)}


def _bases() -> list[str]:
    return [base.id for node in _classes().values() for base in node.bases if isinstance(base, ast.Name)]


def _methods_of_base() -> int:
    (base,) = _classes()["MemoryStore"].bases
    assert isinstance(base, ast.Name)
    return sum(isinstance(part, ast.FunctionDef) for part in _classes()[base.id].body)


def _revenue() -> str:
    cents: defaultdict[str, int] = defaultdict(int)
    for order in orders():
        if order.status != "cancelled":
            cents[order.country] += order.quantity * round(100 * float(order.price))
    return best(cents)


def _rain() -> str:
    tenths: defaultdict[str, int] = defaultdict(int)
    for day in days():
        tenths[day.town] += round(10 * day.rain_mm)
    return best(tenths)


def _rain_on_warmest() -> float:
    date = best({day.date: day.temp_max for day in days() if day.town == "Bergen"})
    (rain,) = (day.rain_mm for day in days() if (day.date, day.town) == (date, "Oslo"))
    assert rain > 0
    return rain


def _warnings_of_critical() -> int:
    service = _only([service for _, service, level, _ in entries() if level == "CRITICAL"])
    return sum((s, level) == (service, "WARNING") for _, s, level, _ in entries())


def _commits_of_dropper() -> int:
    author = _only(
        [author for _, author, _, subject in commits() if "Drop support for Python 3.8" in subject]
    )
    return sum(author == other for _, other, _, _ in commits())


def _checkout_mean() -> int:
    results = [e["result"] for e in events() if e["event"]["type"] == "checkout"]
    return round(mean(int(str(result["duration_ms"])) for result in results))


SEARCH = (
    Question(
        "made-search-backup", "search",
        "Who downloaded /backup/site-2025.zip? I need the IP address.",
        access, lambda: _only([h.address for h in hits() if h.path == "/backup/site-2025.zip"]), same_name,
    ),
    Question(
        "made-search-port", "search",
        "port of the session-cache?",
        config, lambda: int(_settings()["session-cache"]["port"]), same_number,
    ),
    Question(
        "made-search-sauna", "search",
        "Hello! Could you please tell me at what time the sauna opens on Sundays? Thank you.",
        handbook, lambda: rooms()["sauna"].sunday, same_name,
    ),
    Question(
        "made-search-projector", "search",
        "Somebody in this chat said they would bring a projector. Who was it? Just the name.",
        lambda: chat(121, 200),
        lambda: _only([who for _, who, _, said in talk(121, 200) if "projector" in said]), same_name,
    ),
    Question(
        "made-search-leak", "search",
        "Which commit got rid of the memory leak in the scheduler? The full hash, please.",
        git_log, lambda: _only([h for h, _, _, subject in commits() if "memory leak" in subject]), same_name,
    ),
)  # fmt: skip

COUNT = (
    Question(
        "made-count-server", "count",
        "In total, how many requests ended in a server error (status 500 to 599)?",
        access, lambda: sum(500 <= h.status <= 599 for h in hits()), same_number,
    ),
    Question(
        "made-count-payments", "count",
        "For the service payments, how many lines have the level ERROR?",
        journal, lambda: sum((s, level) == ("payments", "ERROR") for _, s, level, _ in entries()),
        same_number,
    ),
    Question(
        "made-count-logins", "count",
        'Count the failed logins, i.e. events with "type": "login" where result.ok is false.',
        events_json,
        lambda: sum(e["event"]["type"] == "login" and not e["result"]["ok"] for e in events()), same_number,
    ),
    Question(
        "made-count-failed", "count",
        "How many tests failed overall in this build?",
        build_log, lambda: sum(outcome == "FAILED" for _, outcome, _ in tests_run()), same_number,
    ),
    Question(
        "made-count-disabled", "count",
        "How many of the services are switched off (enabled = no)?",
        config,
        lambda: sum(not part.getboolean("enabled", True) for part in _settings().values()), same_number,
    ),
)  # fmt: skip

GROUP = (
    Question(
        "made-group-missing", "group",
        "Which path was answered with 404 most often?",
        access, lambda: top([h.path for h in hits() if h.status == 404]), same_name,
    ),
    Question(
        "made-group-revenue", "group",
        "If we leave out the cancelled orders, which country brought in the most money? An order is worth "
        "its quantity times its price.",
        orders_csv, _revenue, same_name,
    ),
    Question(
        "made-group-rain", "group",
        "town with the most rain (rain_mm) over the whole period",
        weather, _rain, same_name,
    ),
    Question(
        "made-group-base", "group",
        "Which class of this module do the most other classes inherit from directly?",
        module, lambda: top(_bases()), same_name,
    ),
    Question(
        "made-group-quiet", "group",
        "Who wrote the fewest messages in this conversation?",
        lambda: chat(121, 200),
        lambda: best(Counter(who for _, who, _, _ in talk(121, 200)), least=True), same_name,
    ),
)  # fmt: skip

HOP = (
    Question(
        "made-hop-warmest", "hop",
        "Find the date with the highest temp_max in Bergen. How many millimetres of rain did "
        "Oslo get on that day?",
        weather, _rain_on_warmest, same_number,
    ),
    Question(
        "made-hop-base", "hop",
        "MemoryStore derives from another class. How many methods does that parent class define?",
        module, _methods_of_base, same_number,
    ),
    Question(
        "made-hop-dropped", "hop",
        "Who dropped support for Python 3.8, and how many commits did that person make altogether? "
        "Answer with the number.",
        git_log, _commits_of_dropper, same_number,
    ),
    Question(
        "made-hop-keeper", "hop",
        "I would like to ask the person in charge of the climbing wall something. "
        "Which phone extension should I dial?",
        handbook, lambda: rooms()["climbing wall"].extension, same_number,
    ),
    Question(
        "made-hop-critical", "hop",
        "One service logged a CRITICAL line. How many WARNING lines came from that same service?",
        journal, _warnings_of_critical, same_number,
    ),
)  # fmt: skip

RANGE = (
    Question(
        "made-range-visitors", "range",
        "On 13 March 2026, how many different IP addresses sent a request between 14:00:00 and 14:59:59?",
        access, lambda: len({h.address for h in hits() if f"{h.time:%d %H}" == "13 14"}), same_number,
    ),
    Question(
        "made-range-orders", "range",
        "number of orders from 2026-02-10 to 2026-02-20, both days included",
        orders_csv,
        lambda: sum("2026-02-10" <= order.date <= "2026-02-20" for order in orders()), same_number,
    ),
    Question(
        "made-range-cold", "range",
        "How cold did it get in Hamar in May 2026? Give the lowest temp_min of that month.",
        weather,
        lambda: min(d.temp_min for d in days() if d.town == "Hamar" and d.date[:7] == "2026-05"), same_number,
    ),
    Question(
        "made-range-slowest", "range",
        "Which test took the longest? Please give its name as it stands in the log.",
        build_log, lambda: best({test: seconds for test, _, seconds in tests_run()}), same_name,
    ),
    Question(
        "made-range-checkout", "range",
        "What is the average duration_ms of the checkout events? A whole number is enough.",
        events_json,
        _checkout_mean, near_number,
    ),
)  # fmt: skip

MEANING = (
    Question(
        "made-meaning-unhappy", "meaning",
        "Each line is a product review. Which of the customers were unhappy? "
        "Give me the list of the line numbers, starting at 1.",
        lambda: "\n".join(items(reviews())),
        lambda: [n for n, label in enumerate(labels(reviews()), 1) if label == "negative"], same_set(0.8),
    ),
    Question(
        "made-meaning-feel", "meaning",
        "For every record say whether the review is positive or negative: a list of these words, in order.",
        review_records, lambda: labels(reviews()[14:26]), share_right(0.8),
    ),
    Question(
        "made-meaning-happy", "meaning",
        "How many of these reviews were written by a satisfied customer?",
        lambda: items(reviews()[:13]), lambda: labels(reviews()[:13]).count("positive"), near_number,
    ),
    Question(
        "made-meaning-private", "meaning",
        "Read the chat and judge every message: is it about work, or is it private (family, food, leisure)? "
        "How many are private?",
        lambda: chat(122, 14),
        lambda: sum(topic == "private" for _, _, topic, _ in talk(122, 14)), near_number,
    ),
    Question(
        "made-meaning-commits", "meaning",
        "These are commit messages. What kind of change is each one: bug (something wrong was repaired), "
        "feature (users can do something new) or documentation? Answer with a list of these words, in order.",
        lambda: items(changes()), lambda: labels(changes()), share_right(0.75),
    ),
)  # fmt: skip

MADE: tuple[Question, ...] = (*SEARCH, *COUNT, *GROUP, *HOP, *RANGE, *MEANING)
