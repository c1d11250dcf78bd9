"""The agents of a task: first what kind of action each takes, later, when lets are known, what each observes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path as FilePath

from vernal.errors import InputError, NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.networks import locate, read_network
from vernal.formats.task.expressions import Reader, Skip
from vernal.formats.task.names import FIXED, Owner, Use, label_problem, mentioned
from vernal.formats.task.places import Path
from vernal.formats.task.schema import AgentTable, SelectedPolicy
from vernal.logic import syntax as s
from vernal.logic.task import InputFile
from vernal.model import build
from vernal.model.agent import make_agent, memory_starts, output_var
from vernal.model.components import winners
from vernal.model.declare import action_var, needs_action
from vernal.model.expr import Expr, Role, Var
from vernal.model.network import Network
from vernal.model.numbers import show
from vernal.model.sorts import INT, Kind, Sort, enum
from vernal.model.system import Agent, OneOf, Span, Start, Variable

ACTS = ("argmax", "raw")
ACT = Use("act", FIXED | {Owner.STATE})
OBSERVE = Use("observe", FIXED | {Owner.STATE, Owner.LET})
BY = Use("by", FIXED | {Owner.STATE, Owner.LET})


class Library:
    """The network files of a task, each read once; networks that are `given` have no file to read."""

    def __init__(self, base: FilePath, given: Mapping[str, Network] | None = None) -> None:
        self.base = base
        self.given = given or {}
        self.read: dict[tuple[FilePath, tuple[tuple[str, str], ...], str | None], Network] = {}
        self.inputs: dict[str, InputFile] = {}

    def network(
        self,
        reader: Reader,
        path: Path,
        reference: str,
        carry: Mapping[str, str] | None = None,
        output: str | None = None,
    ) -> Network:
        """The network a reference names; what is wrong with its file is said at the reference."""
        if reference in self.given:
            return self.given[reference]
        try:
            file = locate(reference, self.base)
            key = (file, tuple((carry or {}).items()), output)
            if key not in self.read:
                self.read[key] = read_network(file, name=self._fresh(file.stem), carry=carry, output=output)
            self.inputs[reference] = InputFile(reference, self.read[key].sha256 or "")
            return self.read[key]
        except InputError as error:
            raise error if error.place else error.at(reader.places.value_place(path)) from None

    def _fresh(self, stem: str) -> str:
        """A name no other network of the task has: memories are named after it."""
        taken = {network.name for network in self.read.values()}
        candidates = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        return next(name for name in candidates if name not in taken)


def read_functions(reader: Reader, networks: Mapping[str, str], library: Library) -> None:
    """`[networks]`: networks as functions in expressions."""
    for name, reference in networks.items():
        with reader.collect(("networks", name), name):
            reader.functions[name] = library.network(reader, ("networks", name), reference)


@dataclass(frozen=True, slots=True)
class Draft:
    """An agent whose action is known, but not yet what it observes; None stands for what could not be read."""

    name: str
    table: AgentTable
    networks: tuple[Network, ...] | None
    act: str | tuple[Expr, ...] | None
    labels: Sort | None
    memory: Sequence[Start] | None


def draft(reader: Reader, name: str, table: AgentTable, state: Mapping[str, Variable], library: Library) -> Draft:
    """Everything about an agent that needs no let; its name then stands for its action."""
    path: Path = ("agents", name)
    networks = act = labels = memory = None
    with reader.collect((*path, "labels"), name):
        labels = _labels(reader, (*path, "labels"), table, state)
    with reader.collect((*path, "policy")):
        found = _networks(reader, path, table, library)
        _check_outputs(reader, (*path, "labels"), found, labels)
        networks = found
    with reader.collect((*path, "act"), name):
        act = _act(reader, (*path, "act"), table, networks)
        reader.names[name] = _action(name, act, labels, networks)
        if act == "argmax" and labels is None and networks:
            reader.ranges[name] = winners(networks[0])
    with reader.collect((*path, "memory")):
        memory = _memory(reader, name, table.memory, networks)
    if table.remember is not None:
        with reader.collect((*path, "remember"), table.remember):
            reader.names[table.remember] = _remember(name, table.remember, networks)
    return Draft(name, table, networks, act, labels, memory)


def _networks(reader: Reader, path: Path, table: AgentTable, library: Library) -> tuple[Network, ...]:
    if isinstance(table.policy, str):
        return (library.network(reader, (*path, "policy"), table.policy, table.carry, table.output),)
    prefix: Path = (*path, "policy", "networks")
    found: list[Network] = []
    for index, reference in enumerate(table.policy.networks):
        with reader.collect((*prefix, index)):
            found.append(library.network(reader, (*prefix, index), reference, table.carry, table.output))
    if not table.policy.networks:
        raise ParseError("an agent needs at least one network", place=reader.places.value_place(prefix))
    if len(found) < len(table.policy.networks):
        raise Skip
    return tuple(found)


def _labels(reader: Reader, path: Path, table: AgentTable, state: Mapping[str, Variable]) -> Sort | None:
    if isinstance(table.labels, str):
        return _enum_of(reader, path, table.labels, state)
    if table.labels is None:
        return None
    if not table.labels:
        raise ParseError("labels names no label", place=reader.places.value_place(path))
    for index, label in enumerate(table.labels):
        twice = f"label {label!r} appears twice" if label in table.labels[:index] else None
        problem = twice or label_problem(label, reader.owners)
        if problem:
            raise ParseError(problem, place=reader.places.value_place((*path, index)))
    return enum(*table.labels)


def _enum_of(reader: Reader, path: Path, name: str, state: Mapping[str, Variable]) -> Sort:
    place = reader.places.value_place(path)
    if name in reader.broken:
        raise Skip
    if name not in state:
        known = [n for n, variable in state.items() if variable.sort.kind is Kind.ENUM]
        raise NameUnknown(f"labels: there is no state variable {name!r}{nearest(name, known)}", place=place)
    sort = state[name].sort
    if sort.kind is not Kind.ENUM:
        raise TypeClash(f"labels: {name!r} is of sort {sort}, but labels come from an enum", place=place)
    return sort


def _act(reader: Reader, path: Path, table: AgentTable, networks: tuple[Network, ...] | None) -> str | tuple[Expr, ...]:
    act = table.act
    if isinstance(act, str):
        if act not in ACTS:
            message = f'act is "argmax", "raw" or an array of expressions over out[0], out[1], ..., not {act!r}'
            raise ParseError(message, place=reader.places.value_place(path))
        return act
    if networks is None:
        raise Skip
    if not act:
        raise ParseError("act names no expression", place=reader.places.value_place(path))
    out = {"out": output_var(networks[0].output_size)}
    parts: list[Expr] = []
    for index, value in enumerate(act):
        with reader.collect((*path, index)):
            parts.append(reader.expression((*path, index), value, ACT, extra=out))
    if len(parts) < len(act):
        raise Skip
    if len(parts) > 1 and any(part.shape or not part.sort.is_number for part in parts):
        raise TypeClash("an action of several components is made of single numbers")
    return tuple(parts)


def _action(name: str, act: str | tuple[Expr, ...], labels: Sort | None, networks: tuple[Network, ...] | None) -> Var:
    """The action's variable; for argmax it is known even where the network could not be read."""
    if act == "argmax":
        return build.var(name, labels or INT, (), Role.ACTION)
    if networks is None:
        raise Skip
    return action_var(name, networks[0], act, labels)


