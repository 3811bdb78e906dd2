"""Hostile text as text that only shows: all of Unicode, one kind at a time."""

from __future__ import annotations

import sys
import unicodedata

from unspool.safe_text import one_line, safe

OBEYED = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of pairs, ends of lines and of paragraphs
TURNED = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # which way text is read


def test_nothing_that_is_obeyed_passes() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if char in "\n\t":
            assert safe(char) == char
        elif unicodedata.category(char) in OBEYED or unicodedata.bidirectional(char) in TURNED:
            assert safe(f"a{char}b").isascii(), hex(code)
            assert safe(f"a{char}b") != "ab", hex(code)  # it shows
        else:
            assert safe(char) == char, hex(code)


def test_one_line_is_one() -> None:
    text = "".join(map(chr, range(0x3000)))
    assert len(one_line(f"a{text}b", 10**6).splitlines()) == 1
