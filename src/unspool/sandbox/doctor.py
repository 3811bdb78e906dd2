"""What the sandbox gives on this machine, really tried in a throw-away process, as data.

Contract: :func:`report` runs the attempts of :mod:`unspool.sandbox._probe` in a process that is
hardened as any node is, and turns what was refused into a :class:`SandboxReport` in words. It does
not raise where a machine cannot harden: then ``tier`` is ``None`` and ``advice`` says what to do.
It takes about half a second, and it is not async: callers with a loop run it in a thread.

>>> report("none").tier
'none'
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import TypedDict, cast

from ..errors import ConfigError
from . import linux
from ._probe import Facts
from .protocol import Protection, SandboxReport, Tier

_SECONDS = 60.0
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "", "HOME": "", "TMPDIR": "", "PWD": ""}
MEANING = {
    "network": "Code cannot reach the internet, your network or servers on this machine.",
    "files": "Code reads Python, its libraries and what you hand to the run, and no other file.",
    "writing": "Code writes nowhere but in a private folder that is removed with it.",
    "programs": "Code cannot start programs or a shell.",
    "processes": "Code cannot see, signal, read or trace other processes, nor get away from its keeper.",
    "environment": "Keys and other variables of your environment are not in the sandbox.",
    "kernel": "The large doors into the kernel (mounts, namespaces, io_uring, bpf, keyrings) are shut.",
    "privileges": "Code has no special rights, and cannot get any.",
    "memory": "Code that takes too much memory gets a MemoryError; your machine stays usable.",
    "forks": "Code that multiplies itself without end is stopped.",
    "scratch": "Code cannot fill your disk.",
    "separate world": "Code lives in namespaces of its own: no host files, network or processes are there.",
}
_HOW = {
    "network": "seccomp lets no socket be made",
    "files": "Landlock",
    "writing": "Landlock",
    "programs": "seccomp refuses execve, Landlock gives no right to execute",
    "processes": "seccomp, Landlock",
    "environment": "the zygote starts with a fixed list of variables",
    "kernel": "seccomp lets only known calls pass",
    "memory": "RLIMIT_DATA, RLIMIT_AS and a keeper that measures",
    "forks": "RLIMIT_NPROC, and the keeper counts",
    "scratch": "a file system in memory with a fixed size",
}
_TIER_1_TOO = {
    "network": "an empty network namespace",
    "files": "a root with nothing else in it",
    "writing": "read-only mounts",
    "processes": "a pid namespace for each node",
}
_KEPT = {  # what the keeper does where the kernel does not
    "forks": "the keeper counts processes and threads and ends the cell; the kernel's own limit is far off",
    "scratch": "the keeper measures the folder and ends the cell; between two measurements it can grow",
}


class _Found(TypedDict, total=False):
    unavailable: str
    tier: str
    reason: str
    abi: int
    uid: int | None
    uid_reason: str
    status: Mapping[str, str]
    tried: Mapping[str, Mapping[str, str]]


def report(sandbox: str = "process", *, allow_namespaces: bool = True) -> SandboxReport:
    """What ``sandbox`` ("process" or "none") gives here. See the module docstring.

    ``allow_namespaces=False`` shows what is left where a machine refuses user namespaces.
    """
    if sandbox == "none":
        return SandboxReport("none", "none", _nothing("this sandbox does not protect"), _ADVICE_NONE)
    if sandbox != "process":
        raise ConfigError(f"unknown sandbox {sandbox!r}: use 'process' or 'none'")
    reason = linux.available()
    if reason:
        return SandboxReport("process", None, _nothing(reason), _advice_unavailable(reason))
    try:
        found = _probe(allow_namespaces)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return SandboxReport("process", None, _nothing(f"the probe failed: {error}"), _ADVICE_PROBE)
    if "unavailable" in found:
        reason = found["unavailable"]
        return SandboxReport("process", None, _nothing(reason), _advice_unavailable(reason))
    protections = (_world(found), *_tried(found), _privileges(found))
    tier: Tier = "namespaces" if found["tier"] == "namespaces" else "landlock"
    return SandboxReport("process", tier, protections, _advice(found, protections))


def _probe(allow_namespaces: bool) -> _Found:
    """Prepare what the probes go for, run them in a new interpreter, and take it away again."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_probe.py")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="unspool-doctor-"))
        secret = os.path.join(folder, "file")
        with open(secret, "w", encoding="ascii") as file:
            file.write("a file of the host")
        os.chmod(folder, 0o777)
        os.chmod(secret, 0o666)
        facts = Facts(
            allow_namespaces=allow_namespaces,
            secret_file=secret,
            host_pid=os.getpid(),
            host_port=server.getsockname()[1],
            variables=[name for name in os.environ if name not in _ENVIRONMENT],
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", script],
            input=json.dumps(facts),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=_ENVIRONMENT,
            check=False,
        )
    if done.returncode or not done.stdout:
        last = done.stderr.strip().rpartition("\n")[2]
        raise ValueError(f"it ended with {done.returncode}. {last}")
    return cast("_Found", json.loads(done.stdout))


