"""Flowpipes: sets that contain all trajectories, one for each span of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vernal.evidence.trace import Trace
from vernal.model.hooks import hook
from vernal.model.portable import STAYS, ArrayData

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vernal.interpret.geometry.template_sets import TemplateSets


def no_starts() -> NDArray[np.float64]:
    """No boxes."""
    import numpy as np

    return np.empty((0, 2, 0))


@dataclass(frozen=True, eq=False)
class Flowpipe(ArrayData):
    """Segments: at every time t of times[k] that a trajectory reaches inside the region, it is in the union of those
    segments whose span contains t, where segment k is {x : lower[k] <= directions x <= upper[k]}.

    The first rows of `directions` are the axes, so that the first columns of `lower` and `upper` are boxes. The label
    of a segment, if it has one, is the location of an automaton, or -1; its trail is the number of the box it is from.
    `starts` has the lower and the upper ends of boxes that cover the initial states in the region, each followed by
    itself; none where nobody said so.
    """

    variables: tuple[str, ...]
    sets: TemplateSets  # a set for each segment
    times: NDArray[np.float64]  # (segments, 2), ends included, rounded outward
    inside_until: float  # until when all trajectories are inside the region, ends of the span included
    until: float  # the time up to which the segments tell everything
    starts: NDArray[np.float64] = field(default_factory=lambda: no_starts())  # (boxes, 2, n): parts of the initial set
    about: Any = field(default=None, repr=False, compare=False, metadata=STAYS)  # the result it is evidence for

    @property
    def kind(self) -> Literal["flowpipe"]:
        """Which kind of evidence this is."""
        return "flowpipe"

    @property
    def path(self) -> Trace | None:
        """It shows no path."""
        return None

    @property
    def directions(self) -> NDArray[np.float64]:
        """Along which segments have bounds: (d, n)."""
        return self.sets.template.rows

    @property
    def lower(self) -> NDArray[np.float64]:
        """The lower bounds of each segment: (segments, d)."""
        return self.sets.lower

    @property
    def upper(self) -> NDArray[np.float64]:
        """The upper bounds of each segment: (segments, d)."""
        return self.sets.upper

    def part(self, chosen: NDArray[np.bool_]) -> Flowpipe:
        """Some of the segments; what the whole tells of time it may not."""
        return replace(self, sets=self.sets.rows(chosen), times=self.times[chosen], about=None)

    def plot(self, file: str | Path | None = None, *, of: Sequence[str] | None = None) -> Any:
        """Draw it as a phase portrait of its flow; to a file if one is named. `of` names two variables."""
        return hook("plot_flowpipe")(self, file, of=of)


def joined(pipes: Sequence[Flowpipe]) -> Flowpipe | None:
    """One flowpipe of several; all have the directions of the one that has the fewest."""
    import numpy as np  # loaded by whoever made them

    from vernal.interpret.geometry.template_sets import joined as joined_sets

    if not pipes:
        return None
    template = min((found.sets.template for found in pipes), key=lambda one: len(one.rows))
    return Flowpipe(
        pipes[0].variables,
        joined_sets([found.sets.measured(template, labels=1) for found in pipes]),
        np.concatenate([found.times for found in pipes]),
        min(found.inside_until for found in pipes),
        min(found.until for found in pipes),
        np.concatenate([found.starts for found in pipes]),
    )
