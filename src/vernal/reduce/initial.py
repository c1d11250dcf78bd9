"""The initial set as boxes: one for each combination of discrete starts, a hull where there are too many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.model.expr import Expr
from vernal.model.sorts import Kind
from vernal.model.system import OneOf, Span, Start, System
from vernal.reduce.base import Direction

MAX_BOXES = 256

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Box:
    """A set of starts: ends of every component of every state and memory variable, exactly.

    For an enum or truth variable the ends are equal, or span all its possible values.
    """

    ends: dict[Expr, tuple[Ends, ...]]

    @property
    def is_point(self) -> bool:
        return all(low == high for entry in self.ends.values() for low, high in entry)

    def halves(self, var: Expr, component: int) -> tuple[Box, Box]:
        """The box cut in the middle of one component."""
        entry = self.ends[var]
        low, high = entry[component]
        middle = (low + high) / 2

        def cut(ends: Ends) -> Box:
            return Box({**self.ends, var: (*entry[:component], ends, *entry[component + 1 :])})

        return cut((low, middle)), cut((middle, high))

    def middle(self) -> dict[Expr, tuple[Fraction, ...]]:
        """The centre; for discrete variables and integers the lower end."""
        return {
            var: tuple(low if var.sort.kind is not Kind.REAL else (low + high) / 2 for low, high in entry)
            for var, entry in self.ends.items()
        }


@dataclass(frozen=True)
class Boxes:
    """Boxes that cover the initial set; EXACT if they are it (constraints by `where` are not in them)."""

    boxes: tuple[Box, ...]
    direction: Direction


def initial_boxes(system: System, limit: int = MAX_BOXES) -> Boxes:
    """Cover the initial set, `where` left aside, by at most `limit` boxes."""
    starts: list[tuple[Expr, tuple[Start, ...]]] = []
    for variable in system.state:
        starts.append((variable.var, (system.init.starts[variable.name],)))
    starts += [(slot.var, slot.starts) for slot in system.slots]
    options = [[_alternatives(start) for start in entry] for _, entry in starts]
    direction = Direction.OVER if system.init.where else Direction.EXACT
    if math.prod(len(one) for entry in options for one in entry) > limit:
        options = [[[_hull(start)] for start in entry] for _, entry in starts]
        direction = Direction.OVER
    shapes = [len(entry) for entry in options]
    flat = itertools.product(*(one for entry in options for one in entry))
    return Boxes(tuple(_box([var for var, _ in starts], shapes, combination) for combination in flat), direction)


def _alternatives(start: Start) -> list[Ends]:
    return [(start.lower, start.upper)] if isinstance(start, Span) else [(value, value) for value in start.values]


def _hull(start: Start) -> Ends:
    match start:
        case Span(lower, upper):
            return lower, upper
        case OneOf(values):
            return min(values), max(values)


def _box(variables: Sequence[Expr], shapes: Sequence[int], combination: Sequence[Ends]) -> Box:
    ends, position = {}, 0
    for var, count in zip(variables, shapes, strict=True):
        ends[var] = tuple(combination[position : position + count])
        position += count
    return Box(ends)
