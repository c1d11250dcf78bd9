"""Bound after bound: a bounded until is decided at the first step at which it can be (AAAI 2019, Algorithm 1).

If all paths keep `p U[0,3] q`, they keep `p U[0,20] q`: the rest need not be looked at. If a path breaks `G[0,3] p`, it
breaks `G[0,20] p`. So the same question is asked with growing bounds until one answer is that of the question itself.
What the paper asks in two programs a step is one here: a counterexample that is false of the whole claim, too, ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vernal.engines.initial_parts import Attempt
from vernal.evidence import confirm
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof
from vernal.logic.formula import Always, Eventually, Formula, Release, Until, Weak
from vernal.logic.normal import steps
from vernal.logic.question import Question
from vernal.logic.shortening import shortened
from vernal.run.budget import Budget

Timed = Until | Eventually | Always | Release | Weak
SPENT = ("programs", "solver_seconds")
EASIER = (Until, Eventually)  # the longer the bound; the others are harder


def deepened(attempt: Attempt, question: Question, budget: Budget) -> Known:
    """What the first bound shows that decides the question; what the question itself shows if none does."""
    spent = dict.fromkeys(SPENT, 0.0)
    proven: int | None = None
    own = replace(budget, journal=None)  # a journal knows the parts of the whole question
    for shorter in _shorter(question):
        budget.check()
        known = attempt(replace(question, formula=shorter), own)
        _add(spent, known)
        if _decides(known, shorter, question):
            return _with(known, spent, f"decided with the bound {shorter.bound}")
        if isinstance(shorter, Always) and isinstance(known, Proof):
            proven = steps(shorter.bound)[1]
    last = attempt(question, budget)
    _add(spent, last)
    return _with(replace(last, proven_steps=proven) if isinstance(last, Open) else last, spent)


def _shorter(question: Question) -> Iterator[Timed]:
    """The formula with smaller upper bounds, the smallest first; none where a claim is about some path."""
    formula: Formula = question.formula
    if not isinstance(formula, Timed) or question.claim.mentions_some:
        return
    lower, upper = steps(formula.bound)
    for width in range(0 if upper is None else upper - lower):
        yield replace(formula, bound=shortened(formula.bound, width))


def _decides(known: Known, shorter: Timed, question: Question) -> bool:
    if isinstance(known, Proof):
        return isinstance(shorter, EASIER)
    return isinstance(known, Counterexample) and confirm.truth(known.trace, question.claim.path) is False


def _add(spent: dict[str, float], known: Known) -> None:
    for name in SPENT:
        spent[name] += float(known.statistics.get(name, 0))


def _with(known: Known, spent: Mapping[str, float], *notes: str) -> Known:
    """What is known, with all the programs it took."""
    total = {"programs": int(spent["programs"]), "solver_seconds": round(spent["solver_seconds"], 3)}
    return replace(known, notes=(*known.notes, *notes), statistics={**known.statistics, **total})
