"""Systems written in Python: functions are called once, with names in place of numbers, and return the graph.

    network = vn.read_network("thermostat.onnx")
    room = vn.System(
        state={"T": vn.real(10, 30), "heater": vn.enum("OFF", "ON")},
        init={"T": vn.interval(19, 21), "heater": "OFF"},
        agents={"control": vn.agent(network, observe=lambda s: [(s.T - 20) / 10], labels="heater")},
        step=lambda s: {"T": 0.9 * s.T + vn.match(s.control, {"OFF": 1, "ON": 3}), "heater": s.control},
    )

The result is the same `System` a task file gives, down to the last node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from vernal.errors import NameUnknown, TypeClash, nearest
from vernal.model import build
from vernal.model.agent import make_agent, output_var, remembered
from vernal.model.arrays import ExprArray, Operands, is_listed
from vernal.model.checks import check_next, check_rate, check_start, value_of
from vernal.model.clock import clock_name, with_clock
from vernal.model.components import MAX_COMPONENTS, arrays_of, index_ranges
from vernal.model.expr import Between, Choose, Expr, Occurrence, Operand, Role, Var
from vernal.model.flow import rate_problem, region_problem
from vernal.model.graph import draws, rewrite, variables
from vernal.model.initial import OneOf, Span, Start
from vernal.model.motion import Sampled, Step, common_period, grid_problem
from vernal.model.network import Network
from vernal.model.numbers import as_written
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort
from vernal.model.sorts import enum as enum_sort
from vernal.model.system import Agent, Fields, Init, System, Variable
from vernal.model.system_arguments import (
    Declaration,
    GivenNames,
    GivenNumber,
    GivenValue,
    Initial,
    Initials,
    Policy,
    Values,
)
from vernal.model.user_functions import called

ANONYMOUS = ("choose", "between")  # the names that `build` gives to draws without one


def real(lower: GivenNumber | None = None, upper: GivenNumber | None = None) -> Declaration:
    """A real variable; a range is a claim about the model, never clipping.

    Example: `vn.real(-8, 8)`
    """
    return Declaration(REAL, _maybe(lower), _maybe(upper))


def integer(lower: GivenNumber | None = None, upper: GivenNumber | None = None) -> Declaration:
    """An integer variable.

    Example: `vn.integer(0, 8)`
    """
    return Declaration(INT, _maybe(lower), _maybe(upper))


def boolean() -> Declaration:
    """A truth value.

    Example: `vn.System(state={"open": vn.boolean()}, init={"open": False}, step=lambda s: {})`
    """
    return Declaration(BOOL)


def enum(*labels: str) -> Declaration:
    """One of the given labels.

    Example: `vn.enum("OFF", "ON")`
    """
    return Declaration(enum_sort(*labels))


def array(of: Declaration, size: int) -> Declaration:
    """An array of so many variables; functions of names are given it as a `vn.ExprArray`."""
    if of.size is not None or not 1 <= size <= MAX_COMPONENTS:
        raise TypeClash(f"an array is of single variables, at least 1 and at most {MAX_COMPONENTS}; not {size}")
    return replace(of, size=size)


def one_of(*values: GivenValue) -> Values:
    """Each of these initial values.

    Example: `vn.System(state={"x": vn.real()}, init={"x": vn.one_of(0, 1)}, step=lambda s: {"x": s.x / 2})`
    """
    return Values(values)


def interval(lower: GivenNumber, upper: GivenNumber) -> Span:
    """All initial values from lower to upper.

    Example: `vn.System(state={"x": vn.real()}, init={"x": vn.interval(0, 1)}, step=lambda s: {"x": s.x / 2})`
    """
    return Span(exact(lower), exact(upper))


def exact(value: GivenNumber) -> Fraction:
    """The rational a number stands for; a float is the decimal it prints as."""
    return value_of(REAL, value)


def _maybe(value: GivenNumber | None) -> Fraction | None:
    return None if value is None else exact(value)


def match(subject: Expr, cases: Mapping[GivenValue, Operand], otherwise: Operand | None = None) -> Expr:
    """The branch of the case the subject equals; without `otherwise` the cases cover all its values.

    Example: `vn.match(s.mode, {"ON": 1, "OFF": 0})`
    """
    values: list[Fraction | None] = [value_of(subject.sort, case) for case in cases]
    branches = list(cases.values())
    if otherwise is not None:
        return build.switch(subject, [*values, None], [*branches, otherwise])
    return build.switch(subject, values, branches)


def equals(subject: Expr, other: Expr | GivenValue) -> Expr:
    """subject == other, where the other may be a label.

    Example: `vn.equals(s.mode, "ON")`
    """
    if isinstance(other, str) and subject.sort.kind is Kind.ENUM:
        return build.eq(subject, build.label(subject.sort, other))
    return build.eq(subject, other)


def agent(
    networks: Network | Sequence[Network],
    observe: Callable[[GivenNames], Sequence[Operand]],
    act: str | Callable[[Expr], Sequence[Expr]] = "argmax",
    *,
    by: Callable[[GivenNames], Expr] | None = None,
    labels: str | Sequence[str] | None = None,
    memory: GivenNumber | Span | Sequence[GivenNumber | Span] | None = None,
    remember: str | None = None,
    every: GivenNumber | None = None,
    delay: GivenNumber = 0,
    start: GivenNumber | Sequence[GivenNumber] | None = None,
) -> Policy:
    """An agent for a `System`: `act` is "argmax", "raw" or a function of the network's output, `by` selects a network.

    `labels` names an enum variable of the state whose labels argmax yields, or lists labels. `memory` is where what a
    recurrent network remembers starts: a number or an interval for all of it, or one for each unit. Formulas speak of
    the memory by the name `remember`. In a loop that samples, it acts `every` so many seconds, or as often as the
    system says; its action is in force `delay` seconds after what it reads, and until the first one `start` is.

    Example: `vn.agent(network, observe=lambda s: [s.T], act="argmax", labels=["OFF", "ON"])`
    """
    several = (networks,) if isinstance(networks, Network) else tuple(networks)
    remembered = None if memory is None else _memory(memory)
    listed = start if isinstance(start, Sequence) and not isinstance(start, str) else [start]
    begin = None if start is None else tuple(exact(value) for value in listed if value is not None)
    return Policy(several, observe, act, by, labels, remembered, remember, _maybe(every), exact(delay), begin)


def _memory(memory: GivenNumber | Span | Sequence[GivenNumber | Span]) -> Sequence[Start] | Start:
    if isinstance(memory, Span):
        return memory
    if isinstance(memory, Sequence) and not isinstance(memory, str):
        return [start if isinstance(start, Span) else OneOf((exact(start),)) for start in memory]
    return OneOf((exact(memory),))


def action_var(name: str, network: Network, act: str | Sequence[Expr], labels: Sort | None) -> Var:
    """The variable that stands for an agent's action; its sort does not depend on what the agent observes."""
    return make_agent(name, [without_memory(network)], [network.inputs], act, labels=labels).var


