"""Tubes: a proof for claims of all paths where disturbances are drawn from intervals.

With every draw an affine piece gains a parameter, and decisions become surfaces in ever more of them. The state does
not grow. So here sets of states are regions of the state space (regions): neighbours are joined into their hull, and
open decisions are cut only to a resolution, across the component that matters most to the decision. What seems to fail
after that leaves a tube: at every position, the regions from which a failure was reached. Every path outside it keeps
the claim, so the next round looks at the tube alone, at a finer resolution, until nothing is left. All of this is OVER:
it proves, and never refutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import PositionClaim, position_claim
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.pieces.batches import Indices
from vernal.sets.pieces.exploration import OVERFLOWING, Exploration
from vernal.sets.pieces.positions import NotExplorable, Position, StepGraph
from vernal.sets.regions.space import MAX_REGIONS, Measures, Passage, RegionSpace, Tube, components
from vernal.sets.search import Search, Stage

RESOLUTIONS = (0, 6, 10, 13, 15)  # how often the spread of a component is halved; at first nothing is cut
MAX_MARGIN_RATIO = 0.75  # to which the worst margin has to shrink in a round; else there is most likely a real failure


class Tubes:
    """Explorations by regions, in rounds of finer resolution."""

    def __init__(self, question: Question, path: Formula, boxes: Sequence[Box], budget: Budget) -> None:
        self.question, self.path, self.boxes, self.budget = question, path, boxes, budget
        self.graph = StepGraph(question.system.step, atoms(path), budget.check)
        self.outcome = Exploration()

    @OVERFLOWING
    def run(self, horizon: int) -> Exploration:
        """Whether every path keeps the claim, as an outcome without open sets; or with all boxes open."""
        size = len(components(self.graph, self.boxes[0])[1])
        if not size:
            raise NotExplorable("nothing but discrete values")
        measures, tube = Measures(), Tube()
        worst, kept = -np.inf, np.inf
        spread: Floats | None = None  # of every component, as the first round has it
        for halvings in RESOLUTIONS:
            if measures.renew(size, horizon):
                tube, kept = Tube(), np.inf  # a tube is of use only as long as its directions are
            space = RegionSpace(self.graph, self.boxes, measures, tube, measures.resolution(spread, halvings))
            found = self._round(space, horizon)
            kept = min(kept, found.kept_margin)
            if all(passage.child is not None for passage in space.passages):
                self.outcome.margin = kept if kept > 0 else np.inf  # else boxes are too wide to say
                return self.outcome
            if halvings > RESOLUTIONS[1] and found.margin < MAX_MARGIN_RATIO * worst:
                break
            worst, spread = found.margin, found.spread if spread is None else spread
            tube = space.traced_back(measures.resolution(spread, halvings))
        self.outcome.open = list(self.boxes)
        return self.outcome

    def _round(self, space: RegionSpace, horizon: int) -> TubeRound:
        def tell(t: int, regions: int) -> None:
            self.budget.progress(f"paths: step {t} of {horizon}, {regions:,} regions", t / (horizon + 1))
            self.outcome.count("regions", regions)

        self.outcome.direction = self.outcome.direction.then(space.direction)
        found = TubeRound(space, position_claim(self.path), tell)
        Search(self.path, space, found, total=self.question.is_total, tick=self.budget.check).levels(horizon)
        self.outcome.count("rounds", 1)
        return found


@dataclass
class TubeRound:
    """Handles the regions of a round: how they spread, by how much they keep the claim, and which of them fail."""

    space: RegionSpace
    claim: PositionClaim | None
    tell: Callable[[int, int], None]  # called with a step and its number of regions
    margin: float = np.inf  # of all regions of the round
    kept_margin: float = np.inf  # of those that did not fail
    ends: tuple[Floats, Floats] | None = None  # of all components
    regions: int = 0  # of the current step
    here: TemplateSets | None = None  # what is looked at; with the margin of each region
    margins: Floats = field(default_factory=lambda: np.zeros(0))
    suspects: list[Indices] = field(default_factory=list)  # trails of `here` that failed

    done = False

    @property
    def spread(self) -> Floats | None:
        """How far the components of all regions reach."""
        return None if self.ends is None else self.ends[1] - self.ends[0]

    def reached(self, stage: Stage, states: Position[TemplateSets]) -> None:
        self._settle()
        self.regions += len(states.batch)
        low, high = (end(side, axis=0) for end, side in zip((np.min, np.max), states.batch.ranges(), strict=True))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise NotExplorable("values without a bound, or undefined ones")
        first, last = self.ends or (low, high)
        self.ends = np.minimum(first, low), np.maximum(last, high)
        self.here, self.margins, self.suspects = states.batch, self._margins(stage, states), []

    def _margins(self, stage: Stage, states: Position[TemplateSets]) -> Floats:
        """By how much each region keeps the claim at this position, at least."""
        count = len(states.batch)
        if self.claim is None or not self.claim.covers(stage.t):
            return np.full(count, -np.inf if self.claim is None else np.inf)
        value = self.space.graph.value(self.claim.margin, states.discrete)
        linear = states.layout.over(*states.batch.ranges())
        low = np.broadcast_to(linear.range(value).lower, (count,))
        return np.where(np.isnan(low), -np.inf, low)

    def _settle(self) -> None:
        """Add what was looked at last to the margins: all of it is decided now."""
        if self.here is None:
            return
        failed = np.isin(self.here.trail, np.concatenate([np.zeros(0, dtype=np.intp), *self.suspects]))
        self.margin = min(self.margin, float(self.margins.min(initial=np.inf)))
        self.kept_margin = min(self.kept_margin, float(self.margins[~failed].min(initial=np.inf)))
        self.here = None

    def kept(self, stage: Stage, states: Position[TemplateSets]) -> None:
        """Nothing to do: what does not fail is kept."""

    def failed(self, stage: Stage, states: Position[TemplateSets]) -> None:
        """Keep what failed; of a claim with a margin the whole region, so that no part counts as narrowly kept."""
        rows = states.batch
        self.suspects.append(rows.trail)
        if self.claim is not None and self.here is not None:
            rows = self.here.rows(np.isin(self.here.trail, rows.trail))
        self.space.passages.append(Passage(stage, rows, None))

    def passed(self, t: int) -> None:
        self._settle()
        self.tell(t, self.regions)
        if self.regions > MAX_REGIONS:
            raise NotExplorable("too many regions")
        self.regions = 0
