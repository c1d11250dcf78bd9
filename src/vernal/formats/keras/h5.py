"""Keras .h5 files as networks: a Sequential stack of Dense and SimpleRNN layers, read with h5py alone.

The layers are in a JSON text, the weights in the groups beside it (Keras 2 and 3 lay them out alike). The HDF5 library
works in a process of its own (`extract`), since a damaged file can make it hang. Nothing in the file is executed: a
Lambda layer, like any other unknown one, is refused by name. Parameters a layer computes with in float32 (the slope of
a leaky ReLU) are the float32 numbers nearest to the decimals of the JSON text. A SimpleRNN is read one step at a time:
what it would carry along a sequence is the memory of the network, zero at first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.json_text import parsed_json
from vernal.formats.layers import check_finite, check_width, dense, sigmoid, single, tanh
from vernal.formats.recurrent import Gate, Slots
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MAX_LAYERS = 1000
MAX_SECONDS = 20  # for a file of at most 64 MiB; anything longer is a damaged one
Config = Mapping[str, Any]


def parse_h5(data: bytes, name: str) -> Network:
    """The network of a file's bytes."""
    if data.startswith(b"PK"):
        raise FormatError("a zip archive, as Keras 3 writes .keras files; save the model as .h5 instead")
    if not data.startswith(SIGNATURE):
        raise FormatError("not an HDF5 file, or a damaged one")
    return _H5Reader(_extract(data)).network(name)


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds: the description of the model, the version of Keras, and tensors by layer and name."""

    config: str
    version: str
    tensors: Mapping[str, Mapping[str, Array]]


def _extract(data: bytes) -> Content:
    """The content of a file, read by a process that may hang or crash without harm."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("extract.py"))]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    try:
        answer = subprocess.run(command, input=data, capture_output=True, timeout=MAX_SECONDS, env=alone, check=False)
    except subprocess.TimeoutExpired:
        raise FormatError("a damaged HDF5 file (its structure leads in circles)") from None
    head, _, body = answer.stdout.partition(b"\n")
    if answer.returncode != 0 or not head:
        if b"ModuleNotFoundError" in answer.stderr:
            raise FormatError("h5py, which reads .h5 files, is not installed: pip install h5py")
        raise FormatError("a damaged HDF5 file (the HDF5 library gave up)")
    said = json.loads(head)
    if "refused" in said:
        raise FormatError(said["refused"])
    return Content(said["config"], said["version"], _tensors(said["tensors"], body))


def _tensors(rows: Sequence[Config], body: bytes) -> dict[str, dict[str, Array]]:
    """The arrays of an answer; by the last part of their names, without the number of the variable."""
    found: dict[str, dict[str, Array]] = {}
    start = 0
    for row in rows:
        count = prod(row["shape"])
        array = np.frombuffer(body, dtype="<f8", count=count, offset=start).reshape(row["shape"])
        check_finite(array, f"tensor {row['name']!r}")
        found.setdefault(row["layer"], {})[row["name"].split("/")[-1].split(":")[0]] = array.astype(np.float64)
        start += array.nbytes
    return found


