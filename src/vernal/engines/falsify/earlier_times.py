"""What a claim about a long time says of shorter ones, which are simulated first: a path may fail near its start.

A claim implies the same with each `G[a,b]` ended sooner; so a path that breaks the weaker claim breaks the claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from vernal.logic.formula import Always, Bound, Formula
from vernal.logic.normal import fold, horizon, nnf, rebuild
from vernal.logic.question import Question
from vernal.logic.times import Time, last_time
from vernal.simulate.time_scale import time_scale

FIRST_SCALES, FIRST_SAMPLES = 8, 16  # time scales of a flow, and samples of a loop, that are looked at first
MOST_SAMPLES = 1024  # that are looked at where a claim has no last one
GROWTH = 8  # of the time, from one look to the next


def earlier(question: Question) -> Iterator[Question]:
    """Weaker questions about longer and longer times, all much shorter than that of the question."""
    samples = question.time is Time.SAMPLES
    if question.claim.mentions_some:
        return
    time = Fraction(FIRST_SAMPLES) if samples else FIRST_SCALES * time_scale(question.model)
    while (weaker := ended(question.claim.path, time)) != question.claim.path:
        steps = horizon(weaker) if samples else None
        if samples and (steps is None or steps > MOST_SAMPLES):  # what never has to come has no earlier time
            return
        last = last_time([weaker]) if steps is None else Fraction(steps)
        if last > GROWTH * time or not _is_longer(question.claim.path, GROWTH * last, samples):
            return
        yield replace(question, formula=weaker)
        time *= GROWTH


def ended(formula: Formula, last: Fraction) -> Formula:
    """The formula in negation normal form with every `G[a,b]` ended by some time, or at once where it begins later."""
    return fold(nnf(formula), lambda node, args: _ended(rebuild(node, args), last))


def _ended(node: Formula, last: Fraction) -> Formula:
    if not isinstance(node, Always) or node.quantifier:
        return node
    end = max(node.bound.lower, last)
    return (
        node
        if node.bound.upper is not None and node.bound.upper <= end
        else replace(node, bound=Bound(node.bound.lower, end))
    )


def _is_longer(formula: Formula, time: Fraction, samples: bool) -> bool:
    """Whether a formula looks at more than some time, or has no last time."""
    if samples:
        steps = horizon(formula)
        return steps is None or steps > time
    unbounded = ended(formula, time)
    return unbounded != nnf(formula) or last_time([formula]) > time
