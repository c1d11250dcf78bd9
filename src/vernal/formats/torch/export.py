"""Any module that torch can export: read by way of ONNX, and compared with the module before it is believed.

The graph that torch traces is read by the ONNX reader like any file. Where it says something else than the module does
(a branch that was taken for good, a memory kept in `self`, something drawn at random), random inputs show it.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import FormatError, MissingExtra, UnsupportedOperator
from vernal.formats.onnx.reader import parse_onnx
from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

if TYPE_CHECKING:
    from torch.nn import Module

INPUTS = 100  # random inputs, of each size
SIZES = (0.1, 1.0, 10.0)  # their standard deviations
TOLERANCE = 1e-4  # relative to the largest output: float32 differs by far less, another function by far more
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SAYS_INPUTS = ("in_features", "num_features", "input_size")


def first_size(parts: Iterable[Any]) -> int:
    """How many inputs there are, as the first layer says that says it."""
    for part in parts:
        for attribute in SAYS_INPUTS:
            if hasattr(part, attribute):
                return int(getattr(part, attribute))
        if len(getattr(part, "normalized_shape", ())) == 1:
            return int(part.normalized_shape[0])
        if getattr(part, "num_parameters", 1) > 1:
            return int(part.num_parameters)
    raise FormatError("no layer says how many inputs there are; give input_size")


def read_exported(
    module: Module, name: str, input_size: int | None, example: Any, foreign: tuple[str, Any] | None
) -> Network:
    """The network of a module that torch exports; `foreign` is the layer that is not read by itself, for messages."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise FormatError(f"{type(module).__name__} is no module of torch")
    given = _example(module, input_size, example)
    training = module.training
    try:
        with torch.no_grad():
            network = parse_onnx(_exported(module.eval(), given, foreign), name)
            _compare(module, given, network)
    finally:
        module.train(training)
    return network


def _example(module: Any, input_size: int | None, example: Any) -> tuple[Any, ...]:
    """What the module is exported with: a batch of one vector, if nothing else is said."""
    import torch

    if example is not None:
        return example if isinstance(example, tuple) else (example,)
    kind = next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())
    size = input_size if input_size is not None else first_size(module.modules())
    return (torch.zeros(1, size, dtype=kind),)


def _exported(module: Any, given: tuple[Any, ...], foreign: tuple[str, Any] | None) -> bytes:
    """The bytes of an ONNX file; what follows the first output is what is remembered, in the order of the inputs."""
    import torch

    memories = len(list(_flat(given))) - 1
    names = {
        "input_names": ["obs", *(f"m{number}_in" for number in range(memories))],
        "output_names": ["scores", *(f"m{number}_out" for number in range(memories))],
    }
    try:
        import onnxscript  # noqa: F401 - what torch's exporter needs
    except ImportError:
        what = "reading a torch module" if foreign is None else f"reading {foreign[0]!r}, a {type(foreign[1]).__name__}"
        raise MissingExtra(f"{what}, which is no layer that Vernal knows, by torch's exporter", "torch") from None
    try:
        with _quietly():
            program = torch.onnx.export(module, given, dynamo=True, verbose=False, **names)
    except Exception as error:  # torch's exporter raises whatever its parts do
        raise UnsupportedOperator(f"torch cannot export it: {_cause(error)}") from None
    content: bytes = program.model_proto.SerializeToString()
    return content


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the remarks and pages of graphs that torch logs and prints while it exports."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _cause(error: BaseException) -> str:
    """The first line of what went wrong first."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in COLOURS.sub("", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _flat(values: Any) -> Iterator[Any]:
    """Tensors one after the other, out of tuples in tuples, as h and c of an LSTM."""
    for value in values if isinstance(values, list | tuple) else [values]:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


# Does the module compute this? ----------------------------------------------------------------------------------------


def _compare(module: Any, given: tuple[Any, ...], network: Network) -> None:
    """Run the module on random inputs and memories; all it returns has to agree, wherever that is a number."""
    random = np.random.default_rng(0)
    compared = 0
    variables = (network.inputs, *(var for var, _ in network.memory))
    for deviation in SIZES:
        drawn = [random.normal(0, deviation, (INPUTS, var.size)).astype(np.float32) for var in variables]
        ours = evaluate(network.roots, {var: xs.astype(float) for var, xs in zip(variables, drawn, strict=True)})
        rows = [_run(module, given, [xs[row] for xs in drawn]) for row in range(INPUTS)]
        theirs = [np.array(column) for column in zip(*rows, strict=True)]
        finite = np.isfinite(np.concatenate(theirs, axis=1)).all(axis=1)
        compared += int(finite.sum())
        pairs = [(mine[finite], other[finite]) for mine, other in zip(ours, theirs, strict=False)]
        if len(ours) != len(theirs) or not all(map(_agree, pairs, [network.dropped, *[None] * len(ours)])):
            raise FormatError(
                "what torch exported is not what the module computes: does its forward pass branch on values, keep "
                "something in self, or draw at random?"
            )
    if not compared:
        raise FormatError("it returns NaN or infinite numbers for all random inputs, so that nothing could be compared")


def _run(module: Any, given: tuple[Any, ...], drawn: list[Array]) -> list[Array]:
    """What the module returns for inputs of the shapes of an example."""
    import torch

    numbers = iter(drawn)

    def shaped(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(shaped(part) for part in value)
        return torch.tensor(next(numbers), dtype=value.dtype).reshape(value.shape)

    made = module(*(shaped(value) for value in given))
    return [part.detach().cpu().numpy().astype(np.float64).ravel() for part in _flat(made)]


def _agree(pair: tuple[Array, Array], dropped: str | None) -> bool:
    ours, theirs = pair
    if not theirs.size:
        return True
    if ours.shape != theirs.shape:
        return False
    if dropped is not None:  # a softmax at the end: differences of scores are differences of logarithms
        logs = np.log(np.maximum(theirs, 1e-300)) if dropped == "Softmax" else theirs
        ours, theirs = ours - ours.max(axis=1, keepdims=True), logs - logs.max(axis=1, keepdims=True)
        likely = theirs > -20  # the others are beyond what float32 keeps of a probability
        return bool(np.allclose(ours[likely], theirs[likely], rtol=TOLERANCE, atol=1e-2))
    return bool(np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), 1e-30))
