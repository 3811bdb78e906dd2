"""Questions about real logs: counts, the most frequent, the distinct, two steps, a stretch of time.

A size larger than a log repeats stretches of it, by chance; a smaller one is some of its stretches.

>>> [sample.task for sample in LOGS.make(4_000, seed=1)]
['failed', 'attacker', 'names', 'same-address', 'blocks', 'component', 'errors']
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from ..data import Data
from ..sample import Sample, ScorerName, endless
from .suite import Redraw, Suite

STRETCH = 40  # lines
IP = r"\d+\.\d+\.\d+\.\d+"
END = "\nprint(result)\nsubmit(result)"
READ = (
    "import re\nfrom collections import Counter\nlines = context.split('\\n')\nprint(len(lines), lines[:3])\n"
)


def logs(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """Four questions over an SSH server's log, two over a file system's, one over a web server's."""
    ssh = _stretches(data.log("openssh"), room, chance)
    hdfs = _stretches(data.log("hdfs"), room, chance)
    apache = _stretches(data.log("apache"), room, chance)
    return [
        _failed(ssh),
        _attacker(ssh),
        _names(ssh),
        _same_address(ssh, chance),
        _blocks(hdfs),
        _component(hdfs),
        _errors(apache, chance),
    ]


def _stretches(log: Sequence[str], room: int, chance: random.Random) -> list[str]:
    """Lines of a log, stretch by stretch; each stretch once before any comes again."""
    found: list[str] = []
    for start in endless(range(0, len(log), STRETCH), chance):
        for line in log[start : start + STRETCH]:
            room -= len(line) + 1
            if room < 0:
                return found
            found.append(line)
    return found


def _sample(
    task: str, lines: Sequence[str], question: str, gold: object, scorer: ScorerName, code: str
) -> Sample:
    return Sample(task, question, "\n".join(lines), gold, scorer, f"{READ}{code}{END}")


def _top(found: Sequence[str]) -> str:
    """The most frequent; of a tie, the first in the order of characters, as the question says."""
    if not found:
        raise Redraw("nothing to count")
    counts = Counter(found)
    return min(counts, key=lambda each: (-counts[each], each))


TOP = "result = min(counts, key=lambda each: (-counts[each], each))"
TIE = "Where several come equally often, answer with the first of them in the order of characters."


def _found(pattern: str, lines: Sequence[str]) -> list[str]:
    return [match[1] for line in lines for match in re.finditer(pattern, line)]


def _different(task: str, lines: Sequence[str], question: str, pattern: str) -> Sample:
    """How many different texts a pattern finds."""
    return _sample(
        task, lines, f"{question} Answer with the number alone.",
        len(set(_found(pattern, lines))), "close",
        f"result = len(set(re.findall(r'{pattern}', context)))",
    )  # fmt: skip


def _failed(ssh: Sequence[str]) -> Sample:
    return _sample(
        "failed", ssh, "How many lines say that a password failed? Answer with the number alone.",
        sum("Failed password" in line for line in ssh), "close",
        "result = sum('Failed password' in line for line in lines)",
    )  # fmt: skip


def _attacker(ssh: Sequence[str]) -> Sample:
    pattern = rf"Failed password for .* from ({IP})"
    return _sample(
        "attacker", ssh,
        f"From which IP address did the most failed passwords come? {TIE} Answer with the address alone.",
        _top(_found(pattern, ssh)), "contains",
        f"counts = Counter(re.findall(r'{pattern}', context))\n{TOP}",
    )  # fmt: skip


def _names(ssh: Sequence[str]) -> Sample:
    question = 'How many different user names are called invalid in lines that say "Invalid user NAME from"?'
    return _different("names", ssh, question, r"\]: Invalid user (\S+) from")


def _same_address(ssh: Sequence[str], chance: random.Random) -> Sample:
    """Two steps: the address that tried a name, then what else it tried."""
    pattern = rf"\]: Invalid user (\S+) from ({IP})"
    tried = {found.groups() for line in ssh if (found := re.search(pattern, line))}
    names = Counter(name for name, _ in tried)
    alone = sorted(pair for pair in tried if names[pair[0]] == 1)
    if not alone:
        raise Redraw("every name was tried from several addresses")
    name, address = chance.choice(alone)
    return _sample(
        "same-address", ssh,
        f'One IP address tried the invalid user "{name}". How many lines of the log contain that address? '
        "Answer with the number alone.",
        sum(bool(re.search(rf"(?<![\d.]){re.escape(address)}(?![\d.])", line)) for line in ssh), "close",
        f"ip = re.search(r'Invalid user {re.escape(name)} from ({IP})', context)[1]\n"
        "whole = re.compile(r'(?<![\\d.])' + re.escape(ip) + r'(?![\\d.])')\n"
        "result = sum(bool(whole.search(line)) for line in lines)",
    )  # fmt: skip


def _blocks(hdfs: Sequence[str]) -> Sample:
    question = "How many different blocks (blk_…) does the log mention?"
    return _different("blocks", hdfs, question, r"(blk_-?\d+)")


def _component(hdfs: Sequence[str]) -> Sample:
    return _sample(
        "component", hdfs,
        "Which component, such as dfs.DataNode, wrote the most lines? It stands before the first colon of a "
        f"line. {TIE} Answer with its name alone.",
        _top([line.split()[4].rstrip(":") for line in hdfs]), "name",
        f"counts = Counter(line.split()[4].rstrip(':') for line in lines)\n{TOP}",
    )  # fmt: skip


def _errors(apache: Sequence[str], chance: random.Random) -> Sample:
    """A count in a stretch of time: whole hours of one day."""
    hours = sorted({(line[1:11], line[12:14]) for line in apache if "] [error]" in line})
    if not hours:
        raise Redraw("no error in this log")
    day, hour = chance.choice(hours)
    return _sample(
        "errors", apache,
        f"How many lines of {day} from {hour}:00:00 to {hour}:59:59 have the level error? Answer with "
        "the number alone.",
        sum(line.startswith(f"[{day} {hour}:") and "] [error]" in line for line in apache), "close",
        f"result = sum(line.startswith('[{day} {hour}:') and '] [error]' in line for line in lines)",
    )  # fmt: skip


LOGS = Suite(
    "logs",
    "real logs: counts, the most frequent, the distinct, two steps, a stretch of time",
    ("failed", "attacker", "names", "same-address", "blocks", "component", "errors"),
    logs,
    aggregates=True,
    smallest=2_000,
)
