"""SCIP, an exchange for HiGHS (extra `scip`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pyscipopt import Expr, Model, Variable, quicksum

from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import idle
from vernal.solvers.base import FEASIBILITY, Capabilities, MilpProblem, Solved, SolveStatus
from vernal.solvers.watch import watched

STATUS = {
    "optimal": SolveStatus.OPTIMAL,
    "infeasible": SolveStatus.INFEASIBLE,
    "unbounded": SolveStatus.UNBOUNDED,
    "inforunbd": SolveStatus.INFEASIBLE_OR_UNBOUNDED,
    "timelimit": SolveStatus.LIMIT,
    "userinterrupt": SolveStatus.LIMIT,
    "nodelimit": SolveStatus.LIMIT,
    "totalnodelimit": SolveStatus.LIMIT,
    "stallnodelimit": SolveStatus.LIMIT,
    "memlimit": SolveStatus.LIMIT,
    "gaplimit": SolveStatus.LIMIT,
    "sollimit": SolveStatus.LIMIT,
    "bestsollimit": SolveStatus.LIMIT,
    "primallimit": SolveStatus.LIMIT,
    "duallimit": SolveStatus.LIMIT,
    "restartlimit": SolveStatus.LIMIT,
    "terminate": SolveStatus.LIMIT,
    "unknown": SolveStatus.UNKNOWN,
}


@dataclass(eq=False)
class Scip:
    """SCIP through pyscipopt: branch, cut and price, on one thread."""

    name = "scip"
    requires: tuple[str, ...] = ("pyscipopt",)
    can = Capabilities(integers=True, incremental=False)

    def solve(
        self,
        problem: MilpProblem,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        model, columns = _model(problem)
        # Where a linear program is unstable SCIP tightens this a thousandfold, and its LP library reports on stderr
        # that it cannot go that far. That line cannot be turned off, and a looser tolerance would cost precision.
        model.setParam("numerics/feastol", FEASIBILITY)
        model.setParam("numerics/dualfeastol", FEASIBILITY)
        model.setParam("misc/catchctrlc", False)  # the program handles its own interruption
        if math.isfinite(time_limit):
            model.setParam("limits/time", max(time_limit, 0.0))
        if target is not None:
            model.setParam("limits/primal", target)
        errors: list[str] = []
        if not watched(lambda: _optimise(model, errors), model.interruptSolve, time_limit, tick):
            return Solved(SolveStatus.LIMIT, said="did not stop in time")
        if errors:
            return Solved(SolveStatus.ERROR, said=errors[0])
        said = model.getStatus()
        status = STATUS.get(said, SolveStatus.UNKNOWN)
        if model.getNSols() == 0 or status is SolveStatus.INFEASIBLE:  # then there is no point to look at
            return Solved(SolveStatus.UNKNOWN if status is SolveStatus.OPTIMAL else status, said=said)
        best = model.getBestSol()
        point: Floats = np.array([model.getSolVal(best, column) for column in columns], dtype=np.float64)
        return Solved(status, point, float(model.getSolObjVal(best)), said)


def _optimise(model: Model, errors: list[str]) -> None:
    """Solve; what SCIP itself gives up on, an unstable linear program say, it raises as a bare Exception."""
    try:
        model.optimizeNogil()
    except Exception as error:
        errors.append(str(error))


def _model(problem: MilpProblem) -> tuple[Model, list[Variable]]:
    model = Model()
    model.hideOutput()
    bounds = zip(problem.lower.tolist(), problem.upper.tolist(), problem.integer.tolist(), strict=True)
    columns = [model.addVar(lb=_end(low), ub=_end(high), vtype="I" if whole else "C") for low, high, whole in bounds]
    indices, values = problem.indices.tolist(), problem.values.tolist()
    for row, (low, high) in enumerate(zip(problem.row_lower.tolist(), problem.row_upper.tolist(), strict=True)):
        entries = range(problem.starts[row], problem.starts[row + 1])
        total = quicksum(values[entry] * columns[indices[entry]] for entry in entries)
        _add_row(model, total, len(entries), low, high)
    terms = [(factor, column) for factor, column in zip(problem.objective.tolist(), columns, strict=True) if factor]
    model.setObjective(quicksum(factor * column for factor, column in terms), sense="maximize")
    return model, columns


def _end(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def _add_row(model: Model, total: Expr, entries: int, low: float, high: float) -> None:
    """A row of bounds; one without entries is true or makes the program infeasible."""
    if entries == 0:
        if not low <= 0 <= high:
            model.addCons(quicksum([model.addVar(lb=0, ub=0)]) >= 1)
        return
    if low == high:
        model.addCons(total == low)
        return
    if math.isfinite(low):
        model.addCons(total >= low)
    if math.isfinite(high):
        model.addCons(total <= high)
