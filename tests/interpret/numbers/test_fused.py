"""Fused functions against the same functions on numpy: what a kernel computes is equal, bit by bit, but for sums."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.hosted import hosted_kernels, needs_compiler
from vernal.interpret import interval
from vernal.interpret.linear.curves import lines
from vernal.interpret.numbers.kernel_launch import Kernels
from vernal.interpret.numbers.kernel_trace import Traced, trace
from vernal.interpret.numbers.rounding import Array, Backend, Floats, torch_tensor
from vernal.interpret.value_sets import Range
from vernal.model.expr import Function

pytestmark = [pytest.mark.torch, needs_compiler]

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, 2.0, 1e300, 1e-310, 0.5])
POWERS = [Fraction(n) for n in (2, 3, 4, -1, -2, -3)]
NAMES: list[Function | Fraction] = [*Function, *POWERS]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return hosted_kernels(tmp_path_factory.mktemp("kernels"))


def on_tensors(kernels: Kernels) -> Backend:
    import torch

    like: Any = torch.zeros(1, dtype=torch.float64)
    return Backend(like, kernels)


def tensors(x: Range) -> Range:
    import torch

    ends: list[Any] = [torch.asarray(end) for end in (x.lower, x.upper)]
    return Range(*ends)


def intervals(rng: np.random.Generator, width: float = 1.0, special: float = 0.1) -> Range:
    """Intervals of all kinds: points, half-lines, zeros, numbers that overflow when squared."""
    shape = (1000, 3)
    ends = [rng.normal(scale=3, size=shape)]
    ends.append(ends[0] + width * abs(rng.normal(size=shape)) * (rng.random(shape) > 0.3))
    ends = [np.where(rng.random(shape) < special, rng.choice(SPECIAL, shape), end) for end in ends]
    return Range(np.minimum(*ends), np.maximum(*ends))


def same(a: Array, b: Array) -> bool:
    other: Floats = np.asarray(torch_tensor(b))
    return a.shape == other.shape and bool(((a == other) | (np.isnan(a) & np.isnan(other))).all())


OPERATIONS: dict[str, Callable[[Backend, Range, Range], Range]] = {
    "add": interval.add,
    "multiply": interval.multiply,
    "divide": interval.divide,
    "angle": interval.angle,
    **{f"power {n}": lambda backend, x, _, n=n: interval.power(backend, x, n) for n in POWERS},  # type: ignore[misc]
    **{f.value: lambda backend, x, _, f=f: interval.elementary(backend, x, f) for f in Function},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_intervals_are_equal_bit_by_bit(name: str, kernels: Kernels) -> None:
    rng = np.random.default_rng(len(name))
    x, y = intervals(rng), intervals(rng)
    with np.errstate(all="ignore"):
        here = OPERATIONS[name](Backend(), x, y)
    there = OPERATIONS[name](on_tensors(kernels), tensors(x), tensors(y))
    assert same(here.lower, there.lower)
    assert same(here.upper, there.upper)


@pytest.mark.parametrize("name", NAMES, ids=str)
@pytest.mark.parametrize("width", [1.0, 0.05])
def test_lines_around_curves_are_equal_bit_by_bit(name: Function | Fraction, width: float, kernels: Kernels) -> None:
    x = intervals(np.random.default_rng(7), width, special=0.0)
    if name in (Function.LOG, Function.SQRT, Fraction(-1)):
        x = Range(abs(x.lower) + 0.01, abs(x.lower) + 0.01 + (x.upper - x.lower))
    with np.errstate(all="ignore"):
        own = (
            interval.power(Backend(), x, name)
            if isinstance(name, Fraction)
            else interval.elementary(Backend(), x, name)
        )
        here = lines(Backend(), name, x, own)
    there = lines(on_tensors(kernels), name, tensors(x), tensors(own))
    assert all(same(a, b) for a, b in zip(here, there, strict=True))


def test_what_depends_on_values_is_not_traced() -> None:
    def branching(backend: Backend, x: Array) -> tuple[Array]:
        return (x if bool(x) else -x,)

    with pytest.raises(TypeError, match="may not depend on the values"):
        trace(branching, (), ["double"], [False])


def test_sums_are_not_known_before_the_end_of_a_row() -> None:
    def wrong(backend: Backend, x: Traced) -> tuple[Traced]:
        return (x * x.sum(-1),)

    with pytest.raises(TypeError, match="after the sums of a row"):
        trace(wrong, (), ["double"], [False])  # type: ignore[arg-type]


def test_an_array_that_is_no_input_is_refused() -> None:
    def hidden(backend: Backend, x: Array) -> tuple[Array]:
        return (x + backend.array(np.array([1.0, 2.0])),)

    with pytest.raises(TypeError, match="no input"):
        trace(hidden, (), ["double"], [False])


def test_results_have_the_axes_they_depend_on(kernels: Kernels) -> None:
    """What is the same for all boxes stays so: forms rely on it."""
    import torch

    def both(backend: Backend, x: Array, y: Array) -> tuple[Array, Array]:
        return x * 2.0, x + y

    shared, own = torch.ones((1, 3), dtype=torch.float64), torch.ones((5, 1), dtype=torch.float64)
    twice, added = kernels.components(both, (), (shared, own))
    assert (tuple(twice.shape), tuple(added.shape)) == ((1, 3), (5, 3))


def test_rows_are_gathered_and_summed(kernels: Kernels) -> None:
    import torch

    def weighed(backend: Backend, L: Array, constant: Array, boxes: Array, cost: Array) -> tuple[Array, Array]:
        return L * boxes, constant + backend.dot(L, boxes) * cost

    rng = np.random.default_rng(0)
    L, constant, known, cost = (rng.normal(size=shape) for shape in ((6, 2, 5), (6, 2), (3, 5), (3,)))
    index = np.array([2, 0, 1, 1, 0, 2])
    arrays = [torch.asarray(array) for array in (L, constant, known, cost)]
    rows, total = kernels.rows(weighed, (), arrays[:1], arrays[1:2], arrays[2:], torch.asarray(index))
    taken = known[index][:, None]
    assert same(L * taken, rows)
    assert np.allclose(torch_tensor(total), constant + (L * taken).sum(-1) * cost[index][:, None], rtol=1e-14)


def test_rows_without_components_still_have_constants(kernels: Kernels) -> None:
    import torch

    def summed(backend: Backend, L: Array, constant: Array) -> tuple[Array]:
        return (constant + L.sum(-1),)

    L, constant = torch.zeros((4, 2, 0), dtype=torch.float64), torch.ones((4, 2), dtype=torch.float64)
    (total,) = kernels.rows(summed, (), [L], [constant], [], None)
    assert (torch_tensor(total) == 1).all()
