"""Prose, as the first look of a weak model's REPL takes it apart: paragraphs, sentences, who is spoken of.

The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard library only, in one
file.

>>> follow(["Ana Bell keeps the key."], ["Ana Bell keeps the key.", "Ana Bell is 7 years old."], "How old?")
['Ana Bell is 7 years old.']
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .small_records import field_list

MOST_PROSE = 200  # lines that classify takes
MOST_BLOCK = 1_500  # characters of a paragraph and what is below it
SHORTEST, LONGEST_TITLE = 25, 60  # characters of a sentence, and of what stands alone above some
_PRONOUN = re.compile(r"(?:its?|his|her|hers|he|she|they|their|this|these)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[^a-z\s])")
_QUOTES = ' \t"“‘«('
LONG, FEW_ENDS = 200, 2  # characters of a paragraph, and ends of sentences within it
MOST_FOLLOWED = 4  # sentences of those who are named in the best ones
FEW_NAMED = 3  # best sentences, up to which they are of a few
FULL_NAME = re.compile(r"(?<![\w'-])[A-Z][\w'-]+(?: [A-Z][\w'-]+)+")


def is_prose(data: Sequence[str]) -> bool:
    """Whether these are a few lines with words of their own each, and not entries of a few forms."""
    if not 1 < len(data) <= MOST_PROSE or any("\t" in line for line in data):
        return False
    texts = [" ".join(field_list(line)) for line in data]
    words = [set(re.findall(r"[^\W\d_]{4,}", text)) for text in texts]
    shared = Counter(word for line in words for word in line)
    usual = sum(count > len(data) // 2 for count in shared.values())
    return sum(map(len, words)) >= 2 * len(data) <= 2 * len(shared) and usual <= 1


def is_wrapped(data: Sequence[str]) -> bool:
    """Whether these are the lines of paragraphs, and not each a thing of its own."""
    some = [line.strip() for line in data[:2_000]]
    solid = sorted(len(line) for line in some if line)
    entries = sum(not line[:1].isalpha() for line in some if line)
    blank = len(some) - len(solid)
    return (
        bool(solid)
        and blank >= len(some) // 20
        and solid[len(solid) // 2] >= 40
        and entries < len(solid) // 3
    )


def is_paragraphs(data: Sequence[str]) -> bool:
    """Whether these are paragraphs of several sentences, with titles or without; one may be a whole text."""
    solid = [line for line in data[:2_000] if line.strip()]
    some = [line for line in solid if len(line) > LONGEST_TITLE]
    begun = [line for line in some if len(line) >= LONG and line.lstrip(_QUOTES)[:1].isalpha()]
    several = sum(len(_SENTENCE_END.findall(line)) >= FEW_ENDS for line in begun)
    return 2 * several > len(some) > len(solid) // 3


def blocks_of(data: Sequence[str]) -> list[str]:
    """Paragraphs, each with those below it that are set deeper, as far as they are not too long."""
    blocks: list[str] = []
    depth, apart = 0, True
    for line in data:
        text = line.strip()
        deep = len(line) - len(line.lstrip())
        if not text:
            apart = True
        elif blocks and (not apart or deep > depth) and len(blocks[-1]) + len(text) < MOST_BLOCK:
            blocks[-1] += ("\n" if apart else " ") + text
            apart = False
        else:
            blocks.append(text)
            depth, apart = deep, False
    return blocks


def sentences_of(texts: Sequence[str]) -> list[str]:
    """Short ones with the one before: "No." and "e.g." end none. One that begins with a pronoun has the
    title above it before it, for "its owner" is of nothing else; below a heading of Markdown each has it.

    >>> sentences_of(["It was May. The garden of No. 7 lay still. Why? Nobody knew of anything odd."])
    ['It was May. The garden of No. 7 lay still. Why?', 'Nobody knew of anything odd.']
    >>> sentences_of(["Blue Room", "Its owner is Ana Bell, of course. The Blue Room itself is very old."])
    ['Blue Room', 'Blue Room: Its owner is Ana Bell, of course.', 'The Blue Room itself is very old.']
    >>> sentences_of(["## The cellar", "On Sundays nobody may go down. The cellar is said to be wet."])
    ['## The cellar', 'The cellar: On Sundays nobody may go down.', 'The cellar is said to be wet.']
    """
    found: list[str] = []
    title, heads = "", False
    for text in texts:
        begun = len(found)
        if is_title := len(text) <= LONGEST_TITLE and not text.rstrip().endswith((".", "!", "?", ",", ";")):
            title, heads = text.strip("# "), text.startswith("#")
        for part in _SENTENCE_END.split(text):
            of_title = not is_title and title and (heads or _PRONOUN.match(part))
            if len(found) > begun and min(len(part), len(found[-1])) < SHORTEST:
                found[-1] += f" {part}"
            elif part.strip():
                found.append(
                    f"{title}: {part}" if of_title and title.casefold() not in part.casefold() else part
                )
    return found


def follow(best: Sequence[str], texts: Sequence[str], question: str) -> list[str]:
    """What the text says of those who are named in the best sentences, and not in the question: a question
    about them that names something of theirs ("the phone of who keeps the key") is answered there."""
    if not 0 < len(best) <= FEW_NAMED:
        return []
    names = {name for line in best for name in FULL_NAME.findall(line) if name not in question}
    chosen = [text for text in texts if text not in best and any(name in text for name in names)]
    return chosen[:MOST_FOLLOWED]
