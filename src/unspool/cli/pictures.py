"""An answer that is an image, on a command line: a file in the working folder, named after its run.

Contract: :func:`saved` writes the file and gives the name of it; an image of an earlier run is never written
over. Raises ``OSError`` where it cannot be written.
"""

from __future__ import annotations

from ..images import Image


def saved(image: Image, run: str) -> str:
    """See the module docstring."""
    for number in range(1, 1_000):
        more = "" if number == 1 else f"-{number}"
        name = f"answer-{run}{more}.{'jpg' if image.format == 'jpeg' else image.format}"
        try:
            with open(name, "xb") as file:
                file.write(image.data)
        except FileExistsError:
            with open(name, "rb") as file:
                if file.read() == image.data:  # a run that was answered, told again
                    return name
            continue
        return name
    raise FileExistsError(f"answer-{run}: there are too many of them here")
