"""`vernal solvers`: which back ends are known, and which of them are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vernal.solvers.registry import SolverEntry


def solvers() -> None:
    """List the solver back ends Vernal knows and whether they are installed."""
    from vernal.report.tables import Column, aligned
    from vernal.solvers.registry import BACKENDS, DEFAULT, THEORIES, names

    versions = [backend.version for backend in BACKENDS]
    columns = [
        Column("solver", [backend.name for backend in BACKENDS], left=True),
        Column("here", [version or "no" for version in versions], left=True),
        Column("for", [backend.about for backend in BACKENDS], left=True),
        Column("install", [_install(*pair) for pair in zip(BACKENDS, versions, strict=True)], left=True),
    ]
    typer.echo(aligned(columns))
    programs, theories = ", ".join(names()), ", ".join(names(THEORIES))
    typer.echo(
        f"\n--solver takes {programs} (default {DEFAULT}) with --engine milp, and {theories} with --engine smt; "
        "the other engines need none of these (predicates takes some with --test and --relaxation, to compare)."
    )


def _install(backend: SolverEntry, version: str | None) -> str:
    if version is not None:
        return ""
    return f"pip install 'vernal[{backend.extra}]'" if backend.extra else "pip install vernal"
