"""Bounds elsewhere: with fused functions they are numpy's, and engines give the verdicts they give on the processor.

Where there is no card, tensors live on the processor, and kernels are compiled for it (`tests/hosted.py`).
"""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.cases import CASES, Case
from tests.engines.split import test_split
from tests.hosted import hosted_kernels, needs_compiler
from tests.interpret.linear.test_bounds import closed_loop, random_network
from tests.operators import SAMPLES
from tests.sets.core import test_cases
from vernal.engines.check import check, parse_formula
from vernal.engines.placement import device_for, smallest_batch, weights
from vernal.errors import InputError, MissingExtra, Stopped
from vernal.interpret.linear import bounds
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.device_bounds import Placed, batch_sizes, bounds_over, worthwhile
from vernal.interpret.numbers import device as devices
from vernal.interpret.numbers.device import Device, current, find_device, using
from vernal.interpret.numbers.kernel_launch import Kernels
from vernal.interpret.numbers.rounding import Array, Backend
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.graph import order
from vernal.model.initial import Init, Span
from vernal.model.network import network_input
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.sets.core import improvement


@cache
def there() -> Device:
    """The card, or tensors on the processor in its place."""
    import torch

    return Device("cuda" if torch.cuda.is_available() else "cpu")


ASKED = [  # of each system the last case that an engine has to decide
    (engine, case)
    for engine in ("bounds", "paths")
    for case in {case.model: case for case in CASES if engine in case.decided_by}.values()
]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return hosted_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def fused(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that can be fused is, as on a card."""

    def backend(like: Array | None) -> Backend:
        return Backend(like) if like is None or isinstance(like, np.ndarray) else Backend(like, kernels)

    if there().name == "cpu":
        monkeypatch.setattr(bounds, "backend_for", backend)


def numbers(rng: np.random.Generator, node: Expr, batch: int = 40) -> dict[Expr, Range]:
    """Boxes for the variables of a graph: narrow, wide and points."""
    made = {}
    for var in (part for part in order([node]) if not part.args and part.sort.is_number and hasattr(part, "role")):
        low = rng.normal(size=(batch, *var.shape))
        width = rng.choice([0.0, 0.05, 1.0], size=(batch, *var.shape)) * rng.random((batch, *var.shape))
        made[var] = Range(low, low + width)
    return made


def assert_alike(here: Value, there: Value) -> None:
    match here, there:
        case Range(low, high), Range(below, above):
            assert np.allclose(low, below, rtol=1e-12, atol=1e-12, equal_nan=True)
            assert np.allclose(high, above, rtol=1e-12, atol=1e-12, equal_nan=True)
        case Truth(must, may), Truth(certain, possible):
            assert (must == certain).all()
            assert (may == possible).all()
        case Finite(mask, _), Finite(other, _):
            assert (mask == other).all()
        case _:
            raise AssertionError(f"{here} and {there} are of different kinds")


def compare(roots: list[Expr], box: dict[Expr, Any]) -> None:
    """Values, linear bounds and exact forms of nodes, here and there."""
    here, other = Linear(box), Placed(box, there())
    for root in roots:
        assert_alike(here.value(root), other.value(root))
        if not root.sort.is_number or isinstance(here.value(root), Finite):
            continue
        assert_alike(here.range(root), other.range(root))
        a, b = here.form(root), other.form(root)
        assert np.allclose(a.lower_constants, b.lower_constants, rtol=1e-12, atol=1e-12)
        assert np.allclose(a.upper_coefficients, b.upper_coefficients, rtol=1e-12, atol=1e-12)
        assert np.allclose(here.slopes(root), other.slopes(root), rtol=1e-12, atol=1e-12)
        assert (here.exact(root) is None) == (other.exact(root) is None)
    assert_alike(here.box, other.box)


@pytest.mark.torch
@needs_compiler
@pytest.mark.usefixtures("fused")
def test_networks() -> None:
    rng = np.random.default_rng(6)
    node, x = random_network(rng, [3, 16, 16, 4]), network_input(3)
    lower = rng.normal(size=(64, 3))
    extra = [build.absolute(node), build.clip(node, -1, 1), build.apply(Function.TANH, node), node * node]
    compare([node, *extra, build.argmax(node)], {x: Range(lower, lower + rng.uniform(0, 0.4, (64, 1)))})


@pytest.mark.torch
@needs_compiler
@pytest.mark.usefixtures("fused")
def test_a_loop_through_time() -> None:
    rng = np.random.default_rng(3)
    states = closed_loop(random_network(rng, [2, 6, 1], 0.5), 4)
    x, v = (build.var(name) for name in "xy")
    low = rng.uniform(-0.5, 0.5, (2, 30))
    roots = [*states[-1], states[-1][0] + states[-1][1], states[2][0] > 0]
    compare(roots, {x: Range(low[0], low[0] + 0.1), v: Range(low[1], low[1] + 0.2)})


@pytest.mark.torch
@needs_compiler
@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize(
    "kind", [kind for kind, node in SAMPLES.items() if numbers(np.random.default_rng(0), node)], ids=str
)
def test_every_operator(kind: Any) -> None:
    node = SAMPLES[kind]
    box = numbers(np.random.default_rng(1), node)
    free = [part for part in order([node]) if not part.args and not part.sort.is_number and hasattr(part, "role")]
    if not free:
        compare([node], box)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch, however small, is bounded on tensors."""
    monkeypatch.setattr("vernal.engines.check.device_for", lambda name, question: there())


@pytest.mark.torch
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("engine", "case"), ASKED, ids=str)
def test_what_an_engine_decides_it_decides_elsewhere(engine: str, case: Case) -> None:
    assert check(case.task, case.formula, engine=engine, timeout=60).verdict is case.expected


