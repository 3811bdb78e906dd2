"""A third set of questions on which the small profile was tuned, from 30 November 2026 on.

``scripts/bench local --set opened`` runs them. Contract: as in ``local_suite``, whose words, data and
scorers these share: golds are computed by code. They were held out first: written and committed before the
work on the profile that they were to judge, with transcripts that nobody read, until a whole pass had been
measured (docs/small-models.md). The contexts are of other kinds, too: CSV, JSON lines, lists, the prose and
the code of Python's own library.

>>> kinds = {q.kind for q in OPENED}
>>> sorted(kinds)
['count', 'group', 'hop', 'meaning', 'range', 'search']
"""

from __future__ import annotations

import argparse
import ast
import csv
import inspect
import io
import json
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pydoc_data.topics import topics

from .local_suite import (
    IP,
    SPAM_WORDS,
    Question,
    apache,
    first,
    items,
    labels,
    lines,
    messages,
    near_number,
    questions,
    same_name,
    same_number,
    same_set,
    share_right,
    sms_sample,
    ssh,
    top,
    trec_sample,
)

# The data, in other forms


def as_csv(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def as_json_lines(rows: Sequence[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@cache
def trec_rows() -> tuple[tuple[str, str, str], ...]:
    """(coarse, fine, question)"""
    return tuple((*label.split(":"), question) for label, question in questions())  # type: ignore[misc]


def trec_csv() -> str:
    return as_csv(("category", "subcategory", "question"), trec_rows())


@cache
def apache_rows() -> tuple[tuple[str, str, str], ...]:
    """(time, level, message)"""
    return tuple(re.findall(r"^\[([^\]]+)\] \[(\w+)\] (.*?)\r?$", apache(), re.MULTILINE))


def apache_csv() -> str:
    return as_csv(("time", "level", "message"), apache_rows())


@cache
def hdfs_rows() -> tuple[dict[str, object], ...]:
    names = ("date", "time", "thread", "level", "component", "message")
    found = [line.split(maxsplit=5) for line in lines("hdfs_2k.log")]
    return tuple(dict(zip(names, [*row[:4], row[4].rstrip(":"), row[5]], strict=True)) for row in found)


def hdfs_json() -> str:
    return as_json_lines(hdfs_rows())


def texts() -> list[str]:
    return [message for _, message in messages()]


def sms_json() -> str:
    return as_json_lines([{"label": label, "text": message} for label, message in messages()])


def prose() -> str:
    return topics["debugger"]


@cache
def parser_code() -> str:
    return inspect.getsource(argparse)


def wrapper_code() -> str:
    return inspect.getsource(textwrap)


def classes() -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(parser_code())) if isinstance(node, ast.ClassDef)]


# Golds of more than one step


def _heir_count() -> int:
    bases = {c.name: [b.id for b in c.bases if isinstance(b, ast.Name)] for c in classes()}
    (base,) = bases["_CountAction"]
    return sum(base in named for named in bases.values())


def _same_level() -> int:
    level = next(level for _, level, message in apache_rows() if "Can't find child" in message)
    return sum(other == level for _, other, _ in apache_rows())


def _transfer_thread() -> int:
    thread = next(row["thread"] for row in hdfs_rows() if "thread to transfer" in str(row["message"]))
    return sum(row["thread"] == thread for row in hdfs_rows())


def _same_subcategory() -> int:
    fine = next(fine for _, fine, question in trec_rows() if "Popeye Doyle" in question)
    return sum(fine == other for _, other, _ in trec_rows())


def _last_login_try() -> int:
    ip = re.findall(rf"Invalid user \S+ from ({IP})", ssh())[-1]
    return len(re.findall(rf"Failed password for .* from {re.escape(ip)} ", ssh()))


def _methods_most() -> str:
    return top([c.name for c in classes() for part in c.body if isinstance(part, ast.FunctionDef)])


def _words_in_prose(*words: str) -> str:
    low = prose().casefold()
    return top([word for word in words for _ in range(low.count(word))])


SEARCH = (
    Question(
        "new-search-host", "search",
        "The reverse mapping of 173.234.31.186 was checked. Which host name did it belong to?",
        ssh, lambda: first(r"getaddrinfo for (\S+) \[173\.234\.31\.186\]", ssh()), same_name,
    ),
    Question(
        "new-search-paris", "search",
        "You can get a weekend in Paris. Which number must the text go to?",
        sms_json, lambda: first(r"Text: PARIS to No: (\d+)", "\n".join(texts())), same_name,
    ),
    Question(
        "new-search-fine", "search",
        "What is the subcategory of the question that asks what the oldest profession is?",
        trec_csv, lambda: next(fine for _, fine, q in trec_rows() if "oldest profession" in q), same_name,
    ),
    Question(
        "new-search-version", "search",
        "Since which version of Python has .pdbrc been read with the encoding utf-8?",
        prose, lambda: first(r"version ([\d.]+): \"\.pdbrc\" is now read", prose()), same_name,
    ),
    Question(
        "new-search-width", "search",
        "What is the default of the parameter width in the __init__ of TextWrapper?",
        wrapper_code, lambda: inspect.signature(textwrap.TextWrapper).parameters["width"].default, same_number,
    ),
)  # fmt: skip

COUNT = (
    Question(
        "new-count-closed", "count",
        "Give me the number of connections that were closed (the lines that begin with Connection closed by).",
        ssh, lambda: len(re.findall(r"\]: Connection closed by", ssh())), same_number,
    ),
    Question(
        "new-count-notice", "count",
        "How many rows of the table have the level notice?",
        apache_csv, lambda: sum(level == "notice" for _, level, _ in apache_rows()), same_number,
    ),
    Question(
        "new-count-xceiver", "count",
        "How many of the records were written by the component dfs.DataNode$DataXceiver?",
        hdfs_json, lambda: sum(row["component"] == "dfs.DataNode$DataXceiver" for row in hdfs_rows()),
        same_number,
    ),
    Question(
        "new-count-urgent", "count",
        "In how many of these texts does the word URGENT stand, in capitals or not?",
        texts, lambda: sum("urgent" in message.casefold() for message in texts()), same_number,
    ),
    Question(
        "new-count-functions", "count",
        "Count the functions that this module defines, methods and inner functions included.",
        parser_code,
        lambda: sum(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(parser_code()))),
        same_number,
    ),
)  # fmt: skip

