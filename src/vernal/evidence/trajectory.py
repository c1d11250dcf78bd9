"""A trajectory of a flow, enclosed, and what is true along it whichever of its solutions is taken.

From an exact first state and constant disturbances between given times, all solutions are enclosed. A formula is true
or false on such a trajectory only if it is of all of them. `G[a,b] p` is false if p is false at a time of [a, b] up
to which they provably are in the region; it is true if p is true at all times of [a, b], or until they provably have
left it.

Of a loop that samples, a formula may be over its samples instead: position k is what holds at the instant kT after
everything that happens then, and there is one if the path is in the region until then, both sides of jumps included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile

from flint import arb

from vernal.errors import UnsupportedFormula
from vernal.evidence.loop_trajectory import LoopSolution, recorded_draws
from vernal.evidence.trace import Trace, TraceNumber, TraceStep, TraceValue, components
from vernal.evidence.walk import NotAPath, Problem, ReplayWalk, Undecided, trace_number
from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.flow.point_solutions import Leg, SolutionPiece, clipped, exact_ends, follow, has_left, is_inside
from vernal.interpret.numbers import reals
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Not, Or
from vernal.logic.normal import fold, nnf, rebuild
from vernal.logic.semantics import evaluate
from vernal.logic.time_sets import NEVER, TimeSet, closed_span, union
from vernal.logic.timed_truth import Lifetimes, TimedTruth, timed_truth
from vernal.logic.times import Time, is_plain
from vernal.model.expr import Expr, Var
from vernal.model.held_loop import loop_of
from vernal.model.lazy import cached_property
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

PRECISIONS = (128, 256)  # bits, tried in turn
LOOP_PRECISIONS = (128, 256, 512)  # of loops that sample: networks are evaluated in balls, again and again
HALVINGS = 12  # of a piece, to find out until when it is in the region
MAX_PARTS = 4000  # of the time over which a condition is asked
FINE_PART = 2**12  # how many of the shortest part make the whole time, where truth is followed through it
FINEST_PART = 2**30  # how many of the shortest part make the whole time


INSTANT = closed_span(Fraction(0), Fraction(0))


def trajectory(
    flow: Model,
    first: Mapping[str, Fraction],
    times: Sequence[Fraction],
    disturbances: Sequence[Mapping[Expr, Given]],
    precision: int = PRECISIONS[0],
    tick: Tick = idle,
) -> Trajectory:
    """All solutions from a first state, under disturbances that are constant from each of the times to the next.

    A first state that is no initial one, or outside the region, is an error, `NotAPath`.
    """
    try:
        ReplayWalk(loop_of(flow) or flow, (), precision, tick).check_first(first, _remembered(flow, first))
    except Undecided as doubt:
        raise NotAPath(Problem(0, f"undecided with {precision} bits: {doubt.variable}")) from None
    if loop_of(flow) is not None:
        return _loop_trajectory(flow, first, times, disturbances, precision, tick)
    start = {var: first[var.name] for var in flow.vars}
    if not is_inside(list(start.values()), flow.region):
        raise NotAPath(Problem(0, "the first state is outside the region", time=Fraction(0)))
    legs = [Leg(end, given) for end, given in zip(times[1:], disturbances, strict=False)]
    pieces = follow(flow.vector_field, start, legs, precision, tick, flow.region)
    return Trajectory(flow, start, tuple(times), tuple(disturbances[: len(times) - 1]), tuple(pieces), precision, tick)


def _remembered(flow: Model, first: Mapping[str, Fraction]) -> dict[str, tuple[Fraction, ...]]:
    """What the agents of a loop remember in a first state of its flow."""
    names = plant_of(flow).memory if loop_of(flow) is not None else {}
    return {name: tuple(first[var.name] for var in own if var.name in first) for name, own in names.items()}


def _loop_trajectory(
    flow: Model,
    first: Mapping[str, Fraction],
    times: Sequence[Fraction],
    given: Sequence[Mapping[Expr, Given]],
    precision: int,
    tick: Tick,
) -> Trajectory:
    """The same of a loop that samples, whose draws at instants are given, too."""
    walk = LoopSolution(flow, times, given, precision, tick)
    walk.run(first)
    if not walk.first or not is_inside(list(walk.first.values()), flow.region):
        raise NotAPath(Problem(0, "the first state is outside the region, or no action is known", time=Fraction(0)))
    return Trajectory(flow, walk.first, tuple(times), tuple(given), tuple(walk.pieces), precision, tick, walk)


@dataclass(frozen=True)
class Trajectory:
    """All solutions from one state, in pieces of time, and the times at which they are recorded."""

    flow: Model
    first: Mapping[Var, Fraction | arb]
    times: tuple[Fraction, ...]  # ascending from 0
    disturbances: tuple[Mapping[Expr, Given], ...]  # between each of the times and the next
    pieces: tuple[SolutionPiece, ...]
    precision: int
    tick: Tick
    walk: LoopSolution | None = None  # of a loop that samples: what was drawn at instants, and where the path ended

    @property
    def until(self) -> Fraction:
        """The last time that is known."""
        return min(self.pieces[-1].end, self.times[-1]) if self.pieces else Fraction(0)

    # States

    def states(self, time: Fraction) -> list[Sequence[Fraction | arb]]:
        """Where the solutions are at a time, exactly at time 0: once, or before and after what happens then."""
        if time == 0:
            return [list(self.first.values())]
        index = bisect_left(self.pieces, time, key=lambda piece: piece.end)
        there = takewhile(lambda piece: piece.start <= time, self.pieces[index:])
        return [piece.states(time, time) for piece in there]

    @cached_property
    def inside_until(self) -> Fraction:
        """A time up to which all solutions are in the region."""
        for piece in self.pieces:
            reached = self._inside(piece)
            if reached < piece.end:
                return min(reached, self.until)
        return self.until

    def _inside(self, piece: SolutionPiece) -> Fraction:
        """The time until which a piece is in the region, about."""
        step, time = piece.length, piece.start
        while time < piece.end and step * 2**HALVINGS >= piece.length:
            self.tick()
            if self._stays(piece, time, time + step):
                time += step
            else:
                step /= 2
        return time

    def _stays(self, piece: SolutionPiece, start: Fraction, end: Fraction) -> bool:
        """Whether a piece is in the region from one time to another.

        The first state may be on a side of the region, where balls overlap it: a variable that is nowhere below (or
        above) its first value does not leave by that side.
        """
        states = piece.states(start, end)
        if start > 0 or is_inside(states, self.flow.region):
            return is_inside(states, self.flow.region)
        slopes = piece.mean_slopes(end)  # since the first state, which is in the region
        return all(
            (slope >= 0 or low <= x) and (slope <= 0 or x <= high)
            for x, slope, (low, high) in zip(states, slopes, exact_ends(self.flow.region), strict=True)
        )

    @cached_property
    def outside_from(self) -> Fraction | None:
        """A time at which all solutions have left the region; None where they are not known to."""
        if self.walk is not None and self.walk.ended is not None:
            return min(self.walk.ended, self._left or self.walk.ended)
        return self._left

    @property
    def _left(self) -> Fraction | None:
        ends = {end for piece in self.pieces for end in (piece.start, piece.end)}
        known = sorted(end for end in ends if self.inside_until <= end <= self.until)
        return next((time for time in known if has_left(self.states(time)[-1], self.flow.region)), None)

    # Formulas

    def truth(self, formula: Formula, time: Time = Time.SECONDS) -> bool | None:
        """True or false of all solutions; None where that is not known."""
        if time is Time.SAMPLES:
            return self._sampled_truth(formula)
        if self.refutes(formula):
            return False
        return True if self.refutes(Not(formula)) else None

    def refutes(self, formula: Formula, time: Time = Time.SECONDS) -> bool:
        """Whether the formula is false of all solutions."""
        if time is Time.SAMPLES:
            return self._sampled_truth(formula) is False

        def rule(node: Formula, args: tuple[bool, ...]) -> bool:
            match node:
                case Always(arg=arg, bound=bound):
                    return self._fails(arg, bound)
                case Eventually(arg=arg, bound=bound):
                    return self._everywhere(Not(arg), bound)
                case And():
                    return any(args)
                case Or():
                    return all(args)
            return self._holds(node, list(self.first.values())) is False

        normal = nnf(closed(formula, self.flow), total=True)
        return fold(normal, rule) if is_plain(normal) else self._at_beginning(normal) is False

    def _at_beginning(self, formula: Formula) -> bool | None:
        """A formula with U, or with windows in windows, by the times at which its parts are true of all solutions."""
        gone = self.outside_from
        ended = NEVER if gone is None else ~closed_span(Fraction(0), gone)
        lives = Lifetimes(closed_span(Fraction(0), self.inside_until), ended)
        return timed_truth(formula, self._truth_in_time, lives).at(Fraction(0))

    def _truth_in_time(self, condition: Formula) -> TimedTruth:
        """The times at which a condition is true (or false) of all solutions in the region, as finely as is useful."""
        found: dict[bool | None, list[TimeSet]] = {True: [], False: [], None: []}
        waiting, left = self._parts(Fraction(0), self.until)[::-1], MAX_PARTS
        while waiting:
            piece, start, end = waiting.pop()
            states, left = piece.states(start, end), left - 1
            truth = None if has_left(states, self.flow.region) else self._counted(condition, states)
            if truth is None and left > 0 and (end - start) * FINE_PART > self.until:
                middle = (start + end) / 2
                waiting += [(piece, middle, end), (piece, start, middle)]
            else:
                found[truth].append(closed_span(start, end))
        followed, unknown = closed_span(Fraction(0), self.until), union(found[None])
        first = self._holds(condition, list(self.first.values()))  # exactly, where balls may overlap a threshold
        known = [followed & ~(unknown | union(found[other])) for other in (False, True)]
        begins = [INSTANT if first is truth else NEVER for truth in (True, False)]
        return TimedTruth(known[0] | begins[0], known[1] | begins[1])

    def samples(self) -> tuple[list[Sequence[Fraction | arb]], bool]:
        """The states at the instants of the grid that all solutions provably have; whether the path ends with the last.

        At an instant of which only the left side is known there is no sample.
        """
        grid, found = self.flow.grid, list[Sequence[Fraction | arb]]()
        assert grid is not None
        begun = {piece.start for piece in self.pieces} | {Fraction(0)}
        while (time := len(found) * grid) <= self.inside_until and time in begun:
            here = self.states(time)
            if not all(is_inside(states, self.flow.region) for states in here):
                break
            found.append(here[-1])
        ended = self.walk is not None and self.walk.ended == (len(found) - 1) * grid
        return found, ended or (self._left is not None and self._left <= len(found) * grid)

    def _sampled_truth(self, formula: Formula) -> bool | None:
        """The truth of a formula over the samples."""
        found, complete = self.samples()
        if not found:
            return None
        return evaluate(
            closed(formula, self.flow), lambda atom, k: self._holds(Atom(atom), found[k]), len(found), complete=complete
        )

    def _fails(self, condition: Formula, bound: Bound) -> bool:
        """Whether the condition is false at a time of the bound, up to which no solution has left the region."""
        lower, upper = bound.lower, self.inside_until if bound.upper is None else min(bound.upper, self.inside_until)
        times = {*self.times, *(piece.end for piece in self.pieces), lower, upper}
        return any(
            is_inside(states, self.flow.region) and self._holds(condition, states) is False
            for time in sorted(times)
            if lower <= time <= upper
            for states in self.states(time)
        )

    def _everywhere(self, condition: Formula, bound: Bound) -> bool:
        """Whether the condition is true at all times of the bound at which a solution is in the region."""
        ends = [end for end in (bound.upper, self.outside_from) if end is not None]
        if not ends:
            return False  # it goes on
        last = min(ends)
        if last > self.until:
            return False
        if last == 0:
            return self._counted(condition, list(self.first.values())) is True
        waiting = [part for part in self._parts(bound.lower, last) if part[1] <= part[2]]
        for _ in range(MAX_PARTS):
            if not waiting:
                return True
            piece, start, end = waiting.pop()
            truth = self._counted(condition, piece.states(start, end))
            if truth is False or (truth is None and (end - start) * FINEST_PART <= last):
                return False
            if truth is None:
                middle = (start + end) / 2
                waiting += [(piece, start, middle), (piece, middle, end)]
        return False

    def _counted(self, condition: Formula, states: Sequence[Fraction | arb]) -> bool | None:
        """The condition in these states, as far as they are in the region; true where none is."""
        if has_left(states, self.flow.region):
            return True
        return self._holds(condition, [clipped(x, ends) for x, ends in zip(states, self.flow.region, strict=True)])

    def _parts(self, lower: Fraction, upper: Fraction) -> list[tuple[SolutionPiece, Fraction, Fraction]]:
        """The times from lower to upper, as parts of pieces."""
        return [(piece, max(piece.start, lower), min(piece.end, upper)) for piece in self.pieces]

    def inputs(self, states: Sequence[Fraction | arb]) -> dict[Expr, Given]:
        """States by variable; those of discrete variables are certain."""
        return {
            var: x if var.sort == REAL or isinstance(x, Fraction) else reals.ends(x)[0]
            for var, x in zip(self.first, states, strict=True)
        }

    def _holds(self, condition: Formula, states: Sequence[Fraction | arb]) -> bool | None:
        """Whether a condition without lets is true (or false) in all of these states."""
        self.tick()
        inputs = self.inputs(states)

        def rule(node: Formula, args: tuple[bool | None, ...]) -> bool | None:
            if not isinstance(node, Atom):
                return _connective(node, args)
            (value,) = exact.evaluate([node.expr], inputs, {}, self.precision)
            return value if isinstance(value, bool) else None

        return fold(condition, rule)

    # Records

    def part(self, count: int) -> Trajectory:
        """The trajectory until the time with this number."""
        return replace(self, times=self.times[: count + 1], disturbances=self.disturbances[:count])

    def finer(self, count: int) -> Trajectory:
        """Recorded at so many times more, evenly spaced, for pictures, unless it has about as many."""
        if 2 * len(self.times) > count:
            return self
        even = (self.times[-1] * k / count for k in range(count + 1))
        times = sorted({*self.times, *even})
        given = [self.disturbances[bisect_right(self.times, time) - 1] for time in times[:-1]]
        return replace(self, times=tuple(times), disturbances=tuple(given))

    @property
    def trace(self) -> Trace:
        """The states at the recorded times, and the disturbances between them.

        A trajectory that ends before the last of them, where it has left the region, is recorded there, too.
        """
        known = [time for time in self.times if time <= self.until]
        times = (*known, self.until) if known[-1] < self.until else tuple(known)
        steps = tuple(self._step(*one) for one in enumerate(times))
        return Trace(steps, system=loop_of(self.flow) or self.flow, times=times)

    def _step(self, index: int, time: Fraction) -> TraceStep:
        state = {var.name: _recorded(var, x) for var, x in zip(self.first, self.states(time)[-1], strict=True)}
        if self.walk is not None:
            return self.walk.position(state, time, last=time >= self.until)
        names = self.flow.step.names
        given = self.disturbances[index] if index < len(self.disturbances) and time < self.until else {}
        return TraceStep(state, disturbances={name: trace_number(given[n]) for n, name in names.items() if n in given})


def _recorded(var: Var, x: Fraction | arb) -> TraceNumber:
    """A value for a trace; of a variable that jumps only the number that it is, not a ball around it."""
    whole = x.unique_fmpz() if var.sort != REAL and isinstance(x, arb) else None
    return trace_number(x) if whole is None else Fraction(int(whole))


def again(recorded: Trace, flow: Model, precision: int = PRECISIONS[0], tick: Tick = idle) -> Trajectory:
    """A recorded trajectory, enclosed once more from its first state and its disturbances."""
    assert recorded.times is not None
    if loop_of(flow) is not None:
        plant, begin = plant_of(flow), recorded.steps[0]
        first = {name: _exactly(value) for name, value in begin.state.items()}
        for name, own in plant.memory.items():
            values = components(begin.memory.get(name, ()))
            if len(values) != len(own):
                raise NotAPath(Problem(0, f"the memory has {len(own)} components, not {len(values)}", name))
            first |= {var.name: _exactly(value) for var, value in zip(own, values, strict=True)}
        return trajectory(flow, first, recorded.times, recorded_draws(recorded, plant), precision, tick)
    names = {name: node for node, name in flow.step.names.items()}
    first = {name: _exactly(value) for name, value in recorded.steps[0].state.items()}
    given: list[dict[Expr, Given]] = [
        {names[name]: _exactly(value) for name, value in step.disturbances.items()} for step in recorded.steps
    ]
    for t, (time, known) in enumerate(zip(recorded.times[:-1], given, strict=False)):
        if any(node not in known for node in flow.disturbances):
            raise NotAPath(Problem(t, "the record does not say every disturbance", time=time))
    return trajectory(flow, first, recorded.times, given, precision, tick)


def _exactly(value: TraceValue) -> Fraction:
    if isinstance(value, Fraction):
        return value
    raise NotAPath(
        Problem(0, "a trajectory is enclosed from an exact state, under exact disturbances", time=Fraction(0))
    )


def trajectory_truth(
    recorded: Trace, formula: Formula, flow: Model, tick: Tick = idle, time: Time = Time.SECONDS
) -> bool | None:
    """The truth of a formula on a recorded trajectory, of all its solutions; None where they do not decide it."""
    for precision in precisions(flow):
        truth = again(recorded, flow, precision, tick).truth(formula, time)
        if truth is not None:
            return truth
    return None


def precisions(flow: Model) -> tuple[int, ...]:
    """Bits with which trajectories are enclosed, in turn."""
    return PRECISIONS if loop_of(flow) is None else LOOP_PRECISIONS


def refuted(path: Trajectory, formula: Formula, time: Time = Time.SECONDS) -> Trajectory | None:
    """The trajectory as far as it takes to make the formula false of all solutions; None where it is not."""
    if not path.refutes(formula, time):
        return None
    count = bisect_left(range(len(path.times) - 1), True, key=lambda n: path.part(n).refutes(formula, time))
    return path.part(count)


def closed(formula: Formula, flow: Model) -> Formula:
    """A formula over state variables: lets are filled in."""

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        return Atom(flow.resolve(node.expr)) if isinstance(node, Atom) else rebuild(node, args)

    return fold(formula, rule)


# Three truth values ---------------------------------------------------------------------------------------------------


def _connective(node: Formula, args: Sequence[bool | None]) -> bool | None:
    """A Boolean operator of a normal form over what is known of its operands."""
    match node:
        case Not():
            return None if args[0] is None else not args[0]
        case And():
            return False if False in args else None if None in args else True
        case Or():
            return True if True in args else None if None in args else False
    raise UnsupportedFormula(f"{type(node).__name__} is not an operator of the property language in continuous time")
