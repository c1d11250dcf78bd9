"""The whole check: read the certificate, then the task that it names, and go through the obligations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from vernal_check import certificate, syntax, task
from vernal_check.certificate import Header
from vernal_check.errors import Rejected, Unreadable
from vernal_check.formulas import Normal
from vernal_check.graph import Graph, SetNode
from vernal_check.rules import Fixpoints, by_induction, decide
from vernal_check.syntax import Node
from vernal_check.system import System

RESERVED_PROPERTY = "in_range"


@dataclass(frozen=True)
class Accepted:
    """What was shown, by how much, and what it rests on."""

    formula: str
    sets: int
    trusted: str
    vacuous: bool
    steps: tuple[tuple[str, str], ...] = ()  # from which set to which, by their names, where that was asked

    def __str__(self) -> str:
        vacuous = "  vacuous: there is no initial state" if self.vacuous else ""
        count = "1 set" if self.sets == 1 else f"{self.sets:,} sets"
        return f"accepted  {self.formula}  by {count}{vacuous}\n          trusted: {self.trusted}"


def check(file: Path, task_file: Path | None = None) -> Accepted:
    """Accepted, or an exception that says why not."""
    lines = certificate.lines(file)
    first = next(lines, None)
    head = certificate.header(first)
    loaded = load(head, file, task_file)
    if tuple(variable.name for variable in loaded.variables) != head.variables:
        raise Rejected("the certificate has other variables than the task")
    nodes: list[SetNode] = []
    for place, line in enumerate(lines, 2):
        if isinstance(line, dict) and "certificate" in line:
            if line != first:
                raise Rejected("parts of different certificates were joined")
            continue
        nodes.append(certificate.node(line, place, loaded.variables))
    if len({node.name for node in nodes}) < len(nodes):
        raise Rejected("two sets have one name")
    text = written(head, loaded)
    system = System(loaded)
    claim = syntax.expression(text)
    normal = Normal(claim if head.state is None else Node("!", (claim,)), system.scope_of_constants())
    graph = Graph(system, nodes, normal)
    state = None if head.state is None else certificate.cells(head.state, loaded.variables, 1)
    starts = graph.starts() if state is None else graph.start_at(state)
    inductions = [number for number, node in enumerate(nodes) if node.induction]
    if normal.is_branching and (inductions or any(node.walk for node in nodes)):
        raise Unreadable("sets that are followed show nothing of a formula with path quantifiers")
    if normal.is_branching:
        Fixpoints(graph).check(starts)
    elif inductions:
        by_induction(graph, starts, inductions)
    else:
        decide(graph, starts)
    shown = text if state is None else f"!({text}) at {system.described(state)}"
    return Accepted(shown, len(nodes), trusted(head, loaded), not starts, graph.edges())


def written(head: Header, loaded: task.Task) -> str:
    """The claim: the property of that name as the task writes it, else the formula of the header."""
    if head.property is None or (head.property == RESERVED_PROPERTY and head.property not in loaded.properties):
        return head.formula
    if head.property not in loaded.properties:
        raise Rejected(f"the task has no property {head.property!r}")
    return loaded.properties[head.property]


def load(head: Header, file: Path, task_file: Path | None) -> task.Task:
    name, sha256 = head.task.get("file"), head.task.get("sha256")
    if task_file is None:
        if not isinstance(name, str):
            raise Unreadable("the certificate names no task file")
        options = (file.parent / name, Path(name), file.parent / Path(name).name)
        task_file = next((option for option in options if option.is_file()), None)
        if task_file is None:
            raise Unreadable(f"the task file {name!r} is neither beside {file} nor in the current folder")
    if not isinstance(sha256, str):
        raise Unreadable("the certificate has no hash of its task")
    loaded = task.load(task_file, sha256, parameters(head.task.get("parameters", {})), head.worlds)
    recorded = [entry.get("sha256") for entry in entries(head.task.get("networks", []))]
    if set(map(str, recorded)) != set(loaded.hashes):
        raise Rejected("the networks are not those that the certificate names")
    return loaded


def entries(document: Any) -> list[Mapping[str, Any]]:
    if not isinstance(document, list) or not all(isinstance(entry, dict) for entry in document):
        raise Unreadable("not a certificate: its networks are no list")
    return document


def parameters(document: Any) -> dict[str, Fraction]:
    if not isinstance(document, dict):
        raise Unreadable("not a certificate: its parameters are no object")
    found = {name: certificate.number(item) if isinstance(item, str) else item for name, item in document.items()}
    if not all(isinstance(item, Fraction) for item in found.values()):
        raise Unreadable("not a certificate: a parameter is no number")
    return found


def trusted(head: Header, loaded: task.Task) -> str:
    """What an accepted claim rests on, in one line."""
    given = ", ".join(f"{name} = {value}" for name, value in parameters(head.task.get("parameters", {})).items())
    parts = [f"this program and Python; the task {head.task.get('file')} as docs/tasks.md reads it"]
    parts += [f"with {given}"] if given else []
    parts += [f"the world {name} of docs/worlds.md" for name in head.worlds]
    networks = len(loaded.hashes) - len(head.worlds)
    parts += [f"{networks} networks over the real numbers"] if networks else []
    return ", ".join(parts)
