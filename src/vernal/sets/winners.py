"""Winners that are not asked for in every round.

Where bounds leave a box open, the scores of late steps mostly range so far that any action may win. Of the halves of
such boxes nothing more would be learnt, and bounding the networks of late steps is most of the work of a round. With
every cut the scores come nearer to excluding a winner by a small part of their range; what lacks more than that in
most boxes is put off, and each box keeps the winners of the box that it was cut from, which hold in every part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.expr import Argmax
from vernal.sets.pieces.batches import Indices

GAIN_PER_CUT = 0.6  # of the range of a difference of scores: a cut halves what one component adds to it, and some error
LARGEST_LACK = 0.5  # where either of two scores may be as far ahead as the other
MAX_WAITING_SHARE = 0.25  # of the boxes: so many may have to wait although asking might settle something there


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What boxes know of the winner of one argmax."""

    possible: Mask  # (boxes, labels)
    lack: Floats  # (boxes,): see `interpret.linear.score_gaps`; less what cuts may have brought since it was asked

    @property
    def is_open(self) -> bool:
        return bool((self.possible.sum(axis=1) > 1).any())

    @property
    def is_hopeless(self) -> bool:
        """Whether asking now would settle next to nothing, as far as is known."""
        return bool(np.mean(self.lack <= 0) <= MAX_WAITING_SHARE)

    def of_parts(self, wholes: Indices, gain: float) -> Doubt:
        """What is known of parts of the boxes, after cuts that may have brought so much."""
        return Doubt(self.possible[wholes], self.lack[wholes] - gain)


class OpenWinners:
    """What the boxes of a round know of winners, in the order in which steps decide them."""

    def __init__(self, dimensions: int) -> None:
        """`dimensions`: how many components of the start are cut; with one or two a cut may settle anything."""
        self.gain_per_cut = GAIN_PER_CUT / dimensions if dimensions > 2 else LARGEST_LACK
        self.doubts: dict[Argmax, Doubt] = {}

    def put_off(self) -> dict[Argmax, Mask]:
        """The winners not to be asked for in this round, with what is possible; the first open one is always asked."""
        first = next((node for node, doubt in self.doubts.items() if doubt.is_open), None)
        return {node: doubt.possible for node, doubt in self.doubts.items() if node is not first and doubt.is_hopeless}

    def follow(self, ask: Callable[[], Mapping[Argmax, Doubt]], rows: Sequence[int], wholes: Sequence[int]) -> None:
        """Go on to the parts of open boxes: part i was cut from box rows[wholes[i]].

        `ask` says what all boxes know of the winners that were asked for. After cuts that may have settled anything
        it is not called, and everything will be asked again.
        """
        origin = np.array(rows, dtype=np.intp)[np.array(wholes, dtype=np.intp)]
        gain = self.gain_per_cut * np.log2(max(1.0, len(wholes) / len(rows)))
        known = {**self.doubts, **ask()} if gain < LARGEST_LACK else {}
        self.doubts = {node: doubt.of_parts(origin, gain) for node, doubt in known.items()}
