"""The result of a check: a verdict, how far it reaches, what it rests on, and the evidence."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from vernal.evidence.cover import ProofCover
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.kinds import Evidence, Tree
from vernal.evidence.reach import Reach, rounded_down
from vernal.evidence.trace import Trace
from vernal.model.hooks import hook
from vernal.model.portable import STAYS, Portable
from vernal.printable import shortened

if TYPE_CHECKING:
    from vernal.logic.task import Task


MaybeNone: TypeAlias = Any  # None where there is none: who compared the verdict uses it without another question
MAX_FORMULA = 200  # characters in one line of Python


class Verdict(StrEnum):
    """Three verdicts, equal to their words, and no truth value: `if verdict:` would hide the unknown."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("a verdict has no truth value; compare it: result.verdict is vn.HOLDS")


HOLDS = Verdict.HOLDS
VIOLATED = Verdict.VIOLATED
UNKNOWN = Verdict.UNKNOWN


class Assurance(IntEnum):
    """What a verdict rests on; that of a chain of steps is the least of them."""

    SOLVER = 1  # a solver's tolerances, cleared by a scaled margin
    RIGOROUS = 2  # floating point with its rounding accounted for, enclosures for transcendental terms
    EXACT = 3  # rational arithmetic

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class EngineFailure(Portable):
    """An engine that ended in an error of its own while others went on, and the name of the exception."""

    engine: str
    exception: str

    def __str__(self) -> str:
        return f"the engine {self.engine} failed ({self.exception}) and says nothing of this question; please report it"


@dataclass(frozen=True)
class EngineAttempt(Portable):
    """What became of one engine that left a question open: how long it was asked, and what stopped it."""

    engine: str
    seconds: float
    outcome: str


@dataclass(frozen=True)
class Suggestion(Portable):
    """A command to copy, or a call in Python, that may decide what stayed open; and why it may."""

    command: str
    why: str


@dataclass(frozen=True)
class Result(Portable):
    """The answer to one question."""

    formula: str  # printed canonically
    verdict: Verdict
    engine: str
    property: str | None = None  # its name in the task
    reach: Reach | None = None  # with holds: how far
    reason: str | None = None  # why unknown, and what to try
    proven_steps: int | None = None  # with unknown: the claim is proven up to here
    assurance: Assurance | None = None
    margin: float | None = None
    vacuous: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)
    evidence: Evidence | None = None
    step: int | None = None  # with violated: the position at which the violation shows
    proviso: str | None = None  # what the definition of the system leaves out
    proven_time: float | None = None  # with unknown, in continuous time: the claim is proven until then
    time: float | None = None  # with violated, in continuous time: when the violation shows
    abstraction: Any = None  # that it rests on, where it was asked for: a FiniteAbstraction or a NeuralAbstraction
    failed: tuple[EngineFailure, ...] = ()  # engines of `auto` that ended in an error; each has a note, too
    cover: ProofCover | None = field(default=None, repr=False)  # what it rests on, if a certificate was asked for
    uncertified: str | None = None  # why there is no certificate, where one was asked for
    tried: tuple[EngineAttempt, ...] = ()  # with unknown: the engines of `auto`, in the order they were asked
    weaker: str | None = None  # with unknown: what is proven in the place of the claim; it is a note, too
    suggestions: tuple[Suggestion, ...] | None = None  # with unknown: what to try; None where nobody looked yet
    task: Task | None = field(default=None, repr=False, compare=False, metadata=STAYS)  # what the question was about

    def __post_init__(self) -> None:
        """What is said of a formula may be as long as the formula; what people read is no longer than a page."""
        object.__setattr__(self, "reason", None if self.reason is None else shortened(self.reason))
        object.__setattr__(self, "notes", tuple(map(shortened, self.notes)))

    @builtins.property  # the field of that name hides it here
    def scope(self) -> str | None:
        """How far a proof reaches, in words."""
        return None if self.reach is None else "; ".join(map(str, filter(None, (self.reach, self.proviso))))

    @builtins.property
    def proven(self) -> str | None:
        """With unknown: the best that is proven all the same, in one line."""
        until = None if self.proven_time is None else f"holds until t = {rounded_down(self.proven_time)}"
        steps = None if self.proven_steps is None else f"holds up to step {self.proven_steps}"
        weaker = None if self.weaker is None else self.weaker.replace(" is proven, ", ", where ")
        said = [part for part in (steps, until, weaker) if part]
        return "; ".join(said) if said and self.verdict is UNKNOWN else None

    @builtins.property
    def attempts(self) -> tuple[EngineAttempt, ...]:
        """With unknown: what became of every engine that was asked."""
        if self.tried or self.verdict is not UNKNOWN:
            return self.tried
        return (EngineAttempt(self.engine, self.seconds, self.reason or "nothing was tried"),)

    @builtins.property
    def trace(self) -> Trace | MaybeNone:
        """The path that the evidence shows, if it shows one; it knows what it is evidence for."""
        path = None if self.evidence is None else self.evidence.path
        return path if path is None or self.task is None else replace(path, about=self)

    @builtins.property
    def invariant(self) -> Invariant | MaybeNone:
        """The invariant that proves the claim, or that no path keeps it, if there is one."""
        return self.evidence.invariant if isinstance(self.evidence, Tree | Invariant) else None

    @builtins.property
    def flowpipe(self) -> Flowpipe | MaybeNone:
        """The sets that contain all trajectories of a flow, if the evidence is such; it knows what it is about."""
        return replace(self.evidence, about=self) if isinstance(self.evidence, Flowpipe) else None

    @builtins.property
    def certificate(self) -> MaybeNone:
        """The certificate of a claim that holds, where one was asked for and can be written."""
        return None if self.cover is None or self.task is None else hook("certificate_of")(self)

    def save(self, file: str | Path) -> None:
        """Write the result as JSON, as `vernal check --json` does; `result.trace.save` writes evidence for replay."""
        hook("save_result")(self, file)

    def report(self, file: str | Path) -> None:
        """Write a report, one HTML file: the verdict, what it rests on, traces or reachable sets as pictures."""
        hook("write_report")(self, file)

    def _repr_html_(self) -> str:
        return str(hook("show_result")(self))

    def __repr__(self) -> str:
        name = f"{self.property}: " if self.property else ""
        where = self.scope if self.step is None else f"at step {self.step}"
        where = where if self.time is None else f"at t = {self.time:g}"
        asked = " ".join([f"{name}{shortened(self.formula, MAX_FORMULA)}", *([where] if where else [])])
        return f"<Result {self.verdict.value}: {asked} ({self.engine})>"

    def __bool__(self) -> bool:
        raise TypeError("a result has no truth value; compare its verdict: result.verdict is vn.HOLDS")
