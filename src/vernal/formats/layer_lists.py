"""Networks given as lists: of each layer its weights, its biases and the name of its activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.layers import check_finite, check_weights, check_width, dense
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.functions import sigmoid, tanh
from vernal.model.network import Network, network_input

MAX_LAYERS = 1000
ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {  # by all their names, those of MATLAB's toolbox among them
    **dict.fromkeys(("linear", "purelin", "identity"), lambda x: x),
    **dict.fromkeys(("relu", "poslin"), build.relu),
    **dict.fromkeys(("tanh", "tansig"), tanh),
    **dict.fromkeys(("sigmoid", "logsig"), sigmoid),
}


@dataclass(frozen=True, slots=True, eq=False)
class ListedLayer:
    """One layer: weights (outputs, inputs), one bias an output, and an activation by its name."""

    weights: Array
    biases: Array
    activation: str


def network_of(layers: Sequence[ListedLayer], name: str) -> Network:
    """The network of all layers, one after the other; what does not fit together is an error that says where."""
    if not 0 < len(layers) <= MAX_LAYERS:
        raise FormatError(f"it has {len(layers)} layers; 1 to {MAX_LAYERS} are read")
    variable = network_input(check_width((_columns(layers[0], 1),)))
    x: Expr = variable
    for number, layer in enumerate(layers, start=1):
        _check(layer, number, x.size)
        x = _activation(layer.activation, number)(dense(x, layer.weights, layer.biases))
    return Network(name, variable, x)


def _columns(layer: ListedLayer, number: int) -> int:
    if layer.weights.ndim != 2 or not layer.weights.size:
        raise FormatError(f"the weights of layer {number} are no table of numbers")
    return int(layer.weights.shape[1])


def _check(layer: ListedLayer, number: int, inputs: int) -> None:
    columns, rows = _columns(layer, number), len(layer.weights)
    if columns != inputs:
        raise FormatError(f"layer {number} has weights for {columns} inputs, and what comes before it has {inputs}")
    if layer.biases.shape != (rows,):
        raise FormatError(f"layer {number} has {rows} rows of weights, but {layer.biases.size} biases")
    check_weights(rows, columns)
    for what, array in (("weights", layer.weights), ("biases", layer.biases)):
        check_finite(array, f"the {what} of layer {number}")


def _activation(name: str, number: int) -> Callable[[Expr], Expr]:
    found = ACTIVATIONS.get(name.strip().lower())
    if found is None:
        known = ", ".join(sorted(ACTIVATIONS))
        raise UnsupportedOperator(f"activation {name[:40]!r} of layer {number} is not read; supported: {known}")
    return found
