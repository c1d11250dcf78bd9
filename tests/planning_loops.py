"""Random small planning systems: bounded integers, labelled operators, a ReLU policy that selects a label.

Edges are one guarded choice, as a JANI model has them: an option exists where its guard is true, its values stay in
range and its label is the policy's action. Small integer weights make ties; thirds and tenths make near ties.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from tests.planning_oracle import PlanningOracle
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, enum
from vernal.model.system import Init, OneOf, Span, System, Variable


@dataclass(frozen=True)
class LabelledEdge:
    """An operator as a model writes it; without a label it is silent."""

    label: int | None
    guard: Expr
    updates: Mapping[str, Expr]


def relu_network(layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> Network:
    """Layers of weights and biases with ReLU between them."""
    x = network_input(layers[0][0].shape[1])
    value: Expr = x
    for number, (weight, bias) in enumerate(layers):
        value = b.affine(value if number == 0 else b.relu(value), Matrix(weight), Matrix(bias))
    return Network("net", x, value)


def planning_system(
    variables: Sequence[Variable],
    edges: Sequence[LabelledEdge],
    network: Network,
    init: Init,
    observed: Sequence[str] | None = None,
    *,
    filtered: bool = False,
) -> System:
    """One agent `policy` and one guarded choice `edge`; with `filtered`, the policy prefers among applicable labels."""
    labels = network.output.size
    by_name = {variable.name: variable for variable in variables}
    seen = [by_name[name].var for name in observed or by_name]
    sort = enum(*(f"a{i}" for i in range(labels)))
    agent = make_agent("policy", [network], seen, "raw" if filtered else "argmax", labels=None if filtered else sort)
    exists = [b.conj(edge.guard, *_stays(edge.updates, by_name)) for edge in edges]
    if filtered:
        applicable = [b.disj(*(g for g, o in zip(exists, edges, strict=True) if o.label == n)) for n in range(labels)]
        chosen = [b.conj(applicable[n], *_best(agent.var, n, applicable)) for n in range(labels)]
    else:
        chosen = [b.eq(agent.var, b.label(sort, f"a{n}")) for n in range(labels)]
    options = [
        b.when(b.const(number), b.conj(guard, *([] if edge.label is None else [chosen[edge.label]])))
        for number, (guard, edge) in enumerate(zip(exists, edges, strict=True))
    ]
    taken = b.choose(*options, name="edge")
    following = {}
    for variable in variables:
        value: Expr = variable.var
        for number, edge in enumerate(edges):
            if variable.name in edge.updates:
                value = b.if_(b.eq(taken, number), edge.updates[variable.name], value)
        following[variable.name] = value
    return System("planning", tuple(variables), init, following, (agent,))


def _stays(updates: Mapping[str, Expr], by_name: Mapping[str, Variable]) -> list[Expr]:
    bounded = [(value, by_name[name]) for name, value in updates.items() if by_name[name].sort == INT]
    return [b.conj(v >= b.const(x.lower or 0), v <= b.const(x.upper or 0)) for v, x in bounded]


def _best(scores: Expr, label: int, applicable: Sequence[Expr]) -> list[Expr]:
    others = (other for other in range(len(applicable)) if other != label)
    return [b.disj(b.negate(applicable[other]), scores[other] <= scores[label]) for other in others]


# Random ones ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanningCase:
    """A system, the condition that is unsafe, and predicates."""

    system: System
    unsafe: Expr
    predicates: tuple[Expr, ...]

    @cached_property
    def oracle(self) -> PlanningOracle:
        """What all its states say; most of the time of a test goes into their successors."""
        return PlanningOracle(self.system, self.unsafe)

    @property
    def finest(self) -> tuple[Expr, ...]:
        """Predicates that tell any two states apart."""
        return tuple(p for variable in self.system.state for p in _thresholds(variable))


def _thresholds(variable: Variable) -> list[Expr]:
    if variable.sort == BOOL:
        return [variable.var]
    assert variable.lower is not None
    assert variable.upper is not None
    return [variable.var <= b.const(Fraction(k)) for k in range(int(variable.lower), int(variable.upper))]


def planning_case(rng: random.Random) -> PlanningCase:
    """Two to four variables of few values, three to eight operators over two or three labels, some silent."""
    variables = tuple(_variable(rng, name) for name in "vwxy"[: rng.randint(2, 4)])
    labels = rng.randint(2, 3)
    edges = [_edge(rng, variables, labels) for _ in range(rng.randint(3, 8))]
    starts = {variable.name: _start(rng, variable) for variable in variables}
    where = (condition(rng, variables, 1),) if rng.random() < 0.4 else ()
    observed = rng.sample([v.name for v in variables if v.sort == INT], 1)
    observed += [v.name for v in variables if v.sort == INT and v.name not in observed and rng.random() < 0.8]
    network = _network(rng, len(observed), labels)
    filtered = rng.random() < 0.3
    system = planning_system(variables, edges, network, Init(starts, where), observed, filtered=filtered)
    predicates = tuple(dict.fromkeys(condition(rng, variables, rng.choice([0, 0, 0, 1])) for _ in range(4)))
    return PlanningCase(system, condition(rng, variables, 1), predicates)


def transfer_case(rng: random.Random) -> PlanningCase:
    """Three counters between which units are moved, most operators keeping the total that the start says.

    Operators come in pairs now and then, two outcomes of one action.
    """
    variables = tuple(Variable(name, INT, Fraction(0), Fraction(rng.randint(2, 3))) for name in "vwx")
    labels = rng.randint(2, 3)
    edges = [edge for _ in range(rng.randint(2, 4)) for edge in _outcomes(rng, variables, labels)]
    total = b.eq(b.add(*(variable.var for variable in variables)), rng.randint(1, 4))
    where = (total, condition(rng, variables, 1)) if rng.random() < 0.3 else (total,)
    init = Init({variable.name: Span(Fraction(0), variable.upper or Fraction(0)) for variable in variables}, where)
    network = _network(rng, len(variables), labels)
    system = planning_system(variables, edges, network, init, filtered=rng.random() < 0.3)
    predicates = tuple(dict.fromkeys(condition(rng, variables, rng.choice([0, 0, 1])) for _ in range(3)))
    return PlanningCase(system, condition(rng, variables, 1), predicates)


def noisy_case(rng: random.Random) -> PlanningCase:
    """One of the others, whose policy sees some of its variables through finite draws of the environment."""
    case = rng.choice([planning_case, transfer_case])(rng)
    (agent,) = case.system.agents
    seen = [_noisy(rng, value, case.system.state) for value in agent.observe]
    shared = b.choose(0, 1, name="shared")
    seen = [value + shared if rng.random() < 0.3 else value for value in seen]
    labels = agent.var.sort if agent.act == "argmax" else None
    policy = make_agent(agent.name, agent.networks, seen, agent.act, labels=labels)
    return replace(case, system=replace(case.system, agents=(policy,)))


def _noisy(rng: random.Random, value: Expr, variables: Sequence[Variable]) -> Expr:
    ways = [
        lambda: value,
        lambda: value + b.choose(-1, 0, 1, name="noise"),
        lambda: b.if_(condition(rng, variables, 0), b.choose(value, -value, name="sign"), value),
        lambda: b.choose(value, b.when(value + 1, condition(rng, variables, 0)), name="guarded"),
    ]
    return rng.choice(ways)()


def _outcomes(rng: random.Random, variables: Sequence[Variable], labels: int) -> list[LabelledEdge]:
    """One or two operators with the same label and guard."""
    label = None if rng.random() < 0.15 else rng.randrange(labels)
    guard = b.TRUE if rng.random() < 0.5 else condition(rng, variables, rng.choice([0, 1]))
    return [LabelledEdge(label, guard, _transfer(rng, variables)) for _ in range(rng.randint(1, 2))]


def _transfer(rng: random.Random, variables: Sequence[Variable]) -> dict[str, Expr]:
    """Units from one counter to another; now and then one gets lost."""
    source, target = rng.sample(list(variables), 2)
    units = rng.choice([1, 1, 1, 2])
    arriving = units - (rng.random() < 0.1)
    return {source.name: source.var - units, target.name: target.var + arriving}


def _variable(rng: random.Random, name: str) -> Variable:
    if name != "v" and rng.random() < 0.2:
        return Variable(name, BOOL)
    low = rng.randint(-2, 1)
    return Variable(name, INT, Fraction(low), Fraction(low + rng.randint(1, 4)))


def _start(rng: random.Random, variable: Variable) -> Span | OneOf:
    if variable.sort == BOOL:
        return OneOf(tuple(Fraction(value) for value in rng.sample((0, 1), rng.randint(1, 2))))
    assert variable.lower is not None
    assert variable.upper is not None
    values = range(int(variable.lower), int(variable.upper) + 1)
    if rng.random() < 0.3:
        return OneOf(tuple(Fraction(value) for value in sorted(rng.sample(values, min(2, len(values))))))
    first, last = sorted(rng.choices(values, k=2))
    return Span(Fraction(first), Fraction(last))


def _edge(rng: random.Random, variables: Sequence[Variable], labels: int) -> LabelledEdge:
    changed = rng.sample(list(variables), rng.randint(1, 2))
    updates = {variable.name: _update(rng, variable, variables) for variable in changed}
    label = None if rng.random() < 0.15 else rng.randrange(labels)
    return LabelledEdge(label, condition(rng, variables, rng.choice([0, 0, 1])), updates)


def _update(rng: random.Random, variable: Variable, variables: Sequence[Variable]) -> Expr:
    if variable.sort == BOOL:
        return rng.choice([b.TRUE, b.FALSE, b.negate(variable.var), condition(rng, variables, 0)])
    numbers = [v.var for v in variables if v.sort == INT]
    other = rng.choice(numbers)
    ways = [variable.var + 1, variable.var - 1, b.const(rng.randint(-1, 2)), other, variable.var + other]
    ways += [b.if_(condition(rng, variables, 0), variable.var + 1, other), b.minimum(other, variable.var + 2)]
    return rng.choice(ways)


def condition(rng: random.Random, variables: Sequence[Variable], depth: int) -> Expr:
    """A comparison of sums, or a few of them combined."""
    if depth:
        join = rng.choice([b.conj, b.disj])
        return join(*(condition(rng, variables, depth - 1) for _ in range(rng.randint(1, 3))))
    truths = [variable.var for variable in variables if variable.sort == BOOL]
    if truths and rng.random() < 0.25:
        truth = rng.choice(truths)
        return rng.choice([truth, b.negate(truth)])
    numbers = [variable.var for variable in variables if variable.sort == INT]
    left: Expr = rng.choice(numbers)
    right = rng.choice([b.const(rng.randint(-2, 3)), rng.choice(numbers) + rng.randint(-1, 1)])
    if rng.random() < 0.2:
        left = 2 * left + rng.choice(numbers)
    return b.compare(rng.choice(["<=", "<", "<=", "==", "!="]), left, right)


def weighted_sum(rng: random.Random, variables: Sequence[Variable]) -> Expr:
    """That a sum of multiples of all numbers has a value, or at most that."""
    parts = [rng.choice([-2, -1, 1, 1, 2]) * variable.var for variable in variables if variable.sort == INT]
    return b.compare(rng.choice(["==", "<="]), b.add(*parts), rng.randint(-3, 5))


def _network(rng: random.Random, inputs: int, outputs: int) -> Network:
    unit = rng.choice([1.0, 1.0, 0.1, 1 / 3])

    def layer(rows: int, columns: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
        weight = [[rng.randint(-2, 2) * scale for _ in range(columns)] for _ in range(rows)]
        return np.array(weight, dtype=float), np.array([rng.randint(-2, 2) * scale for _ in range(rows)], dtype=float)

    return relu_network([layer(4, inputs, unit), layer(3, 4, 1.0), layer(outputs, 3, 1.0)])
