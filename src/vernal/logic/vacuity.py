"""Vacuity: a claim that is true whatever the system does is probably not the claim that was meant.

`G !(h > 100 & h < -100)` holds of everything, since no h is both: a conjunction where a disjunction was meant. Such a
formula is found by looking at its Boolean parts alone: comparisons of one linear form with constants, of one variable
with labels, and Boolean variables. What needs more reasoning than that is not called vacuous.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, And, Atom, Eventually, Formula, Next, Not, Or, Quantifier, Release, Until, Weak
from vernal.logic.normal import FALSITY, TRUTH, Logic, classify, fold, nnf, rebuild
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.terms import terms

MAX_TERMS = 256  # conjunctions of a disjunctive normal form; with more, a formula is not called vacuous


def is_vacuous(formula: Formula) -> bool:
    """Whether the formula is true of every path of every system with these variables."""
    return simplified(formula) == TRUTH


def simplified(formula: Formula) -> Formula:
    """The same claim without parts that are true or false of everything; as it is where it has no normal form."""
    try:
        return fold(nnf(formula), _simplify)
    except UnsupportedFormula:
        return formula


def _simplify(node: Formula, args: tuple[Formula, ...]) -> Formula:
    made = rebuild(node, args)
    if isinstance(made, Atom) or (isinstance(made, Not) and isinstance(made.arg, Atom)):
        return _known_literal(made)
    if classify(made) is Logic.STATE:
        if _is_contradiction(nnf(Not(made))):
            return TRUTH
        return FALSITY if _is_contradiction(made) else made
    match made:
        case And(parts):
            return TRUTH if all(part == TRUTH for part in parts) else FALSITY if FALSITY in parts else made
        case Or(parts):
            return TRUTH if TRUTH in parts else made
        case Always(arg=arg) | Next(arg=arg, quantifier=Quantifier.ALL) if arg == TRUTH:
            return TRUTH
        case Eventually(arg=arg, bound=bound) if arg == TRUTH and bound.lower == 0:
            return TRUTH
        case Until(right=right, bound=bound) if right == TRUTH and bound.lower == 0:
            return TRUTH
        case Release(right=right) if right == TRUTH:
            return TRUTH
        case Weak(left=left) if left == TRUTH:
            return TRUTH
    return made


def _known_literal(literal: Formula) -> Formula:
    """A literal, or the truth it has whatever the state is: of a constant, and of a comparison of equal forms."""
    atom = literal.arg if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    if not isinstance(atom.expr, e.Const) and (not isinstance(atom.expr, e.Compare) or _difference(atom.expr)[0]):
        return literal
    return FALSITY if _excludes_itself((literal,)) else TRUTH


def _is_contradiction(formula: Formula) -> bool:
    """Whether a Boolean formula in negation normal form is false of every state."""
    terms = fold(formula, _terms)
    return terms is not None and all(_excludes_itself(term) for term in terms)


_Term = tuple[Formula, ...]


def _terms(node: Formula, args: tuple[list[_Term] | None, ...]) -> list[_Term] | None:
    """The conjunctions of literals whose disjunction the formula is; None where there are too many."""
    known = [arg for arg in args if arg is not None]
    if isinstance(node, Atom | Not):
        return [(node,)]
    if len(known) < len(args):
        return None
    if isinstance(node, Or):
        united = [term for arg in known for term in arg]
        return united if len(united) <= MAX_TERMS else None
    count = 1
    for arg in known:
        count *= len(arg)
    if count > MAX_TERMS:
        return None
    return [tuple(itertools.chain(*combination)) for combination in itertools.product(*known)]


@dataclass
class _Limits:
    """What the literals of a conjunction leave of one quantity."""

    lower: tuple[Fraction, bool] | None = None  # the end, and whether it is excluded
    upper: tuple[Fraction, bool] | None = None
    excluded: set[Fraction] = field(default_factory=set)

    def cut(self, op: str, value: Fraction) -> None:
        """The quantity is `op` the value."""
        if op in ("<", "<=", "=="):
            end = (value, op == "<")
            if self.upper is None or (end[0], not end[1]) < (self.upper[0], not self.upper[1]):
                self.upper = end
        if op in (">", ">=", "=="):
            end = (value, op == ">")
            if self.lower is None or end > self.lower:
                self.lower = end
        if op == "!=":
            self.excluded.add(value)

    def is_empty(self) -> bool:
        if self.lower is None or self.upper is None:
            return False
        (low, low_open), (high, high_open) = self.lower, self.upper
        point = low == high and (low_open or high_open or low in self.excluded)
        return low > high or point


def _excludes_itself(term: Iterable[Formula]) -> bool:
    """Whether literals contradict each other, looking at one quantity at a time."""
    limits: dict[object, _Limits] = {NOTHING: _Limits((Fraction(0), False), (Fraction(0), False))}
    for literal in term:
        positive = isinstance(literal, Atom)
        atom = literal.arg if isinstance(literal, Not) else literal
        assert isinstance(atom, Atom)
        if isinstance(atom.expr, e.Const):
            if bool(atom.expr.value) != positive:
                return True
            continue
        key, op, value = _constraint(atom.expr, positive)
        limits.setdefault(key, _Limits()).cut(op, value)
    return any(limit.is_empty() for limit in limits.values())


NOTHING = "0"  # what is left of x - x
OPPOSITE = {"<": ">=", "<=": ">", "==": "!=", "!=": "=="}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _difference(atom: e.Compare) -> tuple[dict[Expr, Fraction], Fraction]:
    """What a comparison compares with zero: coefficients and a constant."""
    left, right = atom.args
    return terms((left, Fraction(1)), (right, Fraction(-1)))


def _constraint(atom: Expr, positive: bool) -> tuple[object, str, Fraction]:
    """A literal as (quantity, comparison, constant); what is no comparison is a quantity that is 0 or 1."""
    if not isinstance(atom, e.Compare):
        return atom, "==", Fraction(positive)
    op = atom.op if positive else OPPOSITE[atom.op]
    form, constant = _difference(atom)
    if not form:
        return NOTHING, op, -constant
    lead = min(form.items(), key=lambda term: id(term[0]))[1]
    key = frozenset((node, coefficient / lead) for node, coefficient in form.items())
    return key, op if lead > 0 else MIRROR[op], -constant / lead
