"""Rows of a mixed-integer program as one more meaning of the expression graph.

Every node becomes forms over columns: a number one for each component, a truth value a form that is 0 or 1, an enum
value one 0/1 form for each label. ReLU, abs, max and min are big-M rows with bounds from `Linear`; a phase, a condition
or a winner that bounds decide costs nothing, and a branch that cannot be taken is not looked at. Products of unknowns
and smooth functions are enclosed (`milp.curves`).

Direction OVER: all decisions are closed (`<` is read as `<=`, and both answers are allowed at equality), rows are
widened by their rounding and relaxed by a tolerance (see `milp.rows`). Ties of an argmax allow every maximal index.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.milp import truth as milp_truth
from vernal.interpret.milp.curves import Cuts, NonlinearNode, enclosed
from vernal.interpret.milp.needed_arguments import demanded, live_branches
from vernal.interpret.milp.rows import ONE, ZERO, ColumnForm, ColumnForms, Sheet, Unsuitable, at, constant
from vernal.interpret.numbers.rounding import PI, UNIT, float_above, float_below, gamma
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.value_sets import Range, as_range
from vernal.logic.direction import Direction
from vernal.model import expr as e
from vernal.model.expr import Expr, Occurrence
from vernal.model.sorts import BOOL, INT, Kind
from vernal.model.system import OneOf, Span, Start
from vernal.model.tick import Tick, idle

CONSTANT_WIDTH = 1e-12  # relative; a value known this well is a constant


class Encoder:
    """The program of one box of starts, written as far as nodes are needed.

    `linear` bounds the graph over (a box around) these starts; `exact` answers where a margin is zero; `tick` may stop
    the work by raising.
    """

    direction = Direction.OVER  # rows have room for rounding, and nonlinear operators are only enclosed

    def __init__(
        self,
        starts: Mapping[Expr, Sequence[Start]],
        linear: Linear,
        exact: Forms | None = None,
        tick: Tick = idle,
        cuts: Cuts | None = None,
    ) -> None:
        self.sheet = Sheet()
        self.cuts: Cuts = {} if cuts is None else cuts  # where the ranges of nonlinear operators are divided
        self.nonlinear: list[NonlinearNode] = []  # these operators, as far as they were needed
        self.starts, self.linear, self.exact, self.tick = starts, linear, exact, tick
        self.values: dict[Expr, ColumnForms] = {}
        self.truths: dict[Expr, bool | None] = {}  # conditions asked before
        self.picks: dict[Occurrence, ColumnForms] = {}  # the options of a choice, the indices of an argmax
        self.disturbances: dict[Occurrence, ColumnForms] = {}

    @np.errstate(all="ignore")  # what overflows makes a row that is refused
    def need(self, node: Expr) -> ColumnForms:
        """The forms of a node, after those it depends on."""
        stack = [node]
        while stack:
            here = stack[-1]
            missing = [] if here in self.values else [arg for arg in self.needs(here) if arg not in self.values]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self.tick()
            if here not in self.values:
                self.values[here] = self._compute(here)
        return self.values[node]

    def needs(self, node: Expr) -> Sequence[Expr]:
        """The arguments that matter, knowing what bounds have decided."""
        if self.known(node) is not None:
            return ()
        if isinstance(node, e.Max | e.Min):
            self.linear.need(node)
            return (self.linear.rewritten[node],)
        if isinstance(node, e.Switch) and node.args[0].sort.is_number and not isinstance(node.args[0], e.Argmax):
            branches = live_branches(self.linear, node)
            return branches if len(branches) == 1 else (*milp_truth.case_tests(node), *branches)
        if isinstance(node, e.Argmax) and milp_truth.selects_scores(node.args[0]):
            scores = node.args[0]
            return (scores,) if self.known(scores) is not None else self.needs(scores)
        return demanded(self.linear, node)

    def require(self, condition: Expr, wanted: bool = True) -> None:
        """The condition is true (or false) at every point of the program."""
        milp_truth.require(self, condition, wanted)

    def decided(self, condition: Expr) -> bool | None:
        """A condition that bounds, or at margin zero exact forms, decide."""
        return milp_truth.decided(self, condition)

    # Dispatch ---------------------------------------------------------------------------------------------------------

    def known(self, node: Expr) -> ColumnForms | None:
        """The value of a node that bounds have decided."""
        if node.sort == BOOL and not node.shape:
            truth = self.decided(node)
            return None if truth is None else (ONE if truth else ZERO,)
        if not node.sort.is_number or isinstance(node, e.Var | e.Choose | e.Between | e.Const | e.Argmax):
            return None
        value = self.linear.value(node)
        if not isinstance(value, Range):
            return None
        lower, upper = (np.atleast_1d(end[0]) for end in (value.lower, value.upper))
        if not bool((lower == upper).all()) or not bool(np.isfinite(lower).all()):
            return None
        return tuple(constant(float(number)) for number in lower)

    def _compute(self, node: Expr) -> ColumnForms:
        decided = self.known(node)
        if decided is not None:
            return decided
        if node.sort == BOOL and not isinstance(node, e.Var | e.Const | e.If | e.Switch | e.Choose | e.Gather):
            return milp_truth.truth(self, node)
        match node:
            case e.Const():
                return self._const(node)
            case e.Var():
                return self._var(node)
            case e.If() | e.Switch() | e.Choose():
                return milp_truth.branch(self, node)
            case e.Argmax():
                return milp_truth.argmax(self, node)
            case e.Between():
                return self._between(node)
            case e.Affine():
                forms = affine(self.sheet, node, self.values[node.args[0]])
                return self._units(node, forms) if is_pass_through(node) else forms
            case e.Gather():
                return tuple(self.values[node.args[0]][index] for index in node.indices)
            case e.Concat():
                return tuple(form for arg in node.args for form in self.values[arg])
            case e.Max() | e.Min():
                return self.values[self.linear.rewritten[node]]
        return tuple(self._scalar(node, [at(self.values[arg], i) for arg in node.args], i) for i in range(node.size))

    # Leaves -----------------------------------------------------------------------------------------------------------

    def _const(self, node: e.Const) -> ColumnForms:
        if node.sort.kind is Kind.ENUM:
            return tuple(ONE if node.value == label else ZERO for label in range(len(node.sort.labels)))
        return tuple(constant(value) for value in node.values)

    def _var(self, node: e.Var) -> ColumnForms:
        starts = self.starts[node]
        if node.sort.kind is not Kind.ENUM:
            return tuple(self._start(start, integer=node.sort == INT) for start in starts)
        (start,) = starts
        assert isinstance(start, OneOf)
        chosen = dict(zip(start.values, self.sheet.one_of(len(start.values)), strict=True))
        return tuple(chosen.get(Fraction(label), ZERO) for label in range(len(node.sort.labels)))

    def _start(self, start: Start, *, integer: bool) -> ColumnForm:
        match start:
            case Span(lower, upper):
                return self.sheet.column(float_below(lower), float_above(upper), integer=integer)
            case OneOf(values):
                numbers = [constant(value) for value in values]
                ends = float_below(min(values)), float_above(max(values))
                return self.sheet.select(self.sheet.one_of(len(values)), numbers, *ends)

    def _between(self, node: e.Between) -> ColumnForms:
        made = []
        for i in range(node.size):
            low, high = (at(self.values[arg], i) for arg in node.args)
            drawn = self.sheet.column(*self.ends(node, i))
            for gap in (self.sheet.minus(low, drawn), self.sheet.minus(drawn, high)):
                self.sheet.at_most(gap)
            made.append(drawn)
        self.disturbances[node.occurrence] = tuple(made)
        return tuple(made)

    def _units(self, node: e.Affine, forms: ColumnForms) -> ColumnForms:
        """A layer that passes numbers on: columns of its own, as where every unit of a network is a variable."""
        made = []
        for i, form in enumerate(forms):
            unit = form if form.is_constant else self.sheet.column(*self.ends(node, i, tight=False))
            if unit is not form:
                self.sheet.equal(unit, form)
            made.append(unit)
        return tuple(made)

    # Numbers ----------------------------------------------------------------------------------------------------------

    def ends(self, node: Expr, component: int = 0, *, tight: bool = True) -> tuple[float, float]:
        """A rigorous range of one component."""
        if tight:
            x = self.linear.range(node)
        else:
            self.linear.need(node)
            x = as_range(self.linear.backend, self.linear.values[node])
        lower, upper = (np.ravel(end[0]) for end in (x.lower, x.upper))
        place = component if len(lower) > 1 else 0
        return float(lower[place]), float(upper[place])

    def _scalar(self, node: Expr, x: Sequence[ColumnForm], component: int) -> ColumnForm:
        """One component of an operator on numbers."""
        match node:
            case e.Add():
                return self.sheet.combine([(1.0, form) for form in x])
            case e.Neg():
                return self.sheet.combine([(-1.0, x[0])])
            case e.Mul() if x[0].is_constant or x[1].is_constant:
                return self.scaled(*(x if x[0].is_constant else x[::-1]))
            case e.Div() if x[1].is_constant and abs(x[1].constant) > 2 * x[1].error:
                return self.scaled(_inverse(x[1]), x[0])
            case e.Relu():
                return self.relu(x[0], *self.ends(node.args[0], component))
            case e.Abs():
                return self._kink(node, x[0], component, -1.0)
            case e.LeakyRelu(slopes=slopes):
                slope = slopes[component if len(slopes) > 1 else 0]
                return self._kink(node, x[0], component, float(slope))
            case e.Sign():
                return self._sign(x[0], *self.ends(node.args[0], component))
            case e.Floor():
                return self._floor(node, x[0], component)
        return self._narrow(node, x, component)

    def scaled(self, factor: ColumnForm, x: ColumnForm) -> ColumnForm:
        """A multiple of a form."""
        return self.sheet.combine([(factor.constant, x)], slack=factor.error * (x.size + x.error))

    def relu(self, x: ColumnForm, lower: float, upper: float) -> ColumnForm:
        """max(x, 0): three rows and a binary, where the sign is open."""
        if lower >= 0:
            return x
        if upper <= 0:
            return ZERO
        sheet = self.sheet
        result, active = sheet.column(0.0, upper), sheet.binary()
        sheet.at_most(sheet.minus(x, result))
        sheet.at_most(sheet.combine([(1.0, result), (-1.0, x), (-lower, active)]), -lower)
        sheet.at_most(sheet.combine([(1.0, result), (-upper, active)]))
        return result

    def _kink(self, node: Expr, x: ColumnForm, component: int, slope: float) -> ColumnForm:
        """x above 0 and slope * x below, which is slope * x + (1 - slope) * relu(x)."""
        positive = self.relu(x, *self.ends(node.args[0], component))
        return self.sheet.combine([(slope, x), (1.0 - slope, positive)], slack=UNIT * (2 * x.size + x.error))

    def _sign(self, x: ColumnForm, lower: float, upper: float) -> ColumnForm:
        if lower > 0 or upper < 0:
            return ONE if lower > 0 else constant(-1.0)
        sheet = self.sheet
        above, below, zero = sheet.one_of(3)
        sheet.decide(sheet.combine([(-1.0, x)]), above)
        sheet.decide(x, below)
        sheet.vanish(x, zero)
        return sheet.minus(above, below)

    def _floor(self, node: Expr, x: ColumnForm, component: int) -> ColumnForm:
        """An integer column n with n <= x <= n + 1."""
        if node.args[0].sort == INT:
            return x
        lower, upper = self.ends(node.args[0], component)
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise Unsuitable("numerics: the argument of floor is unbounded")
        if math.floor(lower) == math.floor(upper):
            return constant(math.floor(lower))
        whole = self.sheet.column(math.floor(lower), math.floor(upper), integer=True)
        self.sheet.decide(self.sheet.minus(whole, x))
        self.sheet.decide(self.sheet.combine([(1.0, x), (-1.0, whole)], -1.0))
        return whole

    def _narrow(self, node: Expr, x: Sequence[ColumnForm], component: int) -> ColumnForm:
        """What is not piecewise linear: practically a constant, or enclosed."""
        if isinstance(node, e.Pi):
            return constant(PI[0], PI[1] - PI[0])
        lower, upper = self.ends(node, component)
        if math.isfinite(upper - lower) and upper - lower <= CONSTANT_WIDTH * (1 + abs(lower)):
            return constant(lower, upper - lower)
        return enclosed(self, node, x, component)


# Small pieces ---------------------------------------------------------------------------------------------------------


def _inverse(x: ColumnForm) -> ColumnForm:
    near = 1.0 / x.constant
    return ColumnForm({}, near, UNIT * abs(near) + 2 * x.error * near * near, abs(near))


def is_pass_through(node: e.Affine) -> bool:
    """Whether a layer is the identity: the units in which an unrolled network keeps what it will need later."""
    W = node.weight.array
    return W.shape[0] == W.shape[1] and not node.bias.array.any() and np.array_equal(W, np.eye(len(W)))


def affine(sheet: Sheet, node: e.Affine, x: ColumnForms) -> ColumnForms:
    """W x + b by one matrix product over the columns the inputs mention."""
    columns = sorted({column for form in x for column in form.terms})
    place = {column: i for i, column in enumerate(columns)}
    X = np.zeros((len(x), len(columns) + 1))
    for row, form in enumerate(x):
        X[row, -1] = form.constant
        for column, value in form.terms.items():
            X[row, place[column]] = value
    W, b = node.weight.array, node.bias.array
    Y = W @ X
    sizes = np.array([form.size for form in x])
    errors = np.abs(W) @ np.array([form.error for form in x]) + gamma(len(x) + 4) * (np.abs(W) @ sizes + np.abs(b))
    result = []
    for row, bias, error in zip(Y.tolist(), b.tolist(), errors.tolist(), strict=True):
        terms = {column: value for column, value in zip(columns, row, strict=False) if value != 0.0}
        offset = row[-1] + bias
        result.append(ColumnForm(terms, offset, error * (1 + gamma(len(x) + 4)), sheet.size(terms, offset)))
    return tuple(result)
