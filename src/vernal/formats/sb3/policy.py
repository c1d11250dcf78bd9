"""The network of a policy of stable-baselines3, from its weights and how it was made.

All its algorithms keep a stack of dense layers with one activation between them; names of the weights say which
algorithm it is. A discrete policy has the scores of its actions as outputs (`act = "argmax"`), a continuous one the
actions themselves (`act = "raw"`): clipped to their bounds, or squashed by tanh and stretched to them, as `predict`
with `deterministic=True` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats import activations, layers
from vernal.formats.recurrent import LstmGates, Slots, split_gates
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input

Tensors = Mapping[str, Array]
ACTIVATIONS: Mapping[str, Callable[[Expr], Expr]] = {
    "ELU": lambda x: activations.elu(x, Fraction(1)),
    "Identity": lambda x: x,
    "LeakyReLU": lambda x: build.leaky_relu(x, (layers.single(0.01),)),
    "Mish": activations.mish,
    "ReLU": build.relu,
    "SiLU": activations.silu,
    "Sigmoid": layers.sigmoid,
    "Softplus": activations.softplus,
    "Tanh": layers.tanh,
}


@dataclass(frozen=True)
class ActionBounds:
    """Of a continuous action: the ends of each number."""

    low: Array
    high: Array


@dataclass(frozen=True)
class Normalisation:
    """What `VecNormalize` does to an observation: (x - mean) / sqrt(variance + epsilon), clipped."""

    mean: Array
    variance: Array
    epsilon: float
    clip: float

    def __call__(self, x: Expr) -> Expr:
        if self.mean.shape != (x.size,):
            raise FormatError(f"observations have {x.size} numbers, but those of {self.mean.size} are normalised")
        spread = np.asarray(self.variance, dtype=np.float64) + self.epsilon
        if self.variance.shape != self.mean.shape or not (spread > 0).all():
            raise FormatError("variances of its observations are not positive, or not as many as their means")
        divisor = np.sqrt(spread)
        moved = layers.divide(layers.shift(x, -np.asarray(self.mean, dtype=np.float64)), divisor)
        return build.clip(moved, -Fraction(self.clip), Fraction(self.clip))


@dataclass(frozen=True)
class SavedPolicy:
    """Weights by their names, and what they do not say."""

    tensors: Tensors
    activation: str | None  # None: the one the algorithm takes if nothing else is said
    bounds: ActionBounds | None  # None: actions are numbered
    squashed: bool = False  # whether actions of an actor-critic policy go through tanh
    normalisation: Normalisation | None = None


@dataclass(frozen=True)
class Algorithm:
    """The stacks of layers of a policy in their order, by the names of their weights, and what follows."""

    stacks: tuple[str, ...]
    activation: str
    squashes: bool = False  # its last layer is followed by tanh
    memory: str | None = None  # an LSTM before the stacks


ALGORITHMS: Mapping[str, Algorithm] = {  # by a weight that only it has
    "lstm_actor.weight_ih_l0": Algorithm(("mlp_extractor.policy_net", "action_net"), "Tanh", memory="lstm_actor"),
    "q_net.q_net.0.weight": Algorithm(("q_net.q_net",), "ReLU"),
    "actor.latent_pi.0.weight": Algorithm(("actor.latent_pi", "actor.mu"), "ReLU", squashes=True),
    "actor.mu.0.weight": Algorithm(("actor.mu",), "ReLU", squashes=True),
    "action_net.weight": Algorithm(("mlp_extractor.policy_net", "action_net"), "Tanh"),
}
MAX_DIGITS = 5  # of the number of a layer
KINDS = "PPO, A2C, DQN, SAC, TD3, DDPG and RecurrentPPO with dense layers"


def network_of(policy: SavedPolicy, name: str) -> Network:
    """The network that a policy computes, from an observation to scores or to actions."""
    algorithm = _algorithm(policy.tensors)
    _refuse_extractors(policy.tensors)
    first = f"{algorithm.memory}.weight_ih_l0" if algorithm.memory else _dense(policy.tensors, algorithm.stacks)[0][0]
    variable = network_input(_matrix(policy.tensors, first).shape[1])
    slots = Slots()
    x: Expr = variable if policy.normalisation is None else policy.normalisation(variable)
    if algorithm.memory:
        x = _remembered(policy.tensors, algorithm.memory, x, slots)
    x = _through(policy, algorithm, x)
    return slots.network(name, variable, _acting(policy, algorithm, x), None)


def _algorithm(tensors: Tensors) -> Algorithm:
    for weight, algorithm in ALGORITHMS.items():
        if weight in tensors:
            return algorithm
    raise UnsupportedOperator(f"it is no policy that Vernal knows; {KINDS} are read")


def _refuse_extractors(tensors: Tensors) -> None:
    """Weights of convolutions or of a feature extractor of one's own."""
    for name in tensors:
        if "features_extractor." in name:
            raise UnsupportedOperator(f"it extracts features by layers of its own ({name}); observations as they are, "
                                      "in one vector, are read")  # fmt: skip


