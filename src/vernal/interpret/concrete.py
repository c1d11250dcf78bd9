"""What an expression is worth in float64, for thousands of points at once.

Every array has a leading batch dimension: a scalar node is `(batch,)`, a vector node `(batch, n)`. Numbers and enum
indices are float64, truth values bool. An operation outside its domain gives nan, silently: the branch it stands in may
not be the one taken. Draws are inputs: `Choose` takes option indices (see `existing`), `Between` positions from 0 (low)
to 1 (high), and `Argmax` tie breakers in [0, 1) that pick among exactly equal maxima (without them, the first).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from vernal.errors import TypeClash
from vernal.interpret import program
from vernal.interpret.layers import sparse_weights
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.program import ArrayMeaning, Program
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.network import Network
from vernal.model.numbers import nearest
from vernal.model.sorts import BOOL

__all__ = ["MEANINGS", "Array", "Program", "compile", "evaluate", "evaluate_network"]

Node = TypeVar("Node", bound=Expr)

MEANINGS: dict[type[Expr], ArrayMeaning] = {}


def evaluate(roots: Sequence[Expr], inputs: Mapping[Expr, Array]) -> list[Array]:
    """The roots' values at every point of the batch; `compile` once where the same roots are asked again."""
    batch = max((len(array) for array in inputs.values()), default=1)
    return compile(roots)(inputs, batch)


def evaluate_network(network: Network, given: Any) -> Array:
    """What a network gives for numbers: for one observation, or for every row of an array."""
    points = np.asarray(given.detach() if hasattr(given, "detach") else given, dtype=np.float64)
    if points.ndim not in (1, 2) or points.shape[-1] != network.input_size:
        shape = " by ".join(map(str, points.shape))
        raise TypeClash(f"network {network.name!r} takes {network.input_size} numbers, or rows of them, not {shape}")
    (output,) = evaluate([network.output], {network.inputs: np.atleast_2d(points)})
    return output if points.ndim == 2 else output[0]


def compile(roots: Sequence[Expr]) -> Program:
    """The roots as a straight line of instructions that forget a value after its last use."""
    return program.compile(roots, MEANINGS)


def meaning(kind: type[Node]) -> Callable[[Callable[[Node, Sequence[Array], Array | None], Array]], ArrayMeaning]:
    """Register what a kind of node means."""

    def register(function: Callable[[Node, Sequence[Array], Array | None], Array]) -> ArrayMeaning:
        MEANINGS[kind] = function
        return function

    return register


