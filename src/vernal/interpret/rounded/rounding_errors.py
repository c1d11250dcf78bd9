"""How far what a runtime computes is from the network's real-number meaning, at most, over a box of inputs.

Forward error analysis (N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 3): every node has a
range of its exact value (interval arithmetic) and a bound e on |computed - exact|, componentwise. Inputs are rounded
once. A sum of n products in any order, fused or not, is off by at most gamma(n + 3) (|W| |x| + |b|) besides what its
operands bring along; what is flushed to zero is counted with the smallest normal number. An activation is as close to
the real function as `ACTIVATION_UNITS` says, which is trusted, and measured in a test. Where a number may overflow, the
error is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from vernal.errors import UnsupportedOperator
from vernal.interpret import interval
from vernal.interpret.numbers.rounding import Backend, Floats
from vernal.interpret.rounded.float_formats import Deployment
from vernal.interpret.value_sets import Range, as_range
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order
from vernal.model.network import Network

FloatEnds = tuple[Floats, Floats]  # lower and upper, component by component
ACTIVATION_UNITS = {Function.TANH: 8.0, Function.SIGMOID: 8.0}  # the error of a computed value, in roundings of 1
SLOPES = {Function.TANH: 1.0, Function.SIGMOID: 0.25}  # the largest
ABOVE = 1 + 1e-9  # more than the errors are rounded here themselves: gamma(n) of float64 for n below 2^20 and more
SCORE_ROUNDINGS = 6  # of the largest score, on its way through a Softmax or LogSoftmax that only the order is read of
SCORE_UNITS = 32  # the error of exp, of the sum and of the quotient in such a layer, as one of the score


@dataclass(frozen=True)
class Computed:
    """What a node computes: the largest exact magnitude, and how far off it may be."""

    most: Floats
    error: Floats
    upper: Floats  # of the exact value

    @property
    def reach(self) -> Floats:
        """The largest magnitude that may be computed."""
        return self.most + self.error


def rounding_errors(
    network: Network, inputs: FloatEnds, memory: Mapping[Expr, FloatEnds], how: Deployment
) -> list[Floats]:
    """For the output, and each next memory, how far each component that is computed may be from the exact one."""
    nodes = order(network.roots)
    given = {network.inputs: inputs, **memory}
    ranges = {node: Range(low[None], high[None]) for node, (low, high) in given.items()}
    backend = Backend(None)
    bounds = [as_range(backend, value) for value in interval.evaluate(nodes, ranges)]
    done: dict[Expr, Computed] = {}
    with np.errstate(all="ignore"):
        for node, bound in zip(nodes, bounds, strict=True):
            low, high = (np.atleast_1d(end[0]) for end in (bound.lower, bound.upper))
            most = np.maximum(abs(low), abs(high))
            error = _rounded(node, [done[arg] for arg in node.args], most, how)
            error = np.broadcast_to(error, (node.size,)) * ABOVE
            fits = (most + error < how.numbers.largest / 2) & ~np.isnan(error)
            done[node] = Computed(most, np.where(fits, error, np.inf), high)
        found = [done[root].error for root in network.roots]
        if network.dropped is not None:
            found[0] = found[0] + _of_scores(done[network.output], how) * ABOVE
    return found


def _of_scores(scores: Computed, how: Deployment) -> Floats:
    """What a last Softmax or LogSoftmax adds: it keeps the order but for scores that are as close as this."""
    largest, units = float(scores.reach.max()), SCORE_UNITS + 4 * log(scores.most.size)
    added = how.numbers.unit * (SCORE_ROUNDINGS * largest + units)
    return np.full(scores.most.size, added if np.isfinite(added) else np.inf)


def _rounded(node: Expr, args: Sequence[Computed], most: Floats, how: Deployment) -> Floats:
    """The error of what a node computes from arguments that may be off themselves."""
    numbers = how.numbers
    match node:
        case e.Var():
            return most * numbers.unit + numbers.least  # rounded once
        case e.Const():
            kept = numbers.holds(np.array([float(value) for value in node.values]))
            exact = all(float(value) == value for value in node.values)
            return most * 0 if kept and exact else most * numbers.unit * 2 + numbers.least
        case e.Affine():
            return _affine(node, args[0], how)
        case e.Nonlinear() if node.function in ACTIVATION_UNITS:
            carried = np.minimum(SLOPES[node.function] * args[0].error, 2.0)
            return carried + ACTIVATION_UNITS[node.function] * numbers.unit + numbers.least
    handler = HANDLERS.get(type(node))
    if handler is None:
        what = node.function.value if isinstance(node, e.Nonlinear) else type(node).__name__
        raise UnsupportedOperator(f"how {what} is rounded where a network runs is not known")
    return handler(node, args, how)


def _affine(node: e.Affine, x: Computed, how: Deployment) -> Floats:
    numbers, sums = how.numbers, how.sums
    weight, bias = node.weight.array, node.bias.array
    terms = np.count_nonzero(weight, axis=1)
    size = abs(weight) @ x.reach + abs(bias)
    losses = np.array([sums.losses(int(count) + 3) for count in terms])
    lost = losses * size + sums.least * (2 * terms + 2) * (1 + losses)
    flushed = numbers.least * (abs(weight).sum(1) + (weight != 0) @ x.reach + 1) * (1 + losses)
    stored = 0.0 if numbers.holds(weight) and numbers.holds(bias) else numbers.unit * 1.01
    if numbers is not sums:  # the sum is rounded when it is stored, with and without the bias
        lost = lost + numbers.losses(3) * size * (1 + losses) + 3 * numbers.least
    error = abs(weight) @ x.error + (lost + flushed) + stored * size * (1 + losses)
    return np.where(2 * size < sums.largest, error, np.inf)


def _rectifier(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    """max(x, 0): nothing is computed but 0 where x is below 0 by more than its error."""
    (x,) = args
    return np.minimum(x.error, np.maximum(x.upper + x.error, 0.0)) + how.numbers.least


def _leaky(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    assert isinstance(node, e.LeakyRelu)
    steep = np.array([abs(float(slope)) for slope in node.slopes]) * ABOVE
    (x,) = args
    lost = steep * x.reach * how.numbers.losses(3) + how.numbers.least * (2 + steep + x.reach)
    return np.maximum(steep, 1.0) * x.error + lost


def _kept(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    return args[0].error + how.numbers.least


def _extremum(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    largest = args[0].error
    for x in args[1:]:
        largest = np.maximum(largest, x.error)
    return largest + how.numbers.least


def _sum(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    numbers, count = how.numbers, len(args)
    error, size = args[0].error, args[0].reach
    for x in args[1:]:
        error, size = error + x.error, size + x.reach
    return np.where(
        2 * size < numbers.largest, error + numbers.losses(count) * size + 2 * count * numbers.least, np.inf
    )


def _product(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    x, y = args
    carried = x.most * y.error + y.most * x.error + x.error * y.error
    lost = how.numbers.losses(2) * x.reach * y.reach + how.numbers.least * (1 + x.reach + y.reach)
    return carried + lost


def _quotient(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    """By a constant; a runtime may multiply by its reciprocal."""
    if not isinstance(node.args[1], e.Const):
        raise UnsupportedOperator("how a division by data is rounded where a network runs is not known")
    least = np.array([abs(float(value)) for value in node.args[1].values]) / ABOVE
    x, numbers = args[0], how.numbers
    flushed = numbers.least * (1 + 1 / least + x.reach)
    small = (least < numbers.least * 4) | (1 / least < numbers.least * 4)  # its reciprocal may be flushed, or overflow
    return np.where(small, np.inf, x.error / least + numbers.losses(4) * x.reach / least + flushed)


def _gathered(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    assert isinstance(node, e.Gather)
    return args[0].error[list(node.indices)]


def _joined(node: Expr, args: Sequence[Computed], how: Deployment) -> Floats:
    return np.concatenate([x.error for x in args])


NodeRounding = Callable[[Expr, Sequence[Computed], Deployment], Floats]
HANDLERS: dict[type[Expr], NodeRounding] = {
    e.Relu: _rectifier,
    e.LeakyRelu: _leaky,
    e.Abs: _kept,
    e.Neg: _kept,
    e.Max: _extremum,
    e.Min: _extremum,
    e.Add: _sum,
    e.Mul: _product,
    e.Div: _quotient,
    e.Gather: _gathered,
    e.Concat: _joined,
}
