"""Sizes: what a file's name tells of the text in it (how many bytes, packed, or no text), and sizes in words.

>>> size_told("a.log", 10), size_told("a.log.gz", 10), size_told("a.png", 10) == NO_TEXT
(10, None, True)
>>> unpacked("app.LOG.gz")
'app.log'
"""

from __future__ import annotations

from .sniff import kind_by_name

NO_TEXT = -2  # in the place of a size
PACKED = (".gz", ".zst", ".bz2", ".xz")
ARCHIVES = (".zip", ".tar", ".tgz", ".tbz2", ".txz", *(f".tar{ending}" for ending in PACKED))
_OTHERS = """
.png .jpg .jpeg .gif .webp .bmp .tif .tiff .ico .odt .odp .ods .rtf .doc .xls .ppt .jar .whl .so .pyc .o .a
.exe .dll .bin .mp3 .mp4 .woff .woff2 .ttf .7z
"""
_NO_TEXT = (*ARCHIVES, *_OTHERS.split())


def unpacked(name: str) -> str:
    """A name in lower case without what says that it is packed."""
    name = name.lower()
    return next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)


def size_told(name: str, size: int) -> int | None:
    """The bytes of the text in a file of a folder or an archive, before anybody looks into it; ``None`` where
    it is packed or a document, :data:`NO_TEXT` where it is named as none."""
    name = name.lower()
    kind = kind_by_name(name)
    if kind == "document":
        return None
    if name.endswith(_NO_TEXT) or kind != "text":
        return NO_TEXT
    return None if name.endswith(PACKED) else size


def sized(size: int | None) -> str:
    """A number of bytes in words."""
    if size is None:
        return "unknown size"
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} bytes"
