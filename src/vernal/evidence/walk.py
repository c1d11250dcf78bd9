"""A path recomputed exactly from its first state, its draws and its tie choices.

A path found in floating point, or read from a file, is only a list of decisions. Here it is walked again in rationals,
or in enclosures of rising precision where a function has no rational value; what comes out is a path of the system as
written, whatever was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from vernal.errors import VernalError
from vernal.evidence.trace import Choice, Enclosure, Trace, TraceNumber, TraceStep, TraceValue
from vernal.evidence.trace_values import settled
from vernal.interpret import exact
from vernal.interpret.exact import Evaluation, Given
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.number_size import MAX_BITS
from vernal.interpret.numbers.reals import Undefined
from vernal.model.expr import Between, Choose, Expr
from vernal.model.numbers import rounded, written
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

PRECISIONS = (128, 256, 512, 1024, 2048, 4096)  # bits, tried in turn until nothing is undecided
BITS_PER_STEP = 1.2  # that enclosures lose, as far as a long path of a nonlinear loop tells
LOST_AT_MOST = 8.0  # bits in a step: what is undecided earlier than that explains is so with any precision
RECORDED_BITS = 1024  # of the ends of an enclosure in a trace: to make longer fractions takes longer than the walk

# By the names of `system.step.names`, or by the nodes themselves where branches share a name.
Decisions = Mapping[str, Any] | Mapping[Expr, Any]  # to an option's index, a disturbance's value, a winner's index
NodeDecisions = dict[Expr, int | Fraction | Sequence[Fraction]]  # decisions of one position, by node
FirstState = Mapping[str, Fraction]
AgentMemory = Mapping[str, Sequence[Fraction]]  # by agent


@dataclass(frozen=True, slots=True)
class Problem:
    """Where a record and the system part: step (in continuous time its time), variable, both values, and why."""

    step: int
    why: str
    variable: str | None = None
    recorded: object = None
    recomputed: object = None
    time: Fraction | None = None

    def __str__(self) -> str:
        place = f"step {self.step}" if self.time is None else f"time {rounded(self.time)}"
        place += f", {self.variable}" if self.variable else ""
        if self.recorded is None and self.recomputed is None:
            return f"{place}: {self.why}"
        return f"{place}: recorded {_said(self.recorded)}, recomputed {_said(self.recomputed)} ({self.why})"


def _said(value: object) -> str:
    """A value in a message: numbers may be longer than any text."""
    match value:
        case Fraction():
            return written(value)
        case Enclosure():
            return f"[{written(value.lower)}, {written(value.upper)}]"
        case tuple():
            return f"({', '.join(map(_said, value))})"
    return str(value)


class NotAPath(VernalError):
    """These decisions do not make a path of the system."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Undecided(Exception):
    """The balls overlap; more precision may tell."""

    def __init__(self, step: int, variable: str) -> None:
        super().__init__(step, variable)
        self.step, self.variable = step, variable


# Making a path --------------------------------------------------------------------------------------------------------


def run(
    system: Model,
    first: FirstState,
    decisions: Sequence[Decisions],
    steps: int,
    memory: AgentMemory | None = None,
    *,
    least_precision: int = 0,
    tick: Tick = idle,
) -> Trace:
    """The path from the first state under these decisions, as far as `steps` transitions or the end of the path.

    A disturbance just outside its interval (a rounding) is moved to the nearer end, an option that does not exist gives
    way to the first that does, an action that is not maximal to the first that is; the trace says what was taken. The
    first state has to be an initial one. Without a memory, agents remember the first of the values they may start
    with. `tick` is called at every node of every step and may stop the walk by raising.
    """
    last: Undecided | None = None
    memory = memory or system.pack_memory(system.initial.first)
    known = precisions(steps)
    bits = [precision for precision in known if precision >= least_precision] or [known[-1]]
    for precision, further in zip(bits, [*bits[1:], 0], strict=True):
        try:
            return ReplayWalk(system, decisions, precision, tick).walk(first, memory, steps)
        except Undecided as doubt:
            last = doubt
            if further > PRECISIONS[-1] > LOST_AT_MOST * doubt.step:
                break
    assert last is not None
    why = f"undecided with {precision} bits: a comparison of reals that may be equal"
    why += f", or numbers beyond {MAX_BITS:,} bits"
    raise NotAPath(Problem(last.step, why, last.variable))


def precisions(steps: int) -> tuple[int, ...]:
    """The precisions that are tried for a path of so many steps: of a long one enclosures grow at every step."""
    made = list(PRECISIONS)
    while made[-1] < min(2 * BITS_PER_STEP * steps, MAX_BITS):
        made.append(2 * made[-1])
    return tuple(made)


