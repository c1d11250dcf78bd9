"""The loop that cuts boxes until all of them are decided, with its limits.

One function decides: it takes boxes and says what of them stays open, with whatever the cut needs to know. Another one
cuts that. In between the loop looks whether it is worth it: boxes may be too many, rounds may pass in which none is
closed, or so much may be open still that cutting does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from typing import Generic, TypeVar

from vernal.model.tick import Tick, idle

Waiting = TypeVar("Waiting", bound=Sized)
StillOpen = TypeVar("StillOpen", bound=Sized)


class CuttingEnd(Enum):
    """Why boxes are cut no further."""

    DECIDED = auto()  # none is open
    STOPPED = auto()  # whoever decides has found what was looked for, or gives up
    IDLE = auto()  # too many rounds have closed too few
    VAIN = auto()  # more than half of the first boxes is open after many cuts
    MANY = auto()
    UNCUT = auto()  # nothing is left to cut
    ROUNDS = auto()


@dataclass(frozen=True)
class CuttingLimits:
    """How long boxes are cut; without numbers until all of them are decided."""

    rounds: float = inf
    most: float = inf  # boxes in a round
    patience: float = inf  # rounds in a row that close too few boxes
    share: float = 0.0  # of the boxes of a round: fewer are too few, and none always is
    trial: float = inf  # cuts after which half of the first boxes should be closed


NO_LIMITS = CuttingLimits()


@dataclass(frozen=True)
class CutBoxes(Generic[Waiting]):
    """Why a loop ended, and the boxes of its last round: those it would have decided next where rounds are over."""

    end: CuttingEnd
    boxes: Waiting


def cut_until_decided(
    boxes: Waiting,
    decide: Callable[[Waiting], StillOpen | None],
    cut: Callable[[StillOpen], Waiting | None],
    limits: CuttingLimits = NO_LIMITS,
    tick: Tick = idle,
) -> CutBoxes[Waiting]:
    """Decide boxes, cut those that stay open, decide the parts, and so on.

    `decide` gives None to end it, and `cut` gives None where nothing is left to cut.
    """
    first, rounds, unproductive, cuts = len(boxes), 0, 0, 0
    while rounds < limits.rounds:
        tick()
        rounds += 1
        left = decide(boxes)
        if left is None:
            return CutBoxes(CuttingEnd.STOPPED, boxes)
        if not len(left):
            return CutBoxes(CuttingEnd.DECIDED, boxes)
        closed = len(boxes) - len(left)
        unproductive = unproductive + 1 if closed < max(1, limits.share * len(boxes)) else 0
        if unproductive >= limits.patience:
            return CutBoxes(CuttingEnd.IDLE, boxes)
        if cuts >= limits.trial and 2 * len(left) > first << cuts:
            return CutBoxes(CuttingEnd.VAIN, boxes)
        if 2 * len(left) > limits.most:
            return CutBoxes(CuttingEnd.MANY, boxes)
        parts = cut(left)
        if parts is None:
            return CutBoxes(CuttingEnd.UNCUT, boxes)
        cuts += max(len(parts) // len(left), 1).bit_length() - 1
        boxes = parts
        if not len(boxes):
            return CutBoxes(CuttingEnd.DECIDED, boxes)
    return CutBoxes(CuttingEnd.ROUNDS, boxes)