def without_memory(network: Network) -> Network:
    """The network with its memory as free variables: enough to know the sort and size of its output."""
    return replace(network, memory=())


def trace(
    name: str,
    state: Mapping[str, Declaration],
    init: Mapping[str, Initials],
    step: Callable[[GivenNames], Mapping[str, Operands]] | None,
    agents: Mapping[str, Policy],
    lets: Mapping[str, Callable[[GivenNames], Operand]],
    where: Callable[[GivenNames], Sequence[Expr]] | None,
    enabled: Callable[[GivenNames], Expr] | None,
    rates: Callable[[GivenNames], Mapping[str, Operands]] | None = None,
    every: GivenNumber | None = None,
) -> Fields:
    """The fields of a system that is given by functions of names."""
    declared = {v.name: v for n, d in state.items() for v in variables_of(n, d)}
    taken = [*state, *agents, *lets, *(policy.remember or "" for policy in agents.values())]
    visible = {**(clock_name(taken) if rates else {}), **visible_names(declared)}
    prepared = {n: _prepare(policy, declared) for n, policy in agents.items()}
    actions = {n: action_var(n, p.networks[0], p.act, p.labels) for n, p in prepared.items()}
    traced = trace_lets(lets, {**visible, **actions})
    named = {n: let_var(n, x) for n, x in traced.items()}
    observable = GivenNames({**visible, **{n: named[n] for n, x in traced.items() if not needs_action(x, traced)}})
    everything = GivenNames({**visible, **actions, **named})
    moving = {} if step is None else _trace_step(step, everything, declared)
    named_lets, following = name_draws(traced, moving)
    all_lets, flowing = name_draws(named_lets, {} if rates is None else _trace_rates(rates, everything, declared))
    made = tuple(_make(n, policy, observable) for n, policy in prepared.items())
    for memory, vector in remembered(made).items():
        if memory in everything or memory in all_lets:
            raise TypeClash(f"{memory!r} is already the name of something else than a memory")
        all_lets[memory] = vector
    start = Init(starts_of(init, declared), tuple(where(GivenNames(visible_names(declared)))) if where else ())
    guard = enabled(everything) if enabled else build.TRUE
    if rates is None:
        _refuse_seconds(made, every)
        return name, tuple(declared.values()), start, Step(following, guard), made, all_lets
    timed, period = _periods(made, _maybe(every))
    motion = Sampled(period, flowing, following, guard)
    return with_clock((name, tuple(declared.values()), start, motion, timed, all_lets))


