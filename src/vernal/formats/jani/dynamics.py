"""From outcomes to a system: one guarded choice, of which the options that exist are what can happen.

An outcome exists in a state iff its guard is true, every value it assigns stays inside the range of its variable (a
successor outside is no transition), and the policy chooses its label. Silent outcomes, and those with labels the policy
knows nothing of, need no policy. An outcome with parts exists iff each part has an option; which one is taken is a
choice of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.formats.jani.automata import Updates, free_name
from vernal.formats.jani.composition import Outcome, OutcomePart, PlanningModel
from vernal.formats.jani.declarations import whole_range
from vernal.formats.jani.policy import PolicyInterface
from vernal.interpret.discrete.initial_states import has_state
from vernal.interpret.ends import EndsProgram, PartialEnds
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import And, Const, Expr
from vernal.model.graph import variables
from vernal.model.initial import Start
from vernal.model.sorts import REAL
from vernal.model.system import Agent, Init, System, Variable
from vernal.model.tick import Tick, idle
from vernal.reduce.operators import conjuncts

POLICY, EDGE, STUCK = "policy", "edge", "stuck"


@dataclass(frozen=True, slots=True)
class Moves:
    """The environment of a planning model: outcomes whose guards include the ranges."""

    outcomes: tuple[Outcome, ...]
    leaving: int  # outcomes that may lead out of a range, and do not exist where they do


def inside_ranges(model: PlanningModel, tick: Tick = idle) -> Moves:
    """Outcomes restricted to the states from which they stay inside all ranges."""
    ranges = _Ranges([one.variable for one in model.state], tick)
    kept = [one for outcome in model.outcomes if (one := ranges.restrict(outcome)).guard is not FALSE]
    return Moves(tuple(kept), ranges.leaving)


class _Ranges:
    """The ranges of all variables; it counts what may lead out of them."""

    def __init__(self, state: Sequence[Variable], tick: Tick) -> None:
        self.variables = {one.name: one for one in state}
        self.ends: dict[Expr, PartialEnds] = {v.var: (v.lower, v.upper) for v in state if v.sort.is_number}
        self.starts: dict[Expr, Start] = {v.var: whole_range(v) for v in state}
        self.tick = tick
        self.leaving = 0

    def restrict(self, outcome: Outcome) -> Outcome:
        """The outcome where it stays inside, its parts with those options that do."""
        self.tick()
        guard = self._restricted(outcome.guard, outcome.updates)
        parts = tuple(self._of_part(part, guard) for part in outcome.parts)
        some = [build.disj(*dict.fromkeys(option.guard for option in part.options)) for part in parts]
        return replace(outcome, guard=build.conj(guard, *some), parts=parts)

    def _of_part(self, part: OutcomePart, guard: Expr) -> OutcomePart:
        within = [replace(one, guard=self._restricted(one.guard, one.updates, guard)) for one in part.options]
        return replace(part, options=tuple(one for one in within if one.guard is not FALSE))

    def _restricted(self, guard: Expr, updates: Updates, known: Expr = TRUE) -> Expr:
        """The guard, and that all assigned values are inside; `known` is true besides, wherever this can happen."""
        conditions = self._staying(guard, updates)
        if conditions:
            outside = [known, guard, build.negate(build.conj(*conditions))]
            self.leaving += any(var.sort == REAL for var in variables(outside)) or has_state(
                outside, self.starts, self.tick
            )
        return build.conj(guard, *conditions)

    def _staying(self, guard: Expr, updates: Updates) -> list[Expr]:
        """The conditions under which all assigned values are inside their ranges, where that is not certain."""
        named = [(self.variables[name], value) for name, value in updates.items()]
        assigned = [(variable, value) for variable, value in named if variable.sort.is_number]
        if not assigned:
            return []
        program = EndsProgram(tuple(value for _, value in assigned))
        given = set(guard.args) if isinstance(guard, And) else {guard}
        found: list[Expr] = []
        for (variable, value), (low, high) in zip(assigned, program(self.ends), strict=True):
            assert variable.lower is not None
            assert variable.upper is not None
            if low is None or low < variable.lower:
                found.append(build.compare("<=", variable.lower, value))
            if high is None or high > variable.upper:
                found.append(build.compare("<=", value, variable.upper))
        return [condition for condition in dict.fromkeys(found) if condition not in given]


# The policy's part ----------------------------------------------------------------------------------------------------


def chosen(outcomes: Sequence[Outcome], policy: PolicyInterface, agent: Agent, filtered: bool) -> tuple[Outcome, ...]:
    """Outcomes that exist only where the policy chooses their label."""
    choice = _filtered(outcomes, policy, agent) if filtered else _by_label(policy, agent)
    return tuple(
        replace(outcome, guard=build.conj(outcome.guard, choice[outcome.label])) if outcome.label in choice else outcome
        for outcome in outcomes
    )


def _by_label(policy: PolicyInterface, agent: Agent) -> dict[str | None, Expr]:
    sort = agent.var.sort
    return {
        label: build.eq(agent.var, Const((), sort, (), (Fraction(index),))) for index, label in enumerate(policy.labels)
    }


def _filtered(outcomes: Sequence[Outcome], policy: PolicyInterface, agent: Agent) -> dict[str | None, Expr]:
    """A label is chosen if no applicable label has a higher score; its own guard says that it is applicable."""
    applicable = {label: possible([one for one in outcomes if one.label == label]) for label in policy.labels}
    scores = dict(zip(policy.labels, _components(agent.var), strict=True))
    return {
        label: build.conj(
            *(
                build.disj(build.negate(applicable[other]), build.compare("<=", scores[other], scores[label]))
                for other in policy.labels
                if other != label and applicable[other] is not FALSE
            )
        )
        for label in policy.labels
    }


def _components(scores: Expr) -> list[Expr]:
    return [build.component(scores, index) for index in range(scores.size)] if scores.shape else [scores]


def applicable(outcomes: Sequence[Outcome], policy: PolicyInterface) -> dict[str, Expr]:
    """Where each label of a policy has an outcome, and where the environment has one whatever it chooses."""
    own = possible([one for one in outcomes if one.label not in policy.labels])
    return {label: build.disj(own, possible([o for o in outcomes if o.label == label])) for label in policy.labels}


def possible(outcomes: Sequence[Outcome]) -> Expr:
    """That one of these outcomes exists."""
    return build.disj(*_weakest([outcome.guard for outcome in outcomes]))


def _weakest(guards: Sequence[Expr]) -> list[Expr]:
    """The conditions without those that say what another one does, and more: a move that fails costs something."""
    parts = {guard: frozenset(conjuncts(guard)) for guard in guards}
    kept: dict[Expr, list[frozenset[Expr]]] = defaultdict(list)  # by one of the parts
    found = set()
    for guard, own in sorted(parts.items(), key=lambda entry: len(entry[1])):
        if not any(other <= own for part in own for other in kept[part]):
            found.add(guard)
            kept[next(iter(conjuncts(guard)), guard)].append(own)
    return [guard for guard in parts if guard in found]


# The system -----------------------------------------------------------------------------------------------------------


def planning_system(
    model: PlanningModel, moves: Moves, policy: PolicyInterface | None, init: Init, filtered: bool
) -> System:
    """The closed loop; its lets say where the policy is stuck: its choice does not exist, although another would."""
    state = tuple(one.variable for one in model.state)
    names = [variable.name for variable in state] + list(model.constants)
    agents: tuple[Agent, ...] = ()
    outcomes = moves.outcomes
    lets: dict[str, Expr] = {}
    if policy is not None:
        agents = (policy.agent(free_name(POLICY, names), filtered),)
        outcomes = chosen(moves.outcomes, policy, agents[0], filtered)
        nothing = FALSE if filtered else build.negate(possible(outcomes))  # the best of what exists does exist
        stuck = build.conj(possible(moves.outcomes), nothing)
        lets[free_name(STUCK, [*names, agents[0].name])] = stuck
    following = _following(state, outcomes) if outcomes else {}
    enabled = TRUE if following else possible(outcomes)  # a choice on which nothing depends would not be drawn
    return System(model.name, state, init, following, agents, lets, enabled)


def _following(state: Sequence[Variable], outcomes: Sequence[Outcome]) -> dict[str, Expr]:
    """The next values of the variables that some outcome changes, all by one choice of an outcome and of its parts."""
    options = [build.when(index, outcome.guard) for index, outcome in enumerate(outcomes)]
    edge = build.choose(*options, name=EDGE)
    taken = [[_taken(part) for part in outcome.parts] for outcome in outcomes]
    found = {variable.name: _next(variable, outcomes, edge, taken) for variable in state}
    return {variable.name: found[variable.name] for variable in state if found[variable.name] is not variable.var}


def _taken(part: OutcomePart) -> Expr:
    """The choice of an automaton. Where none of its options exists its outcome does not, and this choice is not made:
    one more option, for there, says so."""
    options = [build.when(index, option.guard) for index, option in enumerate(part.options)]
    nothing = build.negate(build.disj(*(option.guard for option in part.options)))
    return build.choose(*options, build.when(len(options), nothing), name=f"{EDGE} {part.automaton}")


def _next(variable: Variable, outcomes: Sequence[Outcome], edge: Expr, taken: Sequence[Sequence[Expr]]) -> Expr:
    """The value after the outcome that is taken; it stays as it is where the outcome does not assign it."""
    values = [_after(variable, outcome, own) for outcome, own in zip(outcomes, taken, strict=True)]
    assigned = {Fraction(index): value for index, value in enumerate(values) if value is not variable.var}
    if not assigned:
        return variable.var
    return build.switch(edge, [*assigned, None], [*assigned.values(), variable.var])


def _after(variable: Variable, outcome: Outcome, taken: Sequence[Expr]) -> Expr:
    """The value after one outcome, by the options that its parts take."""
    value = outcome.updates.get(variable.name, variable.var)
    for part, choice in zip(outcome.parts, taken, strict=True):
        updates = {Fraction(index): one.updates.get(variable.name) for index, one in enumerate(part.options)}
        assigned = {index: update for index, update in updates.items() if update is not None}
        if assigned:
            value = build.switch(choice, [*assigned, None], [*assigned.values(), value])
    return value
