"""Motions: how the state of a model changes, as frozen data and as written.

A step gives the next values, rates give the flow between instants, a sampled motion has both in turn on a grid of
instants, and modes are an affine hybrid automaton. What is written is over state variables, lets, draws and, but for
rates alone, the agents' actions.

Each motion says of itself what others ask: next values and rates (none where it has none), how often instants come, its
kind of time, and what models that move so are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import gcd, lcm
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.hybrid import HybridAutomaton
from vernal.model.portable import Portable


class Time(StrEnum):
    """What positions and bounds of a claim count."""

    STEPS = "steps"
    SAMPLES = "samples"  # the instants of a grid
    SECONDS = "seconds"  # in which every instant counts


NOTHING: Mapping[str, Expr] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Step(Portable):
    """The next values; a variable that is not named keeps its own. Where it is not enabled, a path ends."""

    next: Mapping[str, Expr] = field(hash=False)
    enabled: Expr = TRUE

    rates: ClassVar[None] = None
    signals: ClassVar[Mapping[str, Expr]] = NOTHING
    every: ClassVar[None] = None
    automaton: ClassVar[None] = None
    time: ClassVar[Time] = Time.STEPS
    noun: ClassVar[str] = "systems that move in steps"


@dataclass(frozen=True, slots=True)
class Rates(Portable):
    """The rate of change of each variable, all the time; that of a variable that is not named is 0."""

    rates: Mapping[str, Expr] = field(hash=False)

    next: ClassVar[Mapping[str, Expr]] = NOTHING
    enabled: ClassVar[Expr] = TRUE
    signals: ClassVar[Mapping[str, Expr]] = NOTHING
    every: ClassVar[None] = None
    automaton: ClassVar[None] = None
    time: ClassVar[Time] = Time.SECONDS
    noun: ClassVar[str] = "flows"


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

    automaton: ClassVar[None] = None
    time: ClassVar[Time] = Time.SECONDS
    noun: ClassVar[str] = "loops that sample"


@dataclass(frozen=True, slots=True)
class Modes(Portable):
    """An affine hybrid automaton over the state variables, and which of its executions count.

    Those of an automaton that stands for a flow are never blocked inside the region, and do not leave it by the `kept`
    sides: of each variable the upper one, then of each the lower one; none are where nothing is said.
    """

    automaton: HybridAutomaton
    kept: tuple[bool, ...] = ()
    may_block: bool = True  # an execution ends where it can neither stay in its location nor change to another

    next: ClassVar[Mapping[str, Expr]] = NOTHING
    enabled: ClassVar[Expr] = TRUE
    rates: ClassVar[None] = None
    signals: ClassVar[Mapping[str, Expr]] = NOTHING
    every: ClassVar[None] = None
    time: ClassVar[Time] = Time.SECONDS
    noun: ClassVar[str] = "hybrid automata"


Motion: TypeAlias = Step | Rates | Sampled | Modes


def common_period(periods: Iterable[Fraction]) -> Fraction:
    """The longest period of which all these are multiples."""
    given = list(periods)
    return Fraction(gcd(*(one.numerator for one in given)), lcm(*(one.denominator for one in given)))


MAX_INSTANTS = 10_000  # of the grid in the longest period, at most


def grid_problem(periods: Iterable[Fraction]) -> str | None:
    """Why periods have no grid that is practical, if they have none."""
    given = list(periods)
    if not given or max(given) / common_period(given) <= MAX_INSTANTS:
        return None
    return f"the periods have no common grid that is practical: it has more than {MAX_INSTANTS:,} instants in one"