GROUP = (
    Question(
        "new-group-tried", "group",
        "For which user, known to the system or not, did passwords fail most often?",
        ssh, lambda: top(re.findall(r"Failed password for (?:invalid user )?(\S+) from", ssh())), same_name,
    ),
    Question(
        "new-group-rare", "group",
        "Which category has the fewest questions?",
        trec_csv, lambda: Counter(coarse for coarse, _, _ in trec_rows()).most_common()[-1][0], same_name,
    ),
    Question(
        "new-group-thread", "group",
        "Which thread wrote the largest number of records?",
        hdfs_json, lambda: top([str(row["thread"]) for row in hdfs_rows()]), same_name,
    ),
    Question(
        "new-group-state", "group",
        "The children of mod_jk report an error state. Which state, a number, is the most common?",
        apache, lambda: top(re.findall(r"in error state (\d+)", apache())), same_name,
    ),
    Question(
        "new-group-methods", "group",
        "Which class of this module has the most methods?",
        parser_code, _methods_most, same_name,
    ),
)  # fmt: skip

HOP = (
    Question(
        "new-hop-heirs", "hop",
        "What is the base class of _CountAction, and how many classes of this module derive directly from it?",
        parser_code, _heir_count, same_number,
    ),
    Question(
        "new-hop-level", "hop",
        "Which level do the rows have that say that a child can't be found in the scoreboard? "
        "How many rows of the table have this level?",
        apache_csv, _same_level, same_number,
    ),
    Question(
        "new-hop-thread", "hop",
        "Take the thread that wrote the record about starting a thread to transfer a block. "
        "How many records did this thread write?",
        hdfs_json, _transfer_thread, same_number,
    ),
    Question(
        "new-hop-popeye", "hop",
        "One question is about the character Popeye Doyle. How many questions have the same subcategory?",
        trec_csv, _same_subcategory, same_number,
    ),
    Question(
        "new-hop-last", "hop",
        "Find the IP address from which the last invalid user came. How many failed passwords came from it?",
        ssh, _last_login_try, same_number,
    ),
)  # fmt: skip

