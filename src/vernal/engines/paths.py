"""The engine `paths`: every path of the system, by sets of states that made the same decisions.

A fast front explores batches of sets in floating point with its rounding accounted for (explore); it proves claims of
all paths, and finds candidates that are replayed exactly. What it leaves open at margin zero, and claims about states
rather than paths (`AX p | EX q`), go to symbolic execution in exact arithmetic (exact_paths).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vernal.engines import exact_paths
from vernal.engines.base import Question, unknown
from vernal.engines.bounds import FURTHEST
from vernal.engines.explore import Explorer, NotExplorable, Outcome
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence import confirm
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, Evidence, Result
from vernal.evidence.trace import Trace
from vernal.logic.formula import Always, Formula
from vernal.logic.normal import classify, horizon
from vernal.logic.progress import on_paths
from vernal.model.expr import Expr
from vernal.model.system import Init, OneOf, Span, Start, System
from vernal.reduce.base import Direction
from vernal.reduce.initial import Box, initial_boxes
from vernal.run.budget import Budget


class Paths:
    """Explore, then settle exactly what is left."""

    name = "paths"

    def check(self, question: Question, budget: Budget) -> Result:
        classify(question.formula)
        reach = horizon(question.formula)
        if reach is None:
            return unknown(question, self.name, exact_paths.UNBOUNDED)
        if reach > FURTHEST:
            return unknown(question, self.name, f"a horizon of {reach:,} steps is too long; at most {FURTHEST:,} are")
        path = on_paths(question.formula)
        boxes = initial_boxes(question.system)
        if path is None or (boxes.direction is Direction.OVER and not question.system.init.where):
            return exact_paths.decide(question, budget, engine=self.name)
        try:
            explorer = Explorer(question, path, boxes.boxes, budget)
        except UnsupportedFormula as error:
            return unknown(question, self.name, error.message)
        try:
            outcome = explorer.run(reach)
        except NotExplorable:
            return exact_paths.decide(question, budget, engine=self.name)
        except Stopped as stop:
            return self._stopped(question, explorer.outcome, stop.reason)
        return self._answer(question, path, outcome, reach, budget)

    def _answer(self, question: Question, path: Formula, outcome: Outcome, reach: int, budget: Budget) -> Result:
        if outcome.trace is not None:
            return self._violated(question, outcome.trace, outcome)
        if outcome.open:
            settled = self._settle(question, outcome.open, budget)
            if settled is not None:
                return replace(settled, statistics={**outcome.statistics, **settled.statistics})
        margin = max(outcome.margin, 0.0) if not outcome.open and np.isfinite(outcome.margin) else None
        return Result(
            str(question.formula),
            HOLDS,
            self.name,
            question.name,
            scope=f"up to step {reach}",
            assurance=Assurance.RIGOROUS,
            margin=margin,
            statistics=outcome.statistics,
        )

    def _settle(self, question: Question, boxes: Sequence[Box], budget: Budget) -> Result | None:
        """Exact answers for what is left open; None if all of it holds."""
        for number, box in enumerate(boxes):
            budget.progress(f"paths: exact arithmetic for {len(boxes) - number} small sets", number / len(boxes))
            part = replace(question, system=restricted(question.system, box))
            result = exact_paths.decide(part, budget, engine=self.name)
            if result.verdict is not HOLDS:
                return result
        return None

    def _violated(self, question: Question, trace: Trace, outcome: Outcome) -> Result:
        formula = question.formula
        return Result(
            str(formula),
            VIOLATED,
            self.name,
            question.name,
            assurance=confirm.assurance(trace, formula),
            margin=confirm.margin(trace, formula),
            evidence=Evidence.TRACE,
            trace=trace,
            step=confirm.decided_at(trace, formula),
            statistics=outcome.statistics,
        )

    def _stopped(self, question: Question, outcome: Outcome, reason: str) -> Result:
        """What was proven before a limit: of a claim about every step, the steps that were finished."""
        proven = None
        if isinstance(question.formula, Always) and not outcome.open:
            steps = outcome.steps - (horizon(question.formula.arg) or 0)
            proven = steps if steps >= question.formula.bound.lower else None
        return unknown(question, self.name, reason, proven_steps=proven, statistics=outcome.statistics)


def restricted(system: System, box: Box) -> System:
    """The system started from a part of its initial set."""
    starts = {variable.name: _starts(box, variable.var)[0] for variable in system.state}
    agents = tuple(
        replace(agent, slots=tuple(replace(slot, starts=_starts(box, slot.var)) for slot in agent.slots))
        for agent in system.agents
    )
    return replace(system, init=Init(starts, system.init.where), agents=agents)


def _starts(box: Box, var: Expr) -> tuple[Start, ...]:
    """The ends of each component; a set of discrete starts is never cut, so a wide one is real."""
    return tuple(OneOf((low,)) if low == high else Span(low, high) for low, high in box.ends[var])
