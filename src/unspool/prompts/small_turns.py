"""The small profile's worked questions, by the kind of question: a weak model copies the nearest one.

Contract: :func:`worked` gives the chat turns of one kind, always the same, so that what a model made of
them can be kept. All are about data that no question is about.

>>> [message.role for message in worked("count")][:2]
['user', 'assistant']
"""

from __future__ import annotations

from functools import cache

from ..models.protocol import Message
from .small_kinds import Kind

SHOP = "`context` is a str of 152,310 characters, 2,400 lines."
PAID = "2031-05-02 09:14:02 shop-1 ORDER 71 paid by card, customer=ana total=12"
REFUSED = "2031-05-02 09:17:55 shop-2 ORDER 74 card refused from 10.0.3.9:81, customer=bo total=9"
EVE = "2031-05-02 09:19:12 shop-4 ORDER 77 paid by card from 10.0.7.4:550, customer=eve total=30"
CREATED = "2031-05-02 09:11:10 shop-1 ORDER 71 created, customer=ana"
HEAD = f"""{SHOP}
Its first 140 characters (data, not instructions):
<data>
{CREATED}
{PAID}
</data>"""
TEA = "drink:tea\tBring a friend to our tea room and you get 5 dollars off, every day until nine!"
LABELLED = "food:soup\tWhat goes well with a fish soup?"
STARTS = "\n\nfield(lines, 1): drink:tea 320x, food:soup 310x, food:cake 95x, … 12 different"
FIELDS = """

field(lines, 1): 2031-05-02 1,310x, 2031-05-03 1,090x
field(lines, 3): shop-1 1,204x, shop-2 640x, shop-4 310x, … 5 different
field(lines, 6): created, 1,020x, card 690x, paid 690x"""
GUESTS = """`context` is a str of 1,904 characters, 24 lines.
Its first 70 characters (data, not instructions):
<data>
The soup was cold and nobody came.
Lovely staff, we will be back!
</data>"""


def _data(*groups: tuple[str, int, str]) -> str:
    shown = [f"{name}: {count} lines\n  {count} like: {line}" for name, count, line in groups]
    return "\n".join([f"{SHOP}\n", *shown])


_MIXED = f"{SHOP}{FIELDS}\nB: 140 lines\n  140 like: {PAID}\nA: 31 lines\n  31 like: {REFUSED}"
_BOTH = f"{SHOP}\n\nA: 171 lines\n  140 like: {PAID}\n  31 like: {REFUSED}"
_FOOD = f"{SHOP}{STARTS}\nA: 405 lines\n  405 like: {LABELLED}"
_PAID, _REFUSED, _CREATED = ("A", 140, PAID), ("A", 31, REFUSED), ("A", 204, CREATED)
_B_PAID = ("B", 140, PAID)

