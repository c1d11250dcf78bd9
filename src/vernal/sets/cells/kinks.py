"""Minima, maxima, absolute values and ReLUs written as comparisons, so that images follow each side by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order, rewrite

MAX_KINKS = 8  # of a step: each may double the cases of a set
KINKED = e.Min | e.Max | e.Abs | e.Relu
NEAR_SHARE = 0.5  # of the width of what runs meet: a side that is no further away may be met in a set around them

Kink = tuple[Expr, int]  # a node, and which of its components
RunValues = Callable[[Sequence[Expr]], Sequence[Floats]]  # of scalars in simulated runs, one array for each


def taken_apart(roots: Sequence[Expr], values: RunValues | None = None) -> list[Expr] | None:
    """The roots with `if` in the place of kinks; None where there are none, or too many to choose from without runs.

    Of many, those whose sides runs meet, or come near to, are taken apart; the others stay what they are.
    """
    nodes = order(roots)
    kinks: list[Kink] = [(node, i) for node in nodes if isinstance(node, KINKED) for i in range(node.size)]
    if len(kinks) > MAX_KINKS:
        kinks = [] if values is None else _met(kinks, values)
    if not kinks:
        return None
    waiting, chosen = iter(nodes), set(kinks)  # rewriting shows every node once, in this order
    return rewrite(roots, lambda rebuilt: _opened(rebuilt, next(waiting), chosen))


def _met(kinks: Sequence[Kink], values: RunValues) -> list[Kink]:
    """The kinks of which runs meet both sides by the largest share, or come nearest to that."""
    gaps = [_gaps(node, _parts(node, i)) for node, i in kinks]
    met = iter(values([gap for own in gaps for gap in own]))
    shares = [max(_share(next(met)) for _ in own) for own in gaps]
    near = [place for place, share in enumerate(shares) if share > -NEAR_SHARE]
    return [kinks[place] for place in sorted(near, key=lambda place: -shares[place])[:MAX_KINKS]]


def _share(met: Floats) -> float:
    """How much of what runs meet is on the smaller side of 0, of its width; negative where they only come near."""
    met = met[np.isfinite(met)]
    low, high = (float(met.min()), float(met.max())) if met.size else (0.0, 0.0)
    return min(high, -low) / (high - low) if high > low else -np.inf


def _parts(node: Expr, component: int) -> list[Expr]:
    """The arguments of one component."""
    return [build.component(arg, component) if arg.shape else arg for arg in node.args]


def _gaps(node: Expr, args: Sequence[Expr]) -> list[Expr]:
    """What changes its sign where a component has a kink."""
    return [build.sub(args[0], other) for other in args[1:]] if isinstance(node, e.Min | e.Max) else [args[0]]


def _opened(node: Expr, original: Expr, chosen: set[Kink]) -> Expr | None:
    """A node with `if` in the place of those of its kinks that were chosen."""
    sides = [_sides(node, _parts(node, i)) if (original, i) in chosen else None for i in range(original.size)]
    if all(side is None for side in sides):
        return None
    if not node.shape:
        return sides[0]
    return build.concat(*(build.component(node, i) if side is None else side for i, side in enumerate(sides)))


def _sides(node: Expr, args: Sequence[Expr]) -> Expr:
    """One component of a node, written as comparisons of its arguments."""
    match node:
        case e.Min():
            return reduce(lambda a, b: build.if_(build.compare("<=", a, b), a, b), args)
        case e.Max():
            return reduce(lambda a, b: build.if_(build.compare("<=", a, b), b, a), args)
        case e.Abs():
            return build.if_(build.compare("<=", 0, args[0]), args[0], build.neg(args[0]))
    assert isinstance(node, e.Relu)
    return build.if_(build.compare("<=", 0, args[0]), args[0], 0)
