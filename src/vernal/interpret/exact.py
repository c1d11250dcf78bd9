"""What an expression is worth exactly, at one point: a rational, or a ball where no rational will do.

Evaluation goes on demand: of an `if`, a `match` or a `choose` only the branch taken is looked at, so what is undefined
elsewhere does not matter and a draw in an untaken branch does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq, fmpq_mat

from vernal.interpret.demand import MEANINGS as MEANINGS
from vernal.interpret.demand import Given as Given
from vernal.interpret.demand import (
    Walk,
    WalkValue,
    elementwise,
    enter_scalar,
    existing,
    fold,
    meaning,
    option,
    strict,
    taken,
)
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.integers import integers, times
from vernal.interpret.numbers.number_size import common_denominator
from vernal.interpret.numbers.reals import ExactNumber, ExactScalar, Undefined
from vernal.model import expr as e
from vernal.model.expr import Argmax, Between, Choose, Decision, Expr
from vernal.model.tick import Tick, idle

PRECISION = 128  # bits of a ball's middle, to begin with

ExactValue = Fraction | arb | bool | Undefined | None | tuple[Fraction | arb | bool | Undefined | None, ...]


def evaluate(
    roots: Sequence[Expr],
    inputs: Mapping[Expr, Given],
    decisions: Mapping[Expr, Given] | None = None,
    precision: int = PRECISION,
    tick: Tick = idle,
) -> list[ExactValue]:
    """The roots' values; see `run`."""
    return run(roots, inputs, decisions or {}, precision, tick=tick).values


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The roots' values, the decisions that were really taken on the way, each with its value, and the options."""

    values: list[ExactValue]
    reached: Mapping[Decision, ExactValue]
    options: Mapping[Choose, int]


def run(
    roots: Sequence[Expr],
    inputs: Mapping[Expr, Given],
    decisions: Mapping[Expr, Given],
    precision: int = PRECISION,
    *,
    lenient: bool = False,
    tick: Tick = idle,
) -> Evaluation:
    """Evaluate the roots under decisions: an option's index, a disturbance's value, the index of a maximal score.

    A disturbance outside its interval, an option that does not exist or an index that is not maximal makes the node
    undefined, saying so; a lenient run moves the first to the nearer end and takes the first that exists or is maximal
    for the others. Results are fractions where they are rational, else balls; None is undecided at this precision.
    `tick` is called at every node and may stop the run by raising.
    """
    with ctx.workprec(precision):
        walk = Walk(inputs, decisions, lenient, tick)
        for root in roots:
            walk.visit(root)
        return evaluation(walk, roots)


def evaluation(walk: Walk, roots: Sequence[Expr]) -> Evaluation:
    """What a walk that has visited the roots found."""
    reached = {n: _publish(v) for n, v in walk.values.items() if isinstance(n, Choose | Between | Argmax)}
    options = {node: existing(node, walk) for node in reached if isinstance(node, Choose)}
    return Evaluation([_publish(walk.values[root]) for root in roots], reached, options)


def _publish(value: WalkValue) -> ExactValue:
    if isinstance(value, list):
        return tuple(reals.fraction(item) if isinstance(item, fmpq) else item for item in value)
    return reals.fraction(value) if isinstance(value, fmpq) else value


@meaning(e.Const)
def _const(node: e.Const, walk: Walk) -> WalkValue:
    values = [enter_scalar(value, node.sort) for value in node.values]
    return values if node.shape else values[0]


@meaning(e.Pi)
def _pi(node: e.Pi, walk: Walk) -> WalkValue:
    return arb.pi()


@meaning(e.Var)
def _var(node: e.Var, walk: Walk) -> WalkValue:
    return walk.given(node, walk.inputs)


elementwise(e.Add)(fold(reals.add))
elementwise(e.Mul)(fold(reals.mul))
elementwise(e.Div)(fold(reals.div))
elementwise(e.Max)(fold(reals.maximum))
elementwise(e.Min)(fold(reals.minimum))
elementwise(e.Neg)(strict(lambda node, x: reals.neg(x)))
elementwise(e.Relu)(strict(lambda node, x: reals.relu(x)))
elementwise(e.Abs)(strict(lambda node, x: reals.absolute(x)))
elementwise(e.Sign)(strict(lambda node, x: reals.sign(x)))
elementwise(e.Floor)(strict(lambda node, x: reals.floor(x)))
elementwise(e.Pow)(strict(lambda node, x: reals.power(x, node.exponent)))
elementwise(e.Atan2)(fold(reals.atan2))
elementwise(e.Nonlinear)(strict(lambda node, x: reals.apply(node.function, x)))


