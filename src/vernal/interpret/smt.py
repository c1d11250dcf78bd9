"""Terms of satisfiability modulo theories as one more meaning of the graph: exact, and without bounds or relaxations.

Every node becomes terms over the reals in the language SMT-LIB 2: a number or an enum value (its index) one of sort
Real for each component, a truth value one of sort Bool. Constants are the rationals they are, weights included. ReLU,
`if`, min and max are `ite`; products, quotients, powers and square roots are polynomial constraints. Sines and
exponentials have no such terms, and are refused.

What is undefined (x / 0, the root of a negative number) is an unknown of its own, so that nothing is ever claimed from
it. Draws are unknowns, the winner of an argmax any index whose score is not below another. EXACT but for that, and for
pi, which is an unknown between two neighbouring floats: OVER.
"""

from __future__ import annotations

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
from vernal.model.sorts import BOOL, INT
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

    def __init__(self, starts: Mapping[Expr, Sequence[Start | PartialSpan]], tick: Tick = idle) -> None:
        self.starts, self.tick = starts, tick
        self.lines: list[str] = []
        self.unknowns: dict[str, str] = {}  # by name, the sort
        self.values: dict[Expr, Terms] = {}
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
        args = [self.values[arg] for arg in node.args]
        match node:
            case e.Const():
                return tuple(_constant(value, node) for value in node.values)
            case e.Var():
                return tuple(self._start(node, start) for start in self.starts[node])
            case e.Gather():
                return tuple(args[0][index] for index in node.indices)
            case e.Concat():
                return tuple(term for arg in args for term in arg)
            case e.Affine():
                return self._affine(node, args[0])
            case e.Argmax():
                return (self._argmax(node, args[0]),)
            case e.Choose():
                return self._choose(node, args[: len(node.options)])
            case e.Between():
                self.disturbances[node.occurrence] = tuple(self.unknown() for _ in range(node.size))
        return tuple(self._scalar(node, [_at(arg, i) for arg in args], i) for i in range(node.size))

    def _start(self, node: e.Var, start: Start | PartialSpan) -> str:
        made = self.unknown("Bool" if node.sort == BOOL else "Real")
        match start:
            case Span(lower, upper) | PartialSpan(lower, upper):
                if lower is not None:
                    self.claim(f"(<= {number(lower)} {made})")
                if upper is not None:
                    self.claim(f"(<= {made} {number(upper)})")
                if node.sort == INT:
                    self.claim(f"(is_int {made})")
            case OneOf(values):
                self.claim(_any([f"(= {made} {_constant(value, node)})" for value in values]))
        return made

    def _affine(self, node: e.Affine, x: Terms) -> Terms:
        rows = zip(node.weight.array.tolist(), node.bias.array.tolist(), strict=True)
        return tuple(self.define(_sum(_row(row, x), number(Fraction(bias)))) for row, bias in rows)

    def _argmax(self, node: e.Argmax, scores: Terms) -> str:
        winner = self.winners[node.occurrence] = self.unknown()
        best = [
            _all([f"(= {winner} {number(Fraction(i))})", *(f"(>= {score} {other})" for other in scores)])
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
    match node:
        case e.Add():
            return f"(+ {' '.join(x)})"
        case e.Neg():
            return f"(- {x[0]})"
        case e.Mul():
            return f"(* {x[0]} {x[1]})"
        case e.Relu():
            return f"(ite (>= {x[0]} 0.0) {x[0]} 0.0)"
        case e.Abs():
            return f"(ite (>= {x[0]} 0.0) {x[0]} (- {x[0]}))"
        case e.LeakyRelu(slopes=slopes):
            slope = number(slopes[component if len(slopes) > 1 else 0])
            return f"(ite (>= {x[0]} 0.0) {x[0]} (* {slope} {x[0]}))"
        case e.Max() | e.Min():
            return _extremum(x, ">=" if isinstance(node, e.Max) else "<=")
        case e.Sign():
            return f"(ite (> {x[0]} 0.0) 1.0 (ite (< {x[0]} 0.0) (- 1.0) 0.0))"
        case e.Floor():
            return f"(to_real (to_int {x[0]}))"
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


def _row(weights: Sequence[float], x: Terms) -> list[str]:
    return [f"(* {number(Fraction(w))} {term})" for w, term in zip(weights, x, strict=True) if w]


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
    return "Bool" if node.sort == BOOL else "Real"


def _constant(value: Fraction, node: Expr) -> str:
    """A value of the node's sort."""
    return ("true" if value else "false") if node.sort == BOOL else number(value)


def number(value: Fraction) -> str:
    """A rational as a term."""
    above, below = fmpz(abs(value.numerator)), fmpz(value.denominator)  # Python writes no int of over 4,300 digits
    term = f"{above}.0" if below == 1 else f"(/ {above}.0 {below}.0)"
    return f"(- {term})" if value < 0 else term
