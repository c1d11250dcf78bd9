"""The engine `invariants`: a claim for all time proven by a set of states that no step leaves.

Sets are proposed in turn: the hull of forward images in boxes, octagons and learned directions, the union of the first
images, shrinking images of all states, reachable boxes of a grid, and the largest union of boxes that can be stayed
in. Each proposal is rounded to short numbers and certified; what is certified is the proof, and its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from vernal.engines.chain import Prover
from vernal.engines.invariants.exclusion import BROKEN, excluded
from vernal.engines.invariants.forward_images import ImageLevels, Widening, levels, maximal
from vernal.engines.refusals import by_paths, of_what_is_kept
from vernal.engines.some_paths import by_all_paths
from vernal.errors import Stopped
from vernal.evidence.invariant import Invariant
from vernal.evidence.invariant_file import component_names
from vernal.evidence.knowledge import Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, hulls, joined
from vernal.logic.question import Question
from vernal.logic.safety import SafetyClaim, excluding, safety_claim
from vernal.logic.times import Time
from vernal.model.lazy import cached_property
from vernal.model.system import System
from vernal.model.traits import nonlinear_node
from vernal.run.budget import Budget
from vernal.sets.cells.admissible import NAME as PULLED_BACK
from vernal.sets.cells.admissible import Admissible, NoSuchSet
from vernal.sets.cells.cell_partition import Greatest, domain, grid_of, merged, needed, reached
from vernal.sets.cells.certifier import Certifier, TooManyStarts
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.exact_cells import (
    RationalCells,
    as_they_are,
    nearest_decimals,
    shortened_outward,
)
from vernal.sets.cells.images import Images
from vernal.sets.cells.relays import NAME as RELAYS
from vernal.sets.cells.relays import lines
from vernal.sets.cells.templates import Samples, candidates, claim_limits

MAX_ROUNDED = 8  # cells that are rounded in several ways; a union of more is checked a few times only
MAX_SIMPLIFIED = 200  # boxes of a union of which one is left out after the other
MAX_PREFIX = 200  # steps before a claim begins
FEW_HALVINGS, MANY_HALVINGS = 4, 7  # of every cell whose image is bounded, where it is not affine
METHOD_SHARE = 0.5  # of the time left, for one method
METHOD_SECONDS = (5.0, 30.0)  # of work at most, for each method first, and once more for those that were cut short
GRID_NUMBERS = 4  # components of a grid
RESOLUTIONS = (8, 16, 32, 64, 128, 256)  # boxes across what runs reach
REGIONS = (1.5, 3.0)  # widths of what runs reach, over which a step that is not affine is taken for a line
SIDES = "with both sides of kinks"  # of ReLUs, minima, ...
KEPT = (1.0, 0.6, 0.35)  # shares of a feedback that has limits: 1 where they are never met
CONTRACTIONS = (0.02, 0.004, 0.0005)  # shares of the room that each step leaves: many rows are needed with few
NOT_SAFETY = (
    "not supported by this engine: an invariant proves that something is kept (G p, AG p, p W q, p R q, with p and q "
    "about single positions)"
)
ROUNDINGS = ((2, 0.01), (4, 1e-4), (8, 1e-8))  # digits kept of a width, and the share of it that is added


@dataclass(frozen=True)
class Proposal:
    """Cells that may be an invariant, and how they were found."""

    method: str
    cells: TemplateSets
    parts: TemplateSets | None = None  # boxes that make up the cells, where these are joined ones
    certifier: Certifier | None = None  # another than that of all proposals


Proposer = Callable[[], Iterator[Proposal]]
StepImages = tuple[Images, Certifier]  # how steps are followed, and what certifies by that


class Invariants:
    """The engine `invariants`."""

    name = "invariants"

    def takes(self, question: Question) -> str | None:
        """Claims that something is kept, or that what decides them is."""
        never = excluding(question.claim) if question.time is Time.STEPS else None
        if never is not None and of_what_is_kept(question, never):
            return None
        return by_paths(question, of_what_is_kept, NOT_SAFETY)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof with its invariant, a state from which every path breaks the claim, or what was tried.

        A claim of some path is asked by claims of all paths.
        """
        prover = Prover(self.name, self._proven)
        if question.claim.mentions_some:
            return by_all_paths(prover, question, budget)
        if excluding(question.claim) is None or safety_claim(question.claim, total=question.is_total) is not None:
            return self._proven(question, budget)
        return excluded(prover, question, budget)

    def _proven(self, question: Question, budget: Budget) -> Proof | Open:
        safety = safety_claim(question.claim, total=question.is_total)
        if safety is None:
            return Open(engine=self.name, reason=NOT_SAFETY)
        if safety.first > MAX_PREFIX:
            return Open(engine=self.name, reason=f"the claim begins after more than {MAX_PREFIX} steps")
        try:
            return InvariantSearch(question.system, safety, budget).known()
        except TooManyStarts:
            return Open(engine=self.name, reason="there are too many discrete initial states to look at")


