"""One step from every initial state of a finite system, portion by portion; nothing is kept but a counterexample.

For claims that a condition is kept up to the first step. There may be many millions of initial states.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from vernal.engines.explicit.engine import NOT_REPLAYED, UNDEFINED, invariant
from vernal.engines.explicit.enumeration import STATES_PER_BATCH, Enumeration
from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Candidate, Counterexample, Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.interpret.discrete.initial_states import is_solvable, start_stream
from vernal.interpret.numbers.rounding import Mask
from vernal.logic.formula import Not
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.graph import decisions
from vernal.run.budget import Budget
from vernal.sets.finite.columns import NotFinite
from vernal.sets.finite.fixpoints import of_position
from vernal.sets.finite.points import RowBatch
from vernal.sets.finite.table import Codes

NOT_ONE_STEP = "not supported by this engine: the claim is not that a condition on states is kept up to the first step"
NOT_SOLVABLE = "not supported by this engine: constraints on the initial states that are not solved for integers"
UNKNOWN_ATOMS = f"{UNDEFINED} after one step"


class FirstStep:
    """A look at every initial state and at all states after one step."""

    name = "explicit"

    def takes(self, question: Question) -> str | None:
        """That a condition on states is kept at the first two positions, from states that constraints describe."""
        if question.claim.horizon != 1 or invariant(question) is None or decisions(question.atoms.values()):
            return NOT_ONE_STEP
        return None if is_solvable(question.system.initial) else NOT_SOLVABLE

    def attempt(self, question: Question, budget: Budget) -> Known:
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        try:
            return FirstLook(question, budget).known()
        except NotFinite as stop:
            return Open(engine=self.name, reason=stop.reason)


class FirstLook:
    """One question."""

    def __init__(self, question: Question, budget: Budget) -> None:
        self.question, self.budget = question, budget
        self.enumeration = Enumeration(question, budget)
        self.points = self.enumeration.points
        kept = invariant(question)
        assert kept is not None
        self.broken = partial(of_position, Not(kept))
        self.states = 0

    def known(self) -> Known:
        """The first portion with a failure ends it."""
        for rows in self._starts():
            self.budget.check()
            self.states += len(rows)
            self.budget.progress(f"explicit: one step from {self.states:,} states", None)
            for candidate in self._failing(rows):
                trace = refuting_path(self.question.system, candidate, self.question.claim.path, self.budget.check)
                if trace is None:
                    return Open(engine=FirstStep.name, reason=NOT_REPLAYED, statistics=self.statistics)
                return Counterexample(engine=FirstStep.name, trace=trace, statistics=self.statistics)
        return Proof(
            engine=FirstStep.name,
            direction=self.points.direction,
            subject=Subject.STATES,
            assurance=Assurance.EXACT,
            empty=not self.states,
            statistics=self.statistics,
        )

    @property
    def statistics(self) -> dict[str, int | float | str]:
        return {"states": self.states, "exact_evaluations": self.points.doubts}

    def _starts(self) -> Iterator[Codes]:
        """All initial states, in batches."""
        initial, columns = self.question.system.initial, self.enumeration.columns
        waiting: list[Codes] = []
        for boxes in start_stream(initial, STATES_PER_BATCH, self.budget.check):
            waiting.append(columns.starts_in(boxes, initial, STATES_PER_BATCH))
            if sum(map(len, waiting)) >= STATES_PER_BATCH:
                yield np.concatenate(waiting)
                waiting = []
        if waiting:
            yield np.concatenate(waiting)

    def _failing(self, rows: Codes) -> Iterator[Candidate]:
        """Initial states, and steps from them, that break the condition."""
        start = RowBatch(rows, {})
        for row in np.flatnonzero(self._is_broken(start))[:1]:
            yield self._candidate(start, int(row), 0)
        positions, _ = self.enumeration.positions(start)
        (enabled,) = self.points.truths([self.question.system.step.enabled], positions)
        for decided, _ in self.enumeration.decided(positions.take(np.flatnonzero(enabled))):
            after = RowBatch(self.enumeration.after.rows(decided), {})
            for row in np.flatnonzero(self._is_broken(after))[:1]:
                yield self._candidate(decided, int(row), 1)

    def _is_broken(self, batch: RowBatch) -> Mask:
        atoms = self.enumeration.atoms
        facts = self.points.kleene([*atoms.values()], batch)
        if any(sure is not maybe for sure, maybe in facts):
            raise NotFinite(UNKNOWN_ATOMS)
        return self.broken({atom: sure for atom, (sure, _) in zip(atoms, facts, strict=True)}, len(batch))

    def _candidate(self, batch: RowBatch, row: int, steps: int) -> Candidate:
        system = self.question.system
        taken: dict[Expr, int] = dict.fromkeys(system.step.names, 0)
        decided = {node: max(int(numbers[row]), 0) for node, numbers in batch.taken.items()}
        first, memory = system.pack(self.enumeration.columns.valuation(batch.rows[row].tolist()))
        return Candidate(first, memory, [taken | decided, taken][: steps + 1], steps)
