"""Questions over real data that show what the local model can do. ``scripts/bench local`` runs them.

Contract: every gold answer is computed from the data by code that stands here; nothing is typed in.
The small profile was tuned on all sets but one; ``local_held_out`` is held out.
Scoring is strict (the same number, the same name) except where meaning is judged item by item: there a
count may be off by one and a list of labels needs a stated share of them right.

>>> kinds = {q.kind for q in SUITE}
>>> sorted(kinds)
['count', 'group', 'hop', 'meaning', 'range', 'search']
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Literal

Kind = Literal["search", "count", "group", "hop", "range", "meaning"]
Score = Callable[[object, object], bool]

DATA = Path(__file__).resolve().parent.parent / "examples" / "data"
IP = r"\d+\.\d+\.\d+\.\d+"
COARSE = {
    "ABBR": "abbreviation",
    "DESC": "description",
    "ENTY": "entity",
    "HUM": "person",
    "LOC": "location",
    "NUM": "number",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``context`` and ``gold`` are functions, so that importing this reads nothing."""

    id: str
    kind: Kind
    question: str
    context: Callable[[], object]
    gold: Callable[[], object]
    score: Score


# The data


@cache
def text(name: str) -> str:
    """A file, byte for byte: the logs keep their CRLF."""
    return (DATA / name).read_bytes().decode("utf-8")


def lines(name: str) -> list[str]:
    return text(name).splitlines()


def ssh() -> str:
    return text("openssh_2k.log")


def hdfs() -> str:
    return text("hdfs_2k.log")


def apache() -> str:
    return text("apache_2k.log")


def sms() -> str:
    return text("sms_spam.tsv")


def trec() -> str:
    return text("trec_questions.label")


def messages() -> list[tuple[str, str]]:
    """(label, message) of every text message."""
    rows = [line.split("\t", 1) for line in re.split(r"\r?\n", sms())[1:] if line]
    return [(label, message) for label, message in rows]


def questions() -> list[tuple[str, str]]:
    """(label, question), the label as in ``NUM:date``."""
    rows = [line.split(" ", 1) for line in lines("trec_questions.label") if line]
    return [(label, question) for label, question in rows]


@cache
def sms_sample(seed: int, spam: int, ham: int) -> tuple[tuple[str, str], ...]:
    """Messages of both kinds, shuffled, from the second half of the file."""
    return sampled(messages()[3000:], seed, (("spam", spam), ("ham", ham)))


@cache
def trec_sample(seed: int, sizes: tuple[tuple[str, int], ...]) -> tuple[tuple[str, str], ...]:
    """Questions with their coarse label in words, shuffled, from the second half of the file."""
    return sampled(coarse(questions()[2800:]), seed, sizes)


def coarse(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(COARSE[label.split(":")[0]], question) for label, question in rows]


def sampled(
    rows: Sequence[tuple[str, str]], seed: int, sizes: Sequence[tuple[str, int]]
) -> tuple[tuple[str, str], ...]:
    """So many rows of each label, shuffled."""
    dice = random.Random(seed)
    chosen: list[tuple[str, str]] = []
    for label, size in sizes:
        chosen += dice.sample([row for row in rows if row[0] == label], size)
    dice.shuffle(chosen)
    return tuple(chosen)


def items(sample: Sequence[tuple[str, str]]) -> list[str]:
    return [item for _, item in sample]


def labels(sample: Sequence[tuple[str, str]]) -> list[str]:
    return [label for label, _ in sample]


def first(pattern: str, source: str) -> str:
    found = re.search(pattern, source)
    assert found, f"{pattern} is not in the data"
    return found[1]


def top(found: Sequence[str]) -> str:
    """The most frequent one; a tie would be no question."""
    ranked = Counter(found).most_common(2)
    assert len(ranked) == 1 or ranked[0][1] > ranked[1][1], ranked
    return ranked[0][0]


# Scorers: (answer, gold) -> right


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        bare = value.strip().replace(",", "")
        return float(bare) if re.fullmatch(r"-?\d+(\.\d+)?", bare) else None
    if isinstance(value, list | tuple) and len(value) == 1:
        return _number(value[0])
    return None


def _name(value: object) -> str:
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    return str(value).strip().strip("\"'`.,:()[]<>").strip().casefold()


def same_number(answer: object, gold: object) -> bool:
    number = _number(answer)
    return number is not None and number == _number(gold)


def near_number(answer: object, gold: object) -> bool:
    """For counts that rest on judging items one by one, and for rounded means: off by one at most."""
    number, wanted = _number(answer), _number(gold)
    return number is not None and wanted is not None and abs(number - wanted) <= 1


def same_name(answer: object, gold: object) -> bool:
    return _name(answer) == _name(gold)


def share_right(least: float) -> Score:
    """A list of labels, in order, of which at least this share is right."""

    def score(answer: object, gold: object) -> bool:
        if not isinstance(answer, list | tuple) or not isinstance(gold, list):
            return False
        if len(answer) != len(gold):
            return False
        return mean(_name(a) == _name(g) for a, g in zip(answer, gold, strict=True)) >= least

    return score


