"""Whether a formula in continuous time is true of all trajectories in a flowpipe, false of all, or open.

`G[a,b] p` is true if p is true on every segment that meets [a, b]; it is false if at some time of [a, b], up to which
no trajectory leaves the region, p is false on every segment. `F[a,b] p` is the other way round: some time at which p is
true on every segment, and no segment on which it is not false. Boolean operators are those of three truth values.
U, and windows within windows, are judged by the times at which their parts are true on every segment, or false.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.segment_truth import SegmentTruth, StateConditions
from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, And, Bound, Eventually, Formula, Or
from vernal.logic.question import Question
from vernal.logic.time_sets import NEVER, TimeSet, closed_span, union
from vernal.logic.timed_truth import Lifetimes, TimedTruth, timed_truth
from vernal.logic.times import is_plain, is_timed
from vernal.model.tick import Tick, idle

PIPE_DIRECTION = Direction.OVER  # a flowpipe contains all trajectories, and may contain more
AT_ONCE = 1 << 22  # comparisons of instants with segments in one array
BEGINNING = Bound(Fraction(0), Fraction(0))


def judge(question: Question, pipe: Flowpipe, tick: Tick = idle) -> bool | None:
    """True if all trajectories of the pipe keep the formula, False if none does, None if that is open."""
    return PipeJudge(question, tick).of(question.claim.normal, pipe)


class PipeJudge:
    """One question, asked of any number of pipes."""

    def __init__(self, question: Question, tick: Tick = idle) -> None:
        self.question, self.tick = question, tick
        self.conditions = StateConditions(question.model, tick)
        self._known: dict[tuple[int, int, Bound], tuple[Flowpipe, Mask, SegmentTruth]] = {}  # of the last pipe

    def of(self, formula: Formula, pipe: Flowpipe) -> bool | None:
        """A formula in negation normal form."""
        match formula:
            case Always(arg, bound) if not is_timed(arg):
                return self._always(arg, bound, pipe)
            case Eventually(arg, bound) if not is_timed(arg):
                return self._eventually(arg, bound, pipe)
            case And(args) if is_timed(formula):
                return _least([self.of(arg, pipe) for arg in args])
            case Or(args) if is_timed(formula):
                return _most([self.of(arg, pipe) for arg in args])
        return self._at_beginning(formula, pipe) if is_timed(formula) else self._always(formula, BEGINNING, pipe)

    def _at_beginning(self, formula: Formula, pipe: Flowpipe) -> bool | None:
        """A formula with U, or with windows in windows, by the times at which its parts are true of all segments."""
        reached = closed_span(Fraction(0), Fraction(min(pipe.inside_until, pipe.until)))
        return timed_truth(formula, lambda one: self._times(one, pipe), Lifetimes(reached)).at(Fraction(0))

    def _times(self, condition: Formula, pipe: Flowpipe) -> TimedTruth:
        """The times at which a condition is true (or false) on every segment."""
        self.tick()
        decided = self.conditions.over(condition, pipe)
        followed = closed_span(Fraction(0), Fraction(pipe.until))
        return TimedTruth(*(followed & ~_covered(pipe.times[~known]) for known in (decided.true, decided.false)))

    def _always(self, condition: Formula, bound: Bound, pipe: Flowpipe) -> bool | None:
        meets, decided = self._over(condition, bound, pipe)
        if pipe.until >= _end(bound) and decided.true[meets].all():
            return True
        return False if self._at_some_time(decided.false, bound, pipe) else None

    def _eventually(self, condition: Formula, bound: Bound, pipe: Flowpipe) -> bool | None:
        meets, decided = self._over(condition, bound, pipe)
        if self._at_some_time(decided.true, bound, pipe):
            return True
        return False if pipe.until >= _end(bound) and decided.false[meets].all() else None

    def _over(self, condition: Formula, bound: Bound, pipe: Flowpipe) -> tuple[Mask, SegmentTruth]:
        """The segments that meet the bound, and the condition over all of those."""
        asked = id(pipe), id(condition), bound  # one condition may be asked about several spans of time
        known = self._known.get(asked)
        if known is not None:
            return known[1:]
        meets = (pipe.times[:, 0] <= _end(bound)) & (pipe.times[:, 1] >= float_below(bound.lower))
        part = self.conditions.over(condition, pipe.part(meets))
        whole = SegmentTruth(np.zeros(len(meets), dtype=bool), np.zeros(len(meets), dtype=bool))
        whole.true[meets], whole.false[meets] = part.true, part.false
        self._known = {key: entry for key, entry in self._known.items() if entry[0] is pipe}
        self._known[asked] = pipe, meets, whole
        return meets, whole

    def margin(self, formula: Formula, pipe: Flowpipe) -> float:
        """A lower bound of the margin of a formula in negation normal form, over all trajectories of the pipe."""
        match formula:
            case Always(arg, bound) if not is_timed(arg):
                return self._least(arg, bound, pipe)
            case Eventually(arg, bound) if not is_timed(arg):
                return self._most(arg, bound, pipe)
            case And(args) if is_timed(formula):
                return min(self.margin(arg, pipe) for arg in args)
            case Or(args) if is_timed(formula):
                return max(self.margin(arg, pipe) for arg in args)
        return -math.inf if is_timed(formula) else self._least(formula, BEGINNING, pipe)

    @property
    def measures(self) -> bool:
        """Whether margins are measured: not of U and of windows in windows."""
        return is_plain(self.question.claim.normal)

    def _least(self, condition: Formula, bound: Bound, pipe: Flowpipe) -> float:
        """The margin of a condition at all times of the bound."""
        if pipe.until < _end(bound):
            return -math.inf
        meets = (pipe.times[:, 0] <= _end(bound)) & (pipe.times[:, 1] >= float_below(bound.lower))
        found = self.conditions.margins(condition, pipe.part(meets))
        return float(np.min(found, initial=math.inf))

    def _most(self, condition: Formula, bound: Bound, pipe: Flowpipe) -> float:
        """The margin of a condition at the best time of the bound that every trajectory reaches."""
        margins, instants, best = self.conditions.margins(condition, pipe), _instants(bound, pipe), -math.inf
        for part in np.array_split(instants, 1 + len(instants) * len(margins) // AT_ONCE):
            self.tick()
            there = (pipe.times[None, :, 0] <= part[:, None]) & (part[:, None] <= pipe.times[None, :, 1])
            least = np.where(there, margins, math.inf).min(axis=1, initial=math.inf)
            best = max(best, float(least[there.any(axis=1)].max(initial=-math.inf)))
        return best

    def proven_until(self, pipe: Flowpipe) -> float | None:
        """Of a claim `G[a,b] p`, until when it is proven by this pipe; None of other claims."""
        claim = self.question.claim.normal
        if not isinstance(claim, Always) or is_timed(claim.arg):
            return None
        meets, decided = self._over(claim.arg, claim.bound, pipe)
        return float(min([pipe.until, _end(claim.bound), *pipe.times[meets & ~decided.true, 0]]))

    def by_box(self, pipe: Flowpipe, until: Floats) -> tuple[Mask, Mask] | None:
        """Of a claim `G[a,b] p`, of which boxes all trajectories keep it, and of which others some set is outside p.

        `until` says for each box, which are the trails of segments, until when these tell everything. None: the claim
        is another one.
        """
        claim = self.question.claim.normal
        if not isinstance(claim, Always) or is_timed(claim.arg):
            return None
        meets, decided = self._over(claim.arg, claim.bound, pipe)
        kept, fails = until >= _end(claim.bound), np.zeros(len(until), dtype=bool)
        kept[pipe.sets.trail[meets & ~decided.true]] = False
        fails[pipe.sets.trail[meets & decided.false]] = True
        return kept, fails & ~kept

    def left_open(self, sets: TemplateSets, times: Floats) -> Mask:
        """Of a claim `G[a,b] p` that no further segment can close, the segments on which p is not known to be true."""
        claim, model = self.question.claim.normal, self.question.model
        if not isinstance(claim, Always) or is_timed(claim.arg):
            return np.zeros(len(sets), dtype=bool)
        pipe = Flowpipe(tuple(variable.name for variable in model.state), sets, times, 0.0, 0.0)
        meets = (times[:, 0] <= _end(claim.bound)) & (times[:, 1] >= float_below(claim.bound.lower))
        found = np.zeros(len(sets), dtype=bool)
        found[meets] = ~self.conditions.over(claim.arg, pipe.part(meets)).true
        return found

    def _at_some_time(self, segments: Mask, bound: Bound, pipe: Flowpipe) -> bool:
        """Whether at some time of the bound, which every trajectory reaches, all segments are among these."""
        instants = _instants(bound, pipe)
        for part in np.array_split(instants, 1 + len(instants) * len(segments) // AT_ONCE):
            self.tick()
            there = (pipe.times[None, :, 0] <= part[:, None]) & (part[:, None] <= pipe.times[None, :, 1])
            if (there.any(axis=1) & ~(there & ~segments).any(axis=1)).any():
                return True
        return False


def _instants(bound: Bound, pipe: Flowpipe) -> Floats:
    """Times of the bound inside the region, one between every two at which a segment begins or ends, and these."""
    last = min(float_below(_upper(bound)), pipe.inside_until, pipe.until)
    first = float_above(bound.lower)
    ends = np.unique(np.clip([first, last, *pipe.times.ravel()], first, last)) if first <= last else np.empty(0)
    return np.concatenate([ends, (ends[1:] + ends[:-1]) / 2])


def _upper(bound: Bound) -> Fraction:
    assert bound.upper is not None, "claims about all of continuous time are refused when they are read"
    return bound.upper


def _end(bound: Bound) -> float:
    return float_above(_upper(bound))


def _covered(spans: Floats) -> TimeSet:
    """All times of some spans, ends included."""
    if not len(spans):
        return NEVER
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    last = np.maximum.accumulate(spans[:, 1])
    begins = np.concatenate([[True], spans[1:, 0] > last[:-1]])  # of those that touch, one is made
    ends = last[np.concatenate([begins[1:], [True]])]
    return union(closed_span(*map(Fraction, pair)) for pair in zip(spans[begins, 0], ends, strict=True))


def _least(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def _most(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False
