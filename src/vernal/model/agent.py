"""From observation, networks and a way of acting to the agent's action as one expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import Argmax, Const, Expr, Operand, Role, Var
from vernal.model.graph import substitute
from vernal.model.initial import OneOf, Span, Start, start_between
from vernal.model.network import Network
from vernal.model.sorts import Sort
from vernal.model.system import Agent, Slot

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
    memory: Sequence[Start] | Start | None = None,
    remember: str | None = None,
) -> Agent:
    """An agent; `act` is "argmax", "raw" or expressions over `output_var(n)`.

    `memory` is where what it remembers starts: all of it alike, one start for each number, or (None) as its networks
    say. Properties speak of it by the name `remember`.
    """
    seen = tuple(build.const(item) for item in observe)
    if act != "argmax":
        networks = [network.with_values() for network in networks]
    slots = [_slot_var(name, place, slot) for place, network in enumerate(networks) for slot, _ in network.memory]
    output, updates = _run(networks, seen, select, slots)
    action = _action(name, output, act, labels)
    starts = iter(memory_starts(name, networks, memory))
    made = [Slot(slot, tuple(islice(starts, slot.size)), update) for slot, update in zip(slots, updates, strict=True)]
    if remember is not None and not made:
        raise TypeClash(
            f"agent {name!r} remembers nothing that could be called {remember!r}: its network has no memory"
        )
    kind, acts = (act, ()) if isinstance(act, str) else ("expressions", tuple(act))
    return Agent(name, seen, tuple(networks), select, kind, action, tuple(made), remember=remember, acts=acts)


def with_outputs(agent: Agent, change: Callable[[Expr, Sequence[Expr]], tuple[Expr, Sequence[Expr]]]) -> Agent | None:
    """The agent with what its networks compute changed: the output of the selected one, and every next memory.

    None where its action does not follow from its networks in the way that it says, as after a rewriting.
    """
    output, updates = _run(agent.networks, agent.observe, agent.select, [slot.var for slot in agent.slots])
    same = all(new is slot.next for slot, new in zip(agent.slots, updates, strict=True))
    if not same or _acting(agent, output) is not agent.action:
        return None
    changed, after = change(output, updates)
    action = _acting(agent, changed)
    slots = tuple(replace(slot, next=new) for slot, new in zip(agent.slots, after, strict=True))
    return None if action is None else replace(agent, action=action, slots=slots)


def _acting(agent: Agent, output: Expr) -> Expr | None:
    """What the agent does if this is its output; None where that is not known."""
    if agent.act == "argmax":
        return replace(agent.action, args=(output,)) if isinstance(agent.action, Argmax) else None
    if agent.act == "raw":
        return output[0] if output.size == 1 else output
    parts = substitute(list(agent.acts), {output_var(output.size): output})
    return None if not parts else parts[0] if len(parts) == 1 else build.concat(*parts)


def memory_starts(name: str, networks: Sequence[Network], memory: Sequence[Start] | Start | None) -> tuple[Start, ...]:
    """A start for each number the networks remember, in the order of the networks and of their memories."""
    count = sum(network.memory_size for network in networks)
    if memory is None:
        return tuple(start for network in networks for start in _own_starts(network))
    if count == 0:
        raise TypeClash(f"agent {name!r}: its network has no memory that could start anywhere")
    starts = (memory,) * count if isinstance(memory, Span | OneOf) else tuple(memory)
    if len(starts) != count:
        raise TypeClash(
            f"agent {name!r} remembers {count} numbers, but {len(starts)} starts are given: give one for each"
        )
    for start in starts:
        if isinstance(start, Span) and start.lower > start.upper:
            raise TypeClash(f"agent {name!r}: its memory starts in an inverted interval, which holds no value")
    return tuple(start_between(*start.ends) if isinstance(start, Span) else start for start in starts)


def _own_starts(network: Network) -> tuple[Start, ...]:
    return tuple(OneOf((value,)) for value in network.starts) or (ZERO,) * network.memory_size


def remembered(agents: Iterable[Agent]) -> dict[str, Expr]:
    """The names under which properties speak of memories, each with what is remembered at a position."""
    return {
        agent.remember: build.concat(*(slot.var for slot in agent.slots))
        for agent in agents
        if agent.remember is not None
    }


def _slot_var(agent: str, place: int, slot: Var) -> Var:
    """By the network's place, not by its name: one network may serve twice, and each time has a memory of its own."""
    return build.var(f"{agent}.{place}.{slot.name}", shape=slot.shape, role=Role.MEMORY)


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