def _tensor(tensors: Tensors, name: str) -> Array:
    if name not in tensors:
        raise FormatError(f"it has no weights {name!r}")
    layers.check_finite(tensors[name], name)
    return tensors[name].astype(np.float64)


def _matrix(tensors: Tensors, name: str) -> Array:
    found = _tensor(tensors, name)
    if found.ndim != 2 or not found.size:
        raise FormatError(f"{name} is no matrix")
    return found


def _dense(tensors: Tensors, stacks: tuple[str, ...]) -> list[tuple[str, str]]:
    """The names of weights and biases, layer after layer."""
    found = []
    for stack in stacks:
        if f"{stack}.weight" in tensors:
            found.append((f"{stack}.weight", f"{stack}.bias"))
            continue
        own = [name.removeprefix(f"{stack}.").split(".") for name in tensors if name.startswith(f"{stack}.")]
        places = sorted({int(part[0]) for part in own if part[0].isdecimal() and len(part[0]) < MAX_DIGITS})
        if places != list(range(0, 2 * len(places), 2)):
            raise UnsupportedOperator(f"the layers {stack} are not dense ones with an activation after each")
        found += [(f"{stack}.{place}.weight", f"{stack}.{place}.bias") for place in places]
    if not found:
        raise FormatError(f"it has no weights of the layers {' and '.join(stacks)}")
    return found


def _remembered(tensors: Tensors, name: str, x: Expr, slots: Slots) -> Expr:
    """What an LSTM remembers next, layer by layer; torch has its gates in the order i f g o."""
    number = 0
    while f"{name}.weight_ih_l{number}" in tensors:
        ends = (f"{name}.{part}_l{number}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        w, r, b, c = (_tensor(tensors, end) for end in ends)
        hidden = r.shape[-1] if r.ndim else 0
        if w.shape != (4 * hidden, x.size) or r.shape != (4 * hidden, hidden) or {b.shape, c.shape} != {(4 * hidden,)}:
            raise FormatError(f"the weights of layer {number} of {name} do not fit {x.size} numbers")
        i, f, g, o = split_gates(w, r, b, c)
        x = slots.lstm(x, LstmGates(i, f, g, o))
        number += 1
    return x


def _through(policy: SavedPolicy, algorithm: Algorithm, x: Expr) -> Expr:
    """Dense layers, each but the last followed by the activation."""
    kind = policy.activation or algorithm.activation
    if kind not in ACTIVATIONS:
        raise UnsupportedOperator(f"its activation {kind} is not read; {', '.join(sorted(ACTIVATIONS))} are")
    names = _dense(policy.tensors, algorithm.stacks)
    for place, (weight, bias) in enumerate(names):
        matrix, offset = _matrix(policy.tensors, weight), _tensor(policy.tensors, bias)
        if matrix.shape != (offset.size, x.size) or offset.ndim != 1:
            raise FormatError(f"{weight} and {bias} do not make a layer that takes {x.size} numbers")
        x = layers.dense(x, matrix, offset)
        if place < len(names) - 1:
            x = ACTIVATIONS[kind](x)
    return x


def _acting(policy: SavedPolicy, algorithm: Algorithm, x: Expr) -> Expr:
    """Scores as they are; actions within their bounds."""
    if policy.bounds is None:
        return x
    low, high = (np.asarray(end, dtype=np.float64).ravel() for end in (policy.bounds.low, policy.bounds.high))
    if low.shape != (x.size,) or high.shape != (x.size,):
        raise FormatError(f"an action has {low.size} numbers, but the last layer {x.size}")
    if algorithm.squashes or policy.squashed:
        layers.check_finite(np.concatenate([low, high]), "the range of its actions")
        half = np.ldexp(high, -1) - np.ldexp(low, -1)
        return layers.shift(layers.scale(layers.shift(layers.tanh(x), np.ones(x.size)), half), low)
    return _clipped(x, low, high)


def _clipped(x: Expr, low: Array, high: Array) -> Expr:
    """Each number between its ends; an infinite end is none."""
    return build.concat(*(_between(build.component(x, i), low[i], high[i]) for i in range(x.size)))


def _between(x: Expr, low: float, high: float) -> Expr:
    x = x if np.isinf(high) else build.minimum(x, Fraction(float(high)))
    return x if np.isinf(low) else build.maximum(x, Fraction(float(low)))