RANGE = (
    Question(
        "new-range-root", "range",
        "How many passwords failed for root between 09:00:00 and 09:59:59?",
        ssh, lambda: len(re.findall(r" 09:\d\d:\d\d .*Failed password for root", ssh())), same_number,
    ),
    Question(
        "new-range-warnings", "range",
        "How many different threads wrote a warning (level WARN) on the date 081110?",
        hdfs_json,
        lambda: len({r["thread"] for r in hdfs_rows() if (r["level"], r["date"]) == ("WARN", "081110")}),
        same_number,
    ),
    Question(
        "new-range-long", "range",
        "How many questions of the category LOC are more than 60 characters long?",
        trec_csv, lambda: sum(coarse == "LOC" and len(q) > 60 for coarse, _, q in trec_rows()), same_number,
    ),
    Question(
        "new-range-days", "range",
        "On which of the two days were there more errors: Sun Dec 04 or Mon Dec 05?",
        apache, lambda: top(re.findall(r"\[(\w{3} Dec \d\d) [^\]]*\] \[error\]", apache())), same_name,
    ),
    Question(
        "new-range-words", "range",
        "Which of these words does the text use more often than the others: breakpoint, frame or exception?",
        prose, lambda: _words_in_prose("breakpoint", "frame", "exception"), same_name,
    ),
)  # fmt: skip

# Meaning: samples of items that the other set does not have

SMS_D, SMS_E, SMS_F = (101, 4, 8), (102, 7, 5), (103, 5, 7)
TREC_D = (104, (("location", 4), ("person", 2), ("number", 3), ("description", 3)))
TREC_E = (105, (("person", 3), ("location", 3), ("number", 3), ("description", 3)))
TREC_F = (106, (("number", 4), ("person", 2), ("entity", 3), ("location", 3)))
FOUR = (
    "a person, a location, a number (also a date or an amount) or a description (also a reason or a manner)"
)


def sms_table() -> str:
    return as_csv(("id", "text"), [(100 + n, text) for n, text in enumerate(items(sms_sample(*SMS_D)))])


def trec_records() -> str:
    sample = items(trec_sample(*TREC_E))
    return as_json_lines([{"id": n, "question": text} for n, text in enumerate(sample, 1)])


MEANING = (
    Question(
        "new-meaning-ids", "meaning",
        f"The table has text messages. By what it says, each is {SPAM_WORDS}. "
        "Give the list of the ids of the spam messages.",
        sms_table,
        lambda: [100 + n for n, label in enumerate(labels(sms_sample(*SMS_D))) if label == "spam"],
        same_set(0.8),
    ),
    Question(
        "new-meaning-adverts", "meaning",
        "How many of these messages are adverts or scams rather than messages between people who know each "
        "other? Judge each of them.",
        lambda: items(sms_sample(*SMS_E)), lambda: labels(sms_sample(*SMS_E)).count("spam"), near_number,
    ),
    Question(
        "new-meaning-more", "meaning",
        f"Judge each line by its meaning: {SPAM_WORDS}. Which of the two labels do more lines have?",
        lambda: "\n".join(items(sms_sample(*SMS_F))), lambda: top(labels(sms_sample(*SMS_F))), same_name,
    ),
    Question(
        "new-meaning-places", "meaning",
        f"Every item is a question. It asks for {FOUR}. How many of them want to know a location?",
        lambda: items(trec_sample(*TREC_D)), lambda: labels(trec_sample(*TREC_D)).count("location"), near_number,
    ),
    Question(
        "new-meaning-records", "meaning",
        f"Each record has a question, which asks for {FOUR}. Say for each of them which of these four it is: "
        "a list of person, location, number or description, in order.",
        trec_records, lambda: labels(trec_sample(*TREC_E)), share_right(0.7),
    ),
    Question(
        "new-meaning-numbers", "meaning",
        "Which of these questions ask for a number, a date or an amount? Answer with the list of their line "
        "numbers, beginning with 1.",
        lambda: "\n".join(items(trec_sample(*TREC_F))),
        lambda: [n for n, label in enumerate(labels(trec_sample(*TREC_F)), 1) if label == "number"],
        same_set(0.75),
    ),
)  # fmt: skip

OPENED: tuple[Question, ...] = (*SEARCH, *COUNT, *GROUP, *HOP, *RANGE, *MEANING)