@dataclass(frozen=True)
class ReplayWalk:
    """One walk at one precision."""

    system: Model
    decisions: Sequence[Decisions]
    precision: int
    tick: Tick

    def walk(self, first: FirstState, memory: AgentMemory, steps: int) -> Trace:
        self.check_first(first, memory)
        inputs: dict[Expr, Any] = {variable.var: first[variable.name] for variable in self.system.state}
        inputs.update(self.system.unpack_memory(memory))
        made: list[TraceStep] = []
        for t in range(steps + 1):
            moves = t < steps and self.enabled(inputs, t)
            roots, names = self.roots(guard=t < steps, moves=moves)
            outcome = self.compute(roots, inputs, t, names)
            made.append(self.record(inputs, outcome, t))
            if not moves:
                break
            after = outcome.values[len(roots) - len(self.system.step.inputs) :]
            inputs = dict(zip(self.system.step.inputs, after, strict=True))
        return Trace(tuple(made), complete=self.ends(inputs, len(made) - 1), system=self.system)

    def enabled(self, inputs: Mapping[Expr, Given], t: int) -> bool:
        (truth,) = self.compute([self.system.step.enabled], inputs, t, ["enabled"]).values
        return bool(truth)

    def ends(self, inputs: Mapping[Expr, Given], t: int) -> bool:
        """Whether the path is at its end; where a draw that is not recorded decides it, it is not said to be."""
        try:
            return not self.enabled(inputs, t)
        except NotAPath:
            return False

    def roots(self, guard: bool, moves: bool) -> tuple[list[Expr], list[str]]:
        """What is asked at a position: the actions, the guard if a step is wanted, what follows if it is taken."""
        step = self.system.step
        roots, names = list(step.actions.values()), list(step.actions)
        if guard:
            roots, names = [*roots, step.enabled], [*names, "enabled"]
        if moves:
            roots += [*step.next_state, *step.next_memory]
            names += [variable.name for variable in step.inputs]
        return roots, names

    def compute(self, roots: Sequence[Expr], inputs: Mapping[Expr, Given], t: int, names: Sequence[str]) -> Evaluation:
        """The roots' values, each of them known."""
        decided = self.named(t)
        try:
            outcome = exact.run(roots, inputs, decided, self.precision, lenient=True, tick=self.tick)
            if any(decided[node] != index for node, index in outcome.options.items()):
                # What was asked only to find another option was not drawn: a replay of the record would not ask it.
                decided.update(outcome.options.items())
                outcome = exact.run(roots, inputs, decided, self.precision, lenient=True, tick=self.tick)
        except LookupError as error:
            raise NotAPath(Problem(t, str(error.args[0]))) from None
        for name, value in zip(names, outcome.values, strict=True):
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Undefined):
                    raise NotAPath(Problem(t, f"the value is undefined: {item.why}", name))
                if item is None or not settled(trace_number(item)):
                    raise Undecided(t, name)
        return outcome

    def named(self, t: int) -> dict[Expr, Given]:
        """The recorded decisions at t, by node."""
        recorded: Mapping[Any, Given] = self.decisions[t] if t < len(self.decisions) else {}
        names = self.system.step.names
        return {node: recorded[key] for node, name in names.items() for key in (node, name) if key in recorded}

    def record(self, inputs: Mapping[Expr, Any], outcome: Evaluation, t: int) -> TraceStep:
        """The position as it will be shown: draws under their names, ties of agents as their actions."""
        step = self.system.step
        actions = dict(zip(step.actions, (trace_value(v) for v in outcome.values), strict=False))
        choices: dict[str, Choice] = {}
        disturbances: dict[str, TraceValue] = {}
        for node, name in step.names.items():
            if node not in outcome.reached:
                continue
            value = trace_value(outcome.reached[node])
            if isinstance(node, Between):
                disturbances[name] = value
            elif isinstance(node, Choose):
                choices[name] = Choice(outcome.options[node], value)
            elif node is not step.actions.get(name):
                choices[name] = Choice(_index(value), value)
        state = {variable.name: trace_value(inputs[variable.var]) for variable in self.system.state}
        memory = {name: trace_value(items) for name, items in self.system.pack_memory(inputs).items()}
        return TraceStep(state, actions, choices, disturbances, memory)

    # The initial set

    def check_first(self, first: FirstState, memory: AgentMemory) -> None:
        """The first state has to be an initial one, exactly."""
        self.check_complete(first, memory)
        values = self.system.unpack(first, memory)
        for var, component, start in self.system.initial.outside(values):
            what, name = self.origin(var)
            value = written(Fraction(values[var][component]))
            raise NotAPath(Problem(0, f"{value} is not an initial {what} ({start})", name))
        self.check_where(first)

    def origin(self, var: Expr) -> tuple[str, str]:
        """What kind of quantity a variable is, and whose."""
        owners: dict[Expr, str] = {slot.var: agent.name for agent in self.system.agents for slot in agent.slots}
        names: dict[Expr, str] = {variable.var: variable.name for variable in self.system.state}
        return ("memory", owners[var]) if var in owners else ("value", names[var])

    def check_complete(self, first: FirstState, memory: AgentMemory) -> None:
        """Every variable has to have a value, and every memory its size."""
        for variable in self.system.state:
            if variable.name not in first:
                raise NotAPath(Problem(0, "the first state does not say its value", variable.name))
        for agent in self.system.agents:
            wanted, given = len(agent.starts), len(memory.get(agent.name, ()))
            if wanted != given:
                raise NotAPath(Problem(0, f"the memory has {wanted} components, not {given}", agent.name))

    def check_where(self, first: FirstState) -> None:
        inputs: dict[Expr, Given] = {variable.var: first[variable.name] for variable in self.system.state}
        for number, truth in enumerate(exact.evaluate(self.system.init.where, inputs, {}, self.precision), start=1):
            if truth is None:
                raise Undecided(0, f"where #{number}")
            if truth is not True:
                raise NotAPath(Problem(0, f"the first state does not satisfy constraint {number} of init.where"))


# Numbers --------------------------------------------------------------------------------------------------------------


def trace_value(item: Any) -> TraceValue:
    return tuple(trace_number(part) for part in item) if isinstance(item, tuple) else trace_number(item)


def trace_number(item: Any) -> TraceNumber:
    """A number as traces have it: an enclosure perhaps a little wider, with ends that are not needlessly long."""
    if not isinstance(item, arb):
        return Fraction(item)
    if item.bits() > RECORDED_BITS:
        with ctx.workprec(RECORDED_BITS):
            item = +item
    return Enclosure(*reals.ends(item))


def _index(value: Any) -> int:
    assert isinstance(value, Fraction | int)
    return int(value)
