"""Claims `G p` without an end, by boxes of states to which paths come and to which they come back.

Simulated paths propose one box in which they are after some time. Flowpipes then show that all paths are in it at that
time, and that all that begin in the box are in it again after some periods, with p true all the way: so they are for
ever. Where paths of a flow go round, the box is one of a section, which all of them pass again and again. Where no box
will do, as among discrete values, there are many: the cells of a grid in which paths are when they have come, those in
which these are a while later, and so on, until no cell is new.

At the instants at which this is asked each agent is about to read and act (`sets.sampled.returns`). As p is shown at
all times, it is shown at the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np

from vernal.engines.flow.cell_grid import CellGrid, hulls
from vernal.engines.flow.proposed_sections import looks, proposed_sections
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.pipe_judge import PIPE_DIRECTION
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Assurance
from vernal.interpret.flow.integration import horizon_on_grid
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.logic.claim import always
from vernal.logic.formula import Always, Bound
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.clock import clock_of
from vernal.model.numbers import nearest
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingLimits
from vernal.sets.flow_starts import StartBoxes, start_boxes
from vernal.sets.sampled.returns import LIMITS, FollowedTime, Returns, from_boxes, lasting
from vernal.sets.sampled.sections import Section
from vernal.simulate.runs import Runs
from vernal.simulate.time_scale import time_scale
from vernal.simulate.timed_targets import TARGETS
from vernal.simulate.trajectories import column, simulate_flow

HULL_SHARE = 0.15  # of the time that is left, for hulls
HULL_PERIODS, HULL_ROUNDS = (1, 4), 8
BOX_SHARE, CELLS_SHARE = 0.3, 0.3  # of the time that is left: for one box, and for one grid of cells
FIRST_COUNT, MOST_PERIODS = 4, 512  # periods (of flows: time scales) for which paths are followed
WIDENING, REGION_WIDENING = 1 / 4, 1 / 1024  # of the width of a box on each side, and of that of the region
INNER_SHARE = 1 / 16  # of a box's width, by which simulated paths have to be inside it
SIMULATED, FEW_SIMULATED = 200, 32  # paths that propose a box, and that propose a section
SECTION_COUNTS = (16, 64, 256)  # periods after which they may have settled
ROUNDING = 1e-12  # of simulated times
CELL_GRIDS = ((8, 4), (8, 16), (16, 4), (16, 16), (32, 4), (32, 16), (32, 64), (64, 16), (64, 64), (128, 64))
# how many cells are as wide as what paths cover, and after how many periods they are met again
SECTION_LIMITS = CuttingLimits(rounds=4, most=64, patience=3)  # for sections
MOST_CELLS, CELL_DIMENSIONS = 4096, 3
CELL_LIMITS = CuttingLimits(rounds=6, most=2 * MOST_CELLS, patience=4)  # of what begins in new cells
NOT_RECURRENT = "no box of states was found in which all paths are after {0} s, and to which all return every {0} s"
CLOCK = "a claim without a last time cannot name the clock, which never comes back to where it was"
ENDLESS = "without a last time, only `G p` is taken, with p about one instant"
CELLS_LEAVE = "no set of cells of a grid, {}, was found that paths do not leave: {}"
BREAKS = "from one of them a path may break the claim, or leave the region"
TOO_MANY = f"there are more than {MOST_CELLS:,}"

SetAttempt = Callable[[Budget], RecurrentSet | None]


def endless_problem(question: Question) -> str | None:
    """Why a claim without an end is not taken, if it is not."""
    kept = always(question.claim.linear)
    if kept is None or classify(kept.arg) is not Logic.STATE:
        return ENDLESS
    return CLOCK if clock_of(question.model) is not None else None


class RecurrentSearch:
    """Looks for recurrent sets that show one claim."""

    def __init__(self, question: Question, engine: str, budget: Budget) -> None:
        kept = always(question.claim.linear)
        assert kept is not None
        self.question, self.engine, self.budget, self.model = question, engine, budget, question.model
        self.kept = kept.arg
        grid = question.model.grid if question.time is Time.SAMPLES else None
        self.begins = kept.bound.lower * (1 if grid is None else grid)
        self.lasts = lasting(self.model)
        self.period = time_scale(self.model)
        self.reason, self.boxes = ENDLESS, 0
        self.has_kinds = any(var.sort != REAL for var in self.lasts)

    def run(self) -> Known:
        """A proof, or why none was found."""
        if not len(start_boxes(self.model)):
            return self._proof(None)
        for attempt in self.attempts():
            self.budget.check()
            if attempt is not None:
                return self._proof(attempt)
        return Open(engine=self.engine, reason=self.reason, statistics={"boxes": self.boxes})

    def _proof(self, found: RecurrentSet | None) -> Proof:
        own = {} if found is None else {"recurrent boxes": len(found.boxes), "period": float(found.period)}
        return Proof(
            engine=self.engine,
            direction=PIPE_DIRECTION,
            assurance=Assurance.RIGOROUS,
            stays_inside=True,
            empty=found is None,
            evidence=found,
            statistics={"boxes": self.boxes, **own},
        )

    def attempts(self) -> Iterator[RecurrentSet | None]:
        """Single boxes and sections, of paths that are followed longer and longer; then grids of cells."""
        for periods in HULL_PERIODS if self.model.grid is not None and not self.begins else ():
            yield self._within(self.budget.part(HULL_SHARE), partial(self._hulls, periods))
        count = FIRST_COUNT
        while not self.has_kinds and 2 * count <= MOST_PERIODS:
            if self.begins <= count * self.period:
                yield self._within(self.budget.part(BOX_SHARE), partial(self._one_box, count))
            if count in SECTION_COUNTS and self.model.grid is None:
                yield self._within(self.budget.part(BOX_SHARE), partial(self._section, count))
            count *= 2
        for cells, periods in CELL_GRIDS if sum(var.sort == REAL for var in self.lasts) <= CELL_DIMENSIONS else ():
            yield self._within(self.budget.part(CELLS_SHARE), partial(self._many, cells, periods))

    def _within(self, part: Budget, attempt: SetAttempt) -> RecurrentSet | None:
        """An attempt within a part of the time."""
        try:
            return attempt(part)
        except Stopped as stop:
            self.budget.check()  # its own limits end the search
            self.reason = stop.reason
            return None

    def _set(self, arrival: Fraction, period: Fraction, boxes: Floats) -> RecurrentSet:
        return RecurrentSet(tuple(var.name for var in self.lasts), arrival, period, boxes)

    # Hulls ------------------------------------------------------------------------------------------------------------

    def _hulls(self, periods: int, budget: Budget) -> RecurrentSet | None:
        """Whether the initial states, with hulls of where paths are after so many periods, are left for themselves.

        There is one for each combination of discrete values. Of what is reset these may be points.
        """
        whole = np.array([var.sort != REAL for var in self.lasts])
        starts = start_boxes(self.model)
        arriving = Returns(self.model, self.kept, FollowedTime(Fraction(0)), budget.check)
        known = hulls(arriving.lasting_ends(starts), whole)
        for _ in range(HULL_ROUNDS):
            budget.check()
            model = from_boxes(self.model, known)
            around = Returns(model, self.kept, FollowedTime(periods * self.period), budget.check)
            ends = around.all_ends(around.boxes(known), LIMITS)
            self.boxes += around.rounds.boxes
            if ends is None:
                return None
            wider = hulls(np.concatenate([known, ends]), whole)
            if len(wider) == len(known) and (wider == known).all():
                return self._set(Fraction(0), periods * self.period, known)
            if len(wider) > MOST_CELLS:
                return None
            known = wider
        return None

    # One box ----------------------------------------------------------------------------------------------------------

    def _one_box(self, count: int, budget: Budget) -> RecurrentSet | None:
        """Whether paths are in a box after so many periods, and from all of it in it again after as many or fewer."""
        first = count * self.period
        self.reason = NOT_RECURRENT.format(float(first))
        box = self._proposed(first)
        if box is None:
            return None
        model = from_boxes(self.model, box)
        cycle = self._cycle(model, box, count)
        if cycle is None:
            return None
        around = Returns(model, self.kept, FollowedTime(cycle), budget.check)
        arriving = Returns(self.model, self.kept, FollowedTime(first, self.begins), budget.check)
        if self._shown(around, around.boxes(box), box) and self._shown(arriving, start_boxes(self.model), box):
            return self._set(first, cycle, box)
        return None

    def _shown(
        self, returns: Returns, starts: StartBoxes, targets: Floats | Section, limits: CuttingLimits = LIMITS
    ) -> bool:
        """Whether all that begins somewhere keeps the claim and comes to some boxes; else the reason is noted."""
        problem = returns.problem(starts, targets, limits)
        self.boxes += returns.rounds.boxes
        self.reason = problem or self.reason
        return problem is None

    def _proposed(self, first: Fraction) -> Floats | None:
        """A box around simulated paths after some time, if it is inside the region."""
        runs = simulate_flow(self.model, SIMULATED, 2 * first, self._chance, corners=True, more=[first])
        box = self._widened(self._hull(runs, first))
        ends = self._region
        return box if (box[0, 0] > ends[0]).all() and (box[0, 1] < ends[1]).all() else None

    def _cycle(self, model: Model, box: Floats, count: int) -> Fraction | None:
        """After what time simulated paths from a box are back in it, and have kept the claim."""
        last = count * self.period
        cycles = [self.period * 2**k for k in range(count.bit_length())]
        around = simulate_flow(model, SIMULATED, last, self._chance, corners=True, more=cycles)
        room = self._widened(box, -INNER_SHARE, 0.0)
        for time in cycles:
            ends = self._hull(around, time, time)
            if (ends[0, 0] > room[0, 0]).all() and (ends[0, 1] < room[0, 1]).all():
                bounded = Question(model, Always(self.kept, Bound(Fraction(0), time)))
                kept = TARGETS[Time.SECONDS](bounded).margins(around)
                return time if float(kept.min()) >= 0 else None
        return None

    @property
    def _chance(self) -> np.random.Generator:
        return np.random.default_rng(self.budget.seed)

    @property
    def _region(self) -> Floats:
        ends = [self.model.region[self.model.vars.index(var)] for var in self.lasts]
        return np.array([[float_above(low) for low, _ in ends], [float_below(high) for _, high in ends]])

    def _hull(self, runs: Runs, first: Fraction, last: Fraction | None = None) -> Floats:
        """The box (1, 2, lasting) around simulated states between two times; infinite where a path is lost."""
        assert runs.times is not None
        counted = runs.times >= nearest(first) * (1 - ROUNDING)
        if last is not None:
            counted &= runs.times <= nearest(last) * (1 + ROUNDING)
        if not counted.any():
            return np.array([[[-np.inf], [np.inf]]])
        columns = [column(runs, var.name)[:, counted] for var in self.lasts]
        ends = [(float(own.min()), float(own.max())) for own in columns]
        found = np.array([ends]).transpose(0, 2, 1)
        return np.where(np.isnan(found).any(), np.array([[[-np.inf], [np.inf]]]), found)

    def _widened(self, box: Floats, share: float = WIDENING, of_region: float = REGION_WIDENING) -> Floats:
        """A box that is wider by some shares of its own width and of that of the region; any box would do."""
        more = share * (box[:, 1] - box[:, 0]) + of_region * (self._region[1] - self._region[0])
        return np.stack([box[:, 0] - more, box[:, 1] + more], axis=1)

    # A section --------------------------------------------------------------------------------------------------------

    def _section(self, count: int, budget: Budget) -> RecurrentSet | None:
        """Whether paths pass one value of some variable, inside a box of the others, again and again."""
        first = 2 * count * self.period
        runs = simulate_flow(self.model, FEW_SIMULATED, 2 * first, self._chance, corners=True, more=looks(2 * first))
        for proposal in proposed_sections(self.model, runs, nearest(first)):
            box, place = proposal.box, proposal.column
            section, model = Section(place, box[0]), from_boxes(self.model, box)
            period, arrival = (Fraction(horizon_on_grid(time)) for time in (proposal.period, proposal.arrival))
            around = Returns(model, self.kept, FollowedTime(period), budget.check)
            arriving = Returns(self.model, self.kept, FollowedTime(arrival, self.begins), budget.check)
            if (
                self.begins <= arrival
                and self._shown(around, around.boxes(box), section, SECTION_LIMITS)
                and self._shown(arriving, start_boxes(self.model), section, SECTION_LIMITS)
            ):
                return replace(self._set(arrival, period, box), section=self.lasts[place].name)
        return None

    # Many cells -------------------------------------------------------------------------------------------------------

    def _many(self, cells: int, periods: int, budget: Budget) -> RecurrentSet | None:
        """Cells of a grid from which all paths are in some of them again after so many periods."""
        arrival = Fraction(0) if not self.begins else self.period * max(periods, ceil(self.begins / self.period))
        grid = self._grid(cells, periods)
        known = set(grid.around(self._arrivals(arrival, budget)))
        waiting = list(known)
        while waiting:
            budget.check()
            boxes = grid.boxes(waiting)
            around = Returns(
                from_boxes(self.model, boxes), self.kept, FollowedTime(periods * self.period), budget.check
            )
            ends = around.all_ends(around.boxes(boxes), CELL_LIMITS)
            self.boxes += around.rounds.boxes
            reached = set() if ends is None else set(grid.around(ends))
            if ends is None or len(known | reached) > MOST_CELLS:
                self.reason = CELLS_LEAVE.format(
                    f"1/{cells} as wide as what paths cover", BREAKS if ends is None else TOO_MANY
                )
                return None
            waiting = sorted(reached - known)
            known |= reached
        return self._set(arrival, periods * self.period, grid.boxes(sorted(known)))

    def _arrivals(self, arrival: Fraction, budget: Budget) -> Floats:
        """Boxes in which all paths are at some time, with the claim kept since it began to count."""
        starts = start_boxes(self.model)
        arriving = Returns(self.model, self.kept, FollowedTime(arrival, self.begins), budget.check)
        if not arrival:
            return arriving.lasting_ends(starts)
        ends = arriving.all_ends(starts, LIMITS)
        if ends is None:
            raise Stopped(CELLS_LEAVE.format("of any size", "on the way there " + BREAKS))
        return ends

    def _grid(self, cells: int, periods: int) -> CellGrid:
        """Cells as wide as a share of what simulated paths cover, rounded to a power of two."""
        runs = simulate_flow(self.model, SIMULATED, 4 * periods * self.period, self._chance, corners=True)
        with np.errstate(all="ignore"):
            columns = [column(runs, var.name) for var in self.lasts]
            spread = np.array([float(np.nanmax(own) - np.nanmin(own)) for own in columns])
        region = self._region[1] - self._region[0]
        spread = np.clip(np.nan_to_num(spread), REGION_WIDENING * region, region)
        whole = np.array([var.sort != REAL for var in self.lasts])
        return CellGrid(np.where(whole, 0.0, 2.0 ** np.floor(np.log2(np.maximum(spread, 2.0**-900) / cells))))
