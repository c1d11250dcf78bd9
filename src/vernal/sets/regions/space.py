"""TemplateSets of the state space as a space to search: joined with neighbours, cut to a resolution, kept in a tube."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, joined
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.logic.direction import Direction
from vernal.model import build
from vernal.model.expr import Compare, Expr
from vernal.model.initial import Box, Ends
from vernal.sets.cutting import cut_until_decided
from vernal.sets.influence import steepness
from vernal.sets.pieces.batches import Indices, Pairs
from vernal.sets.pieces.decisions import Layout, mask_of
from vernal.sets.pieces.moves import affine_map
from vernal.sets.pieces.positions import DiscreteState, Key, NotExplorable, Position, StepGraph, position
from vernal.sets.regions.regions import below, clipped, cut, from_box, gathered, moved, regions, template, tightened
from vernal.sets.search import Stage
from vernal.sets.set_graph import SILENT, Recorder

JOIN = 4.0  # regions this many times the resolution apart are joined
MAX_REGIONS = 2_000  # of one level: beyond, another method is better

Map = tuple[Floats, Floats, Floats, tuple[Floats, Floats]]  # F, f, the gap, and the ends of the draws
Tube = dict[Stage, TemplateSets]  # the regions from which a failure was reached


class Measures:
    """What several rounds learn about a system: in which directions its states are measured, and its steps as maps."""

    def __init__(self) -> None:
        self.template = Template(np.zeros((0, 0)))
        self.maps: list[Floats] = []  # the steps met so far: columns of the state, then of the draws
        self.guards: list[Floats] = []  # what comparisons compare, as rows of the state
        self._known: dict[tuple[Layout, tuple[Expr, ...]], tuple[Floats, Floats, Map]] = {}  # with where each is true

    def renew(self, size: int, depth: int) -> bool:
        """Take in the directions that were met since; whether there are new ones."""
        made = template(size, self.maps, depth, self.guards)
        if np.array_equal(made.rows, self.template.rows):
            return False
        self.template = made
        return True

    def resolution(self, spread: Floats | None, halvings: int) -> Floats:
        """Down to which width components are cut; nothing is cut before their spread is known."""
        return np.zeros(self.template.size) if spread is None else spread * 2.0**-halvings

    def step(self, layout: Layout, rows: TemplateSets, numbers: tuple[Expr, ...]) -> Map:
        """The step as an affine map; one found for a larger box is true of a smaller one."""
        low, high = (end(side, axis=0) for end, side in zip((np.min, np.max), rows.ranges(), strict=True))
        first, last, made = self._known.get((layout, numbers), (low, high, None))
        if made is None or (low < first).any() or (high > last).any():
            first, last = np.minimum(low, first), np.maximum(high, last)
            found = affine_map(layout, first[None], last[None], numbers)
            n = rows.template.size
            if found is None or len(found[1]) != n:
                raise NotExplorable("a step that is not affine, or to another number of components")
            draws = found[0].box
            made = *found[1:], (draws.lower[:, n:], draws.upper[:, n:])
            self._known[layout, numbers] = first, last, made
            if not any(np.array_equal(made[0], other) for other in self.maps):
                self.maps.append(made[0])
        return made


@dataclass(frozen=True, slots=True)
class Passage:
    """TemplateSets at a stage, and the trails they went on by; none where they failed."""

    stage: Stage
    rows: TemplateSets
    child: Indices | None


def components(graph: StepGraph, box: Box) -> tuple[DiscreteState, list[Ends]]:
    """The discrete part of an initial box, and the ends of its numbers."""
    discrete = graph.discrete(box)
    nodes = [node for node, value in zip(graph.step.inputs, discrete, strict=True) if value is None]
    return discrete, [pair for node in nodes for pair in box.ends[node]]


@dataclass(frozen=True, eq=False)
class OpenRegions:
    """Regions that go several ways, and across which component each is to be cut."""

    regions: TemplateSets
    side: Indices

    def __len__(self) -> int:
        return len(self.regions)

    def cut(self) -> TemplateSets:
        """Both halves of each."""
        parts = cut(self.regions, self.side)
        if len(parts) > MAX_REGIONS:
            raise NotExplorable("too many regions")
        return parts


class RegionSpace:
    """The regions of one round, each around the states that arrive in it."""

    direction = Direction.OVER

    def __init__(
        self,
        graph: StepGraph,
        boxes: Sequence[Box],
        measures: Measures,
        tube: Tube,
        resolution: Floats,
        record: Recorder = SILENT,
    ) -> None:
        """An empty `tube` is everywhere; `resolution`: the width of components below which regions are not cut."""
        self.graph, self.boxes, self.measures, self.tube, self.resolution = graph, boxes, measures, tube, resolution
        self.record = record
        self.passages: list[Passage] = []
        self.joined: list[tuple[int, Pairs]] = []  # trails given up for others, after so many passages
        self.count = 0  # of trails

    def _new(self, count: int) -> Indices:
        """New trails."""
        self.count += count
        return np.arange(self.count - count, self.count)

    # Entering and merging

    def enter(self) -> Iterator[tuple[Key, TemplateSets]]:
        """A region for each initial box."""
        for box in self.boxes:
            discrete, ends = components(self.graph, box)
            if len(ends) != self.measures.template.size:
                raise NotExplorable("initial sets with different numbers of components")
            low, high = np.array([float_below(a) for a, _ in ends]), np.array([float_above(b) for _, b in ends])
            yield Key(discrete), from_box(self.measures.template, low, high, self._new(1))

    def gather(self, stage: Stage, arrived: Sequence[object]) -> Position[TemplateSets] | None:
        """What of the regions is in the tube, neighbours joined."""
        rows = tightened(joined([batch for batch in arrived if isinstance(batch, TemplateSets)]))
        if self.tube:
            around = self.tube.get(stage)
            rows = clipped(rows, around) if around is not None else rows.rows(np.zeros(0, dtype=np.intp))
        if not len(rows):
            return None
        rows, pairs = gathered(rows, JOIN * self.resolution)
        if pairs is not None:
            self.joined.append((len(self.passages), pairs))
            self.record.merged(pairs)
        return position(self.graph, self, stage, rows)

    # Dividing

    def divide(self, decision: Expr, layout: Layout, batch: TemplateSets) -> Sequence[tuple[int, TemplateSets]]:
        """TemplateSets by outcome; those that go several ways are cut as long as they are wider than the resolution."""
        halves = self._halves(decision, layout, batch)
        if halves is not None:
            return halves
        done: list[tuple[TemplateSets, Mask]] = []

        def sort_out(work: TemplateSets) -> OpenRegions:
            linear = layout.over(*work.ranges())
            found = mask_of(linear, decision)
            mask = np.broadcast_to(found, (len(work), found.shape[1]))
            side, cuttable = self._side(decision, linear, work, mask)
            done.append((work.rows(~cuttable), mask[~cuttable]))
            return OpenRegions(work.rows(cuttable), side[cuttable])

        cut_until_decided(batch, sort_out, OpenRegions.cut, tick=self.graph.tick)
        ways = range(done[0][1].shape[1])
        parts = [[rows.rows(mask[:, way]) for rows, mask in done if mask[:, way].any()] for way in ways]
        return [(way, joined(some)) for way, some in enumerate(parts) if some]

    def _halves(self, decision: Expr, layout: Layout, batch: TemplateSets) -> list[tuple[int, TemplateSets]] | None:
        """Both sides of a comparison that is affine in the state, where a direction measures it: no need to cut."""
        if not isinstance(decision, Compare) or decision.op not in ("<", "<="):
            return None
        linear = layout.over(*batch.ranges())
        difference = build.sub(*decision.args)
        linear.need(difference)
        form, n = linear.exact(difference), batch.template.size
        if form is None or form.coefficients is None or (form.coefficients != form.coefficients[:1]).any():
            return None
        row = form.coefficients[0, 0, :n]
        if form.coefficients[..., n:].any() or not row.any():
            return None
        if batch.template.multiple(row) is None:
            self.measures.guards.append(row)
        high = np.broadcast_to(form.error[:, 0] - form.constant[:, 0], (len(batch),))
        low = np.broadcast_to(form.error[:, 0] + form.constant[:, 0], (len(batch),))
        true, false = below(batch, row, np.nextafter(high, np.inf)), below(batch, -row, np.nextafter(low, np.inf))
        if true is None or false is None:
            return None
        return [(way, part) for way, part in enumerate((false, true)) if len(part)]

    def _side(self, decision: Expr, linear: Linear, work: TemplateSets, mask: Mask) -> tuple[Indices, Mask]:
        """Across which component each region is cut: the one that matters most; and which are to be cut at all."""
        low, high = work.ranges()
        wide = (high - low > self.resolution) & (mask.sum(axis=1) > 1)[:, None]
        wide &= (self.resolution > 0) & (low < 0.5 * low + 0.5 * high) & (0.5 * low + 0.5 * high < high)
        if not wide.any():
            return np.zeros(len(work), dtype=np.intp), wide.any(axis=1)
        influence = np.where(wide, (steepness(decision, linear, mask)[:, : low.shape[1]] + 1e-300) * (high - low), 0.0)
        return np.argmax(influence, axis=1), wide.any(axis=1)

    # Moving

    def move(
        self, position: Position[TemplateSets], discrete: DiscreteState, numbers: Sequence[Expr]
    ) -> tuple[Key, TemplateSets] | None:
        """The regions after a step, which has to be affine."""
        rows = position.batch
        lower, upper = moved(rows, *self.measures.step(position.layout, rows, tuple(numbers)))
        child = self._new(len(rows))
        self.passages.append(Passage(position.stage, rows, child))
        self.record.moved(position, child, ())
        return Key(discrete), regions(rows.template, lower, upper, child)

    # The tube

    def traced_back(self, resolution: Floats) -> Tube:
        """The tube: regions that failed, and regions that went on to one of them."""
        failed = np.zeros(self.count, dtype=bool)
        found: dict[Stage, list[TemplateSets]] = {}
        merges = list(self.joined)
        for number in range(len(self.passages) - 1, -1, -1):
            passage = self.passages[number]
            bad = passage.rows if passage.child is None else passage.rows.rows(failed[passage.child])
            failed[bad.trail] = True
            if len(bad):
                found.setdefault(passage.stage, []).append(bad)
            while merges and merges[-1][0] >= number:
                kept, given_up = merges.pop()[1]
                failed[given_up] |= failed[kept]
        return {stage: gathered(joined(parts), resolution)[0] for stage, parts in found.items()}
