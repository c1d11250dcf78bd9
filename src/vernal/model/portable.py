"""Data that can travel to another process; `vernal.model.travel` says how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STAYS = {"travels": False}  # metadata of a field that is of one process only; elsewhere it has its default


class Portable:
    """Pickled and copied by way of the table of its objects, and thus whole, however deep the graphs in it are."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        from vernal.model import travel  # not before it is needed: a result is imported before any array is

        return travel.restore, (travel.flatten(self),)
