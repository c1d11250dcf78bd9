"""Tubes: a proof for claims of all paths where disturbances are drawn from intervals.

With every draw a piece of `explore` gains a parameter, and decisions become surfaces in ever more of them. The state
does not grow. So here sets of states are regions of the state space (regions): neighbours are joined into their hull,
and open decisions are cut only to a resolution, across the component that matters most to the decision. What seems to
fail after that leaves a tube: at every position, the regions from which a failure was reached. Every path outside it
keeps the claim, so the next round looks at the tube alone, at a finer resolution, until nothing is left. All of this
is OVER: it proves, and never refutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.influence import steepness
from vernal.engines.paths.batches import Floats, Indices, Pairs, Pieces
from vernal.engines.paths.decide import Layout, Mask, mask_of
from vernal.engines.paths.explore import OVERFLOWING, Branch, Explorer, Key, NotExplorable, Outcome
from vernal.engines.paths.moves import affine_map
from vernal.engines.paths.regions import (
    Regions,
    Template,
    below,
    clipped,
    cut,
    from_box,
    gathered,
    moved,
    regions,
    template,
    together,
)
from vernal.engines.paths.trails import Trails
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Compare, Expr
from vernal.model.initial import Box
from vernal.run.budget import Budget

RESOLUTIONS = (0, 6, 10, 13, 15)  # how often the spread of a component is halved; at first nothing is cut
JOIN = 4.0  # regions this many times the resolution apart are joined
MAX_REGIONS = 2_000  # of one level: beyond, another method is better
GAIN = 0.75  # the worst margin has to shrink to this share in a round, else there is most likely a real failure

Map = tuple[Floats, Floats, Floats, tuple[Floats, Floats]]  # F, f, the gap, and the ends of the draws


@dataclass(frozen=True, slots=True)
class Passage:
    """Regions at a position, and the trails they went on by; none where they failed."""

    place: tuple[int, Key]
    rows: Regions
    child: Indices | None


class Tubes(Explorer):
    """An exploration by regions, in rounds."""

    def __init__(self, question: Question, path: Formula, boxes: Sequence[Box], budget: Budget) -> None:
        self.maps: list[Floats] = []  # the steps met so far: columns of the state, then of the draws
        self.guards: list[Floats] = []  # what comparisons compare, as rows of the state
        self.known: dict[tuple[Layout, tuple[Expr, ...]], tuple[Floats, Floats, Map]] = {}  # with where each is true
        self.template: Template | None = None
        self.tube: dict[tuple[int, Key], Regions] = {}
        self.spread: Floats | None = None  # of every component, as the first round has it
        self.kept = np.inf  # the margin of all that was proven since the tube was begun
        self.halvings = self.horizon = 0
        super().__init__(question, path, boxes, budget)

    def run(self, horizon: int) -> Outcome:
        """Whether every path keeps the claim, as an outcome without open sets; or with all boxes open."""
        self.horizon = horizon
        worst = -np.inf
        for self.halvings in RESOLUTIONS:
            self.outcome.margin = np.inf
            self._begin(self.boxes, 0)
            self._levels(horizon)
            self._count("rounds", 1)
            if all(passage.child is not None for passage in self.passages):
                self.outcome.margin = self.kept if self.kept > 0 else np.inf  # else boxes are too wide to say
                return self.outcome
            if self.halvings > RESOLUTIONS[1] and self.outcome.margin < GAIN * worst:
                break
            worst = self.outcome.margin
            self._trace_back()
        self.outcome.open = list(self.boxes)
        return self.outcome

    # A round

    @OVERFLOWING
    def _begin(self, boxes: Sequence[Box], parts: int) -> None:
        self.parts = parts
        self.trails = Trails(self.question, boxes)
        self.frontier, self.after = {}, {}
        self.passages: list[Passage] = []
        self.joined: list[tuple[int, Pairs]] = []
        self.ends: tuple[Floats, Floats] | None = None
        self.count = 0
        for index, box in enumerate(boxes):
            self._enter(index, box)

    def _enter(self, index: int, box: Box) -> None:
        discrete = tuple(self._constant(box, node) for node in self.step.inputs)
        nodes = [node for node, value in zip(self.step.inputs, discrete, strict=True) if value is None]
        ends = [pair for node in nodes for pair in box.ends[node]]
        if not ends:
            raise NotExplorable("nothing but discrete values")
        if not index:
            self._measured_by(template(len(ends), self.maps, self.horizon, self.guards))
        assert self.template is not None
        if len(ends) != self.template.size:
            raise NotExplorable("initial sets with different numbers of components")
        low, high = np.array([float_below(a) for a, _ in ends]), np.array([float_above(b) for _, b in ends])
        place = Key(discrete, self.start, 0)
        self.frontier.setdefault(place, []).append(from_box(self.template, low, high, self._new(1)))

    def _measured_by(self, made: Template) -> None:
        """A tube is of use only as long as its directions are."""
        if self.template is None or not np.array_equal(made.rows, self.template.rows):
            self.template, self.tube, self.kept = made, {}, np.inf

    def _new(self, count: int) -> Indices:
        """New trails."""
        self.count += count
        return np.arange(self.count - count, self.count)

    @OVERFLOWING
    def _levels(self, horizon: int) -> Outcome:
        for self.t in range(horizon + 1):
            self.after = {}
            total = 0
            for key, batches in list(self.frontier.items()):
                self.key = key
                self.budget.check()
                pieces = self._merged(batches)
                total += len(pieces)
                if len(pieces):
                    self._look(pieces)
            self.budget.progress(f"paths: step {self.t} of {horizon}, {total:,} regions", self.t / (horizon + 1))
            self._count("regions", total)
            if total > MAX_REGIONS:
                raise NotExplorable("too many regions")
            self.frontier = self.after
        return self.outcome

    def _look(self, pieces: Regions) -> None:
        low, high = (end(side, axis=0) for end, side in zip((np.min, np.max), pieces.ranges(), strict=True))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise NotExplorable("values without a bound, or undefined ones")
        first, last = self.ends or (low, high)
        self.ends = np.minimum(first, low), np.maximum(last, high)
        margins = self._margins(pieces)
        self.here = pieces
        self.suspects: list[Indices] = []
        self._position(self.key, pieces)
        self.outcome.margin = min(self.outcome.margin, margins.min(initial=np.inf))
        keeping = ~np.isin(pieces.trail, np.concatenate([np.zeros(0, dtype=np.intp), *self.suspects]))
        self.kept = min(self.kept, margins[keeping].min(initial=np.inf))

    def _margins(self, pieces: Regions) -> Floats:
        """By how much each region keeps the claim at this position, at least."""
        if self.claim is None:
            return np.full(len(pieces), -np.inf)
        if not self.claim.covers(self.t):
            return np.full(len(pieces), np.inf)
        (value,) = self.specialise([self.step.resolve(self.claim.margin)], self._discrete(self.key.discrete))
        linear = Linear(self._layout(self.key.discrete).box(*pieces.ranges()))
        linear.batch = len(pieces)
        low = np.broadcast_to(linear.range(value).lower, (len(pieces),))
        return np.where(np.isnan(low), -np.inf, low)

    def _merged(self, batches: Sequence[Pieces]) -> Regions:
        """What of the regions is in the tube, neighbours joined."""
        pieces = together([batch for batch in batches if isinstance(batch, Regions)]).tightened()
        if self.tube:
            around = self.tube.get((self.t, self.key))
            pieces = clipped(pieces, around) if around is not None else pieces.rows(np.zeros(0, dtype=np.intp))
        if not len(pieces):
            return pieces
        pieces, pairs = gathered(pieces, JOIN * self._resolution)
        if pairs is not None:
            self.joined.append((len(self.passages), pairs))
        return pieces

    @property
    def _resolution(self) -> Floats:
        assert self.template is not None
        return np.zeros(self.template.size) if self.spread is None else self.spread * 2.0**-self.halvings

    # Decisions

    def _decided(self, decision: Expr, layout: Layout, pieces: Pieces) -> Sequence[tuple[int, Pieces]]:
        """Regions by outcome; those that go several ways are cut as long as they are wider than the resolution."""
        assert isinstance(pieces, Regions)
        halves = self._halves(decision, layout, pieces)
        if halves is not None:
            return halves
        done: list[tuple[Regions, Mask]] = []
        work = pieces
        while len(work):
            self.budget.check()
            linear = Linear(layout.box(*work.ranges()))
            linear.batch = len(work)
            found = mask_of(linear, decision)
            mask = np.broadcast_to(found, (len(work), found.shape[1]))
            side, cuttable = self._side(decision, linear, work, mask)
            done.append((work.rows(~cuttable), mask[~cuttable]))
            work = cut(work.rows(cuttable), side[cuttable])
            if len(work) > MAX_REGIONS:
                raise NotExplorable("too many regions")
        ways = range(done[0][1].shape[1])
        parts = [[rows.rows(mask[:, way]) for rows, mask in done if mask[:, way].any()] for way in ways]
        return [(way, together(some)) for way, some in enumerate(parts) if some]

    def _halves(self, decision: Expr, layout: Layout, pieces: Regions) -> list[tuple[int, Pieces]] | None:
        """Both sides of a comparison that is affine in the state, where a direction measures it: no need to cut."""
        if not isinstance(decision, Compare) or decision.op not in ("<", "<="):
            return None
        linear = Linear(layout.box(*pieces.ranges()))
        difference = build.sub(*decision.args)
        linear.need(difference)
        form, n = linear.forms.get(difference), pieces.template.size
        if form is None or form.coefficients is None or (form.coefficients != form.coefficients[:1]).any():
            return None
        row = form.coefficients[0, 0, :n]
        if form.coefficients[..., n:].any() or not row.any():
            return None
        if pieces.template.multiple(row) is None:
            self.guards.append(row)
        high = np.broadcast_to(form.error[:, 0] - form.constant[:, 0], (len(pieces),))
        low = np.broadcast_to(form.error[:, 0] + form.constant[:, 0], (len(pieces),))
        true, false = below(pieces, row, np.nextafter(high, np.inf)), below(pieces, -row, np.nextafter(low, np.inf))
        if true is None or false is None:
            return None
        return [(way, part) for way, part in enumerate((false, true)) if len(part)]

    def _side(self, decision: Expr, linear: Linear, work: Regions, mask: Mask) -> tuple[Indices, Mask]:
        """Across which component each region is cut: the one that matters most; and which are to be cut at all."""
        low, high = work.ranges()
        wide = (high - low > self._resolution) & (mask.sum(axis=1) > 1)[:, None]
        wide &= (self._resolution > 0) & (low < 0.5 * low + 0.5 * high) & (0.5 * low + 0.5 * high < high)
        if not wide.any():
            return np.zeros(len(work), dtype=np.intp), wide.any(axis=1)
        influence = np.where(wide, (steepness(decision, linear, mask)[:, : low.shape[1]] + 1e-300) * (high - low), 0.0)
        return np.argmax(influence, axis=1), wide.any(axis=1)

    # What became of regions

    def _suspect(self, layout: Layout, branch: Branch) -> None:
        """Keep what failed; of a claim with a margin the whole region, so that no part counts as narrowly kept."""
        rows = branch.pieces
        assert isinstance(rows, Regions)
        self.suspects.append(rows.trail)
        if self.claim is not None:
            rows = self.here.rows(np.isin(self.here.trail, rows.trail))
        self.passages.append(Passage((self.t, self.key), rows, None))

    def _arrive(self, layout: Layout, branch: Branch, following: Sequence[Expr]) -> None:
        rows = branch.pieces
        assert isinstance(rows, Regions)
        discrete, numbers = self._next_values(following)
        lower, upper = moved(rows, *self._map(layout, rows, tuple(numbers)))
        child = self._new(len(rows))
        self.passages.append(Passage((self.t, self.key), rows, child))
        place = Key(discrete, self.obligations.step(branch.residual), 0)
        self.after.setdefault(place, []).append(regions(rows.template, lower, upper, child))

    def _map(self, layout: Layout, rows: Regions, numbers: tuple[Expr, ...]) -> Map:
        """The step as an affine map; one found for a larger box is true of a smaller one."""
        low, high = (end(side, axis=0) for end, side in zip((np.min, np.max), rows.ranges(), strict=True))
        first, last, made = self.known.get((layout, numbers), (low, high, None))
        if made is None or (low < first).any() or (high > last).any():
            first, last = np.minimum(low, first), np.maximum(high, last)
            found = affine_map(layout, first[None], last[None], numbers)
            n = rows.template.size
            if found is None or len(found[1]) != n:
                raise NotExplorable("a step that is not affine, or to another number of components")
            draws = found[0].inputs.range
            made = *found[1:], (draws.lower[:, n:], draws.upper[:, n:])
            self.known[layout, numbers] = first, last, made
            if not any(np.array_equal(made[0], other) for other in self.maps):
                self.maps.append(made[0])
        return made

    @OVERFLOWING
    def _trace_back(self) -> None:
        """The tube: regions that failed, and regions that went on to one of them."""
        failed = np.zeros(self.count, dtype=bool)
        found: dict[tuple[int, Key], list[Regions]] = {}
        for number in range(len(self.passages) - 1, -1, -1):
            passage = self.passages[number]
            bad = passage.rows if passage.child is None else passage.rows.rows(failed[passage.child])
            failed[bad.trail] = True
            if len(bad):
                found.setdefault(passage.place, []).append(bad)
            while self.joined and self.joined[-1][0] >= number:
                kept, given_up = self.joined.pop()[1]
                failed[given_up] |= failed[kept]
        if self.spread is None and self.ends is not None:
            self.spread = self.ends[1] - self.ends[0]
        self.tube = {place: gathered(together(parts), self._resolution)[0] for place, parts in found.items()}
