"""From what was written to what it means: typed expressions, and formulas over them.

Boolean structure becomes formula structure as far as it goes; comparisons, Boolean variables and the like are atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from vernal.errors import ParseError, Place, TypeClash, UnsupportedFormula
from vernal.logic import arrays
from vernal.logic import syntax as s
from vernal.logic.claim import position_formula
from vernal.logic.expressions import Expressions
from vernal.logic.formula import (
    ALL_TIME,
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import classify
from vernal.logic.parser import MAX_DEPTH, parse
from vernal.logic.printing import number
from vernal.logic.scope import Scope, system_scope
from vernal.logic.syntax import Source, Syntax
from vernal.logic.times import untimed_operator
from vernal.model import expr as e
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL, Sort, join

__all__ = ["Scope", "components", "expression", "formula", "system_scope"]

SourceText = Syntax | Source | str

MAX_NEGATIONS = 20  # longer runs of `!` before a formula count as one or two


def expression(text: SourceText, scope: Scope, expected: Sort | None = None, *, source: Source | None = None) -> Expr:
    """An expression over the scope's names; `expected` is the sort it must fit. `source` says where a Syntax stands."""
    syntax, where = _read(text, source)
    reader = Expressions(scope, where)
    node = reader.read(syntax, expected)
    if expected is not None and join(node.sort, expected) != expected:
        advice = "; floor(x) makes a real an int" if (node.sort.is_number and expected.is_number) else ""
        raise TypeClash(f"expected {expected}, but this is {node.sort}{advice}", place=reader.place(syntax))
    return node


def components(
    text: SourceText, scope: Scope, expected: Sort, size: int, *, source: Source | None = None
) -> list[Expr]:
    """What a text gives to each component of an array: `[... for i in 0..8]`, another array, or a vector."""
    syntax, where = _read(text, source)
    reader = Expressions(scope, where)
    parts = arrays.components(reader, syntax, expected)
    if len(parts) != size:
        what = f"the array has {size} components, 0 to {size - 1}, but these are {len(parts)}"
        raise TypeClash(what, place=reader.place(syntax))
    for part in parts:
        if part.shape or join(part.sort, expected) != expected:
            shown = f"a vector of {part.size}" if part.shape else str(part.sort)
            raise TypeClash(f"expected {expected} for each component, but this is {shown}", place=reader.place(syntax))
    return parts


def formula(text: SourceText, scope: Scope, discrete: bool = True, *, source: Source | None = None) -> Formula:
    """A property over the scope's names; in continuous time (`discrete` false) bounds may be fractions."""
    syntax, where = _read(text, source)
    reader = _Formulas(Expressions(scope, where, in_atom=True), discrete)
    made = reader.read(syntax)
    try:
        classify(made)
    except UnsupportedFormula as error:
        raise error.at(reader.odd_one_out()) from None
    return made


def _read(text: SourceText, source: Source | None) -> tuple[Syntax, Source | None]:
    if isinstance(text, Syntax):
        return text, source
    where = Source(text) if isinstance(text, str) else text
    return parse(where), where


def _refuse(problem: str | None, place: Place | None) -> None:
    if problem is not None:
        raise UnsupportedFormula(problem, place=place)


# Formulas -------------------------------------------------------------------------------------------------------------

ENDLESS = "inf"
UNARY = {"F": Eventually, "G": Always}
TWO = {"U": Until, "R": Release, "W": Weak}


