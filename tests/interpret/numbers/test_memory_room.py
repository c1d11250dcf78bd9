"""Pieces of work are as large as a limit of memory leaves room for, and what cannot be divided is refused before."""

from __future__ import annotations

import numpy as np
import pytest

import vernal as vn
from tests.systems import make, wanderer
from vernal.engines.falsify.paths import MAX_RUNS, MIN_RUNS, batch_size
from vernal.errors import Stopped
from vernal.interpret.layers import layer
from vernal.interpret.linear.device_bounds import batch_sizes
from vernal.interpret.linear.forms import unit_rows
from vernal.interpret.numbers import memory_room
from vernal.interpret.numbers.backends import backend_for
from vernal.interpret.numbers.memory_room import (
    ARRAYS,
    BYTES,
    GIB,
    MIN_NUMBERS,
    limited,
    numbers_at_once,
    refuse_beyond,
)
from vernal.model import build
from vernal.model.expr import Affine, Matrix


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How many GiB this process is said to have: the last of them."""
    said = [1.0]
    monkeypatch.setattr(memory_room, "resident_gib", lambda: said[-1])
    return said


@pytest.mark.parametrize(
    ("memory", "most", "expected"),
    [
        (None, 10**9, 10**9),
        (8.0, 1000, 1000),
        (1.5, 10**9, GIB // (2 * ARRAYS * BYTES)),
        (1.0, 10**9, MIN_NUMBERS),
        (0.5, 10**9, MIN_NUMBERS),
        (0.5, 7, 7),
    ],
)
def test_arrays_have_what_the_limit_leaves(memory: float | None, most: int, expected: int, used: list[float]) -> None:
    with limited(memory):
        assert numbers_at_once(most) == expected
        used.append(0.0)
        assert numbers_at_once(most) >= expected
    assert numbers_at_once(most) == most


@pytest.mark.parametrize(
    ("memory", "numbers", "refused"),
    [(None, 10**12, False), (2.0, GIB // BYTES, False), (2.0, GIB // BYTES + 1, True), (0.5, MIN_NUMBERS, False)],
)
def test_what_has_no_room_is_refused_before_it_is_made(
    memory: float | None, numbers: int, refused: bool, used: list[float]
) -> None:
    with limited(memory):
        if refused:
            with pytest.raises(Stopped, match=r"memory beyond 2 GiB"):
                refuse_beyond(numbers)
        else:
            refuse_beyond(numbers)


def test_limits_inside_limits_end_with_them(used: list[float]) -> None:
    with limited(1.0):
        with limited(None):
            assert numbers_at_once(10**9) == 10**9
        assert numbers_at_once(10**9) == MIN_NUMBERS


def test_batches_are_no_larger_than_there_is_room_for(used: list[float]) -> None:
    system = make({f"x{number}": (0, 1) for number in range(300)}, {})
    assert (batch_sizes(64, 4096, 5000), batch_size(system, 0)) == ((64, 4096), MAX_RUNS)
    with limited(1.25):
        first, most = batch_sizes(64, 4096, 5000)
        assert 1 <= first <= most < 64
    with limited(1.0):
        assert batch_sizes(64, 4096, 5000) == (1, 1)
        assert batch_sizes(64, 4096, 0) == (64, MIN_NUMBERS // 64)  # of questions without numbers
        assert MIN_RUNS <= batch_size(system, 0) < MAX_RUNS


def test_weights_are_not_copied_where_there_is_no_room(used: list[float]) -> None:
    x = build.var("x", shape=(300,))
    node = build.affine(x, Matrix(np.ones((300, 300))), Matrix(np.zeros(300)))
    assert isinstance(node, Affine)
    with limited(1.0), pytest.raises(Stopped, match="memory beyond 1 GiB"):
        layer(backend_for(None), node)
    with limited(1.0), pytest.raises(Stopped, match="memory beyond 1 GiB"):
        unit_rows(tuple(range(300)), 300)
    assert layer(backend_for(None), node).magnitude.shape == (300, 300)


@pytest.mark.parametrize("engine", ["bounds", "split", "paths", "falsify", "auto"])
def test_engines_look_at_the_limit_of_their_question(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[float | None] = set()

    def look() -> float:
        seen.add(memory_room._limit.get())
        return 0.0

    monkeypatch.setattr(memory_room, "resident_gib", look)
    monkeypatch.setattr("vernal.run.budget.resident_gib", look)
    vn.check(wanderer(), "G[0,4] (x <= 3.5)", engine=engine, memory=3.0)
    assert 3.0 in seen
    assert numbers_at_once(5) == 5
