"""`vernal solvers`: which back ends are known, and which of them are here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata, util

import typer


@dataclass(frozen=True, slots=True)
class Backend:
    """A solver Vernal knows: how it is imported, how it is distributed, and which extra brings it."""

    name: str
    module: str
    package: str
    extra: str | None  # None for the one that comes along
    about: str

    @property
    def version(self) -> str | None:
        """The installed version, without importing anything; None where it is missing."""
        if util.find_spec(self.module) is None:
            return None
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "unknown version"


KNOWN = (
    Backend("highs", "highspy", "highspy", None, "linear and mixed-integer programs"),
    Backend("scip", "pyscipopt", "pyscipopt", "scip", "mixed-integer and nonlinear programs"),
    Backend("gurobi", "gurobipy", "gurobipy", "gurobi", "mixed-integer programs; needs a licence"),
    Backend("z3", "z3", "z3-solver", "smt", "satisfiability modulo theories"),
    Backend("cvc5", "cvc5", "cvc5", "smt", "satisfiability modulo theories"),
    Backend("marabou", "maraboupy", "maraboupy", "marabou", "piecewise-linear networks"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("solvers", short_help="List the solver back ends.")(solvers)


def solvers() -> None:
    """List the solver back ends Vernal knows and whether they are installed."""
    from vernal.report.tables import Column, aligned

    versions = [backend.version for backend in KNOWN]
    columns = [
        Column("solver", [backend.name for backend in KNOWN], left=True),
        Column("here", [version or "no" for version in versions], left=True),
        Column("for", [backend.about for backend in KNOWN], left=True),
        Column("install", [_install(*pair) for pair in zip(KNOWN, versions, strict=True)], left=True),
    ]
    typer.echo(aligned(columns))
    typer.echo("\nNo engine of this release calls a solver: falsify and bounds need none of these.")


def _install(backend: Backend, version: str | None) -> str:
    if version is not None:
        return ""
    return f"pip install 'vernal[{backend.extra}]'" if backend.extra else "pip install vernal"
