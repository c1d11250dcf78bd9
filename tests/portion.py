"""How many of many random questions the suite asks: some of them, or with VERNAL_TESTS=all in the environment each one.

`make test` has minutes; `make test-all` asks all there are, and the programs in benchmarks/ (never_wrong, hostile) as
many as there is time for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

ALL = os.environ.get("VERNAL_TESTS") == "all"


def some(many: int) -> int:
    """A third of many draws, at least five; all where that is wanted."""
    return many if ALL else min(many, max(many // 3, 5))


def seeds(many: int) -> range:
    """The first of many seeds: kinds that a seed chooses by its remainder all occur."""
    return range(some(many))


def every(few: int, questions: Sequence[T]) -> Sequence[T]:
    """Each `few`-th of a list that is sorted by kinds, the first among them; all where that is wanted."""
    return questions if ALL else questions[::few]
