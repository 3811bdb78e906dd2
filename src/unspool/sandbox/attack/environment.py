"""Whether a secret of the host's environment is anywhere in the sandbox: its variables, its memory.

>>> len(VARIABLE) > 10
True
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping

from .._launch import ENVIRONMENT
from ..process import ProcessRepl
from .arena import shown
from .targets import command, family

VARIABLE = "UNSPOOL_PLANTED_SECRET"  # in the host's environment from its start
_OWN = ("HOME", "PWD", "TMPDIR")  # set by the sandbox itself
_ENVIRONMENT = """
import ctypes, json, os
block = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
raw = []
while block[len(raw)] is not None:
    raw.append(block[len(raw)].decode())
print(json.dumps([dict(os.environ), raw]))
"""


async def leaks(repl: ProcessRepl) -> Mapping[str, str]:
    """What of the host's environment is in there, by where it was looked for; empty texts are nothing."""
    secret = os.environ.get(VARIABLE, "")
    variables, raw = json.loads(await shown(repl, _ENVIRONMENT))
    same = [
        name
        for name, value in os.environ.items()
        if value == variables.get(name) != ENVIRONMENT.get(name) and name not in _OWN
    ]
    known = [text.partition("=")[0] for text in raw if VARIABLE in text or (secret and secret in text)]
    holders, seen = where_it_is(secret.encode()) if secret else ([], 0)
    inside = [text for text in holders if "zygote.py" in text]
    unseen = "" if seen else "no process of the sandbox could be looked at"
    return {
        "the host's variables": " ".join(same),
        "the block that C code sees": " ".join(known),
        "memory of the sandbox's processes": f"in {len(inside)} of {seen}" if inside else unseen,
    }


def where_it_is(secret: bytes) -> tuple[list[str], int]:
    """The processes below this one that hold the secret; how many could be looked at at all."""
    holders, seen = [], 0
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                text = file.read()
            if secret in text or any(secret in part for part in _memory(pid)):
                holders.append(command(pid))
            seen += 1
    return holders, seen


def _memory(pid: int) -> Iterable[bytes]:
    """The memory that a process can have written, piece by piece."""
    with (
        open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as lines,
        open(f"/proc/{pid}/mem", "rb", 0) as memory,
    ):
        for line in lines:
            place, rights, *_ = line.split()
            if "w" not in rights:
                continue
            at, end = (int(number, 16) for number in place.split("-"))
            while at < end:
                memory.seek(at)
                part = memory.read(min(end - at, 1 << 24))
                if not part:
                    break
                yield part
                at += len(part)
