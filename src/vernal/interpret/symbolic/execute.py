"""Symbolic execution: the values of a graph as exact affine forms on polyhedra, following every decision that is open.

A piece is a polyhedron of inputs together with what is known on it. Evaluating a node on a piece either has one answer
there or forks it: a ReLU into its phases, a comparison into true and false, `floor` into integers, an argmax into the
indices that can win, a `choose` into its options. Only what a taken branch needs is evaluated, and forks that no input
can take are dropped, exactly. So the pieces that come out cover the piece that went in, and on each of them the roots
are affine, truth values and labels constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flint import fmpq

from vernal.errors import VernalError
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, above, arithmetic, at_least
from vernal.interpret.geometry.polyhedra import Polyhedron
from vernal.interpret.symbolic.affine import at, rearranged
from vernal.interpret.symbolic.cases import (
    Alternative,
    Split,
    SymbolicScalar,
    SymbolicValue,
    as_form,
    branches,
    split,
    winners,
)
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.tick import Tick, idle

DecisionValue = (
    int | tuple[AffineForm, ...]
)  # an option or a winner by its index, or a disturbance as a form for each component


class NotPiecewiseLinear(VernalError):
    """A node whose value is no affine form on any piece, or not defined, met where it matters."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A set of inputs on which everything known is affine or constant, and the decisions that led here."""

    polyhedron: Polyhedron
    known: Mapping[Expr, SymbolicValue]
    taken: Mapping[Expr, DecisionValue] = field(default_factory=dict)

    def truth(self, node: Expr) -> bool:
        (value,) = self.known[node]
        assert isinstance(value, bool)
        return value

    def scalar(self, node: Expr) -> SymbolicScalar:
        (value,) = self.known[node]
        return value


def execute(piece: Piece, roots: Sequence[Expr], step: int = 0, tick: Tick = idle) -> Iterator[Piece]:
    """The pieces on which all roots are known; they cover the given one, and overlap only at ties and in choices.

    Disturbances drawn on the way become inputs of their own, named by their node at this step.
    """
    if all(root in piece.known for root in roots):
        yield piece
        return
    waiting = [_Task(piece.polyhedron, dict(piece.known), dict(piece.taken), list(reversed(roots)), step)]
    while waiting:
        task = waiting.pop()
        forks = task.advance(tick)
        if forks:
            waiting.extend(reversed(forks))
        else:
            yield Piece(task.polyhedron, task.known, task.taken)


