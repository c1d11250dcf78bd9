"""The initial set, sampled: uniform over boxes and sets, corners first if asked, constraints by rejection.

An equation `x == ...` among the constraints has no volume and would reject everything. Where it names a variable that
starts in an interval, the equation is solved for it: the variable is *tied* to the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.errors import InputError
from vernal.interpret import concrete, exact
from vernal.interpret.discrete.initial_states import start_boxes, start_sample
from vernal.interpret.discrete.solutions import ValueBoxes, values_at
from vernal.interpret.numbers.rounding import Floats
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.graph import variables
from vernal.model.initial import OneOf, Span, Start, Valuation
from vernal.model.numbers import nearest
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

BATCHES = 200  # of samples, before the initial set is called too thin to sample
SMALLEST_BATCH = 1000


class NoInitialState(InputError):
    """Sampling found no state that satisfies the constraints on the initial states."""


def typed(var: Var, values: Floats) -> NDArray[np.generic]:
    """The values in the form that `concrete` takes: truth values as booleans."""
    return values == 1 if var.sort == BOOL else values


# Constraints ----------------------------------------------------------------------------------------------------------


def ties(system: Model) -> tuple[dict[Var, Expr], list[Expr]]:
    """The variables that equations determine, in the order to compute them, and the constraints that remain."""
    tied: dict[Var, Expr] = {}
    rest: list[Expr] = []
    for constraint in system.init.where:
        for part in constraint.args if isinstance(constraint, e.And) else (constraint,):
            solved = _solve(system, part, tied)
            if solved is None:
                rest.append(part)
            elif solved[0] in variables(tied.values()):  # others are computed from it, so it comes first
                tied = {solved[0]: solved[1], **tied}
            else:
                tied[solved[0]] = solved[1]
    return tied, rest


def _solve(system: Model, constraint: Expr, tied: Mapping[Var, Expr]) -> tuple[Var, Expr] | None:
    """`x == value` solved for a variable that is still free, without a circle through earlier equations."""
    if not isinstance(constraint, e.Compare) or constraint.op != "==":
        return None
    for var, value in (constraint.args, constraint.args[::-1]):
        if not isinstance(var, Var) or var in tied or not _is_interval(system, var):
            continue
        mentioned = variables([value])
        circle = var in variables(tied.values()) and any(other in tied for other in mentioned)
        if var not in mentioned and not circle:
            return var, value
    return None


def _is_interval(system: Model, var: Var) -> bool:
    return var.sort == REAL and isinstance(system.init.starts.get(var.name), Span)


def tie(system: Model, points: dict[Var, Floats]) -> dict[Var, Floats]:
    """The points with tied variables computed from the others."""
    made = dict(points)
    for var, value in ties(system)[0].items():
        (found,) = concrete.evaluate([value], {v: typed(v, made[v]) for v in system.step.state})
        made[var] = np.broadcast_to(found, made[var].shape).astype(float)
    return made


def tied_exactly(system: Model, values: Valuation) -> Valuation:
    """The values with tied variables computed from the others, where that yields a rational."""
    made = dict(values)
    for var, value in ties(system)[0].items():
        (found,) = exact.evaluate([value], {v: made[v][0] for v in system.step.state})
        if isinstance(found, Fraction):
            made[var] = (found,)
    return made


def satisfied(system: Model, points: Mapping[Var, Floats]) -> NDArray[np.bool_]:
    """Which points satisfy the constraints; tied variables only have to stay in their intervals."""
    tied, rest = ties(system)
    good = np.ones(_count(points), bool)
    for truth in concrete.evaluate(rest, {var: typed(var, points[var]) for var in system.step.state}):
        good &= truth
    for var in tied:
        start = system.init.starts[var.name]
        assert isinstance(start, Span)
        good &= (points[var] >= nearest(start.lower)) & (points[var] <= nearest(start.upper))
    return good


# Points ---------------------------------------------------------------------------------------------------------------


def initial_points(
    system: Model, runs: int, rng: np.random.Generator, *, corners: bool = False, tick: Tick = idle
) -> dict[Var, Floats]:
    """Initial states and memories, uniform over boxes and sets.

    Constraints on discrete variables are solved, others are met by rejection. Whoever wants `corners` looks for extreme
    states, not for a fair sample: where solving takes long, some parts of the initial set will do.
    """
    if not system.step.inputs:
        return {}
    solved = start_sample(system.initial, runs, rng, tick) if corners else start_boxes(system.initial, tick)
    if solved is not None:
        return _solved_points(system, solved, runs, rng)
    kept: list[dict[Var, Floats]] = []
    count = 0
    if corners:
        kept.append(_where(system, _corners(system, min(runs, 256))))
        count = _count(kept[0])
    for tried in range(BATCHES):
        if count >= runs:
            break
        size = runs - count if not system.init.where else max(runs, SMALLEST_BATCH)
        kept.append(_where(system, _uniform(system, size, rng)))
        count += _count(kept[-1])
        if count and tried > BATCHES // 4:
            break
    if not count:
        raise NoInitialState(
            f"init.where: none of {BATCHES * max(runs, SMALLEST_BATCH):,} random points satisfies the constraints; "
            "they may contradict each other, or be too thin to hit by chance (an equation): give such variables values"
        )
    return {var: _fill(np.concatenate([part[var] for part in kept]), runs) for var in system.step.inputs}


def _solved_points(system: Model, boxes: ValueBoxes, runs: int, rng: np.random.Generator) -> dict[Var, Floats]:
    """Points of boxes that the constraints leave: every state is as likely as any other."""
    if not len(boxes):
        raise NoInitialState("init.where: the constraints contradict each other, there is no initial state")
    sizes = np.array([float(size) for size in boxes.sizes])
    which = rng.choice(len(boxes), runs, p=sizes / sizes.sum())
    points = _uniform(system, runs, rng)
    for column, (var, domain) in enumerate(zip(boxes.variables, boxes.domains, strict=True)):
        places = rng.integers(boxes.first[which, column], boxes.last[which, column], endpoint=True)
        assert isinstance(var, Var)
        points[var] = values_at(domain, places).astype(float)
    return points


def _count(points: Mapping[Var, Floats]) -> int:
    return min((len(array) for array in points.values()), default=1)


def _fill(array: Floats, runs: int) -> Floats:
    """Exactly `runs` rows; where constraints let too few through, they are used again."""
    return np.resize(array, (runs, *array.shape[1:])) if len(array) < runs else array[:runs]


def _where(system: Model, points: dict[Var, Floats]) -> dict[Var, Floats]:
    """The points that satisfy the constraints, after tied variables are computed by their equations."""
    if not system.init.where:
        return points
    moved = tie(system, points)
    good = satisfied(system, moved)
    return {var: array[good] for var, array in moved.items()}


def _uniform(system: Model, runs: int, rng: np.random.Generator) -> dict[Var, Floats]:
    columns = [_sample(start, var.sort == REAL, runs, rng) for var, _, start in system.initial.components()]
    return _points(system, columns, runs)


def _sample(start: Start, real: bool, runs: int, rng: np.random.Generator) -> Floats:
    if isinstance(start, OneOf):
        return rng.choice(np.array([nearest(value) for value in start.values]), runs)
    if not real:
        lowest, highest = start.integers.start, start.integers.stop - 1
        if max(-lowest, highest) > 2**62:  # beyond the generator, and beyond telling neighbours apart
            return np.floor(place(start, rng.random(runs)))
        return rng.integers(lowest, highest, runs, endpoint=True).astype(float)
    return place(start, rng.random(runs))


def place(start: Span, position: Floats) -> Floats:
    """Positions from 0 to 1 as values of the span; both ends are met."""
    lower, upper = nearest(start.lower), nearest(start.upper)
    with np.errstate(all="ignore"):  # ends beyond all floats leave no positions in between
        return np.where(position == 1, upper, np.minimum(lower + position * (upper - lower), upper))


def _corners(system: Model, most: int) -> dict[Var, Floats]:
    """The centre of the initial box, then its corners, combined with the values of sets."""
    options = [_extremes(start, var.sort == REAL) for var, _, start in system.initial.components()]
    rows = [tuple(option[-1] for option in options), *itertools.islice(itertools.product(*options), most - 1)]
    columns = [np.array([nearest(value) for value in column]) for column in zip(*rows, strict=True)]
    return _points(system, columns, len(rows))


def _extremes(start: Start, real: bool) -> list[Fraction]:
    """Both ends and, last, the middle; of a set, its values."""
    if isinstance(start, OneOf):
        return list(start.values)
    if start.is_point:
        return [start.lower]
    if not real:
        lowest, highest = start.integers.start, start.integers.stop - 1
        return [Fraction(lowest), Fraction(highest), Fraction((lowest + highest) // 2)]
    return [start.lower, start.upper, (start.lower + start.upper) / 2]


def _points(system: Model, columns: Sequence[Floats], runs: int) -> dict[Var, Floats]:
    """Columns, one for each degree of freedom, as arrays by variable."""
    rest = iter(columns)
    return {
        var: np.stack(list(itertools.islice(rest, var.size)), axis=-1).reshape(runs, *var.shape)
        for var in system.step.inputs
    }
