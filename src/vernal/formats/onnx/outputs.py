"""One output of several, chosen by its name: what else a graph gives is neither computed nor read.

Actor-critic policies are saved with a value beside their scores, others with the action that follows from the scores.
Outputs that are the next value of a memory stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vernal.errors import FormatError, nearest
from vernal.formats.onnx.states import named_pairs, through_operators

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto


def keep_output(graph: GraphProto, output: str, carry: Mapping[str, str]) -> None:
    """Leave one output of a graph, with those that are memories, and the nodes that they need."""
    names = [item.name for item in graph.output]
    if output not in names:
        raise FormatError(f"the network has no output {output!r}{nearest(output, names)}")
    constants = {tensor.name for tensor in graph.initializer}
    entries = [item.name for item in graph.input if item.name not in constants]
    others = [name for name in names if name != output]
    memories = carry or {**through_operators(graph.node, entries, others), **named_pairs(entries, others)}
    wanted = {output, *(new for old, new in memories.items() if old in entries)}
    kept = [item for item in graph.output if item.name in wanted]
    nodes = _needed(graph, wanted)
    del graph.output[:], graph.node[:]
    graph.output.extend(kept)
    graph.node.extend(nodes)


def _needed(graph: GraphProto, wanted: set[str]) -> list[NodeProto]:
    """The nodes that compute what is wanted, in their order."""
    needed = set(wanted)
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    return kept[::-1]
