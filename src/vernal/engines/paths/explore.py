"""Exploration of all paths by batches of pieces: the fast front of engine `paths`.

Position by position, pieces are divided by what their discrete decisions can come out as: the atoms of the residual
formula first, then the guard, the agents' choices, the branches and the draws of the step. In between everything is
affine. Equal pieces are merged, so that work grows with distinct states and not with paths. All of it contains the
real executions (OVER): when every piece has come to a residual that is true, the claim holds of all paths. A piece
whose residual is false is a candidate, replayed exactly; what cannot be confirmed is left to exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from vernal.engines.halving import Halving, bent_node
from vernal.engines.paths.batches import Floats, Indices, Pieces, bounded, join, merge
from vernal.engines.paths.decide import FEW, MAX_PARTS, Layout, Mask, decide, highest, least, lowest, outcomes
from vernal.engines.paths.moves import affine_step, bounded_step
from vernal.engines.paths.record import SILENT, Recorder
from vernal.engines.paths.rounds import Round
from vernal.engines.paths.samples import Conditions, likely
from vernal.engines.paths.trails import Taken, Trails
from vernal.errors import Stopped, VernalError
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.logic.claim import position_claim
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.progress import FALSE, TRUE, Obligation, Obligations
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Argmax, Between, Choose, Const, Expr
from vernal.model.fold import next_decision, specialiser
from vernal.model.graph import draws
from vernal.model.sorts import INT, REAL
from vernal.reduce.initial import Box, Ends
from vernal.run.budget import Budget

MANY = 512  # pieces of a nonlinear loop that are not worth gathering: hulls of their memories decide nothing
SCATTERED = 256  # pieces of one box: from here on it is better cut, twice as many in every round
MAX_OPEN = 200  # sets left to exact arithmetic
MAX_SAMPLED = 256  # suspicious pieces of a batch that are looked at by points
MAX_TRIES = 3  # exact replays in one piece
MAX_PIECES = 2_000_000  # of one level; beyond, memory is the limit
OVERFLOWING = np.errstate(all="ignore")  # what overflows is no bound (batches, regions), and no reason to warn

State = tuple[Fraction | None, ...]  # the value of each state variable that is a constant of the piece; None for others


@dataclass(frozen=True)
class Key:
    """What the pieces of a batch have in common."""

    discrete: State
    residual: Obligation
    parameters: int


@dataclass
class Outcome:
    """How an exploration ended: all paths keep the formula unless a trace says otherwise or boxes are left open."""

    trace: Trace | None = None
    open: list[Box] = field(default_factory=list)
    statistics: dict[str, int | float | str] = field(default_factory=dict)
    passed: int = -1  # the last position up to which no path is in doubt
    margin: float = np.inf  # a lower bound of the claim's margin, minus infinity where it is none of one position


class Explorer:
    """One exploration from a set of initial boxes."""

    def __init__(
        self, question: Question, path: Formula, boxes: Sequence[Box], budget: Budget, record: Recorder = SILENT
    ) -> None:
        """`path` is the LTL formula that every path has to keep for the question's answer to be yes."""
        self.question, self.boxes, self.budget, self.record = question, boxes, budget, record
        self.system = question.system
        self.step = self.system.step
        self.atoms = atoms(path)
        self.obligations = Obligations()
        self.start = self.obligations.of(path, total=self.step.enabled is build.TRUE)
        self.outcome = Outcome()
        self.claim = position_claim(path)
        self.specialise = self.step.once(specialiser)
        self.bent = bent_node([*self.step.next_state, *self.step.next_memory])
        self.draws = any(isinstance(node, Between) for node in self.step.names)
        self.most = SCATTERED
        self.walks: int | None = None  # how many suspicions may still be replayed in this round
        self._begin(boxes, MAX_PARTS)

    @OVERFLOWING
    def _begin(self, boxes: Sequence[Box], parts: int) -> None:
        """Start, or start again, from these boxes; a piece may be cut into so many parts for a decision."""
        self.parts = parts
        self.trails = Trails(self.question, boxes)
        self.round = Round(self.trails, len(boxes))
        self.frontier: dict[Key, list[Pieces]] = {}
        self.after: dict[Key, list[Pieces]] = {}
        self.widths = np.zeros(0)
        self.left: set[tuple[tuple[Ends, ...], ...]] = set()
        self.outcome.open = []
        for index, box in enumerate(boxes):
            self._enter(index, box)

    # The initial set

    def _enter(self, index: int, box: Box) -> None:
        discrete = tuple(self._constant(box, node) for node in self.step.inputs)
        nodes = [node for node, value in zip(self.step.inputs, discrete, strict=True) if value is None]
        ends = [pair for node in nodes for pair in box.ends[node]]
        wide = [at for at, (low, high) in enumerate(ends) if high > low]
        lower = np.array([float_below(ends[at][0]) for at in wide]).reshape(1, len(wide))
        upper = np.array([float_above(ends[at][1]) for at in wide]).reshape(1, len(wide))
        A = np.zeros((1, len(ends), len(wide)))
        A[0, wide, np.arange(len(wide))] = 1.0
        points = [(float_below(low), float_above(low)) if low == high else (0.0, 0.0) for low, high in ends]
        c = np.array([low for low, _ in points]).reshape(1, len(ends))
        error = np.array([high - low for low, high in points]).reshape(1, len(ends))
        places = [(node, component) for node in nodes for component in range(node.size)]
        trail = np.array([self.trails.root(index, [places[at] for at in wide])])
        if len(wide) > len(self.widths):
            self.widths = np.pad(self.widths, (0, len(wide) - len(self.widths)))
        self.widths[: len(wide)] = np.maximum(self.widths[: len(wide)], (upper - lower)[0])
        pieces = bounded(lower, upper, A, c, error, trail)
        self.frontier.setdefault(Key(discrete, self.start, len(wide)), []).append(pieces)

    def _constant(self, box: Box, node: Expr) -> Fraction | None:
        """The value of a variable that is discrete in a piece: labels, truth values, and integers that are known."""
        if node.sort == REAL or node.shape:
            return None
        low, high = box.ends[node][0]
        if low != high:
            raise NotExplorable(f"{node} starts with several discrete values in one box")
        return low

    # Levels

    def run(self, horizon: int) -> Outcome:
        """Explore up to the horizon, or to the first confirmed violation.

        Of several dimensions the surfaces between decisions are long: there it is cheaper to let pieces go all ways
        uncut, and to look again, at halves, only from where that leaves something open.
        """
        coarse = Halving(self.boxes, bent=self.bent is not None)
        if coarse.useful and self.record is SILENT:
            boxes = self.boxes
            for number in range(1, coarse.rounds + 1):
                self.walks = coarse.walks
                self._begin(boxes, 0)
                self.most = SCATTERED << number
                self._levels(horizon)
                if self.outcome.trace is not None or not self.outcome.open:
                    return self.outcome
                few = FEW if self.bent is not None else 1
                boxes = coarse.parts(self.outcome.open, self.round.weights(), few)
                self._count("refined", len(boxes))
                if coarse.is_vain(number, len(boxes)):
                    boxes = self.boxes  # most likely all of it is open at margin zero
                if boxes is self.boxes or coarse.is_much(boxes):
                    break
            if self.bent is not None and not self.draws:
                return self.outcome  # cutting where decisions are taken makes no bound sharper
            self.walks = None
            self._begin(boxes, MAX_PARTS)
        return self._levels(horizon)

    @OVERFLOWING
    def _levels(self, horizon: int) -> Outcome:
        for t in range(horizon + 1):
            self.after = {}
            total = 0
            for key, batches in list(self.frontier.items()):
                self.budget.check()
                pieces = self._pursued(self._merged(batches))
                if not len(pieces):  # all are of boxes that are looked at again
                    continue
                total += len(pieces)
                self.record.position(t, key.discrete, pieces)
                self.budget.progress(f"paths: step {t} of {horizon}, {total:,} pieces", t / (horizon + 1))
                self._measure(key, pieces, t)
                self._position(key, pieces)
                if self.outcome.trace is not None:
                    return self.outcome
            self._count("pieces", total)
            self.frontier = self.after
            if not self.outcome.open:  # boxes that an earlier round has closed are closed for good
                self.outcome.passed = max(self.outcome.passed, t)
        self.outcome.margin = min(self.outcome.margin, self.round.margin())
        return self.outcome

    def _merged(self, batches: Sequence[Pieces]) -> Pieces:
        pieces, pairs = merge(join(batches), unite=self.bent is None)
        if pairs is not None:
            self.trails.merged(pairs)
            self.round.merged(pairs)
            self.record.merged(pairs)
        if len(pieces) > MAX_PIECES:
            raise Stopped(f"more than {MAX_PIECES:,} distinct sets at one step")
        return pieces

    def _pursued(self, pieces: Pieces) -> Pieces:
        """Without the pieces of boxes that are looked at again anyway: no bound gets sharper on the way."""
        if self.parts or self.bent is None:
            return pieces
        pieces = self.round.pursued(pieces, self.most)
        self.outcome.open = self.round.open_boxes()
        return pieces

    def _count(self, name: str, number: int) -> None:
        self.outcome.statistics[name] = int(self.outcome.statistics.get(name, 0)) + number

    def _measure(self, key: Key, pieces: Pieces, t: int) -> None:
        """By how much the claim is kept here, at least."""
        if self.claim is None:
            self.outcome.margin = -np.inf
            return
        if not self.claim.covers(t):
            return
        (value,) = self.specialise([self.step.resolve(self.claim.margin)], self._discrete(key.discrete))
        layout = self._layout(key.discrete)
        if self.bent is not None or (len(self.trails.boxes) > 1 and len(pieces) <= MANY):
            self.round.keeps(pieces, lowest(value, layout, pieces))
        else:
            known = float(self.round.margins.min())
            self.round.margins[:] = least(value, layout, pieces, known, self.budget.check)

    # One position

    def _position(self, key: Key, pieces: Pieces) -> None:
        """Decide the atoms that matter, then take the step."""
        roots = [*(self.step.resolve(atom) for atom in self.atoms), self.step.enabled]
        roots += [*self.step.next_state, *self.step.next_memory]
        here = self.specialise(roots, self._discrete(key.discrete))
        layout = self._layout(key.discrete)
        stack: list[Branch] = [Branch(here, key.residual, pieces, (), key.discrete)]
        while stack and self.outcome.trace is None:
            self.budget.check()
            branch = stack.pop()
            if len(branch.pieces):
                stack += self._advance(layout, branch)

    def _advance(self, layout: Layout, branch: Branch) -> list[Branch]:
        """One decision further: the atoms', then whether there is a step, then the step's."""
        if branch.residual == TRUE:
            self.record.closed(branch.pieces, True)
            return []
        if branch.residual == FALSE:
            self._suspect(layout, branch)
            return []
        atom = self.obligations.atom_now(branch.residual)
        if atom is not None:
            return self._decide_atom(atom, layout, branch)
        enabled, *following = branch.here[len(self.atoms) :]
        decision = next_decision([enabled])
        if decision is not None:
            return self._branch(decision, layout, branch)
        if not _truth(enabled):
            if not self.obligations.end(branch.residual):
                self._suspect(layout, branch)
            else:
                self.record.closed(branch.pieces, True)
            return []
        decision = next_decision(following)
        if decision is not None:
            return self._branch(decision, layout, branch)
        self._arrive(layout, branch, following)
        return []

    def _decide_atom(self, atom: Expr, layout: Layout, branch: Branch) -> list[Branch]:
        value = branch.here[self.atoms.index(atom)]
        decision = next_decision([value])
        if decision is None:
            return [self._assumed(branch, atom, _truth(value))]
        ends = all(self.obligations.assume(branch.residual, atom, truth) in (TRUE, FALSE) for truth in (True, False))
        if decision is value or not ends or draws([value]):
            return self._branch(decision, layout, branch)
        # Nothing after the atom matters: only its truth has to be known, not how each part of it comes about.
        return [
            self._assumed(replace(branch, pieces=pieces, asked=(*branch.asked, (value, index))), atom, bool(index))
            for index, pieces in self._decided(value, layout, branch.pieces)
        ]

    def _assumed(self, branch: Branch, atom: Expr, truth: bool) -> Branch:
        return replace(branch, residual=self.obligations.assume(branch.residual, atom, truth))

    def _branch(self, decision: Expr, layout: Layout, branch: Branch) -> list[Branch]:
        if isinstance(decision, Choose):
            name = self.trails.name(decision)
            chosen = {i: self.specialise(branch.here, {decision: option}) for i, option in existing(decision)}
            return [replace(branch, here=here, taken=(*branch.taken, (name, i))) for i, here in chosen.items()]
        branches = []
        options = outcomes(decision)
        for index, pieces in self._decided(decision, layout, branch.pieces):
            note = ((self.trails.name(decision), index),) if isinstance(decision, Argmax) else ()
            here = self.specialise(branch.here, {decision: options[index]})
            asked = (*branch.asked, (decision, index))
            branches.append(replace(branch, here=here, pieces=pieces, taken=(*branch.taken, *note), asked=asked))
        return branches

    def _decided(self, decision: Expr, layout: Layout, pieces: Pieces) -> Sequence[tuple[int, Pieces]]:
        """Which pieces can come out how, cut where they can come out in several ways."""
        self._count("decided", len(pieces))
        few = MANY if self.bent is not None else FEW
        found = decide(decision, layout, pieces, self.widths, self.parts, self.budget.check, few)
        if not self.parts:
            self.round.weigh(decision, layout, found, len(pieces))
        return found

    def _discrete(self, state: State) -> dict[Expr, Expr]:
        pairs = zip(self.step.inputs, state, strict=True)
        return {node: Const((), node.sort, (), (value,)) for node, value in pairs if value is not None}

    def _layout(self, state: State) -> Layout:
        return Layout(tuple(n for n, value in zip(self.step.inputs, state, strict=True) if value is None))

    def _suspect(self, layout: Layout, branch: Branch) -> None:
        """Pieces on which the formula seems false: an exact path shows it, or exact arithmetic has to look."""
        pieces = branch.pieces
        self.record.closed(pieces, False)
        rows = self._worst_first(branch)
        for row, points in likely(branch.asked, layout, pieces, rows[:MAX_SAMPLED]):
            self.budget.check()
            self.outcome.trace = self._walked(branch, row, points)
            if self.outcome.trace is not None:
                return
        self._leave_open(pieces.rows(rows))

    def _walked(self, branch: Branch, row: int, points: Floats) -> Trace | None:
        """An exact path through one of the points of a piece on which the formula is false."""
        for point in points[:MAX_TRIES]:
            if self.walks is not None and self.walks <= 0:
                return None
            self.walks = None if self.walks is None else self.walks - 1
            self._count("replayed", 1)
            trace = self.trails.violation(int(branch.pieces.trail[row]), point, branch.taken)
            if trace is not None:
                return trace
        return None

    def _leave_open(self, pieces: Pieces) -> None:
        if not self.parts:
            self.round.leave_open(pieces.trail)
            self.outcome.open = self.round.open_boxes()
            return
        for trail, lower, upper in zip(pieces.trail.tolist(), pieces.lower, pieces.upper, strict=True):
            for box in self.trails.box_of(trail, lower, upper):
                ends = tuple(box.ends.values())
                if ends not in self.left:
                    self.left.add(ends)
                    self.outcome.open.append(box)
            if len(self.outcome.open) > MAX_OPEN:
                raise NotExplorable("too many sets are left open at margin zero")

    def _worst_first(self, branch: Branch) -> Indices:
        """The rows of suspects, those first on which the claim fails by most."""
        if self.claim is None or len(branch.pieces) == 1:
            return np.arange(len(branch.pieces))
        (value,) = self.specialise([self.step.resolve(self.claim.margin)], self._discrete(branch.discrete))
        return np.argsort(highest(value, self._layout(branch.discrete), branch.pieces), kind="stable")

    # The next position

    def _arrive(self, layout: Layout, branch: Branch, following: Sequence[Expr]) -> None:
        """Every decision is taken: the next state is affine, or bounded by forms, and its discrete part is constant."""
        rows = branch.pieces
        discrete, numbers = self._next_values(following)
        moved = None if bent_node(numbers) is not None else affine_step(layout, rows, numbers)
        moved = moved or bounded_step(layout, rows, numbers)
        reached = bounded(moved.lower, moved.upper, moved.A, moved.c, moved.error, rows.trail)
        finite: Mask = np.asarray(np.isfinite(reached.error).all(axis=1))
        if not finite.all():
            self._leave_unbounded(rows.rows(~finite))
            if finite.any():
                self._arrive(layout, replace(branch, pieces=rows.rows(finite)), following)
            return
        names = tuple(self.trails.name(node) for node, _ in moved.draws if isinstance(node, Between))
        trail = self.trails.extend(rows.trail, branch.taken, names)
        self.record.moved(rows.trail, trail, branch.taken, names)
        pieces = replace(reached, trail=trail)
        self._remember_widths(pieces)
        residual = self.obligations.step(branch.residual)
        self.after.setdefault(Key(discrete, residual, pieces.parameters), []).append(pieces)

    def _next_values(self, following: Sequence[Expr]) -> tuple[State, list[Expr]]:
        """The discrete part of the next state, and the expressions of the others."""
        pairs = list(zip(self.step.inputs, following, strict=True))
        discrete = tuple(_discrete_value(node, value) for node, value in pairs)
        return discrete, [value for (_, value), known in zip(pairs, discrete, strict=True) if known is None]

    def _leave_unbounded(self, pieces: Pieces) -> None:
        """Values without a bound, or undefined ones: perhaps not from narrower starts."""
        if self.parts or self.bent is None:
            raise NotExplorable("values without a bound, or undefined ones")
        self._leave_open(pieces)

    def _remember_widths(self, pieces: Pieces) -> None:
        known = len(self.widths)
        if pieces.parameters > known:
            more = (pieces.upper - pieces.lower)[:, known:].max(axis=0)
            self.widths = np.concatenate([self.widths, more])


@dataclass(frozen=True)
class Branch:
    """Pieces on their way through the decisions of one position."""

    here: tuple[Expr, ...]  # atoms, guard and next values, as far as they are decided
    residual: Obligation
    pieces: Pieces
    taken: Taken
    discrete: State
    asked: Conditions = ()  # what was decided here, and how


class NotExplorable(VernalError):
    """This front end cannot go on; the message says why."""


def existing(choice: Choose) -> list[tuple[int, Expr]]:
    """The options that exist once it is decided which do."""
    absent = {index for index, guard in enumerate(choice.guards) if not _truth(guard)}
    return [(index, option) for index, option in enumerate(choice.options) if index not in absent]


def _truth(node: Expr) -> bool:
    if not isinstance(node, Const):
        raise NotExplorable("a condition is not decided by comparisons, argmax and choices alone")
    return bool(node.value)


def _discrete_value(node: Expr, value: Expr) -> Fraction | None:
    """The value of a variable that is a constant of the piece; reals and memories are always kept as numbers."""
    if node.sort == REAL or node.shape:
        return None
    if isinstance(value, Const):
        return value.value
    if node.sort != INT:
        raise NotExplorable("a discrete value is not decided by comparisons, argmax and choices alone")
    return None