def seat(made: System, name: str, policy: Policy) -> System:
    """The system with another policy in the place of an agent; what it does has to be of the same kind."""
    agents = {agent.name: agent for agent in made.agents}
    if name not in agents:
        raise NameUnknown(f"there is no agent {name!r}{nearest(name, agents)}")
    wanted = agents[name].var
    if policy.act == "argmax" and policy.labels is None and wanted.sort.kind is Kind.ENUM:
        policy = replace(policy, labels=wanted.sort.labels)
    lets = {n: let_var(n, x) for n, x in made.lets.items() if not needs_action(x, made.lets)}
    declared = {variable.name: variable for variable in made.state}
    visible = GivenNames({**visible_names(declared), **lets})
    agents[name] = _make(name, _prepare(policy, declared), visible)
    found = agents[name].var
    if found != wanted:
        kinds = f"{wanted.size} of sort {wanted.sort}, not {found.size} of sort {found.sort}"
        raise TypeClash(f"the action of {name!r} is {kinds}")
    return replace(made, agents=tuple(agents.values()))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A policy whose action is traced and whose labels are looked up."""

    networks: tuple[Network, ...]
    act: str | Sequence[Expr]
    labels: Sort | None
    policy: Policy


def _prepare(policy: Policy, declared: Mapping[str, Variable]) -> _Prepared:
    act, labels = policy.act, policy.labels
    traced = act if isinstance(act, str) else tuple(act(output_var(policy.networks[0].output_size)))
    if labels is None:
        return _Prepared(policy.networks, traced, None, policy)
    sort = declared_variable(declared, labels).sort if isinstance(labels, str) else enum_sort(*labels)
    return _Prepared(policy.networks, traced, sort, policy)


def declared_variable(declared: Mapping[str, Variable], name: str) -> Variable:
    """The variable of this name."""
    if name not in declared:
        raise NameUnknown(f"there is no state variable {name!r}{nearest(name, declared)}")
    return declared[name]


def trace_lets(
    lets: Mapping[str, Callable[[GivenNames], Operand]], visible: Mapping[str, Expr | ExprArray]
) -> dict[str, Expr]:
    """Named expressions, each a function of what is visible and of the earlier ones."""
    traced: dict[str, Expr] = {}
    for name, function in lets.items():
        if name in visible:
            raise TypeClash(f"{name!r} is already the name of a variable or an agent")
        names = GivenNames({**visible, **{n: let_var(n, x) for n, x in traced.items()}})
        traced[name] = build.const(called(name, function, names))
    return traced


def let_var(name: str, body: Expr) -> Var:
    """A let as it appears in other expressions."""
    return build.var(name, body.sort, body.shape, Role.LET)


def needs_action(body: Expr, lets: Mapping[str, Expr]) -> bool:
    """Whether an expression depends on an agent's action, directly or through lets."""
    waiting, seen = [body], set[str]()
    while waiting:
        for var in variables([waiting.pop()]):
            if var.role is Role.ACTION:
                return True
            if var.role is Role.LET and var.name not in seen:
                seen.add(var.name)
                waiting.append(lets[var.name])
    return False


