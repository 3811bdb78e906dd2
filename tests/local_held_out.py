"""Questions that are held out: nothing of the small profile was tuned on any of them.

``scripts/bench local --set held-out`` runs them. Contract: as in ``local_suite``, whose words and scorers these
share: golds are computed by code. They were written, and committed, before the work on the profile that they
are to judge, and their transcripts are not read: who tunes the profile reads the three other sets. Most of the
contexts are of things that no other set is about: tables of characters, of media types and of statuses, other
code and other prose of Python's own library.

>>> kinds = {q.kind for q in HELD_OUT}
>>> sorted(kinds)
['count', 'group', 'hop', 'meaning', 'range', 'search']
"""

from __future__ import annotations

import ast
import calendar
import http
import inspect
import mailbox
import mimetypes
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pydoc_data.topics import topics

from .local_opened import as_csv, as_json_lines
from .local_suite import (
    IP,
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
    ssh,
    top,
)

# The data


@cache
def signs() -> tuple[tuple[str, str, str], ...]:
    """(code, name, category) of arrows, operators, boxes and dingbats"""
    found = [(f"U+{code:04X}", chr(code)) for code in range(0x2190, 0x27C0)]
    named = [(code, unicodedata.name(sign, ""), unicodedata.category(sign)) for code, sign in found]
    return tuple(row for row in named if row[1])


def signs_csv() -> str:
    return as_csv(("code", "name", "category"), signs())


@cache
def media() -> tuple[tuple[str, str], ...]:
    """(extension, media type)"""
    return tuple(sorted(mimetypes.MimeTypes().types_map[True].items()))


def media_lines() -> str:
    return "".join(f"{extension}\t{kind}\n" for extension, kind in media())


def statuses_json() -> str:
    rows = [(each.value, each.phrase, each.description) for each in http.HTTPStatus]
    return as_json_lines([dict(zip(("status", "phrase", "description"), row, strict=True)) for row in rows])


def formats() -> str:
    return topics["formatstrings"]


def calendar_code() -> str:
    return inspect.getsource(calendar)


def mailbox_code() -> str:
    return inspect.getsource(mailbox)


