"""What is asked of the cells of a map: many in one batch where the claim has a last step, else one by one.

Runs from the cells of a batch, in floats, propose paths that fail (`cell_runs`). Where none does, the claim may hold:
the cells are explored together (`cell_sifting`), or bounded and explored as engines do it for many questions
(`engines.question_batches`). Where one does, all of the cell may fail: with every draw decided in one way the system
has fewer paths (UNDER), and if all of these fail from every state of the cell, some path fails from each of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from vernal.engines.check import NO_OPTIONS, Options, asked_of
from vernal.engines.placement import device_for
from vernal.engines.question_batches import METHODS, known_together
from vernal.engines.registry import engine_for
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.belief import believed, confirmed
from vernal.evidence.knowledge import Proof
from vernal.evidence.reach import UntilTime
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.device import using
from vernal.logic.formula import Not
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.initial import Init, start_between
from vernal.model.lazy import cached_property
from vernal.model.system import System
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_runs import CellRuns, simulated
from vernal.queries.maps.cell_sifting import CellSifting
from vernal.queries.maps.cell_tree import CellBox, CellKind
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels
from vernal.sets.region_vacuity import has_no_start

SECONDS_PER_CELL = 0.1  # of common work, at most
FIRST_SECONDS = 2.0  # besides, for what is compiled once
MAX_BATCH = 512  # cells that are asked together, at most
MAX_SIFTED = 4096  # the same in one exploration


@dataclass(frozen=True)
class CellAnswer:
    """What was found of a cell; an open one may have a run that seems to fail."""

    kind: CellKind = CellKind.OPEN
    margin: float | None = None
    trace: Trace | None = None
    reason: str = ""
    suspect: int | None = None  # the row of such a run


@dataclass
class CellQuestions:
    """The claim about the cells of one sheet of a map."""

    question: Question
    axes: Sequence[MapAxis]
    engine: str = "auto"
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    runs: CellRuns | None = None  # of the last batch

    @cached_property
    def in_batches(self) -> bool:
        """Whether cells are asked together: claims with a last step, by an engine that shares work."""
        if self.question.time is not Time.STEPS or self.options or self.engine not in METHODS:
            return False
        if self.question.claim.mentions_some:  # bounds of all paths hardly decide these
            return False
        reach = self.question.claim.horizon
        return reach is not None and reach <= MAX_UNROLLED_STEPS

    def of(self, box: CellBox) -> Question:
        """The claim from the starts of one cell."""
        init = self.question.model.init
        cut = {axis.name: start_between(*ends) for axis, ends in zip(self.axes, box, strict=True)}
        return self.question.starting(Init({**init.starts, **cut}, init.where))

    # Many cells -------------------------------------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """How many cells are asked together, at most."""
        return (MAX_SIFTED if self.sifting.applies else MAX_BATCH) if self.in_batches else 1

    @cached_property
    def sifting(self) -> CellSifting:
        """Thousands of cells in one exploration, where they are boxes of a piecewise linear loop."""
        return CellSifting(self.of(tuple(axis.ends for axis in self.axes)), self.axes)

    def together(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """What one look at many cells shows: first runs, then what is proven of those where none fails."""
        answers = [CellAnswer() for _ in boxes]
        with suppress(Stopped):
            self.runs = simulated(self.sifting.question, self.axes, boxes, self.rng, budget.check)
            suspects = {} if self.runs is None else self.runs.worst
            for place, row in suspects.items():
                answers[place] = CellAnswer(suspect=row)
            for place in self._wholly_unsafe(boxes, list(suspects), budget):
                answers[place] = CellAnswer(CellKind.WHOLLY_UNSAFE)
            rest = [place for place in range(len(boxes)) if place not in suspects]
            for place, answer in zip(rest, self._proven([boxes[place] for place in rest], budget), strict=True):
                answers[place] = answer
        return answers

    def _proven(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """Which cells keep the claim, by one exploration or by what engines do for many questions at once."""
        answers = [CellAnswer() for _ in boxes]
        limit = min(budget.left, FIRST_SECONDS + SECONDS_PER_CELL * len(boxes))
        limits = replace(budget, timeout=limit, started=time.monotonic()).apart()
        with suppress(Stopped, MemoryError), using(device_for(budget.device, self.sifting.question)):
            if self.sifting.applies:
                kept, margins = self.sifting.kept(boxes, budget.apart())  # work with a bound of its own
                for place in np.flatnonzero(kept).tolist():
                    answers[place] = CellAnswer(CellKind.SAFE, max(float(margins[place]), 0.0))
                return answers
            questions = [self.of(box) for box in boxes]
            found = in_time(lambda: known_together(questions, limits, self.engine), limits)
            for place, decided in found.items():
                answers[place] = _proof_answer(questions[place], decided.known, budget)
        return answers

    def _wholly_unsafe(self, boxes: Sequence[CellBox], suspects: Sequence[int], budget: Budget) -> list[int]:
        """The cells from all of whose states some path fails, by systems with their draws decided in one way."""
        shown: list[int] = []
        ways = self.sifting.ways if self.runs is not None else []
        for way in range(len(ways)):
            asked = [cell for cell in suspects if cell not in set(shown) and self.runs_alike(cell, way)]
            if self.sifting.applies:
                assert self.runs is not None
                starts = [self.runs.start(cell, way) for cell in asked]
                failing = self.sifting.failing(way, [boxes[cell] for cell in asked], budget, starts)
                shown += [cell for cell, fails in zip(asked, failing.tolist(), strict=True) if fails]
            elif asked:
                questions = [self.of(boxes[cell]) for cell in asked]
                shown += [asked[number] for number in self._all_fail(ways[way].system, questions, budget)]
        return shown

    def runs_alike(self, cell: int, way: int) -> bool:
        """Whether the run from the middle of a cell with all draws decided in one way seems to fail."""
        return self.runs is not None and self.runs.fails_alike(cell, way)

    def _all_fail(self, system: System, questions: Sequence[Question], budget: Budget) -> set[int]:
        """The questions of which every box fails as a whole in a system with fewer paths."""
        found = [initial_boxes(question.system).boxes for question in questions]
        reach = self.question.claim.horizon
        assert reach is not None
        budget.check()
        levels = Levels(system, [box for boxes in found for box in boxes], budget, reach)
        place, failing = 0, set[int]()
        for number, boxes in enumerate(found):
            rows = range(place, place + len(boxes))
            place += len(boxes)
            if boxes and all(levels.evaluate(self.question.formula, row) is False for row in rows):
                failing.add(number)
        levels.raise_if_stopped()
        return failing

    def replayed(self, box: CellBox, row: int, budget: Budget) -> Trace | None:
        """A run of the last batch as an exact path from the cell that fails, if it is one."""
        return None if self.runs is None else self.runs.trace(self.of(box), row, budget.check)

    def shown(self, boxes: Sequence[CellBox], budget: Budget, until: float) -> Iterator[Trace | None]:
        """A path that fails from each cell, as far as a run in floats finds one, until some time."""
        self.runs = simulated(self.sifting.question, self.axes, boxes, self.rng, budget.check) if boxes else None
        worst = {} if self.runs is None else self.runs.worst
        for number, box in enumerate(boxes):
            if time.monotonic() > until:
                return
            yield self.replayed(box, worst[number], budget) if number in worst else None

    # One cell ---------------------------------------------------------------------------------------------------------

    def alone(self, box: CellBox, budget: Budget) -> CellAnswer:
        """What the engine says of one cell; where it is refuted, whether all of it is."""
        question = self.of(box)
        result = self._asked(question, budget)
        if result.verdict is HOLDS:
            empty = result.vacuous and has_no_start(question.model, budget)
            return CellAnswer(CellKind.NO_START if empty else CellKind.SAFE, result.margin)
        if result.verdict is not VIOLATED:
            return CellAnswer(reason=result.reason or "")
        if self._fails_everywhere(question, budget):
            return CellAnswer(CellKind.WHOLLY_UNSAFE, trace=result.trace)
        return CellAnswer(CellKind.UNSAFE, trace=result.trace)

    def _asked(self, question: Question, budget: Budget) -> Result:
        return asked_of(engine_for(self.engine, question, self.options), question, budget)

    def _fails_everywhere(self, question: Question, budget: Budget) -> bool:
        """Whether the negation holds from every start; of a flow, only where all trajectories stay in the region."""
        if question.model.initial.is_point:
            return True
        try:
            result = self._asked(replace(question, formula=Not(question.formula), name=None), budget)
        except UnsupportedFormula:
            return False
        if result.verdict is not HOLDS or result.vacuous:
            return False
        if question.time is Time.STEPS:
            return True
        reach = result.reach
        return isinstance(reach, UntilTime) and reach.inside is not None and reach.inside >= question.claim.last_time


def _proof_answer(question: Question, known: object, budget: Budget) -> CellAnswer:
    checked = confirmed(question, believed(question.claim, known), budget.check)  # type: ignore[arg-type]
    if not isinstance(checked, Proof):
        return CellAnswer()
    if checked.empty:
        return CellAnswer(CellKind.NO_START)
    margin = checked.margin
    return CellAnswer(CellKind.SAFE, None if margin is None else max(margin, 0.0))
