"""Modules of one's own, read by way of torch's exporter and compared with what they compute."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import compute, points
from vernal.errors import FormatError, MissingExtra
from vernal.formats.torch.module import from_torch
from vernal.interpret.concrete import evaluate

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
exports = pytest.mark.skipif(find_spec("onnxscript") is None, reason="needs onnxscript, which torch's exporter wants")


def duelling() -> Any:
    """Two streams on one trunk, and a skip: no Sequential."""
    import torch
    from torch import nn

    class Duelling(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.LayerNorm(8))
            self.advantage, self.value = nn.Linear(8, 4), nn.Linear(8, 1)

        def forward(self, x: Any) -> Any:
            y = self.trunk(x)
            a = self.advantage(torch.relu(y) + y)
            return self.value(y) + a - a.mean(dim=1, keepdim=True)

    torch.manual_seed(0)
    return Duelling()


def computing(function: Any) -> Any:
    """A module with a layer of three inputs and this forward pass."""
    from torch import nn

    class Computing(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, *given: Any) -> Any:
            return function(self, *given)

    return Computing()


def test_without_the_exporter_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingExtra, match=r"'Duelling', a Duelling, which is no layer.*vernal\[torch\]"):
        from_torch(duelling())


@exports
def test_a_module_of_one_s_own() -> None:
    import torch

    module, xs = duelling(), points(3)
    module.train()
    network = from_torch(module, name="duelling")
    assert module.training
    assert (network.name, network.input_size, network.output_size) == ("duelling", 3, 4)
    with torch.no_grad():
        expected = module.eval()(torch.tensor(xs, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(compute(network, xs), expected, rtol=1e-5, atol=1e-5)


@exports
def test_a_subclass_in_a_sequential() -> None:
    import torch
    from torch import nn

    class Doubled(nn.Linear):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    module, xs = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), Doubled(4, 2)), points(3)
    with torch.no_grad():
        expected = module(torch.tensor(xs, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(compute(from_torch(module), xs), expected, rtol=1e-5, atol=1e-5)


@exports
def test_a_softmax_at_the_end_is_left_out() -> None:
    assert from_torch(computing(lambda self, x: self.layer(x).softmax(dim=1))).dropped == "Softmax"


@exports
def test_memory_in_an_example() -> None:
    import torch

    def step(self: Any, obs: Any, state: Any) -> Any:
        h, c = state
        h = torch.tanh(self.layer(obs) + h)
        return h * c, (h, c + 1)

    module = computing(step)
    network = from_torch(module, example=(torch.zeros(1, 3), (torch.zeros(1, 2), torch.ones(1, 2))))
    assert network.memory_size == 4
    xs = np.array([[0.5, -1.0, 2.0]])
    (h, _), (c, _) = network.memory
    ours = evaluate(network.roots, {network.inputs: xs, h: np.array([[1.0, 2.0]]), c: np.array([[3.0, 4.0]])})
    with torch.no_grad():
        y, (after, count) = module(torch.tensor(xs).float(), (torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])))
    for mine, theirs in zip(ours, (y, after, count), strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-6)


@exports
def test_pictures_in_an_example() -> None:
    import torch
    from torch import nn

    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    assert from_torch(module, example=torch.zeros(1, 1, 4, 4)).input_size == 16


@exports
def test_what_the_exporter_loses_is_noticed() -> None:
    """Something kept in self, something drawn, a branch on values."""
    import torch

    def counting(self: Any, x: Any) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        return self.layer(x) * self.calls

    def drawing(self: Any, x: Any) -> Any:
        return self.layer(x) + torch.randn(1, 2)

    def branching(self: Any, x: Any) -> Any:
        return self.layer(x) if x.sum() > 0 else x[:, :2]

    for function, message in (
        (counting, "what torch exported is not what the module computes"),
        (drawing, "RandomNormal"),
        (lambda self, x: torch.sqrt(-1 - self.layer(x) ** 2), "NaN or infinite numbers for all"),
        (branching, "torch cannot export it: .*data-dependent"),
    ):
        with pytest.raises(FormatError, match=message):
            from_torch(computing(function))


@exports
@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu_in_a_module_of_one_s_own(form: str) -> None:
    from torch.nn import functional

    assert from_torch(computing(lambda self, x: functional.gelu(self.layer(x), approximate=form))).output_size == 2


@exports
def test_where_a_module_has_no_value_nothing_is_compared() -> None:
    import torch

    network = from_torch(computing(lambda self, x: torch.log(self.layer(x))))
    assert (network.input_size, network.output_size) == (3, 2)


def test_what_is_no_module_is_said() -> None:
    with pytest.raises(FormatError, match="int is no module"):
        from_torch(3)
