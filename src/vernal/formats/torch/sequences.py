"""Modules of one's own with recurrent layers in them, whatever they are called and whatever stands between them.

torch hides what such a layer remembers inside a call, so that an export of the module would start anew at every step.
Here every recurrent layer is given, for the time of one export, a forward pass that takes its memory from outside and
hands out what it remembers next. What is read so is believed only where the module itself, run along sequences, agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.torch.export import SIZES, first_size, read_exported
from vernal.formats.torch.policy import COMPARED_STEPS, RECURRENT, agrees, check_layer
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

FAILURES = (TypeError, RuntimeError, ValueError, AttributeError, IndexError)  # of a forward pass given something else
Run = Callable[[Array], Array]


def remembers(module: Any) -> bool:
    """Whether a recurrent layer of torch is part of it."""
    return any(True for _ in _recurrent(module))


def _recurrent(module: Any) -> Iterator[tuple[str, Any]]:
    from torch import nn

    for place, part in module.named_modules():
        if type(part).__name__ in RECURRENT and type(part) is getattr(nn, type(part).__name__):
            yield place, part


def read_remembering(module: Any, name: str, input_size: int | None, foreign: tuple[str, Any] | None) -> Network:
    """The network of a module that remembers: along a sequence, one step after the other, or with its memory given."""
    try:
        own = deepcopy(module).eval()
    except RuntimeError:
        raise FormatError(
            "it keeps a tensor with gradients in self; detach it, as in self.h = h.detach(), or set it to None"
        ) from None
    for place, part in _recurrent(own):
        check_layer(part, place)
    size = input_size if input_size is not None else first_size(own.modules())
    conventions = list(_conventions(own, size))
    if not conventions:
        return _read_given(own, name, size, foreign)
    for shape, run in conventions:
        network = _read_steps(own, name, size, shape, foreign)
        if all(agrees(network, xs, run(xs)) for xs in _sequences(size)):
            return network
    raise FormatError(
        "along a sequence it does not compute what one step with its memory computes: does it look back or ahead, "
        "branch on values, or draw at random? Give example=(what it sees, what it remembers), if it takes both"
    )


def _sequences(size: int) -> Iterator[Array]:
    random = np.random.default_rng(0)
    for deviation in SIZES:
        yield random.normal(scale=deviation, size=(COMPARED_STEPS, size)).astype(np.float32).astype(np.float64)


# How it is called -----------------------------------------------------------------------------------------------------


def _conventions(module: Any, size: int) -> Iterator[tuple[tuple[int, ...], Run]]:
    """The shapes of one step, each with a way to run a sequence, that the forward pass takes alone.

    A layer says which axis is time: along the other one it sees many sequences of one step, and remembers nothing.
    Cells do not say it. Single steps, with a memory kept in self, are tried where no whole sequence is taken.
    """
    batched: list[tuple[int, ...]] = [(1, -1, size), (-1, 1, size)]
    said = {part.batch_first for _, part in _recurrent(module) if hasattr(part, "batch_first")}
    if said:
        batched = [batched[0 if said == {True} else 1]]

    def whole(shape: tuple[int, ...]) -> Run:
        return lambda xs: _called(deepcopy(module), xs.reshape(shape))

    def singly(shape: tuple[int, ...]) -> Run:
        def run(xs: Array) -> Array:
            other = deepcopy(module)  # what it remembers between calls starts as it is now
            return np.concatenate([_called(other, x.reshape(shape)) for x in xs])

        return run

    sequences = [(tuple(map(abs, shape)), whole(shape)) for shape in batched]
    steps = [(shape, singly(shape)) for shape in ((1, size), (size,))]
    yield from list(filter(_runs, sequences)) or list(filter(_runs, steps))[:1]


def _runs(way: tuple[tuple[int, ...], Run]) -> bool:
    """Whether a module can be called so."""
    shape, run = way
    try:
        run(next(_sequences(shape[-1])))
    except FAILURES:
        return False
    return True


def _called(module: Any, xs: Array) -> Array:
    """All numbers of the first thing that it returns."""
    import torch

    kind = next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())
    with torch.no_grad():
        made = _first(module(torch.tensor(xs, dtype=kind)))
    numbers: Array = made.detach().cpu().numpy().astype(np.float64).ravel()
    return numbers


def _first(made: Any) -> Any:
    while isinstance(made, list | tuple):
        made = made[0]
    return made


# One step, its memory outside -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Layer:
    """A recurrent layer whose memory comes from outside: tensors (1, hidden), h of all its layers, then c of them."""

    part: Any
    memory: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)
    calls: int = 0

    @property
    def is_cell(self) -> bool:
        return type(self.part).__name__.endswith("Cell")

    @property
    def kind(self) -> str:
        return type(self.part).__name__.removesuffix("Cell")

    @property
    def depth(self) -> int:
        return 1 if self.is_cell else int(self.part.num_layers)

    def zeros(self) -> list[Any]:
        count = self.depth * (2 if self.kind == "LSTM" else 1)
        weight = next(self.part.parameters())
        return [weight.new_zeros(1, self.part.hidden_size) for _ in range(count)]

    def forward(self, x: Any, hx: Any = None) -> Any:
        """In place of the layer's own: what it is given as memory is only what it starts with."""
        import torch

        self.calls += 1
        if hx is not None:
            given = hx if isinstance(hx, list | tuple) else (hx,)
            self.start = [row for part in given for row in part.reshape(self.depth, 1, -1)]
        seen, hidden, cells = x.reshape(1, -1), self.memory[: self.depth], self.memory[self.depth :]
        made: list[tuple[Any, Any]] = []
        for number in range(self.depth):
            cell = cells[number] if cells else None
            made.append(self._step(number, seen, hidden[number], cell))
            seen = made[-1][0]
        self.after = [h for h, _ in made] + [c for _, c in made if c is not None]
        if self.is_cell:
            states = [part.reshape(*x.shape[:-1], -1) for part in self.after]
            return tuple(states) if cells else states[0]
        rows = (self.depth, 1) if x.ndim == 3 else (self.depth,)
        stacked = [torch.cat([pair[i] for pair in made]).reshape(*rows, -1) for i in range(2 if cells else 1)]
        return seen.reshape(*x.shape[:-1], -1), tuple(stacked) if cells else stacked[0]

    def _step(self, number: int, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        """One layer of it; torch has its gates in the orders r z n and i f g o."""
        import torch
        from torch.nn.functional import linear

        ending = "" if self.is_cell else f"_l{number}"
        w, r, b, d = (
            getattr(self.part, f"{name}{ending}", None) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        seen, kept = linear(x, w, b), linear(h, r, d)
        if self.kind == "RNN":
            return getattr(torch, self.part.nonlinearity)(seen + kept), None
        if self.kind == "GRU":
            (seen_r, seen_z, seen_n), (kept_r, kept_z, kept_n) = seen.chunk(3, 1), kept.chunk(3, 1)
            z = torch.sigmoid(seen_z + kept_z)
            n = torch.tanh(seen_n + torch.sigmoid(seen_r + kept_r) * kept_n)
            return (1 - z) * n + z * h, None
        i, f, g, o = (seen + kept).chunk(4, 1)
        after = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(after), after


def _read_steps(module: Any, name: str, size: int, shape: tuple[int, ...], foreign: tuple[str, Any] | None) -> Network:
    """The network of one step, its memory an input and an output of an export."""
    import torch

    stepped = deepcopy(module)
    layers = [_Layer(part) for _, part in _recurrent(stepped)]
    for layer in layers:
        layer.part.forward = layer.forward
        layer.memory = layer.zeros()
    example = torch.zeros(shape, dtype=next(stepped.parameters()).dtype)
    with torch.no_grad():
        stepped(example)
    used = [layer for layer in layers if layer.calls]
    if any(layer.calls > 1 for layer in used):
        raise UnsupportedOperator("a recurrent layer is called several times in one step, which Vernal does not read")
    starts = [value for layer in used for value in _numbers(layer.start or layer.zeros())]

    class Stepped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = deepcopy(module)
            self.layers = [
                _Layer(part) for layer, (_, part) in zip(layers, _recurrent(self.inner), strict=True) if layer.calls
            ]
            for layer in self.layers:
                layer.part.forward = layer.forward

        def forward(self, x: Any, *memory: Any) -> Any:
            given = iter(memory)
            for layer in self.layers:
                layer.memory = [next(given) for _ in layer.zeros()]
            made = _first(self.inner(x.reshape(shape))).reshape(1, -1)
            return (made, *(part for layer in self.layers for part in layer.after))

    memory = [part for layer in used for part in layer.zeros()]
    network = read_exported(Stepped(), name, size, (example.reshape(1, -1), *memory), foreign)
    return replace(network, starts=tuple(starts)) if any(starts) else network


def _numbers(tensors: Sequence[Any]) -> Iterator[Fraction]:
    for tensor in tensors:
        yield from (Fraction(float(value)) for value in tensor.detach().cpu().numpy().ravel())


# The memory as an argument --------------------------------------------------------------------------------------------


def _read_given(module: Any, name: str, size: int, foreign: tuple[str, Any] | None) -> Network:
    """The network of a module that takes what it sees and what it remembers, and returns both."""
    import torch

    layers = [_Layer(part) for _, part in _recurrent(module)]
    kind = next(module.parameters()).dtype
    said = ""
    for shape in ((1, size), (1, 1, size), (size,)):
        for state in _states(layers, unbatched=len(shape) == 1):
            example = (torch.zeros(shape, dtype=kind), *state)
            try:
                with torch.no_grad():
                    module(*example)
            except FAILURES as error:
                said = said or str(error).partition("\n")[0]
                continue
            return read_exported(module, name, size, example, foreign)
    raise FormatError(
        f"its forward pass takes neither a sequence nor one step with the memory of its layers ({said}); "
        "give example=(what it sees, what it remembers), tensors of the shapes that it takes"
    )


def _states(layers: Sequence[_Layer], unbatched: bool) -> Iterator[tuple[Any, ...]]:
    """Memories as a forward pass takes them: those of the only layer as torch has them, or one after the other."""
    import torch

    each = []
    for layer in layers:
        rows = layer.zeros() if layer.is_cell else [torch.stack(part) for part in _halves(layer)]
        each.append([part.squeeze(-2) if unbatched else part for part in rows])
    if len(each) == 1 and len(each[0]) == 2:
        yield (tuple(each[0]),)
    yield tuple(part for state in each for part in state)
    yield (tuple(part for state in each for part in state),)


def _halves(layer: _Layer) -> Iterator[list[Any]]:
    """h of all layers, then c of all layers."""
    zeros = layer.zeros()
    for place in range(0, len(zeros), layer.depth):
        yield zeros[place : place + layer.depth]
