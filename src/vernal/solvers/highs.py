"""HiGHS, the solver that comes along."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import highspy
import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import idle
from vernal.solvers.base import FEASIBILITY, Capabilities, MilpProblem, Solved, SolveStatus
from vernal.solvers.watch import watched

STATUS = {  # by name: not every version knows all of them
    "kOptimal": SolveStatus.OPTIMAL,
    "kInfeasible": SolveStatus.INFEASIBLE,
    "kUnbounded": SolveStatus.UNBOUNDED,
    "kUnboundedOrInfeasible": SolveStatus.INFEASIBLE_OR_UNBOUNDED,
    "kModelEmpty": SolveStatus.UNKNOWN,  # a program without columns, which is never written
    "kTimeLimit": SolveStatus.LIMIT,
    "kIterationLimit": SolveStatus.LIMIT,
    "kSolutionLimit": SolveStatus.LIMIT,
    "kMemoryLimit": SolveStatus.LIMIT,
    "kInterrupt": SolveStatus.LIMIT,
    "kHighsInterrupt": SolveStatus.LIMIT,
    "kObjectiveBound": SolveStatus.LIMIT,
    "kObjectiveTarget": SolveStatus.LIMIT,
    "kLoadError": SolveStatus.ERROR,
    "kModelError": SolveStatus.ERROR,
    "kPresolveError": SolveStatus.ERROR,
    "kSolveError": SolveStatus.ERROR,
    "kPostsolveError": SolveStatus.ERROR,
    "kUnknown": SolveStatus.UNKNOWN,
    "kNotset": SolveStatus.UNKNOWN,
}


@dataclass(eq=False)
class Highs:
    """HiGHS through highspy: branch and cut, simplex for linear programs."""

    name = "highs"
    requires: tuple[str, ...] = ("highspy",)
    can = Capabilities(integers=True, incremental=True)

    def solve(
        self,
        problem: MilpProblem,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        highs = highspy.Highs()
        for option, value in _options(time_limit, target).items():
            highs.setOptionValue(option, value)
        highs.HandleUserInterrupt = True
        if highs.passModel(_model(problem)) == highspy.HighsStatus.kError:
            return Solved(SolveStatus.ERROR, said="the program was refused")
        if not watched(highs.run, highs.cancelSolve, time_limit, tick):
            return Solved(SolveStatus.LIMIT, said="did not stop in time")
        return _outcome(highs)


def _options(time_limit: float, target: float | None) -> dict[str, bool | int | float | str]:
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        "mip_feasibility_tolerance": FEASIBILITY,
        "small_matrix_value": 1e-12,  # smaller ones HiGHS would drop
    }
    if target is not None:
        options["objective_target"] = target
    if math.isfinite(time_limit):
        options["time_limit"] = max(time_limit, 0.0)
    return options


def _model(problem: MilpProblem) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = problem.columns, problem.rows
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.objective, problem.lower, problem.upper
    lp.row_lower_, lp.row_upper_ = problem.row_lower, problem.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = problem.columns, problem.rows
    lp.a_matrix_.start_ = problem.starts.astype(np.int32)
    lp.a_matrix_.index_ = problem.indices.astype(np.int32)
    lp.a_matrix_.value_ = problem.values
    if problem.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(integer)] for integer in problem.integer]
    return lp


def _outcome(highs: highspy.Highs) -> Solved:
    said = highs.getModelStatus()
    status = STATUS.get(said.name, SolveStatus.UNKNOWN)
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if not found or status in (SolveStatus.INFEASIBLE, SolveStatus.ERROR):
        # An optimum without a feasible point is no optimum.
        status = SolveStatus.UNKNOWN if status is SolveStatus.OPTIMAL else status
        return Solved(status, said=highs.modelStatusToString(said))
    point: Floats = np.array(highs.getSolution().col_value, dtype=np.float64)
    return Solved(status, point, float(info.objective_function_value), highs.modelStatusToString(said))
