"""Liveness by boxes: no cycle among the boxes that can be reached takes a marked edge of the automaton.

The product of the system with the automaton of the negated claim is covered by boxes of a grid, a set of them for each
combination of labels, and where a step may lead from each box is bounded from outside. Every path of the product runs
through these boxes, so one with infinitely many marked edges would meet, in the finite graph of boxes, a strongly
connected component with a marked edge inside. Where there is none the claim holds on all infinite paths. Grids become
finer as long as there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.engines.base import Engine
from vernal.engines.liveness.finite_paths import ends_well
from vernal.engines.liveness.method import NAME, open_for
from vernal.evidence.cover import ProofCover, ProofSet, components
from vernal.evidence.knowledge import Open, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.logic.automaton import Automaton
from vernal.logic.claim import position_expression
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.safety import SafetyClaim
from vernal.model.system import Model
from vernal.reduce.counted_marks import negation
from vernal.reduce.product import Product, marking_product
from vernal.run.budget import Budget
from vernal.sets.cells.cell_partition import BoxGrid, GridPlaces, boxes_met, grid_cells, grid_of
from vernal.sets.cells.certifier import Certifier, TooManyStarts
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.images import Images
from vernal.sets.cells.templates import Samples

METHOD = "boxes without fair cycles"
COARSE, FINE = (4, 16), (32, 64, 128, 256)  # boxes across what runs reach
MAX_NUMBERS = 4  # components of a grid
FEW_BOXES, MAX_BOXES = 500, 20_000
BOXES_PER_BATCH = 1024  # boxes moved at once


class FairCycles:
    """Boxes around all that can be reached, with the steps between them."""

    def __init__(
        self, engines: Sequence[Engine], resolutions: Sequence[int] = (*COARSE, *FINE), most: int = MAX_BOXES
    ) -> None:
        """Boxes across each grid, and the most of all; engines that are asked whether finite paths keep the claim."""
        self.engines, self.resolutions, self.most = tuple(engines), tuple(resolutions), most

    def prove(self, question: Question, path: Formula, budget: Budget) -> Proof | Open:
        if question.claim.horizon is not None:
            return open_for("the claim has a horizon, so that no cycle breaks it")
        wrong = negation(question, path, budget.check)
        ending = ends_well(self.engines, question, wrong, budget)
        if isinstance(ending, Open):
            return ending
        with np.errstate(all="ignore"):
            found = self._without_cycles(question, wrong, budget)
        if isinstance(found, Open):
            return found
        assurance = Assurance.RIGOROUS if ending is None else min(Assurance.RIGOROUS, ending.assurance)
        return Proof(
            engine=NAME,
            direction=Product.direction.then(Images.direction),
            assurance=assurance,
            cover=found.cover(question.model) if budget.keeps_sets else None,
            statistics={"method": METHOD, "automaton states": wrong.states, "boxes": len(found.numbers)},
        )

    def _without_cycles(self, question: Question, wrong: Automaton, budget: Budget) -> BoxGraph | Open:
        """Boxes among which no cycle has a marked edge, or why none were found."""
        made = marking_product(question.system, wrong, tick=budget.check)
        unmarked = SafetyClaim(position_expression(made.is_kept.arg))
        loop = WatchedLoop(made.system, unmarked, budget.check)
        if not len(loop.numbers) or len(loop.numbers) > MAX_NUMBERS:
            return open_for(f"grids are made of 1 to {MAX_NUMBERS} numbers, and here are {len(loop.numbers)}")
        images = Images(loop)
        try:
            start = Certifier(loop, images).initial_cells(Template(np.eye(len(loop.numbers))))
        except TooManyStarts:
            return open_for("there are too many discrete initial states to look at")
        flag = [var for var, _ in loop.labels].index(made.marked)
        tried = 0
        for grid, limit in _grids(loop, self.resolutions, budget.seed):
            budget.progress(f"liveness: boxes of {', '.join(f'{step:g}' for step in grid.step)}", None)
            boxes = BoxGraph(images, loop, grid, flag, min(limit, self.most))
            graph = boxes.reached(start)
            if graph is not None and not graph.has_fair_cycle():
                return boxes
            tried = max(tried, 0 if graph is None else len(graph.marked))
        return open_for(
            f"in a grid of {tried} boxes paths may go round for ever, as far as boxes tell, before the claim is true"
            if tried
            else "the boxes of a grid do not close: from them paths may lead further and further away"
        )


def _grids(loop: WatchedLoop, resolutions: Sequence[int], seed: int) -> Iterator[tuple[BoxGrid, int]]:
    """Grids of boxes, finer and finer, and how many boxes of each are looked at.

    These are more than runs can meet; where there are still more, boxes lead to where no run goes.
    """
    spread = Samples(loop, seed).spread()
    labels = math.prod(loop.label_count(place) for place in range(len(loop.labels)))
    for count in resolutions:
        across = np.where(loop.whole, 2 * spread, 2.0 * count) + 4
        limit = labels * float(across.prod())
        yield grid_of(spread / count, loop.whole), int(min(limit, MAX_BOXES))


@dataclass(frozen=True)
class MarkedGraph:
    """Numbered nodes, edges between them, and which nodes are met after a marked edge."""

    edges: tuple[NDArray[np.int64], NDArray[np.int64]]  # from, to
    marked: NDArray[np.bool_]

    def has_fair_cycle(self) -> bool:
        """Whether some cycle meets a marked node."""
        from scipy.sparse import csr_array  # late: few questions come this far
        from scipy.sparse.csgraph import connected_components

        source, target = self.edges
        count = len(self.marked)
        table = csr_array((np.ones(len(source), bool), (source, target)), shape=(count, count))
        _, component = connected_components(table, directed=True, connection="strong")
        inside = component[source] == component[target]
        return bool((self.marked[source] & inside).any())


class BoxGraph:
    """The boxes of a grid that can be reached, numbered as they are met, and the steps between them."""

    def __init__(self, images: Images, loop: WatchedLoop, grid: BoxGrid, flag: int, limit: int) -> None:
        """`flag`: which label says whether the last edge was marked. `limit`: so many boxes are too many."""
        self.images, self.loop, self.grid, self.flag, self.limit = images, loop, grid, flag, limit
        self.numbers: dict[bytes, int] = {}  # of boxes, by labels and places
        self.new: list[GridPlaces] = []  # boxes whose steps are still to be found
        self.sources: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        self.targets: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        self.marked: list[bool] = []  # by number

    def reached(self, start: TemplateSets) -> MarkedGraph | None:
        """The graph from these cells on; None where there are too many boxes."""
        met = boxes_met(start, self.grid)
        if met is None:
            return None
        self._number(met[1])
        while self.new:
            self.loop.tick()
            places, self.new = np.concatenate(self.new), []
            for at in range(0, len(places), BOXES_PER_BATCH):
                if len(self.numbers) > self.limit or not self._step(places[at : at + BOXES_PER_BATCH], start):
                    return None
        edges = np.concatenate(self.sources), np.concatenate(self.targets)
        return MarkedGraph(edges, np.array(self.marked, bool))

    def _step(self, places: GridPlaces, start: TemplateSets) -> bool:
        """The steps from some boxes; whether they lead to few enough."""
        cells = grid_cells(places, self.grid, start.template, start.labels.shape[1])
        source, moved = self.images.after(cells)
        met = boxes_met(moved, self.grid)
        if met is None:
            return False
        own = self._number(places)
        self.sources.append(own[source[met[0]]])
        self.targets.append(self._number(met[1]))
        return True

    def cover(self, model: Model) -> ProofCover | None:
        """The boxes without what the automaton remembers; None where a variable of the model is in none of them."""
        labels, numbers, wanted = list(self.loop.labels), list(self.loop.numbers), list(components(model).values())
        if any(place not in (*labels, *numbers) for place in wanted):
            return None
        columns = [(*labels, *numbers).index(place) for place in wanted]
        places = np.unique(np.array([np.frombuffer(key, np.int64) for key in self.numbers])[:, columns], axis=0)
        step = [Fraction(1), *map(Fraction, self.grid.step.tolist())]
        scales = [step[max(0, column - len(labels) + 1)] for column in columns]
        widths = [0 if var.sort.is_discrete else 1 for var, _ in wanted]
        entries = list(zip(scales, widths, strict=True))
        sets = ([(n * a, (n + w) * a) for n, (a, w) in zip(row, entries, strict=True)] for row in places.tolist())
        return ProofCover(tuple(ProofSet(tuple(one)) for one in sets), model)

    def _number(self, places: GridPlaces) -> NDArray[np.int64]:
        """The numbers of boxes; one that is met for the first time gets the next."""
        boxes, index = np.unique(places, axis=0, return_inverse=True)
        found = np.empty(len(boxes), np.int64)
        fresh = []
        for at, box in enumerate(boxes):
            key = box.tobytes()
            if key not in self.numbers:
                self.numbers[key] = len(self.numbers)
                fresh.append(at)
            found[at] = self.numbers[key]
        if fresh:
            self.new.append(boxes[fresh])
            self.marked += (boxes[fresh, self.flag] == 1).tolist()
        return found[index.reshape(-1)]