def same_set(least: float) -> Score:
    """A collection whose F1 against the gold one is at least this."""

    def score(answer: object, gold: object) -> bool:
        if not isinstance(answer, list | tuple | set) or not isinstance(gold, list):
            return False
        a, g = {_name(x) for x in answer}, {_name(x) for x in gold}
        return bool(a) and 2 * len(a & g) / (len(a) + len(g)) >= least

    return score


# The questions


def _hop_process() -> int:
    process = first(r"sshd\[(\d+)\]: Accepted password", ssh())
    return sum(f"sshd[{process}]" in line for line in lines("openssh_2k.log"))


def _hop_names_tried() -> int:
    ip = first(rf"Invalid user pgadmin from ({IP})", ssh())
    return len(set(re.findall(rf"Invalid user (\S+) from {re.escape(ip)}\b", ssh())))


def _hop_replica() -> int:
    ip = first(rf"ask ({IP}):\d+ to replicate", hdfs())
    return sum(bool(re.search(rf"(?<!\d){re.escape(ip)}(?!\d)", line)) for line in lines("hdfs_2k.log"))


def _failed_ips() -> list[str]:
    return re.findall(rf"Failed password for .* from ({IP})", ssh())


def _hop_first_seen() -> str:
    ip = top(_failed_ips())
    return next(line.split()[2] for line in lines("openssh_2k.log") if ip in line)


def _hop_same_label() -> int:
    label = next(label for label, question in questions() if "fear of strong light" in question)
    return sum(other == label for other, _ in questions())


SEARCH = (
    Question(
        "search-login", "search",
        "One user managed to log in with a password. What is the name of that user?",
        ssh, lambda: first(r"Accepted password for (\S+)", ssh()), same_name,
    ),
    Question(
        "search-block", "search",
        "Once, a thread was started to transfer a block to another node. What is the id of that block?",
        hdfs, lambda: first(r"Starting thread to transfer block (\S+)", hdfs()), same_name,
    ),
    Question(
        "search-number", "search",
        "Somebody can win FA Cup final tickets by sending a text with the word FA. To which number?",
        sms, lambda: first(r"Text FA to (\d+)", sms()), same_name,
    ),
    Question(
        "search-label", "search",
        "What label stands in front of the question about the cartoon character Chilly Willy?",
        trec, lambda: next(label for label, q in questions() if "Chilly Willy" in q), same_name,
    ),
    Question(
        "search-last", "search",
        "Which client was the last one to be refused a directory index? Give its IP address.",
        apache, lambda: re.findall(rf"client ({IP})\] Directory index forbidden", apache())[-1], same_name,
    ),
)  # fmt: skip

COUNT = (
    Question(
        "count-invalid", "count",
        "How many lines say that a password failed for an invalid user?",
        ssh, lambda: sum("Failed password for invalid user" in x for x in lines("openssh_2k.log")), same_number,
    ),
    Question(
        "count-errors", "count",
        "How many entries of this log have the level error?",
        apache, lambda: sum("] [error] " in x for x in lines("apache_2k.log")), same_number,
    ),
    Question(
        "count-warnings", "count",
        "How many warnings does the log contain?",
        hdfs, lambda: sum(x.split()[3] == "WARN" for x in lines("hdfs_2k.log")), same_number,
    ),
    Question(
        "count-spam", "count",
        "How many of the messages carry the label spam?",
        sms, lambda: sum(label == "spam" for label, _ in messages()), same_number,
    ),
    Question(
        "count-places", "count",
        "How many of the questions have LOC as the coarse label, that is, the part before the colon?",
        trec, lambda: sum(label.startswith("LOC:") for label, _ in questions()), same_number,
    ),
)  # fmt: skip

GROUP = (
    Question(
        "group-user", "group",
        "Which invalid user name was reported most often?",
        ssh, lambda: top(re.findall(r"\]: Invalid user (\S+) from", ssh())), same_name,
    ),
    Question(
        "group-component", "group",
        "Which component, such as dfs.DataBlockScanner, wrote the most lines?",
        hdfs, lambda: top([x.split()[4] for x in lines("hdfs_2k.log")]), same_name,
    ),
    Question(
        "group-label", "group",
        "What is the most frequent full label (both parts, as in LOC:city)?",
        trec, lambda: top([label for label, _ in questions()]), same_name,
    ),
    Question(
        "group-attacker", "group",
        "From which IP address did the greatest number of failed passwords come?",
        ssh, lambda: top(_failed_ips()), same_name,
    ),
    Question(
        "group-date", "group",
        "On which date, written as in the first field, were the most lines logged?",
        hdfs, lambda: top([x.split()[0] for x in lines("hdfs_2k.log")]), same_name,
    ),
)  # fmt: skip