def _check_outputs(reader: Reader, path: Path, networks: tuple[Network, ...], labels: Sort | None) -> None:
    for network in networks if labels else ():
        if labels and network.output_size != len(labels.labels):
            message = f"network {network.name!r} has {network.output_size} outputs, but there are"
            message = f"{message} {len(labels.labels)} labels: {', '.join(labels.labels)}"
            raise TypeClash(message, place=reader.places.value_place(path))


def _memory(reader: Reader, agent: str, value: object, networks: tuple[Network, ...] | None) -> tuple[Start, ...]:
    """A start for each number the agent remembers."""
    path: Path = ("agents", agent, "memory")
    if value is None:
        given: tuple[Start, ...] | Start | None = None
    elif isinstance(value, list):
        given = tuple(_memory_start(reader, (*path, index), entry) for index, entry in enumerate(value))
    else:
        given = _memory_start(reader, path, value)
    if networks is None:
        raise Skip
    return memory_starts(agent, networks, given)


def _memory_start(reader: Reader, path: Path, value: object) -> Start:
    if not isinstance(value, str):
        return OneOf((reader.rational(reader.number(path, value), "memory"),))
    syntax, source = reader.parse(path, region=True)
    if not isinstance(syntax, s.WrittenRange):
        return OneOf((reader.constant_of(syntax, source, "memory"),))
    lower, upper = (reader.constant_of(end, source, "memory") for end in (syntax.lower, syntax.upper))
    if lower > upper:
        message = f"[{show(lower)}, {show(upper)}] is an inverted interval: it holds no value"
        raise TypeClash(message, place=source.place(*syntax.span))
    return Span(lower, upper)


def _remember(agent: str, name: str, networks: tuple[Network, ...] | None) -> Var:
    """The memory as a property sees it."""
    if networks is None:
        raise Skip
    size = sum(network.memory_size for network in networks)
    if not size:
        raise TypeClash(f"agent {agent!r} has nothing to remember as {name!r}: its network has no memory")
    return build.var(name, shape=(size,), role=Role.LET)


