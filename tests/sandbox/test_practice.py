"""What a zygote does before it forks: where objects of its forks come to lie."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SANDBOX = str(Path(__file__).parents[2] / "src" / "unspool" / "sandbox")
SCATTERED = f"""
import sys
sys.path.insert(0, {SANDBOX!r})
import _practice
def pools(blocks): return {{id(block) >> 14 for block in blocks}}
held = []
for size in (64, 208, 512):
    make = lambda: bytes(size - bytes.__basicsize__)
    there = [make() for _ in range(400_000 // size)]
    old = pools(there)
    del there[::2]  # each pool has free blocks now
    some = [make() for _ in range(4)]
    before = bool(pools(some) & old)
    held += _practice.fill_up()
    new = [make() for _ in range(8_000 // size)]
    print(size, before, len(pools(new) & old), len(pools(new)))
print(sum(map(sys.getsizeof, held)) < 4 << 20)
"""


def test_new_objects_lie_together_and_not_between_old_ones() -> None:
    """In a process of its own: whatever else makes objects would be in the way."""
    done = subprocess.run([sys.executable, "-S", "-c", SCATTERED], capture_output=True, text=True, check=True)
    *sizes, little = done.stdout.splitlines()
    assert little == "True"
    for line in sizes:
        size, before, between_old, pools = line.split()
        assert before == "True", f"{size}: objects would not have been made between old ones"
        assert int(between_old) == 0, line
        assert int(pools) <= 2, line
