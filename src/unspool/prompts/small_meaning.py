"""The small profile's worked questions about what lines mean. See :mod:`unspool.prompts.small_turns`.

>>> sorted(MEANING)
['judged', 'meaning']
"""

from __future__ import annotations

from .small_kinds import Kind
from .small_samples import GUEST_TABLE, GUESTS, VISITS, Turn

ALL_VISITS = VISITS.format("A: 760 lines")
MEANING: dict[Kind, tuple[Turn, ...]] = {
    "meaning": (
        (
            GUEST_TABLE,
            "Which ids have the texts that are a complaint (something was bad) and not praise?",
            "# asked: the field id of lines with a label, so classify\n"
            'labels = classify(lines, {"complaint": "something was bad", "praise": "a guest was pleased"})\n'
            "print(top(labels))\n"
            'submit([id for id, label in zip(field(lines, 1), labels) if label == "complaint"])',
        ),
        (
            GUESTS,
            "Each line is a complaint (something was bad) or praise. How many guests complain?",
            "# asked: how many have a meaning, so classify and count\n"
            'labels = classify(lines, {"complaint": "something was bad", "praise": "a guest was pleased"})\n'
            'print(top(labels))\nsubmit(labels.count("complaint"))',
        ),
        (
            GUESTS,
            "Sort all guests by what they speak of: food, service or price. Give the list, in order.",
            "# asked: the label of each, so classify and submit the labels\n"
            'labels = classify(lines, {"food": "what they ate or drank", "service": "waiters, waiting", '
            '"price": "what it cost"})\nprint(top(labels))\nsubmit(labels)',
        ),
        (
            GUESTS,
            "What do the guests speak of most often: food, service or price?",
            "# asked: the most frequent label, so classify\n"
            'labels = classify(lines, {"food": "what they ate or drank", "service": "waiters, waiting", '
            '"price": "what it cost"})\nprint(top(labels))\nsubmit(top(labels)[0][0])',
        ),
        (
            GUESTS,
            "Which guests, by number from 1, are angry and not pleased?",
            "# asked: numbers of lines with a label, so classify and enumerate\n"
            'labels = classify(lines, {"angry": "a guest complains", "pleased": "a guest is happy"})\n'
            'print(top(labels))\nsubmit([n for n, label in enumerate(labels, 1) if label == "angry"])',
        ),
        (
            GUESTS,
            "Which of these guests want to come again or would bring a friend? Give their numbers, from 1.",
            "# asked: numbers of lines with a meaning, so classify, with a label for the rest\n"
            'labels = classify(lines, {"again": "wants to come again or to bring a friend", '
            '"other": "anything else"})\n'
            'print(top(labels))\nsubmit([n for n, label in enumerate(labels, 1) if label == "again"])',
        ),
        (
            GUESTS,
            "How many speak of the price and not of food or service?",
            "# asked: how many have a meaning, so classify and count\n"
            'labels = classify(lines, {"price": "what it cost", "food": "what they ate or drank", '
            '"service": "waiters, waiting"})\nprint(top(labels))\nsubmit(labels.count("price"))',
        ),
    ),
    "judged": (
        (
            ALL_VISITS,
            "In which month do the most entries have the label complaint?",
            "# asked: a month, in the dates, field 1, of the entries with a label\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'dates = [day for day, label in zip(field(some, 1), labels) if label == "complaint"]\n'
            'names = [date.fromisoformat(day).strftime("%B") for day in dates]\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            ALL_VISITS,
            "Are entries with the label wish more common before 2031-05-07 than from then on?",
            "# asked: more common or less common, by the dates, field 1, so count both\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'dates = [day for day, label in zip(field(some, 1), labels) if label == "wish"]\n'
            'one = sum(day < "2031-05-07" for day in dates)\nother = len(dates) - one\nprint(one, other)\n'
            'submit("more common" if one > other else "less common" if one < other else "equally common")',
        ),
        (
            ALL_VISITS,
            "Are entries with the label wish more common than those with the label praise, or less common?",
            "# asked: more common or less common, so count both\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'one, other = labels.count("wish"), labels.count("praise")\nprint(one, other)\n'
            'submit("more common" if one > other else "less common" if one < other else "equally common")',
        ),
        (
            ALL_VISITS,
            "Which guest has the most entries with the label complaint?",
            "# asked: a guest, field 2, of the entries with a label\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'names = [name for name, label in zip(field(some, 2), labels) if label == "complaint"]\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            ALL_VISITS,
            "Which label do the fewest entries have?",
            "# asked: a label, the rarest one\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            "print(top(labels, 50))\nsubmit(top(labels, 50)[-1][0])",
        ),
        (
            ALL_VISITS,
            "Which label do the most entries have?",
            "# asked: a label, the most frequent one\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            "print(top(labels))\nsubmit(top(labels)[0][0])",
        ),
        (
            VISITS.format("A: 31 lines with guest=41"),
            "How many entries of guest 41 have the label praise?",
            "# asked: a number of lines of guest 41, which A has, with a label, so count\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'print(top(labels))\nsubmit(round(labels.count("praise") * len(A) / len(some)))',
        ),
        (
            ALL_VISITS,
            "How many entries have the label complaint?",
            "# asked: a number of lines with a label, so count\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'print(top(labels))\nsubmit(round(labels.count("complaint") * len(A) / len(some)))',
        ),
        (
            VISITS.format("A: 122 lines, from 2031-05-02 to 2031-05-09"),
            "How many entries from 2031-05-02 to 2031-05-09 have the label wish?",
            "# asked: a number of lines of these dates, which A has, with a label, so count\n"
            "some = sample(A)\nlabels = classify(field(some, 3), meanings)\n"
            'print(top(labels))\nsubmit(round(labels.count("wish") * len(A) / len(some)))',
        ),
    ),
}
