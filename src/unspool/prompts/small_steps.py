"""The small profile's worked questions that take more than a search: lengths, two counts, code, two steps,
prose, words. See :mod:`unspool.prompts.small_turns`.

>>> sorted(STEPS)
['classes', 'compare', 'compute', 'functions', 'hop', 'imports', 'number', 'place', 'prose', 'slots', 'word']
"""

from __future__ import annotations

from .small_kinds import Kind
from .small_samples import (
    ALL_CREATED,
    ALL_REFUSED,
    B_PAID,
    BELLS,
    BOTH,
    CODE,
    EVE,
    FOOD,
    HEAD,
    SALES,
    SLOTTED,
    TABLE,
    TALE,
    Turn,
    data,
)

STEPS: dict[Kind, tuple[Turn, ...]] = {
    "compute": (
        (
            data(B_PAID, ALL_REFUSED),
            "Which order has the largest total of the refused ones?",
            '# asked: an order, of the line of A with the highest number at "total={}"\n'
            'row = highest(A, "total={}")\nprint(row)\nsubmit(values([row], "ORDER {} card")[0])',
        ),
        (
            TABLE,
            "How many characters long is the longest text about a refused card?",
            "# asked: the greatest length of the texts of A. Field 5 has texts\n"
            "texts = field(A, 5)\n"
            "print(len(texts), texts[:2])\nsubmit(max(len(text) for text in texts))",
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "What was the average total of the refused cards, with one decimal?",
            '# asked: the mean of "total={}" in A\n'
            'numbers = [float(value) for value in values(A, "total={}")]\n'
            "print(len(numbers), numbers[:3])\nsubmit(round(statistics.mean(numbers), 1))",
        ),
        (
            FOOD,
            "How many characters has the longest food question, without the label?",
            "# asked: the greatest length of the lines of A without the label\n"
            "texts = rest(A)\n"
            "print(len(texts), texts[:2])\nsubmit(max(len(text) for text in texts))",
        ),
        (
            FOOD,
            "How many food questions are shorter than 40 characters, and not counting the label?",
            "# asked: how many of the lines of A without the label are short\n"
            "texts = rest(A)\n"
            "print(len(texts), texts[:2])\nsubmit(sum(len(text) < 40 for text in texts))",
        ),
    ),
    "number": (
        (
            SALES,
            "Which shop had the greatest total of refused orders?",
            "# asked: a shop, by the sum of total, of the lines of A\n"
            'found = sums(A, "shop", "total")\nprint(found[:3])\nsubmit(found[0][0])',
        ),
        (
            SALES,
            "What is the lowest total of shop-2 in May 2031?",
            "# asked: the least total of the lines with shop-2 and 2031-05\n"
            'hits = find("shop=shop-2", "day=2031-05", among=lines)\n'
            'found = numbers(hits, "total")\nprint(len(found), found[:3])\nsubmit(min(found))',
        ),
        (
            SALES,
            "What did the paid orders cost on average?",
            "# asked: the mean of total, of the lines with the state paid\n"
            'found = numbers(find("state=paid", among=lines), "total")\n'
            "print(len(found), found[:3])\nsubmit(statistics.mean(found))",
        ),
        (
            SALES,
            "What is the day with the highest total in shop-1?",
            "# asked: a day, of the line of shop-1 with the highest total\n"
            'row = highest(find("shop=shop-1", among=lines), "total")\n'
            'print(row)\nsubmit(field([row], "day")[0])',
        ),
        (
            SALES,
            "Leaving out the refused ones, which day brought the most money (items times total)?",
            "# asked: a day, by the sum of items times total, of the lines that are not refused\n"
            "money = Counter()\n"
            "for row in lines:\n"
            '    if field([row], "state")[0] != "refused":\n'
            "        items, total = numbers([row], 'items')[0], numbers([row], 'total')[0]\n"
            '        money[field([row], "day")[0]] += items * total\n'
            "print(top(money))\nsubmit(top(money)[0][0])",
        ),
        (
            SALES,
            "What is the sum of the items from 2031-05-02 to 2031-05-10?",
            "# asked: the sum of items, of the lines with a day between\n"
            'hits = [row for row in lines if "2031-05-02" <= field([row], "day")[0] <= "2031-05-10"]\n'
            'found = numbers(hits, "items")\nprint(len(found), found[:3])\nsubmit(sum(found))',
        ),
        (
            SALES,
            "shop with the most items overall",
            "# asked: a shop, by the sum of items, of all lines\n"
            'found = sums(lines, "shop", "items")\nprint(found[:3])\nsubmit(found[0][0])',
        ),
        (
            SALES,
            "In total, how many orders had many items (5 to 8)?",
            "# asked: how many of all lines have items from 5 to 8\n"
            'found = [n for n in numbers(lines, "items") if 5 <= n <= 8]\n'
            "print(found[:3])\nsubmit(len(found))",
        ),
    ),
    "slots": (
        (
            SLOTTED,
            "What is the average total of the refused cards?",
            '# asked: the mean of "total={}", of the lines with a refused card\n'
            'found = numbers(find("card refused", among=lines), "total={}")\n'
            "print(len(found), found[:3])\nsubmit(round(statistics.mean(found), 2))",
        ),
        (
            SLOTTED,
            "Which customer with a total below 10 has the highest order?",
            '# asked: a customer, of the line with the highest "ORDER {}" of those with a total below 10\n'
            'row = highest(below("total={}", 10), "ORDER {}")\nprint(row)\n'
            'submit(values([row], "customer={} ")[0])',
        ),
        (
            SLOTTED,
            "How many cards with a total of 5 to 9 were refused?",
            '# asked: a number of lines, those with "total={}" from 5 to 9 and a refused card\n'
            'hits = find("card refused", among=within("total={}", 5, 9))\n'
            "print(hits[:2])\nsubmit(len(hits))",
        ),
        (
            SLOTTED,
            "How many orders have a total of 20 or more?",
            '# asked: a number of lines, those with "total={}" of 20 or more\n'
            'hits = at_least("total={}", 20)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            SLOTTED,
            "How many orders are larger than 1,200?",
            '# asked: a number of lines, those with "total={}" above 1200\n'
            'hits = above("total={}", 1200)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            SLOTTED,
            "How many orders are there with totals between 100 and 150?",
            '# asked: a number of lines, those with "total={}" from 100 to 150\n'
            'hits = within("total={}", 100, 150)\nprint(hits[:2])\nsubmit(len(hits))',
        ),
    ),
    "place": (
        (
            BOTH,
            "How many cards were refused in the lines 300 to 400?",
            "# asked: a number of lines, of the lines 300 to 400 those with a refused card\n"
            'hits = find("card refused", among=lines[299:400])\nprint(hits[:2])\nsubmit(len(hits))',
        ),
        (
            BOTH,
            "Which shop comes most often in the first 500 lines?",
            '# asked: a shop, the most frequent value of " {} ORDER" in the first 500 lines\n'
            'names = values(lines[:500], " {} ORDER")\nprint(top(names))\nsubmit(top(names)[0][0])',
        ),
        (
            BOTH,
            "How many of the last 200 lines have a refused card?",
            "# asked: a number of lines, of the last 200 lines those with a refused card\n"
            'hits = find("card refused", among=lines[-200:])\nprint(hits[:2])\nsubmit(len(hits))',
        ),
    ),
    "compare": (
        (
            TABLE,
            "Are there more rows of the state refused or of the state paid?",
            "# asked: one of two states. Field 4 has states\n"
            'counts = {state: field(lines, 4).count(state) for state in ("refused", "paid")}\n'
            "print(counts)\nsubmit(max(counts, key=counts.get))",
        ),
        (
            HEAD,
            "Which word does the text have most often: card, order or shop?",
            "# asked: one of three words, by how often it stands in the text\n"
            'counts = {word: "\\n".join(lines).lower().count(word) for word in ("card", "order", "shop")}\n'
            "print(counts)\nsubmit(max(counts, key=counts.get))",
        ),
        (
            HEAD,
            "Do more of the lines begin with When or with How?",
            "# asked: one of two words, by the lines that begin with it\n"
            'starts = [line.split(" ")[0] for line in lines]\n'
            'counts = {word: starts.count(word) for word in ("When", "How")}\n'
            "print(counts)\nsubmit(max(counts, key=counts.get))",
        ),
        (
            data(B_PAID, ALL_CREATED),
            "On which day were more orders created, on 2031-05-02 or on 2031-05-03?",
            "# asked: one of two days, by the lines of A that have it\n"
            'counts = {day: len(find(day, among=A)) for day in ("2031-05-02", "2031-05-03")}\n'
            "print(counts)\nsubmit(max(counts, key=counts.get))",
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "Which refused fewer cards: shop-1 or shop-2?",
            "# asked: one of two shops, by the lines of A that have it\n"
            'counts = {shop: len(find(shop + " ", among=A)) for shop in ("shop-1", "shop-2")}\n'
            "print(counts)\nsubmit(min(counts, key=counts.get))",
        ),
    ),
    "imports": (
        (
            CODE,
            "Which module do the most files import?",
            "# asked: a module, the most frequent one in imports\n"
            "print(top(imports))\nsubmit(top(imports)[0][0])",
        ),
        (
            CODE,
            "How many of the files import json, or anything from it?",
            '# asked: a number of files: how often json is imported\nsubmit(imports.count("json"))',
        ),
    ),
    "classes": (
        (
            CODE,
            "Which class does Tea inherit from?",
            '# asked: a class, the one above Tea\nnames = bases("Tea")\nprint(names)\nsubmit(names[0])',
        ),
        (
            CODE,
            "What is the base class of Shop?",
            '# asked: a class, the one above Shop\nnames = bases("Shop")\nprint(names)\nsubmit(names[0])',
        ),
        (
            CODE,
            "Which class do the most other classes inherit from?",
            "# asked: a class, the most frequent one in the brackets of classes\n"
            'names = values(classes, "({})")\nprint(top(names))\nsubmit(top(names)[0][0])',
        ),
        (
            CODE,
            "How many classes inherit from Place?",
            "# asked: a number of classes, those below Place\n"
            'names = subclasses("Place")\nprint(names[:3])\nsubmit(len(names))',
        ),
        (
            CODE,
            "Which classes have Place as their base?",
            "# asked: classes, those below Place\n"
            'names = subclasses("Place")\nprint(names[:3])\nsubmit(names)',
        ),
        (
            CODE,
            "How many classes are there?",
            "# asked: a number of classes, all of them\nsubmit(len(classes))",
        ),
    ),
    "functions": (
        (
            CODE,
            "In which class is the method pour?",
            '# asked: a class, before ".pour(" in functions\n'
            'names = values(functions, "^{}.pour(")\nprint(names)\nsubmit(names[0])',
        ),
        (
            CODE,
            "What is the default of hour in the method open of Shop?",
            '# asked: a default, behind "hour=" in Shop.open\n'
            'hits = find("Shop.open(", among=functions)\nnames = values(hits, "hour={}")\n'
            "print(names)\nsubmit(names[0])",
        ),
        (
            CODE,
            "Which class defines the most methods?",
            "# asked: a class, the most frequent owner\nprint(top(owners))\nsubmit(top(owners)[0][0])",
        ),
        (
            CODE,
            "Count all functions, methods included.",
            "# asked: a number of functions, all of them\nsubmit(len(functions))",
        ),
        (
            CODE,
            "How many methods has Tea?",
            '# asked: a number of methods: how often their owner is Tea\nsubmit(owners.count("Tea"))',
        ),
    ),
    "hop": (
        (
            data(B_PAID, ("A", 1, EVE)),
            "Who paid for order 77, and how many orders did this customer create?",
            '# to know first: "this customer"\n'
            'who = ask("Who paid for order 77?")\nprint(who)\n'
            'submit(ask(f"How many orders did this customer {who} create?"))',
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "When was a card refused in the shop that took the payment for order 77?",
            '# to know first: "the shop that took the payment for order 77"\n'
            'shop = ask("Which shop took the payment for order 77?")\nprint(shop)\n'
            'submit(ask(f"At what time was a card refused in {shop}?"))',
        ),
        (
            BELLS,
            "In which street does the owner of the Blue Room live?",
            '# to know first: "the owner of the Blue Room"\n'
            'who = ask("What is the name of the owner of the Blue Room?")\nprint(who)\n'
            'submit(ask(f"In which street does this owner {who} live?"))',
        ),
        (
            data(B_PAID, ALL_REFUSED),
            "Take the customer with the most refused cards. When, as HH:MM:SS, did this customer come first?",
            '# to know first: "the customer with the most refused cards"\n'
            'who = ask("What is the customer with the most refused cards?")\nprint(who)\n'
            'submit(ask(f"When, as HH:MM:SS, did this customer {who} come first?"))',
        ),
        (
            data(B_PAID, ("A", 1, EVE)),
            "Somebody paid for order 77. How many different customers had a card refused in the same shop?",
            '# to know first: "the same shop"\n'
            'shop = ask("What is the shop? (Somebody paid for order 77)")\nprint(shop)\n'
            'submit(ask(f"How many different customers had a card refused in the same shop {shop}?"))',
        ),
        (
            data(B_PAID, ("A", 1, EVE)),
            "Look up the minute of the payment for order 77. How many lines contain it?",
            '# to know first: "the minute of the payment for order 77"\n'
            'minute = ask("What is the minute of the payment for order 77?")\nprint(minute)\n'
            'submit(ask(f"How many lines contain {minute}?"))',
        ),
    ),
    "prose": (
        (
            BELLS,
            "Who is the owner of the Blue Room?",
            "# asked: an owner. A and B are prose, so a reader answers\n"
            'answer = read("Who is the owner of the Blue Room?", A, B)\nprint(answer)\nsubmit(answer)',
        ),
        (
            f"{TALE}\nProse: A, B and C are sentences; read lets a reader answer from them.\n"
            "A: 3 lines\n  1 like: It was late in May, and the garden lay still.",
            "What lay still in May? Answer with one word.",
            "# asked: a thing. A is prose, so a reader answers\n"
            'answer = read("What lay still in May?", A)\nprint(answer)\nsubmit(answer)',
        ),
    ),
    "word": (
        (
            TALE,
            'How many lines contain the word "garden"?',
            "# asked: a number of lines, those with the word garden\n"
            'hits = [line for line in lines if re.search(r"\\bgarden\\b", line, re.IGNORECASE)]\n'
            "print(hits[:2])\nsubmit(len(hits))",
        ),
        (
            TALE,
            "Which words with 4 letters or more come most often? List the three most frequent ones.",
            "# asked: a list of the 3 most frequent words of 4 letters or more\n"
            'found = re.findall(r"[a-z]{4,}", "\\n".join(lines).lower())\n'
            "names = [name for name, count in top(found, 3)]\nprint(top(found, 3))\nsubmit(names)",
        ),
        (
            TALE,
            "List all words that come more than 20 times.",
            "# asked: a list of all words with a count above 20\n"
            'found = Counter(re.findall(r"[a-z]+", "\\n".join(lines).lower()))\n'
            "names = [name for name, count in found.items() if count > 20]\nprint(names[:5])\nsubmit(names)",
        ),
        (
            TALE,
            'How often does the word "late" come in the text, in any case?',
            "# asked: a number, how often the word late comes\n"
            'found = re.findall(r"\\blate\\b", "\\n".join(lines), re.IGNORECASE)\n'
            "print(len(found))\nsubmit(len(found))",
        ),
    ),
}
