"""Images as contexts: what is told of them, and the bytes and files that are taken for one.

Contract: :func:`with_images` gives a context in which the bytes of image files are an
:class:`unspool.images.Image`: the context itself, the items of a list or tuple, the values of a mapping. In
the REPL each is a PIL image, where Pillow is there. :func:`image_at` reads an image by its path.

>>> gif = b"GIF89a\\x02\\x00\\x03\\x00" + bytes(20)
>>> with_images({"a": gif, "b": b"other bytes"})
{'a': Image(format='gif', width=2, height=3, mode='P'), 'b': b'other bytes'}
>>> image_words(with_images(gif))
'image, GIF, 2 × 3, mode P'
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import ContextError
from ..images import SUFFIXES, Image, header, is_pil
from .values import changed

if TYPE_CHECKING:
    import PIL.Image

_LOOKED = 100_000  # items of a list: more are no images


def with_images(context: object) -> object:
    """See the module docstring."""
    if _is_file(context):
        return _as_image(context)
    if isinstance(context, list | tuple) and type(context) in (list, tuple) and len(context) <= _LOOKED:
        if any(map(_is_file, context)):
            return type(context)(map(_as_image, context))
    elif isinstance(context, Mapping) and any(map(_is_file, context.values())):
        return changed(context, _as_image)
    return context


def _as_image(value: object) -> object:
    return Image.of(value) if isinstance(value, bytes) and _is_file(value) else value


def _is_file(value: object) -> bool:
    return isinstance(value, bytes) and header(value) is not None


def image_at(path: Path, folder: str = "") -> Image | None:
    """The image in a file that is named like one; ``None`` for other names, and where there is no file."""
    full = os.path.join(folder, os.path.expanduser(str(path)))
    if path.suffix.lower() not in SUFFIXES or not os.path.isfile(full):
        return None
    try:
        return Image.read(full)
    except OSError as error:
        raise ContextError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None
    except ValueError as error:
        raise ContextError(f"{path} is named like an image and is none: {error}.") from None


def image_words(value: object) -> str:
    """An image in a few words; empty for all else."""
    if isinstance(value, Image):
        mode = f", mode {value.mode}" if value.mode else ""
        return f"image, {value.format.upper()}, {value.width:,} × {value.height:,}{mode}"
    if is_pil(value):
        image = cast("PIL.Image.Image", value)
        kind = f", {image.format}" if image.format else ""
        return f"image{kind}, {image.width:,} × {image.height:,}, mode {image.mode}"
    return ""


def describe_image(value: object, name: str) -> str | None:
    """The description of an image, ``None`` for all else."""
    words = image_words(value)
    if not words:
        return None
    here = (
        f"In the REPL it is a PIL image: {name}.size, {name}.crop((left, top, right, bottom)), "
        f"{name}.getpixel((x, y))."
        if find_spec("PIL")
        else f"In the REPL it is its file: {name}.data, {name}.format, {name}.size (there is no Pillow here)."
    )
    return (
        f"`{name}` is an {words}. {here} Only a model that takes images sees what is in it: "
        f'llm_query("What is this?", images=[{name}]); give it crops of what is large.'
    )