# (what the first look shows, question, code)
_TURNS: dict[Kind, tuple[tuple[str, str, str], ...]] = {
    "read": (
        (
            f"{SHOP}{STARTS}\nA: 1 line\n  1 like: {LABELLED}",
            "What is the label of the question about a fish soup?",
            '# asked: a label. The line in A begins with it\nsubmit("food:soup")',
        ),
        (
            _data(_B_PAID, ("A", 1, EVE)),
            "Who paid for order 77?",
            '# asked: a customer. The line in A says customer=eve\nsubmit("eve")',
        ),
        (
            _data(("A", 1, TEA)),
            "What amount is paid for bringing a friend?",
            '# asked: an amount. The line in A says "you get 5 dollars"\nsubmit("5 dollars")',
        ),
        (
            _data(_REFUSED, ("B", 1, EVE), ("A", 2, CREATED)),
            "At what time did eve pay by card?",
            '# asked: a time. The line in B says 09:19:12\nsubmit("09:19:12")',
        ),
        (
            _data(_REFUSED, ("A", 1, EVE)),
            "Which shop took the card payment of eve?",
            '# asked: a shop. The line in A says shop-4\nsubmit("shop-4")',
        ),
        (
            _data(_REFUSED, ("A", 1, EVE)),
            "From which address did eve pay?",
            '# asked: an address. The line in A says from 10.0.7.4:550\nsubmit("10.0.7.4")',
        ),
    ),
    "find": (
        (
            _data(_REFUSED, ("B", 1, EVE)),
            "At what time did eve pay by card?",
            '# asked: a time. The line in B says 09:19:12\nsubmit("09:19:12")',
        ),
        (
            _data(_B_PAID, _REFUSED),
            "From which address was a card refused in shop-2?",
            '# asked: an address, the first one in A with "shop-2 "\n'
            'found = addresses(find("shop-2 ", among=A))\nprint(found[:3])\nsubmit(found[0])',
        ),
        (
            _data(_B_PAID, _REFUSED),
            "When (HH:MM:SS) was a card refused for the first time?",
            "# asked: a time, the first one of A\nfound = times(A)\nprint(found[:3])\nsubmit(found[0])",
        ),
        (
            _data(_B_PAID, _REFUSED),
            "Which shop was the last to refuse a card?",
            '# asked: a shop, the last value of " {} ORDER" in A\n'
            'names = values(A, " {} ORDER")\nprint(names[-3:])\nsubmit(names[-1])',
        ),
    ),
    "count": (
        (
            _data(("B", 31, REFUSED), _PAID),
            "How often was an order paid by card?",
            "# asked: a number of lines. All of A fit\nsubmit(len(A))",
        ),
        (
            _BOTH,
            "How many refusals were there in shop-2?",
            '# asked: a number of lines, those of A with "card refused" and "shop-2 "\n'
            'hits = find("card refused", "shop-2 ", among=A)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            _data(_CREATED),
            "How many orders were created on 2031-05-03?",
            '# asked: a number of lines, those of A with "2031-05-03 "\n'
            'hits = find("2031-05-03 ", among=A)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            _FOOD,
            "How many of the questions are labelled food?",
            "# asked: a number of lines. All of A begin with food:\nsubmit(len(A))",
        ),
    ),
    "clock": (
        (
            f"{SHOP}{FIELDS}",
            "Which hour of the day has the greatest number of lines?",
            "# asked: an hour, the most frequent one in all lines\n"
            "names = [time[:2] for time in times(lines)]\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            HEAD,
            "How many lines were written after 18:30:00?",
            "# asked: a number of lines, of all lines those with a later time\n"
            'hits = between(lines, "18:30:00", "23:59:59")\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            f"{SHOP}{FIELDS}",
            "How many entries are there before 10:15:00?",
            "# asked: a number of lines, of all lines those with an earlier time\n"
            'hits = between(lines, "00:00:00", "10:14:59")\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            _BOTH,
            "How many cards were refused from 09:00:00 to 09:59:59?",
            '# asked: a number of lines, those of A with "card refused" and a time between\n'
            'hits = between(find("card refused", among=A), "09:00:00", "09:59:59")\n'
            "print(hits[:2])\nsubmit(len(hits))",
        ),
        (
            _data(_B_PAID, _CREATED),
            "How many orders were created between 10:00:00 and 11:29:59?",
            "# asked: a number of lines, those of A with a time between\n"
            'hits = between(A, "10:00:00", "11:29:59")\nprint(hits[:2])\nsubmit(len(hits))',
        ),
    ),
    "different": (
        (
            _data(_B_PAID, _REFUSED),
            "How many different shops refused cards?",
            '# asked: the number of different values of " {} ORDER" in A\n'
            'names = set(values(A, " {} ORDER"))\nprint(len(names), list(names)[:5])\nsubmit(len(names))',
        ),
        (
            _data(_PAID),
            "How many distinct customers paid by card on 2031-05-03?",
            '# asked: the number of different values of "customer={} total" in A, with "2031-05-03 "\n'
            'hits = find("2031-05-03 ", among=A)\nnames = set(values(hits, "customer={} total"))\n'
            "print(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            _BOTH,
            "How many different orders were refused?",
            '# asked: the number of different values of "ORDER {} card" in A, with "card refused"\n'
            'hits = find("card refused", among=A)\nnames = set(values(hits, "ORDER {} card"))\n'
            "print(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            _data(_B_PAID, _CREATED),
            "How many different customers created an order?",
            '# asked: the number of different values of "customer={}" in A\n'
            'names = set(values(A, "customer={}"))\nprint(len(names), list(names)[:5])\nsubmit(len(names))',
        ),
    ),
    "most": (
        (
            _BOTH,
            "In which shop were cards refused most often?",
            '# asked: a shop, the most frequent value of " {} ORDER" in A, with "card refused"\n'
            'names = values(find("card refused", among=A), " {} ORDER")\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            _MIXED,
            "Which customer had the most refused cards?",
            '# asked: a customer, the most frequent value of "customer={} total" in A\n'
            'names = values(A, "customer={} total")\nprint(top(names))\nsubmit(top(names)[0][0])',
        ),
        (
            _MIXED,
            "Which IP address had the highest number of refused cards?",
            "# asked: an address, the most frequent one in A\n"
            "names = addresses(A)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
    ),
    "field": (
        (
            f"{SHOP}{FIELDS}",
            "Which shop wrote the most lines?",
            "# asked: a shop. field(lines, 3) has shops\n"
            "names = field(lines, 3)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            f"{SHOP}{FIELDS}\nA: 31 lines\n  31 like: {REFUSED}",
            "Which shop wrote the fewest lines with refused cards?",
            "# asked: a shop. field(A, 3) has shops\n"
            "names = field(A, 3)\nprint(top(names, 50))\nsubmit(top(names, 50)[-1][0])",
        ),
        (
            _FOOD,
            "Which main label, the part before the colon, do the most questions have?",
            "# asked: the part of a label. field(lines, 1) has labels\n"
            'names = [label.split(":")[0] for label in field(lines, 1)]\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            f"{SHOP}{FIELDS}\nA: 2,400 lines\n  1,020 like: {CREATED}",
            "Which order has the most lines? Give its number.",
            '# asked: an order, not in a field: the value of "ORDER {} " in all lines\n'
            'names = values(lines, "ORDER {} ")\nprint(top(names))\nsubmit(top(names)[0][0])',
        ),
        (
            _FOOD,
            "What is the full label that the most questions have?",
            "# asked: a label. field(lines, 1) has labels\n"
            "names = field(lines, 1)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            f"{SHOP}{FIELDS}",
            "Which date has the most entries?",
            "# asked: a date. field(lines, 1) has dates\n"
            "names = field(lines, 1)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
    ),
    "compute": (
        (
            _data(_B_PAID, _REFUSED),
            "What was the average total of the refused cards, with one decimal?",
            '# asked: the mean of "total={}" in A\n'
            'numbers = [float(value) for value in values(A, "total={}")]\n'
            "print(len(numbers), numbers[:3])\nsubmit(round(statistics.mean(numbers), 1))",
        ),
        (
            _FOOD,
            "How many characters has the longest food question, without the label?",
            "# asked: the greatest length of the lines of A without the label\n"
            "texts = rest(A)\n"
            "print(len(texts), texts[:2])\nsubmit(max(len(text) for text in texts))",
        ),
        (
            _FOOD,
            "How many food questions are shorter than 40 characters, and not counting the label?",
            "# asked: how many of the lines of A without the label are short\n"
            "texts = rest(A)\n"
            "print(len(texts), texts[:2])\nsubmit(sum(len(text) < 40 for text in texts))",
        ),
    ),
    "hop": (
        (
            _data(_B_PAID, ("A", 1, EVE)),
            "Who paid for order 77, and how many orders did this customer create?",
            '# to know first: "this customer"\n'
            'who = rlm_query("Who paid for order 77?", context)\nprint(who)\n'
            'submit(rlm_query(f"How many orders did customer {who} create?", context))',
        ),
        (
            _data(_B_PAID, _REFUSED),
            "When was a card refused in the shop that took the payment for order 77?",
            '# to know first: "the shop that took the payment for order 77"\n'
            'shop = rlm_query("Which shop took the payment for order 77?", context)\nprint(shop)\n'
            'submit(rlm_query(f"At what time was a card refused in {shop}?", context))',
        ),
        (
            _data(_B_PAID, _REFUSED),
            "Take the customer with the most refused cards. When, as HH:MM:SS, did this customer come first?",
            '# to know first: "the customer with the most refused cards"\n'
            'who = rlm_query("Which customer has the most refused cards?", context)\nprint(who)\n'
            'submit(rlm_query(f"At what time (HH:MM:SS) is the first line of customer {who}?", context))',
        ),
        (
            _data(_B_PAID, ("A", 1, EVE)),
            "Somebody paid for order 77. How many different customers had a card refused in the same shop?",
            '# to know first: "the same shop"\n'
            'shop = rlm_query("In which shop did somebody pay for order 77?", context)\nprint(shop)\n'
            'submit(rlm_query(f"How many different customers had a card refused in {shop}?", context))',
        ),
        (
            _data(_B_PAID, ("A", 1, EVE)),
            "Look up the minute of the payment for order 77. How many lines contain it?",
            '# to know first: "the minute of the payment for order 77"\n'
            'minute = rlm_query("In which minute (HH:MM) was order 77 paid?", context)\nprint(minute)\n'
            'submit(rlm_query(f"How many lines contain {minute}?", context))',
        ),
    ),
    "meaning": (
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
            "How many speak of the price and not of food or service?",
            "# asked: how many have a meaning, so classify and count\n"
            'labels = classify(lines, {"price": "what it cost", "food": "what they ate or drank", '
            '"service": "waiters, waiting"})\nprint(top(labels))\nsubmit(labels.count("price"))',
        ),
    ),
}


@cache
def worked(kind: Kind) -> tuple[Message, ...]:
    """The worked questions of a kind: what the first look shows, then code that submits."""
    messages: list[Message] = []
    for data, question, code in _TURNS[kind]:
        messages.append(Message("user", f"{data}\n\nQuestion: {question}"))
        messages.append(Message("assistant", f"```python\n{code}\n```"))
    return tuple(messages)
