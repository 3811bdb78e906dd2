"""The small profile's worked questions about what lines mean. See :mod:`unspool.prompts.small_turns`.

>>> sorted(MEANING)
['judged', 'meaning']
"""

from __future__ import annotations

from .small_kinds import Kind
from .small_samples import GUEST_TABLE, GUESTS, VISITS, Turn

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
            VISITS,
            "How many entries have the label complaint?",
            "# asked: a number of lines with a label, so classify the texts, field 3, and count\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\nprint(top(labels))\n"
            'submit(round(labels.count("complaint") * len(lines) / len(some)))',
        ),
        (
            VISITS,
            "How many entries of guest 41 have the label praise?",
            '# asked: a number of lines of "guest=41," with a label, so find, classify and count\n'
            'hits = find("guest=41,", among=lines)\nsome = sample(hits)\n'
            "labels = classify(field(some, 3), meanings)\nprint(top(labels))\n"
            'submit(round(labels.count("praise") * len(hits) / len(some)))',
        ),
        (
            VISITS,
            "How many entries from 2031-05-02 to 2031-05-09 have the label wish?",
            "# asked: a number of lines of these dates with a label, so between, classify and count\n"
            'hits = between(lines, "2031-05-02", "2031-05-09")\nsome = sample(hits)\n'
            "labels = classify(field(some, 3), meanings)\nprint(top(labels))\n"
            'submit(round(labels.count("wish") * len(hits) / len(some)))',
        ),
        (
            VISITS,
            "Which label do the most entries have?",
            "# asked: a label, the most frequent one\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\n"
            "print(top(labels))\nsubmit(top(labels)[0][0])",
        ),
        (
            VISITS,
            "Which label do the fewest entries have?",
            "# asked: a label, the rarest one\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\n"
            "print(top(labels, 50))\nsubmit(top(labels, 50)[-1][0])",
        ),
        (
            VISITS,
            "Which guest has the most entries with the label complaint?",
            "# asked: a guest, field 2, so those of the entries with a label\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\n"
            'names = [name for name, label in zip(field(some, 2), labels) if label == "complaint"]\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            VISITS,
            "Are entries with the label wish more common than those with the label praise, or less common?",
            "# asked: more common or less common, so count both\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\n"
            'one, other = labels.count("wish"), labels.count("praise")\nprint(one, other)\n'
            'submit("more common" if one > other else "less common" if one < other else "equally common")',
        ),
        (
            VISITS,
            "In which month do the most entries have the label complaint?",
            "# asked: a month, in the dates, field 1, of the entries with a label\n"
            "some = sample(lines)\nlabels = classify(field(some, 3), meanings)\n"
            'dates = [day for day, label in zip(field(some, 1), labels) if label == "complaint"]\n'
            'names = [date.fromisoformat(day).strftime("%B") for day in dates]\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
    ),
}
