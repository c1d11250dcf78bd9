"""Recurrent sets: boxes of states to which all trajectories come, and to which they come back again and again.

A claim `G p` without an end is true of all trajectories if p is true on their way into the boxes, and from any of the
boxes until they are back in one. Replay follows them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from vernal.evidence.trace import Trace
from vernal.model.hooks import hook
from vernal.model.portable import ArrayData

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RecurrentSet(ArrayData):
    """All trajectories are in the union of the boxes `arrival` seconds after they began, and from any state of the
    boxes they are in it again `period` seconds later, inside the region all the way.

    The variables are the state, and of a loop that samples besides what decides its future at an instant at which all
    agents are about to read: actions that a delay keeps in force, and memories.

    Where a variable is the `section`, it has one value in the only box, and all trajectories pass the box within
    `arrival` seconds, and from any state of it again within `period` seconds.
    """

    variables: tuple[str, ...]
    arrival: Fraction
    period: Fraction
    boxes: NDArray[np.float64]  # (boxes, 2, variables): lower and upper ends
    section: str | None = None

    @property
    def kind(self) -> Literal["recurrence"]:
        """Which kind of evidence this is."""
        return "recurrence"

    @property
    def path(self) -> Trace | None:
        """It shows no path."""
        return None

    def plot(self, file: str | Path | None = None, *, of: tuple[str, str] | None = None) -> Any:
        """Draw the boxes over two variables."""
        return hook("plot_recurrence")(self, file, of=of)
