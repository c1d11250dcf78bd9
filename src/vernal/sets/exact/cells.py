"""Bounded CTL state by state: every claim cuts the states of a piece into those that keep it and those that do not.

An atom cuts along itself, Boolean operators refine, `EX p` unites what the outcomes of a step give, `AX p` intersects;
a disturbance is projected out of the cells it was drawn for. All in rational arithmetic, so that what comes out is the
truth at every single state, whatever the alternation of quantifiers.

A state is the system's state and memory. Where atoms ask about actions that a tie or sensor noise leaves open, it is a
position: the actions belong to it, as they do to the positions of a path.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations as pairs_of

from vernal.errors import UnsupportedFormula
from vernal.interpret.geometry.polyhedra import Polyhedron, project
from vernal.interpret.symbolic.execute import DecisionValue, Piece, execute
from vernal.logic.formula import Quantifier
from vernal.logic.progress import FALSE, TRUE, Joined, Junction, Later, Literal, Obligation, Obligations
from vernal.model.expr import Expr
from vernal.sets.exact.loop import Loop
from vernal.sets.exact.space import TooMany

OPEN_GUARD = (
    "a claim about states where a tie or sensor noise leaves an action open that decides whether paths go on; "
    "try --engine explicit"
)
TruthCell = tuple[Polyhedron, bool]
CellQuery = tuple[Obligation, Piece, int]
CellWalk = Generator[CellQuery, list[TruthCell], list[TruthCell]]

MAX_CELLS = 1_000_000


@dataclass
class Cells:
    """The truth of obligations at the states of pieces, computed once for each and kept."""

    loop: Loop
    obligations: Obligations
    closed: Mapping[Expr, Expr]  # an atom as written, to the same over state, memory and draws
    limit: int = MAX_CELLS
    cells: int = 0
    known: dict[object, list[TruthCell]] = field(default_factory=dict)

    def evaluate(self, obligation: Obligation, piece: Piece) -> list[TruthCell]:
        """The polyhedron of a piece in cells, each true or false. An explicit stack replaces recursion."""
        stack: list[tuple[object, CellWalk]] = []
        ask: CellQuery | None = (obligation, piece, 0)
        answer: list[TruthCell] | None = None
        while True:
            if ask is not None:
                key = self._key(*ask)
                answer = self.known.get(key)
                if answer is None:
                    stack.append((key, self._cells(*ask)))
            if not stack:
                assert answer is not None
                return answer
            key, working = stack[-1]
            try:
                ask = working.send(answer)  # type: ignore[arg-type]  # None starts it
            except StopIteration as done:
                stack.pop()
                ask, answer = None, done.value
                self._remember(key, done.value)

    def positions(self, piece: Piece, t: int) -> Iterator[Piece]:
        """The piece with the actions decided that atoms ask about.

        Where only the guard asks about an action that a tie leaves open, paths from one state end or go on: then its
        truth is not one of positions, and it takes the whole graph to find it.
        """
        parts = list(execute(piece, self.loop.uncertain, t, self.loop.tick))
        meeting = (one.polyhedron.meet(two.polyhedron.all_rows()) for one, two in pairs_of(parts, 2))
        if self.loop.is_guarded and any(meeting):
            raise UnsupportedFormula(OPEN_GUARD)
        yield from parts

    def _key(self, obligation: Obligation, piece: Piece, t: int) -> object:
        """Equal for equal questions; actions that belong to the position belong to the question."""
        actions = frozenset((node, _key(what)) for node, what in piece.taken.items())
        return obligation, self.loop.key(piece)[0], piece.polyhedron.key(), actions

    def _remember(self, key: object, answer: list[TruthCell]) -> None:
        self.cells += len(answer)
        if self.cells > self.limit:
            raise TooMany(f"more than {self.limit:,} cells of states; try a shorter bound or a smaller initial set")
        self.known[key] = answer

    def _cells(self, obligation: Obligation, piece: Piece, t: int) -> CellWalk:
        entry = self.obligations.entries[obligation]
        match entry:
            case Literal(atom, positive):
                divided = self.loop.truths(piece, self.closed[atom], t)
                return [(part.polyhedron, truth == positive) for part, truth in divided]
            case Joined(junction, parts):
                return (yield from self._joined(junction, sorted(parts), piece, t))
            case Later():
                return (yield from self._later(entry, piece, t))
        return [(piece.polyhedron, obligation == TRUE)]

    def _joined(self, junction: Junction, parts: list[Obligation], piece: Piece, t: int) -> CellWalk:
        """One part that is false (of an `or`: true) settles it; only where it does not, the next one is asked."""
        settling = junction is Junction.SOME
        settled: list[TruthCell] = []
        rest = [piece.polyhedron]
        for part in parts:
            left: list[Polyhedron] = []
            for polyhedron in rest:
                cells = yield part, replace(piece, polyhedron=polyhedron), t
                settled += [(cell, settling) for cell, truth in cells if truth == settling]
                left += [cell for cell, truth in cells if truth != settling]
            rest = left
        return [*settled, *((polyhedron, not settling) for polyhedron in rest)]

    def _later(self, entry: Later, piece: Piece, t: int) -> CellWalk:
        """One successor that keeps it settles `EX`, one that does not settles `AX`."""
        settling = entry.quantifier is Quantifier.SOME
        inputs = list(piece.polyhedron.box)
        settled: list[TruthCell] = []
        rest = [piece.polyhedron]
        seen: set[object] = set()
        for moved in self._outcomes(piece, t):
            key = self._key(FALSE, moved, t + 1)
            if not rest or key in seen:
                continue
            seen.add(key)
            cells = yield entry.what, moved, t + 1
            for cell in (project(cell, inputs) for cell, truth in cells if truth == settling):
                hit = [polyhedron.meet(cell.all_rows()) for polyhedron in rest]
                settled += [(polyhedron, settling) for polyhedron in hit if polyhedron is not None]
                rest = [part for polyhedron in rest for part in polyhedron.minus(cell)]
        return [*settled, *((polyhedron, not settling) for polyhedron in rest)]

    def _outcomes(self, piece: Piece, t: int) -> Iterator[Piece]:
        for moved in self.loop.moves(piece, t):
            yield from self.positions(self.loop.arrive(moved), t + 1)


def _key(what: DecisionValue) -> object:
    return what if isinstance(what, int) else tuple(form.key for form in what)
