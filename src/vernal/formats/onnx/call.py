"""One ONNX node at work: its attributes and inputs, checked, for the operators of `ops`.

A constant is a numpy array until it meets data. Data is a flat vector expression with a shape beside it: whatever only
moves components around (reshape, transpose, slice, gather, concat) is done to an array of indices. The batch dimension
is there, of size 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, prod

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.layers import check_width, constant, pick
from vernal.formats.limits import Allowance
from vernal.formats.recurrent import Slots
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr

MAX_DENSE_ENTRIES = 2**22  # entries of a matrix that is written out with its zeros; larger ones are cut into blocks


@dataclass(frozen=True, slots=True)
class Tensor:
    """Data: a vector expression, and the shape its components are arranged in (row by row)."""

    expr: Expr
    shape: tuple[int, ...]


OnnxValue = Tensor | Array


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A node with its inputs' values; `last` says that its output is the network's and that nothing else reads it.

    `slots` is what the recurrent operators of the graph remember by themselves; None where the graph takes its memory
    as inputs.
    """

    op: str
    name: str
    opset: int
    attributes: Mapping[str, object]
    inputs: tuple[OnnxValue | None, ...]
    outputs: int = 1
    last: bool = False
    allowance: Allowance = field(default_factory=Allowance)
    slots: Slots | None = None

    def __str__(self) -> str:
        return f"node {self.name!r} ({self.op})"

    def wrong(self, problem: str) -> FormatError:
        return FormatError(f"{self} {problem}")

    def unsupported(self, problem: str) -> UnsupportedOperator:
        return UnsupportedOperator(f"{self} {problem}")

    # Attributes -------------------------------------------------------------------------------------------------------

    def real(self, name: str, default: float) -> float:
        """A number attribute; ONNX keeps these as float32, the defaults too."""
        value = self.attributes.get(name, float(np.float32(default)))
        if not isinstance(value, float) or not isfinite(value):
            raise self.wrong(f"wants a finite number as its attribute {name!r}")
        return value

    def rational(self, name: str, default: float) -> Fraction:
        return Fraction(self.real(name, default))

    def integer(self, name: str, default: int) -> int:
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise self.wrong(f"wants an integer as its attribute {name!r}")
        return value

    def integers(self, name: str, position: int, since: int) -> list[int] | None:
        """A list that became an input in opset `since` and was an attribute before; None where it is absent."""
        if self.opset >= since:
            value = self.input(position)
            return None if value is None else self._whole(value, f"input {position}")
        listed = self.attributes.get(name)
        if listed is not None and not (isinstance(listed, list) and all(isinstance(item, int) for item in listed)):
            raise self.wrong(f"wants integers as its attribute {name!r}")
        return listed

    # Inputs -----------------------------------------------------------------------------------------------------------

    def input(self, position: int) -> OnnxValue | None:
        return self.inputs[position] if position < len(self.inputs) else None

    def value(self, position: int = 0) -> OnnxValue:
        """An input that has to be there."""
        value = self.input(position)
        if value is None:
            raise self.wrong(f"has no input {position}")
        return value

    def data(self, position: int = 0) -> Tensor:
        """An input as data; a constant becomes a constant vector."""
        return self.as_data(self.value(position))

    def as_data(self, value: OnnxValue) -> Tensor:
        """A value as data; a constant becomes a constant vector."""
        if isinstance(value, Tensor):
            return value
        if check_width(value.shape) == 0:
            raise self.wrong("has an empty input")
        if value.dtype == bool:
            return Tensor(build.compare("!=", build.concat(constant(value)), 0), value.shape)
        return Tensor(build.concat(constant(value)), value.shape)

    def operand(self, value: OnnxValue) -> Expr:
        """A value as a node; a constant of one entry as a scalar, which goes with data of any size."""
        is_number = not isinstance(value, Tensor) and value.size == 1 and value.dtype != bool
        return constant(value) if is_number and not isinstance(value, Tensor) else self.as_data(value).expr

    def constant(self, position: int) -> Array:
        """An input that has to be constant."""
        value = self.value(position)
        if isinstance(value, Tensor):
            raise self.unsupported(f"computes its input {position} from data; Vernal needs a constant there")
        return value

    def weights(self, position: int) -> Array:
        """A constant of doubles."""
        value = self.constant(position)
        if value.dtype.kind != "f" or value.size == 0:
            raise self.wrong(f"has weights at input {position} that doubles cannot hold exactly")
        return value

    def matrix(self, value: Array) -> Array:
        """A constant of real numbers, which need not be doubles."""
        if value.dtype.kind not in "fO" or value.size == 0:
            raise self.wrong("multiplies by a constant that is empty or not of real numbers")
        return value

    def whole(self, position: int) -> list[int]:
        """A constant list of integers."""
        return self._whole(self.value(position), f"input {position}")

    def _whole(self, value: OnnxValue, what: str) -> list[int]:
        if isinstance(value, Tensor):
            raise self.unsupported(f"computes its {what} from data; Vernal needs a constant there")
        if value.dtype != np.int64 or value.ndim > 1:
            raise self.wrong(f"wants a list of integers as its {what}")
        return [int(item) for item in value.ravel()]

    # Shapes -----------------------------------------------------------------------------------------------------------

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= axis < rank:
            raise self.wrong(f"names axis {axis} of a tensor of rank {rank}")
        return axis % rank

    def rearrange(self, value: OnnxValue, change: Callable[[Array], Array], size: int | None = None) -> OnnxValue:
        """Components moved around by a numpy function; `size` is how many come out, where that differs."""
        self.allowance.take(value_size(value) if size is None else size)
        if not isinstance(value, Tensor):
            return change(value)
        if size is not None:
            check_width((size,))
        index = change(np.arange(prod(value.shape)).reshape(value.shape))
        if index.size == 0:
            raise self.wrong("leaves nothing of its input")
        return Tensor(pick(value.expr, index), index.shape)

    def broadcast(self, values: Sequence[OnnxValue]) -> tuple[tuple[int, ...], list[OnnxValue]]:
        """The values stretched to their common shape; a constant of one entry stays as it is."""
        try:
            shape = np.broadcast_shapes(*(value.shape for value in values))
        except ValueError:
            raise self.wrong(f"combines shapes {[value.shape for value in values]}, which do not fit") from None
        size = check_width(shape)

        def stretch(value: OnnxValue) -> OnnxValue:
            if value.shape == shape or (not isinstance(value, Tensor) and value.size == 1):
                return value
            return self.rearrange(value, lambda array: np.broadcast_to(array, shape), size)

        return shape, [stretch(value) for value in values]


def value_size(value: OnnxValue) -> int:
    return prod(value.shape)
