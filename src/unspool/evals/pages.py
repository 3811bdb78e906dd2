"""The report as files in the folder of the measurement.

>>> write(Path("/nonexistent"))
Traceback (most recent call last):
unspool.errors.ConfigError: /nonexistent/samples.jsonl cannot be read (No such file or directory): give ...
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from .kept import read_samples, read_settings
from .plot import plot, series_of
from .report import markdown
from .rows import Row, rows

REPORT, PLOTS = "report.md", "plots"


def write(folder: Path) -> tuple[str, list[Row]]:
    """Writes the page and a picture for each suite; returns the page and what it is made of.

    Raises :class:`ConfigError`.
    """
    records, (settings, commands) = read_samples(folder), read_settings(folder)
    if not records:
        raise ConfigError(f"{folder} holds no sample yet: unspool eval SUITE --out {folder} asks some")
    found = rows(records)
    pictures = {
        f"{PLOTS}/{suite}.svg": plot(suite, series_of([row for row in found if row.suite == suite]))
        for suite in dict.fromkeys(row.suite for row in found)
    }
    page = markdown(found, settings, commands, {Path(path).stem: path for path in pictures})
    try:
        (folder / PLOTS).mkdir(exist_ok=True)
        for path, picture in pictures.items():
            (folder / path).write_text(picture, "utf-8")
        (folder / REPORT).write_text(page, "utf-8")
    except OSError as error:
        raise ConfigError(f"the report cannot be written in {folder} ({error.strerror})") from None
    return page, found
