"""The back ends there are, found by name and imported on first use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, metadata, util
from typing import Any

from vernal.errors import MissingExtra, NameUnknown, nearest
from vernal.solvers.base import Capabilities, MilpSolver, ReluSolver, SmtSolver


@dataclass(frozen=True, slots=True)
class SolverKind:
    """What a solver is for: a field of its entry, and what is said of a solver that has none."""

    name: str
    lacks: str


PROGRAMS = SolverKind("target", "solves no mixed-integer programs")
THEORIES = SolverKind("smt", "decides no satisfiability modulo theories")
NETWORKS = SolverKind("relus", "is not made for ReLU networks")


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

    def load(self, kind: SolverKind) -> Any:
        """The adapter of that kind; says which extra brings the solver where it is missing."""
        target = getattr(self, kind.name)
        if target is None:
            raise NameUnknown(f"{self.name} {kind.lacks}{nearest(self.name, names(kind))}")
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


def names(kind: SolverKind = PROGRAMS) -> list[str]:
    """The solvers of a kind, the default first."""
    return [backend.name for backend in BACKENDS if getattr(backend, kind.name) is not None]


def installed() -> list[str]:
    """The solvers of mixed-integer programs that are here."""
    return [b.name for b in BACKENDS if b.target is not None and b.version is not None]


def _found(name: str, kind: SolverKind) -> Any:
    for backend in BACKENDS:
        if backend.name == name:
            return backend.load(kind)
    raise NameUnknown(f"there is no solver {name!r}{nearest(name, names(kind))}")


def find_smt(name: str = DEFAULT_SMT) -> SmtSolver:
    """The solver of satisfiability modulo theories of this name."""
    solver: SmtSolver = _found(name, THEORIES)
    return solver


def find_relus(name: str) -> ReluSolver:
    """The solver of ReLU networks of this name."""
    solver: ReluSolver = _found(name, NETWORKS)
    return solver


def find(name: str = DEFAULT, need: Capabilities | None = None) -> MilpSolver:
    """The solver of mixed-integer programs of this name; refused where it cannot do what is needed."""
    solver: MilpSolver = _found(name, PROGRAMS)
    if need is not None and not _covers(solver.can, need):
        raise NameUnknown(f"the solver {name!r} cannot do what is asked of it; needed: {need}")
    return solver


def _covers(can: Capabilities, need: Capabilities) -> bool:
    return (can.integers or not need.integers) and (can.incremental or not need.incremental)
