"""Bound after bound: a bounded until is decided at the first step at which it can be (AAAI 2019, Algorithm 1).

If all paths keep `p U[0,3] q`, they keep `p U[0,20] q`: the rest need not be looked at. If a path breaks `G[0,3] p`, it
breaks `G[0,20] p`. So the same question is asked with growing bounds until one answer is that of the question itself.
What the paper asks in two programs a step is one here: a counterexample that is false of the whole claim, too, ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from vernal.engines.base import Question
from vernal.evidence import confirm
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import Always, Bound, Eventually, Formula, Quantifier, Release, Until, Weak
from vernal.logic.normal import horizon, quantifiers, steps, strip_quantifiers
from vernal.run.budget import Budget

Check = Callable[[Question, Budget], Result]
Timed = Until | Eventually | Always | Release | Weak
SPENT = ("programs", "solver_seconds")
EASIER = (Until, Eventually)  # the longer the bound; the others are harder


def deepened(check: Check, question: Question, budget: Budget) -> Result:
    """The answer to the first bound that decides the question; to the question itself if none does."""
    spent = dict.fromkeys(SPENT, 0.0)
    proven: int | None = None
    own = replace(budget, journal=None)  # a journal knows the parts of the whole question
    for shorter in _shorter(question.formula):
        budget.check()
        result = check(replace(question, formula=shorter), own)
        _add(spent, result)
        if _decides(result, shorter, question.formula):
            measured = replace(result, margin=_margin(result, question.formula))
            return _of(question, measured, spent, f"decided with the bound {shorter.bound}")
        if isinstance(shorter, Always) and result.verdict is HOLDS:
            proven = steps(shorter.bound)[1]
    last = check(question, budget)
    _add(spent, last)
    made = _of(question, last, spent)
    return replace(made, proven_steps=proven) if made.verdict is UNKNOWN else made


def _shorter(formula: Formula) -> Iterator[Timed]:
    """The formula with smaller upper bounds, the smallest first; none where a claim is about some path."""
    if not isinstance(formula, Timed) or Quantifier.SOME in quantifiers(formula):
        return
    lower, upper = steps(formula.bound)
    for last in range(lower, lower if upper is None else upper):
        yield replace(formula, bound=Bound(Fraction(lower), Fraction(last)))


def _decides(result: Result, shorter: Timed, whole: Formula) -> bool:
    if result.verdict is HOLDS:
        return isinstance(shorter, EASIER)
    if result.verdict is not VIOLATED or result.trace is None:
        return False
    return confirm.truth(result.trace, strip_quantifiers(whole)) is False


def _margin(result: Result, whole: Formula) -> float | None:
    """That of the trace for the whole claim; a proof's is a lower bound for the longer bound as well."""
    if result.verdict is HOLDS or result.margin is None or result.trace is None:
        return result.margin
    return confirm.margin(result.trace, strip_quantifiers(whole))


def _add(spent: dict[str, float], result: Result) -> None:
    for name in SPENT:
        spent[name] += float(result.statistics.get(name, 0))


def _of(question: Question, result: Result, spent: Mapping[str, float], *notes: str) -> Result:
    """The result as one of the question, with all the programs it took."""
    total = {"programs": int(spent["programs"]), "solver_seconds": round(spent["solver_seconds"], 3)}
    scope = f"up to step {horizon(question.formula)}" if result.verdict is HOLDS else result.scope
    return replace(
        result,
        formula=str(question.formula),
        scope=scope,
        notes=(*result.notes, *notes),
        statistics={**result.statistics, **total},
    )
