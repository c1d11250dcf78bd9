"""Gurobi (extra `gurobi`, and a licence of one's own)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import gurobipy
import numpy as np
from gurobipy import GRB

from vernal.solvers.base import FEASIBILITY, Capabilities, Floats, Milp, Outcome, Status, idle
from vernal.solvers.watch import watched

STATUS = {
    GRB.OPTIMAL: Status.OPTIMAL,
    GRB.INFEASIBLE: Status.INFEASIBLE,
    GRB.UNBOUNDED: Status.UNBOUNDED,
    GRB.INF_OR_UNBD: Status.INFEASIBLE_OR_UNBOUNDED,
    GRB.TIME_LIMIT: Status.LIMIT,
    GRB.ITERATION_LIMIT: Status.LIMIT,
    GRB.NODE_LIMIT: Status.LIMIT,
    GRB.SOLUTION_LIMIT: Status.LIMIT,
    GRB.MEM_LIMIT: Status.LIMIT,
    GRB.WORK_LIMIT: Status.LIMIT,
    GRB.INTERRUPTED: Status.LIMIT,
    GRB.USER_OBJ_LIMIT: Status.LIMIT,
    GRB.CUTOFF: Status.LIMIT,
    GRB.SUBOPTIMAL: Status.LIMIT,
    GRB.NUMERIC: Status.UNKNOWN,
    GRB.LOADED: Status.UNKNOWN,
    GRB.INPROGRESS: Status.UNKNOWN,
}


@dataclass(eq=False)
class Gurobi:
    """Gurobi through gurobipy, on one thread."""

    name = "gurobi"
    requires: tuple[str, ...] = ("gurobipy",)
    can = Capabilities(integers=True, incremental=True)

    def solve(
        self,
        problem: Milp,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Outcome:
        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
                return _solve(model, problem, time_limit, target, tick)
        except gurobipy.GurobiError as error:  # no licence, or a program beyond the licence's size
            return Outcome(Status.ERROR, said=str(error))


def _solve(
    model: gurobipy.Model, problem: Milp, time_limit: float, target: float | None, tick: Callable[[], object]
) -> Outcome:
    parameters = {"Threads": 1, "FeasibilityTol": FEASIBILITY, "OptimalityTol": FEASIBILITY, "IntFeasTol": FEASIBILITY}
    if math.isfinite(time_limit):
        parameters["TimeLimit"] = max(time_limit, 0.0)
    if target is not None:
        parameters["BestObjStop"] = target
    for name, value in parameters.items():
        model.setParam(name, value)
    columns = _fill(model, problem)
    if not watched(model.optimize, model.terminate, time_limit, tick):
        return Outcome(Status.LIMIT, said="did not stop in time")
    status = STATUS.get(model.Status, Status.UNKNOWN)
    if model.SolCount == 0 or status is Status.INFEASIBLE:
        return Outcome(Status.UNKNOWN if status is Status.OPTIMAL else status, said=f"status {model.Status}")
    point: Floats = np.array(columns.X, dtype=np.float64)
    return Outcome(status, point, float(model.ObjVal), f"status {model.Status}")


def _fill(model: gurobipy.Model, problem: Milp) -> gurobipy.MVar:
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
