"""Lassos through states that no rational number says: a box, and the proof that one path from it closes exactly.

Position 0 and the disturbances of such a lasso are recorded as boxes. Where x -> F^n(x) - F^m(x), position n less the
position m it returns to, has exactly one zero in the box, that zero is a first state whose path comes back to where it
was. The Krawczyk operator shows it: from a point c, an approximate inverse Y of the derivative, and enclosures J of the
derivative over the box X, if K = c - Y f(c) + (I - Y J)(X - c) lies inside X, then X has one zero, and K holds it (R.
Krawczyk, Computing 4, 1969; kinks need slopes only, see `interpret.derivative`). All of X has to be initial, and every
branch, guard and discrete value on the way the same for all of X. Nothing is taken from a record but the boxes, the
decisions and the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat, ctx

from vernal.evidence.trace import Enclosure, Trace, TraceNumber, TraceStep, TraceValue, components
from vernal.evidence.walk import PRECISIONS, NotAPath, Problem, ReplayWalk, Undecided
from vernal.interpret import exact
from vernal.interpret.derivative import ONE, ZERO, Gradients, differentiate
from vernal.interpret.exact import Given
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import Undefined
from vernal.model.expr import Argmax, Between, Component, Expr
from vernal.model.initial import Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

SPARE_BITS = 64  # of the precision, beyond twice what the width of the box takes

LoopUnknown = tuple[
    int, Expr, int
]  # an unknown: a component of a variable at position 0, or of a disturbance at a position


def is_enclosed(recorded: Trace) -> bool:
    """Whether a record is a lasso whose first state or disturbances are boxes."""
    first = recorded.steps[0]
    groups = (first.state, first.memory, *(step.disturbances for step in recorded.steps))
    items = (item for group in groups for value in group.values() for item in components(value))
    return recorded.loop is not None and any(isinstance(item, Enclosure) for item in items)


def enclosed_lasso(system: Model, recorded: Trace, tick: Tick = idle) -> Trace:
    """The lasso that is proven to be in the boxes of a record, position by position; NotAPath where none is."""
    assert recorded.loop is not None
    first = recorded.steps[0]
    memory = {name: components(value) for name, value in first.memory.items()}
    start = system.unpack({name: _one(value) for name, value in first.state.items()}, memory)
    loop = EnclosedLoop(start, tuple(decided(system, step) for step in recorded.steps), recorded.loop)
    return proven_lasso(system, loop, tick)


@dataclass(frozen=True)
class EnclosedLoop:
    """A lasso as it is searched for: the first state, the decisions of each position, and where the last returns.

    Numbers of the first state and disturbances may be boxes, in which they are solved for.
    """

    start: Mapping[Expr, tuple[TraceNumber, ...]]
    decisions: tuple[Mapping[Expr, Any], ...]  # by node: an option, a disturbance or its box, the winner of an argmax
    loop: int

    def boxes(self) -> dict[LoopUnknown, Enclosure]:
        """What is solved for."""
        found: dict[LoopUnknown, Enclosure] = {}
        for t, entries in ((0, self.start), *enumerate(self.decisions)):
            for node, value in entries.items():
                for i, item in enumerate(value if isinstance(value, tuple) else (value,)):
                    if isinstance(item, Enclosure):
                        found[t, node, i] = item
        return found


def proven_lasso(system: Model, loop: EnclosedLoop, tick: Tick = idle) -> Trace:
    """The one lasso in the boxes of a loop; NotAPath where it is not shown that there is exactly one."""
    boxes = loop.boxes()
    if any(box.lower >= box.upper for box in boxes.values()):
        raise NotAPath(Problem(0, "a box has its lower end below its upper end"))
    precision = _precision(list(boxes.values()))
    with ctx.workprec(precision):
        try:
            return LoopProof(LoopWalk(system, loop, precision, tick), boxes).lasso()
        except Undecided as doubt:
            raise NotAPath(Problem(doubt.step, "it is not the same for all of the box", doubt.variable)) from None


def _precision(boxes: Sequence[Enclosure]) -> int:
    """Enough bits for products of numbers as small as the box is narrow; the same for whoever computes it again."""
    widths = [box.upper - box.lower for box in boxes]
    bits = max((width.denominator.bit_length() - width.numerator.bit_length() for width in widths), default=0)
    found = next((precision for precision in PRECISIONS if precision >= SPARE_BITS + 2 * bits), None)
    if found is None:
        raise NotAPath(Problem(0, f"a box narrower than {PRECISIONS[-1]} bits can tell"))
    return found


@dataclass(frozen=True)
class LoopImage:
    """The walk from one set of first states: what is shown, and where the last step leads."""

    steps: list[TraceStep]
    states: list[Mapping[Expr, tuple[Any, ...]]]  # at every position and after the last, by variable
    gradients: list[Mapping[Expr, Gradients]]

    def difference(self, place: Component, loop: int) -> arb:
        """By how much a component has changed from position `loop` to the end."""
        var, i = place
        return arb(_ball(self.states[-1][var][i])) - arb(_ball(self.states[loop][var][i]))

    def slope(self, place: Component, loop: int) -> list[arb]:
        """The derivatives of that by the unknowns."""
        var, i = place
        new, old = self.gradients[-1][var][i], self.gradients[loop][var][i]
        if new is None or old is None:
            raise Undecided(len(self.steps) - 1, f"the derivative of {getattr(var, 'name', '')}")
        return [a - b for a, b in zip(new, old, strict=True)]


class LoopWalk:
    """The positions of a loop from points or boxes, at one precision, with derivatives by what is solved for."""

    def __init__(self, system: Model, loop: EnclosedLoop, precision: int, tick: Tick) -> None:
        self.system, self.loop, self.precision, self.tick = system, loop, precision, tick
        self.replay = ReplayWalk(system, (), precision, tick)

    @property
    def last(self) -> int:
        """The last position, from which the loop returns."""
        return len(self.loop.decisions) - 1

    def image(self, values: Mapping[LoopUnknown, arb], *, differentiated: bool) -> LoopImage:
        """All positions from these values of the unknowns."""
        places = list(values) if differentiated else []
        state = {var: _entered(0, var, items, values) for var, items in self.loop.start.items()}
        image = LoopImage([], [state], [{var: _seeds(0, var, places) for var in state}])
        for t, recorded in enumerate(self.loop.decisions):
            taken = {node: _entered(t, node, value, values) for node, value in recorded.items()}
            draws = [node for node in taken if isinstance(node, Between)]
            drawn: dict[Expr, Gradients] = {node: _seeds(t, node, places) for node in draws}
            self._step(image, taken, {**image.gradients[-1], **drawn}, len(places))
        return image

    def _step(self, image: LoopImage, taken: Mapping[Expr, Any], seeds: Mapping[Expr, Gradients], size: int) -> None:
        """One more position, and the state after it."""
        t = len(image.steps)
        step, state = self.system.step, image.states[-1]
        inputs: dict[Expr, Given] = {var: items if var.shape else items[0] for var, items in state.items()}
        roots, names = self.replay.roots(guard=True, moves=True)
        depending = {node: rows for node, rows in seeds.items() if _depends(rows)}
        try:
            found = differentiate(roots, inputs, taken, depending, size, self.precision, self.tick)
        except LookupError as error:
            raise NotAPath(Problem(t, str(error.args[0]))) from None
        for name, value in zip(names, found.evaluation.values, strict=True):
            _refuse_unknown(value, name, t)
        if found.evaluation.values[len(step.actions)] is not True:
            raise NotAPath(Problem(t, "the path ends here and cannot loop: the system is not enabled"))
        image.steps.append(self.replay.record(inputs, found.evaluation, t))
        count = len(roots) - len(step.inputs)
        image.states.append(dict(zip(step.inputs, map(_tuple, found.evaluation.values[count:]), strict=True)))
        image.gradients.append(dict(zip(step.inputs, found.gradients[count:], strict=True)))

    def equations(self, image: LoopImage) -> list[Component]:
        """The components that are not exactly the same at both ends of the loop, wherever in the box it starts."""
        found: list[Component] = []
        for var, items in image.states[-1].items():
            for i, (new, old) in enumerate(zip(items, image.states[self.loop.loop][var], strict=True)):
                if isinstance(new, arb) or isinstance(old, arb):
                    found.append((var, i))
                elif new != old:
                    why = f"the loop to step {self.loop.loop} does not close exactly"
                    raise NotAPath(Problem(self.last, why, getattr(var, "name", None), old, new))
        return found

    def check_start(self, unknowns: Mapping[LoopUnknown, arb]) -> None:
        """All of the box has to be initial."""
        for var, i, start in self.system.initial.components():
            if not _starts_in(self.loop.start[var][i], var, start):
                what, name = self.replay.origin(var)
                raise NotAPath(Problem(0, f"not an initial {what} ({start})", name))
        entered = {var: _entered(0, var, items, unknowns) for var, items in self.loop.start.items()}
        state: dict[Expr, Given] = {variable.var: entered[variable.var][0] for variable in self.system.state}
        where = exact.evaluate(self.system.init.where, state, {}, self.precision)
        for number, truth in enumerate(where, start=1):
            if truth is not True:
                raise NotAPath(Problem(0, f"not all of the box satisfies constraint {number} of init.where"))


class LoopProof:
    """That boxes hold exactly one lasso."""

    def __init__(self, walk: LoopWalk, boxes: Mapping[LoopUnknown, Enclosure]) -> None:
        self.walk, self.boxes = walk, boxes
        self.unknowns = {place: reals.ball(box.lower, box.upper) for place, box in boxes.items()}

    def lasso(self) -> Trace:
        """The positions of the lasso, as enclosures."""
        walk, loop = self.walk, self.walk.loop.loop
        walk.check_start(self.unknowns)
        image = walk.image(self.unknowns, differentiated=True)
        equations = walk.equations(image)
        if len(equations) != len(self.unknowns):
            counts = f"{len(equations)} numbers have to come back, and {len(self.unknowns)} are free"
            raise NotAPath(Problem(walk.last, f"the loop to step {loop} is not shown to close: {counts}"))
        self._contract(image, equations)
        return Trace(tuple(self._as_given(t, step) for t, step in enumerate(image.steps)), loop, system=walk.system)

    def _as_given(self, t: int, step: TraceStep) -> TraceStep:
        """A position with the boxes as they were given: balls around them are a little larger."""
        names, drawn = self.walk.system.step.names, dict(step.disturbances)
        for (position, node, i), box in self.boxes.items():
            if isinstance(node, Between) and position == t:
                items = components(drawn[names[node]])
                drawn[names[node]] = (*items[:i], box, *items[i + 1 :]) if node.shape else box
        state, memory = (step.state, step.memory) if t else self.walk.system.pack(self.walk.loop.start)
        return replace(step, state=state, memory=memory, disturbances=drawn)

    def _contract(self, image: LoopImage, equations: Sequence[Component]) -> None:
        """The Krawczyk operator takes the box into its inside."""
        walk, loop, box = self.walk, self.walk.loop.loop, list(self.unknowns.values())
        slopes = arb_mat([image.slope(place, loop) for place in equations])
        try:
            inverse = slopes.mid().inv().mid()
        except ZeroDivisionError:
            raise NotAPath(Problem(walk.last, "closing the loop does not determine the first state")) from None
        centre = [ball.mid() for ball in box]
        at_centre = walk.image(dict(zip(self.unknowns, centre, strict=True)), differentiated=False)
        missed = arb_mat([[at_centre.difference(place, loop)] for place in equations])
        apart = arb_mat([[ball - middle] for ball, middle in zip(box, centre, strict=True)])
        unit = arb_mat([[ONE if i == j else ZERO for j in range(len(box))] for i in range(len(box))])
        moved = (unit - inverse * slopes) * apart - inverse * missed
        for given, middle, (change,) in zip(self.boxes.values(), centre, moved.tolist(), strict=True):
            low, high = reals.ends(middle + change) if change.is_finite() else (given.lower, given.upper)
            if not given.lower < low <= high < given.upper:
                why = f"the box is not shown to have exactly one state that comes back to step {loop}"
                raise NotAPath(Problem(walk.last, why))


def decided(system: Model, step: TraceStep) -> dict[Expr, Any]:
    """What was decided at a recorded position, by node: options, disturbances or their boxes, winners of argmax."""
    made: dict[Expr, Any] = {}
    for node, name in system.step.names.items():
        if isinstance(node, Between) and name in step.disturbances:
            made[node] = step.disturbances[name]
        elif not isinstance(node, Between) and name in step.choices:
            made[node] = Fraction(step.choices[name].index)
    winners = {node: name for name, node in system.step.actions.items() if isinstance(node, Argmax)}
    return made | {node: _one(step.actions[name]) for node, name in winners.items()}


def _one(value: TraceValue) -> TraceNumber:
    (item,) = components(value)
    return item


def _starts_in(value: TraceNumber, var: Expr, start: Start) -> bool:
    """Whether a number, or all of a box, is an initial value of a component of a variable."""
    if isinstance(value, Enclosure):
        fits = isinstance(start, Span) and var.sort == REAL
        return fits and start.contains(value.lower) and start.contains(value.upper)
    return var.sort.has(value) and start.contains(value)


def _entered(t: int, node: Expr, value: Any, values: Mapping[LoopUnknown, arb]) -> Any:
    """A value with those of the unknowns filled in."""
    if isinstance(value, tuple):
        return tuple(values.get((t, node, i), item) for i, item in enumerate(value))
    return values.get((t, node, 0), value)


def _seeds(t: int, node: Expr, places: Sequence[LoopUnknown]) -> Gradients:
    """The derivatives of the components of an input by the unknowns: of an unknown by itself 1, else 0."""
    return [[ONE if place == (t, node, i) else ZERO for place in places] for i in range(node.size)]


def _depends(rows: Gradients) -> bool:
    return any(row is None or not all(item.is_zero() for item in row) for row in rows)


def _refuse_unknown(value: Any, name: str, t: int) -> None:
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, Undefined):
            raise NotAPath(Problem(t, f"the value is undefined: {item.why}", name))
        if item is None:
            raise Undecided(t, name)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _ball(value: Any) -> arb:
    return value if isinstance(value, arb) else arb(reals.rational(Fraction(value)))