# Observation ----------------------------------------------------------------------------------------------------------


def finish(reader: Reader, draft: Draft, lets: Mapping[str, Expr]) -> Agent:
    """The whole agent, now that the lets are known."""
    path: Path = ("agents", draft.name)
    seen = _observe(reader, (*path, "observe"), draft, lets)
    select = _select(reader, path, draft, lets)
    if draft.networks is None or draft.act is None or draft.memory is None or draft.name in reader.broken:
        raise Skip
    if draft.table.remember in reader.broken:
        raise Skip
    _check_sizes(reader, path, draft.table, draft.networks, seen)
    return make_agent(
        draft.name,
        draft.networks,
        seen,
        draft.act,
        select=select,
        labels=draft.labels,
        memory=draft.memory or None,
        remember=draft.table.remember,
    )


def _observe(reader: Reader, path: Path, draft: Draft, lets: Mapping[str, Expr]) -> list[Expr]:
    seen: list[Expr] = []
    for index, value in enumerate(draft.table.observe):
        place = (*path, index)
        with reader.collect(place):
            _refuse_actions(reader, place, value, lets)
            node = reader.expression(place, value, OBSERVE, draws=draft.name)
            if not node.sort.is_number:
                advice = "write if(condition, 1, 0) or match(...) to make it one"
                raise TypeClash(f"an agent observes numbers, but this is of sort {node.sort}; {advice}")
            seen.append(node)
    if len(seen) < len(draft.table.observe):
        raise Skip
    return seen


def _refuse_actions(reader: Reader, path: Path, value: object, lets: Mapping[str, Expr]) -> None:
    """Agents observe the state before any agent has acted, so that observations cannot depend on an action."""
    if not isinstance(value, str):
        return
    syntax, source = reader.parse(path)
    for node in mentioned(syntax):
        if not isinstance(node, s.Identifier):
            continue
        acts = reader.owners.get(node.text) is Owner.AGENT
        if acts or (node.text in lets and needs_action(lets[node.text], lets)):
            what = "is the action of an agent" if acts else "depends on an action"
            message = f"{node.text!r} {what} and cannot be observed: all agents observe the state, then act at once"
            raise TypeClash(message, place=source.place(*node.span))


def _select(reader: Reader, path: Path, draft: Draft, lets: Mapping[str, Expr]) -> Expr | None:
    policy = draft.table.policy
    if not isinstance(policy, SelectedPolicy):
        return None
    place = (*path, "policy", "by")
    _refuse_actions(reader, place, policy.by, lets)
    select = reader.expression(place, policy.by, BY)
    kinds = {Kind.ENUM: len(select.sort.labels), Kind.BOOL: 2}
    if select.sort.kind not in kinds or select.shape:
        advice = "compare it, or keep an enum variable that says which network is in charge"
        message = f"a network is selected by an enum or a truth value, but this is of sort {select.sort}; {advice}"
        raise TypeClash(message, place=reader.places.value_place(place))
    values = kinds[select.sort.kind]
    if len(policy.networks) != values:
        message = f"{len(policy.networks)} networks, but `by` has {values} values ({select.sort}): give one for each"
        raise TypeClash(message, place=reader.places.value_place((*path, "policy", "networks")))
    return select


def _check_sizes(
    reader: Reader, path: Path, table: AgentTable, networks: tuple[Network, ...], seen: list[Expr]
) -> None:
    given = sum(node.size for node in seen)
    for network in networks:
        if network.input_size != given:
            message = f"network {network.name!r} takes {network.input_size} inputs, but the agent observes {given}"
            raise _observed(reader, path, table, message)
        if network.output_size != networks[0].output_size:
            message = f"networks {networks[0].name!r} and {network.name!r} have {networks[0].output_size} and"
            message = f"{message} {network.output_size} outputs; one agent needs the same number from all"
            raise TypeClash(message, place=reader.places.value_place((*path, "policy", "networks")))


def _observed(reader: Reader, path: Path, table: AgentTable, message: str) -> TypeClash:
    """Where the task itself does not say what is observed but its world does, the task's policy is what to look at."""
    own, policy = (*path, "observe"), (*path, "policy")
    if reader.places.has(own) or not reader.places.has(policy):
        return TypeClash(message, place=reader.places.value_place(own))
    listed = ", ".join(str(entry) for entry in table.observe[:8]) + (", ..." if len(table.observe) > 8 else "")
    message = f"{message}, what its world shows: {listed}; say observe = [...] beside the policy"
    return TypeClash(message, place=reader.places.value_place(policy))
