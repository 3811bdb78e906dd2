"""Images as values: the bytes of a file, with what its header says.

Contract: an :class:`Image` never shows its bytes, and never changes. :meth:`Image.of` makes one of a PIL
image, of the bytes of a PNG, JPEG, GIF, WebP or BMP file, or of another :class:`Image`; anything else is a
``ValueError`` that says so. Pillow is needed for :meth:`Image.pil` and for PIL images alone.

>>> Image.of(b"GIF89a\\x02\\x00\\x03\\x00" + bytes(20))
Image(format='gif', width=2, height=3, mode='P')
>>> str(Image.of(b"GIF89a\\x02\\x00\\x03\\x00" + bytes(20)))
'an image (GIF, 2 × 3, 30 bytes)'
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import PIL.Image

Format = Literal["png", "jpeg", "gif", "webp", "bmp"]
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
LARGEST = 64 << 20  # bytes of one file

_PNG_MODES = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}
_NO_FRAME = (0xC4, 0xC8, 0xCC)  # JPEG markers between 0xC0 and 0xCF that are no start of a frame


@dataclass(frozen=True, slots=True)
class Image:
    """One image: the bytes of its file, its format, its size in pixels; ``mode`` as Pillow calls it."""

    data: bytes = field(repr=False)
    format: Format
    width: int
    height: int
    mode: str = ""
    _hash: str = field(default="", init=False, repr=False, compare=False)

    @classmethod
    def of(cls, value: object) -> Image:
        """See the module docstring."""
        if isinstance(value, Image):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            if len(data) > LARGEST:
                raise ValueError(f"an image of {len(data):,} bytes is too large: {LARGEST:,} at most")
            found = header(data)
            if found is None:
                raise ValueError(
                    f"these {len(data):,} bytes are no image that is known: PNG, JPEG, GIF, WebP and BMP are"
                )
            return cls(data, *found)
        if is_pil(value):
            from .reach.pictures import file_of

            return cls.of(file_of(value))
        raise ValueError(f"a {type(value).__name__} is no image: give a PIL image, or the bytes of a file")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Image:
        return cls.of(Path(path).read_bytes())

    def pil(self) -> PIL.Image.Image:
        """The image for Pillow, which has to be installed."""
        import PIL.Image

        return PIL.Image.open(io.BytesIO(self.data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file as it is."""
        Path(path).write_bytes(self.data)

    @property
    def hash(self) -> str:
        """SHA-256 of the file, in hexadecimal; each sub-call asks for it twice."""
        if not self._hash:
            object.__setattr__(self, "_hash", hashlib.sha256(self.data).hexdigest())
        return self._hash

    @property
    def media_type(self) -> str:
        return f"image/{self.format}"

    @property
    def words(self) -> str:
        """How journals name it: format, size, hash."""
        return f"{self.format} {self.width}x{self.height} sha256:{self.hash}"

    def __str__(self) -> str:
        return f"an image ({self.format.upper()}, {self.width:,} × {self.height:,}, {len(self.data):,} bytes)"

    def __unspool_image__(self) -> bytes:
        """On its way between host and sandbox."""
        return self.data

    def __handed_over__(self) -> tuple[object, ...]:
        """What becomes of it in a REPL: a PIL image, where Pillow is there."""
        from .reach.pictures import opened

        return opened, (self.data, self.format, self.width, self.height)


def is_pil(value: object) -> bool:
    """Whether it is an image of Pillow's, which is not imported for the question."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def header(data: bytes) -> tuple[Format, int, int, str] | None:
    """Format, width, height and mode, from the first bytes of a file; ``None`` where they are no image's.

    >>> header(b"no image"), header(b"")
    (None, None)
    """
    try:
        found = _header(data)
    except (struct.error, IndexError):  # it ends in its header
        return None
    return found if found is not None and found[1] > 0 and found[2] > 0 else None


def _header(data: bytes) -> tuple[Format, int, int, str] | None:
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR":
        width, height, _, colour = struct.unpack_from(">IIBB", data, 16)
        return "png", width, height, _PNG_MODES.get(colour, "")
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif", *struct.unpack_from("<HH", data, 6), "P"
    if data[:2] == b"\xff\xd8":
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    if data[:2] == b"BM" and data[14:18] == b"\x28\0\0\0":
        width, height = struct.unpack_from("<ii", data, 18)
        return "bmp", width, abs(height), "RGB"
    return None


def _jpeg(data: bytes) -> tuple[Format, int, int, str] | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width, parts = struct.unpack_from(">HHB", data, at + 5)
            return "jpeg", width, height, _JPEG_MODES.get(parts, "")
        (length,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + max(2, length)
    return None


def _webp(data: bytes) -> tuple[Format, int, int, str] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        alpha = data[20] & 0x10
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return ("webp", width, height, "RGBA" if alpha else "RGB") if len(data) >= 30 else None
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        if len(data) < 25:
            return None
        return "webp", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1, "RGBA"
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return "webp", width & 0x3FFF, height & 0x3FFF, "RGB"
    return None
