"""The profile for macOS, read as the kernel would read it; and all of the sandbox on what looks like a Mac."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import SandboxUnavailable
from unspool.sandbox import _landlock, _seccomp
from unspool.sandbox._trial import WAYS
from unspool.sandbox.seatbelt import SeatbeltSandbox, profile, readable

from .mac_runs import on_a_mac, stand_in

PYTHON = "/Users/me/project/.venv"
FOLDER = "/private/var/folders/ab/cd/T/unspool-x1"
PROFILE = profile(
    read=[PYTHON, "/opt/py"], programs=[f"{PYTHON}/bin/python", "/opt/py/bin/python3.13"], folder=FOLDER
)

# ------------------------------------------------------------------------------ a reader of profiles

Expression = str | list["Expression"]
_TOKEN = re.compile(r'\s*(?:(?P<bracket>[()])|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>[^\s()"]+))', re.DOTALL)


def parsed(text: str) -> list[list[Expression]]:
    """The expressions of a profile. Fails on whatever is none."""
    stack: list[list[Expression]] = [[]]
    at = 0
    while at < len(text.rstrip()):
        token = _TOKEN.match(text, at)
        assert token is not None, text[at : at + 50]
        at = token.end()
        if token["bracket"] == "(":
            stack.append([])
        elif token["bracket"] == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            word = token["word"]
            stack[-1].append(
                re.sub(r"\\(.)", r"\1", token["text"], flags=re.DOTALL) if word is None else word
            )
    (whole,) = stack
    assert all(isinstance(expression, list) for expression in whole)
    return whole  # type: ignore[return-value]


@dataclass(frozen=True)
class Rule:
    allows: bool
    operations: tuple[str, ...]
    filters: tuple[tuple[str, str], ...]

    def matches(self, operation: str, what: str) -> bool:
        named = any(
            each in ("default", operation) or (each.endswith("*") and operation.startswith(each[:-1]))
            for each in self.operations
        )
        return named and (not self.filters or any(_fits(*each, what) for each in self.filters))


def _fits(kind: str, value: str, what: str) -> bool:
    match kind:
        case "literal" | "target" | "sysctl-name" | "socket-domain":
            return what == value
        case "subpath":
            return what == value or what.startswith(value.rstrip("/") + "/")
        case "sysctl-name-prefix":
            return what.startswith(value)
    raise AssertionError(f"a filter that no kernel knows: {kind}")


def rules_of(text: str) -> list[Rule]:
    version, *rules = parsed(text)
    assert version == ["version", "1"]
    found = []
    for allows, *rest in rules:
        assert allows in ("allow", "deny")
        operations = tuple(word for word in rest if isinstance(word, str))
        filters = tuple(
            (str(kind), str(value)) for kind, value in (word for word in rest if isinstance(word, list))
        )
        found.append(Rule(allows == "allow", operations, filters))
    return found


def may(operation: str, what: str = "", text: str = PROFILE) -> bool:
    """Whether the profile lets it pass, the last rule that matches being the one that counts."""
    return [rule.allows for rule in rules_of(text) if rule.matches(operation, what)][-1]


# ------------------------------------------------------------------------------ what it allows

ALLOWED = [
    ("process-exec", f"{PYTHON}/bin/python"),
    ("process-exec", "/opt/py/bin/python3.13"),
    ("file-read-data", f"{PYTHON}/lib/python3.13/site-packages/numpy/__init__.py"),
    ("file-map-executable", "/opt/py/lib/libpython3.13.dylib"),
    ("file-map-executable", "/usr/lib/libSystem.B.dylib"),
    ("file-read-data", "/System/Volumes/Preboot/Cryptexes/OS/System/Library/dyld/dyld_shared_cache_arm64e"),
    ("file-read-data", "/"),
    ("file-read-data", "/dev/urandom"),
    ("file-write-data", "/dev/null"),
    ("file-read-data", f"{FOLDER}/mine/file"),
    ("file-write-create", f"{FOLDER}/mine"),
    ("file-write-unlink", f"{FOLDER}/mine"),
    ("file-read-metadata", "/Users/me/anything"),
    ("system-socket", "AF_UNIX"),
    ("signal", "self"),
    ("process-info-pidinfo", "self"),
    ("sysctl-read", "hw.ncpu"),
    ("sysctl-read", "kern.osrelease"),
]
REFUSED = [
    ("file-read-data", "/Users/me/.ssh/id_rsa"),
    ("file-read-data", "/Users/me"),
    ("file-read-data", "/Users/me/project"),
    ("file-read-data", "/Users/me/project/.venv2/secret"),
    ("file-read-data", "/Users/me/project/.env"),
    ("file-read-data", "/private/etc/master.passwd"),
    ("file-read-data", "/etc/passwd"),
    ("file-read-data", "/Library/Keychains/System.keychain"),
    ("file-read-data", "/Volumes/Backup/file"),
    ("file-read-data", "/Applications"),
    ("file-read-data", "/private/var/folders/ab/cd/T/unspool-x2/of another"),
    ("file-read-data", f"{FOLDER}0"),
    ("file-read-data", "/opt/homebrew/etc/secret"),
    ("file-read-xattr", "/Users/me/file"),
    ("file-write-create", "/private/etc/x"),
    ("file-write-create", "/private/tmp/x"),
    ("file-write-data", f"{PYTHON}/bin/python"),
    ("file-write-mode", f"{PYTHON}/bin/python"),
    ("file-write-unlink", "/Users/me/file"),
    ("file-write-create", "/private/var/folders/ab/cd/T/x"),
    ("file-map-executable", f"{FOLDER}/mine.dylib"),
    ("file-link", "/Users/me/file"),
    ("process-exec", "/bin/sh"),
    ("process-exec", f"{FOLDER}/mine"),
    ("process-exec", f"{PYTHON}/bin/pip"),
    ("process-fork", ""),
    ("signal", "others"),
    ("process-info-pidinfo", "others"),
    ("network-outbound", "/private/var/run/mDNSResponder"),
    ("network-outbound", "*:443"),
    ("network-outbound", "/Users/me/.docker/run/docker.sock"),
    ("system-socket", "AF_INET"),
    ("system-socket", "AF_ROUTE"),
    ("network-inbound", "localhost:1"),
    ("network-bind", "localhost:1"),
    ("mach-lookup", "com.apple.pasteboard.1"),
    ("mach-lookup", "com.apple.securityd.xpc"),
    ("mach-register", "mine"),
    ("ipc-posix-shm-read-data", "/shared"),
    ("iokit-open", "IOHIDSystem"),
    ("appleevent-send", "com.apple.finder"),
    ("sysctl-read", "kern.procargs2"),
    ("sysctl-read", "kern.proc.all"),
    ("sysctl-write", "kern.hostname"),
    ("system-privilege", ""),
    ("user-preference-read", "any"),
    ("lsopen", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "what"), ALLOWED)
def test_what_python_needs_is_allowed(operation: str, what: str) -> None:
    assert may(operation, what)


@pytest.mark.parametrize(("operation", "what"), REFUSED)
def test_all_else_is_refused(operation: str, what: str) -> None:
    assert not may(operation, what)


def test_the_reader_sees_a_profile_that_leaks() -> None:
    for leak in ("(allow default)", '(allow file-read* (subpath "/Users"))', "(allow file-read-data)"):
        assert may("file-read-data", "/Users/me/.ssh/id_rsa", f"{PROFILE}\n{leak}")


def test_no_order_of_rules_matters() -> None:
    """Which of two rules that match counts is told differently in different places: so there never are two."""
    default, *rules = rules_of(PROFILE)
    assert default == Rule(False, ("default",), ())
    assert all(rule.allows for rule in rules)
    assert [rule.operations for rule in rules if not rule.filters] == [("file-read-metadata",)]
    writable = [rule for rule in rules if any("write" in each for each in rule.operations)]
    assert {value for rule in writable for _, value in rule.filters} == {FOLDER, "/dev/null"}


# ------------------------------------------------------------------------------ paths in it

_ODD = st.text(
    st.one_of(st.sampled_from('"\\ ()\n\t;#|é\U0001f600\u202e'), st.characters(exclude_characters="\0/")),
    min_size=1,
)
PATHS = st.lists(_ODD, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@given(folder=PATHS, python=PATHS)
def test_any_path_is_that_path_and_no_rule(folder: str, python: str) -> None:
    text = profile(read=[python], programs=[f"{python}/bin/python"], folder=folder)
    assert len(rules_of(text)) == len(rules_of(PROFILE))
    assert may("file-write-create", f"{folder}/x", text)
    assert may("file-read-data", f"{python}/x", text)
    assert may("process-exec", f"{python}/bin/python", text)
    other = "/Users/me/secret"
    if not any(other == path or other.startswith(f"{path}/") for path in (folder, python)):
        assert not may("file-read-data", other, text)
        assert not may("file-write-create", other, text)


def test_a_path_that_ends_the_text_is_no_rule() -> None:
    text = profile(read=[], programs=[], folder='/tmp/x")) (allow default) (allow file-read* (subpath "')
    assert not may("file-read-data", "/Users/me/.ssh/id_rsa", text)


def test_a_python_that_has_the_home_folder_in_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert set(readable()) >= {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    monkeypatch.setenv("HOME", os.path.join(os.path.realpath(sys.prefix), "me"))
    with pytest.raises(SandboxUnavailable, match="and so does your home folder"):
        readable()


# ------------------------------------------------------------------------------ on what looks like a Mac


CONFINES = "mac.sandbox_exec(sys.argv[1:])"
confines = pytest.mark.skipif(
    bool(_landlock.missing() or _seccomp.available()),
    reason="nothing here can stand in for what macOS enforces",
)
RUN = """
import sys
from unspool import RLM
from unspool.sandbox import shared
from unspool.testing import ScriptedModel
_, _, shared.SANDBOX_EXEC, runs, name = sys.argv
model = ScriptedModel([
    "```python\\nprint(len(context), open('mine', 'w').write('x'))\\n```",
    "```python\\nsubmit(len(grep('line', context, limit=10_000)))\\n```",
])
with RLM(model, sandbox=name, runs=runs) as rlm:
    run = rlm.run("how many?", "a line\\n" * 1000)
