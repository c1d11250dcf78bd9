"""Which of many simulated runs break a property: a share that says how often, and one of them as an exact path.

Runs are floats, and a share of random runs is no probability of anything but of these draws. What is reported with it
is a path that replay confirms.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vernal.errors import Stopped
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.margin import atom_margin
from vernal.logic.normal import atoms
from vernal.logic.question import Question
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


class RunJudge(Protocol):
    """What a claim of all paths is on runs, in one kind of time."""

    @property
    def question(self) -> Question:
        """What is judged."""
        ...

    def verdicts(self, runs: Runs, tick: Tick) -> tuple[Sequence[int], int]:
        """Which rows fail, those to be confirmed first before the others, and how many keep the claim."""
        ...

    def confirmed(self, runs: Runs, row: int, budget: Budget, *, short: bool) -> Trace | None:
        """A failing run in exact numbers or enclosed, readable with `short`; None where it is not shown to fail."""
        ...


def share_of(judge: RunJudge, runs: Runs, budget: Budget) -> RunShare:
    """Which of the runs break a claim, judged within a budget; of a claim that one run cannot break, none."""
    name, claim, count = judge.question.name, judge.question.claim, len(runs.lengths)
    if claim.linear is None or claim.mentions_some:
        return RunShare(name, claim.text, count, counts=False)
    failing, keeping = judge.verdicts(runs, budget.check)
    trace = None
    with suppress(Stopped):  # where it would take long, none is shown
        part = budget.part(1.0, CONFIRMATION_SECONDS)
        tried = (
            judge.confirmed(runs, row, part, short=short) for row in failing[:MAX_LIFTED] for short in (True, False)
        )
        trace = next(filter(None, tried), None)
    return RunShare(name, claim.text, count, True, tuple(sorted(failing)), keeping, trace)


@dataclass(frozen=True)
class PathJudge:
    """Runs in steps: read as far as they go, and replayed exactly."""

    question: Question

    @property
    def path(self) -> Formula:
        """The claim, read along a path."""
        assert self.question.claim.linear is not None
        return self.question.claim.linear

    def verdicts(self, runs: Runs, tick: Tick) -> tuple[Sequence[int], int]:
        """By the truth of the atoms, whatever would come after the last position."""
        known = truth_on_runs(runs, self.path, tick)
        return [row for row, truth in enumerate(known) if truth is False], sum(truth is True for truth in known)

    def confirmed(self, runs: Runs, row: int, budget: Budget, *, short: bool) -> Trace | None:
        """The run as an exact path."""
        return violation(runs, row, self.path, budget.check, short=short)


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
