"""The initial states that constraints leave of discrete variables, without enumerating the product of their ranges."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vernal.interpret.discrete.solutions import MAX_BOXES, TooManyBoxes, ValueBoxes, ValueSearch
from vernal.model.expr import Expr
from vernal.model.graph import variables
from vernal.model.initial import InitialSet, OneOf, Start, start_among
from vernal.model.sorts import REAL
from vernal.model.tick import Tick, idle

LARGEST_INTEGER = 2**53  # beyond it floats skip integers
SAMPLING_EFFORT = 1 << 17  # boxes that are looked at before initial states are drawn from some of them


def start_boxes(
    initial: InitialSet, tick: Tick = idle, most: int = MAX_BOXES, effort: int | None = None
) -> ValueBoxes | None:
    """The boxes that the constraints leave; None where there are none to solve, or they are not of this kind.

    They are solved for discrete variables only, and not where there would be more than `most` boxes, or more than
    `effort` would have to be looked at.
    """
    if not is_solvable(initial):
        return None
    mentioned = tuple(variables(initial.where))
    starts = tuple(initial.starts[var][0] for var in mentioned)
    return _solved(initial.where, mentioned, starts, most, effort, Ticking(tick))


def start_stream(initial: InitialSet, size: int, tick: Tick = idle) -> Iterator[ValueBoxes]:
    """All initial states that solvable constraints leave of discrete variables, in portions of at most so many."""
    for boxes in _search(initial, tick).stream():
        yield from boxes.portions(size)


def start_sample(initial: InitialSet, count: int, rng: np.random.Generator, tick: Tick = idle) -> ValueBoxes | None:
    """Boxes to draw initial states from: all of them where these are few, else some; None as of `start_boxes`."""
    boxes = start_boxes(initial, tick, effort=SAMPLING_EFFORT)
    if boxes is not None or not is_solvable(initial):
        return boxes
    return _search(initial, tick).sample(count, rng)


def _search(initial: InitialSet, tick: Tick) -> ValueSearch:
    """Over all variables that have one discrete value: those that are mentioned are cut first."""
    mentioned = variables(initial.where)
    others = (var for var in initial.starts if var.sort != REAL and not var.shape)
    searched = tuple(dict.fromkeys((*mentioned, *others)))
    domains = [_domain(initial.starts[var][0], var) for var in searched]
    return ValueSearch(initial.where, searched, domains, tick, most=sys.maxsize)


def is_solvable(initial: InitialSet) -> bool:
    """Whether there are constraints, all of them on discrete variables of moderate size."""
    mentioned = variables(initial.where)
    if not initial.where or any(var.sort == REAL or var.shape for var in mentioned):
        return False
    return all(max(map(abs, initial.starts[var][0].ends)) < LARGEST_INTEGER for var in mentioned)


def narrowed(where: Sequence[Expr], starts: Mapping[Expr, Start], tick: Tick = idle) -> dict[Expr, Start]:
    """Starts without values that the constraints exclude whatever the others are; as they were where none is left."""
    mentioned = tuple(var for var in starts if var in set(variables(where)))
    search = ValueSearch(tuple(where), mentioned, [_domain(starts[var], var) for var in mentioned], tick)
    search.narrow()
    domains = zip(mentioned, search.domains, strict=True)
    left = {var: start_among(domain, var.sort) for var, domain in domains if len(domain)}
    return {**starts, **left} if len(left) == len(mentioned) else dict(starts)


def has_start(initial: InitialSet, tick: Tick = idle) -> bool:
    """Whether solvable constraints leave an initial state."""
    mentioned = variables(initial.where)
    return has_state(initial.where, {var: initial.starts[var][0] for var in mentioned}, tick)


def has_state(where: Sequence[Expr], starts: Mapping[Expr, Start], tick: Tick = idle) -> bool:
    """Whether conditions on discrete variables are satisfied by some of their values."""
    mentioned = tuple(variables(where))
    domains = [_domain(starts[var], var) for var in mentioned]
    try:
        return len(ValueSearch(tuple(where), mentioned, domains, tick, most=0).run()) > 0
    except TooManyBoxes:
        return True


@dataclass(frozen=True)
class Ticking:
    """A tick that does not tell questions apart: the same boxes are found whoever waits for them."""

    tick: Tick

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ticking)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=16)
def _solved(
    where: tuple[Expr, ...],
    mentioned: tuple[Expr, ...],
    starts: tuple[Start, ...],
    most: int,
    effort: int | None,
    ticking: Ticking,
) -> ValueBoxes | None:
    domains = [_domain(start, var) for var, start in zip(mentioned, starts, strict=True)]
    try:
        return ValueSearch(where, mentioned, domains, ticking.tick, most, effort).run()
    except TooManyBoxes:
        return None


def _domain(start: Start, var: Expr) -> Sequence[int]:
    if isinstance(start, OneOf):
        return tuple(sorted({int(value) for value in start.values if var.sort.has(value)}))
    return start.integers
