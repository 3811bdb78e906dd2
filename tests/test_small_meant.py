"""What the helpers of the small profile take code for that a weak model writes nearly right."""

from __future__ import annotations

import pytest

from unspool import RLM
from unspool.prompts.small_kinds import kind_of
from unspool.prompts.small_tools import find, values
from unspool.testing import ScriptedModel

THINGS = ("roof", "gate", "floor", "barn", "well", "wall", "chimney", "stable", "window", "stair")
DONE = ("built", "mended", "painted", "sold")
ROWS = "kind,text\n" + "".join(
    f"{kind},note {n} of a {word} man\n"
    for n, (kind, word) in enumerate(
        [("ind", "blind"), ("ind", "kind"), ("gr", "mind"), ("inde", "ind")] * 10
    )
)
CODE = "".join(f"class Shed{n}(Place):\n    def open(self):\n        pass\n\n" for n in range(4)) + "\n".join(
    f"class Yard{n}:\n    width = {n}\n" for n in range(40)
)
PROSE = (
    "Ann Bell is the keeper of the mill. The mill stands in a valley of the north. Bo Cox was born in Rye. "
    "It was in Hythe that Ann Bell came into the world, as the priest has it. Rye has a market every week. "
) + " ".join(f"The {thing} of the old house was {done} long before." for thing in THINGS for done in DONE)


def ran(query: str, context: str, *cells: str, sub: ScriptedModel | None = None) -> tuple[object, list[str]]:
    """The answer of these cells in a REPL of the profile, and what went wrong in them."""
    root = ScriptedModel([f"```python\n{cell}\n```" for cell in cells])
    run = RLM(root, sub_model=sub, profile="small", runs=False).run(query, context)
    assert run.status == "answered", run.reason
    errors = [cell.error.message for turn in run.trace.turns for cell in turn.cells if cell.error]
    return run.answer, errors


def test_a_mark_may_stand_in_a_line_several_times() -> None:
    lines = ["ask 10.0.0.1 to delete blk_1 blk_-22, blk_3", "receiving block blk_1", "nothing"]
    assert values(lines, "blk_") == ["blk_1", "blk_-22", "blk_3", "blk_1"]
    assert values(lines, "blk_...") == ["1", "-22", "3", "1"]
    assert values(["port=22 port=33"], "port") == ["22"]


def test_a_text_that_ends_with_a_space_is_the_whole_of_a_value_of_rows() -> None:
    answer, _ = ran(
        "How many rows are of kind ind?", ROWS, 'hits = find("ind ")\nprint(1)\nsubmit(len(hits))'
    )
    assert answer == 30  # as a kind, or as a word of the text: not in blind, kind and inde


def test_who_is_not_named_is_not_read_where_those_who_are_named_are_spoken_of() -> None:
    asked = "In which town was Ann Bell born?"
    sub = ScriptedModel(["Hythe"])
    answer, _ = ran(asked, PROSE, f"submit(read({asked!r}, A, B, C))", sub=sub)
    told = sub.requests[0].messages[-1].text
    assert answer == "Hythe"
    assert "It was in Hythe that Ann Bell" in told
    assert "Bo Cox" not in told


@pytest.mark.parametrize("line", ["bases('Shed1')", "bases('Shed1')[0]", "bases('Place')[0]"])
def test_the_class_that_the_question_names_is_the_one_to_look_below(line: str) -> None:
    asked = 'Which classes name "Place" as one of their direct base classes?'
    answer, errors = ran(asked, CODE, f"submit({line})", 'print(1)\nsubmit(subclasses("Place"))')
    assert answer == ["Shed0", "Shed1", "Shed2", "Shed3"]
    assert errors == [
        "the question names Place, and asks for what is below it. Write:\n"
        'names = subclasses("Place")\nprint(names)\nsubmit(names)'
    ]


def test_the_bases_of_a_class_that_is_named_are_told() -> None:
    assert ran("What does Shed1 inherit from?", CODE, "print(1)\nsubmit(bases('Shed1')[0])") == ("Place", [])


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("How many of the files import json in a class?", "imports"),
        ("Which class has the method with the most parameters?", "functions"),
        ("Which classes derive from Place?", "classes"),
        ("How many classes are there, those in functions included?", "classes"),
        ("In which class is the method pour?", "functions"),
    ],
)
def test_code_is_asked_about_in_three_ways(query: str, kind: str) -> None:
    assert kind_of(query, "Python code: classes (4)") == kind


def test_a_paragraph_on_one_line_is_prose_and_a_long_line_of_a_log_is_none() -> None:
    model = ScriptedModel(["```python\nprint(1)\nsubmit([len(A), len(lines)])\n```"] * 2)
    run = RLM(model, profile="small", runs=False).run("When was the gate sold? Give a number.", PROSE)
    assert run.answer == [run.answer[0], 1]
    assert "Prose: A, B and C are sentences" in model.requests[0].messages[-1].text
    log = "".join(
        f"10:{n:02}:00 gate {n} shut {'x' * 200} by ann. It is old. It is far.\n" for n in range(60)
    )
    model = ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"] * 2)
    RLM(model, profile="small", runs=False).run("When was gate 7 shut?", log)
    assert "Prose" not in model.requests[0].messages[-1].text


def test_a_call_is_sought_among_the_signatures_where_no_line_has_it() -> None:
    code = CODE.replace("open(self)", "open(self, hour=9)")
    asked = "What is the default of hour in the method open of Shed1?"
    cell = 'names = values(find("Shed1.open(", among=A), "hour={}")\nprint(names)\nsubmit(names[0])'
    assert ran(asked, code, cell) == ("9", [])


