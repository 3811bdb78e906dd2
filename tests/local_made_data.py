"""Made data for ``local_made``: the same on every machine, from seeds, in forms that people keep data in.

>>> len(access().splitlines()), len(journal().splitlines()), len(module().splitlines())
(1500, 1200, 165)
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from .local_opened import as_csv


def best(sums: Mapping[str, float], *, least: bool = False) -> str:
    """The key of the greatest value (or of the least); a tie would be no question."""
    ranked = sorted(sums, key=lambda key: sums[key], reverse=not least)
    assert sums[ranked[0]] != sums[ranked[1]], ranked[:2]
    return ranked[0]


# A web server's access log


class Hit(NamedTuple):
    address: str
    time: datetime
    method: str
    path: str
    status: int
    size: int


PATHS = {
    "/": 20, "/products": 14, "/products/42": 6, "/cart": 8, "/checkout": 5, "/login": 7,
    "/static/site.css": 12, "/static/logo.png": 10, "/api/stock": 9, "/about": 3, "/robots.txt": 2,
    "/feed.xml": 3,
}  # fmt: skip
GONE = {"/favicon.ico": 5, "/wp-login.php": 7, "/.env": 4, "/old/catalogue.html": 3, "/phpmyadmin/": 2}
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/122.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) Version/17.3 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0",
    "curl/8.5.0",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
)


@lru_cache
def hits() -> tuple[Hit, ...]:
    dice = random.Random(31)
    people = [
        f"{dice.randint(11, 223)}.{dice.randint(0, 255)}.{dice.randint(0, 255)}.{n + 3}" for n in range(90)
    ]
    now, made = datetime(2026, 3, 12, 0, 3), []
    for number in range(1500):
        now += timedelta(seconds=dice.randint(1, 210))
        missing = dice.random() < 0.1
        pool = GONE if missing else PATHS
        path = dice.choices(list(pool), list(pool.values()))[0]
        status = (
            404 if missing else dice.choices((200, 304, 302, 403, 500, 502, 503), (80, 8, 4, 3, 3, 1, 1))[0]
        )
        method = "POST" if path in ("/login", "/checkout") and dice.random() < 0.6 else "GET"
        if number == 911:
            method, path, status = "GET", "/backup/site-2025.zip", 200
        size = {404: 153, 304: 0}.get(status, dice.randint(180, 48_000))
        address = dice.choices(people, [1 + 40 // (n + 1) for n in range(90)])[0]
        made.append(Hit(address, now, method, path, status, size))
    return tuple(made)


@lru_cache
def access() -> str:
    dice = random.Random(32)
    return "".join(
        f'{h.address} - - [{h.time:%d/%b/%Y:%H:%M:%S} +0100] "{h.method} {h.path} HTTP/1.1" {h.status} '
        f'{h.size} "{dice.choice(("-", "-", "https://shop.example/"))}" "{dice.choice(AGENTS)}"\n'
        for h in hits()
    )


# The journal of a host

SERVICES = {
    "payments": (
        "card gateway answered in {} ms",
        "card gateway is slow: {} ms",
        "card declined for order {}",
    ),
    "mailer": ("sent message {}", "queue holds {} messages", "mailbox of user {} refused the message"),
    "backup": ("copied {} files", "volume is {}% full", "checksum of chunk {} differs"),
    "auth": ("session {} opened", "password of user {} expires soon", "token {} rejected"),
    "indexer": ("indexed {} documents, errors: 0", "segment {} is large", "cannot read document {}"),
}
Entry = tuple[str, str, str, str]


@lru_cache
def entries() -> tuple[Entry, ...]:
    """(time, service, level, message)"""
    dice, now, made = random.Random(41), datetime(2026, 4, 7, 0, 0, 9), []
    for number in range(1200):
        now += timedelta(seconds=dice.randint(1, 130))
        service = dice.choices(list(SERVICES), (9, 7, 4, 8, 6))[0]
        level = dice.choices(("INFO", "WARNING", "ERROR"), (80, 13, 7))[0]
        text = SERVICES[service][("INFO", "WARNING", "ERROR").index(level)].format(dice.randint(1, 99))
        if number == 777:
            service, level, text = "backup", "CRITICAL", "target disk went read-only"
        made.append((f"{now:%b %d %H:%M:%S}", service, level, text))
    return tuple(made)


@lru_cache
def journal() -> str:
    pids = {name: 400 + 37 * n for n, name in enumerate(SERVICES)}
    return "".join(f"{t} vega {s}[{pids[s]}]: {level}: {text}\n" for t, s, level, text in entries())


# Tables and records


class Order(NamedTuple):
    id: int
    date: str
    customer: str
    country: str
    product: str
    quantity: int
    price: str
    status: str


@lru_cache
def orders() -> tuple[Order, ...]:
    dice, made = random.Random(51), []
    products = {
        "desk lamp": 3990,
        "office chair": 18900,
        "notebook": 450,
        "headset": 7450,
        "monitor": 21900,
        "mouse": 2495,
    }
    homes = {f"{a} {b}": dice.choice(("Denmark", "Germany", "France", "Poland", "Spain", "Austria"))
             for a in ("Ida", "Jonas", "Clara", "Piotr", "Lucia", "Emil")
             for b in ("Berg", "Novak", "Roth", "Dupont", "Vega")}  # fmt: skip
    for number in range(800):
        day = datetime(2026, 1, 2) + timedelta(days=number * 118 // 800)
        customer, product = dice.choice(list(homes)), dice.choice(list(products))
        cents = products[product] - dice.choice((0, 0, 0, 100, 250))
        status = dice.choices(("shipped", "delivered", "cancelled", "returned"), (25, 60, 9, 6))[0]
        quantity = dice.choice((1, 1, 1, 2, 2, 3, 5))
        made.append(Order(5001 + number, f"{day:%Y-%m-%d}", customer, homes[customer], product, quantity,
                          f"{cents / 100:.2f}", status))  # fmt: skip
    return tuple(made)


def orders_csv() -> str:
    return as_csv(Order._fields, orders())


class Day(NamedTuple):
    date: str
    town: str
    temp_min: float
    temp_max: float
    rain_mm: float


@lru_cache
def days() -> tuple[Day, ...]:
    dice, made = random.Random(62), []
    towns = {
        "Oslo": (8, 2.0),
        "Bergen": (9, 6.0),
        "Hamar": (6, 1.8),
        "Bodo": (4, 4.5),
        "Kristiansand": (10, 3.0),
    }
    for number in range(122):
        date = f"{datetime(2026, 4, 1) + timedelta(days=number):%Y-%m-%d}"
        for town, (warmth, wet) in towns.items():
            low = round(warmth - 6 + number / 15 + dice.gauss(0, 2.5), 1)
            rain = round(dice.expovariate(1 / wet), 1) if dice.random() < 0.55 else 0.0
            made.append(Day(date, town, low, round(low + dice.uniform(3, 12), 1), rain))
    return tuple(made)


def weather() -> str:
    return as_csv(Day._fields, days())


@lru_cache
def events() -> tuple[dict[str, dict[str, object]], ...]:
    dice, now = random.Random(71), datetime(2026, 5, 4, 6)
    made: list[dict[str, dict[str, object]]] = []
    for number in range(600):
        now += timedelta(seconds=dice.randint(2, 90))
        kind = dice.choices(("login", "search", "view_item", "checkout", "logout"), (20, 30, 40, 12, 15))[0]
        user: dict[str, object] = {
            "id": f"u{dice.randint(100, 160)}",
            "plan": dice.choice(("free", "free", "team", "pro")),
        }
        app: dict[str, object] = {
            "version": dice.choice(("3.1.0", "3.2.0", "3.2.1")),
            "os": dice.choice(("android", "ios", "web")),
        }
        result: dict[str, object] = {"ok": dice.random() < 0.85, "duration_ms": dice.randint(12, 900)}
        made.append({"event": {"n": number + 1, "ts": f"{now:%Y-%m-%dT%H:%M:%SZ}", "type": kind},
                     "user": user, "app": app, "result": result})  # fmt: skip
    return tuple(made)


def events_json() -> str:
    """The fields of ``event`` stand at the top, the others stay nested."""
    return "".join(
        json.dumps({**e["event"], **{k: v for k, v in e.items() if k != "event"}}) + "\n" for e in events()
    )


# What programmers have: a history, a configuration, the output of a build, a module

AREAS = (
    "parser",
    "exporter",
    "calendar",
    "search box",
    "importer",
    "report page",
    "mobile view",
    "billing form",
)
CHANGES = {
    "bug": (
        "Stop the {} from crashing on empty input", "The {} no longer shows the wrong total",
        "Correct an off-by-one in the {}", "Do not lose the last row in the {}",
        "Avoid a deadlock when the {} is closed early",
    ),
    "feature": (
        "Let users choose a colour in the {}", "Add dark mode to the {}", "Support drag and drop in the {}",
        "Offer keyboard shortcuts in the {}", "The {} can now be saved as a template",
    ),
    "documentation": (
        "Explain the options of the {} in the guide", "Add a tutorial about the {} to the README",
        "Reword the help page of the {}", "Describe the {} in the manual, with screenshots",
    ),
}  # fmt: skip
WRITERS = ("Priya Nair", "Tom Okafor", "Lena Schulz", "Mateo Ruiz", "Yuki Tanaka")


@lru_cache
def commits() -> tuple[tuple[str, str, str, str], ...]:
    """(hash, author, date, subject)"""
    dice, now, made = random.Random(81), datetime(2026, 6, 30, 18), []
    for number in range(120):
        now -= timedelta(seconds=dice.randint(1800, 120_000))
        subject = dice.choice(CHANGES[dice.choices(list(CHANGES), (5, 4, 2))[0]]).format(dice.choice(AREAS))
        subject = {37: "Drop support for Python 3.8", 74: "Plug a memory leak in the scheduler"}.get(
            number, subject
        )
        author = dice.choices(WRITERS, (9, 6, 5, 3, 2))[0]
        made.append((f"{dice.getrandbits(160):040x}", author, f"{now:%a %b %d %H:%M:%S %Y} +0200", subject))
    return tuple(made)


def git_log() -> str:
    mails = {name: f"{name.split()[0].lower()}@example.org" for name in WRITERS}
    return "\n".join(
        f"commit {h}\nAuthor: {a} <{mails[a]}>\nDate:   {d}\n\n    {s}\n" for h, a, d, s in commits()
    )


@lru_cache
def config() -> str:
    dice, made = random.Random(91), []
    for name in (
        "web", "database", "replica", "session-cache", "page-cache", "mailer", "search", "thumbnails",
        "billing", "reports", "metrics", "tracing", "backup", "webhooks", "sandbox",
    ):  # fmt: skip
        made += [f"[{name}]", f"; settings of the {name} service",
                 f"enabled = {dice.choice(('yes', 'yes', 'no'))}", f"host = {name}.int.example",
                 f"port = {dice.randint(3000, 9999)}",
                 f"timeout_s = {dice.choice((2, 5, 10, 30, 60))}", f"retries = {dice.randint(0, 6)}",
                 f"log_level = {dice.choice(('debug', 'info', 'warning'))}",
                 f"workers = {dice.randint(1, 16)}", ""]  # fmt: skip
    return "\n".join(made)


@lru_cache
def tests_run() -> tuple[tuple[str, str, float], ...]:
    """(test, outcome, seconds)"""
    dice = random.Random(101)
    names = [f"tests/test_{file}.py::test_{verb}_{what}"
             for file in ("cart", "login", "stock", "export", "invoice", "search")
             for verb in ("empty", "adds", "removes", "rejects", "keeps")
             for what in ("one_item", "duplicates", "unicode", "limits", "order")]  # fmt: skip
    outcomes = dice.choices(("PASSED", "FAILED", "SKIPPED"), (88, 8, 4), k=len(names))
    seconds = [0.0 if o == "SKIPPED" else round(0.01 + dice.expovariate(1.2), 2) for o in outcomes]
    return tuple(zip(names, outcomes, seconds, strict=True))


def build_log() -> str:
    steps = (
        "Checking out the sources",
        "Restoring the cache (hit)",
        "Installing 84 packages",
        "Compiling 132 files",
        "Running the tests",
    )
    head = [f"##[step {n}/6] {step}" for n, step in enumerate(steps, 1)]
    head.insert(3, "warning: package left-pad is deprecated")
    return "\n".join(
        [*head, *(f"{t} {o} ({s:.2f}s)" for t, o, s in tests_run()), "##[step 6/6] Uploading the report", ""]
    )


SENSORS = (
    ("Sensor", "", "read calibrate reset describe is_stale"), ("Thermometer", "Sensor", "read to_fahrenheit"),
    ("Barometer", "Sensor", "read at_sea_level trend"), ("Hygrometer", "Sensor", "read dew_point"),
    ("Anemometer", "Sensor", "read gust direction"), ("SoilProbe", "Hygrometer", "read depth"),
    ("Store", "", "append latest between"),
    ("FileStore", "Store", "append latest between rotate compact close verify"),
    ("MemoryStore", "Store", "append latest"),
    ("Alarm", "", "check notify"), ("FrostAlarm", "Alarm", "check"), ("StormAlarm", "Alarm", "check level"),
)  # fmt: skip


@lru_cache
def module() -> str:
    """A module of a weather station: the classes of ``SENSORS``, with short bodies of several shapes."""
    shapes = (
        "return self._{0}",
        "self._{0} = True\n        return self",
        'if self._{0} is None:\n            raise ValueError("{0}")\n        return self._{0}',
    )
    dice, parts = (
        random.Random(111),
        ['"""A weather station: sensors, stores and alarms."""\n\nfrom __future__ import annotations\n'],
    )
    for name, base, methods in SENSORS:
        bodies = [
            f"    def {m}(self):\n        " + dice.choice(shapes).format(m) + "\n" for m in methods.split()
        ]
        parts.append(f"\nclass {name}{f'({base})' if base else ''}:\n" + "\n".join(bodies))
    return "\n".join(parts)