class _H5Reader:
    """The layers are put on top of each other in the order of the JSON text."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self.dropped: str | None = None
        self.shape: tuple[int, ...] = ()
        self.slots = Slots()

    def network(self, name: str) -> Network:
        layers = _layers(self.content.config)
        recurrent = any(layer["class_name"] == "SimpleRNN" for layer in layers)
        self.shape = _input_shape(layers, recurrent) or (self._first_width(layers),)
        variable = network_input(check_width(self.shape))
        x: Expr = variable
        for layer in layers:
            if self.dropped is not None and layer["class_name"] not in ("Dropout", "Flatten"):
                raise UnsupportedOperator(f"{self.dropped} is read only as the last layer")
            x = self._layer(x, str(layer["class_name"]), layer["config"])
        return self.slots.network(name, variable, x, self.dropped)

    def _layer(self, x: Expr, kind: str, config: Config) -> Expr:
        if kind in ("InputLayer", "Dropout"):
            return x
        if kind == "Flatten":
            self.shape = (x.size,)
            return x
        if kind == "Dense":
            return self._activate(self._dense(x, config), config.get("activation"))
        if kind == "SimpleRNN":
            return self._recurrent(x, config)
        if kind == "Activation":
            return self._activate(x, config.get("activation"))
        if kind == "Softmax":
            return self._softmax(x, config.get("axis", -1))
        if kind in LAYERS:
            return LAYERS[kind](x, config)
        known = sorted(["Activation", "Dense", "Dropout", "Flatten", "InputLayer", "SimpleRNN", "Softmax", *LAYERS])
        raise UnsupportedOperator(
            f"layer {config.get('name')!r} is a {kind}, which Vernal does not read; supported: {', '.join(known)}"
        )

    def _dense(self, x: Expr, config: Config) -> Expr:
        if len(self.shape) != 1:
            raise UnsupportedOperator(f"layer {config.get('name')!r} works on rows of a matrix; flatten its input")
        tensors = self._weights(config)
        kernel, bias = tensors.get("kernel"), tensors.get("bias")
        if kernel is None or (bias is None) == bool(config.get("use_bias", True)):
            raise FormatError(
                f"layer {config.get('name')!r} has weights {sorted(tensors)}, not those its text promises"
            )
        if kernel.ndim != 2 or kernel.shape[0] != x.size or (bias is not None and bias.shape != kernel.shape[1:]):
            raise FormatError(f"layer {config.get('name')!r} has weights of shapes that do not fit {x.size} inputs")
        if config.get("units") != kernel.shape[1]:
            raise FormatError(
                f"layer {config.get('name')!r} promises {config.get('units')} units, not {kernel.shape[1]}"
            )
        self.shape = (kernel.shape[1],)
        return dense(x, kernel.T, bias)

    def _recurrent(self, x: Expr, config: Config) -> Expr:
        """A plain cell; whether it returns the whole sequence or its end makes no difference to a single step."""
        name, tensors = config.get("name"), self._weights(config)
        kernel, memory, bias = (tensors.get(key) for key in ("kernel", "recurrent_kernel", "bias"))
        if config.get("go_backwards"):
            raise UnsupportedOperator(f"layer {name!r} goes backwards; an agent cannot see the future")
        if kernel is None or memory is None or (bias is None) == bool(config.get("use_bias", True)):
            raise FormatError(f"layer {name!r} has weights {sorted(tensors)}, not those its text promises")
        units = config.get("units")
        fits = kernel.shape == (x.size, units) and memory.shape == (units, units)
        if len(self.shape) != 1 or not fits or (bias is not None and bias.shape != (units,)):
            raise FormatError(f"layer {name!r} has weights of shapes that do not fit {x.size} inputs and {units} units")
        activation = config.get("activation", "tanh")
        if _activation_name(activation) == "softmax":
            raise UnsupportedOperator(f"layer {name!r} remembers a softmax, which is read only as the last layer")
        self.shape = (int(kernel.shape[1]),)
        return self.slots.rnn(x, Gate(kernel.T, memory.T, bias), lambda y: self._activate(y, activation))

    # Weights ----------------------------------------------------------------------------------------------------------

    def _first_width(self, layers: list[Config]) -> int:
        """The number of inputs, from the first weights, where no layer says it."""
        for layer in layers:
            if layer["class_name"] in ("Dense", "SimpleRNN"):
                kernel = self._weights(layer["config"]).get("kernel")
                if kernel is not None and kernel.ndim == 2:
                    return int(kernel.shape[0])
        raise FormatError("it does not say how many inputs it has")

    def _weights(self, config: Config) -> Mapping[str, Array]:
        return self.content.tensors.get(str(config.get("name")), {})

    # Activations ------------------------------------------------------------------------------------------------------

    def _activate(self, x: Expr, activation: object) -> Expr:
        kind = _activation_name(activation)
        if kind == "softmax":
            return self._softmax(x, -1)
        if kind == "hard_sigmoid":
            return self._hard_sigmoid(x)
        if kind not in ACTIVATIONS:
            known = sorted([*ACTIVATIONS, "hard_sigmoid", "softmax"])
            raise UnsupportedOperator(f"activation {kind!r} is not read; supported: {', '.join(known)}")
        return ACTIVATIONS[kind](x)

    def _softmax(self, x: Expr, axis: object) -> Expr:
        """Left out at the very end, where it keeps the order of the scores; the network remembers that."""
        if axis not in (-1, 1) or len(self.shape) != 1:
            raise UnsupportedOperator("Softmax is read only over all outputs")
        self.dropped = "Softmax"
        return x

    def _hard_sigmoid(self, x: Expr) -> Expr:
        """clip(0.2 x + 0.5) in Keras 2, clip(x / 6 + 0.5) in Keras 3."""
        if self.content.version.startswith("2."):
            return build.hard_sigmoid(x, single(0.2))
        if self.content.version.startswith("3."):
            return build.hard_sigmoid(x, Fraction(1, 6))
        raise FormatError("hard_sigmoid means different things in Keras 2 and 3, and the file does not say its version")


def _relu_layer(x: Expr, config: Config) -> Expr:
    slope, limit = _number(config.get("negative_slope") or 0), config.get("max_value")
    if config.get("threshold"):
        raise UnsupportedOperator(
            f"layer {config.get('name')!r} is a ReLU with a threshold, which Vernal does not read"
        )
    y = build.leaky_relu(x, (slope,)) if slope else build.relu(x)
    return y if limit is None else build.minimum(y, _number(limit))


def _leaky_layer(x: Expr, config: Config) -> Expr:
    slope = config.get("negative_slope", config.get("alpha", 0.3))
    return build.leaky_relu(x, (_number(slope),))


LAYERS: dict[str, Callable[[Expr, Config], Expr]] = {"LeakyReLU": _leaky_layer, "ReLU": _relu_layer}

ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {
    "linear": lambda x: x,
    "relu": build.relu,
    "leaky_relu": lambda x: build.leaky_relu(x, (single(0.2),)),
    "sigmoid": sigmoid,
    "tanh": tanh,
}


def _activation_name(activation: object) -> str:
    """The name of an activation, also where Keras 3 wraps it into a description of an object."""
    if activation is None:
        return "linear"
    if isinstance(activation, dict):
        inner = activation.get("config")
        return inner if isinstance(inner, str) else str(activation.get("class_name"))
    return str(activation)


def _number(value: object) -> Fraction:
    """A parameter of a layer; some versions wrap it into an array description."""
    if isinstance(value, dict):
        value = value.get("value", value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(np.float32(value)):
        raise FormatError(f"a layer has {str(value)[:40]!r} where a number is expected")
    return single(value)


# The JSON text --------------------------------------------------------------------------------------------------------


def _layers(text: str) -> list[Config]:
    """The descriptions of the layers."""
    model = parsed_json(text, "the layers of its model")
    kind = model.get("class_name") if isinstance(model, dict) else None
    if kind != "Sequential":
        raise UnsupportedOperator(f"its model is a {kind}; Vernal reads Sequential models, others come in as ONNX")
    config = model.get("config")
    layers = config.get("layers") if isinstance(config, dict) else config  # the oldest files have the list itself
    if not isinstance(layers, list) or not 0 < len(layers) <= MAX_LAYERS:
        raise FormatError(f"its model has no layers, or more than {MAX_LAYERS}")
    for layer in layers:
        if not isinstance(layer, dict) or "class_name" not in layer or not isinstance(layer.get("config"), dict):
            raise FormatError("one of its layers has no description")
    return layers


def _input_shape(layers: list[Config], recurrent: bool = False) -> tuple[int, ...]:
    """The shape of one input, where the first layer says it; of one step, where the network is recurrent."""
    config = layers[0]["config"]
    given = config.get("batch_input_shape") or config.get("batch_shape")
    if not isinstance(given, list) or len(given) < 2:
        return ()
    if recurrent and len(given) == 3:
        if given[1] not in (None, 1):
            steps = f"sequences of {given[1]} steps"
            raise UnsupportedOperator(f"its input is {steps}; rebuild the model for sequences of any length (None)")
        given = [given[0], given[2]]
    if not all(isinstance(size, int) and size > 0 for size in given[1:]):
        raise FormatError(f"its input has the shape {given}; export with fixed sizes")
    return tuple(given[1:])
