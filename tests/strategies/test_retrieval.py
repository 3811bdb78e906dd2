"""``retrieval``: the passages that share most with the question."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unspool import RLM, ConfigError
from unspool.testing import ScriptedModel

from .helpers import asked, by

LONG = "".join(
    f"Chapter {number}. " + "The rain fell on the roof and the wind went by. " * 15 + "\n"
    for number in range(200)
)
NEEDLE = "The combination of the safe is forty-one, said the lighthouse keeper.\n"
HAY = LONG[: len(LONG) // 2] + NEEDLE + LONG[len(LONG) // 2 :]


def test_without_bm25s_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    model = ScriptedModel([])
    with pytest.raises(ConfigError, match=r"bm25s.*unspool\[retrieval\]"):
        RLM(model, strategy="retrieval", runs=False).run("q", "c")
    assert model.requests == []


class TestWith:
    @pytest.fixture(autouse=True)
    def _bm25s(self) -> None:
        pytest.importorskip("bm25s")

    def test_the_passage_with_the_words_is_given(self) -> None:
        run, model = by("retrieval", ["Answer: 41"], HAY, query="What is the combination of the safe?")
        assert (run.answer, run.turns, run.sub_calls) == ("41", 1, 0)
        assert NEEDLE.strip() in asked(model)
        assert len(asked(model)) < 4_000 * 4
        share = run.coverage.share
        assert share is not None
        assert 0 < share < 0.2

    def test_passages_are_in_their_order_under_their_numbers(self) -> None:
        text = "\n".join(f"{'owl ' if n % 10 == 0 else 'hen '} {n} " + "straw " * 150 for n in range(40))
        _, model = by("retrieval", ["Answer: x"], text, query="Where is the owl?")
        numbers = [int(line.split()[1]) for line in asked(model).split("\n") if line.startswith("[passage ")]
        assert numbers == sorted(numbers)
        assert 1 in numbers

    def test_a_question_without_any_word_of_the_input_is_told_so(self) -> None:
        _, model = by("retrieval", ["Answer: x"], HAY, query="Quousque tandem abutere?")
        assert "no word of the question is in any passage: these are the first" in asked(model)
        assert "[passage 1 of" in asked(model)

    def test_an_input_without_any_word(self) -> None:
        _, model = by("retrieval", ["Answer: x"], "1\n2\n3\n")
        assert "[passage 1 of 1]\n1\n2\n3" in asked(model)

    @pytest.mark.parametrize(
        ("context", "head"),
        [
            ("5\n", "5"), ("a", "a"), ("the of and", "the of and"), ("!!! ???", "!!! ???"), ([1, 2], "1\n2"),
            (5, "5"), ("\n".join("5" * 1_200), "5\n5\n5"), ("words of another kind", "words of another kind"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("query", ["Who paid?", "the?", "?"])
    def test_with_no_word_in_common_the_head_is_given(self, context: object, head: str, query: str) -> None:
        run, model = by("retrieval", ["Answer: x"], context, query=query)
        assert run.answer == "x"
        assert f"]\n{head}" in asked(model)
        assert "no word of the question is in the input: the model was given its first passages" in run.notes

    def test_a_table_of_numbers(self) -> None:
        pandas = pytest.importorskip("pandas")
        run, model = by("retrieval", ["Answer: x"], pandas.DataFrame({"a": [1, 2]}))
        assert run.answer == "x"
        assert "a\n1\n2" in asked(model)

    def test_an_empty_input(self) -> None:
        run, _ = by("retrieval", ["Answer: x"], "")
        assert run.answer == "x"

    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "hay.txt"
        path.write_text(HAY)
        run = RLM(ScriptedModel(["Answer: 41"], window=4_000), runs=False, strategy="retrieval").run(
            "What is the combination of the safe?", path
        )
        assert NEEDLE.strip() in run.trace.turns[0].cells[0].output
