"""How an answer is established: sat by a witness in ball arithmetic, unsat by boxes that cover all of the inputs.

The boxes are worked off in batches with linear bounds (`interpret/linear`, rounded outward), cut where the sum over
the comparisons of slope times width is largest, without a limit but time. It is no engine: there is nothing but bounds
and boxes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from benchmarks.learning import Floats, Layers, forward
from benchmarks.queries.networks import NETWORKS
from benchmarks.queries.questions import AskedQuestion, margin, rows
from vernal.interpret.linear.bounds import bounds
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.interpret.value_sets import Range, Value
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix, Var
from vernal.model.network import network_input

BATCH = 256
CLEAR = 1e-4  # a margin that no verifier's tolerances reach
BITS = 200


@dataclass(frozen=True)
class Established:
    """An answer, or nothing, and what it took."""

    answer: str
    boxes: int
    seconds: float
    point: tuple[str, ...] = ()


def graph(question: AskedQuestion, layers: Layers) -> tuple[Var, Expr, list[list[int]]]:
    """Inputs, the values of all comparisons, and the cases."""
    x = network_input(len(question.box))
    node: Expr = x
    for number, (weight, bias) in enumerate(layers):
        node = build.affine(node, Matrix(weight), Matrix(bias))
        if number < len(layers) - 1:
            node = build.relu(node) if is_relu(question) else build.apply(Function.TANH, node)
    matrix, constants, cases = rows(question, node.size)
    return x, build.affine(node, Matrix(matrix), Matrix(constants)), cases


def is_relu(question: AskedQuestion) -> bool:
    return NETWORKS[question.network].function == "Relu"


def cover(question: AskedQuestion, layers: Layers, seconds: float, clear: float = CLEAR) -> Established:
    """Unsat by boxes in all of which some comparison of every case is false by this margin; sat by a witness."""
    x, values, cases = graph(question, layers)
    lower = np.array([[float_below(Fraction(low)) for low, _ in question.box]])
    upper = np.array([[float_above(Fraction(high)) for _, high in question.box]])
    waiting, count, started = [(lower, upper)], 0, time.process_time()
    while waiting:
        if time.process_time() - started > seconds:
            return Established("", count, time.process_time() - started)
        lower, upper = _next(waiting)
        count += len(lower)
        box: dict[Expr, Value] = {x: Range(lower, upper)}
        (found,) = bounds([values], box)
        is_open = margin(np.asarray(found.upper), cases) >= -clear
        lower, upper = lower[is_open], upper[is_open]
        point = find_witness(question, layers, 0.5 * (lower + upper))
        if point:
            return Established("sat", count, time.process_time() - started, point)
        if len(lower):
            slopes = np.abs(np.asarray(found.upper_coefficients)[is_open]).sum(1)
            waiting.append(halved(lower, upper, (slopes * (upper - lower)).argmax(1)))
    return Established("unsat", count, time.process_time() - started)


def _next(waiting: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The boxes made last, at most a batch."""
    lower, upper = waiting.pop()
    if len(lower) > BATCH:
        waiting.append((lower[BATCH:], upper[BATCH:]))
    return lower[:BATCH], upper[:BATCH]


def halved(lower: Floats, upper: Floats, axis: Any) -> tuple[Floats, Floats]:
    """Every box cut in two along its axis."""
    middle, row = 0.5 * (lower + upper), np.arange(len(lower))
    left, right = upper.copy(), lower.copy()
    left[row, axis], right[row, axis] = middle[row, axis], middle[row, axis]
    return np.concatenate([lower, right]), np.concatenate([left, upper])


# Witnesses ------------------------------------------------------------------------------------------------------------


def find_witness(question: AskedQuestion, layers: Layers, points: Floats) -> tuple[str, ...]:
    """A point in decimals where the claim is true by a clear margin, or nothing."""
    if not len(points):
        return ()
    found = float_margins(question, layers, points)
    best = int(found.argmax())
    if found[best] < 2 * CLEAR:
        return ()
    point = tuple(inside(value, *ends) for value, ends in zip(points[best], question.box, strict=True))
    return point if is_witness(question, layers, point) else ()


def float_margins(question: AskedQuestion, layers: Layers, points: Floats) -> Floats:
    """The claim's margin at points, in doubles."""
    weights, constants, cases = rows(question, len(layers[-1][1]))
    outputs = forward(layers, points, NETWORKS[question.network].function)[-1]
    return margin(outputs @ weights.T + constants, cases)


def inside(value: float, low: str, high: str) -> str:
    """The value with six digits, within its ends."""
    text = f"{value:.6f}"
    return low if Fraction(text) < Fraction(low) else high if Fraction(text) > Fraction(high) else text


def is_witness(question: AskedQuestion, layers: Layers, point: Sequence[str]) -> bool:
    """Whether the claim is certainly true at a point of the box, over the reals."""
    pairs = list(zip(point, question.box, strict=True))
    if not all(Fraction(low) <= Fraction(value) <= Fraction(high) for value, (low, high) in pairs):
        return False
    precision, ctx.prec = ctx.prec, BITS
    try:
        outputs = _outputs(layers, [_ball(Fraction(value)) for value in point], is_relu(question))
        return any(all(_holds(atom, outputs) for atom in case) for case in question.cases)
    finally:
        ctx.prec = precision


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator


def _outputs(layers: Layers, values: list[arb], piecewise: bool) -> list[arb]:
    zero = arb(0)
    for number, (weight, bias) in enumerate(layers):
        values = [
            sum((arb(w) * v for w, v in zip(row.tolist(), values, strict=True)), arb(b))
            for row, b in zip(weight, bias.tolist(), strict=True)
        ]
        if number < len(layers) - 1:
            values = [value.max(zero) if piecewise else value.tanh() for value in values]
    return values


def _holds(atom: tuple[str, str, str], outputs: Sequence[arb]) -> bool:
    left, op, right = atom
    a = outputs[int(left[2:])]
    b = outputs[int(right[2:])] if right.startswith("Y_") else _ball(Fraction(right))
    return bool(a <= b) if op == "<=" else bool(a >= b)
