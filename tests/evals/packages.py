"""Small packages of the shape of those that are fetched, in a folder that stands for the index."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from pathlib import Path

from unspool.evals.data import Data
from unspool.evals.fetched import AA_LCR, ESSAYS, HOTPOT, LCR, LONG_CONTEXT, PACKAGES, Fetched
from unspool.models.catalog import LocalFile
from unspool.models.sources import Wheel

THINGS = (
    "river",
    "bridge",
    "harbour",
    "market",
    "garden",
    "theatre",
    "library",
    "station",
    "castle",
    "orchard",
)


def essays() -> bytes:
    """Paragraphs as they stand there: one behind the other, broken into lines anywhere."""
    told = [
        f"Of the {thing} number {number} people said many different things over the years,\nand each of them "
        f"thought that the old {thing} was better than whatever {THINGS[number % 7]} came after it."
        for number in range(40)
        for thing in THINGS
    ]
    words = " ".join(
        f"{'abcdefghijklmnopqrstuvwxyz'[n % 26]}{'aeiou'[n // 26 % 5]}lantern{'aeiou'[n // 130]}"
        for n in range(640)
    )
    prose = (
        f"Twice they were named in this order: {words} and so on and on until the end of it all came near."
    )
    return json.dumps(
        {"text": "".join([*told, prose, prose + " Again.", "\n\n   (def code)\n\nShort."])}
    ).encode()


def hotpot(questions: int = 30) -> bytes:
    """Questions of both kinds, each over two documents among ten."""
    rows = []
    for number in range(questions):
        kind = ("bridge", "comparison")[number % 2]
        pair = [f"The {THINGS[number % 10]} {number}", f"Builder {number}"]
        context = [
            [
                pair[0],
                [
                    f"It was built by Builder {number}.",
                    f" It is the {number}th of its kind. " + "Stone. " * 40,
                ],
            ],
            [pair[1], [f"Builder {number} was born in Town {number}. ", "Wood. " * 40]],
            *(
                [f"Other {number} {each}", [f"Nothing of interest, {each} times. " + "Clay. " * 40]]
                for each in range(8)
            ),
        ]
        answer = f"Town {number}" if kind == "bridge" else ("yes", "no")[number // 2 % 2]
        rows.append({
            "_id": str(number), "answer": answer, "type": kind, "level": "hard", "context": context[::-1],
            "question": f"Where was the builder of the {THINGS[number % 10]}  {number} born?",
            "supporting_facts": [[title, 0] for title in pair],
        })  # fmt: skip
    return json.dumps(rows).encode()


ROWS = [
    ("How many acres?", "60.8 acres", 1),
    ("By what percentage did it fall?", "0.0153", 1),
    ("Who said so?", "The Iconic", 1),
    ("Which companies should I read?", "Afterpay, Zip and Sons", 2),
    ("What happened?", "In Q1 2023, income was $1,338,724, an increase of 8.57%.", 2),
    ("Rank the directors.", "1. Flynn\n2. Lambert", 2),
    ("Rank the two companies.", "Atlassian, Smartsheet", 2),
    ("Provide the month and year.", "45444", 3),
    ("Did it change?", "No", 3),
]


def lcr() -> bytes:
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(["question", "answer", "context"])
    for question, answer, place in ROWS:
        documents = [
            f"BEGIN DOCUMENT {n}:\n{f'Report {n} of {place}. ' * 12_000}\n\nEND DOCUMENT {n}" for n in (1, 2)
        ]
        table.writerow([question, answer, "\n\n".join(documents)])
    return out.getvalue().encode()


def put(index: Path, name: str, members: dict[str, bytes]) -> LocalFile:
    """A wheel of the name and version of a real package; its entry."""
    real = PACKAGES[name]
    wheel = index / real.file
    info = f"{real.package.replace('-', '_')}-{real.version}.dist-info"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for member, content in members.items():
            out.writestr(member, content)
        out.writestr("aa_lcr/__init__.py", "raise SystemExit('the code of a package was imported')")
        out.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {real.package}\nVersion: {real.version}\n"
        )
        out.writestr(f"{info}/WHEEL", kind)
        out.writestr(f"{info}/RECORD", "")
    data = wheel.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return LocalFile(real.name, real.file, len(data), digest, "", real.package, 1, real.version)


def small(folder: Path) -> Data:
    """Both packages, small, in an index of their own, and nothing fetched yet."""
    index = folder / "index"
    index.mkdir(parents=True, exist_ok=True)
    entries = [
        put(index, LONG_CONTEXT, {ESSAYS: essays(), HOTPOT: hotpot()}),
        put(index, AA_LCR, {LCR: lcr()}),
    ]
    source = Wheel(("--no-index", "--find-links", str(index)))
    return Data(None, Fetched(folder / "cache", (source,), {each.name: each for each in entries}))
