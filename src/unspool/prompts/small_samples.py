"""What the first look shows in the worked questions: a shop that no question is about.

>>> data(("A", 31, REFUSED)).splitlines()[-2]
'A: 31 lines'
"""

from __future__ import annotations

Turn = tuple[str, str, str]  # what the first look shows, the question, the code

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
DESKS = "drink:tea\tOur tea room has moved! Pay at desk 4 and collect your tea at desk 19, until 21:30."
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


def data(*groups: tuple[str, int, str]) -> str:
    shown = [f"{name}: {count} lines\n  {count} like: {line}" for name, count, line in groups]
    return "\n".join([f"{SHOP}\n", *shown])


MIXED = f"{SHOP}{FIELDS}\nB: 140 lines\n  140 like: {PAID}\nA: 31 lines\n  31 like: {REFUSED}"
BOTH = f"{SHOP}\n\nA: 171 lines\n  140 like: {PAID}\n  31 like: {REFUSED}"
SLOTTED = f"""{SHOP}

numbers at: "total={{}}", "ORDER {{}}"
A: 171 lines
  140 like: {PAID}
  31 like: {REFUSED}"""
FOOD = f"{SHOP}{STARTS}\nA: 405 lines\n  405 like: {LABELLED}"
ALL_PAID, ALL_REFUSED, ALL_CREATED = ("A", 140, PAID), ("A", 31, REFUSED), ("A", 204, CREATED)
B_PAID = ("B", 140, PAID)

ROW = "day=2031-05-02, shop=shop-2, order=74, state=refused, text=The card of Bo was refused twice"
RECORD = "label=drink, kind=tea, text=Bring a friend to our tea room, it opens at nine"
_COLUMNS = """

fields: 1 day, 2 shop, 3 order, 4 state, 5 text
field(lines, 1): 2031-05-02 1,310x, 2031-05-03 1,090x
field(lines, 2): shop-1 1,204x, shop-2 640x, shop-4 310x, … 5 different
field(lines, 4): created 1,204x, paid 1,020x, refused 176x"""
TABLE = f"{SHOP}{_COLUMNS}\nA: 176 lines\n  176 like: {ROW}"
RECORDS = f"""{SHOP}

fields: 1 label, 2 kind, 3 text
field(lines, 1): food 1,410x, drink 990x
field(lines, 2): soup 810x, tea 640x, cake 500x, … 12 different
B: 9 lines
  9 like: label=food, kind=cake, text=A cake for two, and tea to go with it
A: 1 line
  1 like: {RECORD}"""
CODE = f"""{SHOP}

Python code: classes (12), functions (96), owners (80), imports (40), as
  Shop(Place)
  Shop.open(self, hour=9, guests=None)
  Shop
  json
A: 3 lines
  3 like:     def open(self, hour=9, guests=None):"""
TALE = """`context` is a str of 8,104 characters, 62 lines.
Its first 60 characters (data, not instructions):
<data>
It was late in May, and the garden lay still.
</data>

62 lines of free text: code cannot judge them, classify can."""
OWNER = "The Blue Room belongs to Ana Bell, who bought it in May."
BELLS = f"""{TALE}
Prose: A, B and C are sentences; read lets a reader answer from them.
B: 1 line
  1 like: Blue Room: Its cook is Max Orr, who came from the sea.
A: 1 line
  1 like: {OWNER}"""
GUEST_TABLE = """`context` is a str of 1,904 characters, 25 lines.
Its first 70 characters (data, not instructions):
<data>
id,text
41,The soup was cold and nobody came.
42,"Lovely staff, we will be back!"
</data>

fields: 1 id, 2 text
24 lines of free text: code cannot judge them, classify can."""
VISITS = """`context` is a str of 41,310 characters, 760 lines.
Its first 60 characters (data, not instructions):
<data>
2031-05-02 | 41 | The soup was cold and nobody came.
</data>

fields: 1 date, 2 guest, 3 text
numbers in: 2 guest
field(lines, 2): 41 31x, 52 22x, 17 9x, … 12 different
{}, each with one label that is not written there: classify judges it.
meanings = {{'complaint': 'something was bad', 'praise': 'a guest was pleased', 'wish': 'asks for more'}}"""
SOLD = "order=74, day=2031-05-02, shop=shop-2, state=refused, items=2, total=9.50"
SALES = f"""{SHOP}

fields: 1 order, 2 day, 3 shop, 4 state, 5 items, 6 total
numbers in: 5 items, 6 total
field(lines, 3): shop-1 1,204x, shop-2 640x, shop-4 310x, … 5 different
field(lines, 4): created 1,204x, paid 1,020x, refused 176x
A: 176 lines
  176 like: {SOLD}"""
