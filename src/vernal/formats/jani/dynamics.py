"""From outcomes to a system: one guarded choice, of which the options that exist are what can happen.

An outcome exists in a state iff its guard is true, every value it assigns stays inside the range of its variable (a
successor outside is no transition), and the policy chooses its label. Silent outcomes, and those with labels the policy
knows nothing of, need no policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.formats.jani.automata import free_name
from vernal.formats.jani.compose import Outcome, PlanningModel
from vernal.formats.jani.declare import whole_range
from vernal.formats.jani.policy import PolicyInterface
from vernal.interpret.ends import EndsProgram, PartialEnds
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import And, Const, Expr
from vernal.model.initial import Start
from vernal.model.sorts import INT
from vernal.model.system import Agent, Init, System, Variable
from vernal.model.tick import Tick, idle
from vernal.reduce.starts import has_state

POLICY, EDGE, STUCK = "policy", "edge", "stuck"


@dataclass(frozen=True, slots=True)
class Moves:
    """The environment of a planning model: outcomes whose guards include the ranges."""

    outcomes: tuple[Outcome, ...]
    leaving: int  # outcomes that may lead out of a range, and do not exist where they do


def inside_ranges(model: PlanningModel, tick: Tick = idle) -> Moves:
    """Outcomes restricted to the states from which they stay inside all ranges."""
    ranges = {one.variable.name: one.variable for one in model.state}
    ends: dict[Expr, PartialEnds] = {v.var: (v.lower, v.upper) for v in ranges.values() if v.sort == INT}
    starts: dict[Expr, Start] = {v.var: whole_range(v) for v in ranges.values()}
    kept: list[Outcome] = []
    leaving = 0
    for outcome in model.outcomes:
        conditions = _staying(outcome, ranges, ends)
        leaving += bool(conditions) and has_state([outcome.guard, build.negate(build.conj(*conditions))], starts, tick)
        guard = build.conj(outcome.guard, *conditions)
        if guard is not FALSE:
            kept.append(replace(outcome, guard=guard))
    return Moves(tuple(kept), leaving)


def _staying(outcome: Outcome, ranges: Mapping[str, Variable], ends: Mapping[Expr, PartialEnds]) -> list[Expr]:
    """The conditions under which all assigned values are inside their ranges, where that is not certain."""
    assigned = [(ranges[name], value) for name, value in outcome.updates.items() if ranges[name].sort == INT]
    if not assigned:
        return []
    program = EndsProgram(tuple(value for _, value in assigned))
    given = set(outcome.guard.args) if isinstance(outcome.guard, And) else {outcome.guard}
    found: list[Expr] = []
    for (variable, value), (low, high) in zip(assigned, program(ends), strict=True):
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


def possible(outcomes: Sequence[Outcome]) -> Expr:
    """That one of these outcomes exists."""
    return build.disj(*dict.fromkeys(outcome.guard for outcome in outcomes))


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
    """The next values of the variables that some outcome changes, all by one choice of an outcome."""
    options = [build.when(index, outcome.guard) for index, outcome in enumerate(outcomes)]
    edge = build.choose(*options, name=EDGE)
    found = {variable.name: _next(variable, outcomes, edge) for variable in state}
    return {variable.name: found[variable.name] for variable in state if found[variable.name] is not variable.var}


def _next(variable: Variable, outcomes: Sequence[Outcome], edge: Expr) -> Expr:
    """The value after the outcome that is taken; it stays as it is where the outcome does not assign it."""
    assigned = {
        Fraction(index): outcome.updates[variable.name]
        for index, outcome in enumerate(outcomes)
        if outcome.updates.get(variable.name, variable.var) is not variable.var
    }
    if not assigned:
        return variable.var
    return build.switch(edge, [*assigned, None], [*assigned.values(), variable.var])
