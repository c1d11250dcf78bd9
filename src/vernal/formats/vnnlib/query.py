"""A network query as data: tensors, and polynomial constraints on their elements.

The elements of input and output are numbered in the order of their declaration, row by row; a constraint knows them by
number. `satisfied` reads the query as written, at one point, in rationals: whatever was done to find a point, this is
what it has to pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from vernal.formats.vnnlib.operands import ZERO, Polynomial
from vernal.model.build import COMPARISONS
from vernal.model.lazy import cached_property


@dataclass(frozen=True, slots=True)
class PolynomialComparison:
    """`term op 0`, with op one of `<`, `<=`, `==` and `!=`."""

    op: str
    term: Polynomial

    def holds(self, point: Sequence[Fraction]) -> bool:
        return COMPARISONS[self.op](self.term.value(point), ZERO)


@dataclass(frozen=True, slots=True)
class ConstraintJunction:
    """All of the arguments (`and`), or at least one of them (`or`)."""

    op: str
    args: tuple[Constraint, ...]


Constraint = PolynomialComparison | ConstraintJunction


@dataclass(frozen=True, slots=True)
class DeclaredTensor:
    """A declared input or output; `shape` is None in VNN-LIB 1, where every element has a name of its own."""

    name: str
    size: int
    shape: tuple[int, ...] | None = None
    sort: str = "Real"  # as written
    onnx: str | None = None  # the name of the node it stands for, where one is given

    def elements(self) -> list[str]:
        """How its elements are written, row by row."""
        if self.shape is None:
            return [f"{self.name}_{index}" for index in range(self.size)]
        if not self.shape:
            return [self.name]
        places = product(*(range(size) for size in self.shape))
        return [f"{self.name}[{','.join(map(str, place))}]" for place in places]


def tensor(name: str, shape: tuple[int, ...], sort: str, onnx: str | None = None) -> DeclaredTensor:
    return DeclaredTensor(name, prod(shape), shape, sort, onnx)


@dataclass(frozen=True)
class Query:
    """Is there an input for which the network's output satisfies all of the assertions?"""

    version: str  # "1" or "2.0"
    network: str | None  # the declared name; VNN-LIB 1 has none
    input: DeclaredTensor
    output: DeclaredTensor
    assertions: tuple[Constraint, ...]
    file: str | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.input.elements(), *self.output.elements())

    def satisfied(self, point: Sequence[Fraction]) -> bool:
        """Whether these values of all elements satisfy every assertion."""
        return all(_holds(assertion, point) for assertion in self.assertions)


def _holds(root: Constraint, point: Sequence[Fraction]) -> bool:
    """The truth of a constraint, without recursion: operands are judged before what they belong to."""
    truths: list[bool] = []
    waiting: list[tuple[Constraint, bool]] = [(root, False)]
    while waiting:
        node, judged = waiting.pop()
        if isinstance(node, PolynomialComparison):
            truths.append(node.holds(point))
        elif not judged:
            waiting.append((node, True))
            waiting.extend((arg, False) for arg in node.args)
        else:
            count = len(node.args)
            own = truths[len(truths) - count :]
            del truths[len(truths) - count :]
            truths.append(all(own) if node.op == "and" else any(own))
    return truths[0]


def comparisons(root: Constraint) -> list[PolynomialComparison]:
    """All comparisons of a constraint."""
    found: list[PolynomialComparison] = []
    waiting: list[Constraint] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, PolynomialComparison):
            found.append(node)
        else:
            waiting.extend(node.args)
    return found