def _make(name: str, prepared: _Prepared, visible: GivenNames) -> Agent:
    policy = prepared.policy
    select = policy.by(visible) if policy.by else None
    observed = called("observe", policy.observe, visible)
    seen = [part for given in observed for part in (given if isinstance(given, ExprArray) else [given])]
    made = make_agent(
        name,
        policy.networks,
        seen,
        prepared.act,
        select=select,
        labels=prepared.labels,
        memory=policy.memory,
        remember=policy.remember,
    )
    return replace(made, every=policy.every, delay=policy.delay, start=policy.start)


def returned(what: str, made: object, declared: Mapping[str, Variable]) -> dict[str, Any]:
    """What a function of names says of each variable; what is no mapping, such as None, is refused."""
    if not isinstance(made, Mapping):
        shown = "None; is a `return` missing?" if made is None else f"a {type(made).__name__}"
        raise TypeClash(f"`{what}` returns a mapping, {{'x': ...}}, from variables to expressions, but this is {shown}")
    return {n: x for name, value in made.items() for n, x in spread(name, value, declared).items()}


def _trace_step(
    step: Callable[[GivenNames], Mapping[str, Operands]], names: GivenNames, declared: Mapping[str, Variable]
) -> dict[str, Expr]:
    given = returned("step", called("step", step, names), declared)
    following = {n: _value(declared_variable(declared, n), x) for n, x in given.items()}
    for n, x in following.items():
        check_next(declared[n], x)
    return following


def _trace_rates(
    rates: Callable[[GivenNames], Mapping[str, Operands]], names: GivenNames, declared: Mapping[str, Variable]
) -> dict[str, Expr]:
    """The rates of change of the variables that flow, over state, held actions and lets."""
    given = returned("rates", called("rates", rates, names), declared)
    written = {n: build.const(x) for n, x in given.items()}
    for n, rate in written.items():
        check_rate(declared_variable(declared, n), rate)
        for problem in (region_problem(declared[n]), rate_problem(rate)):
            if problem is not None:
                raise TypeClash(problem)
    return written


def _periods(agents: Sequence[Agent], every: Fraction | None) -> tuple[tuple[Agent, ...], Fraction]:
    """The agents, each with its period, and that of the steps: the grid, where none is given."""
    timed = tuple(replace(one, every=every) if one.every is None else one for one in agents)
    periods = [one.every for one in timed if one.every is not None]
    if len(periods) < len(timed) or not (periods or every):
        raise TypeClash(
            "a loop that samples says how often: give `every`, in seconds, to the system or to its agents "
            "(a flow without instants is a vn.Flow)"
        )
    if any(period <= 0 for period in [*periods, *([] if every is None else [every])]):
        raise TypeClash("a period is a positive number of seconds")
    uneven = grid_problem([*periods, *([] if every is None else [every])])
    if uneven is not None:
        raise TypeClash(uneven)
    for one in timed:
        _refuse_delay(one)
    return timed, common_period(periods) if every is None else every


def _refuse_delay(agent: Agent) -> None:
    """An error for a delay that is no part of the period, or for a first action that is missing or is none."""
    delay, size = agent.delay, agent.action.size
    assert agent.every is not None, "periods are given before delays are looked at"
    if not 0 <= delay < agent.every:
        raise TypeClash(f"{agent.name}: a delay is at least 0 and shorter than the period of {agent.every} seconds")
    if bool(delay) != (agent.start is not None):
        raise TypeClash(f"{agent.name}: with a delay, and only then, `start` is in force before the first action")
    if agent.start is not None and len(agent.start) != size:
        raise TypeClash(f"{agent.name}: start has {len(agent.start)} numbers, but the action has {size} components")


def _refuse_seconds(agents: Sequence[Agent], every: GivenNumber | None) -> None:
    """An error for a period, a delay or a first action in a system that moves in steps."""
    if every is not None or any(one.every is not None or one.delay or one.start is not None for one in agents):
        raise TypeClash("`every`, `delay` and `start` are for loops that sample, which have `rates`")


def _value(variable: Variable, given: Operand) -> Expr:
    """A next value; a plain label is one of the variable's own."""
    if isinstance(given, str) and variable.sort.kind is Kind.ENUM:
        return build.label(variable.sort, given)
    return build.const(given)


