"""Predicates `v >= c` in the order of the paper: each variable's range is cut in half, then its halves, and so on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchmarks.ppa.jani import Bounded, Expression, ge


def halving(lower: int, upper: int) -> Iterator[int]:
    """All thresholds that tell the values from lower to upper apart; the middle of an interval before its halves."""
    waiting = deque([(lower + 1, upper)])
    while waiting:
        first, last = waiting.popleft()
        if first <= last:
            middle = (first + last) // 2
            yield middle
            waiting += [(first, middle - 1), (middle + 1, last)]


def one_variable(variable: Bounded) -> list[Expression]:
    return [ge(variable.name, threshold) for threshold in halving(variable.lower, variable.upper)]


def together(variables: Sequence[Bounded]) -> list[list[Expression]]:
    """Round by round one more threshold of every variable, as long as it has one."""
    columns = [one_variable(variable) for variable in variables]
    rounds = max(map(len, columns), default=0)
    return [[column[number] for column in columns if number < len(column)] for number in range(rounds)]


def levels(variables: Sequence[Bounded]) -> list[list[Expression]]:
    """Round by round all intervals of every variable are cut in half: 1, then 2 more, then 4 more thresholds."""
    columns = [one_variable(variable) for variable in variables]
    ends = [2**level - 1 for level in range(max(map(len, columns)).bit_length() + 1)]
    return [[one for column in columns for one in column[first:last]] for first, last in pairwise(ends)]


def distinct(stages: Sequence[Sequence[Expression]]) -> list[list[Expression]]:
    """The same without predicates that an earlier stage has, and without stages that add nothing."""
    seen: list[Expression] = []
    kept: list[list[Expression]] = []
    for stage in stages:
        new = [predicate for predicate in stage if predicate not in seen]
        seen += new
        if new:
            kept.append(new)
    return kept
