"""``unspool view`` as a process: what it says, what it serves, and that it ends cleanly."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from .. import stories
from .conftest import SECONDS, Cli, MakeCli
from .test_cli_live import on_terminal
from .test_cli_watch import Held, ended
from .test_cli_watch import going as going  # a fixture


def started(cli: Cli, *more: str) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
    """The process, and the address that it printed."""
    process = subprocess.Popen(
        cli.command("view", "--runs", "kept", *more),
        cwd=cli.folder,
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    said = process.stdout.readline().decode()
    address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]{20,})(&/run/\S+)?\n", said)
    assert address, said
    return process, address


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_serves_and_ends(
    make_cli: MakeCli, tmp_path: Path, stop: signal.Signals
) -> None:
    run = stories.with_children(tmp_path / "kept")
    process, address = started(make_cli(["unused"]), "last")
    try:
        assert address[3] == f"&/run/{run.id}"
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=SECONDS)
        connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {address[2]}"})
        assert [each["id"] for each in json.loads(connection.getresponse().read())["runs"]] == [run.id]
        connection.request("GET", "/api/live", headers={"Authorization": f"Bearer {address[2]}"})
        stream = connection.getresponse()
        assert stream.read(6) == b"data: "
        process.send_signal(stop)  # while somebody listens
        _, err = process.communicate(timeout=SECONDS)
        connection.close()
    finally:
        process.kill()
    assert process.returncode == 0
    assert address[2].encode() not in err
    assert err.decode().splitlines() == [f"unspool shows the runs of {Path('kept')}; Ctrl-C stops it"]


def test_a_run_of_another_process_moves(
    going: tuple[Cli, Held, subprocess.Popen[bytes]],
) -> None:
    cli, held, run = going
    process, address = started(cli, "last")
    try:
        headers = {"Authorization": f"Bearer {address[2]}"}
        live, asks = (
            http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=SECONDS) for _ in range(2)
        )
        name = str(address[3]).rpartition("/")[2]

        def status() -> str:
            asks.request("GET", f"/api/runs/{name}", headers=headers)
            return str(json.loads(asks.getresponse().read())["status"])

        live.request("GET", f"/api/live?run={name}", headers=headers)
        news = live.getresponse()
        assert news.readline() == b"data: now\n"
        assert status() == "running"
        held.go.set()
        assert ended(run)[0] == 0
        while status() != "answered":
            while not news.readline().startswith(b"data:"):
                pass
        live.close()
        asks.close()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_two_addresses_are_not_the_same(make_cli: MakeCli, tmp_path: Path) -> None:
    stories.with_children(tmp_path / "kept")
    cli = make_cli(["unused"])
    both = [started(cli), started(cli)]
    for process, _ in both:
        process.terminate()
        process.communicate(timeout=SECONDS)
    assert len({address[1] for _, address in both}) == 2
    assert len({address[2] for _, address in both}) == 2


def test_what_is_not_there_is_told_before_anything_is_served(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    (cli.folder / "kept").mkdir()
    done = cli.run(cli.command("view", "nothing", "--runs", "kept"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"there is no run 'nothing'" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = cli.run(cli.command("view", "--port", port, "--runs", "kept"))
    assert done.returncode == 2
    assert b"try another port" in done.stderr


def test_a_browser_is_opened_by_a_file_that_only_the_user_can_read(make_cli: MakeCli, tmp_path: Path) -> None:
    stories.with_children(tmp_path / "kept")
    cli = make_cli(["unused"])
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\nfile=${1#file://}\nstat -c %a "$(dirname "$file")" >seen\n'
        'echo "$1" >>seen\ncat "$file" >>seen\nkill -INT "$PPID"\n'
    )
    browser.chmod(0o755)
    code, sent = on_terminal(cli, cli.command("view", "--runs", "kept"), columns=80, BROWSER=f"{browser} %s")
    seen = (tmp_path / "seen").read_text().splitlines()
    address = re.search(r"http://127\.0\.0\.1:\d+/#token=[\w-]+", sent)
    assert address is not None
    assert code == 0
    assert seen[0] == "700"
    assert "token" not in seen[1]
    assert f'url={address[0]}"' in seen[2]
    assert not Path(seen[1].removeprefix("file://")).exists()
