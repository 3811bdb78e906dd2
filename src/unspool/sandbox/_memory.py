"""How much memory is free for REPLs on this machine, or in this container.

>>> free_memory() > 0
True
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max" is no limit
        return None


def free_memory() -> int:
    """Bytes that could be used now, a container's limit included."""
    free = 1 << 30
    if sys.platform != "linux":  # what is free is no number there: half of what is built in counts as that
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    for limit, used in _CGROUPS:
        most, now = _number(limit), _number(used)
        if most is not None and now is not None:
            free = min(free, max(0, most - now))
    return free
