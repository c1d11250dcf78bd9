"""Declared ranges as a formula: they are claims about the model, so one may ask whether they are kept."""

from __future__ import annotations

from vernal.logic.formula import And, Atom, Formula
from vernal.model import build
from vernal.model.clock import clock
from vernal.model.expr import Expr
from vernal.model.system import Model, Variable


def range_atoms(variable: Variable) -> list[Expr]:
    """`lower <= x` and `x <= upper`, as far as they are declared."""
    lower = [] if variable.lower is None else [build.compare("<=", variable.lower, variable.var)]
    upper = [] if variable.upper is None else [build.compare("<=", variable.var, variable.upper)]
    return [*lower, *upper]


def range_formula(system: Model) -> Formula:
    """All declared ranges are kept now; true where none is declared. That of the clock nobody declares."""
    declared = [variable for variable in system.state if variable != clock()]
    atoms = tuple(Atom(atom) for variable in declared for atom in range_atoms(variable))
    if not atoms:
        return Atom(build.TRUE)
    return atoms[0] if len(atoms) == 1 else And(atoms)
