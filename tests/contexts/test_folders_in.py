"""Folders, globs, checkouts and archives in a REPL: one mapping of path to text."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
import zlib
from glob import glob
from pathlib import Path

import pytest

from tests.engine.helpers import play, py, shown
from unspool import ContextError
from unspool.contexts.sources import source_of

FILES = {
    "README.md": "# Title\nhello\n",
    "src/app.py": "import os\n\n\ndef main():\n    return os.name  # TODO é\n",
    "src/lib/util.py": "def helper():\n    pass\n",
    "data/table.csv": "a,b\n1,x\n2,y\n",
}
BINARY = bytes(range(256)) * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "logo.png").write_bytes(BINARY)
    return root


LOOK = """
print(sorted(context), len(context), 'src/app.py' in context)
print(context['src/app.py'].line(4), context['src/app.py'][:9], context.size('logo.png'))
print(grep('def '))
print(context.grep('def ', glob='src/*.py'), context.glob('*.py'), context.grep('^hello$'))
print(context.tree())
"""


def check(output: str, name: str) -> None:
    size = sum(map(len, map(str.encode, FILES.values()))) + len(BINARY)
    for line in (
        "['README.md', 'data/table.csv', 'logo.png', 'src/app.py', 'src/lib/util.py'] 5 True",
        "def main(): import os 1024",
        "['src/app.py:4: def main():', 'src/lib/util.py:1: def helper():']",
        "['src/app.py:4: def main():'] ['src/app.py', 'src/lib/util.py'] ['README.md:2: hello']",
        f"{name}: 5 files, {size / 1000:.1f} kB",
        "  src/  2 files, 77 bytes",
        "    app.py  54 bytes",
    ):
        assert line in output, output


def test_a_folder(folder: Path) -> None:
    binary = "try:\n    print(context['logo.png'][:3])\nexcept ValueError as error:\n    print(error)"
    wrong = "try:\n    context['app.py']\nexcept KeyError as error:\n    print(error)"
    run, model = play(
        [py(LOOK), py(binary, wrong), py("submit(context['data/table.csv'].table()['a'].sum())")], folder
    )
    told = model.requests[0].messages[-1].text
    assert "Files" in told
    assert "app.py" in told
    check(shown(model, 1), str(folder))
    assert "logo.png is a binary file" in shown(model, 2)
    assert "near: src/app.py" in shown(model, 2)
    assert run.answer == 3


def archives() -> dict[str, bytes]:
    everything = {**{name: text.encode() for name, text in FILES.items()}, "logo.png": BINARY}
    made: dict[str, bytes] = {}
    for name, how in (
        ("a.zip", zipfile.ZIP_DEFLATED),
        ("plain.zip", zipfile.ZIP_STORED),
        ("b.zip", zipfile.ZIP_BZIP2),
    ):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", how) as packed:
            packed.mkdir("src/")
            for path, data in everything.items():
                packed.writestr(path, data)
        made[name] = buffer.getvalue()
    for name in ("a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz"):
        buffer = io.BytesIO()
        mode = {"a.tar": "w", "a.tgz": "w:gz"}.get(name) or f"w:{name.rsplit('.', 1)[-1]}"
        with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
            for path, data in everything.items():
                info = tarfile.TarInfo(f"./{path}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        made[name] = buffer.getvalue()
    return made


ARCHIVES = archives()


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name])
    run, model = play([py(LOOK), py("submit(context['README.md'].lines()[1])")], tmp_path / name)
    check(shown(model, 1), name)
    assert run.answer == "hello"


def test_names_in_an_archive_are_names_and_nothing_is_written(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("../../up.txt", "text")
        packed.writestr("/abs.txt", "text")
    (tmp_path / "odd.zip").write_bytes(buffer.getvalue())
    run, _ = play(
        [py("import os\nprint(1)\nsubmit([sorted(context), os.listdir('.')])")], tmp_path / "odd.zip"
    )
    assert run.answer == [["../../up.txt", "/abs.txt"], []]


def test_a_trap_takes_time_and_no_memory(tmp_path: Path) -> None:
    """A small archive that unpacks to 3 GB, and one that lies about its size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    million = b"0" * (1 << 20)
    with (tmp_path / "bomb.gz").open("wb") as file:
        file.write(b"".join(packer.compress(million) for _ in range(3 << 10)) + packer.flush())
    assert (tmp_path / "bomb.gz").stat().st_size < 4 << 20
    code = "print(context[:3], context[10**9 : 10**9 + 3])\ntry:\n    str(context)\nexcept TypeError as e:\n    print(e)"
    run, model = play([py(code), py("submit('ok')")], tmp_path / "bomb.gz", cell_memory=300 << 20)
    assert run.answer == "ok"
    assert "000 000" in shown(model, 1)
    assert "into memory" in shown(model, 1)

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", b"0" * (1 << 20))
    data = buffer.getvalue().replace((1 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    (tmp_path / "liar.zip").write_bytes(data)
    run, model = play([py("context['a.txt'][:]"), py("print(1)\nsubmit('ok')")], tmp_path / "liar.zip")
    assert "unpacks to more than it may" in shown(model, 1)


def test_a_damaged_zip_is_an_error(tmp_path: Path) -> None:
    data = bytearray(ARCHIVES["a.zip"])
    at = data.index(b"src/app.py") + 30
    data[at] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(data)
    _, model = play([py("context['src/app.py'][:]"), py("print(1)\nsubmit(1)")], tmp_path / "a.zip")
    assert "a.zip/src/app.py" in shown(model, 1)
    assert "OSError" in shown(model, 1)


def test_ten_thousand_files(tmp_path: Path) -> None:
    for number in range(10_000):
        path = tmp_path / f"{number // 100:02}" / f"{number:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n" + ("needle\n" if number == 7_777 else ""))
    run, model = play([py("print(len(context))\nsubmit(grep('needle'))")], tmp_path)
    assert run.answer == ["77/07777.txt:2: needle"]
    assert len(model.requests[0].messages[-1].text) < 4_000


def test_what_git_ignores_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / ".gitignore").write_text(".env\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    code = "print(sorted(context))\ntry:\n    context['.env']\nexcept KeyError as error:\n    print(error)"
    run, model = play([py(code), py("submit(grep('SECRET'))")], tmp_path)
    assert "['.gitignore', 'a.txt']" in shown(model, 1)
    assert "there is no file '.env'" in shown(model, 1)
    assert run.answer == []


def test_a_glob_and_a_child_with_one_of_its_files(folder: Path) -> None:
    child = py("print(1)\nsubmit(context.line(4))")
    whole = py("print(1)\nsubmit(sorted(context))")
    root = py(
        "print(sorted(context))\na = rlm_query('q', context['app.py'])\nb = rlm_query('r', context)\nsubmit([a, b])"
    )
    run, _ = play([root, child, whole], folder / "src" / "*.py")
    assert run.answer == ["def main():", ["app.py"]]


@pytest.mark.parametrize(
    ("folder_of_work", "pattern"),
    [
        (".", "*.md"), (".", "?EADME.md"), (".", "[QR]EADME.*"), (".", "*"), (".", "*/*.py"), (".", "s*/*.py"),
        (".", "**"), (".", "**/*.py"), (".", "**/lib/*.py"), (".", "src/**/*.py"), (".", "./*.md"),
        ("src", "*.py"), ("src", "**/*.py"), ("src", "../*.md"), ("src", "../*/*.csv"), ("src/lib", "../../src/*.py"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_a_glob_finds_what_the_shells_does(
    monkeypatch: pytest.MonkeyPatch, folder: Path, folder_of_work: str, pattern: str, absolute: bool
) -> None:
    """From the folder that it is said in, whatever part of it is the first that is not plain."""
    monkeypatch.chdir(folder / folder_of_work)
    expected = sorted(
        os.path.realpath(path) for path in glob(pattern, recursive=True) if os.path.isfile(path)
    )
    source = source_of(Path(f"{os.getcwd()}/{pattern}" if absolute else pattern))
    assert (
        sorted(os.path.realpath(os.path.join(source.root, entry.path)) for entry in source.entries)
        == expected
    )
    assert expected


def test_a_file_cannot_be_changed_through_its_descriptor(folder: Path) -> None:
    """Its mode and times neither; where the descriptors lie is no secret in the REPL."""
    code = """
import os, reach
print(context['README.md'][:3])
fd = next(iter(reach.DESK._open.values()))
for attempt in (lambda: os.write(fd, b'x'), lambda: os.fchmod(fd, 0o644), lambda: os.utime(fd, (1, 1)),
                lambda: os.ftruncate(fd, 1), lambda: os.chmod(f'/proc/self/fd/{fd}', 0o644),
                lambda: open(f'/proc/self/fd/{fd}', 'r+b')):
    try:
        attempt()
        print('done')
    except OSError as error:
        print('refused')
open('mine.txt', 'w').close()
try:
    os.chmod('mine.txt', 0o600)
except PermissionError:
    print('nor its own')
"""
    before = (folder / "README.md").stat()
    _, model = play([py(code), py("submit(1)")], folder)
    assert shown(model, 1).count("refused") == 6
    assert "nor its own" in shown(model, 1)  # the filter does it, whoever owns the file
    after = (folder / "README.md").stat()
    assert (before.st_mode, before.st_mtime, before.st_size) == (after.st_mode, after.st_mtime, after.st_size)


def test_a_replaced_file_is_refused_in_the_cell(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")

    def swap() -> str:
        """Replaces a.txt."""
        (tmp_path / "new").write_text("other")
        (tmp_path / "new").replace(tmp_path / "a.txt")
        return "swapped"

    _, model = play(
        [py("print(context['b.txt'][:], swap())\ncontext['a.txt'][:]"), py("submit(1)")],
        tmp_path,
        tools=[swap],
    )
    assert "two swapped" in shown(model, 1)
    assert "a.txt cannot be read: it is another file now" in shown(model, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(ContextError, match=r"a\.txt cannot be read: Permission denied"):
        play([], tmp_path / "a.txt")


def test_many_threads_read_many_files(tmp_path: Path) -> None:
    """More files than a REPL may have open, in any order."""
    for number in range(600):
        (tmp_path / f"{number}.txt").write_text(f"{number} " * 50)
    code = """
from concurrent.futures import ThreadPoolExecutor
names = sorted(context) * 3
with ThreadPoolExecutor(8) as pool:
    texts = list(pool.map(lambda name: context[name][:], names))
print(all(text == (name[:-4] + ' ') * 50 for name, text in zip(names, texts)), len(texts))
"""
    _, model = play([py(code), py("submit(1)")], tmp_path)
    assert "True 1800" in shown(model, 1)


def test_code_cannot_ask_for_more(folder: Path) -> None:
    code = """
import reach
source = context._source
for name, numbers in ((source, [99]), (source, [-1]), (source, ['0']), (source, [0] * 65), ('other', [0])):
    try:
        print(reach.DESK._ask(name, numbers))
    except ValueError as error:
        print(error)
"""
    _, model = play([py(code), py("submit(1)")], folder)
    assert shown(model, 1).count("no such file was given to this REPL") == 5


def test_the_second_tier_reads_files_too(folder: Path) -> None:
    from unspool.sandbox.process import ProcessSandbox

    sandbox = ProcessSandbox(namespaces=False)
    run, _ = play([py("print(1)\nsubmit(grep('def '))")], folder, sandbox=sandbox)
    assert run.answer == ["src/app.py:4: def main():", "src/lib/util.py:1: def helper():"]
