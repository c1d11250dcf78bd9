"""Linear bounds on a card, asked for and answered in numpy arrays, so that engines need not know where they come from.

`bounds_over` is where engines get their bounds from: on the processor, or for a large batch on the card in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from vernal.interpret.linear.bounds import NOTHING_KNOWN, InputBox, Linear, LinearBounds
from vernal.interpret.linear.forms import Form
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.linear.rows import Seeds
from vernal.interpret.numbers.device import Device, current, free_numbers
from vernal.interpret.numbers.memory_room import numbers_at_once
from vernal.interpret.numbers.rounding import Array, torch_tensor
from vernal.interpret.value_sets import Finite, Range, Value, first_array
from vernal.model.expr import Argmax, Expr
from vernal.model.tick import Tick, idle

ARRAYS_OF_A_BOX = 64  # of its numbers: ranges, sizes, forms, relaxations, and rows on their way
MAX_BOXES_AT_ONCE = 1 << 18  # boxes: more are no faster
MIN_BOXES_AT_ONCE = 128  # boxes, however many steps there are: about as many as a core bounds while a card is told to

Arrays = TypeVar("Arrays", bound=Value | LinearBounds | Form)


def bounds_over(
    box: InputBox,
    method: type[Linear] = Linear,
    *,
    tick: Tick = idle,
    batch: int = 1,
    known: Mapping[Expr, Value] = NOTHING_KNOWN,
    steps: int = 1,
) -> Linear:
    """Bounds over a batch of boxes, on the card in use if there is one and the batch is worth it.

    `steps`: how many steps of a loop will be asked about, each of which is work for every box.
    """
    device = current()
    boxes = max([batch, *(first_array(value).shape[0] for value in box.values())])
    if device is None or method is Plain or not box or boxes < worthwhile(device, steps):
        return method(box, tick=tick, batch=batch, known=known)
    return Placed(box, device, tick=tick, batch=batch, known=known)


def worthwhile(device: Device, steps: int) -> int:
    """How many boxes are worth the launches of so many steps."""
    return max(min(device.smallest, MIN_BOXES_AT_ONCE), device.smallest // max(1, steps))


def batch_sizes(first: int, most: int, numbers: int) -> tuple[int, int]:
    """With how many boxes a search begins, and how many it bounds at once.

    On a card as many as are worth it, and as many as its free memory holds with so many numbers for each; elsewhere no
    more than a limit of memory leaves room for.
    """
    device = current()
    if device is None or device.smallest > most:
        own = ARRAYS_OF_A_BOX * max(1, numbers)
        fits = max(1, numbers_at_once(most * own) // own)
        return min(first, fits), min(most, fits)
    fits = free_numbers(device.name) // (ARRAYS_OF_A_BOX * numbers)
    return max(first, device.smallest), max(most, min(fits, MAX_BOXES_AT_ONCE))


class Placed(Linear):
    """`Linear` on a card; what goes in and what comes out are numpy arrays."""

    def __init__(
        self,
        box: InputBox,
        device: Device,
        *,
        tick: Tick = idle,
        batch: int = 1,
        known: Mapping[Expr, Value] = NOTHING_KNOWN,
    ) -> None:
        self.device = device
        given, ranges = ({node: self._there(value) for node, value in part.items()} for part in (box, known))
        super().__init__(given, tick=tick, batch=batch, known=ranges)

    def assume(self, node: Expr, form: Form) -> None:
        """Take the form of a node over the inputs as known."""
        super().assume(node, self._there(form))

    def suppose(self, node: Argmax, possible: Array) -> None:
        """Take the winners that are possible as known."""
        super().suppose(node, self.device.put(possible))

    def lack(self, node: Argmax, index: Array) -> Array:
        """How far the boxes of the index are from having one winner less."""
        return at_home(super().lack(node, self.device.put(index)))

    def value(self, node: Expr) -> Value:
        """The set of values a node can have."""
        return home(super().value(node))

    def range(self, node: Expr) -> Range:
        """The tightest range of a number."""
        return home(super().range(node))

    def margin(self, atom: Expr) -> Range:
        """The range of right - left for a comparison."""
        return home(super().margin(atom))

    def form(self, node: Expr) -> LinearBounds:
        """Linear bounds of a number over the inputs."""
        return home(super().form(node))

    def slopes(self, node: Expr, index: Array | None = None) -> Array:
        """The middle of the slopes of a number's linear bounds."""
        return at_home(super().slopes(node, None if index is None else self.device.put(index)))

    def rows(self, seeds: Seeds, constants: Array) -> tuple[Array, Array]:
        """Sums of rows times nodes that are known."""
        moved = {node: self.device.put(L) for node, L in seeds.items()}
        slopes, low = super().rows(moved, self.device.put(constants))
        return at_home(slopes), at_home(low)

    def computed(self, node: Expr) -> Value | None:
        """The set of values of a node as far as it has been computed."""
        found = super().computed(node)
        return None if found is None else home(found)

    def exact(self, node: Expr) -> Form | None:
        """The form of a node that is affine in every box."""
        found = super().exact(node)
        return None if found is None else home(found)

    @property
    def box(self) -> Range:
        """The ranges of the inputs."""
        return home(super().box)

    def _there(self, value: Any) -> Any:
        """A value, form or pair of ends with its arrays on the card."""
        if not is_dataclass(value):
            return tuple(self.device.put(end) for end in value)
        return _rebuilt(value, self.device.put)


def home(value: Arrays) -> Arrays:
    """A value or form with its arrays as numpy's."""
    moved: Arrays = _rebuilt(value, at_home)
    return moved


def at_home(array: Array) -> Array:
    """A tensor as an array of numpy."""
    return np.asarray(torch_tensor(array).cpu())


def _rebuilt(value: Any, move: Any) -> Any:
    """The same with all arrays moved; names of inputs and values of finite sets stay."""
    if isinstance(value, Finite):
        return Finite(move(value.mask), value.values)
    parts = {entry.name: getattr(value, entry.name) for entry in fields(value)}
    kept = (type(None), tuple)
    return type(value)(**{name: part if isinstance(part, kept) else move(part) for name, part in parts.items()})
