"""Claims for all time that one set of states can prove: `G p`, `p W q`, `p R q`, and what follows from a first step on.

Each of them says: as long as nothing has ended the watch, a condition on single positions is kept. So a set of states
proves it that has all initial states in it, is not left by a step from a position still watched, and keeps the
condition. What proves a claim is the same whether it is found by an engine or checked later, so it is said here once.
A claim with an end, `G[0,5] p`, follows from the one without.
"""

from __future__ import annotations

from dataclasses import dataclass

from vernal.logic.claim import Claim, position_expression
from vernal.logic.formula import Always, And, Formula, Next, Not, Release, Weak
from vernal.logic.normal import Logic, classify, nnf, steps
from vernal.model import build
from vernal.model.build import FALSE
from vernal.model.expr import Expr
from vernal.model.system import System


@dataclass(frozen=True, slots=True)
class SafetyClaim:
    """`keep` at every position from `first` on, as long as `stop` was true at no earlier position."""

    keep: Expr  # over state variables, actions and lets, like `stop`
    stop: Expr = FALSE
    first: int = 0

    def closed(self, system: System) -> tuple[Expr, Expr]:
        """What is to be kept, and the guard of a step that is watched, over state, memory and draws."""
        step = system.step
        return step.resolve(self.keep), build.conj(step.enabled, build.negate(step.resolve(self.stop)))


def safety_claim(claim: Claim, *, total: bool) -> SafetyClaim | None:
    """The claim as one that a set of states can prove; None where it is not of that kind. `total`: no path ends.

    Of a claim of some path that is the one of all paths: `AG p` proves `EG p`.
    """
    return None if claim.sufficient is None else _of(nnf(claim.sufficient, total=total), total)


def excluding(claim: Claim) -> Formula | None:
    """What refutes a claim of all paths if all paths keep it: the negation. None where the claim is none of these.

    Nor of a claim up to a step: there a finite path shows more.
    """
    if claim.linear is None or claim.mentions_some or claim.horizon is not None:
        return None
    return nnf(Not(claim.linear))


def _of(formula: Formula, total: bool) -> SafetyClaim | None:
    match formula:
        case Always(arg=arg, bound=bound) if classify(arg) is Logic.STATE:
            return SafetyClaim(position_expression(arg), first=steps(bound)[0])
        case Always(arg=arg, bound=bound):
            return _later(_of(arg, total), steps(bound)[0])
        case Next(arg=arg, count=count) if total:  # else it also claims that there is a next position
            return _later(_of(arg, total), count)
        case Weak(left, right, bound) if not bound.lower and _are_states(left, right):
            stop = position_expression(right)
            return SafetyClaim(build.disj(position_expression(left), stop), stop)
        case Release(left, right, bound) if not bound.lower and _are_states(left, right):
            return SafetyClaim(position_expression(right), position_expression(left))
        case And(args=args):
            return _all([_of(arg, total) for arg in args])
    return None


def _are_states(*formulas: Formula) -> bool:
    return all(classify(formula) is Logic.STATE for formula in formulas)


def _later(inner: SafetyClaim | None, count: int) -> SafetyClaim | None:
    """The claim from a later position on, if it is watched for ever; `G` of such a claim says no more than that."""
    if inner is None or inner.stop is not FALSE:
        return None
    return SafetyClaim(inner.keep, first=inner.first + count)


def _all(parts: list[SafetyClaim | None]) -> SafetyClaim | None:
    """Several claims at once, if they are watched alike."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({(part.stop, part.first) for part in known}) != 1:
        return None
    return SafetyClaim(build.conj(*(part.keep for part in known)), known[0].stop, known[0].first)
