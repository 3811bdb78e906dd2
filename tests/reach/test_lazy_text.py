"""LazyText is the str that the file would be: over any text, with blocks so small that everything straddles."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.reach import LazyText
from unspool.reach import text as text_module
from unspool.reach.blocks import Blocks
from unspool.reach.octets import Memory
from unspool.reach.search import matches

# Of every width in UTF-8, line ends, and bytes that are no text (as lone surrogates).
letters = st.sampled_from("ab\n\r é€\U0001f642\udc82\udcff\0")
texts = st.text(letters, max_size=60) | st.text(max_size=30).map(
    lambda t: t.encode("utf-8", "replace").decode()
)
sizes = st.integers(4, 9)
places = st.integers(-70, 70)


def lazy(text: str, size: int = 4, encoding: str = "utf-8") -> LazyText:
    data = text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "surrogatepass")
    return LazyText(Blocks(Memory(data), size=size), "a.txt")


def whole(text: str) -> str:
    """What stands in a file with these bytes: escapes beside one another may be a character after all."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape").removeprefix("\ufeff")


@given(texts, sizes, places | st.none(), places | st.none())
def test_slices_and_length(text: str, size: int, start: int | None, stop: int | None) -> None:
    text = whole(text)
    made = lazy(text, size)
    assert made[start:stop] == text[start:stop]  # before anything is known of its length
    assert len(made) == len(text)
    assert made[start:stop] == text[start:stop]
    assert str(made) == text == made
    assert list(made) == list(text)


@given(texts, sizes, places, st.integers(-3, 3).filter(bool))
def test_single_characters_and_steps(text: str, size: int, at: int, step: int) -> None:
    text = whole(text)
    made = lazy(text, size)
    if -len(text) <= at < len(text):
        assert made[at] == text[at]
    else:
        with pytest.raises(IndexError):
            made[at]
    assert made[at::step] == text[at::step]


@given(texts, sizes, st.text(letters, max_size=4), places | st.none(), places | st.none())
def test_search(text: str, size: int, sub: str, start: int | None, stop: int | None) -> None:
    text = whole(text)
    made = lazy(text, size)
    assert made.find(sub, start, stop) == text.find(sub, start, stop)
    assert made.rfind(sub, start, stop) == text.rfind(sub, start, stop)
    assert made.count(sub, start, stop) == text.count(sub, start, stop)
    assert (sub in made) == (sub in text)
    assert made.startswith(sub) == text.startswith(sub)
    assert made.endswith(sub) == text.endswith(sub)


@given(texts, sizes)
def test_lines(text: str, size: int) -> None:
    text = whole(text)
    made = lazy(text, size)
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    assert list(made.lines()) == lines
    assert len(made.lines()) == made.line_count == len(lines)
    for number, line in enumerate(lines, 1):
        assert made.line(number) == line == made.lines()[number - 1]
        assert made.lines(number)[:2] == lines[number - 1 : number + 1]
        assert text[: made.line_start(number)].count("\n") == number - 1
    for at in range(len(text)):
        assert made.line_of(at) == text.count("\n", 0, at) + 1
    for number in (0, -1, len(lines) + 1):
        with pytest.raises(IndexError):
            made.line(number)


@given(texts, sizes, st.integers(1, 12), st.integers(0, 11))
def test_pieces(text: str, size: int, length: int, overlap: int) -> None:
    text, overlap = whole(text), min(overlap, length - 1)
    step = length - overlap
    wanted = [text[at : at + length] for at in range(0, max(1, len(text) - overlap), step)] if text else []
    pieces = lazy(text, size).chunks(length, overlap)
    assert list(pieces) == wanted
    assert len(pieces) == len(wanted)
    assert [pieces[at] for at in range(len(wanted))] == pieces[:] == wanted
    with pytest.raises(IndexError):
        pieces[len(wanted)]


PATTERNS = (
    "a", "a+b", "^b", "a$", r"\bab", "(?<=a)b", "(?<!a)b", "a(?!b)", "é|€", "", "[^a]b", r"a\r?\n", "(a)(b)?", r"\Aa", "b*",
    r"(?m)^.*$", "(?i)A",
)  # fmt: skip


@given(texts, st.integers(1, 5), st.sampled_from(PATTERNS))
@settings(max_examples=300)
def test_a_regex_finds_what_it_finds_in_the_whole(text: str, size: int, pattern: str) -> None:
    """With pieces of a few characters, and room for what hangs over."""
    compiled = re.compile(pattern)
    pieces = ((at, text[at : at + size]) for at in range(0, len(text), size))
    found = [match.span() for match in matches(pieces, compiled, 0, ahead=4, behind=4)]
    assert found == [match.span() for match in compiled.finditer(text)]


@given(texts, sizes)
def test_hits_have_the_numbers_of_their_lines(text: str, size: int) -> None:
    text = whole(text)
    wanted = [
        f"{number}: {line.removesuffix(chr(13))}"
        for number, line in enumerate(text.split("\n"), 1)
        if re.search("a|é", line)
    ]
    assert lazy(text, size).grep("a|é", limit=1000) == wanted


