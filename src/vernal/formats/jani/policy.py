"""Policies of planning models: which variables a network sees, and which action each of its outputs stands for.

A jani2nnet file (JSON) names a network and its interface. For a network alone (`.onnx`, `.nnet`, ...) the interface is
a small TOML file of the same shape:

    file = "policy.onnx"
    input = ["x", "y"]
    output = ["left", "right"]
    filter = false              # true: the best of the applicable actions is chosen
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vernal.errors import NameUnknown, TypeClash, nearest
from vernal.formats.jani.arrays import brackets
from vernal.formats.jani.composition import PlanningModel
from vernal.formats.jani.entries import JsonEntry, read_json, shown
from vernal.formats.networks import locate, read_bytes, read_network
from vernal.formats.toml_text import read_toml
from vernal.logic.task import InputFile
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Expr
from vernal.model.network import Network
from vernal.model.sorts import BOOL, enum
from vernal.model.system import Agent, Variable

MAX_BYTES = 2**20  # of a TOML interface


@dataclass(frozen=True, slots=True)
class PolicyInterface:
    """A network with what it sees and what its outputs mean; `filter`: only applicable actions are chosen."""

    network: Network
    inputs: tuple[Variable, ...]
    labels: tuple[str, ...]
    filter: bool
    files: tuple[InputFile, ...]

    def agent(self, name: str, filtered: bool) -> Agent:
        """The policy as an agent: an action by argmax, or all scores where applicable actions are filtered."""
        seen = [as_number(variable) for variable in self.inputs]
        if filtered:
            return make_agent(name, (self.network,), seen, "raw")
        return make_agent(name, (self.network,), seen, "argmax", labels=enum(*self.labels))


def as_number(variable: Variable) -> Expr:
    """What a network sees of a variable: a truth value as 0 or 1, a location as its index."""
    if variable.sort.is_number:
        return variable.var
    if variable.sort == BOOL:
        return build.if_(variable.var, 1, 0)
    count = len(variable.sort.labels)
    return build.switch(variable.var, [Fraction(index) for index in range(count)], list(range(count)))


def read_policy(file: Path, model: PlanningModel) -> PolicyInterface:
    """The policy that a jani2nnet or TOML file describes."""
    entry, source = _read_toml(file) if file.suffix.lower() == ".toml" else read_json(file)
    network_file = locate(entry.text("file"), file.parent)
    inputs = tuple(_input(item, model) for item in entry["input"].items())
    labels = _labels(entry["output"], model)
    network = read_network(network_file)
    _check_shape(entry, network, inputs, labels)
    files = (source, InputFile(str(network_file), network.sha256 or ""))
    return PolicyInterface(network, inputs, labels, entry.flag("filter"), files)


def _read_toml(file: Path) -> tuple[JsonEntry, InputFile]:
    content = read_bytes(file, MAX_BYTES)
    value = read_toml(content, str(file))
    return JsonEntry(value, str(file)), InputFile(str(file), hashlib.sha256(content).hexdigest())


def _input(entry: JsonEntry, model: PlanningModel) -> Variable:
    """A variable of the model, or of the automaton with an index; by an automaton's own name, its location."""
    if isinstance(entry.value, str):
        return _known(entry, entry.text(), model)
    name, owner = entry.text("name"), entry.get("automaton")
    index = entry.get("index")
    if index is not None and not any(name == process.name for process in model.processes):
        name += brackets((_element(index),))
    for number, process in enumerate(model.processes):
        if owner is not None and owner.value not in (number, process.name):
            continue
        if owner is not None and name in process.variables:
            return process.variables[name].variable
        if owner is None and name == process.name and process.place is not None and name not in model.variables:
            return process.place.variable
    return _known(entry, name, model)


def _element(index: JsonEntry) -> int:
    if type(index.value) is not int:
        index.refuse(f"the number of an element is an integer, not {shown(index.value)}")
    return int(index.value)


def _known(entry: JsonEntry, name: str, model: PlanningModel) -> Variable:
    for declared in model.state:
        if declared.variable.name == name:
            return declared.variable
    known = [declared.variable.name for declared in model.state]
    raise entry.error(f"the model has no variable {name!r}{nearest(name, known)}", NameUnknown)


def _labels(entry: JsonEntry, model: PlanningModel) -> tuple[str, ...]:
    found: list[str] = []
    for item in entry.items():
        label = item.text()
        if label not in model.actions:
            known = nearest(label, model.actions) if model.actions else ": it declares none"
            raise item.error(f"the model has no action {label!r}{known}", NameUnknown)
        if label in found:
            item.refuse(f"the action {label!r} appears twice")
        found.append(label)
    if not found:
        entry.refuse("the policy has no action: name one for each output of the network")
    return tuple(found)


def _check_shape(entry: JsonEntry, network: Network, inputs: Sequence[Variable], labels: Sequence[str]) -> None:
    sizes = [("input", network.input_size, len(inputs)), ("output", network.output_size, len(labels))]
    for key, own, named in sizes:
        if own != named:
            what = f"the network {network.file} has {own} {key}s, but {named} are named here"
            raise entry[key].error(what, TypeClash)
    if network.memory_size:
        raise entry["file"].error("a policy with memory is not supported for planning models", TypeClash)
