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
_KEY = re.compile(r"([A-Za-z_][\w .-]*?)\s*[=:]\s*(.*)")
_CHAT = re.compile(
    r"\[?((?:\d{1,4}[/.-]\d\d?[/.-]\d{1,4},? )?\d\d?:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)\]?(?: -)? "
    r"<?([^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2})>?: (.*)"
)
_CHAT_NAMES = ["time", "name", "text"]


def formatted(lines: Sequence[str]) -> tuple[list[str], list[list[str] | str]] | None:
    """The fields of the records that these lines are."""
    some = [line for line in lines[:SEEN] if line.strip()]
    if not some:
        return None
    if _mostly(_ACCESS, some):
        found = [(line, _ACCESS.fullmatch(line)) for line in lines]
        return _ACCESS_NAMES, [_request(one) if one else line for line, one in found]
    if _COMMIT.fullmatch(some[0]) and any(line.startswith("Author: ") for line in some):
        return _enough(_COMMIT_NAMES, _commits(lines))
    if _SECTION.fullmatch(some[0].strip()) or (some[0][0] in "#;" and any(map(_SECTION.fullmatch, some))):
        return _sections(lines, some)
    if (
        _CHAT.fullmatch(some[0])
        and _mostly(_CHAT, some, MOST_GOING_ON)
        and len({one[2] for line in some if (one := _CHAT.fullmatch(line))}) < len(some)
    ):
        return _enough(_CHAT_NAMES, _said(lines))
    return None


def _request(one: re.Match[str]) -> list[str]:
    """Its fields; the time of day apart from the date, so that it is read as one."""
    fields = [part or "" for part in one.groups()]
    return [*fields[:2], fields[2].replace(":", " ", 1), *fields[3:]]


def _mostly(form: re.Pattern[str], some: Sequence[str], other: float = MOST_OTHER) -> bool:
    return sum(form.fullmatch(line) is None for line in some) <= other * len(some)


def _enough(
    names: list[str], records: list[list[str] | str]
) -> tuple[list[str], list[list[str] | str]] | None:
    return (names, records) if len(records) >= FEWEST_RECORDS else None


def _commits(lines: Sequence[str]) -> list[list[str] | str]:
    """What ``git log`` prints: the message is what is set in, without blank lines."""
    records: list[list[str] | str] = []
    now = ["", "", "", ""]
    for line in lines:
        if commit := _COMMIT.fullmatch(line):
            now = [commit[1], "", "", ""]
            records.append(now)
        elif line.startswith("Author: "):
            now[1] = line[8:].strip()
        elif line.startswith("Date: "):
            now[2] = line[6:].strip()
        elif line.strip() and (line.startswith("    ") or now[3]):
            now[3] = f"{now[3]} {line.strip()}".strip()
    return records


def _said(lines: Sequence[str]) -> list[list[str] | str]:
    """A line that begins with no time goes on with what was said before."""
    records: list[list[str] | str] = []
    now = ["", "", ""]
    for line in lines:
        if one := _CHAT.fullmatch(line):
            now = list(one.groups())
            records.append(now)
        elif line.strip() and records:
            now[2] = f"{now[2]} {line.strip()}"
        elif line.strip():
            records.append(line)
    return records


def _sections(lines: Sequence[str], some: Sequence[str]) -> tuple[list[str], list[list[str] | str]] | None:
    """A record of each section: what its keys are set to. None where it has too many keys, or other lines."""
    bare = [line.strip() for line in some if line.strip()[:1] not in "#;"]
    if sum(not (_SECTION.fullmatch(line) or _KEY.fullmatch(line)) for line in bare) > MOST_OTHER * len(bare):
        return None
    found: list[tuple[str, dict[str, str]]] = []
    for line in map(str.strip, lines):
        if not line or line[0] in "#;":
            continue
        if section := _SECTION.fullmatch(line):
            found.append((section[1].strip(), {}))
        elif key := _KEY.fullmatch(line):
            if not found:
                found.append(("", {}))
            found[-1][1][key[1]] = key[2].strip().strip("\"'")
    keys = list(dict.fromkeys(key for _, held in found for key in held))
    if not 0 < len(keys) < MOST_KEYS:
        return None
    return _enough(["section", *keys], [[name, *(held.get(key, "") for key in keys)] for name, held in found])
