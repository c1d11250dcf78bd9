"""What torch's default exporter writes, `torch.onnx.export(module, args, "policy.onnx")`, against onnxruntime.

Exporting takes a second each, so a few modules stand for many: the patterns themselves are also built without torch, in
test_onnx_states.py, test_onnx_external.py and test_onnx_windows.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import Array, compute, points, reference, sequence, session, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.formats.torch.module import from_torch

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("onnxscript") is None, reason="needs onnxscript, which torch's exporter wants"),
]


def policy(kind: str, layers: int = 1, batch_first: bool = True, given: bool = True, last: bool = False) -> Any:
    """A recurrent policy as people write it; `given`: its memory is an input and an output."""
    import torch
    from torch import nn

    torch.manual_seed(3)
    name, _, nonlinearity = kind.partition("-")
    more = {"nonlinearity": nonlinearity} if nonlinearity else {}

    class Policy(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rnn = getattr(nn, name)(3, 8, num_layers=layers, batch_first=batch_first, **more)
            self.head = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))

        def step(self, obs: Any, memory: Any) -> Any:
            y, memory = self.rnn(obs, memory)
            y = (y[:, -1] if batch_first else y[-1]) if last else y
            return self.head(y), memory

    class Given(Policy):
        def forward(self, obs: Any, h: Any) -> Any:
            return self.step(obs, h)

    class Own(Policy):
        def forward(self, obs: Any) -> Any:
            return self.step(obs, None)[0]

    return Given() if given else Own()


def cell(kind: str) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(4)

    class Cell(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = getattr(nn, kind)(3, 8)
            self.head = nn.Linear(8, 2)

    class Gated(Cell):
        def forward(self, obs: Any, h: Any) -> Any:
            h = self.cell(obs, h)
            return self.head(h), h

    class Long(Cell):
        def forward(self, obs: Any, h: Any, c: Any) -> Any:
            h, c = self.cell(obs, (h, c))
            return self.head(h), h, c

    return Long() if kind == "LSTMCell" else Gated()


def state_space() -> Any:
    """h' = A h + B o, read out through a ReLU."""
    import torch
    from torch import nn

    torch.manual_seed(5)

    class StateSpace(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.A, self.B = nn.Parameter(0.3 * torch.randn(8, 8)), nn.Parameter(torch.randn(8, 3))
            self.head = nn.Linear(8, 2)

        def forward(self, obs: Any, h: Any) -> Any:
            h = torch.einsum("ij,bj->bi", self.A, h) + obs @ self.B.T
            return self.head(torch.relu(h)), h

    return StateSpace()


def zeros(*shapes: Sequence[int]) -> tuple[Any, ...]:
    import torch

    return tuple(torch.zeros(*shape) for shape in shapes)


def export(module: Any, arguments: tuple[Any, ...], folder: Path, **options: Any) -> Path:
    import torch

    torch.onnx.export(module.eval(), arguments, str(folder / "policy.onnx"), verbose=False, **options)
    return folder / "policy.onnx"


def looped(path: Path, xs: Array) -> Array:
    """What onnxruntime computes, its outputs but the first fed back into its inputs but the first."""
    running = session(path)
    entries = running.get_inputs()
    shapes = [[size if isinstance(size, int) else 1 for size in entry.shape] for entry in entries]
    memory = [np.zeros(shape, dtype=np.float32) for shape in shapes[1:]]
    rows = []
    for x in xs:
        given = [x.reshape(shapes[0]).astype(np.float32), *memory]
        names = [entry.name for entry in entries]
        scores, *memory = running.run(None, dict(zip(names, given, strict=True)))
        rows.append(scores.ravel())
    return np.array(rows, dtype=np.float64)


OPEN = {"dynamic_shapes": ({0: "N"}, {1: "N"})}


@pytest.mark.parametrize(
    ("kind", "layers", "batch_first", "last", "options"),
    [
        ("RNN-relu", 2, True, True, {}),
        ("GRU", 1, True, False, OPEN),
        ("LSTM", 1, False, False, {}),
    ],
)
def test_memory_as_input_and_output(
    kind: str, layers: int, batch_first: bool, last: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    batch = 2 if options else 1
    (obs,) = zeros((batch, 1, 3))
    state = zeros(*[(layers, batch, 8)] * (2 if kind == "LSTM" else 1))
    module = policy(kind, layers, batch_first, last=last)
    path = export(module, (obs, state if kind == "LSTM" else state[0]), tmp_path, **options)
    network, xs = read_network(path), sequence(3)
    assert network.memory_size == 8 * layers * len(state)
    np.testing.assert_allclose(walk(network, xs), looped(path, xs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["GRUCell", "LSTMCell"])
def test_cells(kind: str, tmp_path: Path) -> None:
    states = 2 if kind == "LSTMCell" else 1
    names = {"output_names": ["scores", "h_out", "c_out"][: states + 1]} if states == 2 else {}
    path = export(cell(kind), zeros((1, 3), *[(1, 8)] * states), tmp_path, **names)
    network, xs = read_network(path), sequence(3)
    assert network.memory_size == 8 * states
    np.testing.assert_allclose(walk(network, xs), looped(path, xs), rtol=1e-5, atol=1e-5)


def test_the_same_tensor_twice_is_refused(tmp_path: Path) -> None:
    """Torch takes h for c then, and writes a file that never reads h."""
    (obs, state) = zeros((1, 3), (1, 8))
    names = ["scores", "h_out", "c_out"]
    with pytest.raises(FormatError, match=r"no node reads the input 'h'.*h\.clone\(\)"):
        read_network(export(cell("LSTMCell"), (obs, state, state), tmp_path, output_names=names))


def test_a_linear_state_space(tmp_path: Path) -> None:
    path = export(state_space(), zeros((1, 3), (1, 8)), tmp_path)
    network, xs = read_network(path), sequence(3)
    assert network.memory_size == 8
    np.testing.assert_allclose(walk(network, xs), looped(path, xs), rtol=1e-5, atol=1e-5)


def test_without_memory_among_the_inputs(tmp_path: Path) -> None:
    """An operator still remembers by itself; nn.RNN becomes arithmetic that starts anew, which is refused."""
    from torch import nn

    module = policy("GRU", given=False)
    network, xs = read_network(export(module, zeros((1, 1, 3)), tmp_path)), sequence(3)
    direct = from_torch(nn.Sequential(module.rnn, *module.head))
    np.testing.assert_allclose(walk(network, xs), walk(direct, xs), rtol=1e-6, atol=1e-6)
    with pytest.raises(UnsupportedOperator, match="it forgets: 'rnn' is a RNN of torch"):
        read_network(export(policy("RNN-relu", given=False), zeros((1, 1, 3)), tmp_path))


def feed_forward(name: str) -> tuple[Any, tuple[int, ...]]:
    import torch
    from torch import nn

    torch.manual_seed(6)
    if name == "mlp":
        return nn.Sequential(nn.Linear(3, 40), nn.ReLU(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 2)), (3,)
    convolutions = (nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2))
    return nn.Sequential(*convolutions, nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 2)), (1, 6, 6)


@pytest.mark.parametrize(("name", "batch"), [("mlp", 1), ("convolutions", 2)])
def test_feed_forward_networks(name: str, batch: int, tmp_path: Path) -> None:
    module, shape = feed_forward(name)
    options: dict[str, Any] = {"dynamic_shapes": ({0: "N"},)} if batch > 1 else {}
    path = export(module, zeros((batch, *shape)), tmp_path, **options)
    network = read_network(path)
    xs = points(network.input_size)
    np.testing.assert_allclose(compute(network, xs), reference(path, xs), rtol=1e-5, atol=1e-5)
