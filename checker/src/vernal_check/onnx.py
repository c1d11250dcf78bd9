"""ONNX files, byte by byte: networks of affine layers and activations, as a list of instructions over vectors.

A message of protocol buffers is a row of fields, each a number and a value: an integer, eight or four bytes, or bytes
that are text, a message or packed numbers. Only the fields and operators named here are read; others are refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from vernal_check.errors import Unreadable
from vernal_check.recurrent import GATES, Cell, width

Shape = tuple[int, ...]
MAX_WEIGHTS = 20_000_000
FLOAT, INT32, INT64, DOUBLE = 1, 6, 7, 11
FORMATS = {FLOAT: "f", DOUBLE: "d", INT32: "i", INT64: "q"}
BEFORE = re.compile(r"([a-z][a-z0-9]*)(?:_in|_prev)|prev_([a-z][a-z0-9]*)")
AFTER = re.compile(r"([a-z][a-z0-9]*)(?:_out|_next|_new)|(?:next|new)_([a-z][a-z0-9]*)")
SIMPLE = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Identity": "same", "Flatten": "same"}


@dataclass(frozen=True)
class Instruction:
    """One step of a network: its kind, the numbers of the vectors it reads, and constants."""

    kind: str  # affine, relu, tanh, sigmoid, leaky, same, add, times
    inputs: tuple[int, ...]
    rows: tuple[tuple[tuple[int, Fraction], ...], ...] = ()  # of an affine map: (column, weight) where not 0
    shift: tuple[Fraction, ...] = ()
    columns: int = 0
    scale: Fraction = Fraction(0)


@dataclass(frozen=True)
class Network:
    """Vector 0 is the input; instruction n makes vector n + 1; the last is the output."""

    size: int
    instructions: tuple[Instruction, ...]
    outputs: int = 0
    memory: int = 0  # so many of the last inputs are what it remembers; the last outputs are what it does next


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value: Any
            value, place = varint(data, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, place = data[place : place + size], place + size
        elif kind == 2:
            size, place = varint(data, place)
            value, place = data[place : place + size], place + size
        else:
            raise Unreadable("not an ONNX file: a field of an unknown kind")
        if place > len(data):
            raise Unreadable("not an ONNX file: it ends in the middle of a field")
        yield number, value


def varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while place < len(data) and shift < 70:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if not byte & 128:
            return value, place
    raise Unreadable("not an ONNX file: a number without an end")


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def integers(values: Sequence[Any]) -> list[int]:
    """A repeated integer, packed or not."""
    found: list[int] = []
    for value in values:
        if isinstance(value, int):
            found.append(signed(value))
            continue
        place = 0
        while place < len(value):
            number, place = varint(value, place)
            found.append(signed(number))
    return found


def grouped(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    values: tuple[Any, ...]


def tensor(data: bytes) -> tuple[str, Tensor]:
    """A constant and its name."""
    parts = grouped(data)
    shape, kind = tuple(integers(parts.get(1, []))), parts.get(2, [0])[0]
    count = prod(shape)
    if parts.get(14, [0])[0] or 13 in parts:
        raise Unreadable("weights in a file of their own are not read")
    if kind not in FORMATS or any(n < 0 for n in shape) or count > MAX_WEIGHTS:
        raise Unreadable(f"a constant of the kind {kind} and the shape {shape} is not read")
    if 9 in parts:
        raw = b"".join(parts[9])
        if len(raw) != count * struct.calcsize(f"<{FORMATS[kind]}"):
            raise Unreadable("a constant has not as many numbers as its shape says")
        values: list[Any] = list(struct.unpack(f"<{count}{FORMATS[kind]}", raw))
    elif kind in (FLOAT, DOUBLE):
        packed = b"".join(parts.get(4 if kind == FLOAT else 10, []))
        size = 4 if kind == FLOAT else 8
        values = list(struct.unpack(f"<{len(packed) // size}{FORMATS[kind]}", packed))
    else:
        values = integers(parts.get(7 if kind == INT64 else 5, []))
    if len(values) != count:
        raise Unreadable("a constant has not as many numbers as its shape says")
    if any(isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))) for v in values):
        raise Unreadable("a weight is not a number")
    return text(parts.get(8, [b""])[0]), Tensor(shape, tuple(map(Fraction, values)))


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def attributes(items: Sequence[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for data in items:
        parts = grouped(data)
        name = text(parts[1][0])
        if 2 in parts:
            found[name] = Fraction(struct.unpack("<f", parts[2][0])[0])
        elif 5 in parts:
            found[name] = tensor(parts[5][0])[1]
        elif 3 in parts:
            found[name] = signed(parts[3][0])
        elif 8 in parts:
            found[name] = integers(parts[8])
        elif 9 in parts:
            found[name] = [text(item) for item in parts[9]]
        elif 4 in parts:
            found[name] = text(parts[4][0])
    return found


class Reader:
    """A graph, node by node. A variable is (vector, shape); a constant is a Tensor."""

    def __init__(self, data: bytes) -> None:
        model = grouped(data)
        if len(model.get(7, [])) != 1:
            raise Unreadable("not an ONNX file: it has no graph")
        graph = grouped(model[7][0])
        self.known: dict[str, Any] = dict(map(tensor, graph.get(5, [])))
        inputs = [value_info(item) for item in graph.get(11, [])]
        inputs = [(name, shape) for name, shape in inputs if name not in self.known]
        inputs, outputs = paired(inputs, [value_info(item)[0] for item in graph.get(12, [])])
        shapes = [tuple(max(n, 1) for n in shape) for _, shape in inputs]
        nodes = [grouped(node) for node in graph.get(1, [])]
        if len(inputs) == 1:  # what recurrent operators remember is the network's memory
            own = [(name, (1, 1, size)) for node in nodes for name, size in self.remembered(node)]
            inputs, shapes = [*inputs, *((name, list(shape)) for name, shape in own)], [*shapes, *(s for _, s in own)]
            outputs = [*outputs, *(f"{name} next" for name, _ in own)]
        self.size, self.memory = sum(map(prod, shapes)), sum(map(prod, shapes[1:]))
        self.instructions: list[Instruction] = []
        self.softmax = False
        self.known.update(zip((name for name, _ in inputs), self.parts(shapes), strict=True))
        for node in nodes:
            self.read(node)
        found = [self.known.get(name) for name in outputs]
        if not all(isinstance(output, tuple) for output in found):
            raise Unreadable("an output of the network does not depend on its input")
        if [prod(output[1]) for output in found[1:]] != [*map(prod, shapes[1:])]:  # type: ignore[index]
            raise Unreadable("what a network remembers has another size than before")
        vectors = [output[0] for output in found]  # type: ignore[index]
        self.outputs: int = sum(prod(output[1]) for output in found)  # type: ignore[index, misc]
        self.emit("join" if len(vectors) > 1 else "same", vectors, ())

    def parts(self, shapes: Sequence[Shape]) -> list[tuple[int, Shape]]:
        """Each input as a part of vector 0, which holds them one after the other."""
        if len(shapes) == 1:
            return [(0, shapes[0])]
        made, first = [], 0
        for shape in shapes:
            rows = tuple(((first + i, Fraction(1)),) for i in range(prod(shape)))
            made.append(self.emit("affine", [0], shape, rows=rows, shift=(Fraction(0),) * len(rows), columns=self.size))
            first += prod(shape)
        return made

    def emit(
        self, kind: str, inputs: Sequence[int], shape: tuple[int, ...], **more: Any
    ) -> tuple[int, tuple[int, ...]]:
        self.instructions.append(Instruction(kind, tuple(inputs), **more))
        return len(self.instructions), shape

    def read(self, node: Mapping[int, list[Any]]) -> None:
        op, more = text(node[4][0]), attributes(node.get(5, []))
        names = [text(item) for item in node.get(1, [])]
        if self.softmax:
            raise Unreadable("a Softmax is read only as the last operator")
        if any(name and name not in self.known for name in names):
            raise Unreadable(f"{op} reads a value that does not exist")
        if op in GATES:
            return self.recurrent(op, node, names, more)
        given = [self.known[name] for name in names if name]
        self.known[text(node[2][0])] = self.result(op, given, more)

    def remembered(self, node: Mapping[int, list[Any]]) -> list[tuple[str, int]]:
        """What a recurrent operator remembers by itself: names that no value has, and sizes."""
        op, names = text(node[4][0]), [text(item) for item in node.get(1, [])]
        if op not in GATES:
            return []
        if any(names[5:]):
            raise Unreadable(f"a {op} that starts from a constant is not read")
        size = self.known[names[2]].shape[-1]
        return [(f"{text(node[2][0])} {word}", size) for word in (["h", "c"] if op == "LSTM" else ["h"])]

    def recurrent(self, op: str, node: Mapping[int, list[Any]], names: Sequence[str], more: Mapping[str, Any]) -> None:
        """One step of a recurrent operator, whose memory is its own, or given to it."""
        given = [self.known.get(name) for name in names]
        x, weights = given[0], [item for item in given[1:4] if item is not None]
        if not isinstance(x, tuple) or not all(isinstance(item, Tensor) for item in weights) or any(names[4:5]):
            raise Unreadable(f"a {op} of this kind is not read")
        cell, first = Cell(op, weights, more, self.emit), text(node[2][0])
        count = 1 + (op == "LSTM")
        own = [self.known.get(name) for name in ([f"{first} h", f"{first} c"])[:count]]
        before = own if own[0] is not None else [self.known.get(name) for name in [*names[5:7], "", ""][:count]]
        if width(x[1]) != cell.inputs or not all(isinstance(b, tuple) and width(b[1]) == cell.size for b in before):
            raise Unreadable(f"the sizes of a {op} differ, or it starts anew at every step")
        after = cell.after(x[0], *[b[0] for b in before], *[None] * (2 - count))  # type: ignore[index]
        named = [*map(text, node[2]), "", "", ""]
        self.known[named[0]] = after[0], (1, 1, 1, cell.size)
        for word, name, vector in zip(("h", "c"), named[1:], after, strict=False):
            self.known[name] = self.known[f"{first} {word} next"] = vector, (1, 1, cell.size)

    def result(self, op: str, given: list[Any], more: Mapping[str, Any]) -> Any:
        if op == "Constant":
            return more["value"]
        if op in SIMPLE and isinstance(given[0], tuple):
            kept = (1, prod(given[0][1])) if op == "Flatten" else given[0][1]
            return self.emit(SIMPLE[op], [given[0][0]], kept)
        if op == "Neg":
            return self.elementwise("Mul", given[0], Tensor((), (Fraction(-1),)))
        if op == "LeakyRelu":
            return self.emit("leaky", [given[0][0]], given[0][1], scale=more.get("alpha", Fraction(0.01)))
        if op == "Softmax":
            self.softmax = True
            return given[0]
        if op in ("Squeeze", "Unsqueeze", "Transpose") and isinstance(given[0], tuple):
            return self.emit("same", [given[0][0]], self.turned(op, given, more))
        if op == "Reshape":
            return self.emit("same", [given[0][0]], self.reshaped(given[0][1], given[1]))
        if op == "Gemm":
            return self.gemm(given, more)
        if op == "MatMul" and isinstance(given[0], tuple) and isinstance(given[1], Tensor):
            return self.affine(given[0], given[1], None, False)
        if op in ("Add", "Sub", "Mul", "Div"):
            return self.elementwise(op, *given)
        if op == "Concat" and all(isinstance(item, tuple) and prod(item[1][:-1]) == 1 for item in given):
            shapes = [item[1] for item in given]
            if len({len(shape) for shape in shapes}) > 1 or more.get("axis") not in (-1, len(shapes[0]) - 1):
                raise Unreadable("a Concat along another axis than the last is not read")
            width = sum(shape[-1] for shape in shapes)
            return self.emit("join", [item[0] for item in given], (*shapes[0][:-1], width))
        raise Unreadable(f"the operator {op} is not read")

    def turned(self, op: str, given: list[Any], more: Mapping[str, Any]) -> Shape:
        """The shape of a vector after its axes of length one were lost, added, or put in another order."""
        shape = list(given[0][1])
        if op == "Transpose":
            made = [shape[axis] for axis in more.get("perm", range(len(shape))[::-1])]
            if sum(n > 1 for n in shape) > 1 or sorted(made) != sorted(shape):
                raise Unreadable("a Transpose of a matrix is not read")
            return tuple(made)
        axes = more.get("axes", [int(n) for n in given[1].values] if len(given) > 1 else None)
        if op == "Squeeze":
            lost = {a % len(shape) for a in axes} if axes is not None else {i for i, n in enumerate(shape) if n == 1}
            if any(shape[axis] != 1 for axis in lost):
                raise Unreadable("a Squeeze of an axis that is not of length one")
            return tuple(n for axis, n in enumerate(shape) if axis not in lost)
        for axis in sorted(a % (len(shape) + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return tuple(shape)

    def reshaped(self, shape: tuple[int, ...], wanted: Tensor) -> tuple[int, ...]:
        sizes = [shape[i] if n == 0 else int(n) for i, n in enumerate(wanted.values)]
        rest = prod(n for n in sizes if n != -1)
        made = tuple(prod(shape) // rest if n == -1 else n for n in sizes)
        if prod(made) != prod(shape):
            raise Unreadable("a Reshape changes the number of values")
        return made

    def gemm(self, given: list[Any], more: Mapping[str, Any]) -> Any:
        if more.get("transA", 0) or more.get("alpha", 1) != 1 or more.get("beta", 1) != 1:
            raise Unreadable("a Gemm with transA, alpha or beta is not read")
        if not isinstance(given[0], tuple) or not all(isinstance(item, Tensor) for item in given[1:]):
            raise Unreadable("a Gemm of two variables is not read")
        return self.affine(given[0], given[1], given[2] if len(given) > 2 else None, bool(more.get("transB", 0)))

    def affine(self, value: tuple[int, Any], weights: Tensor, shift: Tensor | None, transposed: bool) -> Any:
        vector, shape = value
        if len(weights.shape) != 2 or prod(shape[:-1]) != 1:
            raise Unreadable("only products of one vector and a matrix are read")
        rows, columns = weights.shape if transposed else weights.shape[::-1]
        if columns != shape[-1]:
            raise Unreadable("the sizes of a vector and a matrix differ")
        flat = weights.values
        table = tuple(
            tuple((j, w) for j in range(columns) if (w := flat[i * columns + j] if transposed else flat[j * rows + i]))
            for i in range(rows)
        )
        more = (Fraction(0),) * rows if shift is None else stretched(shift, rows)
        return self.emit("affine", [vector], (*shape[:-1], rows), rows=table, shift=more, columns=columns)

    def elementwise(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            raise Unreadable("constants that are computed are not read")
        if isinstance(a, tuple) and isinstance(b, tuple):
            if op not in ("Add", "Sub", "Mul") or a[1] != b[1]:
                raise Unreadable(f"{op} of two variables is not read")
            if op == "Mul":
                return self.emit("times", [a[0], b[0]], a[1])
            return self.emit("add", [a[0], b[0]], a[1], scale=Fraction(1 if op == "Add" else -1))
        variable, other = (a, b) if isinstance(a, tuple) else (b, a)
        size = prod(variable[1])
        values = stretched(other, size)
        if op in ("Add", "Sub"):
            sign = -1 if op == "Sub" and isinstance(b, tuple) else 1
            more = values if op == "Add" or sign < 0 else tuple(-v for v in values)
            table = tuple(((i, Fraction(sign)),) for i in range(size))
            return self.emit("affine", [variable[0]], variable[1], rows=table, shift=more, columns=size)
        if op == "Div" and (isinstance(b, tuple) or not all(values)):
            raise Unreadable("a division by a variable is not read")
        factors = [1 / v for v in values] if op == "Div" else list(values)
        scaled = tuple(tuple((i, factors[i]) for _ in range(bool(factors[i]))) for i in range(size))
        return self.emit("affine", [variable[0]], variable[1], rows=scaled, shift=(Fraction(0),) * size, columns=size)


def paired(inputs: Sequence[tuple[str, Any]], outputs: Sequence[str]) -> tuple[list[tuple[str, Any]], list[str]]:
    """What a network sees and how it acts, and after that each memory before and after a step, by their names."""
    if len(inputs) == len(outputs) == 1:
        return list(inputs), list(outputs)
    stems = {}
    for stem, name in ((match[1] or match[2], name) for name in outputs if (match := AFTER.fullmatch(name))):
        if stem in stems:
            raise Unreadable(f"two outputs of the network may be the next {stem}")
        stems[stem] = name
    before = [(item, match[1] or match[2]) for item in inputs if (match := BEFORE.fullmatch(item[0]))]
    kept = [(item, stem) for item, stem in before if stem in stems]
    seen, acts = [item for item in inputs if item not in [k for k, _ in kept]], set(outputs) - set(stems.values())
    if len({stem for _, stem in kept}) < len(kept) or len(kept) < len(stems) or len(seen) != 1 or len(acts) != 1:
        raise Unreadable("a network with one input and one output besides its memory is expected")
    return [seen[0], *(item for item, _ in kept)], [acts.pop(), *(stems[stem] for _, stem in kept)]


def stretched(constant: Tensor, size: int) -> tuple[Fraction, ...]:
    """A constant as a vector of this size: one number for all, or one for each."""
    if len(constant.values) == 1:
        return constant.values * size
    if len(constant.values) != size or prod(constant.shape[:-1]) != 1:
        raise Unreadable("a constant of this shape is not read")
    return constant.values


def value_info(data: bytes) -> tuple[str, list[int]]:
    """The name of an input or output, and its shape, 0 where it is open."""
    parts = grouped(data)
    shape: list[int] = []
    for kind in parts.get(2, []):
        for element in grouped(kind).get(1, []):
            for dims in grouped(element).get(2, []):
                for dim in grouped(dims).get(1, []):
                    shape.append(signed(grouped(dim).get(1, [0])[0]))
    return text(parts[1][0]), shape


def read(data: bytes) -> tuple[Network, bool]:
    """The network of a file's bytes, and whether it ends with a Softmax, which an argmax does not see."""
    try:
        reader = Reader(data)
    except (KeyError, IndexError, struct.error, TypeError, ValueError) as error:
        raise Unreadable(f"not an ONNX file that is read: {error!r}") from None
    return Network(reader.size, tuple(reader.instructions), reader.outputs, reader.memory), reader.softmax
