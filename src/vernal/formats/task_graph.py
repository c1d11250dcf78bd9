"""The graph of a task as a text of its own: what `vernal-check` reads where it does not read the task's own files.

The text is a task file without parameters, worlds and functions, and its networks are ONNX files; a certificate carries
both. That they are the task is for nobody to check: `vernal-check` says so (docs/certificates.md). What cannot be
written in that way, or does not come back as the same when it is read again, has none.
"""

from __future__ import annotations

import base64
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vernal.errors import VernalError
from vernal.formats.onnx.writer import to_model
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.model.build import TRUE
from vernal.model.expr import Expr, Var
from vernal.model.graph import draws, order
from vernal.model.initial import Span, Start
from vernal.model.motion import Rates, Step
from vernal.model.sorts import BOOL, REAL, Kind, Sort
from vernal.model.system import OPEN, Agent, Model, Variable

MAX_TEXT = 200_000  # characters that expressions may have in all, before shared parts are written again and again
MAX_NETWORK_BYTES = 500_000  # in one line of a certificate


@dataclass(frozen=True)
class TaskGraph:
    """A task file, and its networks by name."""

    text: str
    networks: dict[str, bytes]

    @property
    def data(self) -> dict[str, object]:
        """An entry of a certificate's header."""
        encoded = {name: base64.b64encode(content).decode() for name, content in self.networks.items()}
        return {"task": self.text, "networks": encoded}


def task_graph(task: Task) -> TaskGraph | None:
    """The graph of a task that moves in steps or flows; None where it has none."""
    model = task.model
    if not isinstance(model.motion, Step | Rates) or task.options:
        return None
    roots = [*model.lets.values(), *(expr for agent in model.agents for expr in agent.observe)]
    roots += [model.motion.enabled, *model.motion.next.values(), *(model.motion.rates or {}).values()]
    if any("[" in variable.name for variable in model.state) or not _are_written_once(roots):
        return None
    if sum(_length(root) for root in roots) > MAX_TEXT or not all(map(_is_plain, model.agents)):
        return None
    try:
        made = TaskGraph("\n".join(_lines(model)) + "\n", dict(_networks(model)))
        again = _read(made)
    except (VernalError, ValueError, KeyError):
        return None
    size = sum(map(len, made.networks.values()))
    return made if size <= MAX_NETWORK_BYTES and list(_lines(again.model)) == list(_lines(model)) else None


def _read(graph: TaskGraph) -> Task:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in graph.networks.items():
            (Path(folder) / name).write_bytes(content)
        file = Path(folder) / "graph.toml"
        file.write_text(graph.text, encoding="utf-8")
        return load(file)


# What can be written --------------------------------------------------------------------------------------------------


def _is_plain(agent: Agent) -> bool:
    selects = agent.select is None or isinstance(agent.select, Var)
    return selects and (agent.select is None or not agent.slots) and agent.every is None and agent.act != OPEN


def _are_written_once(roots: Sequence[Expr]) -> bool:
    """Whether each draw stands at one place only: written twice it would be two draws."""
    uses: Counter[Expr] = Counter(roots)
    for node in order(roots):
        uses.update(node.args)
    shared = {node for node, count in uses.items() if count > 1}
    return not any(draws([node]) for node in shared)


def _length(root: Expr) -> int:
    """How many nodes a text of it has."""
    sizes: dict[Expr, int] = {}
    for node in order([root]):
        sizes[node] = min(1 + sum(sizes[arg] for arg in node.args), MAX_TEXT + 1)
    return sizes[root]


# The text -------------------------------------------------------------------------------------------------------------


def _lines(model: Model) -> Iterator[str]:
    yield "vernal = 1"
    yield "[state]"
    for variable in model.state:
        yield f"{variable.name} = {_quoted(_declared(variable))}"
    yield "[init]"
    for variable in model.state:
        yield f"{variable.name} = {_quoted(_start(model.init.starts[variable.name], variable.sort))}"
    if model.init.where:
        yield f"where = [{', '.join(_quoted(str(condition)) for condition in model.init.where)}]"
    number = 0
    for agent in model.agents:
        yield from _agent(agent, number)
        number += len(agent.networks)
    table, written = ("environment", "environment.next") if model.motion.rates is None else ("flow", "flow")
    if model.motion.enabled != TRUE:
        yield f"[{table}]"
        yield f"enabled = {_quoted(str(model.motion.enabled))}"
    yield f"[{written}]"
    moves = model.motion.rates or model.motion.next
    yield from (f"{name} = {_quoted(str(value))}" for name, value in moves.items())
    if model.lets:
        yield f"[{table}.let]"
        yield from (f"{name} = {_quoted(str(value))}" for name, value in model.lets.items())


def _agent(agent: Agent, first: int) -> Iterator[str]:
    files = [f'"n{first + place}.onnx"' for place in range(len(agent.networks))]
    yield f"[agents.{agent.name}]"
    if agent.select is None:
        yield f"policy = {files[0]}"
    else:
        yield f"policy = {{ by = {_quoted(str(agent.select))}, networks = [{', '.join(files)}] }}"
    yield f"observe = [{', '.join(_quoted(str(seen)) for seen in agent.observe)}]"
    if agent.act == "expressions":
        yield f"act = [{', '.join(_quoted(str(part)) for part in agent.acts)}]"
    else:
        yield f"act = {_quoted(agent.act)}"
    if agent.slots:
        yield f"memory = [{', '.join(_quoted(_start(start, REAL)) for start in agent.starts)}]"
    if agent.remember is not None:
        yield f"remember = {_quoted(agent.remember)}"
    if agent.act == "argmax" and agent.action.sort.kind is Kind.ENUM:
        yield f"labels = [{', '.join(map(_quoted, agent.action.sort.labels))}]"


def _networks(model: Model) -> Iterator[tuple[str, bytes]]:
    networks = [network for agent in model.agents for network in agent.networks]
    for place, network in enumerate(networks):
        yield f"n{place}.onnx", to_model(network).SerializeToString()


def _declared(variable: Variable) -> str:
    if variable.lower is None or variable.upper is None:
        return str(variable.sort)
    return f"{variable.sort} [{variable.lower}, {variable.upper}]"


def _start(start: Start, sort: Sort) -> str:
    if isinstance(start, Span):
        return f"[{start.lower}, {start.upper}]"
    values = [_value(value, sort) for value in start.values]
    return values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"


def _value(value: Fraction, sort: Sort) -> str:
    if sort == BOOL:
        return "true" if value else "false"
    return sort.labels[int(value)] if sort.kind is Kind.ENUM else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
