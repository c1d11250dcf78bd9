"""A path of a loop that samples, enclosed: exact readings and draws at instants, solutions of the flow between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb, ctx

from vernal.evidence.trace import Choice, Trace, TraceNumber, TraceStep, TraceValue
from vernal.evidence.walk import NotAPath, Problem, trace_number, trace_value
from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.exact import Evaluation
from vernal.interpret.flow.point_solutions import Leg, SolutionPiece, Stepper, has_left, is_inside
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.sampled.plant import Plant, Reset, plant_of
from vernal.model import expr as e
from vernal.model.expr import Argmax, Between, Choose, Expr, Var
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.model.timetable import Instant

LoopValues = dict[Var, Fraction | arb]
InstantDraws = tuple[dict[str, Choice], dict[str, TraceValue]]  # choices and disturbances by their names


class LoopSolution:
    """One path from a first state under given draws, until its last time or as far as it can be enclosed."""

    def __init__(
        self, flow: Model, times: Sequence[Fraction], given: Sequence[Mapping[Expr, Given]], precision: int, tick: Tick
    ) -> None:
        """`given` are the draws from each of the times on: at instants from then on, and of the flow."""
        self.flow, self.plant, self.precision, self.tick = flow, plant_of(flow), precision, tick
        self.times, self.given = times, given
        self.stepper = Stepper(flow.vector_field, self.plant.continuous, precision, tick, None)
        self.pieces: list[SolutionPiece] = []
        self.drawn: dict[Fraction, InstantDraws] = {}  # at instants
        self.ended: Fraction | None = None  # when the path ended: not enabled there
        self.first: LoopValues = {}
        self.told = True  # whether the clock began at 0
        self.reads: dict[Fraction, Mapping[str, tuple[Fraction | arb, ...]]] = {}  # with what memory, at instants

    def run(self, first: Mapping[str, Fraction]) -> None:
        """Follow the path."""
        state: LoopValues = {var: self._start(var, first) for var in self.flow.vars}
        self.told = self.plant.clock is None or state[self.plant.clock] == 0
        instants = {one.time: one for one in self.plant.instants(self.times[-1])}
        stops = sorted({*instants, *self.times})
        with ctx.workprec(self.precision):
            for now, after in pairwise([*stops, None]):
                assert now is not None
                if now in instants and not self._happens(instants[now], state):
                    return
                if now == 0:
                    self.first = dict(state)
                if after is None or now == self.ended:
                    self.pieces.append(self._standing(now, state))
                    return
                if not self._flows(state, now, after):
                    return

    def _start(self, var: Var, first: Mapping[str, Fraction]) -> Fraction:
        return first[var.name] if var.name in first else self.flow.initial.starts[var][0].ends[0]

    def position(self, values: Mapping[str, TraceNumber], time: Fraction, *, last: bool) -> TraceStep:
        """Values of the flow's variables by name, as a position of the loop, with what is drawn from then on."""
        model = self.plant.model
        actions: dict[str, TraceValue] = {}
        for agent in model.agents:
            parts = tuple(values[var.name] for var in self.plant.held[agent.name])
            actions[agent.name] = parts if agent.action.shape else parts[0]
        choices, disturbances = self.drawn.get(time, ({}, {}))
        rates = {} if last or not self.flow.disturbances else self._disturbing(time)
        moving = {model.step.names[node]: trace_value(value) for node, value in rates.items()}  # type: ignore[index]
        state = {variable.name: values[variable.name] for variable in model.state}
        return TraceStep(state, actions, choices, {**disturbances, **moving}, self._memory(values, time))

    def _memory(self, values: Mapping[str, TraceNumber], time: Fraction) -> dict[str, TraceValue]:
        """What agents remember; at an instant, with what memory they read."""
        read = self.reads.get(time)
        if read is not None:
            return {name: tuple(map(trace_number, own)) for name, own in read.items()}
        return {name: tuple(values[var.name] for var in own) for name, own in self.plant.memory.items()}

    # Instants

    def _happens(self, instant: Instant, state: LoopValues) -> bool:
        """Everything that happens at an instant; whether it is known what the state is then."""
        draws: InstantDraws = ({}, {})
        self.drawn[instant.time] = draws
        self.reads[instant.time] = {n: tuple(state[var] for var in own) for n, own in self.plant.memory.items()}
        for reset in self.plant.resets(instant, told=self.told):
            if not self._reset(reset, state, instant.time, draws):
                return False
        if not instant.position:
            return True
        (goes_on,) = exact.evaluate([self.plant.enabled], _inputs(state), {}, self.precision, self.tick)
        if goes_on is False:
            self.ended = instant.time
        return isinstance(goes_on, bool)

    def _reset(self, reset: Reset, state: LoopValues, time: Fraction, draws: InstantDraws) -> bool:
        try:
            outcome = exact.run(
                list(reset.values()), _inputs(state), self.given_at(time), self.precision, lenient=True, tick=self.tick
            )
        except LookupError as error:
            raise NotAPath(Problem(0, str(error.args[0]), time=time)) from None
        for value in outcome.values:
            if isinstance(value, Undefined):
                raise NotAPath(Problem(0, f"the value is undefined: {value.why}", time=time))
        self._note(outcome, draws)
        known = dict(zip(reset, outcome.values, strict=True))
        if not all(_is_known(value, var) for var, value in known.items()):
            return False
        state.update({var: _number(value) for var, value in known.items()})
        return self._is_remembered(state)

    def _is_remembered(self, state: LoopValues) -> bool:
        """Whether memories are small enough to be followed: one that is not has left no region, it is not known."""
        ends = dict(zip(self.flow.vars, self.flow.region, strict=True))
        own = [var for vars in self.plant.memory.values() for var in vars]
        return is_inside([state[var] for var in own], [ends[var] for var in own])

    def given_at(self, time: Fraction) -> Mapping[Expr, Given]:
        """The draws from a time on."""
        return self.given[max(bisect_right(self.times, time, hi=len(self.given)) - 1, 0)] if self.given else {}

    def _note(self, outcome: Evaluation, draws: InstantDraws) -> None:
        step = self.plant.model.step
        choices, disturbances = draws
        for node, value in outcome.reached.items():
            name = step.names.get(node)
            if name is None or value is None or isinstance(value, Undefined):
                continue
            if isinstance(node, Between):
                disturbances[name] = trace_value(value)
            elif isinstance(node, Choose):
                choices[name] = Choice(outcome.options[node], trace_value(value))

    # Flow

    def _flows(self, state: LoopValues, start: Fraction, end: Fraction) -> bool:
        """Follow the flow from one time to the next; whether it got there."""
        plant = self.plant
        known: dict[Expr, Expr] = {var: _constant(var, state[var]) for var in plant.discrete}
        rates = dict(zip(self.flow.vars, self.flow.vector_field, strict=True))
        self.stepper.rates = specialise([rates[var] for var in plant.continuous], known)
        before = len(self.stepper.pieces)
        balls = [_ball(state[var]) for var in plant.continuous]
        reached = self.stepper.run(balls, [Leg(end, self._disturbing(start))], start)
        self.pieces += [self._whole(piece, state) for piece in self.stepper.pieces[before:]]
        if reached is None:
            return False
        state.update(dict(zip(plant.continuous, reached, strict=True)))
        return not has_left(list(state.values()), self.flow.region)

    def _disturbing(self, time: Fraction) -> dict[Expr, Given]:
        """The draws in rates: those made at instants are those of the last one."""
        assert self.flow.grid is not None
        instant = self.given_at(time // self.flow.grid * self.flow.grid)
        now = self.given_at(time)
        found = {node: (instant if node in self.plant.drawn else now).get(node) for node in self.flow.disturbances}
        if None in found.values():
            raise NotAPath(Problem(0, "the record does not say every disturbance", time=time))
        return {node: value for node, value in found.items() if value is not None}

    def _whole(self, piece: SolutionPiece, state: LoopValues) -> SolutionPiece:
        """A piece with the discrete variables beside the others."""
        rows = dict(zip(self.plant.continuous, zip(piece.coefficients, piece.box, strict=True), strict=True))
        all_rows = [rows.get(var) or ([_ball(state[var])], _ball(state[var])) for var in self.flow.vars]
        coefficients, box = [row[0] for row in all_rows], tuple(row[1] for row in all_rows)
        return SolutionPiece(piece.start, piece.length, coefficients, box, self.precision)

    def _standing(self, time: Fraction, state: LoopValues) -> SolutionPiece:
        """What the state is at one time, as a piece without length."""
        balls = tuple(_ball(state[var]) for var in self.flow.vars)
        return SolutionPiece(time, Fraction(0), [[ball] for ball in balls], balls, self.precision)


def _inputs(state: LoopValues) -> dict[Expr, Given]:
    return dict(state.items())


def _is_known(value: Any, var: Var) -> bool:
    """Whether a new value is a number; of a discrete variable, a certain one."""
    if isinstance(value, arb):
        return var.sort == REAL and bool(value.is_finite())
    return isinstance(value, Fraction | bool)


def _number(value: Any) -> Fraction | arb:
    return value if isinstance(value, arb) else Fraction(value)


def _ball(value: Fraction | arb) -> arb:
    return value if isinstance(value, arb) else arb(reals.rational(value))


def _constant(var: Var, value: Fraction | arb) -> Expr:
    assert isinstance(value, Fraction), "discrete variables have certain values"
    return e.Const((), var.sort, (), (value,))


def recorded_draws(recorded: Trace, plant: Plant) -> list[dict[Expr, Given]]:
    """What a record says of each position: draws by their names, winners by the actions."""
    step = plant.model.step
    names: dict[str, Expr] = {name: node for node, name in step.names.items()}
    winners = {name: node for name, node in step.actions.items() if isinstance(node, Argmax)}
    found: list[dict[Expr, Given]] = []
    for position in recorded.steps:
        drawn = {name: value for name, value in position.disturbances.items() if isinstance(value, Fraction)}
        given: dict[Expr, Given] = {names[name]: value for name, value in drawn.items() if name in names}
        given |= {names[name]: choice.index for name, choice in position.choices.items() if name in names}
        taken = {node: position.actions.get(name) for name, node in winners.items()}
        found.append(given | {node: value for node, value in taken.items() if isinstance(value, Fraction)})
    return found
