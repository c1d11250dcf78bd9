"""Where task files find the worlds that come with the package.

Reading a task must not depend on the worlds there are, so the package itself sets `Shelf.find`.
"""

from __future__ import annotations

from collections.abc import Callable


class Shelf:
    """Worlds by name; `find` gives the text of one, or raises `NameUnknown`."""

    find: Callable[[str], str] | None = None