def name_draws(lets: Mapping[str, Expr], following: Mapping[str, Expr]) -> tuple[dict[str, Expr], dict[str, Expr]]:
    """Both with every anonymous draw named for the definition it first appears in; a shared draw stays shared."""
    owners: dict[Occurrence, str] = {}
    for name, body in [*lets.items(), *following.items()]:
        for draw in draws([body]):
            if draw.occurrence.name in ANONYMOUS:
                owners.setdefault(draw.occurrence, name)

    def rename(node: Expr) -> Expr | None:
        if not isinstance(node, Choose | Between) or node.occurrence not in owners:
            return None
        return replace(node, occurrence=replace(node.occurrence, name=owners[node.occurrence]))

    bodies = rewrite([*lets.values(), *following.values()], rename)
    return dict(zip(lets, bodies[: len(lets)], strict=True)), dict(zip(following, bodies[len(lets) :], strict=True))


def restart(made: System, init: Mapping[str, Initials]) -> System:
    """The system with other initial values for some of its variables."""
    declared = {variable.name: variable for variable in made.state}
    return made.starting(replace(made.init, starts=starts_of({**made.init.starts, **init}, declared)))


def starts_of(init: Mapping[str, Initials], declared: Mapping[str, Variable]) -> dict[str, Start]:
    """A start for every variable."""
    given = {n: x for name, value in init.items() for n, x in spread(name, value, declared).items()}
    for name in given:
        declared_variable(declared, name)
    missing = [name for name in declared if name not in given]
    if missing:
        raise TypeClash(f"no initial value for {', '.join(missing)}")
    return {name: _start(variable, given[name]) for name, variable in declared.items()}


def _start(variable: Variable, given: Initial) -> Start:
    given = as_written(given)
    if isinstance(given, Span | OneOf):
        return check_start(variable, given)
    if isinstance(given, Expr):
        instead = "vn.interval(lo, hi) is an interval, vn.one_of(a, b) are values, and `where` takes conditions"
        raise TypeClash(f"{variable.name} starts in an expression; initial values are numbers and labels: {instead}")
    if isinstance(given, tuple) and len(given) == 2 and variable.sort.is_number:
        two = ", ".join(str(value) for value in given)
        remedies = f"write vn.interval({two}) or vn.one_of({two})"
        raise TypeClash(f"{variable.name} = ({two}) may be an interval or two values: {remedies}")
    values = list(given) if isinstance(given, Collection) and not isinstance(given, str) else [given]
    return check_start(variable, OneOf(tuple(value_of(variable.sort, value) for value in values)))


# Arrays ---------------------------------------------------------------------------------------------------------------


def variables_of(name: str, declaration: Declaration) -> list[Variable]:
    """The variable of a declaration; of an array, one for each component."""
    if not isinstance(declaration, Declaration):
        kinds = "vn.real(lo, hi), vn.integer(lo, hi), vn.boolean(), vn.enum(...) and vn.array(kind, size)"
        raise TypeClash(f"the state {name!r} is declared by {declaration!r}; declarations are {kinds}")
    size, ends = declaration.size, (declaration.sort, declaration.lower, declaration.upper)
    return [Variable(name, *ends)] if size is None else [Variable(f"{name}[{k}]", *ends) for k in range(size)]


def visible_names(declared: Mapping[str, Variable]) -> dict[str, Expr | ExprArray]:
    """What functions of names see of the state: variables, and arrays of them by their own name."""
    ranges = index_ranges(declared.values())
    arrays = {name: ExprArray(parts, ranges) for name, parts in arrays_of(declared.values()).items()}
    return {**{name: variable.var for name, variable in declared.items()}, **arrays}


def spread(name: str, given: Any, declared: Mapping[str, Variable]) -> dict[str, Any]:
    """What is said of an array, for each of its components: a sequence has one entry for each, all else is for all."""
    parts = [] if name in declared else [f"{name}[{k}]" for k in range(len(declared)) if f"{name}[{k}]" in declared]
    if not parts:
        return {name: given}
    if isinstance(given, Values) or not is_listed(given):
        return dict.fromkeys(parts, given)
    if len(given) != len(parts):
        raise TypeClash(f"{name!r} has {len(parts)} components, 0 to {len(parts) - 1}, but here are {len(given)}")
    return dict(zip(parts, given, strict=True))


System.tracer = trace