@given(
    st.text(st.sampled_from("ab\né€\U0001f642"), max_size=40), sizes, places | st.none(), places | st.none()
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_mark(encoding: str, text: str, size: int, start: int | None, stop: int | None) -> None:
    made = lazy("\ufeff" + text, size, encoding)
    assert made[start:stop] == text[start:stop]
    assert len(made) == len(text)
    assert made.count("é") == text.count("é")
    assert list(made.lines()) == (text.removesuffix("\n").split("\n") if text else [])


def test_a_mark_is_taken_off_and_bytes_that_are_no_text_stay() -> None:
    assert lazy("\ufeffabc")[:2] == "ab"
    made = LazyText(Blocks(Memory(b"caf\xe9 au lait")), "a.txt")
    assert made[:] == "caf\udce9 au lait"
    assert made.encoded("latin-1")[:] == "café au lait"
    with pytest.raises(ValueError, match="shift_jis"):
        made.encoded("shift_jis")


@given(texts, sizes, places, places)
def test_a_part_is_a_text_of_its_own(text: str, size: int, start: int, stop: int) -> None:
    text = whole(text)
    start, stop, _ = slice(start, stop).indices(len(text))
    stop = max(start, stop)
    blocks = Blocks(Memory(text.encode("utf-8", "surrogateescape")), size=size)
    part = LazyText(blocks, "a.txt", start, stop)
    wanted = text[start:stop]
    assert (str(part), len(part), part[-3:], part[2:]) == (wanted, len(wanted), wanted[-3:], wanted[2:])
    assert (part.find("a"), part.count("é"), part.rfind("\n")) == (
        wanted.find("a"),
        wanted.count("é"),
        wanted.rfind("\n"),
    )
    assert list(part.lines(part.line_of(0))) == [
        line.removesuffix("\r") for line in (wanted.removesuffix("\n").split("\n") if wanted else [])
    ]
    for at in range(len(wanted)):  # its lines have the numbers of the whole
        assert part.line_of(at) == text.count("\n", 0, start + at) + 1


class TestLarge:
    """What needs all of it is refused, with what to do."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text_module, "SMALL", 10)

    def test_a_long_slice_is_lazy_and_a_short_one_is_a_str(self) -> None:
        made = lazy("0123456789" * 5)
        part = made[5:40]
        assert isinstance(part, LazyText)
        assert type(part[0:10]) is str
        assert (len(part), part[0:5], part[-2:]) == (35, "56789", "89")
        assert isinstance(made[7:], LazyText)
        assert made[7:][:3] == "789"
        assert made[-3:] == "789"
        assert made[45:] == "56789"

    @pytest.mark.parametrize(
        ("use", "instead"),
        [
            (str, "chunks"),
            (list, "lines()"),
            (lambda made: made.split("\n"), "lines()"),
            (lambda made: made.splitlines(), "lines()"),
            (lambda made: made.upper(), "parts"),
            (lambda made: f"{made}", "chunks"),
            (lambda made: made + "x", "chunks"),
            (lambda made: "x" + made, "chunks"),
            (lambda made: made[::2], "slice"),
        ],
    )
    def test_what_would_read_all(self, use: object, instead: str) -> None:
        with pytest.raises(TypeError, match=re.escape(instead)):
            use(lazy("0123456789" * 5))  # type: ignore[operator]

    def test_what_does_not_read_all_still_works(self) -> None:
        made = lazy("one two\n" * 10)
        assert made.count("two") == 10
        assert "LazyText a.txt" in repr(made)
        assert next(iter(made.lines())) == "one two"
        assert [found.group() for found in made.finditer("tw.")] == ["two"] * 10
        found = made.search("(t)wo")
        assert found is not None
        assert (found.start(), found.span(1), found[1], found.groups()) == (4, (4, 5), "t", ("t",))


def test_small_ones_have_the_methods_of_str() -> None:
    made = lazy("Öne, two\nthree")
    assert made.split(", ") == ["Öne", "two\nthree"]
    assert made.upper() == "ÖNE, TWO\nTHREE"
    assert f"{made:>20}" == f"{'Öne, two' + chr(10) + 'three':>20}"
    assert made + "!" == "Öne, two\nthree!"
    with pytest.raises(AttributeError):
        made.splitt  # noqa: B018
    with pytest.raises(TypeError):
        5 in made  # noqa: B015


def test_it_opens_as_a_file() -> None:
    made = lazy("a,b\r\n1,é\r\n")
    assert list(csv.reader(made.open())) == [["a", "b"], ["1", "é"]]
    assert made.open("rb").read() == "a,b\r\n1,é\r\n".encode()
    with pytest.raises(ValueError, match="read-only"):
        made.open("w")  # type: ignore[call-overload]


def test_a_long_line_is_shown_around_its_match() -> None:
    made = lazy("x" * 5000 + "NEEDLE" + "y" * 5000 + "\nNEEDLE\n", 1 << 20)
    first, second = made.grep("NEEDLE")
    assert first.startswith("1: …x")
    assert "xNEEDLEy" in first
    assert first.endswith("y…")
    assert len(first) < 2_000
    assert second == "2: NEEDLE"


@given(texts, sizes, st.integers(0, 2))
def test_an_interrupt_between_two_steps_of_the_index_is_mended(text: str, size: int, step: int) -> None:
    """A signal may come between any two instructions, and variables are kept."""
    text = whole(text)
    made = lazy(text, size)
    made[:5]
    blocks = made._blocks
    for array in (blocks._starts, blocks._chars)[:step]:
        array.append(array[-1] + 3)
    assert (made[:], len(made), made.count("a")) == (text, len(text), text.count("a"))
    assert made.line_of(len(text)) == text.count("\n") + 1
