"""Graphs as straight lines of instructions, run over whole batches of points.

Values are forgotten after their last use. Where a branch of an `if` or a `match` holds a network that nothing else
needs, it is run on those points of the batch that take the branch, and on no others: an agent with nine networks costs
as much as an agent with one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Array
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order, users
from vernal.model.numbers import nearest
from vernal.model.sorts import BOOL

ArrayMeaning = Callable[
    [Any, Sequence[Array], Array | None], Array
]  # node, arguments, what is given for a leaf or a draw
ArrayInputs = Mapping[Expr, Array]
BatchRows = NDArray[np.intp] | None  # some points of the batch, or all of them

POINTS_PER_BLOCK = 512  # points that go through a network together: what they need on the way stays in the cache
MUST_BE_GIVEN = (e.Var, e.Choose, e.Between)
TAKES_INPUT = (*MUST_BE_GIVEN, e.Argmax)


@dataclass(frozen=True, slots=True)
class Instruction:
    """Compute one node from the slots of its arguments."""

    slot: int
    meaning: ArrayMeaning
    node: Expr
    args: tuple[int, ...]

    def run(self, values: dict[int, Array], inputs: ArrayInputs, rows: BatchRows) -> None:
        given = _given(self.node, inputs, rows) if isinstance(self.node, TAKES_INPUT) else None
        values[self.slot] = self.meaning(self.node, [values[arg] for arg in self.args], given)


@dataclass(frozen=True, slots=True)
class BranchCode:
    """A branch: what it takes from outside, its instructions, and where its value is."""

    takes: tuple[int, ...]
    instructions: tuple[tuple[Instruction, tuple[int, ...]], ...]  # each with the slots dead after it
    result: int


@dataclass(frozen=True, slots=True)
class Branching:
    """An `if` or a `match` whose branches run on the points that take them."""

    slot: int
    node: e.If | e.Switch
    subject: int
    parts: tuple[BranchCode, ...]

    def run(self, values: dict[int, Array], inputs: ArrayInputs, _: BatchRows) -> None:
        subject = values[self.subject]
        kind = bool if self.node.sort == BOOL else np.float64
        result = np.zeros((len(subject), *self.node.shape), kind)
        for part, mask in zip(self.parts, _masks(self.node, subject), strict=True):
            chosen = np.flatnonzero(mask)
            if len(chosen) and len(subject) > 1:
                for start in range(0, len(chosen), POINTS_PER_BLOCK):
                    rows = chosen[start : start + POINTS_PER_BLOCK]
                    result[rows] = self._value(part, values, inputs, rows)
            elif len(chosen):  # one subject for the whole batch
                result = self._value(part, values, inputs, None)
        values[self.slot] = result

    def _value(self, part: BranchCode, values: dict[int, Array], inputs: ArrayInputs, rows: BatchRows) -> Array:
        local = {slot: _take(values[slot], rows) for slot in part.takes}
        for code, dead in part.instructions:
            code.run(local, inputs, rows)
            for slot in dead:
                del local[slot]
        value = local[part.result]
        return value[:, None] if self.node.shape and value.ndim == 1 else value


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled graph: call it with inputs, as often as needed."""

    instructions: tuple[tuple[Instruction | Branching, tuple[int, ...]], ...]  # each with the slots dead after it
    constants: Mapping[int, Array]
    results: tuple[int, ...]
    shapes: tuple[e.Shape, ...]

    def __call__(self, inputs: ArrayInputs, batch: int) -> list[Array]:
        """The roots' values, each of the batch's length; inputs of length 1 stand for the whole batch."""
        values = dict(self.constants)
        with np.errstate(all="ignore"):
            for code, dead in self.instructions:
                code.run(values, inputs, None)
                for slot in dead:
                    del values[slot]
        pairs = zip(self.results, self.shapes, strict=True)
        return [_whole(values[slot], (batch, *shape)) for slot, shape in pairs]


