"""Exact affine forms: where every phase and branch is decided, a value is c + sum of a_i p_i over the rationals.

Floating-point bounds cannot tell a margin of zero from one of 1e-16; these forms can. 0.1 added ten times is 1, and
x - x is 0. Decisions on the way (ReLU phases, `if`, `match`, argmax) are taken from rigorous bounds where a `Linear`
knows them, else from the exact range of the deciding form; what neither decides makes the value None.

The inputs are the components of numeric variables and the draws with constant ends. A `choose` counts as the interval
of its options: the ends of an exact range are attained by options, values in between perhaps not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

import numpy as np
from flint import fmpq

from vernal.errors import TypeClash
from vernal.interpret.abstract import Finite, Truth
from vernal.interpret.linear import Linear, is_input
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL

Input = tuple[Expr, int]  # a variable or draw, and which component of it
Ends = Mapping[Expr, Sequence[tuple[Fraction, Fraction]]]  # for each variable the ends of each component
Box = Mapping[Input, tuple[fmpq, fmpq]]


@dataclass(frozen=True, slots=True)
class AffineForm:
    """constant + sum of coefficient * input, exactly; inputs with coefficient 0 are left out."""

    constant: fmpq
    coefficients: Mapping[Input, fmpq] = field(default_factory=dict)

    def __neg__(self) -> AffineForm:
        return self.scale(fmpq(-1))

    def __add__(self, other: AffineForm) -> AffineForm:
        if not self.coefficients or not other.coefficients:
            return AffineForm(self.constant + other.constant, self.coefficients or other.coefficients)
        terms = dict(self.coefficients)
        for name, value in other.coefficients.items():
            terms[name] = terms.get(name, ZERO) + value
        return AffineForm(self.constant + other.constant, {name: value for name, value in terms.items() if value != 0})

    def __sub__(self, other: AffineForm) -> AffineForm:
        return self + -other

    def scale(self, factor: fmpq) -> AffineForm:
        if factor == 0:
            return AffineForm(ZERO)
        return AffineForm(factor * self.constant, {name: factor * a for name, a in self.coefficients.items()})


ZERO, ONE = fmpq(0), fmpq(1)
Scalar = AffineForm | bool | fmpq | None  # a number, a truth value, the index of a label or of a maximum, or open
Known = tuple[Scalar, ...]


def rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def exact_range(form: AffineForm, box: Box) -> tuple[Fraction, Fraction]:
    """The least and the largest value of a form over the box."""
    low, high = _range(form, box)
    return Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))


def _range(form: AffineForm, box: Box) -> tuple[fmpq, fmpq]:
    low = high = form.constant
    for name, a in form.coefficients.items():
        first, last = box[name] if a > 0 else box[name][::-1]
        low, high = low + a * first, high + a * last
    return low, high


class Forms:
    """Exact values of the nodes of a graph over one box, computed when asked for and kept."""

    def __init__(self, ends: Ends, decided: Linear | None = None, index: int = 0) -> None:
        """`decided` bounds the same graph; `index` is this box's place in its batch."""
        self.decided, self.index = decided, index
        self.box: dict[Input, tuple[fmpq, fmpq]] = {}
        self.known: dict[Expr, Known] = {}
        for node, components in ends.items():
            self.known[node] = tuple(self._enter(node, i, *pair) for i, pair in enumerate(components))

    def _enter(self, node: Expr, component: int, low: Fraction, high: Fraction) -> Scalar:
        if not node.sort.is_number:
            value = rational(low) if low == high else None
            return bool(value) if value is not None and node.sort == BOOL else value
        if low == high:
            return AffineForm(rational(low))
        self.box[node, component] = rational(low), rational(high)
        return AffineForm(ZERO, {(node, component): ONE})

    def values(self, node: Expr) -> Known:
        """A form (or a decided discrete value) for each component; None where there is none."""
        stack = [node]
        while stack:
            here = stack[-1]
            missing = [] if here in self.known else [arg for arg in self._needs(here) if arg not in self.known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if here not in self.known:
                self.known[here] = self._compute(here)
        return self.known[node]

    def truth(self, node: Expr) -> bool | None:
        """The truth of a condition, if it is the same for all values of the inputs."""
        (value,) = self.values(node)
        assert value is None or isinstance(value, bool)
        return value

    def range(self, form: AffineForm) -> tuple[Fraction, Fraction]:
        """The exact range of a form over the box."""
        return exact_range(form, self.box)

    # Walking ----------------------------------------------------------------------------------------------------------

    def _needs(self, node: Expr) -> Sequence[Expr]:
        """The arguments a node waits for: none where bounds have decided it, one branch where the subject has."""
        if is_input(node) or self._from_bounds(node) is not None:
            return ()
        if not isinstance(node, e.If | e.Switch) or node.args[0].shape:
            return node.args
        if node.args[0] not in self.known:
            return node.args[:1]
        taken = _taken(node, self.known[node.args[0]][0])
        return node.args[1:] if taken is None else (taken,)

    def _from_bounds(self, node: Expr) -> Known | None:
        """What rigorous bounds decided about a discrete scalar."""
        if self.decided is None or node.shape or not isinstance(node, e.Compare | e.Argmax):
            return None
        value = self.decided.value(node)
        if isinstance(value, Truth):
            must, may = bool(value.must[self.index]), bool(value.may[self.index])
            return (must,) if must == may else None
        assert isinstance(value, Finite)
        (possible,) = np.nonzero(np.asarray(value.mask[self.index]))
        return (fmpq(int(possible[0])),) if len(possible) == 1 else None

    def _compute(self, node: Expr) -> Known:
        if is_input(node):
            return self._draw(node)
        bounded = self._from_bounds(node)
        if bounded is not None:
            return bounded
        args = [self.known.get(arg, ()) for arg in node.args]
        match node:
            case e.Const():
                return tuple(_constant(value, node) for value in node.values)
            case e.Affine():
                return _affine(node, args[0])
            case e.Gather():
                return tuple(args[0][index] for index in node.indices)
            case e.Concat():
                return tuple(item for arg in args for item in arg)
            case e.Argmax():
                return (self._argmax(args[0]),)
            case e.If() | e.Switch():
                return self._branch(node)
        return tuple(self._scalar(node, [_at(arg, i) for arg in args], i) for i in range(node.size))

    def _draw(self, node: Expr) -> Known:
        options = [_constants(arg) for arg in node.args]
        per_component = [[values[i if len(values) > 1 else 0] for values in options] for i in range(node.size)]
        return tuple(self._enter(node, i, min(values), max(values)) for i, values in enumerate(per_component))

    def _branch(self, node: e.If | e.Switch) -> Known:
        subject = self.known[node.args[0]]
        result = []
        for i in range(node.size):
            taken = _taken(node, _at(subject, i))
            if taken is not None:
                result.append(_at(self.known[taken], i))
            else:
                options = [_at(self.known[arg], i) for arg in node.args[1:]]
                result.append(options[0] if all(option == options[0] for option in options) else None)
        return tuple(result)

    def _argmax(self, scores: Known) -> Scalar:
        """The one index that is largest for all inputs, without a tie anywhere."""
        forms = [score for score in scores if isinstance(score, AffineForm)]
        if len(forms) < len(scores):
            return None
        for i, best in enumerate(forms):
            if all(_range(best - other, self.box)[0] > 0 for j, other in enumerate(forms) if j != i):
                return fmpq(i)
        return None

    def _scalar(self, node: Expr, args: Sequence[Scalar], component: int) -> Scalar:
        """One component of an elementwise operator."""
        if isinstance(node, e.And | e.Or):
            dominant = isinstance(node, e.Or)
            return dominant if dominant in args else None if None in args else not dominant
        if any(arg is None for arg in args):
            return None
        if isinstance(node, e.Not):
            return not args[0]
        forms = [_number(arg) for arg in args]
        if isinstance(node, e.Compare):
            return self._compare(node.op, args, forms)
        return self._number(node, forms, component)

    def _compare(self, op: str, args: Sequence[Scalar], forms: Sequence[AffineForm]) -> bool | None:
        if isinstance(args[0], bool):
            return (args[0] == args[1]) == (op == "==")
        low, high = _range(forms[0] - forms[1], self.box)
        match op:
            case "<":
                return True if high < 0 else False if low >= 0 else None
            case "<=":
                return True if high <= 0 else False if low > 0 else None
        equal = True if low == high == 0 else False if low > 0 or high < 0 else None
        return equal if equal is None or op == "==" else not equal

    def _number(self, node: Expr, x: Sequence[AffineForm], component: int) -> AffineForm | None:
        match node:
            case e.Add():
                return reduce(AffineForm.__add__, x)
            case e.Neg():
                return -x[0]
            case e.Mul():
                return _product(*x)
            case e.Div():
                return None if x[1].coefficients or x[1].constant == 0 else x[0].scale(1 / x[1].constant)
            case e.Pow(exponent=p):
                fits = not x[0].coefficients and p.denominator == 1 and (x[0].constant != 0 or p >= 0)
                return AffineForm(x[0].constant ** int(p)) if fits else None
            case e.Relu():
                return self._kink(x[0], ZERO)
            case e.LeakyRelu(slopes=slopes):
                return self._kink(x[0], rational(slopes[component if len(slopes) > 1 else 0]))
            case e.Abs():
                return self._kink(x[0], fmpq(-1))
            case e.Max() | e.Min():
                return self._extremum(x, ONE if isinstance(node, e.Max) else fmpq(-1))
            case e.Sign():
                return self._step(x[0], lambda v: fmpq((v > 0) - (v < 0)))
            case e.Floor():
                return self._step(x[0], lambda v: fmpq(v.floor()))
        return None  # a nonlinear function, pi, a draw without constant ends

    def _kink(self, x: AffineForm, slope: fmpq) -> AffineForm | None:
        low, high = _range(x, self.box)
        return x if low >= 0 else x.scale(slope) if high <= 0 else None

    def _step(self, x: AffineForm, function: Callable[[fmpq], fmpq]) -> AffineForm | None:
        """A function that never falls is constant where its ends agree."""
        low, high = (function(end) for end in _range(x, self.box))
        return AffineForm(low) if low == high else None

    def _extremum(self, x: Sequence[AffineForm], sign: fmpq) -> AffineForm | None:
        best = x[0]
        for other in x[1:]:
            low, high = _range((best - other).scale(sign), self.box)
            if low < 0 < high:
                return None
            best = best if low >= 0 else other
        return best


def forms(roots: Sequence[Expr], ends: Ends, decided: Linear | None = None, index: int = 0) -> list[Known]:
    """For each root the exact affine forms of its components (discrete values where decided), None where there is none.

    The box to evaluate them over is in `Forms.box`; use the class to ask for ranges.
    """
    over = Forms(ends, decided, index)
    return [over.values(root) for root in roots]


# Small pieces ---------------------------------------------------------------------------------------------------------


def _at(values: Sequence[Scalar], index: int) -> Scalar:
    """A component; a scalar goes with every one, a branch that was not evaluated with none."""
    return None if not values else values[0] if len(values) == 1 else values[index]


def _number(value: Scalar) -> AffineForm:
    assert value is not None
    return value if isinstance(value, AffineForm) else AffineForm(fmpq(value))


def _constant(value: Fraction, node: Expr) -> Scalar:
    if node.sort.is_number:
        return AffineForm(rational(value))
    return bool(value) if node.sort == BOOL else rational(value)


def _constants(node: Expr) -> tuple[Fraction, ...]:
    assert isinstance(node, e.Const)
    return node.values


def _taken(node: e.If | e.Switch, subject: Scalar) -> Expr | None:
    """The branch a decided subject takes."""
    if subject is None:
        return None
    if isinstance(node, e.If):
        return node.args[1] if subject else node.args[2]
    form = _number(subject)
    if form.coefficients:
        return None
    for case, branch in zip(node.cases, node.args[1:], strict=True):
        if case is None or rational(case) == form.constant:
            return branch
    raise TypeClash(f"no case of a match covers {form.constant}")


def _product(x: AffineForm, y: AffineForm) -> AffineForm | None:
    if not x.coefficients:
        return y.scale(x.constant)
    return x.scale(y.constant) if not y.coefficients else None


def _affine(node: e.Affine, x: Known) -> Known:
    """W x + b; a component that is not affine spoils only the rows that look at it."""
    rows: list[Scalar] = []
    for weights, bias in zip(node.weight.array.tolist(), node.bias.array.tolist(), strict=True):
        used = [(fmpq(*w.as_integer_ratio()), item) for w, item in zip(weights, x, strict=True) if w]
        if any(item is None for _, item in used):
            rows.append(None)
            continue
        start = AffineForm(fmpq(*bias.as_integer_ratio()))
        rows.append(reduce(lambda total, term: total + _number(term[1]).scale(term[0]), used, start))
    return tuple(rows)
