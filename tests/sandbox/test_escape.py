"""Model-written code tries to get out of its sandbox, really, in both tiers, as root and as a user.

What it tries, and why none of it can do harm, is in :mod:`unspool.sandbox.attack`; here the whole of it
is run, and the suite itself is put to the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import unspool
from unspool.sandbox import _syscalls
from unspool.sandbox.attack.arena import Arena, opened, shown, through
from unspool.sandbox.attack.catalogue import ATTACKS
from unspool.sandbox.attack.suite import PROTECTIONS, AttackReport, Line, in_a_process, table
from unspool.sandbox.attack.ways import Attack
from unspool.sandbox.doctor import report

from .places import place

__all__ = ["place"]
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
]
NOBODY = 65534
GROUPS = ("network", "files", "writing", "programs", "processes", "kernel", "privileges")
SECURITY = Path(__file__).parents[2] / "docs" / "security.md"


# ------------------------------------------------------------------------------------- the suite


def assert_held(found: AttackReport, user: int) -> None:
    assert {line.protection: dict(line.through) for line in found.lines if not line.held} == {}
    assert [line.protection for line in found.lines] == list(PROTECTIONS)
    assert sum(line.tried for line in found.lines if line.protection in GROUPS) == len(ATTACKS)
    assert all(line.absent < line.tried / 2 for line in found.lines)
    assert found.user == user


async def test_all_is_refused_in_both_tiers_and_the_docs_say_what_was_found() -> None:
    with_them, without = [await asyncio.to_thread(in_a_process, namespaces=yes) for yes in (True, False)]
    for found in (with_them, without):
        assert_held(found, os.geteuid())
    assert without.tier == "landlock"
    if with_them.tier != "namespaces":
        pytest.skip(f"no namespaces here: {report().protections[0].how}")
    hint = "print it anew: python -m unspool.sandbox.attack --table"
    assert table([with_them, without]) in SECURITY.read_text(encoding="utf-8"), hint


async def test_the_table_names_what_got_through() -> None:
    lines = [Line(name, 2, 0, {"a way": "worked"} if name == "files" else {}) for name in PROTECTIONS]
    found = AttackReport("landlock", 0, tuple(lines))
    assert not found.held
    rows = table([found]).splitlines()
    assert [row for row in rows if "**no**: a way" in row] == [rows[2 + list(PROTECTIONS).index("files")]]
    assert "Held, tier 2" in rows[0]


async def test_what_is_planted_can_be_reached_from_the_host(place: Arena) -> None:
    assert place.targets.reach() == ["abstract", "tcp", "udp", "unix", "unix datagram"]
    assert place.targets.texts() == {place.targets.secret}


async def test_a_hole_would_be_seen(place: Arena) -> None:
    holes = [
        Attack("files", "works", "return read(os.__file__)"),
        Attack("kernel", "wrong reason", "return raw(3, 57, -1)"),
        Attack("network", "broken", "return 1 / 0"),
        Attack("programs", "ends", "os._exit(3)"),
    ]
    found = {name: verdict[0] for name, verdict in (await through(place, holes))[0].items()}
    assert found == {
        "files: works": "worked", "kernel: wrong reason": "refused",
        "network: broken": "broken", "programs: ends": "died",
    }  # fmt: skip


FOREIGN = {
    # mov eax, 20 (getpid); int 0x80; ret
    "a call as a 32-bit program makes it": "code = b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3'",
    # mov eax, 0x40000027 (getpid with the x32 bit); syscall; ret
    "a call of the x32 kind": "code = b'\\xb8\\x27\\x00\\x00\\x40\\x0f\\x05\\xc3'",
}


@pytest.mark.skipif(_syscalls.machine() != "x86_64", reason="machine code of x86-64")
@pytest.mark.parametrize("kind", FOREIGN)
async def test_calls_of_a_foreign_kind_end_the_process(place: Arena, kind: str) -> None:
    run = (
        "import ctypes, mmap\nroom = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        "room.write(code)\nprint(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(room)))())"
    )
    async with opened(place.sandbox) as repl:
        await shown(repl, "kept = 5")
        result = await repl.execute(f"{FOREIGN[kind]}\n{run}", seconds=30)
        assert result.outcome == "rolled_back", result
        assert any("SIGSYS" in note for note in result.notes), result.notes
        assert await shown(repl, "kept") == "5"


async def test_names_and_sizes_of_files_show_in_the_second_tier_only(place: Arena) -> None:
    """The documented leak: what is in a file stays hidden, that it is there does not."""
    code = f"import os\ntry: print(os.stat({place.targets.known['secret']!r}).st_size)\nexcept OSError as e: print(e.errno)"
    async with opened(place.sandbox) as repl:
        found = await shown(repl, code)
    assert found == ("2" if place.tier_1 else str(len(place.targets.secret)))


# ------------------------------------------------------------------ a program of its own, and users


@contextlib.contextmanager
def copied() -> Iterator[Path]:
    """The package in a folder that every user may read."""
    with tempfile.TemporaryDirectory(prefix="unspool-test-") as name:
        folder = Path(name)
        shutil.copytree(
            Path(unspool.__file__).parent, folder / "unspool", ignore=shutil.ignore_patterns("__pycache__")
        )
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield folder


@functools.cache
def ordinary_python() -> str | None:
    """An interpreter that nobody can run, new enough; None where there is none."""
    check = "import sys, encodings; sys.exit(sys.version_info < (3, 11))"
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if candidate:
            with contextlib.suppress(OSError):
                done = subprocess.run(
                    [candidate, "-I", "-c", check], user=NOBODY, group=NOBODY, extra_groups=[],
                    capture_output=True, cwd="/", check=False,
                )  # fmt: skip
                if done.returncode == 0:
                    return candidate
    return None


@pytest.mark.skipif(
    os.geteuid() != 0, reason="this is an ordinary user already: every other test here is one of it"
)
async def test_it_holds_for_an_ordinary_user_too() -> None:
    python = ordinary_python()
    if python is None:
        pytest.skip("no Python from 3.11 on that an ordinary user may run")
    with copied() as folder:
        for namespaces in (True, False):
            found = await asyncio.to_thread(
                in_a_process, namespaces=namespaces, python=python, user=NOBODY, package=folder
            )
            assert_held(found, NOBODY)
            assert namespaces or found.tier == "landlock"


# -------------------------------------------------------------------------------------- doctor


async def test_doctor_says_what_holds(place: Arena) -> None:
    told = report(allow_namespaces=place.tier_1)
    assert told.tier == ("namespaces" if place.tier_1 else "landlock")
    held = {protection.name: protection.holds for protection in told.protections}
    assert held.pop("separate world") == place.tier_1
    for group in GROUPS:
        few = [attack for attack in ATTACKS if attack.group == group][:6]
        assert held.pop(group) == (not (await through(place, few))[0]), group
    # Tried in test_bounds, and above.
    assert held == dict.fromkeys(("environment", "memory", "forks", "scratch"), True)
