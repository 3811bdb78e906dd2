"""Known formats whose lines are records without saying so: access logs, ``git log``, INI files, chats.

Contract: :func:`formatted` gives the names of the fields and the fields of each record, or a line as it is
where it has none, and ``None`` where the text is of no such format. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> formatted(['10.0.0.1 - - [02/May/2031:09:17:55 +0000] "GET /a HTTP/1.1" 404 12 "-" "curl/8"'] * 3)[1][0]
['10.0.0.1', '-', '02/May/2031 09:17:55 +0000', 'GET', '/a', '404', '12', '-', 'curl/8']
>>> formatted(["[web]", "port = 80", "", "[mail]", "port = 25", "tls = no"])
(['section', 'port', 'tls'], [['web', '80', ''], ['mail', '25', 'no']])
>>> formatted(["[10:02] ann: hello", "[10:03] bo: hi", "and more", "[10:04] ann: bye"])[1][1]
['10:03', 'bo', 'hi and more']
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Records = tuple[list[str], list[list[str] | str]]  # the names, and the fields of each record or a line
SEEN = 200  # lines by which the format is known
MOST_OTHER = 0.1  # the share of them that may be of another form
MOST_GOING_ON = 0.4  # the share of lines of a chat that go on with what was said
FEWEST_RECORDS = 2  # a single section or commit is a text
MOST_KEYS = 40  # of the sections of an INI file

# Common and Combined Log Format, as Apache and nginx write them.
_ACCESS = re.compile(
    r'(\S+) \S+ (\S+) \[([^\]]+)\] "(?:([A-Z]+) (\S+)(?: HTTP/[\d.]+)?|[^"]*)" (\d{3}) (\d+|-)'
    r'(?: "([^"]*)" "([^"]*)")?.*'
)
_ACCESS_NAMES = ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"]
_COMMIT = re.compile(r"commit ([0-9a-f]{7,64})\b.*")
_COMMIT_NAMES = ["commit", "author", "date", "message"]
_SECTION = re.compile(r"\[+([^\[\]]+)\]+\s*")
_KEY = re.compile(r"([A-Za-z_][\w.-]*(?: [\w.-]+)*)\s*([=:])\s*(.*)")
_COMMENTS = "comments"  # the field of what is said behind "#" and ";" in a section
_CHAT = re.compile(
    r"\[?((?:\d{1,4}[/.-]\d\d?[/.-]\d{1,4},? )?\d\d?:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)\]?(?: -)? "
    r"<?([^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2})>?: (.*)"
)
_TIMED = re.compile(r"\W{0,2}\d{1,4}[/.:-]\d\d")  # as a line begins that is no part of the one before
_CHAT_NAMES = ["time", "name", "text"]


def formatted(lines: Sequence[str]) -> Records | None:
    """The fields of the records that these lines are."""
    some = [line for line in lines[:SEEN] if line.strip()]
    if not some:
        return None
    if _mostly(_ACCESS, some):
        found = [(line, _ACCESS.fullmatch(line)) for line in lines]
        return _ACCESS_NAMES, [_request(one) if one else line for line, one in found]
    if _COMMIT.fullmatch(some[0]) and any(line.startswith("Author: ") for line in some):
        return _commits(lines)
    if _SECTION.fullmatch(some[0].strip()) or (some[0][0] in "#;" and any(map(_SECTION.fullmatch, some))):
        return _sections(lines)
    return _said(lines) if _CHAT.fullmatch(some[0]) and _mostly(_CHAT, some, MOST_GOING_ON) else None


def _request(one: re.Match[str]) -> list[str]:
    """Its fields; the time of day apart from the date, so that it is read as one."""
    fields = [part or "" for part in one.groups()]
    return [*fields[:2], fields[2].replace(":", " ", 1), *fields[3:]]


def _mostly(form: re.Pattern[str], some: Sequence[str], other: float = MOST_OTHER) -> bool:
    return sum(form.fullmatch(line) is None for line in some) <= other * len(some)


def _few(other: int, lines: Sequence[str]) -> bool:
    """Whether so many lines that are of no form are few enough to be let go, or kept as they are."""
    return other <= MOST_OTHER * sum(bool(line.strip()) for line in lines)


def _commits(lines: Sequence[str]) -> Records | None:
    """What ``git log`` prints: the message is what is set in, without blank lines. None with its diffs."""
    records: list[list[str]] = []
    said: list[list[str]] = []
    other = 0
    for line in lines:
        if commit := _COMMIT.fullmatch(line):
            records.append([commit[1], "", "", ""])
            said.append([])
        elif line.startswith("Author: "):
            records[-1][1] = line[8:].strip()
        elif line.startswith("Date: "):
            records[-1][2] = line[6:].strip()
        elif line.startswith("    ") and line.strip():
            said[-1].append(line.strip())
        else:
            other += bool(line.strip())
    if len(records) < FEWEST_RECORDS or not _few(other, lines):
        return None
    return _COMMIT_NAMES, [[*one[:3], " ".join(parts)] for one, parts in zip(records, said, strict=True)]


def _said(lines: Sequence[str]) -> Records | None:
    """What goes on below a message is a part of it; a line with a time and nobody's name stays as it is."""
    records: list[tuple[list[str], list[str]] | str] = []
    names: list[str] = []
    timed = 0
    for line in lines:
        if one := _CHAT.fullmatch(line):
            records.append(([one[1], one[2]], [one[3]]))
            names.append(one[2])
        elif _TIMED.match(line) or not (records and isinstance(records[-1], tuple)):
            records += [line] * bool(line.strip())
            timed += 1
        elif line.strip():
            records[-1][1].append(line.strip())
    if len(set(names)) == len(names) or len(names) < FEWEST_RECORDS or not _few(timed, lines):
        return None
    return _CHAT_NAMES, [one if isinstance(one, str) else [*one[0], " ".join(one[1])] for one in records]


def _sections(lines: Sequence[str]) -> Records | None:
    """A record of each section: what its keys are set to. None where it has too many keys, keys that come
    again and again, or other lines."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    set_with = {"=": 0, ":": 0}
    again = other = 0
    for line in filter(None, map(str.strip, lines)):
        section = _SECTION.fullmatch(line)
        if section or not found:
            found.append((section[1].strip() if section else "", {}))
        held = found[-1][1]
        if line[0] in "#;":
            held.setdefault(_COMMENTS, []).append(line.strip("#; "))
        elif key := _KEY.fullmatch(line):
            set_with[key[2]] += 1
            again += key[1] in held
            held.setdefault(key[1], []).append(key[3].strip("\"'"))
        else:
            other += section is None
    keys = list(dict.fromkeys(key for _, held in found for key in held))
    keys.sort(key=_COMMENTS.__eq__)  # they come last
    settings = sum(set_with.values())
    if set_with[":"] * 4 > settings or again * 4 > settings or other or len(found) < FEWEST_RECORDS:
        return None
    if not settings or len(keys) >= MOST_KEYS:
        return None
    return ["section", *keys], [
        [name, *(", ".join(held.get(key, [])) for key in keys)] for name, held in found
    ]
