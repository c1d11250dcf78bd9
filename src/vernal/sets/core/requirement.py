"""What a state has to satisfy to refute a claim: a nested and/or of sums that have to be at most zero.

A Boolean expression (the condition under which a path refutes a claim) is taken apart here, negations inward, into
differences of numbers. Whether a box contains no state that satisfies it then follows from lower bounds: a difference
that is above zero everywhere is impossible, a conjunction if one of its parts is, a disjunction if all are. An argmax
that takes one of some values becomes comparisons of scores, where a tie counts for either side: each atom by itself, so
two atoms about one argmax may be met by different winners of a tie. That is more than the system can do (OVER).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.graph import order
from vernal.model.numbers import nearest
from vernal.model.sorts import BOOL
from vernal.model.traits import may_be_undefined

MAX_PAIRS = 4096  # comparisons of scores that one atom about an argmax may become


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The sum of factors times components, plus a constant, has to be <= 0, or < 0 where it is strict."""

    terms: Mapping[Component, float]
    constant: Fraction
    strict: bool
    of_winner: bool = False  # of a comparison of scores that stands for the value of an argmax


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A condition that is no comparison of numbers has to have this truth value."""

    node: Expr
    wanted: bool


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Every part, or some part, has to be satisfied; without parts the first is always satisfied, the second never."""

    every: bool
    parts: tuple[Requirement, ...]
    of_numbers: bool = False  # a comparison of two numbers that cancel: it has a margin, which is not kept


Requirement = Difference | Fixed | Combined
WithNegation = tuple[Requirement, Requirement]  # of a condition, and of its negation
ALWAYS, NEVER = Combined(True, ()), Combined(False, ())


def requirement(condition: Expr) -> Requirement:
    """The requirement that a condition be true."""
    made: dict[Expr, WithNegation] = {}
    for node in order([condition]):
        if node.sort == BOOL and not node.shape:
            made[node] = _pair(node, made)
    return made[condition][0]


def _pair(node: Expr, made: Mapping[Expr, WithNegation]) -> WithNegation:
    match node:
        case e.Const():
            return (ALWAYS, NEVER) if node.value else (NEVER, ALWAYS)
        case e.Not(args=(p,)) if p in made:
            return made[p][::-1]
        case e.And(args=args) if all(arg in made for arg in args):
            return _junction(True, [made[arg] for arg in args])
        case e.Or(args=args) if all(arg in made for arg in args):
            return _junction(False, [made[arg] for arg in args])
        case e.If(args=args) if all(arg in made for arg in args):
            return _choice(*(made[arg] for arg in args))
        case e.Compare(args=(a, b)) if not a.shape and not b.shape and (won := _winner(node)) is not None:
            return won  # also where the winner has a label
        case e.Compare(args=(a, b)) if a.sort.is_number and not a.shape and not b.shape:
            return _comparison(node)
    return Fixed(node, True), Fixed(node, False)


def _junction(every: bool, parts: Sequence[WithNegation]) -> WithNegation:
    return Combined(every, tuple(yes for yes, _ in parts)), Combined(not every, tuple(no for _, no in parts))


def _choice(condition: WithNegation, then: WithNegation, otherwise: WithNegation) -> WithNegation:
    """if(c, p, q) is c & p | !c & q, and its negation c & !p | !c & !q."""

    def either(p: Requirement, q: Requirement) -> Requirement:
        return Combined(False, (Combined(True, (condition[0], p)), Combined(True, (condition[1], q))))

    return either(then[0], otherwise[0]), either(then[1], otherwise[1])


# Comparisons ----------------------------------------------------------------------------------------------------------


def _comparison(node: e.Compare) -> WithNegation:
    a, b = node.args
    match node.op:
        case "<":
            return _below(a, b, strict=True), _below(b, a, strict=False)
        case "<=":
            return _below(a, b, strict=False), _below(b, a, strict=True)
    same = Combined(True, (_below(a, b, strict=False), _below(b, a, strict=False)))
    apart = Combined(False, (_below(a, b, strict=True), _below(b, a, strict=True)))
    return (same, apart) if node.op == "==" else (apart, same)


