"""Claims `G p` without an end, by a set of states to which paths come and to which they come back.

Simulated paths propose a box in which they are after some periods. Then flowpipes show that all paths are in it at that
time, and that all that begin in the box are in it again after as many periods, with p true all the way: so they are for
ever. Everything that is not a state is made anew at the instants at which that is asked: each agent reads and acts, and
no action is waiting. As p is shown at all times, it is shown at the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.pipe_judge import PIPE_DIRECTION
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.logic.claim import always
from vernal.logic.formula import Always, And, Atom, Bound, Formula
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.held_loop import loop_of
from vernal.model.initial import Init, Span
from vernal.model.numbers import nearest
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.simulate.runs import Runs
from vernal.simulate.trajectories import simulate_flow

Prove = Callable[[Question, Budget], Known]
StateBox = list[tuple[float, float]]  # ends of each state variable

CYCLE_SHARE, ARRIVAL_SHARE = 0.2, 0.7  # of the time that is left: to show that paths come back, and that they come
MOST_PERIODS = 512  # of all agents together, that paths are followed
WIDENING, REGION_WIDENING = 1 / 4, 1 / 1024  # of the width of a box on each side, and of that of the region
INNER_SHARE = 1 / 16  # of a box's width, by which simulated paths have to be inside it
SIMULATED = 200  # paths that propose a box
ROUNDING = 1e-12  # of simulated times
NOT_RECURRENT = "no box was found in which paths are after {} seconds, and to which they come back after as many more"
UNPROVEN = "over the first {} seconds: {}"
DELAYS = "without a last sample, delays are not taken: an action that waits is no part of the state"
DISCRETE = "without a last sample, discrete variables beside the flow are not taken"
MEMORY = "without a last sample, agents that remember are not taken: what they remember is no part of the box"
ENDLESS = "without a last sample, only `G p` is taken, with p about one sample"


def endless_problem(question: Question) -> str | None:
    """Why a claim without an end is not taken, if it is not."""
    kept, loop = always(question.claim.linear), loop_of(question.model)
    if kept is None or classify(kept.arg) is not Logic.STATE or loop is None:
        return ENDLESS
    if any(agent.delay for agent in loop.agents):
        return DELAYS
    if loop.slots:
        return MEMORY
    return DISCRETE if any(variable.sort != REAL for variable in loop.state) else None


class RecurrentSet:
    """Looks for a box of one claim."""

    def __init__(self, question: Question, engine: str, prove: Prove, budget: Budget) -> None:
        """`prove` answers questions with an end by a flowpipe."""
        kept, loop = always(question.claim.linear), loop_of(question.model)
        assert kept is not None
        assert loop is not None
        self.question, self.engine, self.prove, self.budget = question, engine, prove, budget
        self.kept, self.loop = kept, loop
        self.period = _common_period(loop)
        self.reason, self.boxes = ENDLESS, 0

    def run(self) -> Known:
        """A proof, or why none was found."""
        for count in self._counts():
            self.budget.check()
            if self._comes_back(count):
                return Proof(
                    engine=self.engine,
                    direction=PIPE_DIRECTION,
                    assurance=Assurance.RIGOROUS,
                    stays_inside=True,
                    statistics={"boxes": self.boxes, "periods": count},
                )
        return Open(engine=self.engine, reason=self.reason)

    def _counts(self) -> Iterator[int]:
        """Half of the periods for which paths are followed, more and more; none before the claim begins to count."""
        count = 4
        while 2 * count <= MOST_PERIODS:
            if self._begins <= count * self.period:
                yield count
            count *= 2

    @property
    def _begins(self) -> Fraction:
        assert self.loop.grid is not None
        return self.kept.bound.lower * self.loop.grid

    def _comes_back(self, count: int) -> bool:
        """Whether paths are in a box after so many periods, and from all of it in it again after as many more."""
        model, self.reason = self.question.model, NOT_RECURRENT.format(float(count * self.period))
        box, cycle = self._proposed(count)
        if cycle is None:
            return False
        there, again = _inside(self.loop, box), _from_box(model, self.loop, box)
        if not self._shown(again, Fraction(0), cycle, there, CYCLE_SHARE):
            return False
        return self._shown(model, self._begins, count * self.period, there, ARRIVAL_SHARE)

    def _proposed(self, count: int) -> tuple[StateBox, Fraction | None]:
        """A box around simulated paths after some periods, and after what time those are back that begin in it."""
        model, chance = self.question.model, np.random.default_rng(self.budget.seed)
        first = count * self.period
        box = _widened(
            self.loop, _hull(self.loop, simulate_flow(model, SIMULATED, 2 * first, chance, corners=True), first)
        )
        ends = [(float_above(low), float_below(high)) for low, high in self.loop.region]
        if not _is_within(box, ends):
            return box, None
        around = simulate_flow(_from_box(model, self.loop, box), SIMULATED, first, chance, corners=True)
        cycles = [self.period * 2**k for k in range(count.bit_length())]
        room = _widened(self.loop, box, -INNER_SHARE, 0.0)
        back = (time for time in cycles if _is_within(_hull(self.loop, around, time, time), room))
        return box, next(back, None)

    def _shown(self, model: Model, first: Fraction, last: Fraction, there: Formula, share: float) -> bool:
        """Whether flowpipes show the claim between two times, that no path leaves the region, and where all end up."""
        formula = And((Always(self.kept.arg, Bound(first, last)), Always(there, Bound(last, last))))
        asked = replace(self.question, model=model, formula=formula, counts=Time.SECONDS)
        known = self.prove(asked, self.budget.part(share))
        if not isinstance(known, Proof) or not isinstance(known.evidence, Flowpipe):
            self.reason = UNPROVEN.format(float(last), known.reason if isinstance(known, Open) else "the claim fails")
            return False
        self.boxes += len(known.evidence.starts)
        inside = min(known.evidence.inside_until, known.evidence.until)
        if inside < last:
            self.reason = f"paths are known to be in the region until {inside:.4g} seconds only"
        return inside >= last


def _common_period(loop: Model) -> Fraction:
    """After which everything at instants begins anew."""
    periods = [agent.every or loop.grid for agent in loop.agents]
    periods += [loop.motion.every] if loop.motion.next else []
    grid = loop.grid
    assert grid is not None
    return grid * lcm(*(int(period / grid) for period in periods if period is not None))


def _hull(loop: Model, runs: Runs, first: Fraction, last: Fraction | None = None) -> StateBox:
    """The box around simulated states between two times; from one on where there is no other."""
    assert runs.times is not None
    counted = runs.times >= nearest(first) * (1 - ROUNDING)
    if last is not None:
        counted &= runs.times <= nearest(last) * (1 + ROUNDING)
    columns = [runs.state[variable.name][:, counted] for variable in loop.state]
    if any(np.isnan(column).any() for column in columns):  # a path has left the region
        return [(-np.inf, np.inf) for _ in columns]
    return [(float(column.min()), float(column.max())) for column in columns]


def _widened(loop: Model, box: StateBox, share: float = WIDENING, of_region: float = REGION_WIDENING) -> StateBox:
    """A box that is wider by some shares of its own width and of that of the region; any box would do."""
    found = []
    for (low, high), ends in zip(box, loop.region, strict=True):
        more = share * (high - low) + of_region * float(ends[1] - ends[0])
        found.append((low - more, high + more))
    return found


def _is_within(inner: StateBox, outer: StateBox) -> bool:
    return all(low < a and b < high for (low, high), (a, b) in zip(outer, inner, strict=True))


def _inside(loop: Model, box: StateBox) -> Formula:
    """That a state is in a box."""
    sides = [(v.var >= Fraction(low), v.var <= Fraction(high)) for v, (low, high) in zip(loop.state, box, strict=True)]
    return And(tuple(Atom(side) for pair in sides for side in pair))


def _from_box(flow: Model, loop: Model, box: StateBox) -> Model:
    """The same loop from all states of a box."""
    starts = {v.name: Span(Fraction(low), Fraction(high)) for v, (low, high) in zip(loop.state, box, strict=True)}
    return flow.starting(Init({**flow.init.starts, **starts}, ()))
