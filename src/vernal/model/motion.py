"""Motions: how the state of a model changes, as frozen data and as written.

A step gives the next values, rates give the flow between instants, a sampled motion has both in turn on a grid of
instants, and modes are an affine hybrid automaton. What is written is over state variables, lets, draws and, but for
rates alone, the agents' actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import TypeAlias

from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.hybrid import HybridAutomaton
from vernal.model.portable import Portable


@dataclass(frozen=True, slots=True)
class Step(Portable):
    """The next values; a variable that is not named keeps its own. Where it is not enabled, a path ends."""

    next: Mapping[str, Expr] = field(hash=False)
    enabled: Expr = TRUE


@dataclass(frozen=True, slots=True)
class Rates(Portable):
    """The rate of change of each variable, all the time; that of a variable that is not named is 0."""

    rates: Mapping[str, Expr] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Sampled(Portable):
    """A flow, and what happens at the instants of a grid; the agents' periods and delays are the agents' own.

    Every so many seconds, from the first period on, the variables of `next` jump, computed from the values that the
    flow left and the actions held until then; after that agents read and act. Rates see the held actions, and besides
    the lets of the model `signals`, which are those of the flow: their draws vary in time.
    """

    every: Fraction
    rates: Mapping[str, Expr] = field(hash=False)
    next: Mapping[str, Expr] = field(hash=False)
    enabled: Expr = TRUE
    signals: Mapping[str, Expr] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Modes(Portable):
    """An affine hybrid automaton over the state variables."""

    automaton: HybridAutomaton


Motion: TypeAlias = Step | Rates | Sampled | Modes


def common_period(periods: Iterable[Fraction]) -> Fraction:
    """The longest period of which all these are multiples."""
    given = list(periods)
    return Fraction(gcd(*(one.numerator for one in given)), lcm(*(one.denominator for one in given)))
