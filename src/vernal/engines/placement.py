"""Whether a card is worth it: its launches cost the same however little there is to compute."""

from __future__ import annotations

from dataclasses import replace

from vernal.interpret.numbers.device import Device, find_device
from vernal.logic.question import Question
from vernal.model.expr import Affine
from vernal.model.graph import order

MIN_BOXES_ON_CARD = 512  # boxes, however large the networks are
MIN_WORK_ON_CARD = 2_000_000  # weights times boxes from which on a card is faster than a core; measured on an H200


def device_for(name: str, question: Question) -> Device | None:
    """The device of this name, with the smallest batch of the question that should go there; None for the processor."""
    device = find_device(name)
    return None if device is None else replace(device, smallest=smallest_batch(weights(question)))


def weights(question: Question) -> int:
    """The weights of all networks in a step and in what is claimed."""
    step = question.model.step
    nodes = order([*step.next_state, *step.next_memory, *step.lets.values(), *question.claim.atoms])
    return sum(node.weight.array.size for node in nodes if isinstance(node, Affine))


def smallest_batch(count: int) -> int:
    """How many boxes a batch must have, for so many weights."""
    return max(MIN_BOXES_ON_CARD, MIN_WORK_ON_CARD // max(1, count))
