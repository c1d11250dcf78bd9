"""What an engine knows of a question: a proof, a counterexample, a state at which the claim fails, or why it is open.

An engine returns one of these and nothing else; `answers` alone turns it into a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any

from vernal.evidence.cover import ProofCover
from vernal.evidence.finite_abstraction import FiniteAbstraction
from vernal.evidence.invariant import Invariant
from vernal.evidence.kinds import Evidence
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Assurance, EngineAttempt, EngineFailure
from vernal.evidence.trace import Trace
from vernal.logic.direction import Direction

Statistics = Mapping[str, int | float | str]
NO_STATISTICS: Statistics = {}
UNBOUNDED = "not supported by this engine: the formula has no bound; bound it, as in G[0,20] p, or ask auto"


class Subject(Enum):
    """What a proof is about."""

    PATHS = "paths"  # every path keeps the claim read along it: enough where the claim is one of paths
    STATES = "states"  # the claim is true at every initial state


@dataclass(frozen=True)
class Candidate:
    """A path to be replayed: its first state, the decisions at each position, and the number of steps."""

    first: Mapping[str, Fraction]
    memory: Mapping[str, Sequence[Fraction]]
    decisions: Sequence[Mapping[Any, Any]]  # by name or by node, see `evidence.replay`
    steps: int


@dataclass(frozen=True)
class SeenStates:
    """All states that are reached within `depth` steps, or all there are, looked at one by one.

    `exits` are the variables that have a value outside their declared range in one of them, each with the first step.
    """

    exits: Mapping[str, int]
    depth: int | None = None


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What all kinds of knowledge have in common."""

    engine: str
    statistics: Statistics = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    abstraction: FiniteAbstraction | NeuralAbstraction | None = None  # that it rests on, where it was asked for
    failed: tuple[EngineFailure, ...] = ()  # engines that were asked before, and ended in an error of their own
    seen: SeenStates | None = None  # where states were enumerated


@dataclass(frozen=True, kw_only=True)
class Proof(Knowledge):
    """The claim is true of every initial state."""

    direction: Direction
    subject: Subject = Subject.PATHS
    assurance: Assurance
    margin: float | None = None  # a lower bound
    empty: bool = False  # whether there is no initial state at all
    evidence: Evidence | None = None  # a witness of a claim of some path, or a certificate that can be checked
    cover: ProofCover | None = None  # the sets it rests on, where the budget asks to keep them
    stays_inside: bool = False  # of a claim over samples: whether no path leaves the region as long as it looks


@dataclass(frozen=True, kw_only=True)
class Counterexample(Knowledge):
    """A path, replayed as far as it takes to make the claim false; EXACT if it is the only path of the system."""

    trace: Trace
    direction: Direction = Direction.UNDER


@dataclass(frozen=True, kw_only=True)
class FailingState(Knowledge):
    """An initial state, replayed, at which the claim fails though no single path shows it."""

    trace: Trace  # of one position
    direction: Direction
    assurance: Assurance
    excluded_by: str  # what excludes the paths that would keep the claim
    invariant: Invariant | None = None  # that shows it, where one does
    cover: ProofCover | None = None  # sets that show it, where there are any
    recurrence: RecurrentSet | None = None  # of a loop that samples: what shows it for all time


@dataclass(frozen=True, kw_only=True)
class Open(Knowledge):
    """Nothing is decided, for this reason; of a claim about every step, how far it is proven; and by what margin."""

    reason: str
    proven_steps: int | None = None
    proven_time: float | None = None  # of a claim in continuous time: until when it is proven
    margin: float | None = None  # a lower bound over all paths, below zero
    tried: tuple[EngineAttempt, ...] = ()  # where several engines were asked: what became of each


Known = Proof | Counterexample | FailingState | Open
