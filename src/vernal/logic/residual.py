"""What a formula still asks after the first position of a path: the operators stay, their bounds move.

`Obligations` write a formula out for a search; here it keeps its form, so that what is left can be asked as a claim of
its own: after a position at which p is true, `G[0,5] p` asks `G[0,4] p`. A path satisfies the formula iff what follows
its first position satisfies the residual, provided that there is a second position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import (
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
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import fold, steps
from vernal.model import build
from vernal.model.expr import Const, Expr

YES, NO = Atom(build.TRUE), Atom(build.FALSE)


def residual(formula: Formula, truth: Callable[[Expr], bool]) -> Formula:
    """What an LTL formula asks of the path from its second position on; `truth` is that of atoms at the first."""
    return fold(formula, lambda node, args: _after(node, args, truth))


def _after(node: Formula, args: tuple[Formula, ...], truth: Callable[[Expr], bool]) -> Formula:
    """The rule for one operator; `args` are what its operands ask if they are asked at the first position."""
    if isinstance(node, Temporal) and node.quantifier is not None:
        raise UnsupportedFormula("what is left of a claim about states is no formula of the path alone")
    match node:
        case Atom(expr=Const() as constant):
            return YES if constant.value else NO
        case Atom(expr):
            return YES if truth(expr) else NO
        case Not():
            return _not(args[0])
        case And():
            return _all(*args)
        case Or():
            return _some(*args)
        case Implies():
            return _some(_not(args[0]), args[1])
        case Iff():
            return _some(_all(*args), _all(*map(_not, args)))
        case Next(arg=arg, count=count):
            return args[0] if count == 0 else arg if count == 1 else Next(arg, count - 1)
        case Always():
            return _all(*_now(node, args[0]), *_later(node))
        case Eventually():
            return _some(*_now(node, args[0]), *_later(node))
        case Until():
            return _some(*_now(node, args[1]), _all(args[0], *(_later(node) or [NO])))
        case Weak():
            return _some(*_now(node, args[1]), _all(args[0], *_later(node)))
        case Release():
            return _all(*_now(node, args[1]), _some(args[0], *(_later(node) or [YES])))
    raise UnsupportedFormula(f"nothing is said of what is left of {type(node).__name__}")


def _now(node: Temporal, asked: Formula) -> list[Formula]:
    """What a bound asks at the first position, if it contains it."""
    assert not isinstance(node, Next)
    return [asked] if steps(node.bound)[0] == 0 else []


def _later(node: Temporal) -> list[Formula]:
    """The operator one position later, unless its bound is over."""
    assert not isinstance(node, Next)
    lower, upper = steps(node.bound)
    if upper == 0:
        return []
    return [replace(node, bound=Bound(Fraction(max(lower - 1, 0)), None if upper is None else Fraction(upper - 1)))]


def _not(arg: Formula) -> Formula:
    return NO if arg == YES else YES if arg == NO else arg.arg if isinstance(arg, Not) else Not(arg)


def _all(*args: Formula) -> Formula:
    """A conjunction, as simple as it is easily made."""
    kept = [arg for arg in args if arg != YES]
    if NO in kept:
        return NO
    return YES if not kept else kept[0] if len(kept) == 1 else And(tuple(kept))


def _some(*args: Formula) -> Formula:
    """A disjunction, likewise."""
    kept = [arg for arg in args if arg != NO]
    if YES in kept:
        return YES
    return NO if not kept else kept[0] if len(kept) == 1 else Or(tuple(kept))
