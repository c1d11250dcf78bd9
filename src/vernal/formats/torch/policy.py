"""Recurrent layers of torch, and policies made of them.

A policy of one's own class is read as its children one after the other, in the order in which they are declared (those
called `encoder`, `rnn` and `head` in this order). That its forward pass is this is not taken on trust: the module is
run on a sequence, and has to agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vernal.errors import FormatError, MissingExtra, UnsupportedOperator
from vernal.formats.recurrent import ACTIVATIONS, Gate, GruGates, LstmGates, Slots, split_gates, walked
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Expr
from vernal.model.network import Network

RECURRENT = ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell")
CHILDREN = ("encoder", "rnn", "head")
COMPARED_STEPS = 12
TOLERANCE = 1e-3  # relative: twelve steps of float32 differ by far less, another forward pass by far more


def policy_parts(module: Any) -> list[tuple[str, Any]]:
    """The parts of a policy in the order in which they are applied; a module of another kind is one part."""
    try:
        from torch import nn
    except ImportError:
        raise MissingExtra("reading a torch module", "torch") from None
    children = dict(module.named_children()) if isinstance(module, nn.Module) else {}
    own = type(module) is not getattr(nn, type(module).__name__, None)
    if own and "rnn" in children and set(children) <= set(CHILDREN):
        return [(name, children[name]) for name in CHILDREN if name in children]
    if own and any(type(part).__name__ in RECURRENT for part in children.values()):
        return list(children.items())
    return [("", module)]


def read_recurrent(part: Any, kind: str, place: str, x: Expr, slots: Slots, tensors: dict[str, Array]) -> Expr:
    """What a recurrent layer remembers next, layer by layer; dropout between layers is off."""
    check_layer(part, place)
    if part.input_size != x.size:
        raise FormatError(f"layer {place!r} takes {part.input_size} inputs, but is given {x.size}")
    endings = ("",) if kind.endswith("Cell") else (f"_l{number}" for number in range(part.num_layers))
    for ending in endings:
        names = (f"{name}{ending}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        w, r, b, c = (tensors.get(name) for name in names)
        assert w is not None
        assert r is not None
        x = _layer(part, kind.removesuffix("Cell"), x, slots, split_gates(w, r, b, c))
    return x


def check_layer(part: Any, place: str) -> None:
    """Refuse a recurrent layer of a kind that is not read."""
    if getattr(part, "bidirectional", False):
        raise UnsupportedOperator(f"layer {place!r} is bidirectional; an agent cannot see the future")
    if getattr(part, "proj_size", 0):
        raise UnsupportedOperator(f"layer {place!r} projects what it remembers (proj_size), which Vernal does not read")


def _layer(part: Any, kind: str, x: Expr, slots: Slots, gates: list[Gate]) -> Expr:
    """One layer; torch has its gates in the orders r z n and i f g o."""
    if kind == "RNN":
        return slots.rnn(x, gates[0], ACTIVATIONS[part.nonlinearity])
    if kind == "GRU":
        reset, update, new = gates
        return slots.gru(x, GruGates(update, reset, new))
    i, f, g, o = gates
    return slots.lstm(x, LstmGates(i, f, g, o))


# Does the module compute this? ----------------------------------------------------------------------------------------


def is_chain(module: Any, network: Network) -> bool:
    """Whether the module, run on a sequence, gives what was read of its parts one after the other."""
    xs = np.random.default_rng(0).normal(size=(COMPARED_STEPS, network.input_size))
    theirs = _run(module, xs)
    return theirs is not None and agrees(network, xs, theirs)


def agrees(network: Network, xs: Array, theirs: Array) -> bool:
    """Whether the numbers of a module are those of the network along a sequence: for every step, or for the last."""
    ours = walked(network, xs)
    wanted = ours if theirs.size == ours.size else ours[-1:]
    if theirs.size != wanted.size:
        return False
    theirs = theirs.reshape(wanted.shape)
    if network.dropped is not None:
        theirs, wanted = np.argsort(theirs, axis=1), np.argsort(wanted, axis=1)
    return np.allclose(theirs, wanted, rtol=TOLERANCE, atol=TOLERANCE)


def _run(module: Any, xs: Array) -> Array | None:
    """What the module gives for a sequence alone; None where it takes none."""
    import torch

    layers = [part for part in module.modules() if type(part).__name__ in RECURRENT]
    batch_first = bool(getattr(layers[0], "batch_first", False))
    kind = next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())
    sequence = torch.tensor(xs, dtype=kind)[None] if batch_first else torch.tensor(xs, dtype=kind)[:, None]
    modes = {part: part.training for part in module.modules()}
    try:
        with torch.no_grad():
            made = module.eval()(sequence)
    except (TypeError, RuntimeError, ValueError, AttributeError, IndexError):
        return None
    finally:
        for part, training in modes.items():
            part.training = training
    result: Array = (made[0] if isinstance(made, tuple) else made).cpu().numpy().astype(np.float64)
    return result.ravel()
