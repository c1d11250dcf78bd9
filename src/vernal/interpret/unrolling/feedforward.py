"""A recurrent network over n observations is a feed-forward network: input on start, input on demand.

M. Akintunde et al. (AAAI 2019, Definitions 12 and 13) lay the steps of a recurrent network one behind the other as
layers. An observation is needed at its own step only, so until then it waits: units beside the recurrent ones pass it
on from layer to layer. *Input on demand* passes on the observation as it is; *input on start* first computes all that
depends on the observation alone (W x of a plain cell) and passes that on, which is wider if the cell is.

Set right here: pass-through units are linear. With a ReLU, as printed, a negative observation would be cut off on its
way, and Theorems 1 and 2 were false (W = 1, R = 1, observations 1, -1: the recurrent network says 0, the other one 1).
A cell of several layers counts as one layer of the unrolling. Direction EXACT: the same function of the observations.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix
from vernal.model.graph import order, rewrite, substitute
from vernal.model.network import Network, network_input

Wait = Literal["ios", "iod"]


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The network over a whole sequence, and what the recurrent one remembers after it.

    The inputs of `network` are the memory's start, then one observation after the other.
    """

    network: Network
    memory: tuple[Expr, ...]
    passed: int  # pass-through units
    cell: tuple[Expr, ...]  # all nodes of one step of the recurrent network
    layers: tuple[tuple[Expr, ...], ...]  # where they are in each step of the unrolled one

    def apply(self, start: Sequence[Expr], observations: Sequence[Expr]) -> tuple[Expr, tuple[Expr, ...]]:
        """Output and last memory for these starts and observations."""
        output, *memory = self.at((self.network.output, *self.memory), start, observations)
        return output, tuple(memory)

    def at(self, nodes: Sequence[Expr], start: Sequence[Expr], observations: Sequence[Expr]) -> list[Expr]:
        """Nodes of the network for these starts and observations."""
        return substitute(nodes, {self.network.inputs: build.concat(*start, *observations)})


def unroll(network: Network, length: int, wait: Wait = "iod") -> Unrolled:
    """The feed-forward network that says after `length` observations what the recurrent one does."""
    cell = _Cell.of(network, wait)
    inputs = network_input(network.memory_size + length * network.input_size, "sequence")
    memory = _parts(inputs, [slot.size for slot, _ in network.memory])
    seen = _parts(inputs, [network.input_size] * length, start=network.memory_size)
    waiting = [substitute(cell.waits, {network.inputs: one}) for one in seen]
    output, passed = network.output, 0
    nodes, layers = tuple(order(cell.roots)), []
    for _ in range(length):
        now, *later = waiting
        layers.append(tuple(cell.step(nodes, now, memory)))
        placed = dict(zip(nodes, layers[-1], strict=True))
        output, *memory = (placed[root] for root in cell.roots)
        waiting = _pass_on(later)
        passed += sum(part.size for one in later for part in one)
    made = Network(f"{network.name} x {length}", inputs, output, dropped=network.dropped)
    return Unrolled(made, tuple(memory), passed, nodes, tuple(layers))


def _parts(vector: Expr, sizes: Sequence[int], start: int = 0) -> list[Expr]:
    """The vector cut into vectors of these sizes."""
    ends = start + np.cumsum(sizes, dtype=int)
    return [build.gather(vector, range(end - size, end)) for size, end in zip(sizes, ends.tolist(), strict=True)]


def _pass_on(waiting: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
    """What waits, one layer further: a linear unit for each number."""
    parts = [part for one in waiting for part in one]
    if not parts:
        return [[] for _ in waiting]
    joined = build.concat(*parts)
    units = build.affine(joined, Matrix(np.eye(joined.size)), Matrix(np.zeros(joined.size)))
    passed = iter(_parts(units, [part.size for part in parts]))
    return [[next(passed) for _ in one] for one in waiting]


@dataclass(frozen=True, slots=True)
class _Cell:
    """One step of a recurrent network, cut where what has waited comes in."""

    roots: tuple[Expr, ...]
    slots: tuple[Expr, ...]
    places: tuple[Expr, ...]  # the nodes of the roots that wait for their step

    @classmethod
    def of(cls, network: Network, wait: Wait) -> _Cell:
        slots = tuple(slot for slot, _ in network.memory)
        if wait == "iod":
            return cls(network.roots, slots, (network.inputs,))
        roots = tuple(_apart(network.roots, slots))
        return cls(roots, slots, _computed_at_once(roots, slots, network.inputs))

    @property
    def waits(self) -> list[Expr]:
        """What waits, as vectors over the observation."""
        return [place if place.shape else build.concat(place) for place in self.places]

    def step(self, nodes: Sequence[Expr], now: Sequence[Expr], memory: Sequence[Expr]) -> list[Expr]:
        """Nodes of the cell, with what has waited and what is remembered filled in."""
        values = dict(zip(self.slots, memory, strict=True))
        values.update((place, x if place.shape else x[0]) for place, x in zip(self.places, now, strict=True))
        return substitute(nodes, values)


def _computed_at_once(roots: Sequence[Expr], slots: Sequence[Expr], inputs: Expr) -> tuple[Expr, ...]:
    """The largest numbers that depend on the observation alone, in the order in which they are met."""
    remembering, seeing = _reaching(roots, slots), _reaching(roots, [inputs])
    found: dict[Expr, None] = {}
    met: set[Expr] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in met or node not in seeing:
            continue
        met.add(node)
        if node not in remembering and node.sort.is_number:
            found[node] = None
        else:
            stack.extend(reversed(node.args))
    return tuple(found)


def _reaching(roots: Sequence[Expr], leaves: Iterable[Expr]) -> set[Expr]:
    """The nodes that depend on one of the leaves."""
    reached = set(leaves)
    for node in order(roots):
        if any(arg in reached for arg in node.args):
            reached.add(node)
    return reached


def _apart(roots: Sequence[Expr], slots: Sequence[Expr]) -> list[Expr]:
    """W (x, h) + b as (W1 x + b) + W2 h, wherever only a part of the argument depends on the memory."""
    remembering = set(slots)

    def change(node: Expr) -> Expr | None:
        if not any(arg in remembering for arg in node.args):
            return None
        made = _in_two(node, remembering)
        remembering.add(made)
        return made

    return rewrite(roots, change)


def _in_two(node: Expr, remembering: Container[Expr]) -> Expr:
    if not isinstance(node, e.Affine) or not isinstance(node.args[0], e.Concat):
        return node
    parts, column = [], 0
    for part in node.args[0].args:
        parts.append((part, range(column, column + part.size)))
        column += part.size
    free = [pair for pair in parts if pair[0] not in remembering]
    if not free:
        return node
    held = [pair for pair in parts if pair[0] in remembering]
    silent = Matrix(np.zeros(node.size))
    return build.add(_part_of(node, free, node.bias), _part_of(node, held, silent))


def _part_of(node: e.Affine, parts: Sequence[tuple[Expr, range]], bias: Matrix) -> Expr:
    """The layer on some parts of its argument."""
    columns = [column for _, own in parts for column in own]
    argument = build.concat(*(part for part, _ in parts))
    return build.affine(argument, Matrix(node.weight.array[:, columns]), bias)
