"""Whether a card is worth it: its launches cost the same however little there is to compute."""

from __future__ import annotations

from dataclasses import replace

from vernal.interpret.numbers.device import Device, find_device
from vernal.model.expr import Affine
from vernal.model.graph import order
from vernal.model.system import System

FEWEST = 512  # boxes, however large the networks are
WORTH = 2_000_000  # weights times boxes from which on a card is faster than a core; measured on an H200


def device_for(name: str, system: System) -> Device | None:
    """The device of this name, with the smallest batch of this system that should go there; None for the processor."""
    device = find_device(name)
    return None if device is None else replace(device, smallest=smallest_batch(weights(system)))


def weights(system: System) -> int:
    """The weights of all networks in a step."""
    step = system.step
    nodes = order([*step.next_state, *step.next_memory, *step.lets.values()])
    return sum(node.weight.array.size for node in nodes if isinstance(node, Affine))


def smallest_batch(count: int) -> int:
    """How many boxes a batch must have, for so many weights."""
    return max(FEWEST, WORTH // max(1, count))
