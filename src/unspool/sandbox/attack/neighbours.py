"""Whether one REPL sees or changes anything of another one.

>>> "mprotect" in WRITE_CONTEXT
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from .._handover import hand_over
from ..process import ProcessSandbox
from .arena import opened, shown

WRITE_CONTEXT = """
import ctypes, errno, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
places = [ctypes.c_size_t.from_address(id(context) + offset).value for offset in (40, 48, 56, 64, 72)]
place = next((p for p in places if p > 1 << 32 and p % mmap.PAGESIZE == 0), 0)
if not place:
    print("no mapping")
elif libc.mprotect(place, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE):
    print(errno.errorcode[ctypes.get_errno()])
else:
    ctypes.memset(place, 90, 16)
    print("written")
"""
_MINE = """
import builtins, os, random
mine = builtins.mine = random.mine = 41
open('mine.txt', 'w').write('mine')
print(os.path.abspath('mine.txt'))
"""
_THEIRS = """
import builtins, json, os, random
def attempt(go):
    try: return go()
    except OSError as error: return error.errno
path = {path!r}
print(json.dumps([
    any('mine' in space for space in (globals(), vars(builtins), vars(random))),
    attempt(lambda: open(path).read()),
    attempt(lambda: 'mine.txt' in os.listdir(os.path.dirname(path))),
    attempt(lambda: open(path, 'r+').writable()),
]))
"""


async def seen_of_another(sandbox: ProcessSandbox) -> Mapping[str, str]:
    """What one saw or changed of the other; an empty text is nothing."""
    handed = hand_over("abcdefgh" * 100_000)
    try:
        async with opened(sandbox, handed) as one, opened(sandbox, handed) as other:
            path = await shown(one, _MINE)
            names, text, listed, writable = json.loads(await shown(other, _THEIRS.format(path=path)))
            written = await shown(one, WRITE_CONTEXT)
            whole = await shown(other, "print(context == 'abcdefgh' * 100_000)")
    finally:
        handed.close()
    return {
        "variables": "they are there" if names else "",
        "reading its file": text if isinstance(text, str) else "",
        "listing its folder": "its file is there" if listed is True else "",
        "writing to its file": "it could be opened" if writable is True else "",
        "writing to a shared context": "" if written != "written" and whole == "True" else written,
    }
