"""ONNX files as networks: a graph of operators becomes one expression.

A file is not trusted: sizes it claims are compared with the bytes it has before anything is
allocated, tensors in other files are brought in before (`external`) or not at all, and what is not understood is
refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vernal.errors import FormatError, TypeClash, UnsupportedOperator
from vernal.formats.layers import check_finite, check_width
from vernal.formats.limits import DEFAULT, Allowance, ReadLimits
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.onnx.folding import folded
from vernal.formats.onnx.merging import is_merged
from vernal.formats.onnx.ops import OPERATORS, REFUSED, is_left_out
from vernal.formats.onnx.outputs import keep_output
from vernal.formats.onnx.quantised import MOVES, NARROW_READERS, is_narrow
from vernal.formats.onnx.recurrent import RECURRENT
from vernal.formats.onnx.states import (
    CHOICE,
    check_batch,
    check_read,
    check_remembers,
    final_memories,
    join_states,
    through_operators,
)
from vernal.formats.onnx.steps import check_steps
from vernal.formats.onnx.trees import ML_DOMAIN, TREES, is_softened, keep_scores, scores_alone
from vernal.formats.recurrent import Slots
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import MERGED, Network, memory_var, network_input

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

OLDEST_OPSET = 6
MAX_NODES = 10_000
MAX_RANK = 8
MAX_STATES = 64  # inputs and outputs of one graph
FLOATS = {1: 4, 10: 2, 11: 8, 16: 2}  # element type -> bytes: float32, float16, float64, bfloat16
BYTES = {**FLOATS, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1}  # small integers, int32, int64, bool
FIELDS = {1: "float_data", 11: "double_data", 7: "int64_data"}  # the others are in int32_data


def parse_onnx(
    data: bytes,
    name: str,
    carry: Mapping[str, str] | None = None,
    limits: ReadLimits = DEFAULT,
    output: str | None = None,
) -> Network:
    """The network of a file's bytes; inputs and outputs of any rank are flattened row by row.

    A graph of several inputs takes its memory as inputs and gives the next one as outputs; `carry` says which belong
    together where their names and shapes do not (see `states`). `output` names the one to read of several.
    """
    model = _decode(data)
    opset = _opset(model)
    graph = model.graph
    if output is None:
        output = scores_alone(graph)
        if output is not None:
            single = [tensor for tensor in graph.initializer if prod(tensor.dims) == 1]
            keep_scores(graph, output, {tensor.name for tensor in single if (read_tensor(tensor) == 1).all()})
    if output is not None:
        keep_output(graph, output, carry or {})
    values: dict[str, OnnxValue] = {tensor.name: read_tensor(tensor) for tensor in graph.initializer}
    entries = [item for item in graph.input if item.name not in values]
    results = [item.name for item in graph.output]
    if not carry and (len(entries) == 1 or len(results) == 1):
        return _plain(graph, opset, values, _single(entries, "input"), name, limits)
    if len(entries) > MAX_STATES or len(results) > MAX_STATES:
        raise FormatError(f"it has {len(entries)} inputs and {len(results)} outputs; at most {MAX_STATES} are read")
    given = {entry.name: _given(entry) for entry in entries}
    values.update(given)
    check_read(graph.node, given, results)
    done = _run(graph, opset, values, results, None, limits)
    made = {result: _output(values, result) for result in results}
    joined = join_states(name, given, made, carry or {}, done.dropped, through_operators(graph.node, given, made))
    return replace(joined, operators=done.operators)


def _acting(graph: GraphProto) -> list[ValueInfoProto]:
    """The outputs but for final memories beside them, which operators with a memory of their own also give."""
    remembered = final_memories(graph.node)
    return [item for item in graph.output if item.name not in remembered] or list(graph.output)


def _plain(
    graph: GraphProto,
    opset: int,
    values: dict[str, OnnxValue],
    entry: ValueInfoProto,
    name: str,
    limits: ReadLimits,
) -> Network:
    """One input, one output; what is remembered, recurrent operators remember by themselves."""
    shape = _input_shape(entry, open_axes=any(node.op_type in RECURRENT for node in graph.node))
    check_batch(entry.name, shape)
    if prod(shape) == shape[-1]:  # else it sees a window, and may well begin anew at every step
        check_remembers(graph)
    result = _single(_acting(graph), "output").name

    def read(seen: tuple[int, ...], slots: Slots) -> Network:
        inputs = network_input(prod(seen))
        own = {**values, entry.name: Tensor(inputs, seen)}
        done = _run(graph, opset, own, [result], slots, limits)
        network = slots.network(name, inputs, _output(own, result).expr, done.dropped.get(result))
        return replace(network, operators=done.operators)

    made = read(shape, Slots())
    if made.memory:
        check_steps(made, entry.name, shape, _open_axes(entry), read)
    return made


def _open_axes(entry: ValueInfoProto) -> list[int]:
    """The axes whose length is not said, but for the last."""
    return [axis for axis, dim in enumerate(entry.type.tensor_type.shape.dim[:-1]) if dim.dim_value < 1]


def _given(entry: ValueInfoProto) -> Tensor:
    """An input of which it is not known yet whether it is an observation or a memory."""
    shape = _input_shape(entry, open_axes=True)
    return Tensor(memory_var(prod(shape), entry.name), shape)


def _output(values: Mapping[str, OnnxValue], result: str) -> Tensor:
    output = values.get(result)
    if output is None:
        raise FormatError(f"no node computes the output {result!r}")
    if not isinstance(output, Tensor):
        raise FormatError(f"the output {result!r} is a constant")
    return output


def _decode(data: bytes) -> ModelProto:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        model: ModelProto = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise FormatError(f"not an ONNX file, or a damaged one ({error})") from None
    if not model.HasField("graph") or not model.graph.node:
        raise FormatError("not an ONNX file: it has no graph")
    if len(model.graph.node) > MAX_NODES:
        raise FormatError(f"its graph has {len(model.graph.node)} nodes; at most {MAX_NODES} are read")
    if model.graph.sparse_initializer or model.functions:
        raise UnsupportedOperator("it uses sparse tensors or functions of its own; export without them")
    return model


def _opset(model: ModelProto) -> int:
    from onnx.defs import onnx_opset_version

    versions: list[int] = sorted({entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")})
    if not versions and all(node.domain == ML_DOMAIN for node in model.graph.node):
        return int(onnx_opset_version())  # trees alone, which have a set of their own
    if len(versions) != 1 or not OLDEST_OPSET <= versions[0] <= onnx_opset_version():
        known = f"{OLDEST_OPSET} to {onnx_opset_version()}"
        raise FormatError(f"it uses operator set {', '.join(map(str, versions)) or 'unknown'}; read are {known}")
    return versions[0]


def _single(items: list[ValueInfoProto], what: str) -> ValueInfoProto:
    if len(items) != 1:
        names = ", ".join(repr(item.name) for item in items[:8]) or "none"
        message = f"it has {len(items)} {what}s ({names}); Vernal reads networks with exactly one"
        choice = f"; {CHOICE}" if what == "output" and items else ""
        raise FormatError(f"{message}, and one more on both sides for each memory (say h_in and h_out){choice}")
    return items[0]


def _input_shape(entry: ValueInfoProto, open_axes: bool = False) -> tuple[int, ...]:
    """The shape of an input, for a batch of one; with `open_axes`, for one step of a sequence of any length, too."""
    kind = entry.type.tensor_type
    if kind.elem_type not in FLOATS or not kind.HasField("shape"):
        raise FormatError(f"input {entry.name!r} is not a tensor of floats with a known shape")
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
    for axis in range(len(sizes) - 1 if open_axes else min(1, len(sizes) - 1)):
        sizes[axis] = 1 if sizes[axis] in (None, 0, -1) else sizes[axis]
    shape = tuple(size for size in sizes if size is not None and size > 0)
    if len(shape) != len(sizes) or not 0 < len(shape) <= MAX_RANK:
        raise FormatError(f"input {entry.name!r} has a shape that is not known; export with fixed sizes")
    check_width(shape)
    return shape


def read_tensor(tensor: TensorProto) -> Array:
    """A constant tensor, once its claimed size is found to be that of its data."""
    from onnx.numpy_helper import to_array

    dims, kind = list(tensor.dims), tensor.data_type
    if tensor.data_location == 1 or tensor.external_data:
        raise FormatError(
            f"tensor {tensor.name!r} lies in another file, which was not read; save the network as one file"
        )
    if kind not in BYTES or any(dim < 0 for dim in dims) or len(dims) > MAX_RANK:
        raise FormatError(f"tensor {tensor.name!r} has an element type or a shape that is not read")
    stored = len(tensor.raw_data) / BYTES[kind] if tensor.HasField("raw_data") else len(_listed(tensor))
    if prod(dims) != stored:
        raise FormatError(f"tensor {tensor.name!r} claims {prod(dims)} entries of shape {dims}, but has {stored:g}")
    array = to_array(tensor)
    if kind in FLOATS:
        with np.errstate(invalid="ignore"):  # a signalling NaN would warn here, and is refused below
            array = array.astype(np.float64)
    elif kind == 6:
        array = array.astype(np.int64)
    check_finite(array, f"tensor {tensor.name!r}")
    return array


def _listed(tensor: TensorProto) -> list[float]:
    entries: list[float] = getattr(tensor, FIELDS.get(tensor.data_type, "int32_data"))
    return entries


class GraphRun(NamedTuple):
    """What is known of a graph once all of its nodes are read."""

    dropped: dict[str, str]  # the operators left out at the end of outputs, by the names of these
    operators: tuple[str, ...]  # all of them, each once


def _run(
    graph: GraphProto,
    opset: int,
    values: dict[str, OnnxValue],
    results: Sequence[str],
    slots: Slots | None,
    limits: ReadLimits,
) -> GraphRun:
    """Every node in turn."""
    read = {name for node in graph.node for name in node.input}
    allowance = Allowance(limits.entries, limits.tick)
    dropped: dict[str, str] = {}
    operators = {node.op_type: None for node in graph.node}
    narrow = {name for name, value in values.items() if is_narrow(value)}
    for position, node in enumerate(graph.node):
        limits.tick()
        given = [name for name in node.output if name]
        last = any(name in results for name in given) and not any(name in read for name in given)
        call = _call(node, position, opset, values, bool(last), allowance, slots)
        reads_narrow = not narrow.isdisjoint(node.input)
        if reads_narrow and call.op not in NARROW_READERS and call.op not in REFUSED:
            raise call.unsupported("computes in integers of a few bits, which wrap around; dequantise these first")
        made = _apply(call)
        if call.op == "QuantizeLinear" or (call.op in MOVES and reads_narrow) or is_narrow(made[0]):
            narrow.update(node.output)
        if is_merged(call, made[0]):
            operators[MERGED] = None
        for output, value in zip(node.output, made, strict=False):
            if output in values:
                raise call.wrong(f"computes {output!r}, which is there already")
            if output:
                values[output] = value
        if is_left_out(call):
            dropped[node.output[0]] = node.op_type
        if is_softened(call):
            dropped |= dict.fromkeys(given, f"{node.op_type} and SOFTMAX")
    return GraphRun(dropped, tuple(operators))


def _call(
    node: NodeProto,
    position: int,
    opset: int,
    values: Mapping[str, OnnxValue],
    last: bool,
    allowance: Allowance,
    slots: Slots | None,
) -> NodeCall:
    name = node.name or f"#{position}"
    own = (ML_DOMAIN,) if node.op_type in TREES else ("", "ai.onnx")
    if node.domain not in own or not (node.op_type in OPERATORS or node.op_type in REFUSED):
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise UnsupportedOperator(
            f"node {name!r} uses {operator}, which Vernal does not read; supported: {', '.join(sorted(OPERATORS))}"
        )
    missing = [given for given in node.input if given and given not in values]
    if missing or not any(node.output):
        what = f"reads {missing[0]!r}, which no earlier node computes" if missing else "has no output"
        raise FormatError(f"node {name!r} ({node.op_type}) {what}")
    inputs = tuple(values[given] if given else None for given in node.input)
    attributes = {attribute.name: value for attribute, value in _attributes(node)}
    outputs = max(place for place, output in enumerate(node.output, 1) if output)
    return NodeCall(node.op_type, name, opset, attributes, inputs, outputs, last, allowance, slots)


def _attributes(node: NodeProto) -> Iterator[tuple[AttributeProto, object]]:
    for attribute in node.attribute:
        yield attribute, _attribute(attribute)


def _attribute(attribute: AttributeProto) -> object:
    """The attribute as a Python value; tensors as arrays, what Vernal has no use for as None."""
    kinds = attribute.AttributeType
    if attribute.type == kinds.FLOAT:
        return attribute.f
    if attribute.type == kinds.INT:
        return attribute.i
    if attribute.type == kinds.STRING:
        return attribute.s
    if attribute.type == kinds.FLOATS:
        return list(attribute.floats)
    if attribute.type == kinds.INTS:
        return list(attribute.ints)
    if attribute.type == kinds.STRINGS:
        return list(attribute.strings)
    return read_tensor(attribute.t) if attribute.type == kinds.TENSOR else None


def _apply(call: NodeCall) -> Sequence[OnnxValue]:
    """The values of a node's outputs."""
    if call.op in REFUSED:
        return [REFUSED[call.op](call)]
    operator = OPERATORS[call.op]
    unknown = sorted(map(str, set(call.attributes) - operator.attributes))  # a damaged name may be bytes
    if unknown:
        raise call.unsupported(f"has the attribute {unknown[0]!r}, which Vernal does not understand")
    try:
        made = operator.read(call)
    except TypeClash as clash:
        raise call.unsupported(f"mixes what does not go together: {clash}") from None
    return made if isinstance(made, tuple) else [folded(call, made)]
