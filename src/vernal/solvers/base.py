"""Mixed-integer programs as frozen data, questions of satisfiability as text, and what a solver has to do with them.

A solver of programs computes in floating point within tolerances. What it says is a status out of a fixed list; what
its own library says is looked up in a table of the adapter, and what is not in the table is UNKNOWN. Only INFEASIBLE
means that there is no point: "infeasible or unbounded" and a limit that was reached do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.relus import ReluProgram
from vernal.model.tick import idle

Integers = NDArray[np.int64]

FEASIBILITY = 1e-9  # the tolerance solvers are asked for: by how much a row, bound or integrality may be missed


class SolveStatus(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    LIMIT = "limit"  # of time, nodes, memory, or by interruption
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class MilpProblem:
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
class Solved:
    """What came out: a status, the best point found if any, its objective, and the solver's own word for it."""

    status: SolveStatus
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
        problem: MilpProblem,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        """Solve within the time limit (seconds), on one thread; back at most about two seconds after it.

        A point whose objective reaches the target is good enough: the solve may end there, as OPTIMAL or LIMIT.
        `tick` is called several times a second and may end the solve by raising.
        """
        ...


# Satisfiability modulo theories ---------------------------------------------------------------------------------------


class Satisfiable(Enum):
    """How a question of satisfiability ended."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # a limit, or beyond the solver


@dataclass(frozen=True, slots=True)
class SmtSolved:
    """What came out: whether there is a model, the values of one (a truth value is 0 or 1), the solver's own word."""

    status: Satisfiable
    values: Mapping[str, Fraction] = field(default_factory=dict)
    said: str = ""


class SmtSolver(Protocol):
    """A solver of satisfiability modulo theories."""

    name: str
    requires: tuple[str, ...]  # the modules it imports

    def check(
        self,
        script: str,
        unknowns: Mapping[str, str],
        time_limit: float = float("inf"),
        tick: Callable[[], object] = idle,
    ) -> SmtSolved:
        """Whether the assertions of an SMT-LIB script can be met, and by which values of the unknowns (name: sort).

        Numbers are rationals, and NO is exact; a value that is irrational is rounded. Back at most about two seconds
        after the time limit. `tick` is called several times a second and may end the work by raising.
        """
        ...

    def growing(self) -> GrowingScript:
        """A script that is asked again and again while it grows; what was learnt from it before is of use."""
        ...


class GrowingScript(Protocol):
    """A script that stays with its solver."""

    def check(
        self,
        more: str,
        unknowns: Mapping[str, str],
        time_limit: float = float("inf"),
        tick: Callable[[], object] = idle,
        assumed: Sequence[str] = (),
    ) -> SmtSolved:
        """The same of all lines so far and these; unknown truth values that are `assumed` are true this time."""
        ...


# ReLU networks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ReluSolved:
    """What came out: whether there is a point over the reals, the values of the inputs at one, the solver's word."""

    status: Satisfiable
    point: Floats | None = None
    said: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ReluBounds:
    """What is known of every column of a program."""

    lower: Floats
    upper: Floats


class ReluSolver(Protocol):
    """A solver made for ReLU networks, which computes in floating point within tolerances."""

    name: str
    requires: tuple[str, ...]  # the modules it imports

    def solve(
        self, program: ReluProgram, time_limit: float = float("inf"), tick: Callable[[], object] = idle
    ) -> ReluSolved:
        """Whether a program has a point; back at most about two seconds after the time limit."""
        ...

    def bounds(
        self, program: ReluProgram, time_limit: float = float("inf"), tick: Callable[[], object] = idle
    ) -> ReluBounds | None:
        """Ends of all columns that hold at every point; None where there is none, or nothing was found in time."""
        ...
