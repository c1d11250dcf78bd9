"""Formulas taken apart: which logic, how far they look, and their normal forms.

On a path that may end there are two ways to look ahead. `X p` is strong: there is a next position, and p is true
there. Its dual is weak: p at the next position *if there is one*. The language already has it, since G speaks of what
remains of a path: `G[1,1] p`. So `!X[k] p` is `G[k,k] !p`, and negation normal form needs no operator of its own.
In CTL the two are spelt differently: `EX` is strong, `AX` is weak, and each is the other's dual. A for-all path
quantifier before a strong operator still demands that the position exists: `AF[1,1] p` is `EX true & AX p`.

No function here recurses, and sub-formulas are distinguished by identity: a normal form may be deep, and share parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import TypeVar

from vernal.errors import UnsupportedFormula
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
    operands,
)
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Expr

MAX_SIZE = 100_000  # operators of a normal form; larger ones are refused

TRUTH = Atom(TRUE)
FALSITY = Atom(FALSE)

T = TypeVar("T")


# Walks ----------------------------------------------------------------------------------------------------------------


def order(formula: Formula) -> list[Formula]:
    """Every sub-formula, operands before users, each object once."""
    seen: set[int] = set()
    result: list[Formula] = []
    stack: list[tuple[Formula, bool]] = [(formula, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            result.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(operands(node)))
    return result


def fold(formula: Formula, rule: Callable[[Formula, tuple[T, ...]], T]) -> T:
    """The value of a formula, computed by a rule from the values of its operands."""
    values: dict[int, T] = {}
    for node in order(formula):
        values[id(node)] = rule(node, tuple(values[id(arg)] for arg in operands(node)))
    return values[id(formula)]


def rebuild(formula: Formula, args: tuple[Formula, ...]) -> Formula:
    """The same operator over other operands."""
    match formula:
        case Atom():
            return formula
        case Not() | Next() | Eventually() | Always():
            return replace(formula, arg=args[0])
        case And() | Or():
            return replace(formula, args=args)
        case Implies() | Iff() | Until() | Release() | Weak():
            return replace(formula, left=args[0], right=args[1])
    raise UnsupportedFormula(f"{type(formula).__name__} is not an operator of the property language")


def atoms(formula: Formula) -> list[Expr]:
    """The expressions of the atoms, in order of first use, each once."""
    return list(dict.fromkeys(node.expr for node in order(formula) if isinstance(node, Atom)))


# Which logic ----------------------------------------------------------------------------------------------------------


class Logic(Enum):
    """The language a formula belongs to; one without temporal operators belongs to both."""

    STATE = "a Boolean formula"
    LTL = "LTL"
    CTL = "CTL"


def classify(formula: Formula) -> Logic:
    """STATE, LTL or CTL; a formula that mixes operators with and without path quantifiers is refused."""
    quantified = {node.quantifier is not None for node in order(formula) if isinstance(node, Temporal)}
    if len(quantified) > 1:
        raise UnsupportedFormula(
            "CTL* is not supported: either every temporal operator has a path quantifier (CTL) or none has (LTL)"
        )
    if not quantified:
        return Logic.STATE
    return Logic.CTL if quantified.pop() else Logic.LTL


def is_ctl(formula: Formula) -> bool:
    """Whether every temporal operator has a path quantifier."""
    return all(node.quantifier is not None for node in order(formula) if isinstance(node, Temporal))


def is_ltl(formula: Formula) -> bool:
    """Whether no temporal operator has a path quantifier."""
    return all(node.quantifier is None for node in order(formula) if isinstance(node, Temporal))


def quantifiers(formula: Formula) -> frozenset[Quantifier]:
    """Its path quantifiers, negations pushed inside; LTL is claimed of all, `!EF p` is a claim of all too.

    A reduction that only adds behaviours may prove what contains ALL alone and refute what contains SOME alone.
    """
    if classify(formula) is Logic.LTL:
        return frozenset({Quantifier.ALL})
    positive, _ = fold(formula, _quantifiers)
    return positive


_Polar = tuple[frozenset[Quantifier], frozenset[Quantifier]]


def _quantifiers(node: Formula, args: tuple[_Polar, ...]) -> _Polar:
    """The quantifiers of a formula, and those of its negation."""
    positive = frozenset[Quantifier]().union(*(arg[0] for arg in args))
    negative = frozenset[Quantifier]().union(*(arg[1] for arg in args))
    match node:
        case Not():
            return negative, positive
        case Implies():
            (left, not_left), (right, not_right) = args
            return not_left | right, left | not_right
        case Iff():
            return positive | negative, positive | negative
    if isinstance(node, Temporal) and node.quantifier is not None:
        return positive | {node.quantifier}, negative | {node.quantifier.dual}
    return positive, negative


def strip_quantifiers(formula: Formula) -> Formula:
    """A CTL formula read on a single path: the quantifiers go, and `AX[k] p` becomes the weak next `G[k,k] p`."""
    return fold(formula, _strip)


def _strip(node: Formula, args: tuple[Formula, ...]) -> Formula:
    if isinstance(node, Next) and node.quantifier is Quantifier.ALL:
        return weak_next(args[0], node.count)
    made = rebuild(node, args)
    return replace(made, quantifier=None) if isinstance(made, Temporal) else made


def universal(formula: Formula) -> Formula:
    """The formula with "all paths" for every "some path", in negation normal form: it implies the formula.

    Every state has a maximal path, so what is true of all is true of some. `AX p` is true where there is no next
    position and `EX p` is not, so `EX[k] p` becomes `AF[k,k] p`, which says that there is one.
    """
    return fold(nnf(formula), _universal)


def _universal(node: Formula, args: tuple[Formula, ...]) -> Formula:
    made = rebuild(node, args)
    if not isinstance(made, Temporal) or made.quantifier is not Quantifier.SOME:
        return made
    if isinstance(made, Next):
        return Eventually(args[0], Bound(Fraction(made.count), Fraction(made.count)), Quantifier.ALL)
    return replace(made, quantifier=Quantifier.ALL)


# How far it looks -----------------------------------------------------------------------------------------------------


def steps(bound: Bound) -> tuple[int, int | None]:
    """A bound as numbers of transitions; a fraction has no meaning in discrete time."""
    for end in (bound.lower, bound.upper):
        if end is not None and (end.denominator != 1 or end < 0):
            raise UnsupportedFormula(f"the bound {bound} does not count steps; in discrete time it must be integer")
    upper = None if bound.upper is None else int(bound.upper)
    if upper is not None and upper < bound.lower:
        raise UnsupportedFormula(f"the bound {bound} is inverted")
    return int(bound.lower), upper


def horizon(formula: Formula) -> int | None:
    """How many transitions decide the formula on any path; None where no number does."""
    return fold(formula, _horizon)


def _horizon(node: Formula, args: tuple[int | None, ...]) -> int | None:
    match node:
        case Next(count=count):
            return None if args[0] is None else args[0] + count
        case Eventually(bound=bound) | Always(bound=bound):
            return _reach(steps(bound)[1], args[0])
        case Weak(bound=bound):
            upper = steps(bound)[1]
            return _furthest(_reach(upper, args[0]), _reach(upper, args[1]))
        case Until(bound=bound) | Release(bound=bound):
            upper = steps(bound)[1]
            if upper == 0:  # left is never asked
                return args[1]
            return _furthest(_reach(None if upper is None else upper - 1, args[0]), _reach(upper, args[1]))
    return _furthest(*args)


def _reach(upper: int | None, inner: int | None) -> int | None:
    return None if upper is None or inner is None else upper + inner


def _furthest(*reaches: int | None) -> int | None:
    known = [reach for reach in reaches if reach is not None]
    return None if len(known) < len(reaches) else max(known, default=0)


# Negation normal form -------------------------------------------------------------------------------------------------


def weak_next(formula: Formula, count: int = 1) -> Formula:
    """The formula after count transitions, if the path is that long."""
    return Always(formula, Bound(Fraction(count), Fraction(count)))


_Pair = tuple[Formula, Formula, int, int]  # a formula, its negation, and the size of each when written out


def nnf(formula: Formula, *, total: bool = False, limit: int = MAX_SIZE) -> Formula:
    """The formula with negations at atoms only, and without `->` and `<->`.

    It says the same of infinite and of finite maximal paths, and as early on prefixes (but for a negated
    `E[p W[a,b] q]` with a > 0, which takes two operators that may each be open). Where the system is `total`, i.e. no
    path ends, `!X p` simply becomes `X !p`; otherwise it becomes the weak `G[1,1] !p`. `<->` and a negated `W` need
    their operands twice, so a deep nest of them can exceed the limit on the size.
    """
    result, _, size, _ = fold(formula, lambda node, args: _nnf(node, args, total))
    if size > limit:
        raise UnsupportedFormula(f"in negation normal form this formula has more than {limit:,} operators")
    return result


def _nnf(node: Formula, args: tuple[_Pair, ...], total: bool) -> _Pair:
    yes, no, yes_size, no_size = zip(*args, strict=True) if args else ((), (), (), ())
    both = (1 + sum(yes_size), 1 + sum(no_size))
    match node:
        case Atom():
            return node, Not(node), 1, 2
        case Not():
            return no[0], yes[0], no_size[0], yes_size[0]
        case And():
            return And(yes), Or(no), *both
        case Or():
            return Or(yes), And(no), *both
        case Implies():
            made = Or((no[0], yes[1])), And((yes[0], no[1]))
            return *made, 1 + no_size[0] + yes_size[1], 1 + yes_size[0] + no_size[1]
        case Iff():
            same = Or((And(yes), And(no)))
            other = Or((And((yes[0], no[1])), And((no[0], yes[1]))))
            return same, other, sum(both) + 1, sum(both) + 1
        case Weak():
            return rebuild(node, yes), _not_weak(node, no[0], no[1]), both[0], 9 + 4 * sum(no_size)
    return rebuild(node, yes), _dual(node, no, total), *both


def _dual(node: Formula, no: tuple[Formula, ...], total: bool) -> Formula:
    """The negation of a temporal operator over negated operands."""
    opposite = node.quantifier.dual if isinstance(node, Temporal) and node.quantifier else None
    match node:
        case Next(count=count) if opposite is None and not total:
            return weak_next(no[0], count)
        case Next(count=count):
            return Next(no[0], count, opposite)
        case Eventually(bound=bound):
            return Always(no[0], bound, opposite)
        case Always(bound=bound):
            return Eventually(no[0], bound, opposite)
        case Until(bound=bound):
            return Release(no[0], no[1], bound, opposite)
        case Release(bound=bound):
            return Until(no[0], no[1], bound, opposite)
    raise UnsupportedFormula(f"{type(node).__name__} is not an operator of the property language")


def _not_weak(node: Weak, not_p: Formula, not_q: Formula) -> Formula:
    """`!(p W[a,b] q)`: some j in [0, b] has !p, and q is false on all of [a, j].

    From position a on, that is `!q U (!p & !q)`; before it, any !p will do. Of some path, the two are a disjunction; of
    all paths, it takes a formula about each: a path that keeps p up to a must reach a, and then keep the rest.
    """
    lower, upper = steps(node.bound)
    quantifier = node.quantifier.dual if node.quantifier else None
    rest = Bound(Fraction(0), None if upper is None else Fraction(upper - lower))
    late = Until(not_q, And((not_p, not_q)), rest, quantifier)
    if lower == 0:
        return late
    there, early = Bound(Fraction(lower), Fraction(lower)), Bound(Fraction(0), Fraction(lower - 1))
    if quantifier is not Quantifier.ALL:
        return Or((Eventually(not_p, early, quantifier), Eventually(late, there, quantifier)))
    alive = Or((Next(TRUTH, 1, Quantifier.SOME), not_p))
    return And((Release(not_p, late, there, quantifier), Release(not_p, alive, early, quantifier)))


# Expansion ------------------------------------------------------------------------------------------------------------


def expand(formula: Formula, *, total: bool = False, limit: int = MAX_SIZE) -> Formula:
    """Bounded operators written out in Boolean operators and single steps.

    Steps are strong and weak next (`X` and `G[1,1]`, in CTL `EX` and `AX`). An operator whose bound has no end stays,
    from the position where its bound begins. A sub-formula needed at many positions is one shared object, so the size
    of `G[0,100] F[0,50] p` is a sum and not a product; a walk over the result should visit each object once. The
    limit counts shared objects once.
    """
    made = 0

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        nonlocal made
        made += _growth(node)
        if made > limit:
            raise UnsupportedFormula(f"written out, this formula has more than {limit:,} operators; use smaller bounds")
        return _expand(node, args, total)

    return fold(formula, rule)


def _growth(node: Formula) -> int:
    """How many operators the expansion of one operator takes, at most."""
    if not isinstance(node, Temporal) or isinstance(node, Next):
        return 1
    lower, upper = steps(node.bound)
    return 1 + 5 * (lower if upper is None else upper)


def _expand(node: Formula, args: tuple[Formula, ...], total: bool) -> Formula:
    if isinstance(node, Next) and node.count == 0:
        return args[0]
    if not isinstance(node, Temporal) or isinstance(node, Next) or node.bound == ALL_TIME:
        return rebuild(node, args)
    lower, upper = steps(node.bound)
    result = rebuild(replace(node, bound=ALL_TIME), args) if upper is None else _last(node, args)
    step = _strong if isinstance(node, Eventually | Until) else _weak
    for _ in range(0 if upper is None else upper - lower):
        result = _unfold(node, args, step(result, 1, node.quantifier, total))
    if isinstance(node, Eventually | Always):
        return step(result, lower, node.quantifier, total)
    for _ in range(lower):
        after = step(result, 1, node.quantifier, total)
        result = Or((args[0], after)) if isinstance(node, Release) else And((args[0], after))
    return result


def _last(node: Formula, args: tuple[Formula, ...]) -> Formula:
    """What an operator asks of the last position of its bound."""
    return Or(args) if isinstance(node, Weak) else args[-1]


def _unfold(node: Formula, args: tuple[Formula, ...], after: Formula) -> Formula:
    """What an operator asks now, given what it asks after a step."""
    match node:
        case Eventually():
            return Or((args[0], after))
        case Always():
            return And((args[0], after))
        case Release():
            return And((args[1], Or((args[0], after))))
    return Or((args[1], And((args[0], after))))


def _strong(formula: Formula, count: int, quantifier: Quantifier | None, total: bool) -> Formula:
    """The formula after count steps, which have to exist."""
    if count == 0:
        return formula
    if quantifier is not Quantifier.ALL or total:
        return Next(formula, count, quantifier)
    for _ in range(count):
        formula = And((Next(TRUTH, 1, Quantifier.SOME), Next(formula, 1, quantifier)))
    return formula


def _weak(formula: Formula, count: int, quantifier: Quantifier | None, total: bool) -> Formula:
    """The formula after count steps, on paths that are that long."""
    if count == 0:
        return formula
    if quantifier is Quantifier.ALL or total:
        return Next(formula, count, quantifier)
    if quantifier is None:
        return weak_next(formula, count)
    for _ in range(count):
        formula = Or((Next(formula, 1, quantifier), Next(FALSITY, 1, Quantifier.ALL)))
    return formula