class InvariantSearch:
    """All methods on one question."""

    def __init__(self, system: System, safety: SafetyClaim, budget: Budget) -> None:
        self.budget, self.stops_before = budget, len(budget.stops)
        self.limits_of_method: tuple[Budget, ...] = ()
        self.dynamics = dynamics = WatchedLoop(system, safety, self._check)
        self.images = Images(dynamics)
        self.certifier = Certifier(dynamics, self.images)
        self.samples = Samples(dynamics, budget.seed)
        self.nonlinear = nonlinear_node([dynamics.guard, *dynamics.next_numbers]) is not None
        self.starts: dict[tuple[bytes, int], TemplateSets] = {}  # by directions, and by how finely images are bounded
        self.limits = claim_limits(dynamics)
        self.box = Template(np.eye(len(dynamics.numbers)))
        self.tried: list[str] = []
        self.proven: int | None = None

    def known(self) -> Proof | Open:
        """What the first certified proposal proves."""
        reason = None
        try:
            with np.errstate(all="ignore"):
                if self.samples.breaks():
                    return Open(engine=Invariants.name, reason=BROKEN)
                for proposal in self._proposals():
                    self.budget.check()
                    found = self._in_all_time(proposal)
                    if found is not None:
                        return found
        except Stopped as stop:
            reason = stop.reason
        return Open(
            engine=Invariants.name,
            reason=self._said(reason or self.budget.cut_since(self.stops_before)),
            proven_steps=self.proven,
            statistics={"methods": len(set(self.tried))},
        )

    def _said(self, cut_short: str | None) -> str:
        """What was tried to its end, or what was begun when the time of all, or of a method, was over."""
        tried = ", ".join(dict.fromkeys(self.tried))
        if cut_short is not None:
            return f"{cut_short}; not finished with {tried}" if tried else cut_short
        return f"no invariant found with {tried}" if tried else "no set was proposed"

    # Proposals --------------------------------------------------------------------------------------------------------

    def _proposals(self) -> Iterator[Proposal]:
        methods: Iterable[Proposer] = self._methods()
        for seconds in METHOD_SECONDS:
            unfinished = []
            for method in methods:
                finished = yield from self._in_time(method(), seconds)
                unfinished += [] if finished else [method]
            methods = unfinished
        self.images.halvings = 0
        yield from self._of_boxes(self.box)

    def _methods(self) -> Iterator[Proposer]:
        """Ways to propose, cheap ones first."""
        yield partial(self._widened, self.box, 0)
        bends, several = self.dynamics.bends, len(self.dynamics.numbers) > 1  # of one number every set is a box
        if several and not bends:
            yield partial(self._admissible, self._plain)
        if several and bends:
            yield self._relayed
        if bends:
            yield partial(self._widened, self.box, FEW_HALVINGS)
        yield partial(self._of_levels, self.box)
        sources = self._plain, self._apart
        if several and bends:
            yield from (partial(self._admissible, one) for one in dict.fromkeys(sources[::-1]))
        templates = list(candidates(self.dynamics, self.samples))
        for halvings in (0, FEW_HALVINGS, MANY_HALVINGS) if bends else (0,):
            for template in templates:
                if not template.is_box or halvings == MANY_HALVINGS:
                    yield partial(self._widened, template, halvings)
            if several and halvings == 0 and sources[0] is not sources[1]:
                yield from (partial(self._side_by_side, one) for one in templates if not one.is_box)

    def _check(self) -> None:
        """The tick of all work: the limits of the whole, then those of the method that has its turn."""
        self.budget.check()
        for limit in self.limits_of_method:
            limit.check()

    def _in_time(self, proposals: Iterator[Proposal], seconds: float) -> Generator[Proposal, None, bool]:
        """The proposals of a method, as far as its share of the time goes; whether it came to its end.

        Its seconds are those of work: where others keep the machine busy, it is not cut short to begin anew later.
        """
        self.limits_of_method = self.budget.part(METHOD_SHARE), self.budget.of_work(seconds)
        try:
            yield from proposals
        except Stopped:
            self.budget.check()
            return False
        finally:
            self.limits_of_method = ()
        return True

    def _widened(self, template: Template, halvings: int) -> Iterator[Proposal]:
        """The hull of all images, with images of so many parts of cells."""
        self._tell(template.name)
        self.images.halvings = halvings
        yield from self._hull(template)

    def _hull(self, template: Template) -> Iterator[Proposal]:
        cells = Widening(self.images, self.dynamics, self.limits).closed(self._start(template))
        if cells is not None:
            yield Proposal(template.name, cells)

    def _side_by_side(self, template: Template) -> Iterator[Proposal]:
        """The hull of all images, of which each side of a kink is followed by itself."""
        name = f"{template.name}, {SIDES}"
        self._tell(name)
        images, certifier = self._apart
        cells = Widening(images, images.dynamics, self.limits).closed(self._start(template))
        if cells is not None:
            yield Proposal(name, cells, certifier=certifier)

    def _admissible(self, source: StepImages) -> Iterator[Proposal]:
        """The claim's rows pulled back through the loop, with more and more of them."""
        self._tell(PULLED_BACK)
        self.images.halvings = 0
        start, (images, certifier) = self._start(self.box), source
        for kept, reach, share in self._efforts():
            region, centre = self.samples.region(start, reach)
            try:
                cells = Admissible(images, start, region, centre, share, kept).cells()
            except NoSuchSet:
                continue
            yield Proposal(PULLED_BACK, cells, certifier=certifier)

    def _relayed(self) -> Iterator[Proposal]:
        """The rows of the claim and the bands of relays, pulled back with lines in the place of these."""
        self._tell(RELAYS)
        self.images.halvings = 0
        start = self._start(self.box)
        region, _ = self.samples.region(start, REGIONS[-1])
        for line in lines(self.images, region, self.samples.points, start):
            try:
                cells = Admissible(self.images, start, line.region, line.centre, CONTRACTIONS[-1], line=line).cells()
            except NoSuchSet:
                continue
            yield Proposal(RELAYS, cells)

    def _efforts(self) -> Iterable[tuple[float, float, float]]:
        """Shares of a limited feedback, widths of a region, and shares of the room that each step leaves."""
        bends = self.dynamics.bends
        return product(KEPT if bends else KEPT[:1], REGIONS if bends else REGIONS[:1], CONTRACTIONS)

    @cached_property
    def _plain(self) -> StepImages:
        return self.images, self.certifier

    @cached_property
    def _apart(self) -> StepImages:
        """The loop with its kinks as comparisons; as it is where that would not help."""
        dynamics = self.dynamics.apart(self.samples.values)
        if dynamics is self.dynamics:
            return self._plain
        images = Images(dynamics)
        return images, Certifier(dynamics, images)

    def _tell(self, method: str) -> None:
        self.tried.append(method)
        self.budget.progress(f"invariants: {method}", None)

    def _levels(self, start: TemplateSets) -> ImageLevels:
        made = levels(self.images, start, self.dynamics)
        if made.kept:
            self.proven = self.dynamics.safety.first + made.kept - 1
        return made

    def _of_levels(self, template: Template) -> Iterator[Proposal]:
        """Unions of the first images, and of all states after some steps."""
        self.images.halvings = 0
        self._tell("unions of images")
        first = self._levels(self._start(template))
        if first.closed and first.cells:
            yield from self._united(joined(first.cells))
        self._tell("images of all states")
        largest = maximal(self.images, self.dynamics, first)
        if largest is not None:
            yield Proposal("images of all states", largest)

    def _united(self, cells: TemplateSets) -> Iterator[Proposal]:
        """A union of images: as one cell for each combination of labels, in fewer cells, or as it is."""
        around = hulls(cells)
        if len(around) < len(cells):
            yield Proposal("hulls of images", around)
            if cells.template.is_box and len(cells) <= MAX_SIMPLIFIED:
                fewer = merged(needed(cells, self.dynamics.whole))
                yield Proposal("unions of images", fewer)
                yield Proposal("unions of images", fewer, cells)
        yield Proposal("unions of images", cells)

    def _of_boxes(self, template: Template) -> Iterator[Proposal]:
        """Unions of boxes of a partition, finer and finer."""
        n, points = len(self.dynamics.numbers), self.samples.points
        if not n or n > GRID_NUMBERS or not len(points):
            return
        start = self._start(template)
        self._tell("boxes of a grid")
        if not len(start):  # no path comes to where the claim begins
            yield Proposal("boxes of a grid", start)
            return
        spread = self.samples.spread()
        for number, count in enumerate(RESOLUTIONS):
            grid = grid_of(spread / count, self.dynamics.whole)
            cells = reached(self.images, self.dynamics, start, grid)
            if cells is not None:
                yield Proposal("boxes of a grid", merged(cells), cells)
            if number == 1:
                yield from self._greatest(template, start)

    def _greatest(self, template: Template, start: TemplateSets) -> Iterator[Proposal]:
        self._tell("boxes that can be stayed in")
        labels = sorted({start.key(member) for member in range(len(start))} | self._met_labels())
        around = domain(np.vstack([self.samples.points, *start.ranges()]), labels, template, self.dynamics.whole)
        cells = Greatest(self.images, self.dynamics, around).holding(start)
        if cells is not None:
            yield Proposal("boxes that can be stayed in", merged(cells), cells)

    def _met_labels(self) -> set[tuple[int, ...]]:
        """Labels that are met from boxes around all that runs met."""
        start = hulls(self._start(Template(np.eye(len(self.dynamics.numbers)))))
        found = {start.key(member) for member in range(len(start))}
        for _ in range(8):
            moved = hulls(self.images.after(start)[1])
            more = {moved.key(member) for member in range(len(moved))}
            if more <= found:
                break
            found |= more
            start = moved
        return found

    def _start(self, template: Template) -> TemplateSets:
        """Cells around where paths are when the claim begins."""
        key = template.rows.tobytes(), self.images.halvings
        if key not in self.starts:
            self.starts[key] = self._moved_start(template)
        return self.starts[key]

    def _moved_start(self, template: Template) -> TemplateSets:
        cells = self.certifier.initial_cells(template)
        for _ in range(self.dynamics.safety.first):
            cells = hulls(self.images.after(cells)[1])
        return cells

    def _in_all_time(self, proposal: Proposal) -> Proof | None:
        """The proof, if there is one, whatever is left of the time of the method that proposed it."""
        of_method, self.limits_of_method = self.limits_of_method, ()
        try:
            return self._certified(proposal)
        finally:
            self.limits_of_method = of_method

    # Proofs -----------------------------------------------------------------------------------------------------------

    def _certified(self, proposal: Proposal) -> Proof | None:
        """The proof, if some rounding of the proposal is certified."""
        cells = proposal.cells
        prefix = self._prefix(cells.template)
        if proposal.parts is not None:
            whole = as_they_are(cells)
            proven = self.certifier.proves_joined(whole, proposal.parts, prefix)
            return self._proof(proposal.method, whole, prefix) if proven else None
        certifier = proposal.certifier or self.certifier
        for rounded in self._roundings(cells):
            if certifier.proves(rounded, prefix):
                return self._proof(proposal.method, rounded, prefix)
        return None

    def _prefix(self, template: Template) -> list[RationalCells]:
        """Rational cells for every position before the claim begins, each around the images of the one before."""
        made: list[RationalCells] = []
        cells = self.certifier.initial_cells(template)
        for _ in range(self.dynamics.safety.first):
            made.append(as_they_are(cells))
            cells = hulls(self.images.after(made[-1].outer)[1])
        return made

    def _proof(self, method: str, cells: RationalCells, prefix: Sequence[RationalCells]) -> Proof:
        view = self.dynamics
        names = {place: name for name, place in component_names(view.system).items()}
        ordered = [names[var, i] for var in view.followed for i in range(var.size)]
        invariant = Invariant(
            tuple(ordered),
            tuple(cells.sets(view)),
            tuple(tuple(one.sets(view)) for one in prefix),
            view.system,
        )
        return Proof(
            engine=Invariants.name,
            direction=self.images.direction,
            subject=Subject.PATHS,
            assurance=Assurance.RIGOROUS,
            evidence=invariant,
            statistics={"method": method, "sets": len(cells), "directions": len(cells.template.rows)},
        )

    def _roundings(self, cells: TemplateSets) -> Iterator[RationalCells]:
        """The cells with rational bounds: short ones and those with some room first, the floats themselves last.

        A step that is not piecewise linear is only checked again where there is room.
        """
        fixed = self.dynamics.integral(cells.template.rows)
        shares = ROUNDINGS if len(cells) <= MAX_ROUNDED else ROUNDINGS[-1:]
        room = [shortened_outward(cells, digits, share, fixed) for digits, share in shares]
        plain = [nearest_decimals(cells)]
        yield from [*room, *plain] if self.nonlinear else [*plain, *room]
        yield as_they_are(cells)
