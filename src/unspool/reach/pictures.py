"""Images in the REPL: PIL images where Pillow is there, else their bytes with what is known of them.

Contract: :func:`opened` makes what a REPL has of an image; :func:`file_of` is the way back, the bytes of a
file, ``None`` for what is no image; :func:`many` checks what code gives as ``images=``. Pillow is imported
when the first image comes.

>>> file_of("text") is None
True
>>> picture = Picture(b"abc", "png", 2, 1)
>>> picture, file_of(picture)
(Picture(format='png', width=2, height=1), b'abc')
"""

from __future__ import annotations

import dataclasses
import io
import sys
from collections.abc import Sequence
from typing import Any

_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")  # that PNG has
_USAGE = 'llm_query("a question", images=[image, image.crop((left, top, right, bottom))])'


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """An image where Pillow is not installed: the bytes of its file."""

    data: bytes = dataclasses.field(repr=False)
    format: str
    width: int
    height: int

    @property
    def size(self) -> tuple[int, int]:
        return self.width, self.height

    def __unspool_image__(self) -> bytes:
        return self.data


def opened(data: bytes, kind: str = "", width: int = 0, height: int = 0) -> object:
    """The image whose file has these bytes."""
    try:
        import PIL.Image

        return PIL.Image.open(io.BytesIO(data))
    except (ImportError, OSError):  # no Pillow, or one that does not know the format
        return Picture(data, kind, width, height)


def file_of(value: object) -> bytes | None:
    """The bytes of an image's file; a PIL image becomes a PNG."""
    own = getattr(type(value), "__unspool_image__", None)
    if own is not None:
        return bytes(own(value))
    module = sys.modules.get("PIL.Image")
    if module is None or not isinstance(value, module.Image):
        return None
    image: Any = value
    if image.mode not in _MODES:
        image = image.convert("RGBA" if "A" in image.mode or "a" in image.mode else "RGB")
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def many(value: object, call: str = "llm_query") -> list[bytes]:
    """The files of one image or of several. Raises ``TypeError`` with the right call."""
    items: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    found = []
    for item in items:
        data = bytes(item) if isinstance(item, bytes | bytearray) else file_of(item)
        if data is None:
            raise TypeError(
                f"images= takes PIL images or the bytes of image files, not a {type(item).__name__}; "
                f"the call is {_USAGE.replace('llm_query', call, 1)}"
            )
        found.append(data)
    return found


def of_each(value: object, count: int) -> list[list[bytes]]:
    """The images of each prompt of a batch."""
    if not isinstance(value, list | tuple) or len(value) != count:
        raise ValueError(
            f"images= takes one list of images for each of the {count} prompts: "
            "llm_query_batched(prompts, images=[[first], [second, third], …])"
        )
    return [[] if item is None else many(item, "llm_query_batched") for item in value]
