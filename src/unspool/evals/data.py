"""The real data that suites are made of.

Contract: labelled questions, labelled messages and logs come from a folder (``examples/data`` of the
repository, where their references stand); prose and code come from the Python that runs: its language
reference (``pydoc_data``) and its standard library; essays, and the questions and documents of HotpotQA and
AA-LCR from packages that are fetched once (``fetched.py``). Nothing else is fetched. What is not there is a
:class:`unspool.errors.ConfigError` that says what to do.

>>> len(paragraphs()) > 500, len(common_words()) > 1000
(True, True)
>>> [path for path, _ in modules() if path == "json/decoder.py"]
['json/decoder.py']
"""

from __future__ import annotations

import re
import sysconfig
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from ..errors import ConfigError
from . import aa_lcr, essays, hotpotqa
from .fetched import AA_LCR, ESSAYS, HOTPOT, LCR, LONG_CONTEXT, Fetched, read_member

T = TypeVar("T")

FOLDER = Path("examples", "data")  # in a checkout
REPOSITORY = Path(__file__).resolve().parents[3] / FOLDER

TREC_LABELS = {
    "ABBR": ("abbreviation", "a short form, or what one stands for"),
    "DESC": ("description", "a definition, a reason, a manner or other description"),
    "ENTY": ("entity", "a thing, animal, substance, work, event, term or the like"),
    "HUM": ("person", "a person or a group of people"),
    "LOC": ("location", "a place"),
    "NUM": ("number", "a number, a date, an amount or a measure"),
}
SMS_LABELS = {"ham": "a message between people", "spam": "advertising, a prize or a paid service"}

_PROSE, _LONG_LINE = 120, 20  # characters: of a paragraph, and of the words of one that is prose
# Tests hold files that are wrong on purpose; the others are not what a program of one's own looks like.
_NOT_CODE = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "pydoc_data",
    "encodings",
}
_LARGEST_MODULE = 60_000  # characters: so that a small size has several


class Data:
    """The files of a folder, and of the packages that are fetched, read when they are asked for."""

    def __init__(self, folder: Path | None = None, fetched: Fetched | None = None) -> None:
        here = FOLDER if FOLDER.is_dir() and not REPOSITORY.is_dir() else REPOSITORY
        self.folder = here if folder is None else folder
        self.fetched = Fetched() if fetched is None else fetched

    def text(self, name: str) -> str:
        return _read(self.folder / name)

    def questions(self) -> tuple[tuple[str, str], ...]:
        """(question, label in words), each once; those that carry two labels are left out."""
        return _questions(self.text("trec_questions.label"))

    def messages(self) -> tuple[tuple[str, str], ...]:
        """(message, ``ham`` or ``spam``), each once."""
        return _messages(self.text("sms_spam.tsv"))

    def log(self, name: str) -> tuple[str, ...]:
        """The lines of ``openssh``, ``hdfs`` or ``apache``, without their line ends."""
        return tuple(line for line in re.split(r"\r*\n", self.text(f"{name}_2k.log")) if line)

    def essays(self) -> tuple[str, ...]:
        """Prose: the paragraphs of Paul Graham's essays, one line each."""
        return _essays(self.fetched.get(LONG_CONTEXT))

    def hotpot(self) -> hotpotqa.HotpotQA:
        """The questions of HotpotQA's distractor set, and all its documents."""
        return _hotpot(self.fetched.get(LONG_CONTEXT))

    def lcr(self) -> tuple[aa_lcr.Question, ...]:
        """The questions of AA-LCR that code can score, in the order in which they are asked."""
        return _lcr(self.fetched.get(AA_LCR))


@cache
def _essays(path: Path) -> tuple[str, ...]:
    return _packed(path, ESSAYS, essays.read)


@cache
def _hotpot(path: Path) -> hotpotqa.HotpotQA:
    return _packed(path, HOTPOT, hotpotqa.read)


@cache
def _lcr(path: Path) -> tuple[aa_lcr.Question, ...]:
    return _packed(path, LCR, aa_lcr.read)


def _packed(path: Path, member: str, read: Callable[[bytes], T]) -> T:
    data = read_member(path, member)
    try:
        return read(data)
    except (ValueError, LookupError, TypeError) as error:
        raise ConfigError(f"{path}: {member} is not of the form that is known ({error})") from None


@cache
def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        where = "" if path.parent == REPOSITORY else f" in {path.parent} ({error.strerror})"
        raise ConfigError(
            f"{path.name} cannot be read{where}: this suite is made of the files in examples/data of "
            "unspool's repository; ask in a checkout of it, or name that folder with --data DIR"
        ) from None


def _once(pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each text once, where all agree on its label: another text may not be told apart from it."""
    labels: dict[str, set[str]] = {}
    for text, label in pairs:
        labels.setdefault(text, set()).add(label)
    return tuple((text, next(iter(given))) for text, given in labels.items() if len(given) == 1)


@cache
def _questions(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [line.partition(" ") for line in text.splitlines() if line.strip()]
    return _once([(" ".join(q.split()), TREC_LABELS[label.partition(":")[0]][0]) for label, _, q in pairs])


@cache
def _messages(text: str) -> tuple[tuple[str, str], ...]:
    rows = [line.partition("\t") for line in text.split("\n")[1:] if line.strip()]
    return _once([(" ".join(message.split()), label) for label, _, message in rows if label in SMS_LABELS])


@cache
def paragraphs() -> tuple[str, ...]:
    """Prose: the paragraphs of Python's language reference, one line each."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise ConfigError(
            "this suite hides things in the prose of Python's language reference, and this Python comes "
            "without it (the module pydoc_data.topics)"
        ) from None
    found: dict[str, None] = {}
    for _, topic in sorted(topics.items()):
        for block in re.split(r"\n\s*\n", topic):
            line = " ".join(block.split())
            if len(line) >= _PROSE and line.endswith((".", ":")) and len(line.split()) >= _LONG_LINE:
                found[line] = None
    return tuple(found)


@cache
def modules() -> tuple[tuple[str, str], ...]:
    """(path, source) of the modules of the standard library, those of its tests left out, by path."""
    root = Path(sysconfig.get_path("stdlib"))
    found: list[tuple[str, str]] = []
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root)
        if _NOT_CODE & set(inner.parts):
            continue
        try:
            source = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):  # a link that leads nowhere, a module in another encoding
            continue
        if source.strip() and len(source) <= _LARGEST_MODULE:
            found.append((inner.as_posix(), source))
    if not found:
        raise ConfigError(f"this suite is made of Python's standard library, and {root} has no sources")
    return tuple(found)


def common_words(least: int = 5) -> tuple[str, ...]:
    """The words of the prose, the most frequent first: letters a to z alone, ``least`` at least."""
    return words_of(paragraphs(), least)


@cache
def words_of(prose: tuple[str, ...], least: int = 5) -> tuple[str, ...]:
    """The same of other paragraphs."""
    words = re.findall(rf"\b[a-z]{{{least},12}}\b", " ".join(prose))
    return tuple(word for word, times in Counter(words).most_common() if times > 1)
