"""Conditions over bounded integers: nested and/or of linear comparisons with integer coefficients.

Every Boolean expression over the state that is piecewise linear becomes one: `if`, `min`, `max` and `abs` are taken
apart into cases. A comparison is kept once, as `coefficients . x <= most` with its sign normalised, however often it is
written and in whatever form. Over the integers the negation is a comparison of the same kind, so nothing is strict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.interpret.geometry.affine_form import AffineForm, arithmetic, fraction, rational
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.graph import order
from vernal.model.lazy import cached_property
from vernal.model.sorts import BOOL

MAX_CASES = 4096  # of one comparison, with all its `if`s taken apart


class NotLinear(Exception):
    """A condition is not piecewise linear in the state, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Comparison:
    """`coefficients . x <= most`, or with `wanted` false its negation; a number of the table of atoms."""

    atom: int
    wanted: bool = True


@dataclass(frozen=True)
class Connected:
    """Every part, or some part; without parts the first is true and the second false."""

    every: bool
    parts: tuple[Condition, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: conditions of thousands of parts are keys of tables."""
        return hash((self.every, self.parts))


Condition = Comparison | Connected
ALWAYS, NEVER = Connected(True, ()), Connected(False, ())
LinearCases = list[tuple[Condition, AffineForm]]  # the forms of a number, and the condition for each
LinearAtom = tuple[tuple[tuple[int, int], ...], int]  # coefficients by column, and the number the sum is at most


def negated(condition: Condition) -> Condition:
    """The condition that is true where this one is false."""
    if isinstance(condition, Comparison):
        return Comparison(condition.atom, not condition.wanted)
    return connected(not condition.every, [negated(part) for part in condition.parts])


def connected(every: bool, parts: Sequence[Condition]) -> Condition:
    """A conjunction or disjunction, flat, without constants and repetitions."""
    flat: dict[Condition, None] = {}
    for part in parts:
        if part == (NEVER if every else ALWAYS):
            return part
        inner = part.parts if isinstance(part, Connected) and part.every is every else (part,)
        flat.update(dict.fromkeys(inner))
    if any(negated(part) in flat for part in flat if isinstance(part, Comparison)):
        return NEVER if every else ALWAYS
    return next(iter(flat)) if len(flat) == 1 else Connected(every, tuple(flat))


def substituted(condition: Condition, known: Mapping[int, bool]) -> Condition:
    """A condition in which some comparisons are known to be true or false."""
    if isinstance(condition, Comparison):
        if condition.atom not in known:
            return condition
        return ALWAYS if known[condition.atom] is condition.wanted else NEVER
    return connected(condition.every, [substituted(part, known) for part in condition.parts])


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """The parts of a conjunction."""
    return condition.parts if isinstance(condition, Connected) and condition.every else (condition,)


class AtomTable:
    """Conditions over the columns of a state, and the comparisons they share."""

    def __init__(self, variables: Sequence[Var]) -> None:
        self.columns: Mapping[Expr, int] = {var: column for column, var in enumerate(variables)}
        self.atoms: list[LinearAtom] = []
        self._numbers: dict[LinearAtom, int] = {}
        self._made: dict[Expr, Condition] = {}

    def condition(self, expr: Expr) -> Condition:
        """A Boolean expression over the state as a condition."""
        for node in order([expr], self._made):
            if node.sort == BOOL and not node.shape and node not in self._made:
                self._made[node] = self._condition(node)
        return self._made[expr]

    def _condition(self, node: Expr) -> Condition:
        parts = [self._made.get(arg, ALWAYS) for arg in node.args]
        match node:
            case e.Const():
                return ALWAYS if node.value else NEVER
            case e.Var():
                return self._below(_form(self._known(node), -1, 1))
            case e.Not():
                return negated(parts[0])
            case e.And() | e.Or():
                return connected(isinstance(node, e.And), parts)
            case e.If():
                return _if(parts[0], parts[1], parts[2])
            case e.Compare(op=op, args=(left, right)):
                return self._comparison(op, left, right)
        raise NotLinear(f"a condition with {type(node).__name__.lower()} in it is not one of linear comparisons")

    def _known(self, var: Var) -> Var:
        if var not in self.columns:
            raise NotLinear(f"{var.name!r} is no variable of the state")
        return var

    def expression(self, condition: Condition) -> Expr:
        """A condition as an expression over the state."""
        if isinstance(condition, Comparison):
            made = self.comparison(condition.atom)
            return made if condition.wanted else build.negate(made)
        return (build.conj if condition.every else build.disj)(*map(self.expression, condition.parts))

    def comparison(self, atom: int) -> Expr:
        """A comparison of the table as an expression."""
        terms, most = self.atoms[atom]
        variables = list(self.columns)
        first = variables[terms[0][0]]
        if first.sort == BOOL:
            return build.negate(first)
        if first.sort.labels:
            labels = (e.Const((), first.sort, (), (Fraction(place),)) for place in range(max(most + 1, 0)))
            return build.disj(*(build.eq(first, label) for label in labels))
        parts = [variables[column] if factor == 1 else build.mul(factor, variables[column]) for column, factor in terms]
        return build.compare("<=", parts[0] if len(parts) == 1 else build.add(*parts), most)

    # Comparisons ------------------------------------------------------------------------------------------------------

    def _comparison(self, op: str, left: Expr, right: Expr) -> Condition:
        if left.sort == BOOL:
            same = _if(self._made[left], self._made[right], negated(self._made[right]))
            return same if op == "==" else negated(same)
        match op:
            case "<=":
                return self._compared(left, right, False)
            case "<":
                return self._compared(left, right, True)
        same = connected(True, [self._compared(left, right, False), self._compared(right, left, False)])
        return same if op == "==" else negated(same)

    def _compared(self, left: Expr, right: Expr, strict: bool) -> Condition:
        """left <= right, or left < right, in every case in which both are linear."""
        ways = [
            connected(True, [here, there, self._below(a - c, strict)])
            for here, a in self._cases(left)
            for there, c in self._cases(right)
        ]
        return connected(False, ways)

    def _below(self, form: AffineForm, strict: bool = False) -> Condition:
        """form <= 0, or form < 0, over the integers."""
        terms = {self.columns[var]: fraction(a) for (var, _), a in form.coefficients.items()}
        scale = math.lcm(*(a.denominator for a in terms.values())) if terms else 1
        most = -fraction(form.constant) * scale
        if not terms:
            return ALWAYS if most > 0 or (most == 0 and not strict) else NEVER
        whole = {column: int(a * scale) for column, a in sorted(terms.items())}
        common = math.gcd(*whole.values())
        bound = Fraction(most, common)
        limit = math.ceil(bound) - 1 if strict else math.floor(bound)
        return self._entered({column: a // common for column, a in whole.items()}, limit)

    def _entered(self, terms: Mapping[int, int], most: int) -> Comparison:
        """The comparison, its first coefficient positive: -a x <= m is the negation of a x <= -m - 1."""
        wanted = next(iter(terms.values())) > 0
        if not wanted:
            terms, most = {column: -a for column, a in terms.items()}, -most - 1
        atom = tuple(terms.items()), most
        if atom not in self._numbers:
            self._numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
        return Comparison(self._numbers[atom], wanted)

    # Numbers ----------------------------------------------------------------------------------------------------------

    def _cases(self, expr: Expr) -> LinearCases:
        """The linear forms of a number, each under its condition; the conditions exclude each other and cover all."""
        made: dict[Expr, LinearCases] = {}
        for node in order([expr]):
            if node.sort != BOOL:
                made[node] = self._cases_of(node, made)
                if len(made[node]) > MAX_CASES:
                    raise NotLinear(f"a number has more than {MAX_CASES:,} cases in which it is linear")
        return made[expr]

    def _cases_of(self, node: Expr, made: Mapping[Expr, LinearCases]) -> LinearCases:
        match node:
            case e.Const() if not node.shape:
                return [(ALWAYS, AffineForm(rational(node.value)))]
            case e.Var():
                return [(ALWAYS, _form(self._known(node), 1, 0))]
            case e.If(args=(condition, then, otherwise)):
                chosen = self.condition(condition)
                return _under(chosen, made[then]) + _under(negated(chosen), made[otherwise])
            case e.Switch(args=(subject, *branches), cases=values):
                return self._switch(subject, values, [made[branch] for branch in branches])
            case e.Min(args=args) | e.Max(args=args):
                return self._extremum(isinstance(node, e.Min), args, made)
            case e.Abs(args=(x,)):
                return self._extremum(False, (x, build.neg(x)), {**made, build.neg(x): _negative(made[x])})
            case e.Relu(args=(x,)):
                return self._extremum(False, (x, build.const(0)), {**made, build.const(0): self._cases(build.const(0))})
        return _combined(node, [made[arg] for arg in node.args])

    def _switch(
        self,
        subject: Expr,
        values: Sequence[Fraction | None],
        branches: Sequence[LinearCases],
    ) -> LinearCases:
        found: LinearCases = []
        rest: Condition = ALWAYS
        for value, branch in zip(values, branches, strict=True):
            here = rest if value is None else self._is(subject, value)
            found += _under(connected(True, [rest, here]), branch)
            rest = connected(True, [rest, negated(here)])
        return found

    def _is(self, subject: Expr, value: Fraction) -> Condition:
        if subject.sort == BOOL:
            return self.condition(subject if value else build.negate(subject))
        return self.condition(build.eq(subject, e.Const((), subject.sort, (), (value,))))

    def _extremum(
        self,
        least: bool,
        args: Sequence[Expr],
        made: Mapping[Expr, LinearCases],
    ) -> LinearCases:
        """The first of the least (or largest) arguments, case by case."""
        best = made[args[0]]
        for arg in args[1:]:
            best = [
                case
                for here, a in best
                for there, c in made[arg]
                for case in self._better(connected(True, [here, there]), a, c, least)
            ]
        return [case for case in best if case[0] != NEVER]

    def _better(self, under: Condition, a: AffineForm, c: AffineForm, least: bool) -> LinearCases:
        first = self._below(a - c if least else c - a)
        return [(connected(True, [under, first]), a), (connected(True, [under, negated(first)]), c)]


def _if(condition: Condition, then: Condition, otherwise: Condition) -> Condition:
    return connected(False, [connected(True, [condition, then]), connected(True, [negated(condition), otherwise])])


def _form(var: Expr, factor: int, constant: int) -> AffineForm:
    """factor * x + constant"""
    return AffineForm(rational(constant), {(var, 0): rational(factor)})


def _under(condition: Condition, cases: LinearCases) -> LinearCases:
    joined = ((connected(True, [condition, own]), form) for own, form in cases)
    return [case for case in joined if case[0] != NEVER]


def _negative(cases: LinearCases) -> LinearCases:
    return [(condition, -form) for condition, form in cases]


def _combined(node: Expr, args: Sequence[LinearCases]) -> LinearCases:
    """Sums, and products with constants, in every combination of the cases of the arguments."""
    ways: list[tuple[Condition, list[AffineForm]]] = [(ALWAYS, [])]
    for cases in args:
        ways = [(connected(True, [under, own]), [*forms, form]) for under, forms in ways for own, form in cases]
        if len(ways) > MAX_CASES:
            raise NotLinear(f"a number has more than {MAX_CASES:,} cases in which it is linear")
    found = []
    for under, forms in ways:
        form = arithmetic(node, forms) if forms and not node.shape else None
        if form is None:
            raise NotLinear(f"{type(node).__name__.lower()} of numbers is not piecewise linear in the state")
        found.append((under, form))
    return [case for case in found if case[0] != NEVER]