def elementwise(kind: type[Node]) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register a function of the node and its arguments, in which scalars go with every component of a vector."""

    def register(function: Callable[..., Array]) -> Callable[..., Array]:
        def apply(node: Expr, args: Sequence[Array], given: Array | None) -> Array:
            return function(node, *_spread(node, args))

        MEANINGS[kind] = apply
        return function

    return register


def _spread(node: Expr, args: Sequence[Array]) -> list[Array]:
    """Scalars as columns, where the node is a vector."""
    return [a[:, None] if node.shape and a.ndim == 1 else a for a in args]


# Leaves ---------------------------------------------------------------------------------------------------------------


@meaning(e.Const)
def _const(node: e.Const, args: Sequence[Array], given: Array | None) -> Array:
    numbers = np.array([nearest(value) for value in node.values]).reshape(1, *node.shape)
    return numbers.astype(bool) if node.sort == BOOL else numbers


@meaning(e.Pi)
def _pi(node: e.Pi, args: Sequence[Array], given: Array | None) -> Array:
    return np.array([np.pi])


@meaning(e.Var)
def _var(node: e.Var, args: Sequence[Array], given: Array | None) -> Array:
    return np.asarray(given, dtype=bool if node.sort == BOOL else np.float64)


# Numbers --------------------------------------------------------------------------------------------------------------

elementwise(e.Add)(lambda node, *xs: reduce(np.add, xs))
elementwise(e.Neg)(lambda node, x: -x)
elementwise(e.Mul)(lambda node, x, y: x * y)
elementwise(e.Div)(lambda node, x, y: x / np.where(y == 0, np.nan, y))
elementwise(e.Relu)(lambda node, x: np.maximum(x, 0))
elementwise(e.Abs)(lambda node, x: np.abs(x))
elementwise(e.Max)(lambda node, *xs: reduce(np.maximum, xs))
elementwise(e.Min)(lambda node, *xs: reduce(np.minimum, xs))
elementwise(e.Sign)(lambda node, x: np.sign(x))
elementwise(e.Floor)(lambda node, x: np.floor(x))


@elementwise(e.Pow)
def _pow(node: e.Pow, x: Array) -> Array:
    if node.exponent < 0:
        x = np.where(x == 0, np.nan, x)
    return np.power(x, float(node.exponent))


@elementwise(e.LeakyRelu)
def _leaky_relu(node: e.LeakyRelu, x: Array) -> Array:
    slopes = np.array([nearest(slope) for slope in node.slopes])
    return np.where(x >= 0, x, slopes * x)


@elementwise(e.Nonlinear)
def _nonlinear(node: e.Nonlinear, x: Array) -> Array:
    entry = CALCULUS[node.function]
    if entry.domain is not None and not entry.domain.closed:  # not infinite at the edge, but undefined
        x = np.where(x == entry.domain.edge, np.nan, x)
    return np.asarray(entry.floats(x))


@elementwise(e.Atan2)
def _atan2(node: e.Atan2, y: Array, x: Array) -> Array:
    """nan at the origin; the sum makes a 0.0 of -0.0, whose angle left of the origin would be -pi."""
    return np.where((y == 0) & (x == 0), np.nan, np.arctan2(y + 0.0, x))


# Vectors --------------------------------------------------------------------------------------------------------------


# Products of at most this many multiplications stay on one thread of the BLAS. A layer of a small network is over in
# microseconds; sharing it among threads takes milliseconds where the cores are busy.
ONE_THREAD = 250_000


@meaning(e.Affine)
def _affine(node: e.Affine, args: Sequence[Array], given: Array | None) -> Array:
    x, weight, sparse = args[0], node.weight.array.T, sparse_weights(node)
    if sparse is not None and np.isfinite(x).all():  # what is undefined leaves every sum undefined, as elsewhere
        return sparse.after(x) + node.bias.array
    rows = ONE_THREAD // max(1, weight.size)
    if len(x) <= rows or rows < 16:
        result = x @ weight
        result += node.bias.array
        return result
    result = np.empty((len(x), weight.shape[1]))
    for start in range(0, len(x), rows):
        np.matmul(x[start : start + rows], weight, out=result[start : start + rows])
    result += node.bias.array
    return result


@meaning(e.Gather)
def _gather(node: e.Gather, args: Sequence[Array], given: Array | None) -> Array:
    return args[0][:, list(node.indices)] if node.shape else args[0][:, node.indices[0]]


@meaning(e.Concat)
def _concat(node: e.Concat, args: Sequence[Array], given: Array | None) -> Array:
    batch = max(len(a) for a in args)
    return np.concatenate([np.broadcast_to(a, (batch, a.shape[1])) for a in _spread(node, args)], axis=1)


# Truth ----------------------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}

elementwise(e.Not)(lambda node, p: ~p)
elementwise(e.And)(lambda node, *ps: reduce(np.logical_and, ps))
elementwise(e.Or)(lambda node, *ps: reduce(np.logical_or, ps))
elementwise(e.Compare)(lambda node, x, y: COMPARISONS[node.op](x, y))


# Control --------------------------------------------------------------------------------------------------------------


@elementwise(e.If)
def _if(node: e.If, condition: Array, then: Array, otherwise: Array) -> Array:
    return np.where(condition, then, otherwise)


@elementwise(e.Switch)
def _switch(node: e.Switch, subject: Array, *branches: Array) -> Array:
    """The last branch takes what is left, be it the default or the one case still open."""
    result = branches[-1]
    for case, branch in list(zip(node.cases, branches, strict=True))[-2::-1]:
        result = np.where(subject == nearest(case or Fraction(0)), branch, result)
    return result


@meaning(e.Argmax)
def _argmax(node: e.Argmax, args: Sequence[Array], breaker: Array | None) -> Array:
    scores = args[0]
    best = np.max(scores, axis=1, keepdims=True)
    ties = scores == best
    wanted = np.zeros(1) if breaker is None else np.floor(breaker * ties.sum(axis=1))
    winner = np.argmax(ties & (np.cumsum(ties, axis=1) == wanted[:, None] + 1), axis=1)
    return np.where(np.isnan(best[:, 0]), np.nan, winner)


# Draws ----------------------------------------------------------------------------------------------------------------


@meaning(e.Choose)
def _choose(node: e.Choose, args: Sequence[Array], index: Array | None) -> Array:
    assert index is not None
    options = _spread(node, args[: len(node.options)])
    if node.guarded:
        index = existing(args[len(node.options) :], index)
    which = index[:, None] if node.shape else index
    result = options[0]
    for number, option in enumerate(options[1:], start=1):
        result = np.where(which == number, option, result)
    return result


def existing(guards: Sequence[Array], index: Array) -> Array:
    """The options taken by points that ask for an option which may not exist.

    In the place of one that does not exist stands the first that does; a fraction in the index says how far behind, so
    that with `n * uniform` every option that exists is as likely as any other.
    """
    index, *truths = np.broadcast_arrays(index, *guards)
    wanted, exists = np.floor(index), np.stack(truths, axis=-1)
    rank = np.cumsum(exists, axis=-1)
    place = np.floor((index - wanted) * rank[:, -1])
    other = np.argmax(exists & (rank == place[:, None] + 1), axis=-1)
    there = np.take_along_axis(exists, wanted.astype(int)[:, None], axis=-1)[:, 0]
    return np.where(there | ~exists.any(axis=-1), wanted, other)


@meaning(e.Between)
def _between(node: e.Between, args: Sequence[Array], position: Array | None) -> Array:
    """Both ends are met exactly, whatever the rounding in between; an inverted interval has no value."""
    assert position is not None
    low, high = _spread(node, args)
    inside = np.where(position == 1, high, np.minimum(low + position * (high - low), high))
    return np.where(low <= high, inside, np.nan)
