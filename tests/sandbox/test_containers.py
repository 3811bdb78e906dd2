"""The sandbox ``command`` in real containers, in bubblewrap and on another machine; what is left of them."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.protocol import ReplSpec
from unspool.testing.sandbox_conformance import CHECKS, Check, as_test

from .conftest import Host, Session
from .test_command import LACKS, PYTHON
from .test_lifecycle import settled

BWRAP = (  # with the environment of the tests, which may lie below /tmp
    f"bwrap --ro-bind / / --tmpfs /tmp --ro-bind {sys.prefix} {sys.prefix} --dev /dev --proc /proc --unshare-all "
    f"--die-with-parent --new-session {PYTHON} -"
)


def podman(*options: str) -> str:
    """This machine's own files under a layer of the container's: there is no image to be had without a registry."""
    return (
        "podman --runtime runc run --rm -i --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 "
        f"{' '.join(options)} --rootfs /:O python3 -"
    )


def _answers(command: str) -> None:
    """Skips the test where the program is not there, or may not do here what it is for."""
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"not installed: {command.split()[0]}")
    try:
        tried = subprocess.run(
            shlex.split(command), input="print('it runs')", capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command.split()[0]} does not run here: it does not end within two minutes")
    if tried.stdout != "it runs\n":
        pytest.skip(f"{command.split()[0]} does not run here: {tried.stderr.strip()[-300:]}")


@contextmanager
def _ssh(folder: Path) -> Iterator[str]:
    """A way to this machine through a server of our own, with keys made for it."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None or shutil.which("ssh") is None:
        pytest.skip("not installed: ssh or sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = (f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {folder}/host", "StrictModes no",
               f"AuthorizedKeysFile {folder}/user.pub", f"PidFile {folder}/pid", "UsePAM no")  # fmt: skip
    (folder / "config").write_text("\n".join(options))
    with subprocess.Popen(
        [server, "-D", "-e", "-f", str(folder / "config")], stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            said = running.stderr.readline()
            if "listening" not in said:
                pytest.skip(f"sshd does not start here: {said}")
            way = (
                f"ssh -F none -i {folder}/user -p {port} -o BatchMode=yes -o StrictHostKeyChecking=no "
                "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR 127.0.0.1"
            )
            _answers(f"{way} {PYTHON} -")  # the account may be locked
            yield f"{way} {PYTHON} -"
        finally:
            running.terminate()


@pytest.fixture(scope="module", params=["podman", "bwrap", "ssh"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A command that leads there."""
    if request.param == "ssh":
        with _ssh(tmp_path_factory.mktemp("ssh")) as command:
            yield command
        return
    command = BWRAP if request.param == "bwrap" else podman()
    _answers(command)
    yield command


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_it_is_a_sandbox(place: str, check: Check) -> None:
    as_test(lambda: CommandSandbox(place), lacks=LACKS)(check)


# ------------------------------------------------------------------------------ containers alone


class Containers:
    """The containers of one test, known by a label."""

    def __init__(self) -> None:
        self.label = f"unspool.test={uuid4().hex}"

    def command(self, *options: str) -> str:
        return podman("--label", self.label, *options)

    def there(self) -> list[str]:
        """Running or not: one that ended and was kept is left, too."""
        asked = ["podman", "ps", "--all", "--quiet", "--filter", f"label={self.label}"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()

    def kill(self) -> None:
        subprocess.run(["podman", "kill", *self.there()], capture_output=True, check=True)


@pytest.fixture
def containers() -> Iterator[Containers]:
    _answers(podman())
    made = Containers()
    yield made
    if left := made.there():
        subprocess.run(["podman", "rm", "--force", *left], capture_output=True, check=True)


async def test_a_lost_container_costs_what_was_in_it_and_says_so(containers: Containers) -> None:
    sandbox = CommandSandbox(containers.command())
    host = Host()
    try:
        repl = Session(await sandbox.open(ReplSpec({"k": "v"}, tools=("tool",)), host), host)
        await repl.show("mine = 1\nother = 2")
        running = asyncio.ensure_future(repl.run("tool()\nwhile True: pass", 60.0))
        assert await settled(lambda: bool(host.calls))
        containers.kill()
        result = await running
        assert result.outcome == "restarted"
        (note,) = result.notes
        assert "began anew with the context alone: the connection was lost" in note
        assert "ended with status 137" in note
        assert note.endswith("; lost: mine, other")
        assert await repl.show("context, 'mine' in globals()") == "({'k': 'v'}, False)"
    finally:
        await sandbox.close()
    assert await settled(lambda: not containers.there())


async def test_a_container_that_is_full_undoes_the_cell_and_is_kept(containers: Containers) -> None:
    sandbox = CommandSandbox(containers.command("--memory", "300m"))
    host = Host()
    try:
        repl = Session(await sandbox.open(ReplSpec("the context"), host), host)
        await repl.show("mine = 1")
        (only,) = containers.there()
        hog = "taken = []\nwhile True: taken.append(bytearray(1 << 20))"
        assert (await repl.run(hog)).outcome in ("error", "rolled_back")
        assert (await repl.run("sum(range(10**12))", 0.5)).outcome == "rolled_back"
        assert await repl.show("mine, context") == "(1, 'the context')"
        assert containers.there() == [only]
    finally:
        await sandbox.close()
    assert await settled(lambda: not containers.there())


HOST = """
import asyncio
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec

async def on_call(call):
    print(call.name, flush=True)
    return HostReply()

async def main():
    repl = await CommandSandbox({command!r}).open(ReplSpec("x", tools=("begun",)), on_call)
    await repl.execute({code!r}, seconds=600)

asyncio.run(main())
"""
FORKED = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)\n"


@pytest.mark.parametrize(
    "code", ["begun()\nwhile True: pass", f"{FORKED}begun()\nsum(range(10**12))"], ids=["alone", "forked"]
)
async def test_a_host_that_is_killed_leaves_no_container(containers: Containers, code: str) -> None:
    script = HOST.format(command=containers.command(), code=code)
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert host.stdout is not None
    assert await host.stdout.readline() == b"begun\n"
    assert len(containers.there()) == 1
    host.kill()
    await host.wait()
    assert await settled(lambda: not containers.there())


async def test_a_start_that_is_cancelled_leaves_no_container(containers: Containers) -> None:
    silent = "python3 -c 'import sys; sys.stdin.read()'"
    sandbox = CommandSandbox(containers.command().replace("python3 -", silent))
    opening = asyncio.ensure_future(sandbox.open(ReplSpec("x"), Host()))
    assert await settled(lambda: bool(containers.there()))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await sandbox.close()
    assert await settled(lambda: not containers.there())
