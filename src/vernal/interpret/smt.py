"""Terms of satisfiability modulo theories as one more meaning of the graph: exact, and without bounds or relaxations.

Every node becomes terms in the language SMT-LIB 2: a real number one of sort Real for each component, an integer or an
enum value (its index) one of sort Int, a truth value one of sort Bool. Constants are the rationals they are, weights
included. Neurons are unknowns with an equation each, which solvers like better than large terms. ReLU, `if`, min and
max are `ite`; products, quotients, powers and square roots are polynomial constraints. Sines and exponentials have no
such terms, and are refused.

What is undefined (x / 0, the root of a negative number) is an unknown of its own, so that nothing is ever claimed from
it. Draws are unknowns, the winner of an argmax any index whose score is not below another. EXACT but for that, and for
pi, which is an unknown between two neighbouring floats: OVER.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz

from vernal.errors import VernalError
from vernal.interpret.numbers.rounding import PI
from vernal.logic.direction import Direction
from vernal.model import expr as e
from vernal.model.expr import Expr, Function, Occurrence
from vernal.model.graph import order
from vernal.model.sorts import INT, Kind
from vernal.model.system import OneOf, Span, Start
from vernal.model.tick import Tick, idle

Terms = tuple[str, ...]
MAX_POWER = 32  # beyond, a power is not written out


class NoTerm(VernalError):
    """A node that has no term; says why."""


@dataclass(frozen=True, slots=True)
class PartialSpan:
    """A number of which one end or none is known; an unknown of a script need not be bounded."""

    lower: Fraction | None
    upper: Fraction | None


class Script:
    """A script under construction: the terms of the nodes that are needed, and the assertions.

    `tick` may stop the work by raising.
    """

    direction = Direction.OVER  # what is undefined, as a quotient by zero, may have any value

    def __init__(
        self,
        starts: Mapping[Expr, Sequence[Start | PartialSpan]],
        tick: Tick = idle,
        digits: int | None = None,
    ) -> None:
        """With `digits`, weights are rounded to so many: then a model is a guess, and that there is none no proof."""
        self.starts, self.tick, self.digits = starts, tick, digits
        self.lines: list[str] = []
        self.unknowns: dict[str, str] = {}  # by name, the sort
        self.values: dict[Expr, Terms] = {}
        self.names: dict[Expr, Terms] = {}  # of variables, the unknowns
        self.options: dict[Occurrence, Terms] = {}  # of a choice: the first that is true is taken, else the last
        self.winners: dict[Occurrence, str] = {}
        self.disturbances: dict[Occurrence, Terms] = {}

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def assertions(self) -> int:
        return sum(line.startswith("(assert") for line in self.lines)

    def require(self, condition: Expr) -> None:
        """The condition is true."""
        self.claim(self.need(condition)[0])

    def need(self, node: Expr) -> Terms:
        """The terms of a node, after those of its arguments."""
        for here in order([node]):
            if here not in self.values:
                self.tick()
                self.values[here] = self._compute(here)
        return self.values[node]

    # Lines ------------------------------------------------------------------------------------------------------------

    def unknown(self, sort: str = "Real") -> str:
        """A new unknown."""
        name = f"u{len(self.unknowns)}"
        self.unknowns[name] = sort
        self.lines.append(f"(declare-const {name} {sort})")
        return name

    def define(self, body: str, sort: str = "Real") -> str:
        """A name for a term: it is written once, however often it is used."""
        name = f"d{len(self.lines)}"
        self.lines.append(f"(define-fun {name} () {sort} {body})")
        return name

    def claim(self, condition: str) -> None:
        self.lines.append(f"(assert {condition})")

    # Nodes ------------------------------------------------------------------------------------------------------------

    def _compute(self, node: Expr) -> Terms:
        match node:
            case e.Const():
                return tuple(_constant(value, node) for value in node.values)
            case e.Var():
                self.names[node] = tuple(self._start(node, start) for start in self.starts[node])
                return self.names[node]
            case e.Gather():
                return tuple(self.values[node.args[0]][index] for index in node.indices)
            case e.Concat():
                return tuple(term for arg in node.args for term in self._coerced(arg, _sort(node)))
            case e.Affine():
                return self._affine(node, self._coerced(node.args[0], "Real"))
            case e.Argmax():
                return (self._argmax(node, self.values[node.args[0]]),)
            case e.Choose():
                return self._choose(node, [self._coerced(option, _sort(node)) for option in node.options])
            case e.Between():
                self.disturbances[node.occurrence] = tuple(self.unknown(_sort(node)) for _ in range(node.size))
        args = [self._coerced(arg, sort) for arg, sort in zip(node.args, _argument_sorts(node), strict=True)]
        return tuple(self._scalar(node, [_at(arg, i) for arg in args], i) for i in range(node.size))

    def _coerced(self, node: Expr, sort: str) -> Terms:
        """The terms of a node as terms of a sort: an integer is a real number, too."""
        same = sort == _sort(node)
        return self.values[node] if same else tuple(f"(to_real {term})" for term in self.values[node])

    def _start(self, node: e.Var, start: Start | PartialSpan) -> str:
        made = self.unknown(_sort(node))
        match start:
            case Span(lower, upper) | PartialSpan(lower, upper):
                if lower is not None:
                    self.claim(f"(<= {_constant(_inside(lower, node), node)} {made})")
                if upper is not None:
                    self.claim(f"(<= {made} {_constant(-_inside(-upper, node), node)})")
            case OneOf(values):
                self.claim(_any([f"(= {made} {_constant(value, node)})" for value in values if node.sort.has(value)]))
        return made

    def _affine(self, node: e.Affine, x: Terms) -> Terms:
        rows = zip(node.weight.array.tolist(), node.bias.array.tolist(), strict=True)
        return tuple(self._neuron(_sum(self._row(row, x), self._weight(bias))) for row, bias in rows)

    def _row(self, weights: Sequence[float], x: Terms) -> list[str]:
        return [f"(* {self._weight(w)} {term})" for w, term in zip(weights, x, strict=True) if w]

    def _weight(self, value: float) -> str:
        return number(Fraction(value) if self.digits is None else Fraction(f"{value:.{self.digits}g}"))

    def _neuron(self, value: str) -> str:
        made = self.unknown()
        self.claim(f"(= {made} {value})")
        return made

    def _argmax(self, node: e.Argmax, scores: Terms) -> str:
        winner = self.winners[node.occurrence] = self.unknown("Int")
        best = [
            _all([f"(= {winner} {i})", *(f"(>= {score} {other})" for other in scores)])
            for i, score in enumerate(scores)
        ]
        self.claim(_any(best))
        return winner

    def _choose(self, node: e.Choose, options: Sequence[Terms]) -> Terms:
        taken = self.options[node.occurrence] = tuple(self.unknown("Bool") for _ in options[1:])
        return tuple(
            self.define(_first_of(taken, [_at(option, i) for option in options]), _sort(node)) for i in range(node.size)
        )

    def _scalar(self, node: Expr, x: Sequence[str], component: int) -> str:
        """One component of an operator."""
        match node:
            case e.Pow() | e.Nonlinear(function=Function.SQRT):
                return self._power(x[0], node.exponent if isinstance(node, e.Pow) else Fraction(1, 2))
            case e.Div():
                return self._quotient(*x)
            case e.Between():
                drawn = self.disturbances[node.occurrence][component]
                self.claim(f"(=> (<= {x[0]} {x[1]}) (and (<= {x[0]} {drawn}) (<= {drawn} {x[1]})))")
                return drawn
            case e.Pi():
                pi = self.unknown()
                self.claim(f"(and (< {number(Fraction(PI[0]))} {pi}) (< {pi} {number(Fraction(PI[1]))}))")
                return pi
            case e.Switch():
                return self.define(self._match(node, x), _sort(node))
        return self.define(_plain(node, x, component), _sort(node))

    def _match(self, node: e.Switch, x: Sequence[str]) -> str:
        """The branch of the case that equals the subject; where a number equals none of them, anything."""
        subject, *branches = x
        tests = [f"(= {subject} {_constant(case, node.args[0])})" for case in node.cases if case is not None]
        if None not in node.cases and not node.args[0].sort.is_number:
            tests.pop()  # the cases are all there are
        elif None not in node.cases:
            branches.append(self.unknown(_sort(node)))
        return _first_of(tests, branches)

    def _quotient(self, x: str, y: str) -> str:
        quotient = self.unknown()
        self.claim(f"(=> (not (= {y} 0.0)) (= (* {quotient} {y}) {x}))")
        return quotient

    def _power(self, x: str, exponent: Fraction) -> str:
        """x^(p/q) as the root r of r^q = x^p; of 1 / x where the exponent is negative."""
        if max(abs(exponent.numerator), exponent.denominator) > MAX_POWER:
            raise NoTerm(f"a power ^{exponent} is too high to be written out")
        if exponent < 0:
            return self._quotient("1.0", self._power(x, -exponent))
        power = self.define(_product(x, exponent.numerator))
        if exponent.denominator == 1:
            return power
        root = self.unknown()
        equation = f"(= {_product(root, exponent.denominator)} {power})"
        self.claim(f"(=> (>= {x} 0.0) (and (>= {root} 0.0) {equation}))")
        return root


# Terms ----------------------------------------------------------------------------------------------------------------


def _plain(node: Expr, x: Sequence[str], component: int) -> str:
    """An operator whose value is a term over its arguments."""
    zero = _zero(node.args[0]) if node.args else ""
    match node:
        case e.Add():
            return f"(+ {' '.join(x)})"
        case e.Neg():
            return f"(- {x[0]})"
        case e.Mul():
            return f"(* {x[0]} {x[1]})"
        case e.Relu():
            return f"(ite (>= {x[0]} {zero}) {x[0]} {zero})"
        case e.Abs():
            return f"(ite (>= {x[0]} {zero}) {x[0]} (- {x[0]}))"
        case e.LeakyRelu(slopes=slopes):
            slope = number(slopes[component if len(slopes) > 1 else 0])
            return f"(ite (>= {x[0]} 0.0) {x[0]} (* {slope} {x[0]}))"
        case e.Max() | e.Min():
            return _extremum(x, ">=" if isinstance(node, e.Max) else "<=")
        case e.Sign():
            low, middle, high = (_constant(Fraction(value), node) for value in (-1, 0, 1))
            return f"(ite (> {x[0]} {zero}) {high} (ite (< {x[0]} {zero}) {low} {middle}))"
        case e.Floor():
            whole = x[0] if _sort(node.args[0]) == "Int" else f"(to_int {x[0]})"
            return whole if _sort(node) == "Int" else f"(to_real {whole})"
        case e.Compare(op=op):
            return f"(not (= {x[0]} {x[1]}))" if op == "!=" else f"({'=' if op == '==' else op} {x[0]} {x[1]})"
        case e.Not():
            return f"(not {x[0]})"
        case e.And():
            return _all(x)
        case e.Or():
            return _any(x)
        case e.If():
            return f"(ite {x[0]} {x[1]} {x[2]})"
    name = node.function.value if isinstance(node, e.Nonlinear) else type(node).__name__.lower()
    raise NoTerm(f"{name} is no polynomial, and has no term")


def _extremum(x: Sequence[str], op: str) -> str:
    """The argument that is largest, or least; the first of those."""
    tests = [_all([f"({op} {one} {other})" for other in x]) for one in x[:-1]]
    return _first_of(tests, x)


def _first_of(tests: Sequence[str], branches: Sequence[str]) -> str:
    """The branch of the first test that is true; there is one branch more than there are tests."""
    made = branches[len(tests)]
    for test, branch in zip(reversed(tests), reversed(branches[: len(tests)]), strict=True):
        made = f"(ite {test} {branch} {made})"
    return made


def _sum(terms: Sequence[str], constant: str) -> str:
    return f"(+ {' '.join([constant, *terms])})" if terms else constant


def _product(x: str, power: int) -> str:
    return "1.0" if power == 0 else x if power == 1 else f"(* {' '.join([x] * power)})"


def _all(terms: Sequence[str]) -> str:
    return f"(and {' '.join(terms)})" if terms else "true"


def _any(terms: Sequence[str]) -> str:
    return f"(or {' '.join(terms)})" if terms else "false"


def _at(terms: Terms, index: int) -> str:
    """A component; a scalar goes with every one."""
    return terms[0] if len(terms) == 1 else terms[index]


def _sort(node: Expr) -> str:
    return {Kind.BOOL: "Bool", Kind.REAL: "Real"}.get(node.sort.kind, "Int")


def _argument_sorts(node: Expr) -> list[str]:
    """The sorts of the terms that an elementwise operator is given."""
    own = [_sort(arg) for arg in node.args]
    match node:
        case e.Compare():
            return ["Real" if "Real" in own else sort for sort in own]
        case e.If() | e.Switch():
            return [own[0], *(_sort(node) for _ in own[1:])]
        case e.Sign() | e.Floor() | e.Not() | e.And() | e.Or():
            return own
    return [_sort(node)] * len(own)


def _inside(end: Fraction, node: Expr) -> Fraction:
    """The lower end of an interval; of integers, the least of them."""
    return Fraction(math.ceil(end)) if node.sort == INT else end


def _zero(node: Expr) -> str:
    return "0" if _sort(node) == "Int" else "0.0"


def _constant(value: Fraction, node: Expr) -> str:
    """A value of the node's sort."""
    match _sort(node):
        case "Bool":
            return "true" if value else "false"
        case "Int":
            whole = str(fmpz(abs(value.numerator)))
            return f"(- {whole})" if value < 0 else whole
    return number(value)


def number(value: Fraction) -> str:
    """A rational as a term."""
    above, below = fmpz(abs(value.numerator)), fmpz(value.denominator)  # Python writes no int of over 4,300 digits
    term = f"{above}.0" if below == 1 else f"(/ {above}.0 {below}.0)"
    return f"(- {term})" if value < 0 else term
