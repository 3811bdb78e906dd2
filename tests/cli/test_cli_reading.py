"""How much of the input models read, and the quotes from it, on the command line."""

from __future__ import annotations

import json

import pytest

from unspool.cli.reading import coverage_object, reading_lines
from unspool.reading import Citation, Coverage, PartCoverage

from .conftest import Cli, MakeCli

TEXT = "".join(f"{n * 7919 % 10007:05d} is what line {n} of this log says\n" for n in range(100))
CODE = "```python\nprint(context[:1000])\ncite('line 17 of this log')\ncite('not in there at all')\nsubmit('done')\n```"


def asked(make_cli: MakeCli, *arguments: str) -> tuple[Cli, bytes, str]:
    cli = make_cli([CODE])
    done = cli.run(cli.ask("What is in it?", cli.file("a.txt", TEXT), "--runs", "kept", *arguments))
    assert done.returncode == 0, done.stderr
    return cli, done.stdout, done.stderr.decode()


def test_the_lines_below_the_answer(make_cli: MakeCli) -> None:
    cli, out, err = asked(make_cli)
    assert out == b"done\n"
    lines = err.splitlines()
    at = lines.index(f"models read {int(130_000 / len(TEXT))}% of the input")
    assert lines[at + 1] == 'line 18: "line 17 of this log"'
    assert lines[at + 2] == 'not in the input: "not in there at all"'
    shown = cli.run(cli.command("runs", "show", "last", "--runs", "kept")).stdout.decode()
    assert "\n".join(lines[at : at + 3]) in shown


def test_quiet_says_nothing_of_it(make_cli: MakeCli) -> None:
    assert asked(make_cli, "--quiet")[2] == ""


def test_the_object(make_cli: MakeCli) -> None:
    told = json.loads(asked(make_cli, "--json")[1])
    coverage = told["coverage"]
    assert coverage["size"] == len(TEXT)
    assert coverage["share"] == coverage["by_prints"] == pytest.approx(1300 / len(TEXT), abs=0.001)
    ((start, end),) = coverage["unread"][0]["ranges"]
    assert (end, start) == (len(TEXT) - 300, pytest.approx(1000, abs=1))
    assert [(c["line"], c["found"]) for c in told["citations"]] == [(18, True), (None, False)]


@pytest.mark.parametrize(
    ("share", "unplaced", "told"),
    [
        (0.0, 0, "models read 0% of the input"),
        (0.0, 5, "how much of the input models read is not known"),
        (0.0004, 5, "how much of the input models read is not known"),
        (0.0004, 0, "models read under 0.1% of the input"),
        (0.0012, 5, "models read at least 0.1% of the input"),
    ],
)
def test_no_share_is_told_as_at_least_nothing(share: float, unplaced: int, told: str) -> None:
    coverage = Coverage(share=share, size=9_999, unplaced=unplaced)
    assert list(reading_lines(coverage, [])) == [told]


def test_the_first_line_fits_and_quotes_are_cut() -> None:
    quote = Citation("word " * 100, "pages/a.txt", 5, 12_345, True, True)
    for width in (40, 80):
        for coverage in (Coverage(share=0.004, size=9, unplaced=1), Coverage(share=1.0, size=9)):
            lines = list(reading_lines(coverage, [quote] * 30, width))
            assert len(lines) == 22
            assert len(lines[0]) <= 40
            assert all(len(line) <= max(width, 50) for line in lines)
            assert lines[1].startswith('pages/a.txt, line 12,345: "word word')
            assert lines[-1] == "and 10 more quotes"


def test_what_is_not_known_is_not_told() -> None:
    assert list(reading_lines(Coverage(), ())) == []
    assert coverage_object(Coverage())["share"] is None


def test_an_object_is_bounded() -> None:
    ranges = tuple((n, n + 1) for n in range(0, 1_000, 2))
    parts = tuple(PartCoverage(n, None, 10_000, 0.5, (), ranges) for n in range(1_000))
    assert len(json.dumps(coverage_object(Coverage(share=0.5, size=10**7, parts=parts)))) < 300_000