print(run.status, run.answer, run.reason)
"""


@confines
@pytest.mark.parametrize("name", ["auto", "seatbelt"])
def test_a_run_in_it(name: str, tmp_path: Path) -> None:
    said = on_a_mac(RUN, stand_in(tmp_path, CONFINES), tmp_path / "runs", name)
    assert said == "answered 1000 submitted\n"
    (events,) = (tmp_path / "runs").glob("*/events.jsonl")
    assert '"sandbox":"seatbelt"' in events.read_text(encoding="utf-8").replace(" ", "")
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob("unspool-trial-*"))


@confines
def test_a_folder_of_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / ('a "b" \\ é (c) ' + "and long " * 12)  # the path of a socket may have 104 bytes
    odd.mkdir()
    monkeypatch.setenv("TMPDIR", str(odd))
    said = on_a_mac(RUN, stand_in(tmp_path, CONFINES), tmp_path / "runs", "seatbelt")
    assert said == "answered 1000 submitted\n"
    assert not list(odd.iterdir())


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("mac.sandbox_exec(sys.argv[1:], enforced=False)", "fork (open)"),
        ("mac.sandbox_exec(sys.argv[1:], enforced=False)", "change a file (open)"),
        ("print('sandbox-exec: no such operation', file=sys.stderr); os._exit(65)",
         "sandbox-exec ended with status 65; it said: sandbox-exec: no such operation"),
        ("os.abort()", "sandbox-exec was killed by signal 6"),
    ],
)  # fmt: skip
def test_where_it_does_not_hold_no_model_is_asked(does: str, said: str, tmp_path: Path) -> None:
    told = on_a_mac(RUN, stand_in(tmp_path, does), tmp_path / "runs", "auto")
    assert told.startswith("failed None ")
    assert said in told


CONFORM = """
import shutil, sys
from unspool.sandbox.seatbelt import LACKS, SeatbeltSandbox
from unspool.testing.sandbox_conformance import conform
lacks = {**LACKS} if shutil.which("ps") else {**LACKS, "memory": "there is no ps on this machine"}
print(conform(lambda: SeatbeltSandbox(sys.argv[2]), lacks=lacks))
"""


@confines
def test_the_whole_suite(tmp_path: Path) -> None:
    report = on_a_mac(CONFORM, stand_in(tmp_path, CONFINES))
    assert ", 0 failed, " in report, report
    skipped = [line for line in report.splitlines() if line.startswith("skipped")]
    assert all(re.search("it lacks (rollback|forks|memory) ", line) for line in skipped)
    assert report.count("\npassed") > 50


DOCTOR = """
import sys
from unspool.sandbox import shared
shared.SANDBOX_EXEC = sys.argv[2]
sys.argv = ["unspool", "doctor"]
from unspool.cli import main
try:
    main()
