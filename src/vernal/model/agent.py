"""From observation, networks and a way of acting to the agent's action as one expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import Const, Expr, Operand, Role, Var
from vernal.model.graph import substitute
from vernal.model.network import Network
from vernal.model.sorts import Sort
from vernal.model.system import Agent, OneOf, Slot, Start

ZERO = OneOf((Fraction(0),))


def output_var(size: int) -> Var:
    """`out`, the network's output vector as the expressions of `act` see it."""
    return build.var("out", shape=(size,), role=Role.INPUT)


def make_agent(
    name: str,
    networks: Sequence[Network],
    observe: Sequence[Operand],
    act: str | Sequence[Expr] = "argmax",
    *,
    select: Expr | None = None,
    labels: Sort | None = None,
    memory: Mapping[int, Start] | Start = ZERO,
) -> Agent:
    """An agent; `act` is "argmax", "raw" or expressions over `output_var(n)`; `memory` is the start of every slot."""
    seen = tuple(build.const(item) for item in observe)
    slots = [_slot_var(name, network, index) for network in networks for index in range(len(network.memory))]
    output, updates = _run(networks, seen, select, slots)
    dropped = [network for network in networks if network.softmax_dropped]
    if dropped and act != "argmax":
        raise TypeClash(
            f"agent {name!r}: network {dropped[0].name!r} ends with {dropped[0].dropped}, which is read only before an "
            'argmax; say act = "argmax", or export the network without it'
        )
    action = _action(name, output, act, labels)
    starts = memory if isinstance(memory, Mapping) else dict.fromkeys(range(sum(slot.size for slot in slots)), memory)
    made, position = [], 0
    for slot, update in zip(slots, updates, strict=True):
        own = tuple(starts.get(position + offset, ZERO) for offset in range(slot.size))
        made.append(Slot(slot, own, update))
        position += slot.size
    kind = act if isinstance(act, str) else "expressions"
    return Agent(name, seen, tuple(networks), select, kind, action, tuple(made))


def _slot_var(agent: str, network: Network, index: int) -> Var:
    slot = network.memory[index][0]
    return build.var(f"{agent}.{network.name}.{slot.name}", shape=slot.shape, role=Role.MEMORY)


def _run(
    networks: Sequence[Network], seen: Sequence[Expr], select: Expr | None, slots: Sequence[Var]
) -> tuple[Expr, list[Expr]]:
    """The output of the selected network, and every memory's next value (that of an unselected network stays)."""
    outputs: list[Expr] = []
    updates: list[Expr] = []
    start = 0
    for index, network in enumerate(networks):
        own = slots[start : start + len(network.memory)]
        start += len(own)
        output, after = network.apply(seen, own)
        outputs.append(output)
        updates += (
            after
            if select is None
            else [
                build.if_(build.eq(select, _index(select, index)), new, old)
                for new, old in zip(after, own, strict=True)
            ]
        )
    if select is None:
        return outputs[0], updates
    if len({output.size for output in outputs}) > 1:
        raise TypeClash("the networks of one agent have different numbers of outputs")
    return build.switch(select, [_index(select, i).value for i in range(len(outputs))], outputs), updates


def _index(select: Expr, index: int) -> Const:
    return Const((), select.sort, (), (Fraction(index),))


def _action(name: str, output: Expr, act: str | Sequence[Expr], labels: Sort | None) -> Expr:
    if act == "argmax":
        return build.argmax(output, labels, name)
    if labels is not None:
        raise TypeClash(f'agent {name!r}: labels go with act = "argmax" only')
    if act == "raw":
        return output[0] if output.size == 1 else output
    if isinstance(act, str):
        raise TypeClash(f'agent {name!r}: act is "argmax", "raw" or a list of expressions, not {act!r}')
    parts = substitute(list(act), {output_var(output.size): output})
    return parts[0] if len(parts) == 1 else build.concat(*parts)