@dataclass(frozen=True)
class _Formulas:
    """Reads formulas: what is Boolean structure or temporal here, everything else as an atom."""

    atoms: Expressions
    discrete: bool
    seen: list[s.TemporalOperation] = field(default_factory=list)

    def odd_one_out(self) -> Place:
        """The first operator that differs from the first of all in having a path quantifier."""
        other = next(node for node in self.seen if len(node.op) != len(self.seen[0].op))
        return self.atoms.place(other) or Place(None, 1, 1)

    def read(self, syntax: Syntax) -> Formula:
        match syntax:
            case s.TemporalOperation():
                return self.temporal(syntax)
            case s.Unary("!", arg, count):
                made = self.read(arg)
                for _ in range(count if count <= MAX_NEGATIONS else 2 - count % 2):
                    made = Not(made)
                return made
            case s.Binary("->", left, right):
                return Implies(self.read(left), self.read(right))
            case s.Nary(op, args):
                parts = []
                for arg in args:
                    parts.append(self.read(arg))
                return self.junction(syntax, op, parts)
            case s.FoldedCall("all" | "any" as name, each):
                return self.fold(name, each)
            case s.ComparisonChain(operators) if len(operators) > 1:
                return And(tuple([self.atom_of(node, syntax) for node in self.atoms.comparisons(syntax)]))
        return self.atom(syntax)

    def fold(self, name: str, each: s.ForEach) -> Formula:
        """`all(F d[i] for i in 0..8)`: the formula once for each index."""
        parts = [replace(self, atoms=inner).read(each.body) for inner in arrays.readers(self.atoms, each)]
        if len(parts) < 2:
            return parts[0] if parts else Atom(TRUE if name == "all" else FALSE)
        return And(tuple(parts)) if name == "all" else Or(tuple(parts))

    def junction(self, syntax: s.Nary, op: str, parts: list[Formula]) -> Formula:
        if op != "<->":
            return And(tuple(parts)) if op == "&" else Or(tuple(parts))
        if len(parts) > MAX_DEPTH:
            what = f"a chain of {len(parts)} `<->` is too long; at most {MAX_DEPTH} are read"
            raise ParseError(what, place=self.atoms.place(syntax))
        made = parts[0]
        for part in parts[1:]:
            made = Iff(made, part)
        return made

    def atom(self, syntax: Syntax) -> Formula:
        return self.atom_of(self.atoms.read(syntax, BOOL), syntax)

    def atom_of(self, node: Expr, syntax: Syntax) -> Formula:
        if node.sort != BOOL:
            what = f"a property is true or false, but this is of sort {node.sort}; compare it with something"
            raise TypeClash(what, place=self.atoms.place(syntax))
        if node.shape:
            what = f"this is a vector of {node.size} truth values; name a component, as in x[0]"
            raise TypeClash(what, place=self.atoms.place(syntax))
        return position_formula(node)

    def temporal(self, syntax: s.TemporalOperation) -> Formula:
        self.seen.append(syntax)
        made = self.operation(syntax)
        if not self.discrete and isinstance(made, Temporal):
            _refuse(untimed_operator(made), self.atoms.place(syntax))
        return made

    def operation(self, syntax: s.TemporalOperation) -> Formula:
        quantifier = Quantifier(syntax.op[0]) if len(syntax.op) == 2 else None
        op = syntax.op[-1]
        if op == "X":
            return Next(self.read(syntax.args[0]), self.count(syntax), quantifier)
        bound = ALL_TIME if syntax.bound is None else self.bound(syntax.bound)
        if op in UNARY:
            return UNARY[op](self.read(syntax.args[0]), bound, quantifier)
        left, right = self.read(syntax.args[0]), self.read(syntax.args[1])
        if op == "M":  # the dual of W, as R is that of U
            return Not(Weak(Not(left), Not(right), bound, None if quantifier is None else quantifier.dual))
        return TWO[op](left, right, bound, quantifier)

    def count(self, syntax: s.TemporalOperation) -> int:
        if not self.discrete:
            what = f"{syntax.op} counts steps, and continuous time has none"
            raise UnsupportedFormula(what, place=self.atoms.place(syntax))
        return 1 if syntax.bound is None else int(self.instant(syntax.bound.lower))

    def bound(self, syntax: s.WrittenBound) -> Bound:
        lower = self.instant(syntax.lower)
        upper = None if syntax.upper is None or self.is_endless(syntax.upper) else self.instant(syntax.upper)
        if upper is not None and lower > upper:
            what = f"the bound [{number(lower)},{number(upper)}] is inverted"
            raise UnsupportedFormula(f"{what}; the lower end comes first", place=self.atoms.place(syntax))
        return Bound(lower, upper)

    def is_endless(self, syntax: Syntax) -> bool:
        """Whether an end is `inf`, and nothing of that name was defined."""
        return isinstance(syntax, s.Identifier) and syntax.text == ENDLESS and self.atoms.known(ENDLESS) is None

    def instant(self, syntax: Syntax) -> Fraction:
        """An end of a bound: a constant, not negative, and in discrete time a number of steps."""
        node, place = self.atoms.read(syntax), self.atoms.place(syntax)
        if not isinstance(node, e.Const) or node.shape or not node.sort.is_number:
            what = "a bound must be a constant number; it may use parameters and constants, not variables"
            raise UnsupportedFormula(what, place=place)
        if node.value < 0:
            raise UnsupportedFormula(f"the bound {number(node.value)} is negative", place=place)
        if self.discrete and node.value.denominator != 1:
            what = f"the bound {number(node.value)} is fractional, but in discrete time it counts steps"
            raise UnsupportedFormula(what, place=place)
        return node.value
