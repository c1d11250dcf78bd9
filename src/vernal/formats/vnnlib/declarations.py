"""What a query may declare: elements one by one (VNN-LIB 1), or one network with its tensors (VNN-LIB 2.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vernal.errors import nearest
from vernal.formats.layers import check_width
from vernal.formats.vnnlib.query import DeclaredTensor, tensor
from vernal.formats.vnnlib.sexpr import IndexList, List, QueryText, SExpression, Word, shown

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
ELEMENT = re.compile(r"([XY])_(0|[1-9]\d{0,8})", re.ASCII)
SORTS = ("Real", "real")
REFUSED = {
    "declare-hidden": "hidden nodes",
    "equal-to": "networks equal to others",
    "isomorphic-to": "networks isomorphic to others",
}


@dataclass
class Declared:
    """The names in scope."""

    network: str | None = None
    inputs: list[DeclaredTensor] = field(default_factory=list)
    outputs: list[DeclaredTensor] = field(default_factory=list)
    singles: dict[str, set[int]] = field(default_factory=lambda: {"X": set(), "Y": set()})
    _elements: dict[str, int] | None = None

    @property
    def elements(self) -> dict[str, int]:
        """Every element that may be used, by the way it is written; made once all is declared."""
        if self._elements is None:
            tensors = [*self.inputs, *self.outputs] or self._from_singles()
            names = [name for one in tensors for name in one.elements()]
            self._elements = {name: number for number, name in enumerate(names)}
        return self._elements

    def _from_singles(self) -> list[DeclaredTensor]:
        return [DeclaredTensor(name, len(indices)) for name, indices in self.singles.items()]

    def tensors(self, text: QueryText) -> tuple[DeclaredTensor, DeclaredTensor]:
        """Input and output, complete."""
        if self.network is not None:
            return self.inputs[0], self.outputs[0]
        for name, indices in self.singles.items():
            what = "input" if name == "X" else "output"
            if not indices:
                raise text.wrong(f"the query declares no {what} before it asserts something", 0)
            missing = next((index for index in range(max(indices)) if index not in indices), None)
            if missing is not None:
                raise text.wrong(f"{name}_{max(indices)} is declared, but {name}_{missing} is not", 0)
        source, result = self._from_singles()
        return source, result

    def add(self, text: QueryText, letter: str, index: int, at: int) -> None:
        """One more element of VNN-LIB 1."""
        known = self.singles[letter]
        if index in known:
            raise text.wrong(f"{letter}_{index} is declared twice", at)
        known.add(index)

    def unknown(self, name: str) -> str:
        """What is wrong with a name that is no element."""
        for one in (*self.inputs, *self.outputs):
            if name.partition("[")[0] == one.name:
                shape = ",".join(map(str, one.shape or ()))
                return f"{shown(name)} is no element of {one.name}, which has the shape [{shape}]"
        hint = nearest(name, self.elements) if len(self.elements) <= 10_000 else ""
        return f"{shown(name)} is neither a number nor declared{hint}"


# Version 1 ------------------------------------------------------------------------------------------------------------


def declare_element(text: QueryText, command: List, declared: Declared) -> None:
    """`(declare-const X_0 Real)`, or the same as a function without arguments."""
    items = command.items[1:]
    if command.head == "declare-fun" and len(items) == 3:
        if not (isinstance(items[1], List) and not items[1].items):
            raise text.wrong("functions with arguments are not supported", command.at)
        del items[1]
    if len(items) != 2 or not all(isinstance(item, Word) for item in items):
        raise text.wrong(f"{command.head} takes a name and a sort, as in (declare-const X_0 Real)", command.at)
    name, sort = (item for item in items if isinstance(item, Word))
    found = ELEMENT.fullmatch(name.text)
    if found is None:
        raise text.wrong(f"{shown(name.text)} cannot be declared: inputs are X_0, X_1, ..., outputs Y_0, ...", name.at)
    if sort.text != "Real":
        raise text.wrong(f"the sort {shown(sort.text)} is not supported; variables are Real", sort.at)
    declared.add(text, found[1], int(found[2]), name.at)


# Version 2 ------------------------------------------------------------------------------------------------------------


def declare_network(text: QueryText, command: List, declared: Declared) -> None:
    """`(declare-network N (declare-input X Real [1,5]) (declare-output Y Real [1,5]))`"""
    if declared.network is not None:
        raise text.wrong("a second network is not supported; a query is about one", command.at)
    name, *parts = command.items[1:] or [command]
    declared.network = _name(text, name, "a network")
    for part in parts:
        if not isinstance(part, List) or part.head in REFUSED or part.head not in ("declare-input", "declare-output"):
            head = part.head if isinstance(part, List) else ""
            what = f"{REFUSED[head]} ({head}) are" if head in REFUSED else f"{shown(head) if head else 'this'} is"
            raise text.wrong(f"{what} not supported; supported: declare-input, declare-output", part.at)
        _declare_tensor(text, part, declared)
    for what, found in (("input", declared.inputs), ("output", declared.outputs)):
        if not found:
            raise text.wrong(f"the network declares no {what}; add (declare-{what} ...)", command.at)
    if declared.inputs[0].name == declared.outputs[0].name:
        raise text.wrong(f"{declared.inputs[0].name} is declared twice", command.at)
    if (declared.inputs[0].onnx is None) != (declared.outputs[0].onnx is None):
        raise text.wrong("either every tensor is given the name of its ONNX node, or none is", command.at)


def _declare_tensor(text: QueryText, part: List, declared: Declared) -> None:
    kind = part.head.removeprefix("declare-")
    known = declared.inputs if kind == "input" else declared.outputs
    if known:
        raise text.wrong(f"a second {kind} is not supported; networks with one input and one output are read", part.at)
    if kind == "input" and declared.outputs:
        raise text.wrong("inputs are declared before outputs", part.at)
    name, sort, shape, *more = [*part.items[1:], None, None, None][: max(3, len(part.items) - 1)]
    if not isinstance(sort, Word) or not isinstance(shape, IndexList) or len(more) > 1:
        raise text.wrong(
            f"write ({part.head} NAME Real [1,5]), then the name of its ONNX node in quotes or nothing", part.at
        )
    if sort.text not in SORTS:
        raise text.wrong(
            f"the element type {shown(sort.text)} is not supported: Vernal reasons over the reals and claims nothing "
            "of machine numbers; declare the tensor as Real to ask that",
            sort.at,
        )
    if 0 in shape.numbers:
        raise text.wrong("a tensor without elements has nothing to say", shape.at)
    check_width(shape.numbers)
    known.append(tensor(_name(text, name, "a tensor"), shape.numbers, sort.text, _onnx_name(text, more)))


def _onnx_name(text: QueryText, more: list[SExpression | None]) -> str | None:
    if not more:
        return None
    (node,) = more
    if not isinstance(node, Word) or not node.text.startswith('"'):
        raise text.wrong("the name of an ONNX node is written in quotes", node.at if node else 0)
    return node.text[1:-1]


def _name(text: QueryText, node: SExpression | None, what: str) -> str:
    if not isinstance(node, Word) or not NAME.fullmatch(node.text):
        raise text.wrong(f"the name of {what} begins with a letter, then letters, digits and _", node.at if node else 0)
    return node.text
