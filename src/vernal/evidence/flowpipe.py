"""Flowpipes: sets that contain all trajectories, one for each span of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vernal.evidence.trace import Trace
from vernal.model.hooks import hook
from vernal.model.portable import STAYS, ArrayData

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def no_starts() -> NDArray[np.float64]:
    """No boxes."""
    import numpy as np

    return np.empty((0, 2, 0))


@dataclass(frozen=True, eq=False)
class Flowpipe(ArrayData):
    """Segments: at every time t of times[k] that a trajectory reaches inside the region, it is in the union of those
    segments whose span contains t, where segment k is {x : lower[k] <= directions x <= upper[k]}.

    The first rows of `directions` are the axes, so that the first columns of `lower` and `upper` are boxes. `starts`
    has the lower and the upper ends of boxes that cover the initial states in the region, each followed by itself; none
    where nobody said so.
    """

    variables: tuple[str, ...]
    directions: NDArray[np.float64]  # (d, n)
    times: NDArray[np.float64]  # (segments, 2), ends included, rounded outward
    lower: NDArray[np.float64]  # (segments, d)
    upper: NDArray[np.float64]  # (segments, d)
    locations: NDArray[np.int64]  # of an automaton, for each segment; -1 where there is none
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

    def part(self, chosen: NDArray[np.bool_]) -> Flowpipe:
        """Some of the segments; what the whole tells of time it may not."""
        rows = (self.times[chosen], self.lower[chosen], self.upper[chosen], self.locations[chosen])
        return Flowpipe(self.variables, self.directions, *rows, self.inside_until, self.until, self.starts)

    def plot(self, file: str | Path | None = None, *, of: Sequence[str] | None = None) -> Any:
        """Draw it as a phase portrait of its flow; to a file if one is named. `of` names two variables."""
        return hook("plot_flowpipe")(self, file, of=of)


def joined(pipes: Sequence[Flowpipe]) -> Flowpipe | None:
    """One flowpipe of several; all have the directions of the one that has the fewest."""
    import numpy as np  # loaded by whoever made them

    if not pipes:
        return None
    fewest = min((found.directions for found in pipes), key=len)
    return Flowpipe(
        pipes[0].variables,
        fewest,
        np.concatenate([found.times for found in pipes]),
        np.concatenate([found.lower[:, : len(fewest)] for found in pipes]),
        np.concatenate([found.upper[:, : len(fewest)] for found in pipes]),
        np.concatenate([found.locations for found in pipes]),
        min(found.inside_until for found in pipes),
        min(found.until for found in pipes),
        np.concatenate([found.starts for found in pipes]),
    )
