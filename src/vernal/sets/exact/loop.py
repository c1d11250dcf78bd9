"""The closed loop over exact pieces: initial sets, single steps, and the way back to a concrete path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import fmpq

from vernal.evidence.knowledge import Candidate
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, fraction
from vernal.interpret.geometry.polyhedra import Point, from_box
from vernal.interpret.symbolic.cases import SymbolicScalar, SymbolicValue, constant
from vernal.interpret.symbolic.execute import DecisionValue, Piece, execute
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Component, Expr, Var
from vernal.model.graph import decisions, order, variables
from vernal.model.initial import Ends, Start, Valuation
from vernal.model.lazy import cached_property
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.model.traits import may_be_undefined


@dataclass(frozen=True)
class Loop:
    """A system as far as some atoms see it: variables that none of them depends on are not followed."""

    system: Model
    atoms: tuple[Expr, ...]  # resolved: over state, memory and draws
    tick: Tick
    drawing: dict[Expr, bool] = field(default_factory=dict)  # conditions that take a draw or a winner to decide

    @cached_property
    def followed(self) -> tuple[Var, ...]:
        """The variables the atoms and the guard depend on, and those whose next value might not be defined."""
        step = self.system.step
        following = dict(zip(step.inputs, (*step.next_state, *step.next_memory), strict=True))
        needed = set(variables([*self.atoms, step.enabled]))
        needed |= {var for var, after in following.items() if any(map(may_be_undefined, order([after])))}
        while True:
            more = needed | set(variables([following[var] for var in step.inputs if var in needed]))
            if more == needed:
                return tuple(var for var in step.inputs if var in needed)
            needed = more

    @cached_property
    def following(self) -> dict[Var, Expr]:
        step = self.system.step
        after = dict(zip(step.inputs, (*step.next_state, *step.next_memory), strict=True))
        return {var: after[var] for var in self.followed}

    @property
    def is_total(self) -> bool:
        """Whether no path ends."""
        return self.system.step.enabled is build.TRUE

    @cached_property
    def uncertain(self) -> tuple[Expr, ...]:
        """Actions that the state does not determine and that atoms or the guard ask about; then those conditions."""
        asked = [condition for condition in (*self.atoms, self.system.step.enabled) if self._draws(condition)]
        inside = set(order(asked))
        actions = [action for action in self.system.step.actions.values() if action in inside and decisions([action])]
        return (*actions, *asked)

    @cached_property
    def is_guarded(self) -> bool:
        """Whether it is the guard alone that asks about actions which the state leaves open."""
        return self._draws(self.system.step.enabled) and not any(map(self._draws, self.atoms))

    def starts(self) -> Iterator[Piece]:
        """The initial set in pieces: one for each combination of values, cut by the constraints."""
        for part in self.system.initial.alternatives():
            self.tick()
            wide: dict[Component, Ends] = {
                (x, i): start.ends for x, i, start in part.components() if not start.is_point
            }
            known = {var: tuple(_initial(var, i, s) for i, s in enumerate(entry)) for var, entry in part.starts.items()}
            yield from self._constrained(Piece(from_box(wide, self.tick), known))

    def _constrained(self, piece: Piece) -> Iterator[Piece]:
        for part, truth in self.truths(piece, build.conj(*self.system.init.where), 0):
            if truth:
                yield Piece(part.polyhedron, piece.known)

    def truths(self, piece: Piece, condition: Expr, t: int) -> list[tuple[Piece, bool]]:
        """The piece divided by the truth of a condition; undivided where that is the same everywhere.

        This may divide it (`abs(x) <= 1` is true in both phases); where no draw was taken, the division is dropped.
        """
        parts = [(part, part.truth(condition)) for part in execute(piece, [condition], t, self.tick)]
        same = len({truth for _, truth in parts}) == 1 and not self._draws(condition)
        return [(piece, parts[0][1])] if same else parts

    def _draws(self, condition: Expr) -> bool:
        if condition not in self.drawing:
            self.drawing[condition] = bool(decisions([condition]))
        return self.drawing[condition]

    def moves(self, piece: Piece, t: int) -> Iterator[Piece]:
        """The outcomes of a step, with the next values known but still at position t."""
        for part, enabled in self.truths(piece, self.system.step.enabled, t):
            if enabled:
                yield from execute(part, list(self.following.values()), t, self.tick)

    def arrive(self, moved: Piece) -> Piece:
        """The next position of an outcome."""
        known = {var: moved.known[after] for var, after in self.following.items()}
        return Piece(moved.polyhedron, {var: _of_sort(var, values) for var, values in known.items()})

    def key(self, piece: Piece) -> tuple[object, ...]:
        """Equal for pieces with the same states, whatever else their inputs were good for."""
        values = [value for var in self.followed for value in piece.known[var]]
        forms = [value for value in values if isinstance(value, AffineForm)]
        inputs = {name for form in forms for name in form.coefficients}
        return tuple(_key(value) for value in values), piece.polyhedron.key(inputs)


def _initial(var: Expr, component: int, start: Start) -> SymbolicScalar:
    return constant(start.first, var) if start.is_point else AffineForm(ZERO, {(var, component): ONE})


def _of_sort(var: Var, values: SymbolicValue) -> SymbolicValue:
    """Numbers as forms, whichever operator made them."""
    if not var.sort.is_number:
        return values
    return tuple(value if isinstance(value, AffineForm) else AffineForm(fmpq(value)) for value in values)  # type: ignore[arg-type]


def _key(value: SymbolicScalar) -> object:
    return value.key if isinstance(value, AffineForm) else value


# Back to the concrete system ------------------------------------------------------------------------------------------


def candidate(system: Model, start: Piece, taken: Sequence[Mapping[Expr, DecisionValue]], point: Point) -> Candidate:
    """The path from a point of an initial piece under these decisions; where nothing was decided, the first option."""
    values: Valuation = {var: tuple(_at(x, point) for x in start.known[var]) for var in system.step.inputs}
    idle: dict[Expr, Any] = {node: 0 for node in system.step.names if not isinstance(node, e.Argmax)}
    made = [{**idle, **{node: _decided(node, what, point) for node, what in one.items()}} for one in taken]
    return Candidate(*system.pack(values), made, len(taken) - 1)


def _at(value: SymbolicScalar, point: Point) -> Fraction:
    if isinstance(value, AffineForm):
        return fraction(value.at(point))
    assert value is not None
    return Fraction(value) if isinstance(value, bool) else fraction(value)


def _decided(node: Expr, what: DecisionValue, point: Point) -> int | Fraction | tuple[Fraction, ...]:
    if isinstance(what, int):
        return what
    values = tuple(fraction(form.at(point)) for form in what)
    return values if node.shape else values[0]