except SystemExit as error:
    print("exit", error.code)
"""


@confines
def test_doctor_shows_what_was_tried(tmp_path: Path) -> None:
    said = " ".join(on_a_mac(DOCTOR, stand_in(tmp_path, CONFINES)).split())
    assert "sandbox seatbelt: works (by macOS, with a profile that no Mac of ours has seen)" in said
    assert "yes programs: Code cannot start programs or a shell. attempts refused: 3" in said
    assert said.endswith("exit 0")
    said = " ".join(
        on_a_mac(DOCTOR, stand_in(tmp_path, "mac.sandbox_exec(sys.argv[1:], enforced=False)")).split()
    )
    assert "sandbox seatbelt: DOES NOT WORK" in said
    assert (
        "no programs: NOT PROTECTED. Where it is: Code cannot start programs or a shell. fork (open)" in said
    )
    assert said.endswith("exit 1")


def test_the_docs_say_how_many_ways_are_tried() -> None:
    docs = Path(__file__).parents[2] / "docs" / "sandboxes.md"
    assert f"programs: {len(WAYS)} ways, without harm" in docs.read_text(encoding="utf-8")


def test_on_linux_it_names_what_protects_there() -> None:
    with pytest.raises(SandboxUnavailable, match="on Linux, sandbox='process' protects"):
        SeatbeltSandbox()
