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
from .small_meaning import MEANING
from .small_samples import (
    ALL_CREATED,
    ALL_PAID,
    ALL_REFUSED,
    B_PAID,
    BOTH,
    CREATED,
    DESKS,
    EVE,
    FIELDS,
    FOOD,
    HEAD,
    LABELLED,
    MIXED,
    PAID,
    RECORDS,
    REFUSED,
    SHOP,
    STARTS,
    TABLE,
    TEA,
    Turn,
    data,
)
from .small_split import steps_told
from .small_steps import STEPS

_TURNS: dict[Kind, tuple[Turn, ...]] = {
    "read": (
        (
            f"{SHOP}{STARTS}\nA: 1 line\n  1 like: {LABELLED}",
            "What is the label of the question about a fish soup?",
            '# asked: a label. A begins with "food:soup"\nsubmit("food:soup")',
        ),
        (
            data(B_PAID, ("A", 1, EVE)),
            "Who paid for order 77?",
            '# asked: who paid. A says "paid by card from 10.0.7.4:550, customer=eve"\nsubmit("eve")',
        ),
        (
            data(("A", 1, TEA)),
            "What amount is paid for bringing a friend?",
            '# asked: an amount. A says "you get 5 dollars"\nsubmit("5 dollars")',
        ),
        (
            data(ALL_REFUSED, ("B", 1, EVE), ("A", 2, CREATED)),
            "At what time did eve pay by card?",
            '# asked: a time of paying. B says "09:19:12 shop-4 ORDER 77 paid by card"\nsubmit("09:19:12")',
        ),
        (
            data(ALL_REFUSED, ("A", 1, EVE)),
            "Which shop took the card payment of eve?",
            '# asked: a shop. A says "shop-4 ORDER 77 paid by card"\nsubmit("shop-4")',
        ),
        (
            data(ALL_REFUSED, ("A", 1, EVE)),
            "From which address did eve pay?",
            '# asked: an address to pay from. A says "paid by card from 10.0.7.4:550"\nsubmit("10.0.7.4")',
        ),
        (
            data(("A", 1, DESKS)),
            "At which desk is the tea collected?",
            '# asked: a desk to collect at. A says "collect your tea at desk 19"\nsubmit("19")',
        ),
    ),
    "row": (
        (
            RECORDS,
            "When does the tea room open?",
            '# asked: a time of opening. A says "it opens at nine"\nsubmit("nine")',
        ),
        (
            RECORDS,
            "Which label has the text about bringing a friend?",
            "# asked: a label. Field 1 has labels\nnames = field(A, 1)\nprint(names[:3])\nsubmit(names[0])",
        ),
        (
            RECORDS,
            "To which room may a friend be brought?",
            '# asked: a room. A says "Bring a friend to our tea room"\nsubmit("tea room")',
        ),
        (
            RECORDS,
            "What is the kind of the record that speaks of a friend?",
            "# asked: a kind. Field 2 has kinds\nnames = field(A, 2)\nprint(names[:3])\nsubmit(names[0])",
        ),
    ),
    "find": (
        (
            data(ALL_REFUSED, ("B", 1, EVE)),
            "At what time did eve pay by card?",
            '# asked: a time. The line in B says 09:19:12\nsubmit("09:19:12")',
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "From which address was a card refused in shop-2?",
            '# asked: an address, the first one in A with "shop-2 "\n'
            'found = addresses(find("shop-2 ", among=A))\nprint(found[:3])\nsubmit(found[0])',
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "When (HH:MM:SS) was a card refused for the first time?",
            "# asked: a time, the first one of A\nfound = times(A)\nprint(found[:3])\nsubmit(found[0])",
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "Which shop was the last to refuse a card?",
            '# asked: a shop, the last value of " {} ORDER" in A\n'
            'names = values(A, " {} ORDER")\nprint(names[-3:])\nsubmit(names[-1])',
        ),
    ),
    "count": (
        (
            TABLE,
            "How many rows have the state refused?",
            "# asked: a number of lines. All of A have the state refused\nsubmit(len(A))",
        ),
        (
            data(("B", 31, REFUSED), ALL_PAID),
            "How often was an order paid by card?",
            "# asked: a number of lines. All of A fit\nsubmit(len(A))",
        ),
        (
            BOTH,
            "How many refusals were there in shop-2?",
            '# asked: a number of lines, those of A with "card refused" and "shop-2 "\n'
            'hits = find("card refused", "shop-2 ", among=A)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            data(ALL_CREATED),
            "How many orders were created on 2031-05-03?",
            '# asked: a number of lines, those of A with "2031-05-03 "\n'
            'hits = find("2031-05-03 ", among=A)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            FOOD,
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
            BOTH,
            "How many cards were refused from 09:00:00 to 09:59:59?",
            '# asked: a number of lines, those of A with "card refused" and a time between\n'
            'hits = between(find("card refused", among=A), "09:00:00", "09:59:59")\n'
            "print(hits[:2])\nsubmit(len(hits))",
        ),
        (
            TABLE,
            "How many orders were refused from 2031-05-02 to 2031-05-09?",
            "# asked: a number of lines, those of A with a date between\n"
            'hits = between(A, "2031-05-02", "2031-05-09")\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            data(B_PAID, ALL_CREATED),
            "How many orders were created between 10:00:00 and 11:29:59?",
            "# asked: a number of lines, those of A with a time between\n"
            'hits = between(A, "10:00:00", "11:29:59")\nprint(hits[:2])\nsubmit(len(hits))',
        ),
    ),
    "different": (
        (
            TABLE,
            "How many different orders were refused?",
            "# asked: the number of different orders in A. Field 3 has orders\n"
            "names = set(field(A, 3))\nprint(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "How many different addresses had a card refused?",
            "# asked: the number of different addresses in A\n"
            "names = set(addresses(A))\nprint(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "How many different shops refused cards?",
            '# asked: the number of different values of " {} ORDER" in A\n'
            'names = set(values(A, " {} ORDER"))\nprint(len(names), list(names)[:5])\nsubmit(len(names))',
        ),
        (
            data(ALL_PAID),
            "How many distinct customers paid by card on 2031-05-03?",
            '# asked: the number of different values of "customer={} total" in A, with "2031-05-03 "\n'
            'hits = find("2031-05-03 ", among=A)\nnames = set(values(hits, "customer={} total"))\n'
            "print(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            BOTH,
            "How many different orders were refused?",
            '# asked: the number of different values of "ORDER {} card" in A, with "card refused"\n'
            'hits = find("card refused", among=A)\nnames = set(values(hits, "ORDER {} card"))\n'
            "print(len(names), list(names)[:5])\nsubmit(len(names))",
        ),
        (
            f"{SHOP}{FIELDS}\nB: 31 lines\n  31 like: {REFUSED}\nA: 140 lines\n  140 like: {PAID}",
            "How many different orders (ORDER …) are there in the log?",
            '# asked: the number of different values of "ORDER {}" in all lines\n'
            'names = set(values(lines, "ORDER {}"))\nprint(len(names), list(names)[:5])\nsubmit(len(names))',
        ),
        (
            data(B_PAID, ALL_CREATED),
            "How many different customers created an order?",
            '# asked: the number of different values of "customer={}" in A\n'
            'names = set(values(A, "customer={}"))\nprint(len(names), list(names)[:5])\nsubmit(len(names))',
        ),
    ),
    "most": (
        (
            BOTH,
            "In which shop were cards refused most often?",
            '# asked: a shop, the most frequent value of " {} ORDER" in A, with "card refused"\n'
            'names = values(find("card refused", among=A), " {} ORDER")\n'
            "print(top(names))\nsubmit(top(names)[0][0])",
        ),
        (
            MIXED,
            "Which customer had the most refused cards?",
            '# asked: a customer, the most frequent value of "customer={} total" in A\n'
            'names = values(A, "customer={} total")\nprint(top(names))\nsubmit(top(names)[0][0])',
        ),
        (
            MIXED,
            "Which IP address had the highest number of refused cards?",
            "# asked: an address, the most frequent one in A\n"
            "names = addresses(A)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
    ),
    "field": (
        (
            TABLE,
            "Which order was refused most often?",
            "# asked: an order. Field 3 has orders, A the refused ones\n"
            "names = field(A, 3)\nprint(top(names))\nsubmit(top(names)[0][0])",
        ),
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
            FOOD,
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
            FOOD,
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
    **STEPS,
    **MEANING,
}


@cache
def worked(kind: Kind) -> tuple[Message, ...]:
    """The worked questions of a kind: what the first look shows, then code that submits."""
    messages: list[Message] = []
    for shown, question, code in _TURNS[kind]:
        steps = steps_told(question) if kind == "hop" else ""
        messages.append(Message("user", f"{shown}\n\nQuestion: {question}{steps}"))
        messages.append(Message("assistant", f"```python\n{code}\n```"))
    return tuple(messages)
