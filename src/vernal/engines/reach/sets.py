"""Reachable sets as data: what expressions can be at every step, over all paths from all initial states.

Everything here is OVER: a value that some path has at a step is among those of that step. Nothing says that every value
there is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vernal.errors import NameUnknown, TypeClash, nearest
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Expr
from vernal.model.hooks import hook
from vernal.model.portable import Portable
from vernal.model.sorts import Sort

Vertex = tuple[float, float]
NamedExpressions = Sequence[tuple[str, Expr]]


@dataclass(frozen=True, slots=True)
class NumberBounds:
    """A number from lower to upper, both included; infinite where nothing bounds it, or it may be undefined."""

    lower: float
    upper: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.lower) and math.isfinite(self.upper)


class BoundArrays(NamedTuple):
    """The ends of a number at every step, as arrays."""

    lower: Floats
    upper: Floats


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The labels, or truth values, that are possible; in the order of their sort."""

    labels: tuple[str, ...]


ReachedValue = NumberBounds | LabelSet


@dataclass(frozen=True, slots=True)
class ReachedStep:
    """One position of all paths, or one span of time of all trajectories: what each expression can be.

    Of two numbers `polygon` has the vertices of a convex set that contains all pairs of their values; it is None for
    any other expressions, and where one of the two has no bound. `span` is from when to when, in continuous time.
    """

    values: tuple[ReachedValue, ...]
    polygon: tuple[Vertex, ...] | None = None
    span: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class TimedReach(Portable):
    """What reachable sets of a flow have besides: bounds hold at all times up to `until`; `horizon` was asked for.

    Trajectories are followed while they are in the region, and all of them are up to `inside_until`. From `left` on
    none is, if it is not None.
    """

    horizon: float
    until: float
    inside_until: float
    left: float | None = None
    engine: str | None = None  # whose flowpipe it is; None where none was found
    pipe: Flowpipe | Any = field(default=None, repr=False)  # None where none was found
    abstraction: NeuralAbstraction | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ReachableSets(Portable):
    """What expressions can be at every step; `steps[t]` is position t, as far as it was computed.

    Of a flow the steps are spans of time, and `timed` has what is to be said of times. `last` is the step that was
    asked for. `reason` says why there are fewer, where a limit was reached. `ended`: no
    path gets as far as this position. `coarse`: from this position on bounds come from the initial set alone, without
    following decisions, and `coarse_reason` says why.
    """

    of: tuple[str, ...]
    sorts: tuple[Sort, ...]
    steps: tuple[ReachedStep, ...]
    last: int
    reason: str | None = None
    ended: int | None = None
    coarse: int | None = None
    coarse_reason: str | None = None
    seconds: float = 0.0
    expressions: tuple[Expr, ...] = field(default=(), repr=False, compare=False)
    task: Any = field(default=None, repr=False, compare=False)
    timed: TimedReach | Any = field(default=None, repr=False, compare=False)  # None of what moves in steps

    @classmethod
    def unknown(cls, task: Any, asked: NamedExpressions, last: int) -> ReachableSets:
        """Of a task and named expressions, before anything is bounded."""
        nodes = tuple(node for _, node in asked)
        names, sorts = tuple(name for name, _ in asked), tuple(node.sort for node in nodes)
        return cls(names, sorts, (), last, expressions=nodes, task=task)

    def __repr__(self) -> str:
        if self.timed is not None:
            cut_short = "" if self.is_complete else f" of {self.timed.horizon:g}"
            return f"<ReachableSets of {', '.join(self.of)}: until time {self.timed.until:g}{cut_short}>"
        return f"<ReachableSets of {', '.join(self.of)}: steps 0 to {len(self.steps) - 1}{self._cut_short}>"

    @property
    def _cut_short(self) -> str:
        return "" if self.is_complete else f" of {self.last}"

    @property
    def is_complete(self) -> bool:
        """Whether no limit was reached: all steps are here, or all paths end before."""
        return self.reason is None

    def values(self, expression: str) -> list[ReachedValue]:
        """What one of the expressions can be, step by step."""
        if expression not in self.of:
            raise NameUnknown(f"{expression!r} was not asked for{nearest(expression, self.of)}")
        at = self.of.index(expression)
        return [step.values[at] for step in self.steps]

    def bounds(self, expression: str) -> BoundArrays:
        """The ends of a number, step by step: `lower, upper = sets.bounds("x")`."""
        values = self.values(expression)
        numbers = [value for value in values if isinstance(value, NumberBounds)]
        if len(numbers) < len(values):
            raise TypeClash(f"{expression!r} is no number; sets.values({expression!r}) has its labels")
        return BoundArrays(np.array([one.lower for one in numbers]), np.array([one.upper for one in numbers]))

    @property
    def spans(self) -> list[tuple[float, float]]:
        """From when to when each step is, in continuous time."""
        return [step.span for step in self.steps if step.span is not None]

    @property
    def polygons(self) -> list[tuple[Vertex, ...] | None]:
        """The polygon of every step, of two numbers."""
        return [step.polygon for step in self.steps]

    @property
    def unbounded(self) -> dict[str, int]:
        """The numbers that have no bound, with the first step at which they have none."""
        found: dict[str, int] = {}
        for t, step in enumerate(self.steps):
            for name, value in zip(self.of, step.values, strict=True):
                if isinstance(value, NumberBounds) and not value.is_finite:
                    found.setdefault(name, t)
        return found

    def plot(self, file: str | Path | None = None, *, runs: int = 30, **look: Any) -> Any:
        """Draw the sets with simulated runs over them; to a file by its suffix (pdf, svg, png) if one is named.

        Two numbers are drawn as polygons in a plane, anything else over the steps; `plane=False` draws two numbers over
        the steps, too. `limits` draws lines at values: `{"theta": [-0.05, 0.05]}`.
        """
        return hook("plot_sets")(self, file, runs=runs, **look)

    def save(self, file: str | Path) -> None:
        """Write the sets as JSON, as `vernal reach --json` does."""
        hook("write_sets")(self, file)

    def to_dataframe(self) -> Any:
        """One row for every step, as a data frame of pandas."""
        return hook("frame_sets")(self)

    def _repr_html_(self) -> str:
        return str(hook("show_sets")(self))
