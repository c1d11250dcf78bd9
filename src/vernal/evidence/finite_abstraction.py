"""The finite abstraction behind a result: abstract states and the transitions between them, as plain data.

It over-approximates the system: every path of the system has a path of abstract states, and a path of abstract states
may have none of the system. So an unsafe state of it that is reachable proves nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from vernal.evidence.trace import Trace
from vernal.model.portable import ArrayData

if TYPE_CHECKING:
    from vernal.interpret.numbers.rounding import Floats, Mask
    from vernal.model.expr import Expr, Var


class StartVerdict(StrEnum):
    """What is known of the initial states in one abstract state."""

    SAFE = "safe"  # no unsafe state is reached from any of them
    UNSAFE = "unsafe"  # one of them has a path to an unsafe state
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class LabelledTransition:
    """From one abstract state to another by an action; None is no action: the environment's own step."""

    source: int
    target: int
    label: str | None


@dataclass(frozen=True, eq=False)
class FiniteAbstraction(ArrayData):
    """Abstract states 0, 1, ...: those that hold initial states come first, and those that may be unsafe are together.

    Every label with which there is a transition is listed once for its source and target.
    """

    predicates: tuple[Expr, ...]
    values: Mask  # (states, predicates)
    starts: tuple[StartVerdict, ...]  # of the states 0, 1, ..., as many as hold initial states
    unsafe: tuple[int, ...]
    transitions: tuple[LabelledTransition, ...]
    paths: Mapping[int, Trace]  # replayed, by the abstract start that they are from
    variables: tuple[Var, ...]
    lower: Floats  # (states, variables): a box around the states in an abstract state
    upper: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __hash__(self) -> int:
        return hash((self.predicates, self.starts, self.unsafe, self.transitions, self.variables))

    @property
    def pairs(self) -> int:
        """The number of transitions without regard to labels."""
        return len({(one.source, one.target) for one in self.transitions})
