"""What the sandbox protects, in the words of docs/security.md, and what enforces it.

>>> list(PROTECTIONS)[:3]
['network', 'files', 'writing']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Enforced:
    """``code``: what code in a REPL can or cannot do; ``enforced``: by what."""

    code: str
    enforced: str


PROTECTIONS: Mapping[str, Enforced] = {
    "network": Enforced(
        "cannot reach the internet, your network or servers on this machine",
        "seccomp: no socket can be made. Below it an empty network namespace (tier 1), Landlock for TCP "
        "(Linux 6.7) and abstract sockets (6.12)",
    ),
    "files": Enforced(
        "reads Python, its installed packages, system libraries, time zones and what you hand to the run, "
        "and no other file",
        "Landlock; in tier 1 also a root file system with nothing else in it",
    ),
    "writing": Enforced(
        "writes nowhere but in a private folder, which goes with the REPL",
        "Landlock; read-only mounts (tier 1); modes, owners and times cannot be changed where no mount "
        "guards them (tier 2)",
    ),
    "programs": Enforced(
        "starts no program and no shell, also none it wrote itself",
        "seccomp refuses `execve`; Landlock gives no right to execute",
    ),
    "processes": Enforced(
        "cannot signal, trace, or read the memory of a process outside its REPL, nor leave its process group",
        "seccomp; Landlock's scopes (6.12; before that it may signal its own group as a whole and nothing "
        "else); a pid namespace for each REPL (tier 1)",
    ),
    "environment": Enforced(
        "sees nothing of your environment variables",
        "the process that all REPLs come from is executed anew with a fixed list of variables, so they are "
        "not in its memory either",
    ),
    "privileges": Enforced(
        "has no privileges and cannot get any",
        "no capabilities, `no_new_privs`; root's REPLs take the identity of nobody where it can read Python",
    ),
    "kernel": Enforced(
        "cannot mount, enter namespaces, or use io_uring, bpf, keyrings, perf events, userfaultfd and "
        "whatever else is not on a list of about 170 calls",
        "seccomp: everything not on the list fails; calls in the manner of 32-bit and x32 programs end the "
        "process",
    ),
    "memory": Enforced(
        "gets a `MemoryError`, or is rolled back, when it takes too much memory",
        "RLIMIT_DATA, RLIMIT_AS, and a keeper that measures",
    ),
    "forks": Enforced(
        "is rolled back when it makes more than 32 processes, or 256 threads and processes",
        "the keeper; RLIMIT_NPROC in a user namespace (tier 1)",
    ),
    "scratch": Enforced(
        "cannot fill your disk",
        "a file system in memory of fixed size (tier 1); the keeper measures the folder (tier 2)",
    ),
    "time": Enforced(
        "is stopped at its time limit: interrupted, then killed and rolled back",
        "the host's clock and the keeper",
    ),
    "crashes": Enforced(
        "undoes itself alone when it crashes: everything is as it was before the cell",
        "a fork of the REPL before each cell, which takes over; before the first cell, a new REPL",
    ),
    "neighbours": Enforced(
        "cannot read or change what another REPL has, nor a context that they share",
        "a private folder, a Landlock layer and a process group for each; contexts are sealed, read-only "
        "memory",
    ),
    "leftovers": Enforced(
        "leaves no process and no file behind",
        "the keeper kills all that descends from it when the host closes the REPL or dies; in tier 1 the "
        "kernel does it with the pid namespace",
    ),
}
