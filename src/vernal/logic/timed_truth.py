"""Formulas in seconds, of many trajectories at once: the times at which each part is true of all, or false of all.

What is asked of a condition are the times at which it is true (or false) of every trajectory that is followed then.
Operators look forward, G and F at a window, U at what comes before its end; trajectories may end where they leave the
region, which each operator heeds: F needs a time that all of them reach, G asks nothing after their ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Not, Or, Release, Temporal, Until
from vernal.logic.normal import fold, rebuild
from vernal.logic.time_sets import NEVER, TimeSet, union
from vernal.model.expr import Compare, Var
from vernal.model.graph import order
from vernal.model.sorts import REAL
from vernal.model.traits import traits


@dataclass(frozen=True, slots=True)
class TimedTruth:
    """The times at which something is true of all trajectories that are followed then, and false of all."""

    true: TimeSet = NEVER
    false: TimeSet = NEVER

    def at(self, time: Fraction) -> bool | None:
        """Whether it is true at a time, false, or neither is known."""
        return True if time in self.true else False if time in self.false else None

    def negated(self) -> TimedTruth:
        return TimedTruth(self.false, self.true)


ConditionTimes = Callable[[Formula], TimedTruth]  # of a formula without temporal operators


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The times that every trajectory reaches inside the region, and those that none does."""

    reached: TimeSet
    ended: TimeSet = NEVER


def timed_truth(formula: Formula, known: ConditionTimes, lives: Lifetimes) -> TimedTruth:
    """The truth of a formula in negation normal form, at all times."""

    def rule(node: Formula, args: tuple[Formula | TimedTruth, ...]) -> Formula | TimedTruth:
        plain = [arg for arg in args if not isinstance(arg, TimedTruth)]
        if not isinstance(node, Temporal) and len(plain) == len(args):
            return rebuild(node, tuple(plain)) if args else node  # a condition is asked as a whole
        if isinstance(node, And | Or) and len(plain) > 1:
            args = (rebuild(node, tuple(plain)), *(arg for arg in args if isinstance(arg, TimedTruth)))
        if isinstance(node, Until) and node.bound.lower == 0 and len(plain) == 2 and is_closed(plain[1]):
            args = (Or((plain[0], plain[1])), plain[1])  # until the first time of q, which there is
        values = [arg if isinstance(arg, TimedTruth) else known(arg) for arg in args]
        return _operator(node, values, lives)

    found = fold(formula, rule)
    return found if isinstance(found, TimedTruth) else known(found)


def is_closed(condition: Formula) -> bool:
    """Whether the times at which a condition is true have a first one, on every trajectory on which there are some.

    That is so of `<=`, `>=` and `==` between expressions that change continuously, and of whatever compares discrete
    variables alone, which are constant between jumps. What begins with a strict comparison has no first time.
    """
    match condition:
        case And(args) | Or(args):
            return all(map(is_closed, args))
        case Atom(expr) | Not(Atom(expr)):
            nodes = order([expr])
            if all(node.sort != REAL for node in nodes if isinstance(node, Var)):
                return True
            closed = ("<", "!=") if isinstance(condition, Not) else ("<=", "==")
            inner = [node for node in nodes if node is not expr]
            return isinstance(expr, Compare) and expr.op in closed and all(traits(node).continuous for node in inner)
    return False


def _operator(node: Formula, args: list[TimedTruth], lives: Lifetimes) -> TimedTruth:
    match node:
        case Not():
            return args[0].negated()
        case And():
            return TimedTruth(~union(~arg.true for arg in args), union(arg.false for arg in args))
        case Or():
            return TimedTruth(union(arg.true for arg in args), ~union(~arg.false for arg in args))
        case Eventually(bound=bound):
            return _eventually(args[0], bound, lives)
        case Always(bound=bound):
            return _eventually(args[0].negated(), bound, lives).negated()
        case Until(bound=bound):
            return _until(args[0], args[1], bound, lives)
        case Release(bound=bound):
            return _until(args[0].negated(), args[1].negated(), bound, lives).negated()
    raise UnsupportedFormula(f"{type(node).__name__} is not an operator of the property language in continuous time")


def _eventually(arg: TimedTruth, bound: Bound, lives: Lifetimes) -> TimedTruth:
    surely = (arg.true & lives.reached).before(bound.lower, bound.upper)
    perhaps = (~arg.false & ~lives.ended).before(bound.lower, bound.upper)
    return TimedTruth(surely, ~perhaps)


def _until(left: TimedTruth, right: TimedTruth, bound: Bound, lives: Lifetimes) -> TimedTruth:
    surely = left.true.until(right.true & lives.reached, bound.lower, bound.upper)
    perhaps = (~left.false).until(~right.false & ~lives.ended, bound.lower, bound.upper)
    return TimedTruth(surely, ~perhaps)
