"""Texts inside of pages and pictures: signs of markup are escaped, and what does not print, which XML cannot have."""

from __future__ import annotations

import html

from vernal.printable import in_one_line, printable, shortened

MAX_LABEL = 120  # characters of a line in a picture
OPEN_ROWS = 12  # a longer table is folded
MAX_NAME = 48  # characters of what stands beside a panel, and takes its room


def escape(text: str) -> str:
    """A text that stands in markup, and between quotes there, as it is."""
    return html.escape(printable(text))


def folded(part: str, rows: int, title: str, most: int = OPEN_ROWS) -> str:
    """A part of a page that has many rows, behind a line that says what it is."""
    return part if rows <= most else f"<details><summary>{escape(title)}</summary>\n{part}\n</details>"


def as_drawn(text: str) -> str:
    """A text for a picture, where no line may be long."""
    return "\n".join(shortened(line, MAX_LABEL) for line in printable(shortened(text)).split("\n"))


def as_name(text: str) -> str:
    """A text beside a panel."""
    return shortened(in_one_line(shortened(text)), MAX_NAME)
