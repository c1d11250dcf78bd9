"""How many of many random questions the suite asks: some of them, or with VERNAL_TESTS=all in the environment each one.

`make test` has minutes; `make test-all` asks all there are, and the programs in benchmarks/ (never_wrong, hostile) as
many as there is time for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

ALL = os.environ.get("VERNAL_TESTS") == "all"


def some(many: int, least: int = 5) -> int:
    """A third of many draws, at least a few; all where that is wanted."""
    return many if ALL else min(many, max(many // 3, least))


def seeds(many: int, least: int = 5) -> range:
    """The first of many seeds: kinds that a seed chooses by its remainder all occur."""
    return range(some(many, least))


def every(few: int, questions: Sequence[T]) -> Sequence[T]:
    """Each `few`-th of a list that is sorted by kinds, the first among them; all where that is wanted."""
    return questions if ALL else questions[::few]


def pairs(few: int, left: Iterable[S], right: Iterable[T]) -> list[tuple[S, T]]:
    """Each `few`-th pair, such that everything on either side occurs; all pairs where that is wanted."""
    seconds = list(right)
    return [(a, b) for i, a in enumerate(left) for j, b in enumerate(seconds) if ALL or (i + j) % few == 0]
