"""What is asked of the cells of a map: many in one batch where the claim has a last step, else one by one.

A batch is bounded and explored together (`engines.question_batches`). Runs from its cells, in floats, propose paths
that fail. Where one does, all of the cell may: with every draw decided in one way the system has fewer paths (UNDER),
and if bounds show that the claim fails from every state of the cell, some path fails from each of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from vernal.engines.check import NO_OPTIONS, Options, asked_of
from vernal.engines.placement import device_for
from vernal.engines.question_batches import METHODS, known_together
from vernal.engines.registry import engine_for
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.belief import believed, confirmed, is_refuted
from vernal.evidence.knowledge import Proof
from vernal.evidence.reach import UntilTime
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.device import using
from vernal.logic.formula import Not
from vernal.logic.normal import horizon
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.expr import Choose
from vernal.model.initial import Init, start_between
from vernal.model.lazy import cached_property
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_tree import CellBox, CellKind
from vernal.reduce.restriction import may_restrict, restrictions
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels
from vernal.sets.region_vacuity import has_no_start
from vernal.simulate.lift import violation
from vernal.simulate.runs import Plan, Runs, StepSimulator, random_plan
from vernal.simulate.starts import NoInitialState
from vernal.simulate.targets import Target

SECONDS_PER_CELL = 0.1  # of common work, at most
FIRST_SECONDS = 2.0  # besides, for what is compiled once
RUNS_PER_CELL = 12
MAX_SIMULATED_STEPS = 2000
MAX_WAYS = 3  # in which all draws are decided alike


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
    runs: Runs | None = None  # of the last batch

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

    def together(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """What one look at many cells shows."""
        questions = [self.of(box) for box in boxes]
        limit = min(budget.left, FIRST_SECONDS + SECONDS_PER_CELL * len(boxes))
        limits = replace(budget, timeout=limit, started=time.monotonic()).apart()
        answers = self._proven(questions, limits)
        left = [place for place, answer in enumerate(answers) if answer.kind is CellKind.OPEN]
        suspects = self._suspects([questions[place] for place in left], budget)
        for number, row in suspects.items():
            answers[left[number]] = CellAnswer(suspect=row)
        places = [left[number] for number in suspects]
        for number in self._wholly_unsafe([questions[place] for place in places], budget):
            answers[places[number]] = CellAnswer(CellKind.WHOLLY_UNSAFE)
        return answers

    def _proven(self, questions: Sequence[Question], budget: Budget) -> list[CellAnswer]:
        answers = [CellAnswer() for _ in questions]
        with suppress(Stopped, MemoryError), using(device_for(budget.device, questions[0])):
            found = in_time(lambda: known_together(questions, budget, self.engine), budget)
            for place, decided in found.items():
                answers[place] = _proof_answer(questions[place], decided.known, budget)
        return answers

    def _suspects(self, questions: Sequence[Question], budget: Budget) -> dict[int, int]:
        """Runs in floats that seem to fail: the row of the worst of each cell."""
        steps = horizon(refutable(self.question.claim.path))
        if not questions or steps is None or steps > MAX_SIMULATED_STEPS or self.question.claim.mentions_some:
            return {}
        plans, owners = [], list[int]()
        for number, question in enumerate(questions):
            with suppress(NoInitialState):
                plans.append(self._plan(question, steps))
                owners += [number] * RUNS_PER_CELL
        if not plans:
            return {}
        goal, simulator = self.question.claim.path, StepSimulator(self.question.model, steps)
        found: dict[int, int] = {}
        with suppress(Stopped), np.errstate(all="ignore"):
            self.runs = simulator.run(_joined(plans), budget.check)
            margins = Target(self.question.model, goal, refutable(goal)).margins(self.runs)
            for row in np.argsort(margins, kind="stable").tolist():
                if not margins[row] < 0:
                    break
                found.setdefault(owners[row], row)
        return found

    def _plan(self, question: Question, steps: int) -> Plan:
        """Random runs from a cell, its corners among them; the first decide every choice alike."""
        plan = random_plan(question.model, RUNS_PER_CELL, steps, self.rng, corners=True)
        for node, values in plan.decisions.items():
            if isinstance(node, Choose):
                for row in range(RUNS_PER_CELL // 2):
                    values[row] = min(row % MAX_WAYS, len(node.options) - 1)
        return plan

    def _wholly_unsafe(self, questions: Sequence[Question], budget: Budget) -> list[int]:
        """The cells from all of whose states some path fails, by bounds with every draw decided alike."""
        if not questions or self.question.claim.mentions_some or not may_restrict(self.question):
            return []
        system = self.question.system
        ways = [one.system for one in restrictions(system, MAX_WAYS)] or [system]
        shown: list[int] = []
        left = list(range(len(questions)))
        with suppress(Stopped):
            for way in ways:
                if left:
                    failing = self._all_fail(way, [questions[place] for place in left], budget)
                    shown += [left[number] for number in failing]
                    left = [place for number, place in enumerate(left) if number not in failing]
        return shown

    def _all_fail(self, system: object, questions: Sequence[Question], budget: Budget) -> set[int]:
        """The questions of which every box fails as a whole in a system with fewer paths."""
        found = [initial_boxes(question.system).boxes for question in questions]
        reach = self.question.claim.horizon
        assert reach is not None
        budget.check()
        levels = Levels(system, [box for boxes in found for box in boxes], budget, reach)  # type: ignore[arg-type]
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
        assert self.runs is not None
        question = self.of(box)
        runs, goal = replace(self.runs, system=question.model), self.question.claim.path
        found = violation(runs, row, goal, budget.check, short=True) or violation(runs, row, goal, budget.check)
        return found if found is not None and is_refuted(question, found) else None

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


def _joined(plans: Sequence[Plan]) -> Plan:
    first, decisions = plans[0].first, plans[0].decisions
    return Plan(
        {var: np.concatenate([plan.first[var] for plan in plans]) for var in first},
        {node: np.concatenate([plan.decisions[node] for plan in plans]) for node in decisions},
    )
