"""The claims that are asked together with one, and what its flowpipe has to be to serve them, too."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.interpret.numbers.rounding import float_above
from vernal.interpret.sampled.held_questions import about
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.times import is_endless, last_time

FURTHER = 2.0  # times as far as one claim looks: pipes are followed that far for others


def beside(question: Question, formulas: Sequence[Formula]) -> list[Formula]:
    """The claims with an end that are asked together with one, over the variables of its flow."""
    return [about(question.model, formula).formula for formula in formulas if not is_endless(formula)]


def common_horizon(horizon: float, others: Sequence[Formula]) -> float:
    """How far a pipe has to be followed for all claims that do not look much further than one."""
    ends = (float_above(last_time([formula])) for formula in others)
    return max([horizon, *(end for end in ends if end <= FURTHER * horizon)])