def _below(a: Expr, b: Expr, *, strict: bool) -> Requirement:
    """a <= b, as a - b; taken apart only where every factor is a float, since rows are exact in their floats."""
    factors, constant = _linear([(a, Fraction(1)), (b, Fraction(-1))])
    if not all(map(is_float, factors.values())):
        factors, constant = {(a, 0): Fraction(1), (b, 0): Fraction(-1)}, Fraction(0)
    if any(not factor and not _is_defined(node) for (node, _), factor in factors.items()):
        return Fixed(build.compare("<" if strict else "<=", a, b), True)  # what cancels may be undefined all the same
    factors = {part: factor for part, factor in factors.items() if factor}
    if not factors:
        return Combined(constant < 0 or (constant == 0 and not strict), (), of_numbers=True)
    return Difference({part: float(factor) for part, factor in factors.items()}, constant, strict)


def _is_defined(node: Expr) -> bool:
    """Whether a node has a value whatever the inputs are."""
    return isinstance(node, e.Var) or not any(map(may_be_undefined, order([node])))


def _linear(parts: Sequence[tuple[Expr, Fraction]]) -> tuple[dict[Component, Fraction], Fraction]:
    """A sum of multiples as factors of components and a constant; where a factor is no float, the node stays whole."""
    factors: dict[Component, Fraction] = {}
    constant = Fraction(0)
    waiting = [(node, 0, factor) for node, factor in parts]
    while waiting:
        node, index, factor = waiting.pop()
        match node:
            case e.Const():
                constant += factor * node.values[index]
                continue
            case e.Neg(args=(x,)):
                waiting.append((x, index, -factor))
                continue
            case e.Add(args=args):
                waiting += [(arg, index if arg.shape else 0, factor) for arg in args]
                continue
            case e.Gather(args=(x,), indices=indices):
                waiting.append((x, indices[index], factor))
                continue
            case e.Mul(args=(e.Const() as times, x)) | e.Mul(args=(x, e.Const() as times)):
                scaled = factor * times.values[index if times.shape else 0]
                if is_float(scaled):
                    waiting.append((x, index if x.shape else 0, scaled))
                    continue
        factors[node, index] = factors.get((node, index), Fraction(0)) + factor
    return factors, constant


def is_float(value: Fraction) -> bool:
    """Whether a rational is a double, exactly."""
    near = nearest(value)
    return isfinite(near) and Fraction(near) == value


# Argmax ---------------------------------------------------------------------------------------------------------------

TESTS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _winner(node: e.Compare) -> WithNegation | None:
    """A comparison of an argmax with a constant: one of the indices for which it is true, or false, may win."""
    test = TESTS[node.op]
    match node.args:
        case (e.Argmax(args=(scores,)), e.Const() as number):
            chosen = [test(Fraction(k), number.value) for k in range(scores.size)]
        case (e.Const() as number, e.Argmax(args=(scores,))):
            chosen = [test(number.value, Fraction(k)) for k in range(scores.size)]
        case _:
            return None
    if scores.size**2 > MAX_PAIRS:
        return None
    return _wins(scores, chosen, True), _wins(scores, chosen, False)


def _wins(scores: Expr, chosen: Sequence[bool], wanted: bool) -> Requirement:
    """One of these components is at least as large as every other."""
    ways = [_largest(scores, k) for k, own in enumerate(chosen) if own is wanted]
    return ways[0] if len(ways) == 1 else Combined(False, tuple(ways))


def _largest(scores: Expr, k: int) -> Requirement:
    rivals = (j for j in range(scores.size) if j != k)
    return Combined(True, tuple(_ahead(scores, j, k) for j in rivals))


def _ahead(scores: Expr, j: int, k: int) -> Difference:
    """Component j is at most component k."""
    return Difference({(scores, j): 1.0, (scores, k): -1.0}, Fraction(0), strict=False, of_winner=True)