def classes(source: str) -> list[ast.ClassDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


@cache
def spam(seed: int, spam: int, ham: int) -> tuple[tuple[str, str], ...]:
    return sampled(messages()[3000:], seed, (("spam", spam), ("ham", ham)))


@cache
def asked(seed: int, *sizes: tuple[str, int]) -> tuple[tuple[str, str], ...]:
    return sampled(coarse(questions()[2800:]), seed, sizes)


def numbers(sample: Sequence[tuple[str, str]], label: str) -> list[int]:
    return [n for n, given in enumerate(labels(sample), 1) if given == label]


# Golds of more than one step


def _same_category() -> int:
    category = next(category for _, name, category in signs() if name == "SNOWMAN")
    return sum(category == other for _, _, other in signs())


def _updated_most() -> int:
    ip = top(re.findall(rf"blockMap updated: ({IP})", hdfs()))
    return sum(bool(re.search(rf"(?<!\d){re.escape(ip)}(?!\d)", line)) for line in lines("hdfs_2k.log"))


def _heirs() -> int:
    bases = [[ast.unparse(base) for base in each.bases] for each in classes(mailbox_code())]
    (base,) = next(each.bases for each in classes(mailbox_code()) if each.name == "MHMessage")
    return sum(ast.unparse(base) in named for named in bases)


def _first_child() -> int:
    child = first(r"Found child (\d+) in scoreboard slot 7\b", apache())
    return len(re.findall(rf"\b{child}\b", apache()))


S = (301, 5, 6)
T1 = (302, ("location", 4), ("person", 3), ("description", 4))
T2 = (303, ("number", 4), ("person", 3), ("entity", 2), ("location", 2))

HELD_OUT: tuple[Question, ...] = (
    Question(
        "held-search-code", "search",
        "What is the code of the character SNOWMAN?",
        signs_csv, lambda: next(code for code, name, _ in signs() if name == "SNOWMAN"), same_name,
    ),
    Question(
        "held-search-type", "search",
        "Which media type belongs to the extension .tar?",
        media_lines, lambda: dict(media())[".tar"], same_name,
    ),
    Question(
        "held-search-status", "search",
        "Which status has the phrase Gone?",
        statuses_json, lambda: http.HTTPStatus.GONE.value, same_number,
    ),
    Question(
        "held-search-format", "search",
        "Which presentation type (one letter) outputs a number in base 8?",
        formats, lambda: first(r"\"'(\w)'\" +\| Octal format", formats()), same_name,
    ),
    Question(
        "held-search-host", "search",
        "For which host name did the check of the reverse mapping fail first?",
        ssh, lambda: first(r"getaddrinfo for (\S+)", ssh()), same_name,
    ),
    Question(
        "held-count-category", "count",
        "How many of the characters have the category Sm?",
        signs_csv, lambda: sum(category == "Sm" for _, _, category in signs()), same_number,
    ),
    Question(
        "held-count-closed", "count",
        "How many times did the log say that a connection was closed?",
        ssh, lambda: sum("Connection closed" in line for line in lines("openssh_2k.log")), same_number,
    ),
    Question(
        "held-count-children", "count",
        "How many lines report that jk2_init found a child?",
        apache, lambda: apache().count("jk2_init() Found child"), same_number,
    ),
    Question(
        "held-count-audio", "count",
        "How many extensions have a type that begins with audio/?",
        media_lines, lambda: sum(kind.startswith("audio/") for _, kind in media()), same_number,
    ),
    Question(
        "held-count-classes", "count",
        "How many classes are defined in this module?",
        mailbox_code, lambda: len(re.findall(r"^ *class \w+", mailbox_code(), re.MULTILINE)), same_number,
    ),
    Question(
        "held-group-category", "group",
        "Which category do the most characters have?",
        signs_csv, lambda: top([category for _, _, category in signs()]), same_name,
    ),
    Question(
        "held-group-type", "group",
        "Which main type, the part before the slash, do the most extensions have?",
        media_lines, lambda: top([kind.split("/")[0] for _, kind in media()]), same_name,
    ),
    Question(
        "held-group-size", "group",
        "Which size did the received blocks have most often?",
        hdfs, lambda: top(re.findall(r"Received block \S+ of size (\d+)", hdfs())), same_number,
    ),
    Question(
        "held-group-class", "group",
        "Which class has the most methods?",
        calendar_code,
        lambda: top([
            each.name for each in classes(calendar_code()) for part in each.body if isinstance(part, ast.FunctionDef)
        ]),
        same_name,
    ),
    Question(
        "held-hop-session", "hop",
        "For which user was a session opened? At what time (HH:MM:SS) was the session of this user closed?",
        ssh, lambda: first(r"(\d\d:\d\d:\d\d) .*session closed for user fztu", ssh()), same_name,
    ),
    Question(
        "held-hop-category", "hop",
        "Which category does the character SNOWMAN have, and how many characters have this category?",
        signs_csv, _same_category, same_number,
    ),
    Question(
        "held-hop-updated", "hop",
        "Take the IP address for which the blockMap was updated most often. How many lines mention this address?",
        hdfs, _updated_most, same_number,
    ),
    Question(
        "held-hop-heirs", "hop",
        "From which class does MHMessage inherit? How many classes inherit from this class?",
        mailbox_code, _heirs, same_number,
    ),
    Question(
        "held-hop-child", "hop",
        "Find the child that was found first in scoreboard slot 7. In how many lines does the number of this child "
        "come?",
        apache, _first_child, same_number,
    ),
    Question(
        "held-range-hour", "range",
        "Between 07:00:00 and 07:59:59, how many passwords failed?",
        ssh, lambda: len(re.findall(r" 07:\d\d:\d\d .*: Failed password", ssh())), same_number,
    ),
    Question(
        "held-range-longest", "range",
        "How many characters long is the longest name?",
        signs_csv, lambda: max(len(name) for _, name, _ in signs()), same_number,
    ),
    Question(
        "held-range-client", "range",
        "How many records have a status from 400 to 499?",
        statuses_json, lambda: sum(400 <= each.value < 500 for each in http.HTTPStatus), same_number,
    ),
    Question(
        "held-range-types", "range",
        "How many different media types are there?",
        media_lines, lambda: len({kind for _, kind in media()}), same_number,
    ),
    Question(
        "held-range-days", "range",
        "Are there more lines of Sunday (Sun) or of Monday (Mon)? Answer with Sun or Mon.",
        apache, lambda: top(re.findall(r"^\[(Sun|Mon) ", apache(), re.MULTILINE)), same_name,
    ),
    Question(
        "held-meaning-companies", "meaning",
        "Which of these messages come from a company that advertises, and not from a friend? Answer with the list "
        "of their numbers, from 1.",
        lambda: items(spam(*S)), lambda: numbers(spam(*S), "spam"), same_set(0.8),
    ),
    Question(
        "held-meaning-places", "meaning",
        "Each line is a question. Which ones ask for a place, and not for a person or an explanation? Answer with "
        "the list of their numbers, from 1.",
        lambda: "\n".join(items(asked(*T1))), lambda: numbers(asked(*T1), "location"), same_set(0.8),
    ),
    Question(
        "held-meaning-numbers", "meaning",
        "Each item is a question. How many ask for a number, an amount or a date, and not for a person, a place or "
        "a thing?",
        lambda: items(asked(*T2)), lambda: labels(asked(*T2)).count("number"), near_number,
    ),
)  # fmt: skip
