"""Data that can travel to another process; `vernal.model.travel` says how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

STAYS = {"travels": False}  # metadata of a field that is of one process only; elsewhere it has its default


class Portable:
    """Pickled and copied by way of the table of its objects, and thus whole, however deep the graphs in it are."""

    __slots__ = ()

    flatten: ClassVar[Callable[[object], Any]]  # both are set by `vernal.model.travel`, which is loaded with `build`
    restore: ClassVar[Callable[[Any], Any]]

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return Portable.restore, (Portable.flatten(self),)
