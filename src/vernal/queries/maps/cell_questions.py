"""What is asked of the cells of a map: many in one batch where the claim has a last step, else one by one.

Runs from the cells of a batch, in floats, propose paths that fail (`cell_runs`). Where none does, the claim may hold:
the cells are explored together, or bounded as engines do it for many questions (`cell_proofs`). Where one does, all of
the cell may fail: with every draw decided in one way the system has fewer paths (UNDER), and if all of these fail from
every state of the cell, some path fails from each of them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from vernal.engines.check import NO_OPTIONS, Options, asked_of
from vernal.engines.question_batches import METHODS
from vernal.engines.registry import engine_for
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.reach import UntilTime
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.evidence.trace import Enclosure, Trace, TraceValue
from vernal.interpret.sampled.plant import from_elsewhere
from vernal.logic.formula import Not
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model import build
from vernal.model.initial import Init, OneOf, start_between
from vernal.model.lazy import cached_property
from vernal.model.system import System
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_answers import CellAnswer, sloping
from vernal.queries.maps.cell_pipes import CellPipes
from vernal.queries.maps.cell_previews import CellPreview, failing_trajectory, margin_slopes, previewed
from vernal.queries.maps.cell_proofs import CellProofs
from vernal.queries.maps.cell_runs import CellRuns, simulated
from vernal.queries.maps.cell_sifting import CellSifting
from vernal.queries.maps.cell_steps import kept_steps
from vernal.queries.maps.cell_tree import CellBox, CellKind
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels
from vernal.sets.region_vacuity import has_no_start

MAX_BATCH = 512  # cells that are asked together, at most
MAX_SIFTED = 4096  # the same in one exploration
MAX_FOLLOWED = 64  # the same of a flow
FIRST_CELLS, FIRST_FOLLOWED = 1024, 16  # before the first batch, at most a quarter of all


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
        if self.options or self.engine not in METHODS:
            return False
        if self.question.time is not Time.STEPS:
            return self.pipes.applies
        if self.question.claim.mentions_some:  # bounds of all paths hardly decide these
            return False
        reach = self.question.claim.horizon
        return reach is not None and reach <= MAX_UNROLLED_STEPS

    def of(self, box: CellBox) -> Question:
        """The claim from the starts of one cell."""
        init = self.question.model.init
        cut = {axis.name: start_between(*ends) for axis, ends in zip(self.axes, box, strict=True)}
        return self.question.of(from_elsewhere(self.question.model, Init({**init.starts, **cut}, init.where)))

    # Many cells -------------------------------------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """How many cells are asked together, at most."""
        if not self.in_batches:
            return 1
        if self.question.time is not Time.STEPS:
            return MAX_FOLLOWED
        return MAX_SIFTED if self.sifting.applies else MAX_BATCH

    @property
    def first_cells(self) -> int:
        """Into how many cells a map is cut before any is asked."""
        if not self.in_batches:
            return 1
        return FIRST_CELLS if self.question.time is Time.STEPS else FIRST_FOLLOWED

    @cached_property
    def pipes(self) -> CellPipes:
        """Cells of a flow that are followed together."""
        return CellPipes(self.sifting.question, self.of, self.axes)

    @cached_property
    def sifting(self) -> CellSifting:
        """Thousands of cells in one exploration, where they are boxes of a piecewise linear loop."""
        return CellSifting(self.of(tuple(axis.ends for axis in self.axes)), self.axes)

    @cached_property
    def proofs(self) -> CellProofs:
        """Ways to prove many cells at once."""
        return CellProofs(self.of, self.sifting, self.engine)

    def together(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """What one look at many cells shows: first runs, then what is proven of those where none fails."""
        answers = [CellAnswer() for _ in boxes]
        with suppress(Stopped):
            if self.question.time is not Time.STEPS:
                return self._followed(boxes, budget)
            self.runs = simulated(self.sifting.question, self.axes, boxes, self.rng, budget.check)
            suspects = {} if self.runs is None else self.runs.worst
            if self.runs is not None:
                answers = sloping(margin_slopes(self.runs.margins, self.runs.places))
            for place in self._wholly_unsafe(boxes, list(suspects), budget):
                answers[place] = CellAnswer(self._kind_of_failing(boxes[place], self._start(place), budget))
            rest = [place for place in range(len(boxes)) if place not in suspects]
            for place, answer in zip(rest, self.proofs.proven([boxes[place] for place in rest], budget), strict=True):
                if answer.kind is not CellKind.OPEN:
                    answers[place] = answer
        return answers

    def _followed(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """What pipes show; where all trajectories fail, some of the points may still have no start."""
        found = self.pipes.together(boxes, self.rng, budget)
        for place, answer in enumerate(found):
            if answer.kind is CellKind.WHOLLY_UNSAFE:
                found[place] = CellAnswer(self._kind_of_failing(boxes[place], self.first_start, budget))
        return found

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

    def _kind_of_failing(self, box: CellBox, start: Mapping[str, Fraction], budget: Budget) -> CellKind:
        """What a cell is from all of whose starts a path fails: some of its points may have no start, or all."""
        if self.starts_everywhere(box, start, budget):
            return CellKind.WHOLLY_UNSAFE
        return CellKind.NO_START if has_no_start(self.of(box).model, budget) else CellKind.OPEN

    def starts_everywhere(self, box: CellBox, start: Mapping[str, Fraction], budget: Budget) -> bool:
        """Whether some start agrees with each point of a cell: one in which all that is not mapped is as given."""
        model = self.question.model
        if not model.init.where:
            return True
        if not start.keys() >= model.init.starts.keys():
            return False
        mapped = {axis.name: start_between(*ends) for axis, ends in zip(self.axes, box, strict=True)}
        others = {name: OneOf((own.nearest(start[name]),)) for name, own in model.init.starts.items()}
        starts = {**others, **mapped}
        broken = (Init(starts, (build.negate(condition),)) for condition in model.init.where)
        return all(has_no_start(model.starting(init), budget) for init in broken)

    @property
    def first_start(self) -> dict[str, Fraction]:
        """One start of every variable, whether the constraints allow it or not."""
        return {name: start.first for name, start in self.question.model.init.starts.items()}

    def _start(self, cell: int) -> dict[str, Fraction]:
        """Where a run from the middle of a cell of the last batch starts."""
        assert self.runs is not None
        return {name: Fraction(value) for name, value in self.runs.start(cell, 0).items() if math.isfinite(value)}

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

    def shown(
        self, boxes: Sequence[CellBox], budget: Budget, until: float, most: int = sys.maxsize
    ) -> Iterator[Trace | None]:
        """A path that fails from each cell, as far as a run in floats finds one: until some time, and so many."""
        if self.question.time is not Time.STEPS:
            yield from self._enclosed(boxes, budget, until)
            return
        self.runs = simulated(self.sifting.question, self.axes, boxes, self.rng, budget.check) if boxes else None
        worst = {} if self.runs is None else self.runs.worst
        for number, box in enumerate(boxes):
            if time.monotonic() > until or most <= 0:
                return
            trace = self.replayed(box, worst[number], budget) if number in worst else None
            most -= 0 if trace is None else 1
            yield trace

    def _enclosed(self, boxes: Sequence[CellBox], budget: Budget, until: float) -> Iterator[Trace | None]:
        for box in boxes:
            if time.monotonic() > until:
                return
            yield failing_trajectory(self.of(box), self.axes, box, self.rng, budget)

    def steps(self, boxes: Sequence[CellBox], budget: Budget) -> list[int]:
        """For how many steps the claim is proven of each cell."""
        return kept_steps(self.sifting, boxes, [self.of(box) for box in boxes], budget)

    def preview(self, boxes: Sequence[CellBox], budget: Budget) -> CellPreview | None:
        """What a few runs from cells suggest that are asked one by one."""
        return previewed(self.sifting.question, self.axes, boxes, self.rng, budget.check)

    # One cell ---------------------------------------------------------------------------------------------------------

    def alone(self, box: CellBox, budget: Budget, *, whole: bool = True) -> CellAnswer:
        """What the engine says of one cell; where it is refuted, and if that is wanted, whether all of it is."""
        question = self.of(box)
        result = self._asked(question, budget)
        if result.verdict is HOLDS:
            empty = result.vacuous and has_no_start(question.model, budget)
            return CellAnswer(CellKind.NO_START if empty else CellKind.SAFE, result.margin)
        if result.verdict is not VIOLATED:
            return CellAnswer(reason=result.reason or "")
        first = {} if result.trace is None else _scalars(result.trace.steps[0].state)
        if whole and self._is_wholly_unsafe(box, first, budget):
            return CellAnswer(CellKind.WHOLLY_UNSAFE, trace=result.trace)
        return CellAnswer(CellKind.UNSAFE, trace=result.trace)

    def _is_wholly_unsafe(self, box: CellBox, first: Mapping[str, Fraction], budget: Budget) -> bool:
        """Of a cell with a start that fails, whether from every point some start does: all, or one like that."""
        if all(low == high for low, high in box):
            return True
        questions = [self.of(box)]
        init = questions[0].model.init
        mapped = {axis.name for axis in self.axes}
        others = {name: own for name, own in init.starts.items() if name not in mapped and name in first}
        if not all(start.is_point for start in others.values()):
            fixed = {name: OneOf((own.nearest(first[name]),)) for name, own in others.items()}
            alike = from_elsewhere(self.question.model, Init({**init.starts, **fixed}, init.where))
            questions.append(self.question.of(alike))
        fails = any(self._fails_everywhere(question, budget) for question in questions)
        return fails and self.starts_everywhere(box, first, budget)

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


def _scalars(state: Mapping[str, TraceValue]) -> dict[str, Fraction]:
    """The numbers of a state, the middle of those that are enclosed."""
    single = {name: value for name, value in state.items() if not isinstance(value, tuple)}
    return {name: value.middle if isinstance(value, Enclosure) else value for name, value in single.items()}
