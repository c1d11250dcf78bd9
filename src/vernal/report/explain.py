"""A task in words: what the system is made of, and which engines may decide a property."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.evidence.document_head import exact_number
from vernal.logic.printing import constant, text
from vernal.logic.task import Task
from vernal.model.build import TRUE
from vernal.model.expr import Affine, Between, Choose, Expr
from vernal.model.graph import draws, order
from vernal.model.network import Network
from vernal.model.sorts import REAL, Sort
from vernal.model.system import Agent, Model, OneOf, Span, Start, Variable
from vernal.report.tables import Column, aligned

MOST_VALUES = 8  # of an initial set, before it is only counted
MAX_CHARACTERS = 160  # of an expression shown in full
MAX_LAYERS = 40  # of a network whose sizes are listed


def explain_system(task: Task) -> str:
    """State and init, agents, draws, moves."""
    system = task.system
    parts = [
        f"{task.name or 'task'}: a closed loop of {_count(system.agents, 'agent')} and an environment, "
        f"{_count(system.state, 'state variable')}",
        parameters_line(task),
        state_table(system),
        *(_agent(agent) for agent in system.agents),
        draws_table(system),
        _moves(system),
    ]
    return "\n\n".join(part for part in parts if part)


def _count(items: Sequence[object], noun: str) -> str:
    number = "no" if not items else str(len(items))
    return f"{number} {noun}{'' if len(items) == 1 else 's'}"


def parameters_line(task: Task) -> str:
    """The parameters and their values."""
    listed = ", ".join(f"{name} = {exact_number(value)}" for name, value in task.parameters.items())
    return f"parameters: {listed}" if listed else ""


def state_table(system: Model) -> str:
    """The variables with their sorts and where they start."""
    variables = system.state
    columns = [
        Column("state", [variable.name for variable in variables], left=True),
        Column("sort", [_declared(variable) for variable in variables], left=True),
        Column("initially", [start_text(system.init.starts[v.name], v.sort) for v in variables], left=True),
    ]
    table = aligned(columns)
    cuts = "".join(f"\n  where {shortened(condition)}" for condition in system.init.where)
    return table + cuts


def _declared(variable: Variable) -> str:
    if variable.lower is None and variable.upper is None:
        return str(variable.sort)
    ends = [None if end is None else exact_number(end) for end in (variable.lower, variable.upper)]
    return f"{variable.sort} [{ends[0]}, {ends[1]}]"


def start_text(start: Start, sort: Sort) -> str:
    """`[-133, -129]`, `COC` or `{RED, GREEN}`."""
    match start:
        case Span(lower, upper):
            return f"[{exact_number(lower)}, {exact_number(upper)}]"
        case OneOf(values) if len(values) > MOST_VALUES:
            return f"one of {len(values)} values"
        case OneOf(values):
            shown = [constant(value, sort) for value in values]
            return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"


def _agent(agent: Agent) -> str:
    """What it sees, what decides, how it acts."""
    seen = ", ".join(shortened(expression, 60) for expression in agent.observe)
    lines = [f"agent {agent.name}", f"  observes   {seen}"]
    if agent.select is not None:
        lines.append(f"  policy     {len(agent.networks)} networks, chosen by {shortened(agent.select)}")
    lines += [f"  network    {network_text(network)}" for network in _distinct(agent)]
    acts = {"argmax": "the index of the largest output; ties may go either way", "raw": "the outputs as they are"}
    lines.append(f"  acts       {acts.get(agent.act, 'by expressions over the outputs')} ({_kind(agent)})")
    if agent.slots:
        lines.append(f"  remembers  {_memory(agent)}")
    return "\n".join(lines)


def _memory(agent: Agent) -> str:
    """`4 numbers from step to step, at first 0; properties call them m[0] to m[3], in the order h1 (2), c1 (2)`"""
    count = len(agent.starts)
    starts = [start_text(start, REAL) for start in agent.starts]
    starts = starts[:1] if len(set(starts)) == 1 else starts
    first = ", ".join([*starts[:MOST_VALUES], *(["..."] if len(starts) > MOST_VALUES else [])])
    text = f"{count} number{'s' * (count > 1)} from step to step, at first {first}"
    if agent.remember is None:
        return text
    last = f" to {agent.remember}[{count - 1}]" if count > 1 else ""
    parts = [f"{var.name} ({var.size})" for network in agent.networks for var, _ in network.memory]
    named = f", in the order {', '.join(parts)}" if len(parts) > 1 else ""
    return f"{text}; properties call {'them' if count > 1 else 'it'} {agent.remember}[0]{last}{named}"


def _distinct(agent: Agent) -> list[Network]:
    return list(dict.fromkeys(agent.networks))


def _kind(agent: Agent) -> str:
    return str(agent.action.sort) + (f", {agent.action.size} components" if agent.action.shape else "")


def network_text(network: Network) -> str:
    """`policy.onnx: 3-20-20-9, 689 parameters`"""
    layers = [node.size for node in order([network.output]) if isinstance(node, Affine)]
    if len(layers) > MAX_LAYERS:  # a large convolution consists of many small layers
        sizes = f"{network.input_size}-({len(layers)} layers)-{network.output_size}"
    else:
        sizes = "-".join(str(size) for size in [network.input_size, *layers])
    return f"{network.file or network.name}: {sizes}, {network.parameters} parameters"


def draws_table(system: Model) -> str:
    """The draws of a step, under the names a trace records them by."""
    taken = [node for node in draws(system.step.roots) if node in system.step.names]
    if not taken:
        return "The environment makes no choices: from a given state everything is determined (but for ties)."
    names = [system.step.names[node] for node in taken]
    columns = [
        Column("draw", names, left=True),
        Column("from", [_options(node) for node in taken], left=True),
    ]
    return aligned(columns)


def _options(node: Choose | Between) -> str:
    if isinstance(node, Between):
        low, high = (shortened(arg, 40) for arg in node.args)
        return f"any real between {low} and {high}"
    shown = [shortened(option, 40) for option in node.written]
    for index, guard in enumerate(node.guards):
        shown[index] += "" if guard is TRUE else f" when {shortened(guard, 40)}"
    return f"one of {', '.join(shown)}"


def _moves(system: Model) -> str:
    changed = [variable.name for variable in system.state if variable.name in system.next]
    memories = {agent.remember for agent in system.agents}
    lets = [name for name in system.lets if name not in memories]
    bodies = [*(system.lets[name] for name in lets), *(system.next[name] for name in changed)]
    columns = [
        Column("each step", [*lets, *(f"{name}'" for name in changed)], left=True),
        Column("", [f"= {shortened(body)}" for body in bodies], left=True),
    ]
    return aligned(columns, width=10_000) if changed or lets else ""


def shortened(expression: Expr, longest: int = MAX_CHARACTERS) -> str:
    """An expression as text, cut where it is long."""
    shown = " ".join(text(expression).split())
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."
