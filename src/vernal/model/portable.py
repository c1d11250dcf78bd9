"""Data that can travel to another process; `vernal.model.travel` says how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

STAYS = {"travels": False}  # metadata of a field that is of one process only; elsewhere it has its default


class Portable:
    """Pickled and copied by way of the table of its objects, and thus whole, however deep the graphs in it are."""

    __slots__ = ()

    flatten: ClassVar[Callable[[object], Any]]  # both are set by `vernal.model.travel`, which is loaded with `build`
    restore: ClassVar[Callable[[Any], Any]]

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return Portable.restore, (Portable.flatten(self),)


class ArrayData(Portable):
    """Data with arrays in it, equal to other data of its class if all fields that compare are, number by number.

    Its classes are dataclasses with `eq=False`, which keep this.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [entry.name for entry in fields(self) if entry.compare]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        values = [getattr(self, entry.name) for entry in fields(self) if entry.compare]  # type: ignore[arg-type]
        return hash((type(self).__name__, *(getattr(value, "shape", None) for value in values)))


def _equal(first: Any, second: Any) -> bool:
    """Whether two fields are: arrays, tuples of anything, or data that compares by itself."""
    import numpy as np  # loaded by whoever made it

    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second))
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_equal, first, second))
    return bool(first == second)
