"""Mixed-integer programs as frozen data, and what a solver has to be able to do with one.

A solver computes in floating point within tolerances. What it says is a status out of a fixed list; what its own
library says is looked up in a table of the adapter, and what is not in the table is UNKNOWN. Only INFEASIBLE means that
there is no point: "infeasible or unbounded" and a limit that was reached do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEASIBILITY = 1e-9  # the tolerance solvers are asked for: by how much a row, bound or integrality may be missed


def idle() -> None:
    """Nobody wants to be asked."""


class Status(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    LIMIT = "limit"  # of time, nodes, memory, or by interruption
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Milp:
    """Maximise objective . x subject to lower <= x <= upper, row_lower <= A x <= row_upper and x[integer] integral.

    A is stored by rows: those of row i are `starts[i]` to `starts[i + 1]` of `indices` (columns) and `values`.
    """

    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    objective: Floats
    starts: Integers
    indices: Integers
    values: Floats
    row_lower: Floats
    row_upper: Floats

    @property
    def columns(self) -> int:
        return len(self.lower)

    @property
    def rows(self) -> int:
        return len(self.row_lower)

    @property
    def binaries(self) -> int:
        """How many columns are integral and not fixed."""
        return int((self.integer & (self.lower < self.upper)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came out: a status, the best point found if any, its objective, and the solver's own word for it."""

    status: Status
    point: Floats | None = None
    objective: float | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a solver can do, which is what engines ask for."""

    integers: bool
    incremental: bool


class MilpSolver(Protocol):
    """A solver of linear and mixed-integer programs."""

    name: str
    requires: tuple[str, ...]  # the modules it imports
    can: Capabilities

    def solve(
        self,
        problem: Milp,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Outcome:
        """Solve within the time limit (seconds), on one thread; back at most about two seconds after it.

        A point whose objective reaches the target is good enough: the solve may end there, as OPTIMAL or LIMIT.
        `tick` is called several times a second and may end the solve by raising.
        """
        ...


def violation(problem: Milp, point: Floats) -> float:
    """By how much a point misses the rows, bounds and integrality it should meet; 0 if it meets all."""
    integral = np.abs(point - np.round(point))[problem.integer]
    products = problem.values * point[problem.indices]
    sums = np.zeros(problem.rows)
    np.add.at(sums, np.repeat(np.arange(problem.rows), np.diff(problem.starts)), products)
    misses = (
        problem.lower - point,
        point - problem.upper,
        problem.row_lower - sums,
        sums - problem.row_upper,
        integral,
    )
    return max(0.0, *(float(miss.max(initial=0.0)) for miss in misses))
