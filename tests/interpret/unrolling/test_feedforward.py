"""Recurrent networks as feed-forward ones: Theorems 1 and 2 of the AAAI 2019 paper, negative observations included."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.portion import some
from tests.recurrent import recurrent_networks
from vernal.formats.recurrent import rnn
from vernal.interpret import concrete, exact
from vernal.interpret.unrolling.feedforward import Unrolled, Wait, unroll
from vernal.model import build
from vernal.model.expr import Affine, Expr
from vernal.model.graph import order, variables
from vernal.model.network import Network

WAITS: list[Wait] = ["ios", "iod"]
HALVES = st.integers(-4, 4).map(lambda number: number / 2)


@st.composite
def plain_networks(draw: st.DrawFn) -> Network:
    """One or two recurrent layers of ReLU or linear units, and an affine head."""
    inputs, hidden, layers, outputs = (draw(st.integers(1, most)) for most in (2, 3, 2, 2))

    def matrix(rows: int, columns: int) -> np.ndarray:
        return np.array(draw(st.lists(HALVES, min_size=rows * columns, max_size=rows * columns))).reshape(rows, columns)

    cells = [
        (matrix(hidden, inputs if layer == 0 else hidden), matrix(hidden, hidden), matrix(1, hidden)[0])
        for layer in range(layers)
    ]
    head = [(matrix(outputs, hidden), matrix(1, outputs)[0])]
    return rnn(cells, head, activation=draw(st.sampled_from(["relu", "linear"])))


def vectors(size: int, low: int = -8) -> st.SearchStrategy[Expr]:
    numbers = st.integers(low, 8).map(lambda number: Fraction(number, 4))
    return st.lists(numbers, min_size=size, max_size=size).map(build.vector)


def step_by_step(network: Network, start: Sequence[Expr], seen: Sequence[Expr]) -> list[Expr]:
    """Output and memory of the recurrent network after the sequence."""
    memory, output = tuple(start), network.output
    for one in seen:
        output, memory = network.apply([one], memory)
    return [output, *memory]


def at_once(unrolled: Unrolled, start: Sequence[Expr], seen: Sequence[Expr]) -> list[Expr]:
    output, memory = unrolled.apply(start, seen)
    return [output, *memory]


@pytest.mark.parametrize("wait", WAITS)
@settings(max_examples=some(60))
@given(data=st.data())
def test_the_unrolled_network_computes_the_same_function(data: st.DataObject, wait: Wait) -> None:
    network = data.draw(plain_networks())
    length = data.draw(st.integers(1, 5))
    start = [data.draw(vectors(slot.size)) for slot, _ in network.memory]
    seen = [data.draw(vectors(network.input_size)) for _ in range(length)]
    unrolled = unroll(network, length, wait)
    assert not unrolled.network.memory
    assert variables([unrolled.network.output]) in ([unrolled.network.inputs], [])
    wanted = exact.evaluate(step_by_step(network, start, seen), {})
    assert exact.evaluate(at_once(unrolled, start, seen), {}) == wanted


@pytest.mark.parametrize("wait", WAITS)
def test_pass_through_units_let_negative_numbers_through(wait: Wait) -> None:
    """As printed, with a ReLU on them, the paper's network would say 1 here; the recurrent one says 0."""
    network = rnn([([[1.0]], [[1.0]], [0.0])])
    output, _ = unroll(network, 2, wait).apply(
        [build.vector([Fraction(0)])], [build.vector([Fraction(1)]), build.vector([Fraction(-1)])]
    )
    assert exact.evaluate([output], {}) == [(Fraction(0),)]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("name", ["squash", "gated", "deep"])
def test_gates_are_unrolled_too(name: str, wait: Wait) -> None:
    network = recurrent_networks()[name]
    rng = np.random.default_rng(3)
    seen = [build.vector([Fraction(int(n), 8)]) for n in rng.integers(-16, 17, 6)]
    start = [build.vector([Fraction(1, 2)] * slot.size) for slot, _ in network.memory]
    wanted = concrete.evaluate(step_by_step(network, start, seen), {})
    found = concrete.evaluate(at_once(unroll(network, len(seen), wait), start, seen), {})
    for here, there in zip(found, wanted, strict=True):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_as_many_units_wait_as_the_paper_says() -> None:
    """n (n - 1) / 2 observations wait for a layer: inputs wide on demand, as wide as the cell if it is fed on start."""
    network = rnn([(np.ones((3, 2)), np.eye(3), np.zeros(3))], [(np.ones((1, 3)), [0.0])])
    assert [unroll(network, n, "iod").passed for n in range(1, 6)] == [2 * n * (n - 1) // 2 for n in range(1, 6)]
    assert [unroll(network, n, "ios").passed for n in range(1, 6)] == [3 * n * (n - 1) // 2 for n in range(1, 6)]


def test_on_start_all_that_needs_no_memory_comes_first() -> None:
    network = rnn([(np.ones((3, 2)), np.eye(3), np.zeros(3))], [(np.ones((1, 3)), [0.0])])

    def fed_by_the_sequence(wait: Wait) -> int:
        unrolled = unroll(network, 4, wait).network
        layers = [node for node in order([unrolled.output]) if isinstance(node, Affine)]
        return sum(any(unrolled.inputs in part.args for part in order([layer.args[0]])[-2:]) for layer in layers)

    assert fed_by_the_sequence("ios") > fed_by_the_sequence("iod")
