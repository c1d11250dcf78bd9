"""Random questions about one application of a network, as plain data, and their truth by Z3 in exact arithmetic.

ReLU, tanh, maxout and branching networks of up to 40 neurons on boxes of one to four inputs, and networks whose hidden
values lie on a grid, are shares (softmax), are mixed by a head of attention, or are normalised. Claims are nested
and/or of comparisons whose thresholds are taken from what the network really reaches: a little above, below, or exactly
there, where only strictness decides. The network is kept as rows of rationals: the system that engines see and the
terms that Z3 sees are both made from these, and share nothing else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from vernal.formats.activations import layer_norm
from vernal.formats.onnx.elementwise import nearest_even
from vernal.logic.formula import And, Atom, Formula, Not, Or
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix, Role
from vernal.model.softmax import softmax
from vernal.model.sorts import REAL
from vernal.model.system import Init, Span, System, Variable

MAX_NEURONS = 40
Z3_LIMIT = 4_000  # milliseconds for one question
NUDGES = (Fraction(0), Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2))
KINDS = ("relu", "relu", "max", "tanh", "abs", "clip", "sign", "if", "argmax", "grid", "softmax", "attention", "norm")
SUMS = {"max": 2, "if": 2, "argmax": 3, "attention": 3}  # that become one value; of other kinds it is one
ROUNDED = ("tanh", "softmax", "attention", "norm")  # whose values are no rationals: Z3 is not asked
MAX_TOKENS = 5  # of one head of attention, or of one softmax
STEP, ENDS = Fraction(1, 4), (-8, 7)  # of the grid: what its integers stand for, and the ends of these
EPSILON = Fraction(1, 64)  # of a normalised layer

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class DenseLayer:
    """A row of weights and a bias for each neuron; two or three of each for one that compares them."""

    weights: tuple[Row, ...]
    biases: Row


@dataclass(frozen=True)
class PlainAtom:
    """row * outputs < limit, or <=."""

    row: Row
    limit: Fraction
    strict: bool


@dataclass(frozen=True)
class Joined:
    """All of the parts, or some of them."""

    every: bool
    parts: tuple[PlainAtom | Joined, ...]


PlainClaim = PlainAtom | Joined


@dataclass(frozen=True)
class PlainQuestion:
    """Is the claim true everywhere in the box?"""

    box: tuple[tuple[Fraction, Fraction], ...]
    layers: tuple[DenseLayer, ...]
    kind: str  # one of KINDS
    claim: PlainClaim


# Drawing --------------------------------------------------------------------------------------------------------------


@cache
def drawn(seed: int) -> PlainQuestion:
    """The question of a seed."""
    rng = random.Random(seed)
    kind, inputs = rng.choice(KINDS), rng.randint(1, 4)
    widths = _widths(rng, MAX_TOKENS if kind in ("softmax", "attention") else MAX_NEURONS)
    outputs = rng.randint(1, 3)
    sizes = [inputs, *widths, outputs]
    pieces = [SUMS.get(kind, 1) if number < len(widths) else 1 for number in range(len(sizes) - 1)]
    layers = tuple(_layer(rng, sizes[i], sizes[i + 1] * pieces[i]) for i in range(len(sizes) - 1))
    box = tuple(_ends(rng) for _ in range(inputs))
    blank = PlainQuestion(box, layers, kind, Joined(True, ()))
    return PlainQuestion(box, layers, kind, _claim(rng, blank, outputs, depth=rng.randint(0, 2)))


def _widths(rng: random.Random, widest: int) -> list[int]:
    """One to three hidden layers, small ones more often."""
    most = rng.choice((4, 8, 16, MAX_NEURONS))
    count = rng.randint(1, 3)
    return [rng.randint(1, max(1, min(widest, most // count))) for _ in range(count)]


def _layer(rng: random.Random, inputs: int, rows: int) -> DenseLayer:
    """Eighths from -2 to 2; now and then a zero row or the same row twice, which makes ties."""
    weights = [tuple(Fraction(rng.randint(-16, 16), 8) for _ in range(inputs)) for _ in range(rows)]
    biases = [Fraction(rng.randint(-16, 16), 8) for _ in range(rows)]
    if rng.random() < 0.2:
        weights[rng.randrange(rows)] = (Fraction(0),) * inputs
    if rng.random() < 0.2:
        first, second = rng.randrange(rows), rng.randrange(rows)
        weights[first], biases[first] = weights[second], biases[second]
    return DenseLayer(tuple(weights), tuple(biases))


def _ends(rng: random.Random) -> tuple[Fraction, Fraction]:
    low = Fraction(rng.randint(-20, 20), 10)
    return low, low + Fraction(rng.choice((0, 1, 5, 10, 20)), 10)


def _claim(rng: random.Random, question: PlainQuestion, outputs: int, depth: int) -> PlainClaim:
    if depth:
        parts = tuple(_claim(rng, question, outputs, depth - 1) for _ in range(rng.randint(1, 3)))
        return Joined(rng.random() < 0.5, parts)
    row = tuple(Fraction(rng.randint(-2, 2)) for _ in range(outputs))
    reached = [_dot(row, computed(question, _point(rng, question))) for _ in range(20)]
    reached += [_dot(row, computed(question, _corner(rng, question))) for _ in range(20)]
    limit = max(reached) if rng.random() < 0.8 else rng.choice(reached)
    return PlainAtom(row, limit + rng.choice((-1, 1, 1)) * rng.choice(NUDGES), rng.random() < 0.5)


def _point(rng: random.Random, question: PlainQuestion) -> Row:
    return tuple(low + (high - low) * Fraction(rng.randint(0, 16), 16) for low, high in question.box)


def _corner(rng: random.Random, question: PlainQuestion) -> Row:
    return tuple(rng.choice(ends) for ends in question.box)


# Meanings -------------------------------------------------------------------------------------------------------------


def _dot(row: Row, values: Sequence[Fraction]) -> Fraction:
    return sum((weight * value for weight, value in zip(row, values, strict=True)), Fraction(0))


def computed(question: PlainQuestion, point: Row) -> Row:
    """The outputs at a point: exactly, but for kinds that are rounded."""
    values = point
    for number, layer in enumerate(question.layers):
        sums = tuple(_dot(row, values) + bias for row, bias in zip(layer.weights, layer.biases, strict=True))
        values = sums if number == len(question.layers) - 1 else _activated(question.kind, sums)
    return values


def _activated(kind: str, sums: Row) -> Row:
    """Of an argmax the first winner counts; a tie leaves others open."""
    match kind:
        case "max":
            return tuple(map(max, sums[::2], sums[1::2]))
        case "if":
            return tuple(a + 1 if a > b else -b for a, b in zip(sums[::2], sums[1::2], strict=True))
        case "argmax":
            return tuple(
                own[(own.index(max(own)) + 1) % 3] for own in zip(*(sums[i::3] for i in range(3)), strict=True)
            )
        case "relu":
            return tuple(max(value, Fraction(0)) for value in sums)
        case "abs":
            return tuple(map(abs, sums))
        case "clip":
            return tuple(min(max(value, Fraction(0)), Fraction(1)) for value in sums)
        case "sign":
            return tuple(Fraction((value > 0) - (value < 0)) for value in sums)
        case "grid":  # Python rounds halves to the even neighbour
            return tuple(STEP * min(max(round(value / STEP), ENDS[0]), ENDS[1]) for value in sums)
    return tuple(Fraction(value).limit_denominator(10**6) for value in _rounded(kind, list(map(float, sums))))


def _rounded(kind: str, sums: list[float]) -> list[float]:
    match kind:
        case "softmax":
            return _shares(sums)
        case "attention":
            tokens = list(zip(sums[::3], sums[1::3], sums[2::3], strict=True))
            scores = [_shares([query * key for _, key, _ in tokens]) for query, _, _ in tokens]
            return [sum(share * value for share, (_, _, value) in zip(row, tokens, strict=True)) for row in scores]
        case "norm":
            mean = sum(sums) / len(sums)
            variance = sum((value - mean) ** 2 for value in sums) / len(sums)
            return [(value - mean) / math.sqrt(variance + EPSILON) for value in sums]
    return list(map(math.tanh, sums))


def _shares(scores: list[float]) -> list[float]:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def is_true(claim: PlainClaim, outputs: Row) -> bool:
    """The claim at a point with these outputs."""
    if isinstance(claim, Joined):
        found = [is_true(part, outputs) for part in claim.parts]
        return all(found) if claim.every else any(found)
    value = _dot(claim.row, outputs)
    return value < claim.limit if claim.strict else value <= claim.limit


# As a system ----------------------------------------------------------------------------------------------------------


def network_system(rng: random.Random) -> System:
    """A system that stands still: the inputs are its state, the network is a let; its name has the seed."""
    seed = rng.getrandbits(32)
    question = drawn(seed)
    variables = tuple(Variable(f"x{index}", REAL) for index in range(len(question.box)))
    starts = {variable.name: Span(*ends) for variable, ends in zip(variables, question.box, strict=True)}
    output = network_graph(question, build.concat(*(variable.var for variable in variables)))
    return System(f"network_{seed}", variables, Init(starts), {}, (), {"y": output})


def network_claim(rng: random.Random, system: System) -> Formula:
    """The claim of the same seed, about the start."""
    question = plain(system)
    return _formula(question.claim, len(question.layers[-1].biases))


def plain(system: System) -> PlainQuestion:
    """The question behind a system."""
    return drawn(int(system.name.rpartition("_")[2]))


def network_graph(question: PlainQuestion, node: Expr) -> Expr:
    """The outputs of the network, as an expression over its inputs."""
    for number, layer in enumerate(question.layers):
        node = build.affine(node, Matrix(_array(layer.weights)), Matrix(_array(layer.biases)))
        if number < len(question.layers) - 1:
            node = _activation(question.kind, node)
    return node


def _array(rows: Any) -> Any:
    import numpy as np

    return np.array(rows, dtype=float)  # eighths: nothing is rounded


def _activation(kind: str, node: Expr) -> Expr:
    if kind == "attention":
        return _attended(*(build.gather(node, range(start, node.size, 3)) for start in range(3)))
    if kind in SUMS:
        parts = [build.component(node, index) for index in range(node.size)]
        return build.concat(*(_joined(kind, own) for own in zip(*_thirds(parts, SUMS[kind]), strict=True)))
    match kind:
        case "relu":
            return build.relu(node)
        case "abs":
            return build.absolute(node)
        case "clip":
            return build.clip(node, 0, 1)
        case "sign":
            return build.sign(node)
        case "grid":
            least, most = (STEP * end for end in ENDS)
            return build.clip(build.mul(nearest_even(build.div(node, STEP)), STEP), least, most)
        case "softmax":
            return softmax(node)
        case "norm":
            return layer_norm(node, 1, None, None, EPSILON)
    return build.apply(Function.TANH, node)


def _attended(queries: Expr, keys: Expr, values: Expr) -> Expr:
    """One head: a token for each neuron, with a number as its query, its key and its value."""
    size, made = queries.size, []
    for token in range(size):
        shares = softmax(build.mul(build.component(queries, token), keys))
        made.append(build.add(*(build.component(build.mul(shares, values), index) for index in range(size))))
    return build.concat(*made)


def _thirds(parts: Sequence[Any], count: int) -> list[Sequence[Any]]:
    return [parts[start::count] for start in range(count)]


def _joined(kind: str, own: Sequence[Expr]) -> Expr:
    if kind == "max":
        return build.maximum(*own)
    if kind == "if":
        return build.if_(build.compare(">", own[0], own[1]), own[0] + 1, -own[1])
    winner = build.argmax(build.concat(*own))
    return build.switch(winner, [Fraction(0), Fraction(1), None], [own[1], own[2], own[0]])


def _formula(claim: PlainClaim, outputs: int) -> Formula:
    if isinstance(claim, Joined):
        parts = tuple(_formula(part, outputs) for part in claim.parts)
        return And(parts) if claim.every else Or(parts)
    y = build.var("y", REAL, (outputs,), Role.LET)
    terms = [build.mul(build.const(weight), build.component(y, index)) for index, weight in enumerate(claim.row)]
    atom = Atom(build.compare("<" if claim.strict else "<=", build.add(*terms), build.const(claim.limit)))
    opposite = build.compare(">=" if claim.strict else ">", build.add(*terms), build.const(claim.limit))
    return Not(Atom(opposite)) if claim.limit.numerator % 2 else atom  # either way to write it


# As terms of Z3 -------------------------------------------------------------------------------------------------------


def truth(question: PlainQuestion) -> bool | None:
    """Whether the claim is true everywhere; None where Z3 does not know: values that are no rationals, or no time."""
    if question.kind in ROUNDED:
        return None
    import z3

    solver = z3.Solver()
    solver.set("timeout", Z3_LIMIT)
    values = [z3.Real(f"x{index}") for index in range(len(question.box))]
    for value, (low, high) in zip(values, question.box, strict=True):
        solver.add(value >= _rational(z3, low), value <= _rational(z3, high))
    for number, layer in enumerate(question.layers):
        rows = zip(layer.weights, layer.biases, strict=True)
        values = [_sum(z3, row, values) + _rational(z3, bias) for row, bias in rows]
        if number < len(question.layers) - 1:
            values = _named(z3, solver, number, _cases(z3, question.kind, values))
    solver.add(z3.Not(_term(z3, question.claim, values)))
    said = solver.check()
    return None if said == z3.unknown else said == z3.unsat


def _rational(z3: Any, value: Fraction) -> Any:
    return z3.Q(value.numerator, value.denominator)


def _sum(z3: Any, row: Row, values: Sequence[Any]) -> Any:
    return z3.Sum([_rational(z3, weight) * value for weight, value in zip(row, values, strict=True)])


def _cases(z3: Any, kind: str, values: Sequence[Any]) -> list[Any]:
    """The value of each neuron by its sums; of an argmax the pairs of condition and value, of which one is true."""
    zero, one = z3.Q(0, 1), z3.Q(1, 1)
    match kind:
        case "max":
            return [z3.If(a >= b, a, b) for a, b in zip(*_thirds(values, 2), strict=True)]
        case "if":
            return [z3.If(a > b, a + one, -b) for a, b in zip(*_thirds(values, 2), strict=True)]
        case "argmax":
            return [
                [(z3.And([own[k] >= other for other in own]), own[(k + 1) % 3]) for k in range(3)]
                for own in zip(*_thirds(values, 3), strict=True)
            ]
        case "relu":
            return [z3.If(value >= 0, value, zero) for value in values]
        case "abs":
            return [z3.If(value >= 0, value, -value) for value in values]
        case "clip":
            return [z3.If(value <= 0, zero, z3.If(value >= 1, one, value)) for value in values]
        case "grid":
            return [_on_grid(z3, value) for value in values]
    return [z3.If(value > 0, one, z3.If(value < 0, -one, zero)) for value in values]


def _on_grid(z3: Any, value: Any) -> Any:
    """To the nearest integer of steps, the even one of two, within the ends."""
    raised = value / _rational(z3, STEP) + z3.Q(1, 2)
    above = z3.ToInt(raised)
    nearest = z3.If(z3.And(z3.ToReal(above) == raised, above % 2 != 0), above - 1, above)
    kept = z3.If(nearest < ENDS[0], ENDS[0], z3.If(nearest > ENDS[1], ENDS[1], nearest))
    return z3.ToReal(kept) * _rational(z3, STEP)


def _named(z3: Any, solver: Any, number: int, values: Sequence[Any]) -> list[Any]:
    """A variable for each value, so that terms stay small."""
    names = [z3.Real(f"h{number}_{index}") for index in range(len(values))]
    for name, value in zip(names, values, strict=True):
        if isinstance(value, list):  # any of the winners of a tie
            solver.add(z3.Or([z3.And(condition, name == chosen) for condition, chosen in value]))
        else:
            solver.add(name == value)
    return names


def _term(z3: Any, claim: PlainClaim, values: Sequence[Any]) -> Any:
    if isinstance(claim, Joined):
        parts = [_term(z3, part, values) for part in claim.parts]
        return z3.And(parts) if claim.every else z3.Or(parts)
    value, limit = _sum(z3, claim.row, values), _rational(z3, claim.limit)
    return value < limit if claim.strict else value <= limit
