"""Claims: a formula with what every engine asks of it first, each worked out once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from vernal.logic.formula import Always, And, Atom, Formula, Implies, Next, Not, Or, Quantifier, Release, Weak, operands
from vernal.logic.margin import atom_margin
from vernal.logic.normal import Logic, atoms, classify, fold, horizon, nnf, quantifiers, strip_quantifiers, universal
from vernal.logic.progress import on_paths
from vernal.logic.times import Time, is_endless, last_time
from vernal.logic.vacuity import is_vacuous
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.lazy import cached_property


@dataclass(frozen=True, slots=True)
class PositionClaim:
    """`G[first,last] p` or `X[first] p` with p about one position: the margin of p, and where it is claimed."""

    margin: Expr
    first: int
    last: int

    def covers(self, position: int) -> bool:
        """Whether p is claimed at this position."""
        return self.first <= position <= self.last


@dataclass(frozen=True)
class Claim:
    """What a formula claims: in which logic and kind of time, of which paths, and how far it looks."""

    formula: Formula
    time: Time = Time.STEPS

    @cached_property
    def logic(self) -> Logic:
        """STATE, LTL or CTL; a formula that is neither is refused."""
        return classify(self.formula)

    @cached_property
    def quantifiers(self) -> frozenset[Quantifier]:
        """Whether it is about all paths or some, negations pushed inside."""
        return quantifiers(self.formula)

    @property
    def mentions_some(self) -> bool:
        """Whether it says of some path that it exists."""
        return Quantifier.SOME in self.quantifiers

    @cached_property
    def horizon(self) -> int | None:
        """How many transitions decide it on any path; None where no number does, as in continuous time."""
        return None if self.time is Time.SECONDS else horizon(self.formula)

    @cached_property
    def last_time(self) -> Fraction:
        """In continuous time, the last time that it speaks of."""
        return last_time([self.formula])

    @property
    def is_endless(self) -> bool:
        """Whether it is claimed in seconds, for all time."""
        return self.time is Time.SECONDS and is_endless(self.formula)

    @cached_property
    def normal(self) -> Formula:
        """The formula with negations at its atoms only, where every path goes on."""
        return nnf(self.formula, total=True)

    @cached_property
    def path(self) -> Formula:
        """The formula read along a single path."""
        return strip_quantifiers(self.formula)

    @cached_property
    def linear(self) -> Formula | None:
        """The LTL formula that says the same of all paths; None where states have to be asked."""
        return on_paths(self.formula)

    @cached_property
    def opposite(self) -> Formula | None:
        """The LTL formula of all paths that says the claim is false; None where no such formula does."""
        return on_paths(Not(self.formula))

    @cached_property
    def sufficient(self) -> Formula | None:
        """An LTL formula that proves the claim if all paths keep it, whatever the claim says of some path.

        Where the claim is one of all paths, it says the same; where it says of some path alone what that path keeps, it
        is that. None where no such formula is found.
        """
        if not self.mentions_some:
            return self.linear
        if self.opposite is not None and Quantifier.ALL not in self.quantifiers:
            return nnf(Not(self.opposite))
        return on_paths(universal(self.formula))

    @cached_property
    def refuting(self) -> Formula | None:
        """A formula about all paths alone that makes the claim false where it is true; LTL, if one says so."""
        opposite = Not(self.formula)
        found = Claim(opposite, self.time).sufficient
        return universal(opposite) if found is None and self.logic is Logic.CTL else found

    @cached_property
    def atoms(self) -> tuple[Expr, ...]:
        """The expressions it compares, as written."""
        return tuple(atoms(self.formula))

    @cached_property
    def vacuous(self) -> bool:
        """Whether it is true whatever the system does."""
        return is_vacuous(self.formula)

    @cached_property
    def text(self) -> str:
        """The formula, printed canonically."""
        return str(self.formula)


MAX_KEPT = 32  # operators of a formula whose claim is kept


def claim_of(formula: Formula, time: Time = Time.STEPS) -> Claim:
    """What a formula claims; of a small one it is kept, with all that is worked out of it: many ask the same."""
    return _kept_claim(formula, time) if is_small(formula) else Claim(formula, time)


@lru_cache(maxsize=64)
def _kept_claim(formula: Formula, time: Time) -> Claim:
    return Claim(formula, time)


def is_small(formula: Formula) -> bool:
    """Whether a formula has few operators, so that it may be a key: it is hashed and compared by its content."""
    waiting = [formula]
    for seen, node in enumerate(waiting):  # grows on the way
        if seen == MAX_KEPT:
            return False
        waiting += operands(node)
    return True


def position_claim(path: Formula) -> PositionClaim | None:
    """The formula as a claim about single positions, if it is one; its margin can be measured position by position."""
    match path:
        case Always(arg=arg, bound=bound) if classify(arg) is Logic.STATE and bound.upper is not None:
            return PositionClaim(_margin(arg), int(bound.lower), int(bound.upper))
        case Next(arg=arg, count=count) if classify(arg) is Logic.STATE:
            return PositionClaim(_margin(arg), count, count)
    return None


def always(path: Formula | None) -> Always | None:
    """`G p` without an end and with p bounded, if it proves the claim; several of them as one.

    `G p` proves itself, `p W q` and `q R p`. None where the claim is none of these.
    """
    match path:
        case Always(arg=arg, bound=bound) if bound.upper is None and horizon(arg) is not None:
            return path
        case Weak(left=kept, bound=bound) if bound.upper is None and horizon(kept) is not None:
            return Always(kept)
        case Release(right=kept, bound=bound) if bound.upper is None and horizon(kept) is not None:
            return Always(kept, bound)
        case And(args):
            parts = [always(arg) for arg in args]
            found = [part for part in parts if part is not None]
            if found and len(found) == len(parts) and len({part.bound for part in found}) == 1:
                return replace(found[0], arg=And(tuple(part.arg for part in found)))
    return None


def _margin(formula: Formula) -> Expr:
    return atom_margin(position_expression(formula))


def position_expression(formula: Formula) -> Expr:
    """A Boolean formula about one position as one expression."""
    return fold(formula, _expression)


def _expression(node: Formula, args: tuple[Expr, ...]) -> Expr:
    """A Boolean formula as one expression."""
    match node:
        case Atom(expr):
            return expr
        case Not():
            return build.negate(args[0])
        case And():
            return build.conj(*args)
        case Or():
            return build.disj(*args)
        case Implies():
            return build.implies(*args)
    return build.compare("==", *args)


def position_formula(node: Expr) -> Formula:
    """A Boolean expression with its outer conjunctions, disjunctions and negations as formulas over atoms."""
    made: dict[Expr, Formula] = {}
    for inner in order([node]):
        match inner:
            case e.And():
                made[inner] = And(tuple(made[arg] for arg in inner.args))
            case e.Or():
                made[inner] = Or(tuple(made[arg] for arg in inner.args))
            case e.Not():
                made[inner] = Not(made[inner.args[0]])
            case _:
                made[inner] = Atom(inner)
    return made[node]
