"""What comes of checking evidence again: it is accepted, rejected, or could not be checked, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from vernal.evidence.kinds import Evidence
from vernal.evidence.result import Verdict
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.logic.times import Time


class Judgement(StrEnum):
    """What came of checking evidence again; equal to its word, and without a truth value, as a verdict is."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "could not be checked"

    def __bool__(self) -> bool:
        raise TypeError("a judgement has no truth value; compare it: vn.replay(file).judgement == 'accepted'")


@dataclass(frozen=True, slots=True)
class Recheck:
    """The outcome of a check, and why."""

    judgement: Judgement
    reason: str
    evidence: Evidence | None = field(default=None, repr=False)  # what can be drawn: a path that was recomputed, ...
    task: Task | None = field(default=None, repr=False)  # what it was checked against

    @property
    def trace(self) -> Trace | None:
        """The path that was recomputed, if there is one."""
        return None if self.evidence is None else self.evidence.path

    def __bool__(self) -> bool:
        raise TypeError("a recheck has no truth value; compare its judgement: vn.replay(file).judgement == 'accepted'")


class Rejected(Exception):
    """The evidence does not hold, and why."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """What evidence is said to show: this verdict on this formula, of this task, in this kind of time."""

    task: Task
    formula: Formula
    verdict: Verdict
    name: str | None = None  # of the property, where it has one

    @property
    def time(self) -> Time:
        """What positions and bounds of the formula count."""
        return self.task.time_of(self.name)