@pytest.mark.torch
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("activation", ["relu", "max"])
def test_boxes_are_searched_elsewhere(activation: str) -> None:
    test_split.test_the_least_value_of_random_networks((4, 4), activation)
    test_split.test_the_least_value_of_smooth_networks((4,))


@pytest.mark.torch
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("activation", ["sign", "if", "argmax"])
def test_cases_are_cut_elsewhere(activation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improvement, "BRANCHING", 0)
    monkeypatch.setattr(improvement, "SHARE_OF_CASE", 0.0)
    test_cases.test_the_least_value(activation, (6,))


@pytest.mark.torch
def test_a_search_on_a_card_has_large_batches() -> None:
    first, most = 64, 4096
    with using(replace(there(), smallest=600)):
        assert batch_sizes(first, most, 100)[0] == 600
        assert batch_sizes(first, most, 100)[1] > most


# Which device ---------------------------------------------------------------------------------------------------------


def test_small_batches_stay_here() -> None:
    x = build.var("x")
    with using(Device("cuda", smallest=10)):
        assert type(bounds_over({x: Range(np.zeros(9), np.ones(9))})) is Linear


@pytest.mark.torch
def test_large_batches_go_there() -> None:
    x = build.var("x")
    with using(replace(there(), smallest=10)):
        assert type(bounds_over({x: Range(np.zeros(10), np.ones(10))})) is Placed
    assert current() is None


@pytest.mark.parametrize(("smallest", "steps", "boxes"), [(1, 9, 1), (600, 1, 600), (600, 3, 200), (600, 10, 128)])
def test_many_steps_need_fewer_boxes(smallest: int, steps: int, boxes: int) -> None:
    assert worthwhile(Device("cuda", smallest=smallest), steps) == boxes


def test_small_networks_need_large_batches() -> None:
    assert smallest_batch(10_000) == 512
    assert smallest_batch(100) == 20_000
    assert smallest_batch(0) > 1_000_000
    assert device_for("cpu", Question(CASES[0].task.system, parse_formula(CASES[0].task, CASES[0].formula))) is None


def test_networks_of_a_claim_count() -> None:
    x = build.var("x")
    layer = build.affine(build.concat(x, x), Matrix(np.ones((7, 2))), Matrix(np.zeros(7)))
    system = System("one", (Variable("x", REAL),), Init({"x": Span(Fraction(0), Fraction(1))}), {})
    assert weights(Question(system, Atom(build.compare("<", build.component(layer, 3), 9)))) == 14


def test_searches_take_what_is_worth_it_and_fits() -> None:
    assert batch_sizes(64, 4096, 100) == (64, 4096)
    with using(Device("cpu", smallest=5000)):
        assert batch_sizes(64, 4096, 100) == (64, 4096)


def test_a_forked_process_has_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    with using(Device("cuda")):
        assert current() == Device("cuda")
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert current() is None


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(InputError, match="there is no device 'tpu'; bounds are computed on cpu or cuda"):
        find_device("tpu")
    assert find_device("cpu") is None


@pytest.mark.torch
def test_a_card_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match=r"there is no device 'cuda:99': torch .* finds .*; use cpu"):
        find_device("cuda:99")


@pytest.mark.torch
def test_emulated_arithmetic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert find_device("cuda") == Device("cuda")
    monkeypatch.setenv(devices.EMULATION, "1")
    with pytest.raises(InputError, match="no bound on their rounding"):
        find_device("cuda")


@pytest.mark.torch
def test_a_torch_without_a_compiler_is_said_to_be_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.delattr(torch.cuda, "_compile_kernel", raising=False)
    found = find_device("cuda")
    assert found is not None
    assert "cannot compile kernels while it runs" in found.remark


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"computing on cuda needs the extra 'torch'"):
        find_device("cuda")


def test_a_full_card_is_a_limit() -> None:
    full = type("OutOfMemoryError", (RuntimeError,), {})
    with pytest.raises(Stopped, match="the memory of cuda is full; try --device cpu"), using(Device("cuda")):
        raise full
    with pytest.raises(RuntimeError, match="something else"), using(Device("cuda")):
        raise RuntimeError("something else")
    assert devices.current() is None
