"""The flow itself, followed by validated steps: no abstraction, and splits of the initial set where it is not enough.

Smooth fields are followed by Taylor steps (`interpret.flow`); where a field has no bounded derivative short first-order
steps are all there is, and they give wide pipes. Every box that the pipe leaves open is cut, all of them in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from vernal.engines.chain import Chain, Prover
from vernal.engines.flow.beside import beside, common_horizon
from vernal.engines.flow.divisions import DividedPipes
from vernal.engines.flow.failing_starts import FailingStarts
from vernal.engines.flow.recurrence import ENDLESS, RecurrentSearch, endless_problem
from vernal.engines.flow.sampled_logic import HOPELESS, SampledLogic, is_hopeless, recurs
from vernal.engines.flow.samples import SampleSearch, refusal, sooner
from vernal.engines.flow.template import chosen
from vernal.engines.initial_parts import attempt_parts
from vernal.engines.options import FlowpipeOptions
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe
from vernal.engines.refusals import in_seconds
from vernal.engines.some_paths import over_samples
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.pipe_judge import PIPE_DIRECTION, PipeJudge
from vernal.evidence.result import Assurance
from vernal.interpret.flow.integration import Segments
from vernal.interpret.flow.taylor import unknown_operators
from vernal.interpret.numbers.rounding import Floats, float_above
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.clock import clock_of
from vernal.model.system import Model
from vernal.reduce.universal_claims import DeniedByAll
from vernal.run.budget import Budget
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.flow_starts import StartBoxes, cut, cut_widest, start_boxes
from vernal.sets.sampled.box_rounds import BoxRounds, on_time_grid
from vernal.sets.sampled.common_pipes import CommonPipes, CompletePipe, FollowedBoxes
from vernal.sets.sampled.loop_space import spoils_nothing
from vernal.sets.sampled.sample_graphs import WIDTHS

FINE_PARTS = 16  # of a step, for which bounds are recorded where bounds are what is asked for
MAX_ROUNDS, MAX_PIPES = 14, 10  # for a claim, and without one
MAX_IDLE_ROUNDS = 4  # that close no box and come no further
MIN_PROGRESS_SHARE = 0.02  # of the horizon, by which a round has to come further
UNMOVED_ROUNDS = 2  # in which the worst box comes no further: then it may be spans of time that are too long
MIN_GROWTH = 1.1  # of the time up to which it comes on average, where none comes so much further
MAX_BOXES = 4096  # that may be open at once
MAX_KNOWN_BOXES = 256  # of another claim's pipe, that stay open: beyond them this claim has boxes of its own
FEW_BOXES = 8  # beyond them boxes are halved once
LONGEST_TIME = 2.0**20  # beyond it times are not exact
BOUND_SHARE = 0.5  # of the time that is left, for one bound of a claim without a last sample
OCTAGON_DIMENSIONS = 4  # up to which all sums and differences are recorded
FAILS = "all trajectories from a part of the initial set make the formula false; try --engine falsify"
UNSUPPORTED, ABSTRACTION = "not supported by this engine", "try --engine abstraction"
NOT_SMOOTH = "the rates have no bounded derivative there, or change too fast for the time that is asked about"
TOO_LARGE = f"{UNSUPPORTED}: {{}} variables, with rates of this size, are too many; {ABSTRACTION}"


def followed_part(question: Question, budget: Budget) -> Known:
    """What is known of a part of the initial set; a function of the module, for it to be found by name."""
    return DirectFlowpipe().whole(question, budget)


class DirectFlowpipe:
    """Flowpipes of smooth flows, without abstraction."""

    name = "flowpipe"

    def __init__(self, options: FlowpipeOptions | None = None) -> None:
        self.options = options or FlowpipeOptions()

    def takes(self, question: Question) -> str | None:
        """Claims about flows whose rates have known slopes, over times that are exact."""
        if question.time is Time.SAMPLES:
            return refusal(question)
        refused = in_seconds(question) or _problem(question.model, float_above(question.claim.last_time))
        return refused or (endless_problem(question) if question.claim.is_endless else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof by a flowpipe, or how far one reaches."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        if question.time is Time.SAMPLES:
            return self._over_samples(question, budget)
        if question.claim.is_endless:
            return RecurrentSearch(question, self.name, budget).run()
        if self.options == FlowpipeOptions() and (budget.journal is not None or budget.workers > 1):
            return attempt_parts(question, budget, self.name, followed_part)
        return self.whole(question, budget)

    def _over_samples(self, question: Question, budget: Budget) -> Known:
        """What all paths keep, proves or refutes what is claimed of some, and refutes what is claimed of all."""
        if question.claim.mentions_some:
            return over_samples(Prover(self.name, self._of_all_samples), question, budget)
        if question.claim.horizon is not None or DeniedByAll().takes(question) is not None:
            return self._of_all_samples(question, budget)
        known = self._in_part(question, budget)
        if isinstance(known, Proof):
            return known
        denied = Chain((DeniedByAll(),), Prover(self.name, self._of_all_samples)).attempt(question, budget)
        return known if isinstance(denied, Open) else denied

    def _in_part(self, question: Question, budget: Budget) -> Known:
        """What is known of a claim of all paths within a share of the time."""
        try:
            return self._of_all_samples(question, budget.part(BOUND_SHARE))
        except Stopped as stop:
            budget.check()  # its own limits end the search
            return Open(engine=self.name, reason=stop.reason)

    def _of_all_samples(self, question: Question, budget: Budget) -> Known:
        """Claims of all paths."""
        claim = question.claim
        if claim.horizon is not None:
            search = SampledLogic if claim.linear is None else SampleSearch
            return search(question, self.name, budget).run()
        if is_hopeless(question, budget):
            return Open(engine=self.name, reason=HOPELESS)
        if endless_problem(question) is None and recurs(question, budget):
            return RecurrentSearch(question, self.name, budget).run()
        bounded = self._by_bounds(question, budget.part(BOUND_SHARE))
        if not isinstance(bounded, Open) or clock_of(question.model) is not None:
            return bounded
        found = SampledLogic(question, self.name, budget).run()
        return replace(found, reason=f"{bounded.reason}; {found.reason}") if isinstance(found, Open) else found

    def _by_bounds(self, question: Question, budget: Budget) -> Known:
        """A claim without a last sample, by one that has a bound and implies it."""
        problem = endless_problem(question) or ENDLESS
        known: Known = Open(engine=self.name, reason=problem)
        for asked in sooner(question):
            budget.check()
            try:
                known = SampleSearch(asked, self.name, budget.part(BOUND_SHARE)).run()
            except Stopped as stop:
                known = Open(engine=self.name, reason=stop.reason)
            if isinstance(known, Proof):
                return replace(known, margin=None)
        said = known.reason if isinstance(known, Open) else "a path fails"
        return Open(engine=self.name, reason=f"{problem}; with bounds of up to {WIDTHS[-1]} samples: {said}")

    def whole(self, question: Question, budget: Budget) -> Known:
        """All initial states at once."""
        horizon = float_above(question.claim.last_time)
        few = len(question.model.state) <= OCTAGON_DIMENSIONS
        others = beside(question, budget.together.formulas)
        directions = chosen(question, self.options.directions, careful=few, beside=others)
        rounds = BoxRounds(question.model, on_time_grid(question.model, horizon), directions, budget.check)
        if rounds.is_too_large:
            return Open(engine=self.name, reason=TOO_LARGE.format(len(question.model.state)))
        return DirectSearch(question, rounds, budget, common_horizon(rounds.horizon, others)).run()

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """Flowpipes from all initial states; from one to the next their parts are cut, and steps are shorter."""
        flow, problem = asked.flow, _problem(asked.flow, asked.horizon)
        if problem is not None:
            raise Stopped(problem)
        rounds = BoxRounds(flow, on_time_grid(flow, asked.horizon), asked.directions, budget.check, FINE_PARTS)
        if rounds.is_too_large:
            raise Stopped(TOO_LARGE.format(len(flow.state)))
        yield from DividedPipes(flow, rounds, asked.parts, MAX_PIPES).found()


def _problem(flow: Model, horizon: float) -> str | None:
    """Why this engine does not take a flow, if it does not."""
    loop = flow.grid is not None  # whose rates are looked at when it is known what is held
    strange = [] if loop else unknown_operators(flow.vector_field)
    if strange:
        return f"{UNSUPPORTED}: the slopes of {', '.join(strange)} are not known; {ABSTRACTION}"
    if horizon >= LONGEST_TIME:
        return f"{UNSUPPORTED}: a horizon of {horizon:g} units of time is too long; try other units"
    return None


@dataclass(frozen=True, eq=False)
class OpenStarts:
    """Boxes that stay open, and how much each of their components has to do with that."""

    boxes: StartBoxes
    influence: Floats

    def __len__(self) -> int:
        return len(self.boxes)


class DirectSearch:
    """Rounds in which boxes are followed and those that stay open are cut, each round with shorter steps."""

    def __init__(self, question: Question, rounds: BoxRounds, budget: Budget, common_horizon: float) -> None:
        """`common_horizon` is that of the first pipe, which serves other claims, too."""
        self.question, self.rounds, self.budget = question, rounds, budget
        self.common, self.common_horizon = CommonPipes.of(budget.together), common_horizon
        self.boxes = start_boxes(question.model)  # of all initial states
        self.known_boxes = 0  # of another claim's pipe, by which this one was judged
        self.stops_before = len(budget.stops)
        self.flow, self.horizon = question.model, rounds.horizon
        self.judge = PipeJudge(question, budget.check)
        self.starts = FailingStarts(question, DirectFlowpipe.name, budget)
        self.found: Known | None = None  # a trajectory that fails
        self.curved = rounds.curved  # at first
        self.widths = self.boxes.upper.max(0) - self.boxes.lower.min(0) if len(self.boxes) else np.zeros(0)
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of any part of the initial set."""
        self.rounds.resume(0, curved=self.curved)
        self.known_boxes = 0
        self.stale = self.unmoved = (
            0  # rounds without progress, and rounds without any in the worst box, to some number
        )
        self.reason: str | None = None  # why another round would not help
        self.failing: StartBoxes | None = None  # boxes all of whose trajectories make the formula false
        self.reached = self.mean = (
            0.0  # until when the last round followed the boxes that it left open: all, on average
        )
        self.proven: float | None = None  # of a claim about all times, until when it is true
        self.margin = math.inf  # of what is closed, at least
        self.best = -math.inf  # of everything, at least, in the best round
        self.closed: list[FollowedBoxes] = []  # boxes whose trajectories all keep the formula
        self.open: list[Segments] = []  # of those that are left, in the last round

    def run(self) -> Known:
        """Follow all boxes; then, again and again, the parts of those that stay open."""
        if not len(self.boxes):
            return self._proof(empty=True)
        try:
            end = cut_until_decided(self.boxes, self._round, self._cut, CuttingLimits(most=MAX_BOXES)).end
            if end is CuttingEnd.DECIDED:
                self._leave(self.closed, self.horizon)
                return self._proof(empty=False)
            found = self._refuted()
        except Stopped as stop:
            return self._left_open(stop.reason)
        if found is not None:
            return found
        return self._left_open(self.reason or f"more than {MAX_BOXES // 2} parts of the initial set stay open")

    def _leave(self, parts: Sequence[FollowedBoxes], horizon: float) -> None:
        """Leave a pipe from all initial states to other claims."""
        some = [part for part in parts if len(part[0])]
        self.common.keep(CompletePipe(self.flow, horizon, some, self.rounds.finer, self.rounds.curved))

    def _refuted(self) -> Known | None:
        """A trajectory that fails, from a box of which all do, or from one that stays open."""
        if self.found is None and self.failing is not None:
            statistics = self._statistics(self.rounds.pipe(self.open))
            self.found = self.starts.of_failing(self.failing, statistics)
        return self.found

    def _look_at(self, boxes: StartBoxes) -> str | None:
        """Look for a trajectory that fails, from open boxes; why another round would not help where there is one."""
        self.found = self.starts.of_open(boxes, self._statistics(self.rounds.pipe(self.open)))
        return None if self.found is None else FAILS

    def _hopeless(self, count: int, fails: bool) -> str | None:
        """Why another round would not help."""
        if fails:
            return FAILS
        if self.stale >= MAX_IDLE_ROUNDS:
            return f"cutting {count} parts of the initial set once more does not help"
        if self.rounds.number >= MAX_ROUNDS:
            return f"{count} parts of the initial set stay open after {MAX_ROUNDS} rounds of cutting them"
        return None

    def _cut(self, left: OpenStarts) -> StartBoxes:
        if len(left) > FEW_BOXES:
            return cut_widest(self.flow, left.boxes, left.influence, self.widths)
        return cut(self.flow, left.boxes, left.influence)

    # One round --------------------------------------------------------------------------------------------------------

    def _round(self, boxes: StartBoxes) -> OpenStarts | None:
        """Follow boxes: those that stay open; None where another round would not help."""
        if boxes is not self.boxes:
            return self._judged(self._followed(boxes))
        for pipe in self.common.reaching(self.flow, self.rounds.directions, self.horizon):
            self.rounds.resume(pipe.finer, curved=pipe.curved)
            self.known_boxes = sum(len(boxes) for boxes, _ in pipe.parts)
            left = self._judged(pipe.parts)
            if left is None or len(left) <= MAX_KNOWN_BOXES:
                return left
            self._begin()
        return self._judged(self._first_parts())

    def _first_parts(self) -> Iterator[FollowedBoxes]:
        """All initial states, followed for other claims, too."""
        parts = list(self._followed(self.boxes))
        self._leave(parts, self.common_horizon)
        yield from ((boxes, segments.before(self.horizon)) for boxes, segments in parts)

    def _followed(self, boxes: StartBoxes) -> Iterator[FollowedBoxes]:
        """Boxes with what was followed from them, batch by batch; parts of all are given up once they are open."""
        parts, start = boxes is not self.boxes, 0
        spoils, horizon = (self.judge.left_open, self.horizon) if parts else (spoils_nothing, self.common_horizon)
        for found in self.rounds.follow(boxes, spoils, horizon):
            yield boxes[start : start + len(found.until)], found
            start += len(found.until)

    def _judged(self, parts: Iterable[FollowedBoxes]) -> OpenStarts | None:
        """The boxes of a round that stay open; None where another round would not help."""
        left: list[FollowedBoxes] = []
        proven: list[float | None] = []
        fails, count, least = False, 0, self.margin
        for boxes, found in parts:
            truths, until, margin = self._truths(found)
            least = min(least, margin)
            proven.append(until)
            failing, kept = (np.flatnonzero([truth is wanted for truth in truths]) for wanted in (False, True))
            if len(failing):
                fails, self.failing = True, boxes[failing]
            undecided = np.flatnonzero([truth is not True for truth in truths])
            self.closed.append((boxes[kept], found.of(kept)))
            left.append((boxes[undecided], found.of(undecided)))
            count += len(boxes)
        self.open = [segments for _, segments in left]
        self.best = max(self.best, least)
        self._note_proven(proven)
        stagnates = self._stagnates(count)
        self.stale = self.stale + 1 if stagnates else 0
        self.rounds.adapt(self.open, stagnates=stagnates or self.unmoved == UNMOVED_ROUNDS)
        influence = np.concatenate([segments.influence for segments in self.open])
        rest = OpenStarts(reduce(StartBoxes.joined, (boxes for boxes, _ in left)), influence)
        self.reason = self._hopeless(len(rest), fails) if len(rest) else None
        if len(rest) and not fails and (self.reason or self.unmoved == 1):
            self.reason = self._look_at(rest.boxes) or self.reason
        return None if self.reason else rest

    def _note_proven(self, times: Sequence[float | None]) -> None:
        """All boxes of a round keep the formula until then; those of earlier rounds keep it for all times."""
        known = [time for time in times if time is not None]
        if known:
            self.proven = max(self.proven or 0.0, min(known))

    def _stagnates(self, count: int) -> bool:
        """Whether a round closed no box and came no further in time, with the worst of them and on average."""
        before, mean = self.reached, self.mean
        until = np.concatenate([part.until for part in self.open])
        self.reached, self.mean = (float(one(until)) if len(until) else self.horizon for one in (np.min, np.mean))
        stuck = before == self.horizon or self.reached < before + MIN_PROGRESS_SHARE * self.horizon
        self.unmoved = self.unmoved % UNMOVED_ROUNDS + 1 if stuck else 0
        return stuck and self.mean <= MIN_GROWTH * mean and len(until) == count

    def _truths(self, segments: Segments) -> tuple[list[bool | None], float | None, float]:
        """What the formula is of all trajectories from each box, until when it is proven of all, and by what margin.

        Where it does not say that of each box by itself, it is asked of the whole batch, then of halves until decided.
        """
        whole = self.rounds.pipe([segments])
        truth = self._decided(whole)
        until, margin = self.judge.proven_until(whole), self.judge.margin(self.question.claim.normal, whole)
        truths: list[bool | None] = [truth] * len(segments.until)
        stack = [np.arange(len(truths))] if truth is None and len(truths) > 1 else []
        if stack and (apart := self.judge.by_box(whole, segments.until)) is not None:
            kept, fails = (np.flatnonzero(one) for one in apart)
            stack = [*([kept] if len(kept) else []), *fails[:, None]]
        while stack:
            group = stack.pop()
            truth = self._decided(self.rounds.pipe([segments.of(group)]))
            if truth is not None or len(group) == 1:
                for index in group:
                    truths[index] = truth
            else:
                stack += np.array_split(group, 2)
        return truths, until, margin

    def _decided(self, pipe: Flowpipe) -> bool | None:
        """What the formula is of all trajectories of a pipe; if it is true, by what margin is noted."""
        truth = self.judge.of(self.question.claim.normal, pipe)
        if truth:
            self.margin = min(self.margin, max(self.judge.margin(self.question.claim.normal, pipe), 0.0))
        return truth

    # What is known ----------------------------------------------------------------------------------------------------

    def _statistics(self, pipe: Flowpipe) -> dict[str, int | float | str]:
        return {
            "boxes": self.rounds.boxes + self.known_boxes,
            "rounds": self.rounds.number,
            "segments": len(pipe.times),
        }

    def _proof(self, empty: bool) -> Proof:
        pipe = self.rounds.pipe([segments for _, segments in self.closed])
        return Proof(
            engine=DirectFlowpipe.name,
            direction=PIPE_DIRECTION,
            assurance=Assurance.RIGOROUS,
            empty=empty,
            margin=self.margin if self.judge.measures else None,
            evidence=pipe,
            statistics=self._statistics(pipe),
        )

    def _left_open(self, reason: str) -> Open:
        """Why nothing is decided, where steps were no smooth ones, and until when the formula is proven."""
        pipe = self.rounds.pipe(self.open)
        told = [reason, *_roughness(self.flow, self.open)]
        if reason == FAILS and (cut_short := self.budget.cut_since(self.stops_before)) is not None:
            told.append(f"the search for one of them was not finished: {cut_short}")
        if self.reached < self.horizon:
            told.append(f"sets of states were followed up to time {self.reached:.4g}")
        return Open(
            engine=DirectFlowpipe.name,
            reason="; ".join(told),
            proven_time=self.proven or None,
            margin=self.best if -math.inf < self.best < 0 else None,
            statistics=self._statistics(pipe),
        )


def _roughness(flow: Model, parts: Sequence[Segments]) -> list[str]:
    """Where no smooth step of a set was found that is long enough, if that was so."""
    for part in parts:
        for box in np.flatnonzero(np.isfinite(part.rough)):
            there = np.flatnonzero((part.sets.trail == box) & (part.times[:, 0] <= part.rough[box]))
            if len(there):
                last = there[-1]
                ends = zip(flow.state, part.sets.lower[last], part.sets.upper[last], strict=False)
                where = ", ".join(f"{v.name} in [{low:.3g}, {high:.3g}]" for v, low, high in ends)
                return [f"no smooth step was found where {where}: {NOT_SMOOTH}; {ABSTRACTION}"]
    return []
