"""Which of many simulated runs break a property: a share that says how often, and one of them as an exact path.

Runs are floats, and a share of random runs is no probability of anything but of these draws. What is reported with it
is a path that replay confirms.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.errors import Stopped
from vernal.evidence.trace import Trace
from vernal.logic.claim import claim_of
from vernal.logic.formula import Formula
from vernal.logic.margin import atom_margin
from vernal.logic.normal import atoms
from vernal.logic.semantics import evaluate
from vernal.model.expr import Expr
from vernal.model.tick import Tick, idle
from vernal.run.budget import Budget
from vernal.simulate.lift import violation
from vernal.simulate.runs import Runs

UNDEFINED = -1  # in tables of truth, besides 0 and 1
VALUES: dict[int, bool | None] = {0: False, 1: True, UNDEFINED: None}
CONFIRMATION_SECONDS = 5.0  # for confirming one of them
MAX_LIFTED = 8  # failing runs that are tried as exact paths


@dataclass(frozen=True)
class RunShare:
    """How many runs break a property, and how many keep it; the others are too short to tell.

    Of a claim that one run cannot break, such as `EF p`, nothing is counted (`counts` is false), nor where the time was
    over before (`reason`). `trace` is one of the failing runs as an exact path, cut where the property is decided; None
    where none could be confirmed.
    """

    property: str | None
    formula: str
    runs: int
    counts: bool = True
    failing: tuple[int, ...] = ()  # rows of the runs
    keeping: int = 0
    trace: Trace | None = None
    reason: str | None = None  # why the runs are not judged

    @builtins.property  # the field of that name hides it here
    def share(self) -> float:
        """The share of the runs that break the property."""
        return len(self.failing) / max(1, self.runs)


def share_of(runs: Runs, formula: Formula, name: str | None, budget: Budget) -> RunShare:
    """Which of the runs break a formula, judged within a budget."""
    claim, count = claim_of(formula), len(runs.lengths)
    path = claim.linear
    if path is None or claim.mentions_some:
        return RunShare(name, claim.text, count, counts=False)
    known = truth_on_runs(runs, path, budget.check)
    failing = np.array([row for row, truth in enumerate(known) if truth is False], dtype=np.intp)
    keeping = sum(truth is True for truth in known)
    trace = _confirmed(runs, path, failing, budget.part(1.0, CONFIRMATION_SECONDS))
    return RunShare(name, claim.text, count, True, tuple(failing.tolist()), keeping, trace)


def truth_on_runs(runs: Runs, path: Formula, tick: Tick = idle) -> list[bool | None]:
    """What each run shows of a formula of paths, whatever would come after its last position; None if nothing.

    Runs on which all atoms have the same truth at the same positions are judged once.
    """
    asked = list(dict.fromkeys(atoms(path)))
    table = np.stack([*_truths(runs, asked), np.full((len(runs.lengths), runs.steps + 1), UNDEFINED)], axis=1)
    lengths = runs.lengths[:, None, None]
    table = np.where(np.arange(runs.steps + 1) < lengths, table, UNDEFINED)
    keys = np.concatenate([table.reshape(len(table), -1), lengths[:, 0]], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    judged = [_judged(path, asked, table[row], int(runs.lengths[row]), runs.steps, tick) for row in first.tolist()]
    return [judged[kind] for kind in which.reshape(-1).tolist()]


def _truths(runs: Runs, asked: Sequence[Expr]) -> list[NDArray[np.int8]]:
    """Whether atoms are true at the positions of runs; an atom whose numbers are not defined is neither."""
    values = runs.values([*asked, *map(atom_margin, asked)])
    known = zip(values[: len(asked)], values[len(asked) :], strict=True)
    return [np.where(np.isnan(margin), UNDEFINED, truth == 1).astype(np.int8) for truth, margin in known]


def _judged(
    path: Formula, asked: Sequence[Expr], table: NDArray[np.int8], length: int, steps: int, tick: Tick
) -> bool | None:
    tick()
    rows = {atom: [VALUES[value] for value in row] for atom, row in zip(asked, table.tolist(), strict=False)}
    return evaluate(path, lambda atom, t: rows[atom][t], length, complete=length <= steps)


def _confirmed(runs: Runs, path: Formula, failing: NDArray[np.intp], budget: Budget) -> Trace | None:
    """One of the failing runs, readable if possible; None where that would take long, or none is confirmed."""
    try:
        for row in failing[:MAX_LIFTED].tolist():
            for short in (True, False):
                trace = violation(runs, row, path, budget.check, short=short)
                if trace is not None:
                    return trace
    except Stopped:
        return None
    return None
