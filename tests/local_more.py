"""More questions that the small profile was tuned on, over data in other forms than those of ``local_suite``.

``scripts/bench local --set more`` runs them. Contract: as in ``local_suite``; what is judged by meaning comes
from the first half of its files, while those of the other sets come from the second.

>>> len({q.id for q in MORE}) == len(MORE) >= 20
True
"""

from __future__ import annotations

import ast
import inspect
import json.decoder
import random
import re
from collections import Counter
from functools import cache
from pydoc_data.topics import topics

from .local_opened import apache_rows, as_csv, as_json_lines
from .local_suite import (
    IP,
    SPAM_WORDS,
    Question,
    apache,
    coarse,
    first,
    hdfs,
    items,
    labels,
    lines,
    messages,
    near_number,
    questions,
    same_name,
    same_number,
    same_set,
    sampled,
    share_right,
    ssh,
    top,
)

# The data, in other forms


@cache
def ssh_rows() -> tuple[tuple[str, str, str, str], ...]:
    """(date, time, process, message)"""
    found = re.findall(r"^(\w{3} \d+) (\S+) LabSZ sshd\[(\d+)\]: (.*?)\r?$", ssh(), re.MULTILINE)
    assert len(found) == len(lines("openssh_2k.log"))
    return tuple(found)


def ssh_csv() -> str:
    return as_csv(("date", "time", "process", "message"), ssh_rows())


def apache_json() -> str:
    names = ("time", "level", "message")
    return as_json_lines([dict(zip(names, row, strict=True)) for row in apache_rows()])


def sms_csv() -> str:
    return as_csv(("label", "text"), messages())


def trec_json() -> str:
    rows = [(*label.split(":"), text) for label, text in questions()]
    return as_json_lines([dict(zip(("category", "kind", "question"), row, strict=True)) for row in rows])


def trec_list() -> list[str]:
    return [text for _, text in questions()]


def prose() -> str:
    return topics["string-methods"]


def random_code() -> str:
    return inspect.getsource(random)


def json_code() -> str:
    return inspect.getsource(json.decoder)


def _methods(source: str, name: str) -> int:
    (found,) = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef) and n.name == name]
    return sum(isinstance(part, ast.FunctionDef) for part in found.body)


@cache
def spam(seed: int, spam: int, ham: int) -> tuple[tuple[str, str], ...]:
    return sampled(messages()[:3000], seed, (("spam", spam), ("ham", ham)))


@cache
def asked(seed: int, *sizes: tuple[str, int]) -> tuple[tuple[str, str], ...]:
    return sampled(coarse(questions()[:2800]), seed, sizes)


# Golds of more than one step


def _process_of_root_max() -> int:
    process = next(process for _, _, process, message in ssh_rows() if "message repeated" in message)
    return sum(process == other for _, _, other, _ in ssh_rows())


def _last_receiver() -> int:
    ip = re.findall(rf"src: /({IP}):\d+ dest", hdfs())[-1]
    return len(re.findall(rf"src: /{re.escape(ip)}:", hdfs()))


def _same_kind() -> int:
    rows = [(label.split(":")[1], text) for label, text in questions()]
    kind = next(kind for kind, text in rows if "contemptible scoundrel" in text)
    return sum(kind == other for other, _ in rows)


S1, S2, S3 = (201, 6, 6), (202, 4, 7), (208, 7, 5)
T1 = (204, ("person", 4), ("location", 2), ("number", 4), ("entity", 2))
T2 = (205, ("location", 5), ("person", 2), ("description", 4))
T3 = (206, ("number", 3), ("person", 3), ("description", 3), ("location", 2))

