"""Make the small networks of the twenty systems; their weights can be followed with a pencil.

    python -m benchmarks.forever.make               # from the root of the checkout

halfway   half of what it sees, by two ReLUs;
sign      what it sees and its negative, as scores: they are equal at 0;
blink     one recurrent unit, h' = relu(1 - h), which is its output;
fuse      one recurrent unit, h' = relu(h - 1), which is its output.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vernal.formats.layers import dense
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.recurrent import rnn
from vernal.model import build
from vernal.model.network import Network, network_input

HERE = Path(__file__).parent


def networks() -> dict[str, Network]:
    """By name."""
    seen = network_input(1)
    both = build.relu(dense(seen, np.array([[1.0], [-1.0]])))
    read = ([[1.0]], [0.0])
    return {
        "halfway": Network("halfway", seen, dense(both, np.array([[0.5, -0.5]]))),
        "sign": Network("sign", seen, dense(seen, np.array([[1.0], [-1.0]]))),
        "blink": rnn([([[0.0]], [[-1.0]], [1.0])], [read]),
        "fuse": rnn([([[0.0]], [[1.0]], [-1.0])], [read]),
    }


if __name__ == "__main__":
    for name, network in networks().items():
        write_onnx(network, HERE / f"{name}.onnx")
        print(HERE / f"{name}.onnx")
