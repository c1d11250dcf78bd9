"""Invariants checked again, by other code than the engine that found them.

Three things make a union of sets a proof: every initial state is in it, every step from it stays in it, and the claim's
condition is true in it. Where the step is piecewise linear all three are decided exactly, by following every decision
over rational polyhedra (`recheck_exact`). Elsewhere sets are cut into boxes in which nonlinear terms are nearly lines
(`recheck_linearised`), or that intervals can judge (`recheck_intervals`). What none of them can judge within its limit
is said not to be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vernal.errors import TooLong
from vernal.evidence.defined_values import is_defined
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.invariant_file import component_names
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.recheck_exact import ExactCheck
from vernal.evidence.recheck_intervals import IntervalCheck
from vernal.evidence.recheck_linearised import LinearisedCheck
from vernal.evidence.recheck_parts import CannotCheck, NotInvariant, Watched
from vernal.logic.claim import Claim
from vernal.logic.safety import safety_claim
from vernal.model.build import TRUE
from vernal.model.system import System
from vernal.model.tick import Tick, idle


class CheckingMethod(Protocol):
    """A way to decide the three questions about sets of states; it raises where the answer is not yes."""

    how: str

    def initial(self, sets: Sequence[StateSet]) -> None: ...

    def step(self, source: StateSet, sets: Sequence[StateSet]) -> None: ...

    def kept(self, source: StateSet) -> None: ...


def recheck(system: System, claim: Claim, invariant: Invariant, tick: Tick = idle) -> Recheck:
    """Whether the invariant proves the claim of the system."""
    safety = safety_claim(claim, total=system.step.enabled is TRUE)
    if safety is None:
        return Recheck(Judgement.REJECTED, "an invariant proves no claim of this kind")
    if len(invariant.prefix) != safety.first:
        why = f"the claim begins at position {safety.first}, the invariant after {len(invariant.prefix)} steps"
        return Recheck(Judgement.REJECTED, why)
    if claim.mentions_some and not is_defined(system, invariant):
        return Recheck(
            Judgement.UNDECIDED, "all paths keep it, but a value may be undefined, and then there is no path"
        )
    known = component_names(system)
    watched = Watched.of(system, safety, [known[name] for name in invariant.components], tick)
    reasons: list[str] = []
    for method in (ExactCheck(watched), LinearisedCheck(watched), IntervalCheck(watched)):
        try:
            _check(method, invariant)
        except NotInvariant as why:
            return Recheck(Judgement.REJECTED, str(why))
        except (CannotCheck, TooLong) as why:
            reasons.append(str(why))
        else:
            return Recheck(Judgement.ACCEPTED, _said(invariant, method.how))
    return Recheck(Judgement.UNDECIDED, "; ".join(dict.fromkeys(reasons)))


def _check(method: CheckingMethod, invariant: Invariant) -> None:
    """All three questions, with the positions before the claim begins."""
    method.initial(invariant.entry)
    for one in invariant.sets:
        method.kept(one)
    unions = [*invariant.prefix, invariant.sets]
    for sets, following in zip(unions, [*unions[1:], invariant.sets], strict=True):
        for one in sets:
            method.step(one, following)


def _said(invariant: Invariant, how: str) -> str:
    count = len(invariant.sets)
    if not invariant.entry:  # and yet every initial state is in it
        return f"no states: there is no initial state; checked {how}"
    sets = "one set of states" if count == 1 else f"{count:,} sets of states"
    return f"{sets}: initial states inside, every step inside, the claim true inside; checked {how}"
