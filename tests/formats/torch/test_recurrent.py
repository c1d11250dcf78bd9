"""Recurrent torch modules, read directly and through torch's own ONNX export, against torch over long sequences."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import Array, walk
from vernal.errors import FormatError, MissingExtra, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.formats.torch.module import from_torch

pytestmark = pytest.mark.torch
LENGTH = 50
KINDS = ["RNN-relu", "RNN-tanh", "GRU", "LSTM"]


def layer(kind: str, **options: Any) -> Any:
    from torch import manual_seed, nn

    manual_seed(3)
    name, _, nonlinearity = kind.partition("-")
    more = {"nonlinearity": nonlinearity} if nonlinearity else {}
    return getattr(nn, name)(3, 5, **more, **options)


def sequence() -> Array:
    return np.random.default_rng(5).normal(scale=1.5, size=(LENGTH, 3)).astype(np.float32).astype(np.float64)


def tensor(array: Array) -> Any:
    import torch

    return torch.tensor(array, dtype=torch.float32)


def expected(rnn: Any, head: Any, xs: Array) -> Array:
    """Torch on the whole sequence at once."""
    import torch

    with torch.no_grad():
        made = head(rnn(tensor(xs)[:, None])[0])[:, 0].numpy()
    return np.asarray(made, dtype=np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"num_layers": 3, "dropout": 0.5}, {"bias": False}], ids=str)
def test_a_sequential_with_a_recurrent_layer(kind: str, options: dict[str, Any]) -> None:
    from torch import nn

    rnn = layer(kind, **options).eval()
    head = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
    network = from_torch(nn.Sequential(rnn, *head))
    layers = options.get("num_layers", 1)
    assert network.memory_size == 5 * layers * (2 if kind == "LSTM" else 1)
    np.testing.assert_allclose(walk(network, sequence()), expected(rnn, head, sequence()), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_cells_are_layers_too(kind: str) -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    cell = getattr(nn, f"{kind}Cell")(3, 5)
    whole = getattr(nn, kind)(3, 5)
    names = {f"{name}_l0": value for name, value in cell.state_dict().items()}
    whole.load_state_dict(names)
    head = nn.Linear(5, 2, bias=False)
    with torch.no_grad():
        head.weight[:] = torch.tensor(np.eye(2, 5))
    network = from_torch(nn.Sequential(cell, head))
    np.testing.assert_allclose(walk(network, sequence()), expected(whole, head, sequence()), rtol=2e-5, atol=2e-5)


def policy(kind: str = "GRU", trick: str = "", batch_first: bool = True, last: bool = False) -> Any:
    """A policy as people write it."""
    from torch import nn

    class Policy(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            self.rnn = layer(kind, batch_first=batch_first, num_layers=2)
            self.head = nn.Linear(5, 2)

        def forward(self, x: Any, h: Any = None) -> Any:
            y, h = self.rnn(self.encoder(x), h)
            if trick == "relu":
                y = nn.functional.relu(y)
            y = y[:, -1] if last and batch_first else y[-1] if last else y
            return self.head(y), h

    return Policy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_a_policy_of_ones_own_class(kind: str, batch_first: bool, last: bool) -> None:
    import torch

    module = policy(kind, batch_first=batch_first, last=last)
    network = from_torch(module)
    assert module.training, "reading a module does not change it"
    xs = sequence()[:, :2]
    with torch.no_grad():
        given = tensor(xs)[None] if batch_first else tensor(xs)[:, None]
        made = module.eval()(given)[0].numpy().reshape(-1, 2)
    np.testing.assert_allclose(walk(network, xs)[-len(made) :], made, rtol=2e-5, atol=2e-5)


def test_a_policy_that_computes_something_else_is_not_read_as_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingExtra, match="by torch's exporter"):
        from_torch(policy(trick="relu"))
    broken = policy()
    broken.forward = lambda x, h, other: x
    with pytest.raises(FormatError, match="takes neither a sequence nor one step"):
        from_torch(broken)


def test_what_is_not_read_is_refused() -> None:
    from torch import nn

    for module, message in (
        (nn.Sequential(nn.RNN(3, 5, bidirectional=True)), "cannot see the future"),
        (nn.Sequential(nn.LSTM(3, 5, proj_size=2)), "proj_size"),
        (nn.Sequential(nn.Linear(3, 4), nn.GRU(3, 5)), "takes 3 inputs, but is given 4"),
    ):
        with pytest.raises((FormatError, UnsupportedOperator), match=message):
            from_torch(module)


# Through torch's own export -------------------------------------------------------------------------------------------


def export(module: Any, arguments: tuple[Any, ...], path: Path, **options: Any) -> Path:
    import torch

    buffer = io.BytesIO()
    torch.onnx.export(module.eval(), arguments, buffer, dynamo=False, **options)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_an_export_with_an_open_sequence_axis(kind: str, tmp_path: Path) -> None:
    import torch

    class Seen(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x)[0]

    module = policy(kind)
    axes = {"x": {0: "N", 1: "T"}, "y": {0: "N", 1: "T"}}
    example = (torch.zeros(1, 4, 2),)
    path = export(Seen(module), example, tmp_path / "a.onnx", input_names=["x"], output_names=["y"], dynamic_axes=axes)
    xs = sequence()[:, :2]
    ours = walk(read_network(path), xs)
    np.testing.assert_allclose(ours, walk(from_torch(module), xs), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS[:3])
def test_an_export_with_its_memory_as_input_and_output(kind: str, tmp_path: Path) -> None:
    import torch

    module = policy(kind)
    example = (torch.zeros(1, 1, 2), torch.zeros(2, 1, 5))
    names = {"input_names": ["obs", "h"], "output_names": ["action", "hn"]}
    path = export(module, example, tmp_path / "a.onnx", **names)
    xs = sequence()[:, :2]
    ours = walk(read_network(path), xs)
    np.testing.assert_allclose(ours, walk(from_torch(module), xs), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "states"), [*((kind, 0) for kind in KINDS), *((kind, 1) for kind in KINDS[:3])])
def test_an_export_without_names(kind: str, states: int, tmp_path: Path) -> None:
    """As most people export: torch numbers the outputs, and the last memory is one of them."""
    import torch

    module = policy(kind)
    example = (torch.zeros(1, 1, 2), *[torch.zeros(2, 1, 5)] * states)
    network = read_network(export(module, example, tmp_path / "a.onnx"))
    xs = sequence()[:, :2]
    np.testing.assert_allclose(walk(network, xs), walk(from_torch(module), xs), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_an_exported_cell(kind: str, tmp_path: Path) -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    cell = getattr(nn, f"{kind}Cell")(3, 5)
    state: Any = torch.zeros(1, 5)
    names = {"input_names": ["obs", "h"], "output_names": ["action", "h_out"]}

    class Acting(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: Any, *h: Any) -> Any:
            made = self.cell(x, h if len(h) > 1 else h[0])
            after = made if isinstance(made, tuple) else (made,)
            return (after[0][:, :2], *after)

    states = (state, state) if kind == "LSTM" else (state,)
    if kind == "LSTM":
        names = {"input_names": ["obs", "h", "c"], "output_names": ["action", "h_out", "c_out"]}
    path = export(Acting(), (torch.zeros(1, 3), *states), tmp_path / "a.onnx", **names)
    ours = walk(read_network(path), sequence())
    direct = walk(from_torch(nn.Sequential(cell)), sequence())[:, :2]
    np.testing.assert_allclose(ours, direct, rtol=1e-9, atol=1e-9)
