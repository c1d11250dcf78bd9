"""Up to how many open neurons a box is finished by cutting these instead of inputs: measured, on the same boxes.

Where inputs are cut, the last boxes are those near a margin of zero, and halves of them hardly have better bounds. If
few neurons are open there, their phases leave linear programs, which are exact; but each costs as much as a good many
boxes. So once in a while some of the hardest boxes are worked off for a moment in both ways, and the better one goes
on. What the other one did is lost, but for its counterexamples; trials have a small share of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vernal.sets.core.open_boxes import Domains
from vernal.sets.pieces.batches import Indices

FIRST_TRIAL = 0.25  # seconds of a search, and each trial is due when the time has doubled since the last
SHARE_OF_TRIAL, LEAST_TRIAL = 0.05, 0.08  # of the time so far, and seconds: for each of the two ways
MAX_SAMPLE = 32  # boxes
CLEARLY = 0.5  # what is left, or the time, is less than so much of what it is the other way


@dataclass(frozen=True, eq=False)
class Drained:
    """What is left of some boxes after a while, and the seconds it took."""

    stack: list[Domains]
    at_zero: list[Domains]
    seconds: float

    @property
    def share(self) -> float:
        """How much of the whole is still open."""
        return float(sum(part.part.sum() for part in (*self.stack, *self.at_zero)))

    def is_clearly_better(self, other: Drained) -> bool:
        """Whether less than half is left of what the other one left; where both left nothing, in half the time."""
        if not self.share and not other.share:
            return self.seconds < CLEARLY * other.seconds
        return self.share < CLEARLY * other.share


class TrialSearch(Protocol):
    """The search that is finished by neurons: what a trial needs of it."""

    def hardest(self, boxes: int) -> Domains:
        """Take so many boxes off the stack."""

    def open_neurons(self, boxes: Domains) -> Indices:
        """How many neurons of each may still be cut."""

    def drain(self, boxes: Domains, most: int, seconds: float) -> Drained:
        """Work some boxes off alone, those with up to so many open neurons by cutting these."""

    def put_back(self, left: Drained) -> None:
        """Go on with what is left of them."""


class Finishing:
    """How many open neurons a box may have to be finished by cutting them."""

    def __init__(self, inputs: int) -> None:
        """To begin with, a box is finished by neurons if these are no more than its inputs."""
        self.most = inputs
        self._next = FIRST_TRIAL

    def is_due(self, spent: float) -> bool:
        """Whether it is time for a trial."""
        return spent >= self._next

    def try_both(self, search: TrialSearch, spent: float) -> None:
        """Work off the same boxes in both ways; those with the fewest open neurons, since neurons pay there first."""
        self._next = 2.0 * spent
        sample = search.hardest(MAX_SAMPLE)
        counts = search.open_neurons(sample)
        most = int(np.median(counts[counts > 0])) if (counts > 0).any() else 0
        rest = sample.rows(counts > most)
        if len(rest):
            search.put_back(Drained([rest], [], 0.0))
        sample = sample.rows(counts <= most)
        if not len(sample):
            return
        seconds = max(LEAST_TRIAL, SHARE_OF_TRIAL * spent)
        by_neurons = search.drain(sample, most, seconds)
        by_inputs = search.drain(sample, 0, seconds)
        if by_neurons.is_clearly_better(by_inputs):
            self.most = max(self.most, most)
            search.put_back(by_neurons)
        else:
            self.most = min(self.most, max(0, int(counts.min()) - 1))
            search.put_back(by_inputs)
