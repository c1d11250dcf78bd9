"""One program: written, solved, and its point brought back as an exact path, or the reason why that failed."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from vernal.engines.programs.start_states import StartStates, is_finite
from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Candidate
from vernal.evidence.replay import NodeDecisions
from vernal.evidence.trace import Trace
from vernal.interpret.milp.curves import Site, next_cut
from vernal.interpret.milp.encode import Encoder
from vernal.interpret.milp.exclusions import exclude
from vernal.interpret.milp.rows import TOLERANCE, ColumnForm, ColumnForms, Sheet, Unsuitable
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula
from vernal.model import expr as e
from vernal.model.expr import Expr, Occurrence
from vernal.model.initial import InitialSet, Valuation
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.finite.columns import NotFinite
from vernal.sets.refutation import BoundedStarts, Case
from vernal.simulate.starts import tied_exactly
from vernal.solvers.base import MilpProblem, MilpSolver, Solved, SolveStatus

MARGIN_WEIGHT, EQUALITY_WEIGHT = 1e4, 1e5  # in the objective: a clear margin, and equations met well
CLEAR_MARGIN = MARGIN_WEIGHT * 10 * TOLERANCE  # a margin that no rounding eats up
REFINEMENTS = 40  # of one program's envelopes, or states left out of it
TRY_OTHERS = "try --engine auto, which halves the initial set instead"
END_SLACK = 1e-9  # of an interval's width: a start that the solver puts so near to an end is the end
DIGITS = (3, 6, None)  # of an interval's width, to which a start or disturbance is rounded: short ones first


class End(Enum):
    """What became of a program."""

    EXCLUDED = "excluded by bounds"
    INFEASIBLE = "infeasible beyond the tolerance"
    FOUND = "a path"
    DOUBT = "neither"
    UNSUITABLE = "no program"


@dataclass(frozen=True)
class ProgramAnswer:
    """The end of one program, with the path or the reason."""

    end: End
    trace: Trace | None = None
    reason: str = ""


@dataclass
class Tally:
    """What was written and solved so far: the largest program, and how many."""

    programs: int = 0
    columns: int = 0
    rows: int = 0
    binaries: int = 0
    from_journal: int = 0  # cases that a journal answers
    seconds: float = 0.0  # that solvers took

    def count(self, problem: MilpProblem) -> None:
        self.add(Tally(1, problem.columns, problem.rows, problem.binaries))

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.programs += other.programs
        self.columns = max(self.columns, other.columns)
        self.rows = max(self.rows, other.rows)
        self.binaries = max(self.binaries, other.binaries)
        self.seconds += other.seconds

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What is done here is a solver's work."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - started

    def statistics(self) -> dict[str, int | float | str]:
        resumed = {"from_journal": self.from_journal} if self.from_journal else {}
        return {
            "programs": self.programs,
            "variables": self.columns,
            "rows": self.rows,
            "binaries": self.binaries,
            "solver_seconds": round(self.seconds, 3),
            **resumed,
        }


def program(sheet: Sheet, *, fixed: Floats | None = None) -> MilpProblem:
    """The sheet as data: maximise the margin. With a point, its integers are fixed and the margin is at least zero."""
    lower, upper, integer = np.array(sheet.lower), np.array(sheet.upper), np.array(sheet.integer)
    objective = np.zeros(len(lower))
    objective[sheet.margin], objective[sheet.equality] = MARGIN_WEIGHT, -EQUALITY_WEIGHT
    if fixed is not None:
        whole = np.clip(np.round(fixed[integer]), lower[integer], upper[integer])
        lower[integer] = upper[integer] = whole
        lower[sheet.margin] = upper[sheet.equality] = 0.0
        integer = np.zeros_like(integer)
    counts = [len(terms) for terms, _ in sheet.rows]
    return MilpProblem(
        lower,
        upper,
        integer,
        objective,
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        np.fromiter((column for terms, _ in sheet.rows for column in terms), np.int64),
        np.fromiter((value for terms, _ in sheet.rows for value in terms.values()), np.float64),
        np.full(len(counts), -np.inf),
        np.array([bound for _, bound in sheet.rows], dtype=np.float64),
    )


def eased(problem: MilpProblem) -> MilpProblem:
    """The program with every row and bound wider by the scaled tolerance, and nothing to optimise.

    A solver that stumbles over thin sets and large weights has been seen to call a program infeasible that has points.
    """
    size = np.ones(problem.rows)
    np.maximum.at(size, np.repeat(np.arange(problem.rows), np.diff(problem.starts)), np.abs(problem.values))
    size = TOLERANCE * np.maximum(size, np.abs(np.where(np.isfinite(problem.row_upper), problem.row_upper, 0.0)))
    low, high = (
        np.where(problem.integer | np.isinf(end), 0.0, TOLERANCE * np.maximum(1.0, np.abs(end)))
        for end in (problem.lower, problem.upper)
    )
    return replace(
        problem,
        lower=problem.lower - low,
        upper=problem.upper + high,
        objective=np.zeros(problem.columns),
        row_upper=problem.row_upper + size,
    )


@dataclass(frozen=True)
class Asking(ABC):
    """What all programs of a question share, for any solver."""

    engine: str
    system: System
    goal: Formula
    steps: int
    budget: Budget
    tally: Tally = field(default_factory=Tally, kw_only=True)
    tighten: bool = field(default=True, kw_only=True)
    twins: Mapping[Expr, Expr] = field(default_factory=dict, kw_only=True)

    @property
    @abstractmethod
    def direction(self) -> Direction:
        """How the points of the programs relate to the paths of the system."""

    @abstractmethod
    def answer(self, space: BoundedStarts, case: Case) -> ProgramAnswer:
        """Whether there is a path of this case."""

    def space(self, initial: InitialSet) -> BoundedStarts:
        """These starts, with the bounds asked for."""
        return BoundedStarts(initial, self.budget.check, self.tighten, self.twins)

    def path(self, values: Valuation, taken: Sequence[NodeDecisions]) -> Trace | None:
        """The path of these decisions, as far as it refutes the goal; None where it does not, or is none."""
        candidate = Candidate(*self.system.pack(values), taken, len(taken) - 1)
        return refuting_path(self.system, candidate, self.goal, self.budget.check)


@dataclass(frozen=True)
class Solving(Asking):
    """Mixed-integer programs, and the solver they go to."""

    solver: MilpSolver

    @property
    def direction(self) -> Direction:
        return Unrolling.direction.then(Encoder.direction)

    def answer(self, space: BoundedStarts, case: Case) -> ProgramAnswer:
        """Write the program of a case, solve it, and check what comes out on the concrete system.

        Nonlinear operators are only enclosed. A point that is no path shows where an envelope is too wide: there its
        range is cut, and the program is written again. A discrete state from which there is no path is left out.
        """
        refined = Refined(StartStates(self.system, case, self.budget) if is_finite(self.system, case) else None)
        for number in range(REFINEMENTS + 1):
            encoder = Encoder(space.initial.starts, space.linear, space.exact, self.budget.check, refined.cuts)
            answer, point = self._once(encoder, case, refined.excluded)
            if answer.end is not End.DOUBT or point is None:
                return answer
            if refined.states is not None:
                trace = self._from_state(refined, ProgramPoint(self.system, encoder, case), point)
                if trace is not None:
                    return ProgramAnswer(End.FOUND, trace)
            if not refined.further(encoder, point):
                return answer
            self.budget.progress(f"milp: {self.tally.programs} programs, {number + 1} refinements", None)
        return ProgramAnswer(End.DOUBT, reason=f"spurious after {REFINEMENTS} refinements; {TRY_OTHERS}")

    def _from_state(self, refined: Refined, found: ProgramPoint, point: Floats) -> Trace | None:
        """A path from the discrete state that a point begins in; a state that has none is left out from now on."""
        assert refined.states is not None
        state = found.first(point, None)
        try:
            taken = refined.states.failing(state)
        except NotFinite:
            return None
        if taken is None:
            refined.excluded.append(state)
            return None
        decisions = refined.states.decisions({**found.case.taken, **taken}, self.steps)
        paths = (self.path(state, decisions[: last + 1]) for last in range(self.steps + 1))
        return next((path for path in paths if path is not None), None)

    def _once(self, encoder: Encoder, case: Case, excluded: Sequence[Valuation]) -> tuple[ProgramAnswer, Floats | None]:
        """One program, and the point that is no path if that is how it ends."""
        try:
            for condition in (*self.system.init.where, case.condition):
                encoder.require(condition)
            for state in excluded:
                exclude(encoder, state)
        except Unsuitable as refusal:
            return ProgramAnswer(End.UNSUITABLE, reason=refusal.reason), None
        if encoder.sheet.infeasible:
            return ProgramAnswer(End.EXCLUDED), None
        problem = program(encoder.sheet)
        outcome = self._solve(problem)
        if outcome.status is SolveStatus.INFEASIBLE:  # believed if it is so with room to spare, whatever is optimised
            outcome = self._solve(eased(problem), again=True)
            if outcome.status is SolveStatus.INFEASIBLE:
                return ProgramAnswer(End.INFEASIBLE), None
        if outcome.point is None:
            self.budget.check()
            return ProgramAnswer(End.DOUBT, reason=f"the solver {self.solver.name} ended with: {outcome.said}"), None
        return self._lift(ProgramPoint(self.system, encoder, case), outcome.point), outcome.point

    def _solve(self, problem: MilpProblem, *, again: bool = False) -> Solved:
        self.budget.check()
        if not again:
            self.tally.count(problem)
        with self.tally.timed():
            return self.solver.solve(problem, self.budget.left, CLEAR_MARGIN, self.budget.check)

    def _lift(self, found: ProgramPoint, point: Floats) -> ProgramAnswer:
        """The point as an exact path that refutes the goal; polished by a linear program if it is not one yet."""
        trace = self._replay(found, point)
        if trace is None:
            polished = self._solve(program(found.encoder.sheet, fixed=point)).point
            trace = None if polished is None else self._replay(found, polished)
        if trace is not None:
            return ProgramAnswer(End.FOUND, trace)
        reason = "numerics: a point within the solver's tolerance that is no counterexample in exact arithmetic"
        return ProgramAnswer(End.DOUBT, reason=reason)

    def _replay(self, found: ProgramPoint, point: Floats) -> Trace | None:
        for digits in DIGITS:
            self.budget.check()
            trace = self.path(found.first(point, digits), found.decisions(point, self.steps, digits))
            if trace is not None:
                return trace
        return None


@dataclass
class Refined:
    """What points that are no paths have taught of one case: ranges to cut, and discrete states to leave out."""

    states: StartStates | None
    cuts: dict[Site, list[float]] = field(default_factory=dict)
    excluded: list[Valuation] = field(default_factory=list)
    written: int = 0  # states left out of the last program

    def further(self, encoder: Encoder, point: Floats) -> bool:
        """Whether the next program is another one, without a state or with a range that is cut."""
        if len(self.excluded) > self.written:
            self.written = len(self.excluded)
            return True
        found = next_cut(encoder.nonlinear, point.tolist(), self.cuts) if encoder.nonlinear else None
        if found is not None:
            self.cuts.setdefault(found[0], []).append(found[1])
        return found is not None


@dataclass(frozen=True)
class ProgramPoint:
    """A point of a program, read as a first state and decisions."""

    system: System
    encoder: Encoder
    case: Case

    def first(self, point: Floats, digits: int | None) -> Valuation:
        """The first state and memory, exactly inside the starts; where the program does not say, anything goes."""
        values = self.encoder.values
        found = {var: self._numbers(var, values[var], point) for var in self.encoder.starts if var in values}
        return tied_exactly(self.system, InitialSet(self.encoder.starts).nearest(found, digits, END_SLACK))

    def _numbers(self, var: Expr, forms: ColumnForms, point: Floats) -> Sequence[Fraction | float]:
        numbers = [_at(form, point) for form in forms]
        if not var.sort.is_number and len(numbers) > 1:  # one form for each label
            return [Fraction(int(np.argmax(numbers)))]
        return numbers

    def decisions(self, point: Floats, steps: int, digits: int | None) -> list[NodeDecisions]:
        """What is taken at each position; where the program does not say, anything goes."""
        return [
            {node: self.decision(node, replace(node.occurrence, step=t), point, digits) for node in self.nodes}
            for t in range(steps + 1)
        ]

    @property
    def nodes(self) -> Sequence[e.Choose | e.Between | e.Argmax]:
        return list(self.system.step.names)

    def decision(
        self, node: e.Choose | e.Between | e.Argmax, occurrence: Occurrence, point: Floats, digits: int | None
    ) -> int | Fraction | tuple[Fraction, ...]:
        """What a point says of one decision."""
        if isinstance(node, e.Between):
            drawn = [_rounded(x, digits) for x in _values(self.encoder.disturbances.get(occurrence), point)]
            return tuple(drawn or [Fraction(0)] * node.size) if node.shape else (drawn or [Fraction(0)])[0]
        if occurrence in self.case.taken:
            return self.case.taken[occurrence]
        return int(np.argmax([*_values(self.encoder.picks.get(occurrence), point)] or [1.0]))


def _values(forms: ColumnForms | None, point: Floats) -> Iterator[float]:
    return (_at(form, point) for form in forms or ())


def _at(form: ColumnForm, point: Floats) -> float:
    return float(form.constant + sum(value * point[column] for column, value in form.terms.items()))


def _rounded(number: float, digits: int | None) -> Fraction:
    return Fraction(repr(number)) if digits is None else Fraction(f"{number:.{digits + 1}g}")
