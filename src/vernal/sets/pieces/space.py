"""Affine pieces as a space to search: where they start, how they are cut, moved and merged.

All of it contains the real executions (OVER). Pieces are either cut where a decision is open, or go all ways uncut;
then the initial boxes they come from are remembered, so that those can be looked at again, narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.numbers.memory_room import refuse_beyond
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.model.expr import Between, Expr
from vernal.model.initial import Box
from vernal.model.traits import nonlinear_node
from vernal.sets.pieces.batches import Indices, Pieces, bounded, join, merge
from vernal.sets.pieces.decisions import MAX_PARTS, TOO_FEW_TO_GATHER, Layout, decide
from vernal.sets.pieces.moves import affine_step, bounded_step
from vernal.sets.pieces.outlook import Outlook
from vernal.sets.pieces.positions import DiscreteState, Key, NotExplorable, Position, StepGraph, position
from vernal.sets.pieces.rounds import Round
from vernal.sets.pieces.trail_planes import TrailPlanes
from vernal.sets.pieces.trails import Trails
from vernal.sets.search import Stage
from vernal.sets.set_graph import SILENT, Recorder

TOO_MANY_TO_GATHER = (
    512  # pieces of a nonlinear loop that are not worth gathering: hulls of their memories decide nothing
)
MAX_PIECES = 2_000_000  # of one level; beyond, memory is the limit


class Cutting(Enum):
    """What is done with a piece that a decision leaves open."""

    UNCUT = "goes all ways; its initial box is looked at again"
    CUT = "is cut until each part goes one way"


class AffineSpace:
    """The pieces of one exploration, and how each came about: around all states, and going all ways that are open."""

    direction = Direction.OVER

    def __init__(
        self,
        question: Question,
        graph: StepGraph,
        boxes: Sequence[Box],
        cutting: Cutting,
        scatter: int,
        record: Recorder = SILENT,
        outlook: Outlook | None = None,
        *,
        gives_up: bool = False,
    ) -> None:
        """`scatter`: of a nonlinear loop, the pieces of one box beyond which it is better cut than followed.

        `gives_up`: so it is of every loop.

        `outlook`: closes pieces that cannot fail any more; used where pieces are not cut.
        """
        self.graph, self.boxes, self.cutting, self.scatter, self.record = graph, boxes, cutting, scatter, record
        self.trails = Trails(question, boxes)
        self.round = Round(self.trails, len(boxes))
        self.widths = np.zeros(0)  # of every parameter, the largest at first
        self.nonlinear = graph.nonlinear
        # Whether boxes are left open rather than followed at any cost: they are looked at again, narrower.
        self.may_give_up = cutting is Cutting.UNCUT and (gives_up or graph.nonlinear is not None)
        self.decided = 0  # pieces that were asked for a decision
        self.outlook = outlook if outlook is not None and outlook.useful and cutting is Cutting.UNCUT else None
        self.planes = TrailPlanes()
        self.points: dict[int, Floats] = {}  # by trail of this step, parameters that are looked at first if it fails

    # Entering

    def enter(self) -> Iterator[tuple[Key, Pieces]]:
        """A piece for each initial box; its parameters are the components that are not known."""
        for index, box in enumerate(self.boxes):
            yield self._entered(index, box)

    def _entered(self, index: int, box: Box) -> tuple[Key, Pieces]:
        discrete = self.graph.discrete(box)
        nodes = [node for node, value in zip(self.graph.step.inputs, discrete, strict=True) if value is None]
        ends = [pair for node in nodes for pair in box.ends[node]]
        wide = [at for at, (low, high) in enumerate(ends) if high > low]
        lower = np.array([float_below(ends[at][0]) for at in wide]).reshape(1, len(wide))
        upper = np.array([float_above(ends[at][1]) for at in wide]).reshape(1, len(wide))
        refuse_beyond(len(ends) * len(wide))
        A = np.zeros((1, len(ends), len(wide)))
        A[0, wide, np.arange(len(wide))] = 1.0
        points = [(float_below(low), float_above(low)) if low == high else (0.0, 0.0) for low, high in ends]
        c = np.array([low for low, _ in points]).reshape(1, len(ends))
        error = np.array([high - low for low, high in points]).reshape(1, len(ends))
        places = [(node, component) for node in nodes for component in range(node.size)]
        trail = np.array([self.trails.root(index, [places[at] for at in wide])])
        if len(wide) > len(self.widths):
            self.widths = np.pad(self.widths, (0, len(wide) - len(self.widths)))
        self.widths[: len(wide)] = np.maximum(self.widths[: len(wide)], (upper - lower)[0])
        return Key(discrete, len(wide)), bounded(lower, upper, A, c, error, trail)

    # Merging

    def gather(self, stage: Stage, arrived: Sequence[object]) -> Position[Pieces] | None:
        """Equal pieces become one; those of boxes that are looked at again anyway are dropped."""
        self.planes.at(stage.t)
        pieces = self._merged([batch for batch in arrived if isinstance(batch, Pieces)])
        if self.may_give_up:
            pieces = self.round.pursued(pieces, MAX_PIECES)
        pieces = self._pursued(self._unforeseen(stage, pieces))
        return position(self.graph, self, stage, pieces) if len(pieces) else None

    def _unforeseen(self, stage: Stage, pieces: Pieces) -> Pieces:
        """Without the pieces that cannot fail any more, whatever is decided from here on."""
        self.points = {}
        if self.outlook is None or not len(pieces):
            return pieces
        assert isinstance(stage.key, Key)
        found = self.outlook.ask(stage, self.graph.layout(stage.key.discrete), pieces, self.planes)
        self.points = found.points
        self.round.keeps(pieces.rows(found.closed), found.low[found.closed])
        return pieces.rows(~found.closed)

    def _merged(self, batches: Sequence[Pieces]) -> Pieces:
        apart = self.cutting is Cutting.UNCUT or self.nonlinear is not None  # what is found is to be told box by box
        pieces, pairs = merge(join(batches), unite=not apart)
        if pairs is not None:
            self.trails.merged(pairs)
            self.round.merged(pairs)
            self.planes.merged(pairs)
            self.record.merged(pairs)
        if len(pieces) > MAX_PIECES:
            raise Stopped(f"more than {MAX_PIECES:,} distinct sets at one step")
        return pieces

    def _pursued(self, pieces: Pieces) -> Pieces:
        """Without the pieces of boxes that this exploration will not prove: no bound gets sharper on the way."""
        return self.round.pursued(pieces, self.scatter) if self.may_give_up else pieces

    # Dividing and moving

    def divide(self, decision: Expr, layout: Layout, batch: Pieces) -> Sequence[tuple[int, Pieces]]:
        """Which pieces can come out how, cut where they can come out in several ways."""
        self.decided += len(batch)
        few = TOO_MANY_TO_GATHER if self.nonlinear is not None else TOO_FEW_TO_GATHER
        most = MAX_PARTS if self.cutting is Cutting.CUT else 0
        found = decide(decision, layout, batch, self.widths, most, self.graph.tick, few)
        if self.cutting is Cutting.UNCUT:
            self.round.weigh(decision, layout, found, len(batch))
            if self.outlook is not None and self.outlook.pays:
                self.planes.note(decision, layout, found, len(batch))
        return found

    def move(
        self, position: Position[Pieces], discrete: DiscreteState, numbers: Sequence[Expr]
    ) -> tuple[Key, Pieces] | None:
        """The next states of a batch: affine in its parameters, or bounded by forms."""
        layout, rows = position.layout, position.batch
        linear = self.nonlinear is None or nonlinear_node(numbers) is None
        moved = affine_step(layout, rows, numbers) if linear else None
        moved = moved or bounded_step(layout, rows, numbers)
        reached = bounded(moved.lower, moved.upper, moved.A, moved.c, moved.error, rows.trail)
        finite: Mask = np.asarray(np.isfinite(reached.error).all(axis=1))
        if not finite.all():
            self._leave_unbounded(rows.trail[~finite])
            rest = replace(position, batch=rows.rows(finite))
            return self.move(rest, discrete, numbers) if finite.any() else None
        names = tuple(self.graph.name(node) for node, _ in moved.draws if isinstance(node, Between))
        trail = self.trails.extend(rows.trail, position.taken, names)
        self.record.moved(position, trail, names)
        if self.outlook is not None:
            self.planes.extend(rows.trail, position.asked, trail)
        pieces = replace(reached, trail=trail)
        self.remember_widths(pieces)
        return Key(discrete, pieces.parameters), pieces

    def _leave_unbounded(self, trails: Indices) -> None:
        """Values without a bound, or undefined ones: perhaps not from narrower starts."""
        if not self.may_give_up:
            raise NotExplorable("values without a bound, or undefined ones")
        self.round.leave_open(trails)

    def remember_widths(self, pieces: Pieces) -> None:
        """Note how wide parameters are that no piece had before."""
        known = len(self.widths)
        if pieces.parameters > known:
            more = (pieces.upper - pieces.lower)[:, known:].max(axis=0)
            self.widths = np.concatenate([self.widths, more])