def _world(found: _Found) -> Protection:
    held = found["tier"] == "namespaces"
    how = "user, mount, network, pid, IPC and UTS namespaces" if held else f"not here: {found['reason']}"
    return Protection("separate world", held, how, MEANING["separate world"])


def _tried(found: _Found) -> list[Protection]:
    tier1 = found["tier"] == "namespaces"
    protections = []
    for name, how in _HOW.items():
        group = found["tried"].get(name)
        through = {label: text for label, text in (group or {}).items() if text}
        if tier1 and name in _TIER_1_TOO:
            how = f"{how}; {_TIER_1_TOO[name]}"
        if group is None:
            protections.append(Protection(name, False, "could not be tried", MEANING[name]))
        elif through and name in _KEPT and not tier1:
            protections.append(Protection(name, True, _KEPT[name], MEANING[name]))
        elif through:
            got = "; ".join(f"{label} ({text})" for label, text in through.items())
            protections.append(Protection(name, False, f"got through: {got}", MEANING[name]))
        else:
            protections.append(
                Protection(name, True, f"{how} (attempts refused: {len(group)})", MEANING[name])
            )
    return protections


def _privileges(found: _Found) -> Protection:
    status = found["status"]
    empty = all(int(status.get(name, "1"), 16) == 0 for name in ("CapEff", "CapPrm"))
    held = empty and status.get("NoNewPrivs") == "1" and status.get("Seccomp") == "2"
    how = "no capabilities, no_new_privs"
    if not held:
        how = "seen from outside: " + ", ".join(f"{name} {value}" for name, value in status.items())
    elif found["uid"] is not None:
        how += ", the identity of nobody instead of root"
    elif found["uid_reason"]:
        how += f"; it is still called root, because {found['uid_reason']}"
    return Protection("privileges", held, how, MEANING["privileges"])


def _nothing(reason: str) -> tuple[Protection, ...]:
    return tuple(Protection(name, False, reason, meaning) for name, meaning in MEANING.items())


_ADVICE_NONE = "Use it only for code you have written yourself; the default, 'process', protects on Linux."
_ADVICE_PROBE = "The sandbox could not be tried, so do not rely on it. If this stays, please report a bug."
_ADVICE_TIER_2 = (
    "The sandbox holds, without namespaces: code can still learn names, sizes and dates of files where it "
    "guesses the path, which process numbers are in use and this machine's name, but not what is in a file "
    "or a process. For the stronger kind, allow user namespaces"
)
_ADVICE_ROOT = (
    "You run as root, and no other identity can read the interpreter, so code keeps root's name without "
    "root's rights. Run unspool as an ordinary user, or install Python where everyone can read it."
)
_ADVICE_OLD = "A kernel from 6.12 on would also keep signals and abstract sockets apart with Landlock."


def _advice_unavailable(reason: str) -> str:
    ways = "run unspool in a Linux container or virtual machine with Linux 5.13 or later"
    if sys.platform != "linux":
        mac = 'sandbox="seatbelt" has macOS confine code; or ' * (sys.platform == "darwin")
        return f"The sandbox needs Linux ({reason}); {mac}{ways}."
    return (
        f"This machine cannot harden: {reason}. Enable it, or {ways}; or put the code alone into a "
        'container: sandbox="command:docker run -i --rm --network none IMAGE python3 -".'
    )


def _advice(found: _Found, protections: tuple[Protection, ...]) -> str:
    broken = [protection.name for protection in protections[1:] if not protection.holds]
    if broken:
        return f"Do not run code you do not trust here: {', '.join(broken)} did not hold."
    advice = []
    if found["tier"] != "namespaces":
        advice.append(f"{_ADVICE_TIER_2} ({found['reason']}).")
    if found["uid_reason"]:
        advice.append(_ADVICE_ROOT)
    if found["abi"] < 6:
        advice.append(_ADVICE_OLD)
    return " ".join(advice)
