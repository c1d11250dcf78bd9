"""How many of many questions the suite asks: some of the random ones, or with VERNAL_TESTS=all each one.

`make test` has minutes (VERNAL_TESTS=some): there costly functions are asked some of their cases, as in
tests/portions.txt. `make test-all` asks all there are, and the programs in benchmarks/ (never_wrong, hostile) as many
as there is time for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

PORTIONS = Path(__file__).with_name("portions.txt")
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


def portions() -> Mapping[str, int]:
    """Each how manieth case of a function is asked by `make test`, 0 for none, by the function's name in pytest."""
    lines = (line.split() for line in PORTIONS.read_text().splitlines() if not line.startswith("#"))
    return {name: int(stride) for stride, name in lines}


def strides() -> Mapping[str, int]:
    """The table of portions where the suite is asked in part, else nothing."""
    return portions() if os.environ.get("VERNAL_TESTS") == "some" else {}
