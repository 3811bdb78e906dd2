"""Text that may be hostile, as text that only shows.

Contract: what a model, an input or a server wrote goes through :func:`safe` on its way to a terminal, a page
or a log. Letters of any script pass; what would be obeyed, or would make a line read as another one, shows
as its escape, colours included: nothing is left out, for a record is to tell what was there.

>>> print(safe("red \\x1b[31mtext, bell \\x07"))
red \\x1b[31mtext, bell \\x07
>>> one_line("two\\n lines", 7)
'two ...'
"""

from __future__ import annotations

import re

_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # can make a line read as another one
_BREAKS = (0x2028, 0x2029)  # so can what begins a new one on a page, and in many editors
_VISIBLE = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in (*_BIDI, *_BREAKS)},
    ord("\r"): "\\r",
}
_SURROGATES = re.compile("[\ud800-\udfff]")


def safe(text: str) -> str:
    """``text`` with nothing left in it that a terminal would obey, but newlines and tabs."""
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def paired(text: str) -> str:
    """``text`` that UTF-8 has bytes for: two halves of a surrogate pair are the character that they mean, a
    half alone is U+FFFD. What is sent to a service or as a reply goes through this.

    >>> paired("\\ud83d\\ude00 \\ud83d") == "\\U0001f600 \\ufffd"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str, size: int = 300) -> str:
    """``text`` without line breaks, cut at ``size`` characters."""
    flat = " ".join(text[: 4 * size].split())
    return flat if len(flat) <= size and len(text) <= 4 * size else flat[: size - 3] + "..."