STOCK = "\n".join(
    f"SKU-{1000 + n}  {THINGS[n % 10]:<9} price {n * 7 % 400}.50 EUR  stock {n * 11 % 90}" for n in range(300)
)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("How many things cost between 100 and 200 EUR?", '"price {} EUR", "stock {}"'),
        ("Which thing has the largest stock?", '"stock {}", "price {} EUR"'),
        ("How many are larger than 1,000?", '"price {} EUR", "stock {}"'),
        ("How many things are there?", ""),
        ("How many came between 10:00 and 11:00?", ""),
        ("Which thing is the most common?", ""),
        ("Which names have more than 9 characters?", ""),
        ("How many roofs failed more than 3 times?", ""),
    ],
)
def test_where_the_numbers_of_lines_stand_is_told_where_they_are_compared(query: str, told: str) -> None:
    root = ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"] * 2)
    RLM(root, profile="small", runs=False).run(query, STOCK)
    shown = root.requests[0].messages[-1].text
    assert [line for line in shown.splitlines() if "numbers at: " in line] == (
        [f"numbers at: {told}"] if told else []
    )
    assert kind_of(query, shown) == "slots" or not told


def test_lines_are_compared_by_their_numbers() -> None:
    code = (
        'hits = find("stock {}", "eur", among=within("price {} EUR", 100, 200))\nprint(1)\nsubmit(len(hits))'
    )
    expected = sum(100 <= n * 7 % 400 + 0.5 <= 200 for n in range(300))
    assert ran("How many cost between 100 and 200 EUR?", STOCK, code) == (expected, [])


def test_the_first_lines_are_meant_by_their_place() -> None:
    assert kind_of("How many of the first 100 lines have a roof?", "numbers at: ") == "place"
    assert kind_of("How many roofs are in lines 20 to 40?") == "place"


def test_an_entry_with_a_comma_is_no_head_of_a_table() -> None:
    lines = "\n".join(f"{name}, Ann - room {n} - since {2000 + n}" for n, name in enumerate(THINGS * 3))
    cell = "print(1)\nsubmit([columns, len(lines), lines[0]])"
    assert ran("Who?", lines, cell)[0] == [[], 30, "roof, Ann - room 0 - since 2000"]
    table = "name, floor\n" + "\n".join(f"{name}, {n}" for n, name in enumerate(THINGS))
    assert ran("Who?", table, "print(1)\nsubmit(columns)")[0] == ["name", "floor"]


def test_a_comparison_in_a_text_to_find_is_meant_of_the_number_behind_the_word() -> None:
    lines = ["oak price 12.50 EUR", "elm price: 50 EUR", "ash price=1,200 EUR", "fir, no price"]
    assert find("price < 50", among=lines) == lines[:1]
    assert find("price >= 50", "EUR", among=lines) == lines[1:3]
    assert values(["SKU-17 oak", "SKU-18 elm"], "SKU={} ") == ["17", "18"]


@pytest.mark.parametrize("name", ["stock", "stock {}", "stock={}"])
def test_a_pattern_without_its_hole_is_meant_of_the_number_beside_it(name: str) -> None:
    expected = sum(n * 11 % 90 < 10 for n in range(300))
    assert ran("How many have a stock below 10?", STOCK, f"print(1)\nsubmit(len(below({name!r}, 10)))") == (
        expected,
        [],
    )
    code = "print(1)\nsubmit(len(above('EUR', 398)))"
    assert ran("How many have a price over 398?", STOCK, code)[0] == sum(
        n * 7 % 400 > 397 for n in range(300)
    )


def shown_for(query: str, context: object) -> str:
    root = ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"] * 2)
    RLM(root, profile="small", runs=False).run(query, context)
    return root.requests[0].messages[-1].text


def test_of_code_those_are_shown_that_the_question_names() -> None:
    shown = shown_for("What is the width of Yard7?", CODE)
    assert "  Yard7\n" in shown
    assert "  Shed0(Place)\n" not in shown
    assert "  Shed0(Place)\n" in shown_for("How many classes are there?", CODE)


def test_a_name_with_two_underscores_is_sought_alone() -> None:
    code = CODE + "class Last:\n    def __getattr__(self, name):\n        return name\n"
    shown = shown_for("Which method or function of a class is called __getattr__?", code)
    assert "A: 1 line\n  1 like:     def __getattr__(self, name):" in shown
    assert "B: " not in shown


def test_paragraphs_with_titles_are_taken_by_sentences() -> None:
    long = f"It was {'very ' * 60}old."
    parts = [f"{thing} Works\n{PROSE}\nThe {thing} is old. It was mended. {long}" for thing in THINGS]
    shown = shown_for("When was the chimney Works mended?", "\n".join(parts * 9))
    assert "Prose: A, B and C are sentences" in shown


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("Which classes name Place as their base?", True),
        ("Which classes does Place inherit from?", False),
    ],
)
def test_a_class_that_is_defined_may_be_the_base_that_is_meant(query: str, told: bool) -> None:
    code = f"class Place(Thing):\n    def open(self):\n        pass\n\n{CODE}"
    cells = ["print(1)\nsubmit(bases('Place'))", "print(1)\nsubmit(subclasses('Place'))"]
    answer, errors = ran(query, code, *cells)
    assert answer == (["Shed0", "Shed1", "Shed2", "Shed3"] if told else ["Thing"])
    assert bool(errors) is told


@pytest.mark.parametrize("pattern", ["{} 5", "x {} 5", "5", "price={} 5"])
def test_a_line_of_a_megabyte_is_read_in_passing(pattern: str) -> None:
    line = "x" * 500_000
    code = f"print(len(values(lines, {pattern!r})), len(below({pattern!r}, 3)), len(find({pattern!r})))\nsubmit('done')"
    assert ran("What is it?", f"{line}\nx 7 5\n", code) == ("done", [])