@meaning(e.LeakyRelu)
def _leaky_relu(node: e.LeakyRelu, walk: Walk) -> WalkValue:
    value = walk.values[node.args[0]]
    items = value if isinstance(value, list) else [value]
    slopes = node.slopes * len(items) if len(node.slopes) == 1 else node.slopes
    pairs = zip(items, slopes, strict=True)
    result = [reals.leaky_relu(x, slope) if isinstance(x, fmpq | arb) else x for x, slope in pairs]
    return result if isinstance(value, list) else result[0]


# Vectors --------------------------------------------------------------------------------------------------------------


@meaning(e.Gather)
def _gather(node: e.Gather, walk: Walk) -> WalkValue:
    vector = _vector(walk.values[node.args[0]])
    return [vector[index] for index in node.indices] if node.shape else vector[node.indices[0]]


@meaning(e.Concat)
def _concat(node: e.Concat, walk: Walk) -> WalkValue:
    parts = [walk.values[arg] for arg in node.args]
    return [item for part in parts for item in (part if isinstance(part, list) else [part])]


def _vector(value: WalkValue) -> list[ExactScalar]:
    assert isinstance(value, list)
    return value


@meaning(e.Affine)
def _affine(node: e.Affine, walk: Walk) -> WalkValue:
    x = _vector(walk.values[node.args[0]])
    if all(isinstance(item, fmpq) for item in x) and common_denominator(x) is not None:  # type: ignore[arg-type]
        return _rational_affine(node, x, walk.tick)
    for item in x:
        if item is None or isinstance(item, Undefined):
            return [item] * node.size
    balls = [arb(item) for item in x]  # type: ignore[arg-type]
    rows = zip(node.weight.array, node.bias.array.tolist(), strict=True)
    return [_row(row.tolist(), b, balls, walk.tick) for row, b in rows]


def _row(weights: Sequence[float], bias: float, x: Sequence[arb], tick: Tick) -> ExactNumber | None:
    tick()
    return reals.settle(sum((arb(w) * v for w, v in zip(weights, x, strict=True)), arb(bias)))


def _rational_affine(node: e.Affine, x: Sequence[Any], tick: Tick) -> WalkValue:
    """W x + b in integers: weights are dyadic, so both sides have a common denominator."""
    numerators, denominator = fmpq_mat(len(x), 1, x).numer_denom()
    sums, scale = times(node.weight, numerators, tick)
    bias, bias_scale = integers(node.bias)
    below = scale * denominator
    values: list[ExactScalar] = []
    for (p,), b in zip(sums, bias.entries(), strict=True):
        tick()
        values.append(reals.settle(fmpq(p, below) + fmpq(b, bias_scale)))
    return values


# Truth ----------------------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[ExactNumber, ExactNumber], bool | None]] = {
    "<": reals.less,
    "<=": reals.less_equal,
    "==": reals.equal,
    "!=": lambda x, y: _not(reals.equal(x, y)),
}


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


@elementwise(e.Compare)
@strict
def _compare(node: e.Compare, x: Any, y: Any) -> ExactScalar:
    if isinstance(x, bool) and isinstance(y, bool):
        return (x == y) == (node.op == "==")
    return COMPARISONS[node.op](x, y)


elementwise(e.Not)(strict(lambda node, p: not p))


@elementwise(e.And)
def _and(node: e.And, *truths: ExactScalar) -> ExactScalar:
    return _junction(False, truths)


@elementwise(e.Or)
def _or(node: e.Or, *truths: ExactScalar) -> ExactScalar:
    return _junction(True, truths)


def _junction(deciding: bool, truths: Sequence[ExactScalar]) -> ExactScalar:
    """Kleene: one deciding argument settles it, whatever the others are."""
    if any(truth is deciding for truth in truths):
        return deciding
    if any(truth is None for truth in truths):
        return None
    return next((truth for truth in truths if isinstance(truth, Undefined)), not deciding)


# Control and draws ----------------------------------------------------------------------------------------------------


@meaning(e.If)
def _if(node: e.If, walk: Walk) -> WalkValue:
    condition = walk.values[node.args[0]]
    if isinstance(condition, list):
        then, otherwise = (walk.values.get(branch) for branch in node.args[1:])
        return [_pick(truth, then, otherwise, index) for index, truth in enumerate(condition)]
    return _branch_value(node, condition, walk)


