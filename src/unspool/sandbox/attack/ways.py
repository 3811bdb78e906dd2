"""What a way out of the sandbox is: text that runs in a cell and nowhere else, and how it is judged.

An attack goes for what the test planted, for what does not exist, or only looks. It is judged by the
errno that it gets: a call that the filter refuses gives EPERM (or ENOSYS, for calls that hide their
flags or are younger than the filter) whatever its arguments are, while the kernel itself would have
complained of the arguments. Any other errno, like any success, is a hole.

``t`` in an attack is what :mod:`.targets` planted; :data:`PRELUDE` has what the code may use.

>>> Attack("files", "x", "…").held(["refused", "EACCES"], tier_1=False)
True
>>> Attack("files", "x", "…").held(["refused", "ENOENT"], tier_1=False)
False
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Group = Literal["network", "files", "writing", "programs", "processes", "kernel", "privileges"]
DENIED = ("EPERM", "EACCES")
FILTERED = ("EPERM", "ENOSYS")
NOT_THERE = ("ENOENT", "ESRCH", "EROFS", "EXDEV")  # in a world of its own

PRELUDE = """
import asyncio, ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
NOWHERE = b"/unspool-nowhere/nothing"

def raw(x86_64, aarch64, *args):
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    if number is None:
        raise LookupError("no such call on this machine")
    passed = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    passed += [ctypes.c_long(0)] * (6 - len(passed))
    result = libc.syscall(ctypes.c_long(number), *passed)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def room(size):
    return ctypes.create_string_buffer(size)

def words(*texts):
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)

def read(path, **how):
    fd = os.open(path, os.O_RDONLY, **how)
    try:
        return os.read(fd, 64)
    finally:
        os.close(fd)

def any_of(attempt, values):
    "What worked of several; refused where nothing did."
    got, errors = [], []
    for value in values:
        try:
            got.append((value, attempt(value)))
        except OSError as error:
            errors.append(error)
    if got:
        return got
    raise next((error for error in errors if error.errno not in (errno.ENOENT, errno.ESRCH)), errors[0])

def verdict(attempt):
    try:
        value = attempt()
    except OSError as error:
        inner = getattr(error, "reason", None)  # urllib wraps it
        code = inner.errno if isinstance(inner, OSError) else error.errno
        return ["refused", errno.errorcode.get(code or 0, repr(error))]
    except LookupError as error:
        return ["absent", str(error)]
    except BaseException as error:
        return ["broken", f"{type(error).__name__}: {error}"]
    return ["worked", repr(value)[:200]]
"""
_RUN = """
verdicts = []
for number, attempt in enumerate(ways):
    own = os.path.join(t["scratch"], f"{t['run']}-{number}")
    os.mkdir(own)
    os.chdir(own)
    verdicts.append(verdict(attempt))
os.chdir(t["scratch"])
print(json.dumps(verdicts))
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way out. ``refused``: what it has to get; ``tier_1``: what it may get there beside that."""

    group: Group
    name: str
    code: str
    refused: tuple[str, ...] = DENIED
    tier_1: tuple[str, ...] = NOT_THERE

    def held(self, verdict: Sequence[str], *, tier_1: bool) -> bool:
        """Whether the sandbox held, and for the right reason."""
        accepted = (*self.refused, *self.tier_1) if tier_1 else self.refused
        return verdict[0] == "refused" and verdict[1] in accepted


def cell(attacks: Sequence[Attack], targets: Mapping[str, object]) -> str:
    """What a cell runs: each attack in a folder of its own; prints the verdicts as JSON, in order."""
    lines = [PRELUDE, f"t = {dict(targets)!r}", "ways = []"]
    for attack in attacks:
        body = textwrap.indent(textwrap.dedent(attack.code).strip(), "    ")
        lines.append(f"def attempt():\n{body}\nways.append(attempt)")
    return "\n".join([*lines, _RUN])


def parse(output: str) -> list[list[str]]:
    """The verdicts in what a cell printed."""
    found = json.loads(output)
    if not isinstance(found, list) or not all(isinstance(part, str) for verdict in found for part in verdict):
        raise ValueError("the verdicts are malformed")
    return found


def each(
    group: Group, attacks: Mapping[str, str], *, also: tuple[str, ...] = (), filtered: bool = False
) -> list[Attack]:
    """Attacks of a kind. ``filtered``: the filter has to refuse them, whatever there is or is not."""
    refused, tier_1 = (FILTERED, ()) if filtered else (DENIED, NOT_THERE)
    return [Attack(group, name, code, (*refused, *also), tier_1) for name, code in attacks.items()]
