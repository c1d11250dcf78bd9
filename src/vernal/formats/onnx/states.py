"""Which inputs of a graph are its memory: an input and the output that gives its next value make a pair.

A graph from (o, h) to (a, h') is one step of a recurrent network. Pairs are found by name: an input `h`, `h_in`, `h0`,
`h_0`, `h_prev` or `prev_h` goes with an output `h_out`, `hn`, `h_n`, `h1`, `h_1`, `h_next`, `h_new`, `next_h` or
`new_h`, and an input that is marked as the old one also with a plain `h`. What names leave open a recurrent operator
decides that starts from the input and ends with the output, then shape, if there is only one way to do so; an input
`obs` is no memory. One input is left over, what the agent sees, and one output, how it acts; all else is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING

from vernal.errors import FormatError, UnsupportedOperator, nearest
from vernal.formats.onnx.call import Tensor
from vernal.formats.onnx.recurrent import RECURRENT
from vernal.model.expr import Expr
from vernal.model.graph import substitute
from vernal.model.network import Network, memory_var, network_input

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

OLD_ENDINGS, OLD_BEGINNINGS = ("_in", "_prev", "_old", "_0", "0"), ("prev_", "old_", "in_")
NEW_ENDINGS, NEW_BEGINNINGS = ("_out", "_next", "_new", "_n", "n", "_1", "1"), ("next_", "new_", "out_")
SEEN = ("obs", "observation", "observations")  # never a memory
CUTS = ("Gather", "Identity", "Slice", "Split", "Squeeze", "Unsqueeze")  # what makes layers of a memory
MOST_BY_SHAPE = 5  # inputs; with more, names have to pair them
ADVICE = 'name them obs, h_in and h_out, or say carry = { h = "hn" } in the agent\'s table'
CHOICE = 'output = "NAME" in the agent\'s table (in Python output="NAME") chooses one'
TORCH_MODULE = re.compile(r"^(?:.*/)?([^/:]*): torch\.nn\.modules\.rnn\.(\w+)")  # in the notes torch leaves at nodes
TORCH_WEIGHT = re.compile(r"(?:(.*)\.)?(?:weight|bias)_[ih]h(?:_l\d+)?")


def join_states(
    name: str,
    given: Mapping[str, Tensor],
    made: Mapping[str, Tensor],
    carry: Mapping[str, str],
    dropped: Mapping[str, str],
    passed: Mapping[str, str],
) -> Network:
    """The network whose memory goes round from outputs to the inputs they are paired with.

    `passed` are the pairs that recurrent operators show (`through_operators`).
    """
    pairs = _explicit(given, made, carry) if carry else named_pairs(given, made)
    if not carry:
        known = {**{old: new for old, new in passed.items() if new not in pairs.values()}, **pairs}
        pairs = {old: known[old] for old in given if old in known}
    rest = [entry for entry in given if entry not in pairs]
    left = [result for result in made if result not in pairs.values()]
    if not carry and not len(rest) == len(left) == 1:
        pairs = {**pairs, **_by_shape({n: given[n].shape for n in rest}, {n: made[n].shape for n in left})}
        rest = [entry for entry in given if entry not in pairs]
        left = [result for result in made if result not in pairs.values()]
    if not len(rest) == len(left) == 1:
        raise FormatError(
            f"besides its memory it has the inputs {_list(rest)} and outputs {_list(left)}; one each is read"
            f"{f'; {CHOICE}' if len(left) > 1 else ''}"
        )
    _check(given, made, pairs)
    (seen,), (acts,) = rest, left
    check_batch(seen, given[seen].shape)
    for new in pairs.values():
        if new in dropped:
            raise UnsupportedOperator(f"{dropped[new]} is read only before an argmax, not in the memory {new!r}")
    return replace(_network(name, given, made, pairs, seen, acts), dropped=dropped.get(acts))


def final_memories(nodes: Iterable[NodeProto], given: Iterable[str] = ()) -> dict[str, str]:
    """What recurrent operators remember at the end, alone or joined, each with the input it began as, or an empty name.

    torch cuts the memory of several layers into one for each operator, and joins what they remember at the end.
    """
    begun = {name: name for name in given}
    ended: dict[str, str] = {}
    for node in nodes:
        if node.op_type in RECURRENT:
            starts = [*node.input[5:7], "", ""]  # initial_h, initial_c; what they end as is Y_h, Y_c
            ended |= {end: begun.get(start, "") for end, start in zip(node.output[1:3], starts, strict=False) if end}
        elif node.op_type in CUTS and node.input and node.input[0] in begun:
            begun |= dict.fromkeys(node.output, begun[node.input[0]])
        elif node.op_type == "Concat" and ended.keys() >= set(node.input):
            origins = {ended[part] for part in node.input}
            ended |= dict.fromkeys(node.output, origins.pop() if len(origins) == 1 else "")
    return ended


def through_operators(nodes: Iterable[NodeProto], given: Collection[str], made: Collection[str]) -> dict[str, str]:
    """Inputs that recurrent operators start from, each with the one output that they end with."""
    ends = [(start, end) for end, start in final_memories(nodes, given).items() if start and end in made]
    starts = [start for start, _ in ends]
    return {start: end for start, end in ends if starts.count(start) == 1}


# What got lost on the way --------------------------------------------------------------------------------------------


def check_read(nodes: Iterable[NodeProto], given: Collection[str], made: Collection[str]) -> None:
    """Every input is read, or goes out again as it came in."""
    read = {name for node in nodes for name in node.input}
    for entry in given:
        if entry not in read and entry not in made:
            raise FormatError(
                f"no node reads the input {entry!r}; torch writes such a file where one tensor is given for two inputs:"
                " export with tensors of their own, (obs, h, h.clone())"
            )


def check_remembers(graph: GraphProto) -> None:
    """A recurrent module of torch is still recurrent: not one whose memory became a constant when it was exported."""
    modules = {found[0]: found for node in graph.node if (found := _module(node))}
    remembering = {found[0] for node in graph.node if node.op_type in RECURRENT and (found := _module(node))}
    forgetful = [found for scope, found in modules.items() if scope not in remembering]
    if not any(node.op_type in RECURRENT for node in graph.node):
        named = (TORCH_WEIGHT.fullmatch(tensor.name) for tensor in graph.initializer)
        forgetful += [("", found[1] or "", "recurrent module") for found in named if found]
    if forgetful:
        _, name, kind = forgetful[0]
        who = repr(name) if name else "it"
        raise UnsupportedOperator(
            f"it forgets: {who} is a {kind} of torch, but its memory was exported as a constant, and the file starts"
            " anew at every step; let forward(obs, h) return (scores, h) and export it with both"
        )


def _module(node: NodeProto) -> tuple[str, str, str] | None:
    """The recurrent module of torch that a node comes from: its place, name and class."""
    for note in node.metadata_props:
        if note.key == "namespace" and (found := TORCH_MODULE.match(note.value)):
            return found[0], found[1], found[2]
    return None


def check_batch(name: str, shape: Sequence[int]) -> None:
    """What an agent sees is one observation."""
    if len(shape) > 1 and shape[0] != 1:
        what = f"a batch of {shape[0]}" if len(shape) == 2 else f"a batch of {shape[0]} or a sequence of {shape[0]}"
        raise FormatError(f"input {name!r} is {what}; export with 1, or with an axis that is open")


def _network(
    name: str, given: Mapping[str, Tensor], made: Mapping[str, Tensor], pairs: Mapping[str, str], seen: str, acts: str
) -> Network:
    inputs = network_input(prod(given[seen].shape))
    values: dict[Expr, Expr] = {given[seen].expr: inputs}
    memory = [memory_var(prod(given[old].shape), stem) for old, stem in zip(pairs, _stems(pairs), strict=True)]
    values.update(zip((given[old].expr for old in pairs), memory, strict=True))
    output, *updates = substitute([made[acts].expr, *(made[new].expr for new in pairs.values())], values)
    return Network(name, inputs, output, tuple(zip(memory, updates, strict=True)))


def _stems(pairs: Mapping[str, str]) -> list[str]:
    """Short names for the memories, as long as they differ."""
    short = [entry.removesuffix("_in") for entry in pairs]
    return short if len(set(short)) == len(short) else list(pairs)


# Finding pairs --------------------------------------------------------------------------------------------------------


def _explicit(given: Mapping[str, Tensor], made: Mapping[str, Tensor], carry: Mapping[str, str]) -> dict[str, str]:
    for old, new in carry.items():
        if old not in given:
            raise FormatError(f"carry: the network has no input {old!r}{nearest(old, given)}")
        if new not in made:
            raise FormatError(f"carry: the network has no output {new!r}{nearest(new, made)}")
    if len(set(carry.values())) < len(carry):
        raise FormatError("carry: one output is given to two inputs")
    return dict(carry)


def named_pairs(given: Iterable[str], made: Collection[str]) -> dict[str, str]:
    """Inputs and the outputs that go with them by their names."""
    pairs: dict[str, str] = {}
    for old in given:
        fitting = [new for new in made if new in set(_successors(old))]
        if len(fitting) > 1 or any(new in pairs.values() for new in fitting):
            raise FormatError(f"input {old!r} may go with several outputs ({_list(fitting)}); {ADVICE}")
        if fitting:
            pairs[old] = fitting[0]
    return pairs


def _successors(old: str) -> Iterator[str]:
    """How the next value of an input may be called."""
    marked = [old.removesuffix(mark) for mark in OLD_ENDINGS if old.endswith(mark)]
    marked += [old.removeprefix(mark) for mark in OLD_BEGINNINGS if old.startswith(mark)]
    for stem in (old, *filter(None, marked)):
        yield from (stem + mark for mark in NEW_ENDINGS)
        yield from (mark + stem for mark in NEW_BEGINNINGS)
    yield from filter(None, marked)


def _by_shape(given: Mapping[str, tuple[int, ...]], made: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The only way to leave one input and one output over and to pair the others by equal shapes."""
    names = f"inputs {_list(given)} and outputs {_list(made)}"
    if len(given) != len(made) or len(given) > MOST_BY_SHAPE:
        raise FormatError(f"it has the {names}, which do not pair up as memories; {ADVICE}")
    ways = list(_ways(given, made))
    if not ways:
        raise FormatError(f"no inputs and outputs have equal shapes among the {names}; {ADVICE}")
    if len(ways) > 1:
        raise FormatError(f"it is not clear which are its memory among the {names}; {ADVICE}")
    return ways[0]


def _ways(given: Mapping[str, tuple[int, ...]], made: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, str]]:
    for seen in [entry for entry in given if entry.lower() in SEEN] or given:
        states = [entry for entry in given if entry != seen]
        for chosen in permutations(made, len(states)):
            if all(given[old] == made[new] for old, new in zip(states, chosen, strict=True)):
                yield dict(zip(states, chosen, strict=True))


def _check(given: Mapping[str, Tensor], made: Mapping[str, Tensor], pairs: Mapping[str, str]) -> None:
    for old, new in pairs.items():
        if prod(given[old].shape) != prod(made[new].shape):
            shapes = f"{given[old].shape} and {made[new].shape}"
            raise FormatError(
                f"the memory {old!r} and its next value {new!r} have different shapes: {shapes}; {ADVICE}"
            )


def _list(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(repr(name) for name in list(names)[:8]) or "none"
