"""Traces: what happened, step by step, in exact numbers (or, where a function has no rational value, enclosures)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from vernal.model.hooks import hook
from vernal.model.numbers import nearest, rounded
from vernal.model.portable import STAYS, Portable

if TYPE_CHECKING:
    from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number known to lie between two rationals."""

    lower: Fraction
    upper: Fraction

    @property
    def middle(self) -> Fraction:
        return (self.lower + self.upper) / 2

    def __float__(self) -> float:
        """The middle, for tables and pictures; a proof needs both ends."""
        return nearest(self.middle)

    def __repr__(self) -> str:
        return f"<Enclosure of {float(self):g}, at most {nearest((self.upper - self.lower) / 2):.1g} away>"


TraceNumber = Fraction | Enclosure
TraceValue = (
    TraceNumber | tuple[TraceNumber, ...]
)  # a scalar (truth values 0 and 1, enum values as indices) or a vector


def components(value: TraceValue) -> tuple[TraceNumber, ...]:
    """The numbers of a vector; of a scalar, itself."""
    return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which option of a `choose` was taken, and its value."""

    index: int
    value: TraceValue


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Position t of a path: state, memories, actions, and the draws that lead to t + 1 (none at the last position).

    Values are each a `TraceValue`. Their type is left open: whoever asks for one knows whether it is a number or a
    vector, and whether it is rational.
    """

    state: Mapping[str, Any]
    actions: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    disturbances: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace(Portable):
    """A path of the system, or a lasso where `loop` says which position the last one returns to.

    `complete` is true for a maximal finite path: the system is not enabled at the last position. A trajectory of a flow
    has the times of its steps, the first of them 0; between two of them the disturbances of the former are constant.
    """

    steps: tuple[TraceStep, ...]
    loop: int | None = None
    complete: bool = False
    system: Any = field(default=None, repr=False, compare=False)  # or the flow
    times: tuple[Fraction, ...] | None = None
    about: Any = field(default=None, repr=False, compare=False, metadata=STAYS)  # the result it is evidence for

    plotter: ClassVar[Callable[..., Any] | None] = None  # drawing lives downstream; the package plugs it in

    def plot(
        self,
        file: str | Path | None = None,
        limits: Mapping[str, float | Iterable[float]] | None = None,
        *,
        of: str | Expr | Sequence[str | Expr] | None = None,
        plane: bool = False,
    ) -> Any:
        """Draw the trace; to a file if one is named, with lines at limits: `{"theta": [-0.05, 0.05]}`.

        `of` are the expressions to draw; `plane` draws two of them against each other; without `limits` those of the
        formula that the trace is about are drawn.
        """
        if Trace.plotter is None:
            raise RuntimeError("import vernal to plot traces")
        return Trace.plotter(self, file, limits, of=of, plane=plane)

    def save(self, file: str | Path) -> None:
        """Write the trace, as `vernal check --trace` does, to a file that `vn.replay` checks again."""
        hook("save_trace")(self, file)

    def _repr_html_(self) -> str:
        return str(hook("show_trace")(self))

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        if self.times is not None:
            return f"<Trace of a trajectory until time {rounded(self.times[-1])}>"
        returns = "" if self.loop is None else f", returning to {self.loop}"
        return f"<Trace of {len(self.steps)} positions{returns}>"

    @property
    def kind(self) -> Literal["trace", "lasso"]:
        """Which kind of evidence this is."""
        return "trace" if self.loop is None else "lasso"

    @property
    def path(self) -> Trace:
        """The path the evidence shows: this one."""
        return self
