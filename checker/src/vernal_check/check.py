"""The whole check: read the certificate, then the task that it names, and go through the obligations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vernal_check import certificate, jani, maps, nnet, onnx, queries, seconds, sorts, syntax, task
from vernal_check.certificate import Header
from vernal_check.errors import Rejected, Unreadable
from vernal_check.formulas import Normal
from vernal_check.graph import Graph, SetNode
from vernal_check.maps import AcceptedMap
from vernal_check.rules import Fixpoints, by_induction, decide, walk
from vernal_check.syntax import Node
from vernal_check.system import System

RESERVED_PROPERTY = "in_range"
OPTIONS = {"policy", "property", "start", "unsafe", "filter"}


@dataclass(frozen=True)
class Accepted:
    """What was shown, by how much, and what it rests on."""

    formula: str
    sets: int
    trusted: str
    vacuous: bool
    steps: tuple[tuple[str, str], ...] = ()  # from which set to which, by their names, where that was asked
    of_graph: bool = False  # whether it is about the graph in the certificate, and the task was not read

    def __str__(self) -> str:
        vacuous = "  vacuous: there is no initial state" if self.vacuous else ""
        count = "1 set" if self.sets == 1 else f"{self.sets:,} sets"
        graph = " of the graph in the file, the reader was not checked" if self.of_graph else ""
        return f"accepted{graph}  {self.formula}  by {count}{vacuous}\n          trusted: {self.trusted}"


def check(file: Path, task_file: Path | None = None) -> Accepted | AcceptedMap | queries.Unsatisfiable:
    """Accepted, or an exception that says why not."""
    lines = certificate.lines(file)
    first = next(lines, None)
    head = certificate.header(first)
    if head.semantics == certificate.QUERY:
        return of_query(head, file, task_file, once(first, lines))
    loaded = load(head, file, task_file)
    if head.map is not None:
        if head.graph is not None:
            raise Unreadable("maps of graphs are not read")
        return maps.shown(head, loaded, once(first, lines), shown)
    return shown(head, loaded, once(first, lines))


def once(first: Any, lines: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """The lines with their numbers, without repeated headers, which parts have that were joined."""
    for place, line in enumerate(lines, 2):
        if not isinstance(line, dict) or "certificate" not in line:
            yield place, line
        elif line != first:
            raise Rejected("parts of different certificates were joined")


def shown(head: Header, loaded: task.Task, lines: Iterable[tuple[int, Any]]) -> Accepted:
    """Accepted, if these sets show the claim of the header about a task."""
    if tuple(variable.name for variable in loaded.variables) != head.variables:
        raise Rejected("the certificate has other variables than the task")
    nodes = [certificate.node(line, place, loaded.variables) for place, line in lines]
    if len({node.name for node in nodes}) < len(nodes):
        raise Rejected("two sets have one name")
    text, claim = written(head, loaded)
    system = System(loaded)
    sorts.check(loaded, system.scope_of_constants(), claim)
    if (loaded.rates is not None) != (head.semantics == certificate.SECONDS):
        raise Unreadable(f"the semantics {head.semantics} are not those of this task")
    if loaded.rates is not None:
        return in_seconds(head, text, system, nodes, claim)
    normal = Normal(claim if head.state is None else Node("!", (claim,)), system.scope_of_constants())
    graph = Graph(system, nodes, normal)
    state = None if head.state is None else certificate.cells(head.state, loaded.variables, 1)
    starts = graph.starts() if state is None else graph.start_at(state)
    inductions = [number for number, node in enumerate(nodes) if node.induction]
    if normal.is_branching and (inductions or len({node.walk for node in nodes}) > 1):
        raise Unreadable("inductions show nothing of a formula with path quantifiers, nor some sets that are followed")
    if normal.is_branching and any(node.walk for node in nodes):
        for number in starts:
            walk(graph, number)
    elif normal.is_branching:
        Fixpoints(graph).check(starts)
    elif inductions:
        by_induction(graph, starts, inductions)
    else:
        decide(graph, starts)
    said = text if state is None else f"!({text}) at {system.described(state)}"
    return Accepted(said, len(nodes), trusted(head, loaded), not starts, graph.edges(), head.graph is not None)


def of_query(
    head: Header, file: Path, query_file: Path | None, lines: Iterable[tuple[int, Any]]
) -> queries.Unsatisfiable:
    """Accepted, if no input of a network meets a query."""
    name, networks = head.task.get("file"), entries(head.task.get("networks", []))
    if not isinstance(name, str) or len(networks) != 1 or not isinstance(networks[0].get("file"), str):
        raise Unreadable("the certificate names no query and its network")
    query_file = find(name, [file.parent]) if query_file is None else query_file
    query = queries.read_query(task.content(query_file), head.task.get("sha256"))
    network = find(networks[0]["file"], [file.parent, query_file.parent])
    data = task.content(network)
    if hashlib.sha256(data).hexdigest() != networks[0].get("sha256"):
        raise Unreadable("the network has not the hash that the certificate names: it was changed")
    read = nnet.read(data) if network.suffix == ".nnet" else onnx.read(data)
    if isinstance(read, tuple) and read[1]:
        raise Unreadable("a network that ends with a Softmax is not read in a query")
    return queries.shown(name, query, read[0] if isinstance(read, tuple) else read, lines)


def in_seconds(head: Header, text: str, system: System, nodes: Sequence[SetNode], claim: Node) -> Accepted:
    """Accepted, if all trajectories of a flow from these sets keep the claim."""
    if head.state is not None or not all(node.walk for node in nodes):
        raise Unreadable("of what moves in continuous time only sets are read from which it is followed")
    if head.property in system.task.timed:
        raise Unreadable("claims over samples are not read")
    if head.property == RESERVED_PROPERTY:
        raise Unreadable("that no trajectory leaves the region is not read: they are followed inside of it")
    timed = seconds.Timed(claim, system.scope_of_constants())
    graph = Graph(system, nodes, timed)
    starts = graph.starts()
    seconds.check(graph, starts, timed)
    return Accepted(text, len(nodes), trusted(head, system.task), not starts, of_graph=head.graph is not None)


def written(head: Header, loaded: task.Task) -> tuple[str, Node]:
    """The claim: the property of that name as the task has it, else the formula of the header."""
    if head.graph is not None:  # whose own properties are nobody's claim
        return head.formula, syntax.expression(head.formula)
    if head.property in loaded.claims:
        return f"the property {head.property!r}", loaded.claims[head.property]
    text = head.formula
    if head.property is not None and (head.property != RESERVED_PROPERTY or head.property in loaded.properties):
        if head.property not in loaded.properties:
            raise Rejected(f"the task has no property {head.property!r}")
        text = loaded.properties[head.property]
    return text, syntax.expression(text)


def load(head: Header, file: Path, task_file: Path | None) -> task.Task:
    if head.graph is not None:
        return of_graph(head.graph)
    name, sha256 = head.task.get("file"), head.task.get("sha256")
    folders = [file.parent] if task_file is None else [task_file.parent, file.parent]
    if task_file is None:
        if not isinstance(name, str):
            raise Unreadable("the certificate names no task file")
        task_file = find(name, folders)
    if not isinstance(sha256, str):
        raise Unreadable("the certificate has no hash of its task")
    data, given = task.unchanged(task_file, sha256), parameters(head.task.get("parameters", {}))
    if task.suffix(task_file) == ".jani":
        folder = task_file.parent
        loaded = jani.load(data, folder, lambda named: find(named, [*folders, folder]), given, options(head))
    else:
        loaded = task.load(task_file, data, given, head.worlds)
    recorded = [entry.get("sha256") for entry in entries(head.task.get("networks", []))]
    if set(map(str, recorded)) != set(loaded.hashes):
        raise Rejected("the networks are not those that the certificate names")
    return loaded


def of_graph(graph: certificate.Graph) -> task.Task:
    """The task that the certificate brings; which files it was made of is not looked at."""
    with TemporaryDirectory() as folder:
        for name, content in graph.networks.items():
            (Path(folder) / name).write_bytes(content)
        return task.load(Path(folder) / "graph.toml", graph.task.encode(), {}, {})


def find(name: str, folders: Sequence[Path]) -> Path:
    """A file by the name in the certificate: beside one of these folders, or in the current one."""
    places = [place for folder in folders for place in (folder / name, folder / Path(name).name)]
    try:
        found = next((place for place in (*places, Path(name)) if place.is_file()), None)
    except (OSError, ValueError):  # a name that no file can have
        found = None
    if found is None:
        raise Unreadable(f"the file {name!r} is neither beside {folders[0]} nor in the current folder")
    return found


def options(head: Header) -> dict[str, str]:
    """What was said besides the model, of a planning model."""
    found = head.task.get("options", {})
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise Unreadable("not a certificate: its options are no texts")
    if set(found) - OPTIONS:
        raise Unreadable(f"the options {', '.join(sorted(set(found) - OPTIONS))} are not read")
    return found


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
    if head.graph is not None:
        made = "a task made in Python" if head.task.get("file") is None else str(head.task["file"])
        return f"this program and Python; that the graph in the certificate is {made}, as docs/tasks.md reads its text"
    given = ", ".join(f"{name} = {value}" for name, value in parameters(head.task.get("parameters", {})).items())
    page = "docs/planning.md" if loaded.is_planning else "docs/tasks.md"
    parts = [f"this program and Python; the task {head.task.get('file')} as {page} reads it"]
    parts += [f"with {given}"] if given else []
    parts += [f"{name} {text}" for name, text in sorted(options(head).items())]
    parts += [f"the world {name}{' of docs/worlds.md' if name in head.worlds else ''}" for name in loaded.worlds]
    networks = sum(len(agent.networks) for agent in loaded.agents.values()) + len(loaded.functions)
    count = "1 network" if networks == 1 else f"{networks} networks"
    parts += [f"{count} over the real numbers"] if networks else []
    return ", ".join(parts)
