"""Recurrent layers of torch, and policies made of them.

A policy of one's own class is accepted where its children are called `encoder` (optional), `rnn` and `head`. That its
forward pass is `head(rnn(encoder(x)))` is not taken on trust: the module is run on a sequence, and has to agree.
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
    return [("", module)]


def read_recurrent(part: Any, kind: str, place: str, x: Expr, slots: Slots, tensors: dict[str, Array]) -> Expr:
    """What a recurrent layer remembers next, layer by layer; dropout between layers is off."""
    if getattr(part, "bidirectional", False):
        raise UnsupportedOperator(f"layer {place!r} is bidirectional; an agent cannot see the future")
    if getattr(part, "proj_size", 0):
        raise UnsupportedOperator(f"layer {place!r} projects what it remembers (proj_size), which Vernal does not read")
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


def check_policy(module: Any, network: Network) -> None:
    """Run the module on a sequence and compare; an output for every step, or for the last one."""
    xs = np.random.default_rng(0).normal(size=(COMPARED_STEPS, network.input_size))
    ours = walked(network, xs)
    theirs = _run(module, xs, bool(getattr(module.rnn, "batch_first", False)))
    wanted = ours if theirs.size == ours.size else ours[-1:]
    if theirs.size != wanted.size:
        raise FormatError(
            f"it gives {theirs.size} numbers for {COMPARED_STEPS} steps; "
            f"{ours.shape[1]} for each or for the last are read"
        )
    if network.dropped is not None:
        theirs, wanted = _order(theirs.reshape(wanted.shape)), _order(wanted)
    if not np.allclose(theirs.ravel(), wanted.ravel(), rtol=TOLERANCE, atol=TOLERANCE):
        raise FormatError(
            "its forward pass is not head(rnn(encoder(x))), as a module with these children is read; "
            "rebuild it so, or export it to ONNX with its memory as inputs and outputs"
        )


def _run(module: Any, xs: Array, batch_first: bool) -> Array:
    import torch

    kind = next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())
    sequence = torch.tensor(xs, dtype=kind)[None] if batch_first else torch.tensor(xs, dtype=kind)[:, None]
    training = module.training
    try:
        with torch.no_grad():
            made = module.eval()(sequence)
    except (TypeError, RuntimeError, ValueError, AttributeError) as error:
        shape = "(1, steps, inputs)" if batch_first else "(steps, 1, inputs)"
        raise FormatError(f"its forward pass does not take a sequence of shape {shape} alone: {error}") from None
    finally:
        module.train(training)
    result: Array = (made[0] if isinstance(made, tuple) else made).cpu().numpy().astype(np.float64)
    return result


def _order(scores: Array) -> Array:
    return np.argsort(scores, axis=1)
