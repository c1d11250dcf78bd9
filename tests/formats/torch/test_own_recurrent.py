"""Recurrent layers inside modules of one's own, under any name, against torch along sequences."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import Array, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.torch.module import from_torch

exports = pytest.mark.skipif(find_spec("onnxscript") is None, reason="needs onnxscript, which torch's exporter wants")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore"), exports]
STEPS = 20
Forward = Callable[..., Any]


def module(forward: Forward, **parts: Any) -> Any:
    """A module with these parts under these names, and this forward pass."""
    from torch import nn

    class Own(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, *given: Any) -> Any:
            return forward(self, *given)

    return Own()


def sequence(size: int = 3) -> Array:
    return np.random.default_rng(7).normal(size=(STEPS, size)).astype(np.float32).astype(np.float64)


def tensor(array: Array) -> Any:
    import torch

    return torch.tensor(array, dtype=torch.float32)


def compare(read: Any, theirs: Array) -> None:
    """What was read along the sequence, and what torch gave: for all steps, or for the last."""
    ours = walk(from_torch(read), sequence())
    np.testing.assert_allclose(ours.ravel()[-theirs.size :], theirs.ravel(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_layer_of_any_name_with_functions_around_it(kind: str, batch_first: bool) -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any, h: Any = None) -> Any:
        y, h = self.backbone(torch.relu(self.see(x)), h)
        last = y[:, -1] if batch_first else y[-1]
        return self.act(torch.tanh(last)) + 0.5, h

    torch.manual_seed(1)
    backbone = getattr(nn, kind)(4, 5, num_layers=2, batch_first=batch_first)
    made = module(forward, see=nn.Linear(3, 4), backbone=backbone, act=nn.Linear(5, 2))
    xs = tensor(sequence())
    with torch.no_grad():
        theirs = made(xs[None] if batch_first else xs[:, None])[0].numpy()
    compare(made, theirs)
    assert made.training


def test_children_in_a_row_need_no_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import torch
    from torch import nn

    monkeypatch.setitem(sys.modules, "onnxscript", None)
    torch.manual_seed(1)
    made = module(lambda self, x: self.out(self.lstm(x)[0]), lstm=nn.LSTM(3, 5, batch_first=True), out=nn.Linear(5, 2))
    with torch.no_grad():
        compare(made, made(tensor(sequence())[None]).numpy())


def test_two_layers_and_a_skip() -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any) -> Any:
        slow, _ = self.slow(x)
        fast, _ = self.fast(torch.cat([x, slow], -1))
        return self.out(slow * fast)

    torch.manual_seed(2)
    made = module(forward, slow=nn.GRU(3, 4), fast=nn.LSTM(7, 4), out=nn.Linear(4, 2))
    with torch.no_grad():
        compare(made, made(tensor(sequence())[:, None]).numpy())


@pytest.mark.parametrize("kind", ["GRUCell", "LSTMCell", "RNNCell"])
def test_a_cell_that_is_given_its_memory(kind: str) -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any, h: Any) -> Any:
        h = self.cell(self.see(x).relu(), h)
        return self.out(h[0] if isinstance(h, tuple) else h), h

    torch.manual_seed(3)
    made = module(forward, see=nn.Linear(3, 4), cell=getattr(nn, kind)(4, 5), out=nn.Linear(5, 2))
    zero: Any = torch.zeros(1, 5)
    h: Any = (zero, zero) if kind == "LSTMCell" else zero
    rows = []
    with torch.no_grad():
        for x in tensor(sequence()):
            y, h = made(x[None], h)
            rows.append(y.numpy())
    compare(made, np.array(rows))


def test_a_cell_in_a_loop_over_the_sequence() -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any) -> Any:
        h = None
        for step in range(x.shape[1]):
            h = self.cell(x[:, step], h)
        return self.out(h)

    torch.manual_seed(4)
    made = module(forward, cell=nn.GRUCell(3, 5), out=nn.Linear(5, 2))
    with torch.no_grad():
        compare(made, made(tensor(sequence())[None]).numpy())


def test_a_memory_kept_in_self() -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any) -> Any:
        self.h = self.cell(x, self.h)
        return self.out(self.h)

    torch.manual_seed(5)
    made = module(forward, cell=nn.GRUCell(3, 5), out=nn.Linear(5, 2), h=None)
    network = from_torch(made)
    assert made.h is None, "reading a module does not run it"
    with torch.no_grad():
        theirs = np.concatenate([made(x[None]).numpy() for x in tensor(sequence())])
    np.testing.assert_allclose(walk(network, sequence()), theirs, rtol=2e-5, atol=2e-5)


def test_a_start_that_was_learned() -> None:
    import torch
    from torch import nn

    def forward(self: Any, x: Any) -> Any:
        y, _ = self.gru(x, self.first.tanh())
        return self.out(y)

    torch.manual_seed(6)
    first = nn.Parameter(torch.randn(1, 1, 5))
    made = module(forward, gru=nn.GRU(3, 5, batch_first=True), out=nn.Linear(5, 2), first=first)
    assert any(from_torch(made).starts)
    with torch.no_grad():
        compare(made, made(tensor(sequence())[None]).numpy())


def test_what_is_no_step_with_a_memory_is_refused() -> None:
    import torch
    from torch import nn

    def mean(self: Any, x: Any) -> Any:
        return self.out(self.gru(x)[0].mean(1))

    def twice(self: Any, x: Any) -> Any:
        y, h = self.gru(self.see(x))
        return self.out(self.gru(y, h)[0])

    def late(self: Any, x: Any) -> Any:
        return self.out(torch.cat([x[:, :1], self.gru(x)[0][:, :-1, :3]], 1))

    def other(self: Any, x: Any, a: Any, b: Any, c: Any) -> Any:
        return self.out(self.gru(x)[0])

    for forward, message in (
        (mean, "along a sequence it does not compute"),
        (late, "along a sequence it does not compute"),
        (other, r"takes neither a sequence nor one step.*give example="),
    ):
        parts = {"gru": nn.GRU(3, 5, batch_first=True), "out": nn.Linear(3 if forward is late else 5, 2)}
        with pytest.raises(FormatError, match=message):
            from_torch(module(forward, **parts))
    with pytest.raises(UnsupportedOperator, match="called several times"):
        from_torch(module(twice, see=nn.Linear(3, 5), gru=nn.GRU(5, 5, batch_first=True), out=nn.Linear(5, 2)))
    both = nn.GRU(3, 5, batch_first=True, bidirectional=True)
    with pytest.raises(UnsupportedOperator, match="cannot see the future"):
        from_torch(module(lambda self, x: self.out(self.memory(x)[0].relu()), memory=both, out=nn.Linear(10, 2)))
    keeping = module(lambda self, x: self.cell(x, self.h), cell=nn.GRUCell(3, 5))
    keeping.h = keeping.cell(torch.zeros(1, 3))
    with pytest.raises(FormatError, match=r"detach it, as in self\.h = h\.detach"):
        from_torch(keeping)