HOP = (
    Question(
        "hop-process", "hop",
        "Find the sshd process, the number in sshd[...], that accepted a password. "
        "How many lines of the log come from that process?",
        ssh, _hop_process, same_number,
    ),
    Question(
        "hop-names", "hop",
        "Which IP address tried the invalid user pgadmin? Tell me how many different invalid user names "
        "this address tried in all.",
        ssh, _hop_names_tried, same_number,
    ),
    Question(
        "hop-replica", "hop",
        "A datanode was asked to replicate a block. How many lines of the log mention the IP address of "
        "that datanode?",
        hdfs, _hop_replica, same_number,
    ),
    Question(
        "hop-first-seen", "hop",
        "Take the IP address with the most failed passwords. At what time (HH:MM:SS) does this address "
        "appear in the log for the first time?",
        ssh, _hop_first_seen, same_name,
    ),
    Question(
        "hop-same-label", "hop",
        "Look up the label of the question about the fear of strong light. How many questions have exactly "
        "the same label?",
        trec, _hop_same_label, same_number,
    ),
)  # fmt: skip

RANGE = (
    Question(
        "range-addresses", "range",
        "How many different IP addresses had at least one failed password?",
        ssh, lambda: len(set(_failed_ips())), same_number,
    ),
    Question(
        "range-hour", "range",
        "How many lines with a failed password were logged from 10:00:00 to 10:59:59?",
        ssh, lambda: sum("Failed password" in x and x.split()[2][:2] == "10" for x in lines("openssh_2k.log")),
        same_number,
    ),
    Question(
        "range-nodes", "range",
        "How many different nodes (IP addresses) got an exception while serving a block?",
        hdfs, lambda: len(set(re.findall(rf"({IP}):\d+:Got exception while serving", hdfs()))), same_number,
    ),
    Question(
        "range-clients", "range",
        "How many distinct clients were refused a directory index on Sun Dec 04?",
        apache, lambda: len(set(re.findall(rf"Sun Dec 04 .*client ({IP})\] Directory index", apache()))),
        same_number,
    ),
    Question(
        "range-length", "range",
        "On average, how many characters long are the messages labelled spam, without the label and the tab? "
        "Round to a whole number.",
        sms, lambda: round(mean(len(m) for label, m in messages() if label == "spam")), near_number,
    ),
)  # fmt: skip

SPAM_WORDS = "spam (adverts, prizes, paid services) or ham (a normal message between people)"
KINDS_WORDS = (
    "person, location, number (also dates and amounts), description (a definition, reason or manner), "
    "entity (a thing, animal, work or word) or abbreviation (a short form or what it stands for)"
)
SMS_A, SMS_B, SMS_C = (7, 5, 7), (8, 4, 6), (9, 6, 6)
TREC_A = (11, (("person", 5), ("location", 2), ("number", 2), ("description", 2), ("entity", 1)))
TREC_B = (
    12,
    (("person", 2), ("location", 2), ("number", 2), ("description", 2), ("entity", 1), ("abbreviation", 1)),
)
TREC_C = (13, (("number", 6), ("location", 2), ("person", 3), ("description", 1)))

MEANING = (
    Question(
        "meaning-spam-count", "meaning",
        f"Every item is a text message. By its meaning it is {SPAM_WORDS}. How many are spam?",
        lambda: items(sms_sample(*SMS_A)), lambda: labels(sms_sample(*SMS_A)).count("spam"), near_number,
    ),
    Question(
        "meaning-spam-labels", "meaning",
        f"Judge each message: {SPAM_WORDS}. Answer with the list of labels, in order.",
        lambda: items(sms_sample(*SMS_B)), lambda: labels(sms_sample(*SMS_B)), share_right(0.8),
    ),
    Question(
        "meaning-spam-which", "meaning",
        f"There is one text message a line. Each is {SPAM_WORDS}. "
        "Give the list of line numbers, counted from 1, of those that are spam.",
        lambda: "\n".join(items(sms_sample(*SMS_C))),
        lambda: [n for n, label in enumerate(labels(sms_sample(*SMS_C)), 1) if label == "spam"], same_set(0.8),
    ),
    Question(
        "meaning-person-count", "meaning",
        f"Each line is a question that asks for one of these: {KINDS_WORDS}. How many ask for a person?",
        lambda: "\n".join(items(trec_sample(*TREC_A))), lambda: labels(trec_sample(*TREC_A)).count("person"),
        near_number,
    ),
    Question(
        "meaning-kind-labels", "meaning",
        f"Each item is a question that asks for one of these: {KINDS_WORDS}. "
        "Answer with the list of these labels, in order.",
        lambda: items(trec_sample(*TREC_B)), lambda: labels(trec_sample(*TREC_B)), share_right(0.7),
    ),
    Question(
        "meaning-kind-most", "meaning",
        "What do these questions ask for most often: a person, a location, a number or a description?",
        lambda: items(trec_sample(*TREC_C)), lambda: top(labels(trec_sample(*TREC_C))), same_name,
    ),
)  # fmt: skip

SUITE: tuple[Question, ...] = (*SEARCH, *COUNT, *GROUP, *HOP, *RANGE, *MEANING)
