"""Model-written code tries to get out of its sandbox, really, in both tiers, as root and as a user.

What it tries, and why none of it can do harm, is in :mod:`.attacks` and :mod:`.raw_attacks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import unspool
from unspool.sandbox import _syscalls
from unspool.sandbox._handover import hand_over
from unspool.sandbox.doctor import report

from .assault import ATTACKS, VARIABLE, Arena, opened, shown, through
from .attacks import Attack
from .places import place
from .raw_attacks import RAW

__all__ = ["place"]
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
]
NOBODY = 65534
GROUPS = ("network", "files", "writing", "programs", "processes", "kernel", "privileges")


# ------------------------------------------------------------------------------------- attacks


@pytest.mark.parametrize("group", GROUPS)
async def test_every_way_out_is_refused(place: Arena, group: str) -> None:
    assert (
        await through(place, [attack for attack in ATTACKS if attack.group == group and attack not in RAW])
        == {}
    )


@pytest.mark.parametrize("group", GROUPS)
async def test_every_way_out_is_refused_to_bare_system_calls(place: Arena, group: str) -> None:
    assert await through(place, [attack for attack in RAW if attack.group == group]) == {}


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
    found = {name: verdict[0] for name, verdict in (await through(place, holes)).items()}
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


# ----------------------------------------------------------------------------- one node and the next


async def test_a_repl_sees_nothing_of_another(place: Arena) -> None:
    async with opened(place.sandbox) as one, opened(place.sandbox) as other:
        mine = await shown(
            one,
            "import os\nmine = 41\nopen('mine.txt', 'w').write('mine')\nprint(os.path.abspath('mine.txt'))",
        )
        code = (
            "import os\ndef attempt(go):\n    try: return go()\n    except OSError as error: return error.errno\n"
            f"print(['mine' in globals(), attempt(lambda: open({mine!r}).read()), attempt(lambda: open({mine!r}, 'a')),"
            f" attempt(lambda: os.listdir(os.path.dirname({mine!r})))])"
        )
        found = await shown(other, code)
        # With namespaces it is another folder at the same place.
        assert found in ("[False, 13, 13, 13]", "[False, 2, 'made', []]") or (
            place.tier_1 and found.startswith("[False, 2, <_io.TextIOWrapper")
        ), found
        assert (
            await shown(one, "print(mine, open('mine.txt').read(), sorted(os.listdir()))")
            == "41 mine ['mine.txt']"
        )


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


async def test_a_shared_context_cannot_be_written_to(place: Arena) -> None:
    handed = hand_over("abcdefgh" * 1_000_000)
    try:
        async with opened(place.sandbox, handed) as one, opened(place.sandbox, handed) as other:
            assert await shown(one, WRITE_CONTEXT) in ("EACCES", "EPERM", "no mapping")
            assert await shown(other, "print(context.count('abcdefgh'), context[:8])") == "1000000 abcdefgh"
    finally:
        handed.close()


# ------------------------------------------------------------------ a program of its own, and users


@contextlib.contextmanager
def copied() -> Iterator[Path]:
    """The package and the attacks in a folder that every user may read."""
    with tempfile.TemporaryDirectory(prefix="unspool-test-") as name:
        folder = Path(name)
        shutil.copytree(
            Path(unspool.__file__).parent, folder / "unspool", ignore=shutil.ignore_patterns("__pycache__")
        )
        (folder / "escape").mkdir()
        (folder / "escape" / "__init__.py").touch()
        for module in ("assault", "attacks", "raw_attacks", "targets"):
            shutil.copy(Path(__file__).with_name(f"{module}.py"), folder / "escape")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield folder


def assault(folder: Path, python: str, user: int | None = None) -> Mapping[str, Mapping[str, object]]:
    """Everything from a new process, with a secret in its environment from its start."""
    done = subprocess.run(
        [python, "-S", "-P", "-c", "from escape.assault import main; main()"],
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", VARIABLE: os.urandom(16).hex()},
        user=user, group=user, extra_groups=None if user is None else [], cwd="/",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("uid") == (os.geteuid() if user is None else user)
    assert found["tier 2"]["tier_1"] is False
    assert isinstance(found, dict)
    return found


def assert_held(found: Mapping[str, Mapping[str, object]]) -> None:
    for tier, told in found.items():
        assert told["tried"] == len(ATTACKS), tier
        assert told["through"] == {}, tier
        assert VARIABLE not in str(told["variables"]), tier
        assert told["in_environ"] == [], tier


async def test_a_secret_of_the_hosts_environment_is_nowhere_in_the_sandbox() -> None:
    with copied() as folder:
        found = await asyncio.to_thread(assault, folder, sys.executable)
    assert_held(found)
    for tier, told in found.items():
        assert told["holders"] == [], f"{tier}: in the memory of {told['holders']}"
        assert int(str(told["seen"])) >= 4, f"{tier}: their memory could not be looked at"


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
        assert_held(await asyncio.to_thread(assault, folder, python, NOBODY))


# -------------------------------------------------------------------------------------- doctor


async def test_doctor_says_what_holds(place: Arena) -> None:
    told = report(allow_namespaces=place.tier_1)
    assert told.tier == ("namespaces" if place.tier_1 else "landlock")
    held = {protection.name: protection.holds for protection in told.protections}
    assert held.pop("separate world") == place.tier_1
    for group in GROUPS:
        few = [attack for attack in ATTACKS if attack.group == group][:6]
        assert held.pop(group) == (not await through(place, few)), group
    # Tried in test_bounds, and above.
    assert held == dict.fromkeys(("environment", "memory", "forks", "scratch"), True)
