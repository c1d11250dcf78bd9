"""The back ends there are, found by name and imported on first use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, metadata, util
from typing import Any

from vernal.errors import MissingExtra, NameUnknown, nearest
from vernal.solvers.base import Capabilities, MilpSolver, ReluSolver, SmtSolver


@dataclass(frozen=True, slots=True)
class SolverEntry:
    """A solver Vernal knows: how it is imported, how it is distributed, and which extra brings it."""

    name: str
    module: str
    package: str
    extra: str | None  # None for the one that comes along
    about: str
    target: str | None = None  # module:class of the adapter to mixed-integer programs
    smt: str | None = None  # module:class of the adapter to satisfiability modulo theories
    relus: str | None = None  # module:class of the adapter to ReLU networks

    @property
    def version(self) -> str | None:
        """The installed version, without importing anything; None where it is missing."""
        if util.find_spec(self.module) is None:
            return None
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "unknown version"

    def load(self) -> MilpSolver:
        """The solver; says which extra brings it where it is missing."""
        if self.target is None:
            raise NameUnknown(f"{self.name} solves no mixed-integer programs{nearest(self.name, names())}")
        solver: MilpSolver = self._adapter(self.target)
        return solver

    def load_smt(self) -> SmtSolver:
        """The solver of satisfiability modulo theories."""
        if self.smt is None:
            raise NameUnknown(f"{self.name} decides no satisfiability modulo theories{nearest(self.name, smt_names())}")
        solver: SmtSolver = self._adapter(self.smt)
        return solver

    def load_relus(self) -> ReluSolver:
        """The solver of ReLU networks."""
        if self.relus is None:
            raise NameUnknown(f"{self.name} is not made for ReLU networks{nearest(self.name, relu_names())}")
        solver: ReluSolver = self._adapter(self.relus)
        return solver

    def _adapter(self, target: str) -> Any:
        module, _, cls = target.partition(":")
        try:
            return getattr(import_module(module), cls)()
        except ImportError as error:
            raise MissingExtra(f"the solver {self.name!r}", self.extra or self.name) from error


BACKENDS = (
    SolverEntry("highs", "highspy", "highspy", None, "linear and mixed-integer programs", "vernal.solvers.highs:Highs"),
    SolverEntry("scip", "pyscipopt", "pyscipopt", "scip", "mixed-integer programs", "vernal.solvers.scip:Scip"),
    SolverEntry(
        "gurobi",
        "gurobipy",
        "gurobipy",
        "gurobi",
        "mixed-integer programs; needs a licence",
        "vernal.solvers.gurobi:Gurobi",
    ),
    SolverEntry("z3", "z3", "z3-solver", "smt", "satisfiability modulo theories", smt="vernal.solvers.z3:Z3"),
    SolverEntry(
        "marabou",
        "maraboupy",
        "maraboupy",
        "marabou",
        "ReLU networks; for tests of the engine predicates",
        relus="vernal.solvers.marabou:Marabou",
    ),
)
DEFAULT = "highs"
DEFAULT_SMT = "z3"


def names() -> list[str]:
    """The solvers of mixed-integer programs, the default first."""
    return [backend.name for backend in BACKENDS if backend.target is not None]


def installed() -> list[str]:
    """Those of them that are here."""
    return [b.name for b in BACKENDS if b.target is not None and b.version is not None]


def smt_names() -> list[str]:
    """The solvers of satisfiability modulo theories, the default first."""
    return [backend.name for backend in BACKENDS if backend.smt is not None]


def find_smt(name: str = DEFAULT_SMT) -> SmtSolver:
    """The solver of satisfiability modulo theories of this name."""
    for backend in BACKENDS:
        if backend.name == name:
            return backend.load_smt()
    raise NameUnknown(f"there is no solver {name!r}{nearest(name, smt_names())}")


def relu_names() -> list[str]:
    """The solvers of ReLU networks."""
    return [backend.name for backend in BACKENDS if backend.relus is not None]


def find_relus(name: str) -> ReluSolver:
    """The solver of ReLU networks of this name."""
    for backend in BACKENDS:
        if backend.name == name:
            return backend.load_relus()
    raise NameUnknown(f"there is no solver {name!r}{nearest(name, relu_names())}")


def find(name: str = DEFAULT, need: Capabilities | None = None) -> MilpSolver:
    """The solver of this name; refused where it cannot do what is needed."""
    for backend in BACKENDS:
        if backend.name == name:
            solver = backend.load()
            if need is not None and not _covers(solver.can, need):
                raise NameUnknown(f"the solver {name!r} cannot do what is asked of it; needed: {need}")
            return solver
    raise NameUnknown(f"there is no solver {name!r}{nearest(name, names())}")


def _covers(can: Capabilities, need: Capabilities) -> bool:
    return (can.integers or not need.integers) and (can.incremental or not need.incremental)
