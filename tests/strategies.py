"""Random typed expression graphs, drawn bottom-up: every new node takes nodes already there as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from vernal.model import build, graph
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, Sort, enum
from vernal.model.traits import FUNCTIONS

COLOURS = enum("RED", "GREEN", "BLUE")
REALS = tuple(build.var(name) for name in ("x", "y", "z"))
COUNT = build.var("n", INT)
FLAG = build.var("p", BOOL)
COLOUR = build.var("c", COLOURS)
PAIR = build.var("v", shape=(2,), role=e.Role.INPUT)
T = TypeVar("T")
VARIABLES: tuple[e.Var, ...] = (*REALS, COUNT, FLAG, COLOUR, PAIR)

SLOPES = (Fraction(0), Fraction(1, 10), Fraction(1, 2))
EXPONENTS: tuple[int | Fraction, ...] = (2, 3, -1, Fraction(1, 2), Fraction(2, 3), Fraction(-1, 2))

# Strategies are made once and kept: making and validating one takes longer than drawing from it.
integers = cache(st.integers)


@cache
def numbers(limit: int = 8) -> st.SearchStrategy[Fraction]:
    """Small rationals with simple denominators; half of them are no floats."""
    return st.builds(Fraction, integers(-4 * limit, 4 * limit), st.sampled_from([1, 2, 3, 4, 10]))


@cache
def weights(rows: int, columns: int | None = None) -> st.SearchStrategy[e.Matrix]:
    """A matrix (or a vector) of short floats."""
    shape = (rows,) if columns is None else (rows, columns)
    entries = st.lists(integers(-64, 64), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    return entries.map(lambda values: e.Matrix(np.array(values, dtype=np.float64).reshape(shape) / 32))


ACTIVATIONS: list[Callable[[Expr], Expr]] = [
    build.relu,
    lambda a: build.leaky_relu(a, [Fraction(1, 10)]),
    lambda a: build.clip(a, -1, 1),
    build.hard_sigmoid,
    lambda a: build.soft_shrink(a, Fraction(1, 2)),
    lambda a: build.hard_shrink(a, Fraction(1, 2)),
]
SMOOTH_ACTIVATIONS: list[Callable[[Expr], Expr]] = [
    lambda a: build.apply(Function.TANH, a),
    lambda a: build.apply(Function.SIGMOID, a),
]


def one_of(draw: st.DrawFn, items: Sequence[T]) -> T:
    """One of the items, as `sampled_from` draws it."""
    return items[draw(integers(0, len(items) - 1))]


@st.composite
def networks(draw: st.DrawFn, inputs: int = 2, outputs: int = 3, smooth: bool = True) -> Network:
    """A network of one hidden layer with some activation."""
    hidden = draw(integers(1, 4))
    x = network_input(inputs)
    layer = build.affine(x, draw(weights(hidden, inputs)), draw(weights(hidden)))
    layer = one_of(draw, [*ACTIVATIONS, *(SMOOTH_ACTIVATIONS if smooth else ())])(layer)
    return Network("net", x, build.affine(layer, draw(weights(outputs, hidden)), draw(weights(outputs))))


NETWORKS, SMOOTH_NETWORKS = networks(smooth=False), networks(smooth=True)


@dataclass
class Pool:
    """The nodes made so far, by what they can be used for."""

    draw: st.DrawFn
    smooth: bool
    draws: bool
    undefined: bool
    scalars: list[Expr] = field(default_factory=lambda: [*REALS, COUNT])
    truths: list[Expr] = field(default_factory=lambda: [FLAG])
    colours: list[Expr] = field(default_factory=lambda: [COLOUR])
    vectors: list[Expr] = field(default_factory=lambda: [PAIR])

    def pick(self, nodes: Sequence[Expr]) -> Expr:
        return one_of(self.draw, nodes)

    def number(self) -> Expr:
        """A scalar made earlier, or a constant."""
        return self.pick(self.scalars) if self.draw(integers(0, 3)) else build.const(self.draw(numbers()))

    def put(self, node: Expr) -> None:
        if node.shape:
            self.vectors.append(node)
        elif node.sort == BOOL:
            self.truths.append(node)
        elif node.sort == COLOURS:
            self.colours.append(node)
        else:
            self.scalars.append(node)

    def grow(self) -> None:
        """One more node, of any operator."""
        makers = [self.arithmetic, self.piecewise, self.truth, self.control, self.vector, self.network, self.function]
        self.put(one_of(self.draw, [*makers, *([self.uncertain] if self.draws else [])])())

    def arithmetic(self) -> Expr:
        x, y = self.number(), self.number()
        kinds = [build.add(x, y), build.add(x, y, self.number()), build.neg(x), build.sub(x, y), build.mul(x, y)]
        if self.undefined and not isinstance(y, e.Const):
            kinds += [build.div(x, y), build.div(1, y)]
        return self.pick([*kinds, build.div(x, build.add(build.mul(y, y), 1))])

    def piecewise(self) -> Expr:
        x, y = self.number(), self.number()
        slopes = [one_of(self.draw, SLOPES)]
        kinds = [build.relu(x), build.leaky_relu(x, slopes), build.absolute(x), build.maximum(x, y)]
        return self.pick([*kinds, build.minimum(x, y, 2), build.sign(x), build.floor(x), build.clip(x, -1, 1)])

    def function(self) -> Expr:
        x = build.clip(self.number(), -6, 6)
        if not self.smooth:
            return build.power(x, 2)
        safe = [f for f in Function if FUNCTIONS[f].total]
        chosen = one_of(self.draw, list(Function) if self.undefined else safe)
        exponent = one_of(self.draw, EXPONENTS if self.undefined else EXPONENTS[:2])
        y = self.pick([node for node in self.scalars if not isinstance(node, e.Const)])
        angle = build.atan2(x, y) if self.undefined else build.atan2(x, build.add(build.absolute(y), 1))
        return self.pick([build.apply(chosen, x), build.power(y, exponent), build.mul(x, build.PI), angle])

    def truth(self) -> Expr:
        op = one_of(self.draw, ["<", "<=", "==", "!=", ">", ">="])
        p, q, c = self.pick(self.truths), self.pick(self.truths), self.pick(self.colours)
        equations = [build.eq(c, build.label(COLOURS, "GREEN")), build.compare("!=", p, q)]
        mixed = [build.conj(p, q), build.disj(p, q), build.negate(p)]
        return self.pick([build.compare(op, self.number(), self.number()), *equations, *mixed])

    def control(self) -> Expr:
        p, c, n = self.pick(self.truths), self.pick(self.colours), self.pick(self.scalars)
        cases = [Fraction(i) for i in range(3)]
        kinds = [
            build.if_(p, self.number(), self.number()),
            build.if_(p, self.pick(self.truths), self.pick(self.truths)),
            build.switch(c, cases, [self.number() for _ in cases]),
            build.if_(p, c, self.pick(self.colours)),
        ]
        if n.sort == INT:
            kinds.append(build.switch(n, [Fraction(1), Fraction(2), None], [self.number() for _ in cases]))
        return self.pick(kinds)

    def vector(self) -> Expr:
        v, x, p = self.pick(self.vectors), self.number(), self.pick(self.truths)
        kinds = [
            build.concat(x, v),
            v[self.draw(integers(0, v.size - 1))],
            build.relu(v),
            build.add(v, x),
            build.mul(x, v),
            build.maximum(v, x),
            build.if_(p, v, x),
            build.if_(build.compare("<", v, x), v, build.neg(v)),
            build.leaky_relu(v, [one_of(self.draw, SLOPES) for _ in range(v.size)]),
            build.gather(v, [v.size - 1, 0]),
        ]
        return self.pick(kinds)

    def network(self) -> Expr:
        net = self.draw(SMOOTH_NETWORKS if self.smooth else NETWORKS)
        return net(*(build.clip(self.number(), -4, 4) for _ in range(2)))

    def uncertain(self) -> Expr:
        low, width, v = self.number(), self.number(), self.pick(self.vectors)
        p, q = self.pick(self.truths), self.pick(self.truths)
        options = [build.choose(self.number(), self.number(), self.number()), build.choose(low, v)]
        options += [
            build.choose(build.when(low, p), build.when(width, q), build.when(v[0], q)),
            self.truth_or_colour(p),
        ]
        ranges = [build.between(low, build.add(low, build.absolute(width))), build.between(-1, 1)]
        return self.pick([*options, *ranges, build.argmax(v)])

    def truth_or_colour(self, guard: Expr) -> Expr:
        """A choice of truth values or labels of which one does not always exist."""
        kind = one_of(self.draw, [self.truths, self.colours])
        return build.choose(self.pick(kind), build.when(self.pick(kind), guard))


@st.composite
def expressions(
    draw: st.DrawFn, size: int = 16, *, smooth: bool = True, draws: bool = True, undefined: bool = True
) -> list[Expr]:
    """Some roots of a random graph over `VARIABLES`, of all sorts and shapes.

    `smooth` allows transcendental functions, `draws` choose, between and argmax, `undefined` operations that have no
    value somewhere (division by an expression, log, sqrt, tan, atan2).
    """
    pool = Pool(draw, smooth, draws, undefined)
    for _ in range(draw(integers(size // 2, size))):
        pool.grow()
    made = [node for kind in (pool.scalars, pool.truths, pool.colours, pool.vectors) for node in kind]
    fresh = [node for node in made if node not in VARIABLES]
    return fresh or [REALS[0]]


def points(nodes: Sequence[e.Var] = VARIABLES) -> st.SearchStrategy[dict[Expr, Fraction | tuple[Fraction, ...]]]:
    """A value for each variable: a rational, an integer, 0 or 1, the index of a label, or a vector."""
    return st.fixed_dictionaries({node: _value(node) for node in nodes})


def _value(node: e.Var) -> st.SearchStrategy[Fraction | tuple[Fraction, ...]]:
    if node.shape:
        return st.tuples(*(numbers() for _ in range(node.size)))
    return numbers() if node.sort.kind.value == "real" else integers(*_range(node.sort)).map(Fraction)


def _range(sort: Sort) -> tuple[int, int]:
    if sort == INT:
        return (-4, 4)
    return (0, 1) if sort == BOOL else (0, len(sort.labels) - 1)


@st.composite
def decisions(draw: st.DrawFn, roots: Sequence[Expr]) -> dict[Expr, Fraction]:
    """For every choice an option's index, for every disturbance a position from 0 to 1."""
    made: dict[Expr, Fraction] = {}
    for node in graph.draws(roots):
        if isinstance(node, e.Choose):
            made[node] = Fraction(draw(integers(0, len(node.options) - 1)))
        else:
            made[node] = Fraction(draw(integers(0, 4)), 4)
    return made