MORE: tuple[Question, ...] = (
    Question(
        "more-search-disconnect", "search",
        "Which port did the user fztu come from when the password was accepted?",
        ssh_csv, lambda: first(r"Accepted password for fztu from \S+ port (\d+)", ssh()), same_number,
    ),
    Question(
        "more-search-kind", "search",
        "What kind does the record with the question about ozzy osbourne have?",
        trec_json, lambda: next(label.split(":")[1] for label, q in questions() if "Ozzy Osbourne" in q), same_name,
    ),
    Question(
        "more-search-seed", "search",
        "In which version of Python was the string method removeprefix added?",
        prose, lambda: first(r"str\.removeprefix(?s:.*?)in version (\d+\.\d+)", prose()), same_name,
    ),
    Question(
        "more-search-code", "search",
        "Which class does SystemRandom inherit from?",
        random_code, lambda: first(r"class SystemRandom\((\w+)\)", random_code()), same_name,
    ),
    Question(
        "more-search-start", "search",
        "At what time did the break-in attempts through customer-187-141-143-180-sta.uninet-ide.com.mx begin? "
        "Give the time of the first one.",
        ssh, lambda: first(r"(\d\d:\d\d:\d\d) .*customer-187-141-143-180", ssh()), same_name,
    ),
    Question(
        "more-count-errors", "count",
        "How many of the records are of the level error?",
        apache_json, lambda: sum(level == "error" for _, level, _ in apache_rows()), same_number,
    ),
    Question(
        "more-count-ham", "count",
        "Count the rows with the label ham.",
        sms_csv, lambda: sum(label == "ham" for label, _ in messages()), same_number,
    ),
    Question(
        "more-count-president", "count",
        "How many of these questions mention a president?",
        trec_list, lambda: sum("president" in q.casefold() for q in trec_list()), same_number,
    ),
    Question(
        "more-count-methods", "count",
        "How many methods does the class Random have?",
        random_code, lambda: _methods(random_code(), "Random"), same_number,
    ),
    Question(
        "more-count-break", "count",
        "What is the number of break-in attempts that the log reports?",
        ssh, lambda: sum("BREAK-IN" in line for line in lines("openssh_2k.log")), same_number,
    ),
    Question(
        "more-group-process", "group",
        "Which process (its number) has the most rows?",
        ssh_csv, lambda: top([process for _, _, process, _ in ssh_rows()]), same_name,
    ),
    Question(
        "more-group-kind", "group",
        "What is the most frequent kind among the records of category NUM?",
        trec_json, lambda: top([label[4:] for label, _ in questions() if label.startswith("NUM:")]), same_name,
    ),
    Question(
        "more-group-rarest", "group",
        "Which level do the fewest entries have?",
        apache, lambda: Counter(level for _, level, _ in apache_rows()).most_common()[-1][0], same_name,
    ),
    Question(
        "more-group-invalid", "group",
        "Which name was reported as that of an invalid user most often?",
        ssh_csv, lambda: top(re.findall(r"Invalid user (\S+) from", ssh())), same_name,
    ),
    Question(
        "more-hop-kind", "hop",
        "Somebody asks about a contemptible scoundrel. What kind is this question, and how many records are of "
        "the same kind?",
        trec_json, _same_kind, same_number,
    ),
    Question(
        "more-hop-source", "hop",
        "From which address (src) was the last block received? In how many lines is this address a source (src)?",
        hdfs, _last_receiver, same_number,
    ),
    Question(
        "more-hop-process", "hop",
        "Look for the process that accepted a password for fztu. How many rows does this process have?",
        ssh_csv, lambda: sum(p == "24680" for _, _, p, _ in ssh_rows()), same_number,
    ),
    Question(
        "more-range-morning", "range",
        "How many rows were written before 08:00:00?",
        ssh_csv, lambda: sum(time < "08:00:00" for _, time, _, _ in ssh_rows()), same_number,
    ),
    Question(
        "more-range-categories", "range",
        "Are there more records of the category HUM or of the category LOC? Name the category.",
        trec_json, lambda: top([c for c, _ in (q[0].split(":") for q in questions()) if c in ("HUM", "LOC")]),
        same_name,
    ),
    Question(
        "more-range-who", "range",
        "Do more of these questions begin with Who, with Where or with When?",
        trec_list, lambda: top([w for q in trec_list() if (w := q.split()[0]) in ("Who", "Where", "When")]),
        same_name,
    ),
    Question(
        "more-range-longest", "range",
        "How many characters long is the longest text that has the label spam?",
        sms_csv, lambda: max(len(text) for label, text in messages() if label == "spam"), same_number,
    ),
    Question(
        "more-range-kinds", "range",
        "How many different kinds are there in the category ENTY?",
        trec_json, lambda: len({label for label, _ in questions() if label.startswith("ENTY:")}), same_number,
    ),
    Question(
        "more-meaning-spam", "meaning",
        f"Every record has a text message, which is {SPAM_WORDS}. How many are ham?",
        lambda: as_json_lines([{"id": n, "text": text} for n, text in enumerate(items(spam(*S1)), 1)]),
        lambda: labels(spam(*S1)).count("ham"), near_number,
    ),
    Question(
        "more-meaning-ids", "meaning",
        f"The messages are {SPAM_WORDS}. Which ids have those that are ham? Answer with a list of ids.",
        lambda: as_csv(("id", "text"), [(500 + n, text) for n, text in enumerate(items(spam(*S2)))]),
        lambda: [500 + n for n, label in enumerate(labels(spam(*S2))) if label == "ham"], same_set(0.8),
    ),
    Question(
        "more-meaning-adverts", "meaning",
        "Which of these messages want to sell something or promise a prize? Answer with the list of their "
        "numbers, counted from 1.",
        lambda: items(spam(*S3)),
        lambda: [n for n, label in enumerate(labels(spam(*S3)), 1) if label == "spam"], same_set(0.8),
    ),
    Question(
        "more-meaning-who", "meaning",
        "Each line is a question. How many of them want the name of a person, and not a place, a number or a thing?",
        lambda: "\n".join(items(asked(*T1))), lambda: labels(asked(*T1)).count("person"), near_number,
    ),
    Question(
        "more-meaning-most", "meaning",
        "Decide for each question whether it asks for a location, a person or a description. Which of the three "
        "is asked for most often?",
        lambda: items(asked(*T2)), lambda: top(labels(asked(*T2))), same_name,
    ),
    Question(
        "more-meaning-labels", "meaning",
        "Give a list with one label for each question, in order: number (also dates and amounts), person, "
        "description (what something is, why, how) or location, by what it asks for.",
        lambda: items(asked(*T3)), lambda: labels(asked(*T3)), share_right(0.7),
    ),
)  # fmt: skip