def _whole(value: Array, shape: tuple[int, ...]) -> Array:
    """A value for every point of the batch."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


def _given(node: Expr, inputs: ArrayInputs, rows: BatchRows) -> Array | None:
    array = inputs.get(node)
    if array is None:
        if isinstance(node, MUST_BE_GIVEN):
            raise LookupError(f"no value is given for {node!r}")
        return None
    return _take(array, rows)


def _take(array: Array, rows: BatchRows) -> Array:
    return array if rows is None or len(array) == 1 else array[rows]


def _masks(node: e.If | e.Switch, subject: Array) -> list[Array]:
    """Which points take which branch; the last branch of a match takes what is left."""
    if isinstance(node, e.If):
        return [subject, ~subject]
    masks = [subject == nearest(case or Fraction(0)) for case in node.cases[:-1]]
    rest = np.logical_or.reduce(masks) if masks else np.zeros(len(subject), bool)
    return [*masks, ~rest]


# Compiling ------------------------------------------------------------------------------------------------------------


def compile(roots: Sequence[Expr], meanings: Mapping[type[Expr], ArrayMeaning]) -> Program:
    """The roots as a program."""
    nodes = order(roots)
    slots = {node: number for number, node in enumerate(nodes)}
    constants = {slots[n]: meanings[type(n)](n, (), None) for n in nodes if isinstance(n, e.Const | e.Pi)}
    owner = _owners(nodes, roots)
    parts: dict[Expr, dict[Expr, list[Expr]]] = {}
    for node, (branching, branch) in owner.items():
        parts.setdefault(branching, {}).setdefault(branch, []).append(node)
    dead = _dead(nodes, slots, owner, {*constants, *(slots[root] for root in roots)})

    def plain(node: Expr) -> Instruction:
        return Instruction(slots[node], meanings[type(node)], node, tuple(slots[arg] for arg in node.args))

    def code(node: Expr) -> Instruction | Branching:
        if node not in parts or not isinstance(node, e.If | e.Switch):
            return plain(node)
        made = [_part(branch, parts[node].get(branch, []), slots, constants, plain) for branch in node.args[1:]]
        return Branching(slots[node], node, slots[node.args[0]], tuple(made))

    top = [node for node in nodes if node not in owner and slots[node] not in constants]
    instructions = tuple((code(node), tuple(dead.get(slots[node], ()))) for node in top)
    return Program(instructions, constants, tuple(slots[root] for root in roots), tuple(root.shape for root in roots))


def _part(
    branch: Expr,
    inside: Sequence[Expr],
    slots: Mapping[Expr, int],
    constants: Mapping[int, Array],
    plain: Callable[[Expr], Instruction],
) -> BranchCode:
    """A branch as its own instructions; nodes come in the order they have to be computed in."""
    own = {slots[node] for node in inside if slots[node] not in constants}
    takes = {slots[arg] for node in inside for arg in node.args} | {slots[branch]}
    instructions = [plain(node) for node in inside if slots[node] in own]
    return BranchCode(tuple(takes - own), _forgetful(instructions, slots[branch]), slots[branch])


def _forgetful(instructions: Sequence[Instruction], kept: int) -> tuple[tuple[Instruction, tuple[int, ...]], ...]:
    """Instructions in order, each with the slots that no later one reads."""
    last = {arg: place for place, code in enumerate(instructions) for arg in code.args if arg != kept}
    dead: dict[int, list[int]] = {}
    for slot, place in last.items():
        dead.setdefault(place, []).append(slot)
    return tuple((code, tuple(dead.get(place, ()))) for place, code in enumerate(instructions))


def _dead(
    nodes: Sequence[Expr], slots: Mapping[Expr, int], owner: Mapping[Expr, tuple[Expr, Expr]], kept: set[int]
) -> dict[int, list[int]]:
    """After which instruction which slots are not needed any more; what a branch uses, its `if` or `match` uses."""
    last: dict[Expr, int] = {}
    for arg, user in users(nodes):
        place = slots[owner[user][0] if user in owner else user]
        last[arg] = max(last.get(arg, 0), place)
    dead: dict[int, list[int]] = {}
    for node, place in last.items():
        if slots[node] not in kept and node not in owner:
            dead.setdefault(place, []).append(slots[node])
    return dead


def _owners(nodes: Sequence[Expr], roots: Sequence[Expr]) -> dict[Expr, tuple[Expr, Expr]]:
    """The nodes that only one branch of one `if` or `match` needs, with both; branches without networks stay inline."""
    needed: dict[Expr, list[Expr]] = {node: [] for node in nodes}
    for arg, user in users(nodes):
        needed[arg].append(user)
    owner: dict[Expr, tuple[Expr, Expr]] = {}
    outside = set(roots)
    numbers = {node: number for number, node in enumerate(nodes)}
    above = _above_networks(nodes)
    for node in reversed(nodes):  # the outermost first: what it owns is flat inside
        if node in owner or not isinstance(node, e.If | e.Switch) or node.args[0].shape:
            continue
        for branch in dict.fromkeys(arg for arg in node.args[1:] if arg in above):
            cone = _cone(node, branch, needed, outside, owner, numbers)
            if any(isinstance(inner, e.Affine) for inner in cone):
                owner.update(dict.fromkeys(cone, (node, branch)))
    # In order of computation, as the instructions of a branch will be.
    return {node: owner[node] for node in nodes if node in owner}


def _above_networks(nodes: Sequence[Expr]) -> set[Expr]:
    """The nodes that need a layer of a network, and the layers."""
    above: set[Expr] = set()
    for node in nodes:
        if isinstance(node, e.Affine) or not above.isdisjoint(node.args):
            above.add(node)
    return above


def _cone(
    node: Expr,
    branch: Expr,
    needed: Mapping[Expr, Sequence[Expr]],
    outside: set[Expr],
    owner: Mapping[Expr, tuple[Expr, Expr]],
    numbers: Mapping[Expr, int],
) -> list[Expr]:
    """The branch and all below it that nothing else needs, users before arguments."""
    if branch in outside or branch in owner or list(needed[branch]) != [node]:
        return []
    cone, seen = {branch}, set(branch.args)
    candidates = [(-numbers[arg], arg) for arg in seen]  # the latest first: all its users in the cone are known then
    heapify(candidates)
    while candidates:
        _, latest = heappop(candidates)
        if latest not in outside and latest not in owner and all(user in cone for user in needed[latest]):
            cone.add(latest)
            for arg in latest.args:
                if arg not in seen:
                    seen.add(arg)
                    heappush(candidates, (-numbers[arg], arg))
    return sorted(cone, key=numbers.__getitem__)