@dataclass(slots=True, eq=False)
class _Task:
    """An evaluation in progress: known values, pending nodes, and the finished components of the node on top."""

    polyhedron: Polyhedron
    known: dict[Expr, SymbolicValue]
    taken: dict[Expr, DecisionValue]
    stack: list[Expr]
    step: int
    positions: dict[Expr, int] = field(default_factory=dict)  # which argument a branch takes
    partial: list[SymbolicScalar] = field(default_factory=list)

    def advance(self, tick: Tick) -> list[_Task]:
        """Evaluate up to the next open decision; nothing is left to do where no forks come back."""
        while self.stack:
            tick()
            node = self.stack[-1]
            if node in self.known:
                self.stack.pop()
                continue
            missing = self._missing(node)
            if missing is None:  # it first has to be decided what is needed
                forks = self._choose_argument(node)
            elif missing:
                self.stack.extend(reversed(missing))
                continue
            else:
                forks = self._compute(node)
            if forks:
                return forks
        return []

    # What is needed ---------------------------------------------------------------------------------------------------

    def _missing(self, node: Expr) -> list[Expr] | None:
        """The arguments to evaluate first, as few as possible; None where that is itself a decision."""
        match node:
            case e.Choose():  # first, which of its options exist
                unknown = [guard for guard in node.guards if guard not in self.known]
                return unknown[:1] or self._missing_argument(node)
            case e.If() | e.Switch():
                if node.args[0] not in self.known:
                    return [node.args[0]]
                return self._missing_branches(node) if node.args[0].shape else self._missing_argument(node)
            case e.And() | e.Or() if not node.shape:
                dominant = (isinstance(node, e.Or),)
                if any(self.known.get(arg) == dominant for arg in node.args):
                    return []
                return [arg for arg in node.args if arg not in self.known][:1]
        return [arg for arg in node.args if arg not in self.known]

    def _missing_argument(self, node: Expr) -> list[Expr] | None:
        if node not in self.positions:
            return None
        argument = self._argument(node)
        return [] if argument in self.known else [argument]

    def _missing_branches(self, node: Expr) -> list[Expr]:
        """Of an `if` over a vector: the branches that some component takes."""
        conditions = self.known[node.args[0]]
        wanted = [node.args[1]] * (True in conditions) + [node.args[2]] * (False in conditions)
        return [branch for branch in wanted if branch not in self.known]

    def _choose_argument(self, node: Expr) -> list[_Task]:
        """Fork into the arguments an `if`, `match` or `choose` may take."""
        if isinstance(node, e.Choose):
            alternatives = [(self.polyhedron, i) for i in self._existing(node)]
        else:
            assert isinstance(node, e.If | e.Switch)
            subject = self.known[node.args[0]][0]
            alternatives = [(p, int(_index(value))) for p, value in self._alternatives(branches(node, subject))]
        tasks = [self] if len(alternatives) == 1 else [self._copy() for _ in alternatives]
        for task, (polyhedron, position) in zip(tasks, alternatives, strict=True):
            task.polyhedron = polyhedron
            task.positions[node] = position
            if isinstance(node, e.Choose):
                task.taken[node] = position
        return [] if tasks == [self] else tasks

    def _argument(self, node: Expr) -> Expr:
        """The one that was decided on."""
        return node.args[self.positions[node]]

    def _existing(self, node: e.Choose) -> list[int]:
        """The options to follow, equal ones once; where none exists there is no step, and any will do."""
        absent = {i for i, guard in enumerate(node.guards) if self.known[guard] == (False,)}
        existing = [i for i in range(len(node.options)) if i not in absent]
        first = {node.options[i]: i for i in reversed(existing or [0])}
        return sorted(first.values())

    # Values -----------------------------------------------------------------------------------------------------------

    def _compute(self, node: Expr) -> list[_Task]:
        """The value of a node whose needs are met; or forks, where a component is decided in several ways."""
        whole = self._whole(node)
        if whole is not None:
            self._finish(node, whole)
            return []
        while len(self.partial) < node.size:
            alternatives = self._component(node, len(self.partial))
            if len(alternatives) > 1:
                return [self._fork(node, *alternative) for alternative in alternatives]
            self._append(node, *alternatives[0])
        self._finish(node, tuple(self.partial))
        return []

    def _finish(self, node: Expr, values: SymbolicValue) -> None:
        self.known[node] = values
        self.partial = []

    def _append(self, node: Expr, polyhedron: Polyhedron, value: SymbolicScalar) -> None:
        self.polyhedron = polyhedron
        if isinstance(node, e.Argmax):
            self.taken[node] = int(_index(value))
            value = AffineForm(_index(value)) if node.sort.is_number else value
        self.partial.append(value)

    def _fork(self, node: Expr, polyhedron: Polyhedron, value: SymbolicScalar) -> _Task:
        task = self._copy()
        task._append(node, polyhedron, value)
        return task

    def _copy(self) -> _Task:
        return _Task(
            self.polyhedron,
            dict(self.known),
            dict(self.taken),
            list(self.stack),
            self.step,
            dict(self.positions),
            list(self.partial),
        )

    def _whole(self, node: Expr) -> SymbolicValue | None:
        """The value of a node that decides nothing any more."""
        match node:
            case e.Choose():
                return self._spread(node, self.known[self._argument(node)])
            case e.If() | e.Switch() if not node.args[0].shape:
                return self._spread(node, self.known[self._argument(node)])
            case e.If():
                chosen = [self.known[node.args[1 if c else 2]] for c in self.known[node.args[0]]]
                return tuple(at(values, i) for i, values in enumerate(chosen))
            case e.Between():
                return self._draw(node)
            case e.And() | e.Or() if not node.shape:
                dominant = isinstance(node, e.Or)
                return (dominant if any(self.known.get(arg) == (dominant,) for arg in node.args) else not dominant,)
            case e.Var():
                raise LookupError(f"no value is given for {node!r}")
        return rearranged(node, [self.known[arg] for arg in node.args], self.polyhedron.tick)

    def _spread(self, node: Expr, values: SymbolicValue) -> SymbolicValue:
        return tuple(at(values, i) for i in range(node.size))

    def _draw(self, node: e.Between) -> SymbolicValue:
        """A new input for each component, between the forms of its ends."""
        lows, highs = (self.known[arg] for arg in node.args)
        drawn = []
        for i in range(node.size):
            low, high = as_form(at(lows, i)), as_form(at(highs, i))
            if self.polyhedron.meet([above(low - high)]) is not None:
                raise NotPiecewiseLinear(f"the interval of {node.occurrence.name} may be inverted")
            if low == high:
                drawn.append(low)
                continue
            name: Component = (replace(node, occurrence=replace(node.occurrence, step=self.step)), i)
            self.polyhedron = self.polyhedron.extend(name, low, high)
            drawn.append(AffineForm(ZERO, {name: ONE}))
        self.taken[node] = tuple(drawn)
        return tuple(drawn)

    def _component(self, node: Expr, index: int) -> list[tuple[Polyhedron, SymbolicScalar]]:
        """Where one component of a node may be what."""
        args = [self.known[arg] for arg in node.args]
        if isinstance(node, e.Argmax):
            return self._alternatives(winners([as_form(score) for score in args[0]]))
        here = [at(arg, index) for arg in args]
        match node:
            case e.And():
                return [(self.polyhedron, False not in here)]
            case e.Or():
                return [(self.polyhedron, True in here)]
            case e.Not():
                return [(self.polyhedron, not here[0])]
        cases = split(node, here, index, self.polyhedron.measure)
        if cases is not None:
            return self._alternatives(cases)
        form = arithmetic(node, [as_form(arg) for arg in here])
        if form is None:
            raise NotPiecewiseLinear(_why(node))
        return [(self.polyhedron, form)]

    def _alternatives(self, cases: Split) -> list[tuple[Polyhedron, SymbolicScalar]]:
        """The cases some input can take, each with the inputs that do."""
        possible = cases.possible(self.polyhedron.measure)
        if len(possible) == 1:
            return [(self.polyhedron, possible[0].value)]
        if cases.continuous and [len(case.rows) for case in possible] == [1, 1]:
            return self._sides(possible[0], possible[1])
        met = [(self.polyhedron.meet(case.rows), case.value) for case in possible]
        alive = [(polyhedron, value) for polyhedron, value in met if polyhedron is not None]
        if not alive:
            raise NotPiecewiseLinear("no case of a match covers the value it is given")
        return [(self.polyhedron, alive[0][1])] if len(alive) == 1 else alive

    def _sides(self, one: Alternative, other: Alternative) -> list[tuple[Polyhedron, SymbolicScalar]]:
        """The sides of a kink, where both values agree on it: a side that is touched only there is not followed."""
        whole = self.polyhedron
        first, second = (whole.meet([above(case.rows[0].form)]) for case in (one, other))
        if first is None or second is None:
            return [(whole, one.value if second is None else other.value)]
        closed = replace(whole, point=second.point).meet([at_least(other.rows[0].form)])
        assert closed is not None
        return [(first, one.value), (closed, other.value)]


def _index(value: SymbolicScalar) -> fmpq:
    assert isinstance(value, fmpq)
    return value


def _why(node: Expr) -> str:
    match node:
        case e.Mul():
            return "a product of two values that both vary"
        case e.Div():
            return "a division by a value that varies or is 0"
        case e.Pow(exponent=p):
            return f"a power ^{p} of a value that varies, or is not rational"
        case e.Nonlinear(function=function):
            return f"the function {function.value}"
        case e.Atan2():
            return "the function atan2"
        case e.Pi():
            return "the number pi"
        case e.Floor():
            return "a floor with too many values"
    return type(node).__name__