def _pick(condition: ExactScalar, then: WalkValue, otherwise: WalkValue, index: int) -> ExactScalar:
    if not isinstance(condition, bool):
        return condition
    chosen = then if condition else otherwise
    return chosen[index] if isinstance(chosen, list) else chosen


@meaning(e.Switch)
def _switch(node: e.Switch, walk: Walk) -> WalkValue:
    return _branch_value(node, walk.values[node.args[0]], walk)


def _branch_value(node: e.If | e.Switch, subject: WalkValue, walk: Walk) -> WalkValue:
    """The taken branch's value, spread to a vector where the node is one."""
    branches = taken(node, subject)
    value = walk.values[branches[0]] if branches else (subject if isinstance(subject, Undefined) else None)
    return _widen(value, node)


def _widen(value: WalkValue, node: Expr) -> WalkValue:
    return [value] * node.size if node.shape and not isinstance(value, list) else value


@meaning(Choose)
def _choose(node: Choose, walk: Walk) -> WalkValue:
    index = option(node, walk)
    if not walk.lenient and node.guarded and walk.values[node.guards[index]] is False:
        return _widen(Undefined(f"{node.occurrence.name}: option {index} does not exist here"), node)
    return _widen(walk.values[node.options[index]], node)


@meaning(Between)
def _between(node: Between, walk: Walk) -> WalkValue:
    value = _widen(walk.given(node, walk.decisions), node)
    low, high = (_widen(walk.values[arg], node) for arg in node.args)
    if isinstance(value, list) and isinstance(low, list) and isinstance(high, list):
        return [_within(node, *item, walk.lenient) for item in zip(low, value, high, strict=True)]
    return _within(node, low, value, high, walk.lenient)


def _within(node: Between, low: Any, value: Any, high: Any, lenient: bool) -> ExactScalar:
    for end in (low, high):
        if end is None or isinstance(end, Undefined):
            return end
    above, below = reals.less_equal(low, value), reals.less_equal(value, high)
    if above and below:
        return value  # type: ignore[no-any-return]
    if reals.less(high, low):
        return Undefined(f"{node.occurrence.name}: an inverted interval has no value")
    if lenient:
        return _nearest_inside(low, high, -1 if below else 1)
    name = node.occurrence.name
    return Undefined(f"{name}: {value} is not in [{low}, {high}]") if above is False or below is False else None


def _nearest_inside(low: ExactNumber, high: ExactNumber, side: int) -> ExactScalar:
    """The end on this side, or the next decimal float inside where the end is no rational."""
    end = low if side < 0 else high
    if isinstance(end, fmpq):
        return end if _lies_within(low, end, high) else None
    middle = float(end.mid())
    for _ in range(4 if math.isfinite(middle) else 0):
        candidate = reals.rational(Fraction(repr(middle)))
        if _lies_within(low, candidate, high):
            return candidate
        middle = math.nextafter(middle, -side * math.inf)
    return None


def _lies_within(low: ExactNumber, value: ExactNumber, high: ExactNumber) -> bool:
    """Whether it does for certain."""
    return bool(reals.less_equal(low, value)) and bool(reals.less_equal(value, high))


@meaning(Argmax)
def _argmax(node: Argmax, walk: Walk) -> WalkValue:
    scores = _vector(walk.values[node.args[0]])
    for score in scores:
        if score is None or isinstance(score, Undefined):
            return score
    wanted = walk.decisions.get(node)
    if wanted is not None:
        assert isinstance(wanted, Fraction | int)
        maximal = _is_maximal(scores, int(wanted)) if 0 <= wanted < len(scores) else False
        if maximal is not False or not walk.lenient:
            return _verdict(node, int(wanted), maximal)
    return _first_maximum(scores)


def _verdict(node: Argmax, index: int, maximal: bool | None) -> ExactScalar:
    if maximal is False:
        return Undefined(f"{node.occurrence.name}: component {index} is not a largest one")
    return None if maximal is None else fmpq(index)


def _is_maximal(scores: Sequence[Any], index: int) -> bool | None:
    """Whether no score exceeds this one."""
    answers = [reals.less_equal(other, scores[index]) for other in scores[:index] + scores[index + 1 :]]  # type: ignore[operator]
    if any(answer is False for answer in answers):
        return False
    return None if None in answers else True


def _first_maximum(scores: Sequence[Any]) -> ExactScalar:
    for index in range(len(scores)):
        match _is_maximal(scores, index):
            case True:
                return fmpq(index)
            case None:
                return None
    return None
