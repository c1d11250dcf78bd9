"""Gurobi (extra `gurobi`, and a licence of one's own)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import gurobipy
import numpy as np
from gurobipy import GRB

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import idle
from vernal.solvers.base import FEASIBILITY, Capabilities, MilpProblem, Solved, SolveStatus
from vernal.solvers.watch import watched

STATUS = {
    GRB.OPTIMAL: SolveStatus.OPTIMAL,
    GRB.INFEASIBLE: SolveStatus.INFEASIBLE,
    GRB.UNBOUNDED: SolveStatus.UNBOUNDED,
    GRB.INF_OR_UNBD: SolveStatus.INFEASIBLE_OR_UNBOUNDED,
    GRB.TIME_LIMIT: SolveStatus.LIMIT,
    GRB.ITERATION_LIMIT: SolveStatus.LIMIT,
    GRB.NODE_LIMIT: SolveStatus.LIMIT,
    GRB.SOLUTION_LIMIT: SolveStatus.LIMIT,
    GRB.MEM_LIMIT: SolveStatus.LIMIT,
    GRB.WORK_LIMIT: SolveStatus.LIMIT,
    GRB.INTERRUPTED: SolveStatus.LIMIT,
    GRB.USER_OBJ_LIMIT: SolveStatus.LIMIT,
    GRB.CUTOFF: SolveStatus.LIMIT,
    GRB.SUBOPTIMAL: SolveStatus.LIMIT,
    GRB.NUMERIC: SolveStatus.UNKNOWN,
    GRB.LOADED: SolveStatus.UNKNOWN,
    GRB.INPROGRESS: SolveStatus.UNKNOWN,
}


@dataclass(eq=False)
class Gurobi:
    """Gurobi through gurobipy, on one thread."""

    name = "gurobi"
    requires: tuple[str, ...] = ("gurobipy",)
    can = Capabilities(integers=True, incremental=True)

    def solve(
        self,
        problem: MilpProblem,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
                return _solve(model, problem, time_limit, target, tick)
        except gurobipy.GurobiError as error:  # no licence, or a program beyond the licence's size
            return Solved(SolveStatus.ERROR, said=str(error))


def _solve(
    model: gurobipy.Model, problem: MilpProblem, time_limit: float, target: float | None, tick: Callable[[], object]
) -> Solved:
    parameters = {"Threads": 1, "FeasibilityTol": FEASIBILITY, "OptimalityTol": FEASIBILITY, "IntFeasTol": FEASIBILITY}
    if math.isfinite(time_limit):
        parameters["TimeLimit"] = max(time_limit, 0.0)
    if target is not None:
        parameters["BestObjStop"] = target
    for name, value in parameters.items():
        model.setParam(name, value)
    columns = _fill(model, problem)
    if not watched(model.optimize, model.terminate, time_limit, tick):
        return Solved(SolveStatus.LIMIT, said="did not stop in time")
    status = STATUS.get(model.Status, SolveStatus.UNKNOWN)
    if model.SolCount == 0 or status is SolveStatus.INFEASIBLE:
        return Solved(SolveStatus.UNKNOWN if status is SolveStatus.OPTIMAL else status, said=f"status {model.Status}")
    point: Floats = np.array(columns.X, dtype=np.float64)
    return Solved(status, point, float(model.ObjVal), f"status {model.Status}")


def _fill(model: gurobipy.Model, problem: MilpProblem) -> gurobipy.MVar:
    from scipy.sparse import csr_matrix

    kinds = np.where(problem.integer, GRB.INTEGER, GRB.CONTINUOUS)
    columns = model.addMVar(problem.columns, lb=problem.lower, ub=problem.upper, vtype=kinds)
    shape = (problem.rows, problem.columns)
    matrix = csr_matrix((problem.values, problem.indices, problem.starts), shape=shape)
    above, below = np.isfinite(problem.row_lower), np.isfinite(problem.row_upper)
    if above.any():
        model.addConstr(matrix[above] @ columns >= problem.row_lower[above])
    if below.any():
        model.addConstr(matrix[below] @ columns <= problem.row_upper[below])
    model.setObjective(problem.objective @ columns, GRB.MAXIMIZE)
    return columns
