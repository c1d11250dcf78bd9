"""By how much runs keep a formula: what a search makes smaller, and what guesses are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.confirm import close_atom
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.semantics import atom_margin, margins
from vernal.model import build
from vernal.model.expr import Expr, Role
from vernal.model.system import Model
from vernal.simulate.runs import Runs
from vernal.simulate.starts import satisfied

MarginTable = Sequence[Mapping[Expr, Floats]]  # for each position, the margins of atoms on all runs


def path_margins(formula: Formula, window: Formula, table: MarginTable, lengths: NDArray[np.intp]) -> Floats:
    """The margin on each run: of `window` where it has all positions, of the formula where it ends before."""
    result = np.full(len(lengths), np.inf)
    for length in np.unique(lengths[lengths > 0]):
        rows = lengths == length
        found = margins(window if length == len(table) else formula, partial(_read, table, rows), int(length))
        result[rows] = np.broadcast_to(found, int(rows.sum()))
    return result


def _read(table: MarginTable, rows: NDArray[np.bool_], atom: Expr, t: int) -> Floats:
    return table[t][atom][rows]


class Target:
    """The margin of a formula on runs, computed in floats.

    `window` is what a run of full length is judged by: the formula, or what of it a prefix can refute. A path that
    ends earlier is judged by the formula itself.
    """

    def __init__(self, system: Model, formula: Formula, window: Formula) -> None:
        self.system, self.formula, self.window = system, formula, window
        self.atoms = list(dict.fromkeys([*atoms(formula), *atoms(window)]))
        self.program = concrete.compile([atom_margin(close_atom(system, atom)) for atom in self.atoms])

    def margins(self, runs: Runs) -> Floats:
        """One number for each run; not finite numbers count as far from any violation."""
        table = [self._position(runs, t) for t in range(runs.steps + 1)]
        result = path_margins(self.formula, self.window, table, runs.lengths)
        result[np.isnan(result) | ~satisfied(self.system, runs.plan.first)] = np.inf
        return result

    def _position(self, runs: Runs, t: int) -> dict[Expr, Floats]:
        inputs = runs.inputs(t)
        for name, action in self.system.step.actions.items():
            inputs[build.var(name, action.sort, action.shape, Role.ACTION)] = runs.actions[name][:, t]
        values = self.program(inputs, runs.plan.runs)
        return dict(zip(self.atoms, values, strict=True))
