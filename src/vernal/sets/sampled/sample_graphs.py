"""Finite graphs over the samples of a loop: what its paths may do, and what is true of them at each sample.

Sets that are followed from a box say at which samples there are paths, with which discrete values, and what of a claim
is true there: these are the positions of a graph. A path over the samples is one through the graph, so what all paths
through the graph keep, all paths of the loop keep (OVER), whatever operators it takes to say it. Where recurrent sets
are known (`evidence.recurrent_set`), the graph has all samples for all time: boxes in which paths are come back to
boxes. Else it has those up to a last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from vernal.errors import Stopped
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.interpret.flow.integration import Segments
from vernal.interpret.numbers.rounding import Floats, Mask, float_above
from vernal.interpret.sampled.resets import DiscreteValues
from vernal.logic.automaton import automaton
from vernal.logic.claim import Claim
from vernal.logic.formula import Always, Atom, Formula, Not, Release, Weak
from vernal.logic.normal import nnf, order
from vernal.logic.prefix import says_something
from vernal.logic.question import Question
from vernal.logic.shortening import stronger
from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided
from vernal.sets.finite.fixpoints import satisfied
from vernal.sets.finite.graph_product import GraphProduct
from vernal.sets.finite.labelled_graph import LabelledGraph, links
from vernal.sets.finite.table import Numbers
from vernal.sets.flow_starts import StartBoxes, cut, start_boxes
from vernal.sets.sampled.loop_space import LoopSpace, LoopStates
from vernal.sets.sampled.returns import FollowedTime, Returns, form_problem, from_boxes
from vernal.sets.search import Stage

DIRECTION = LoopSpace.direction
LIMITS = CuttingLimits(rounds=8, most=4096, patience=3)
MAX_POSITIONS = 500_000
PRODUCT_MEMORY = 2**28  # bytes
TOO_MANY = f"the samples make a graph of more than {MAX_POSITIONS:,} positions"
NOT_FOLLOWED = "{} of the sets that begin there cannot be followed, or come elsewhere, after {} seconds"
WIDTHS = (8, 32, 128)  # bounds in samples of what has to come at last
SAMPLES_TO_ENDS = (16, 64, 256)
NO_ENDS = f"paths may go on for more than {SAMPLES_TO_ENDS[-1]} samples"
NOT_SHOWN = "the sets that were found do not show it"
WHOLE = Always(Atom(TRUE))  # what a recurrent set that only has to be left and met again keeps


# What is true at samples ----------------------------------------------------------------------------------------------


@dataclass
class SampleTruths:
    """Hears at which samples there are sets from which boxes, and what is true of them."""

    atoms: Sequence[Expr]
    done = False
    reached_at: list[tuple[int, DiscreteValues, Numbers, Mask, Mask]] = field(default_factory=list)
    ended_at: list[tuple[int, Numbers]] = field(default_factory=list)

    def reached(self, stage: Stage, states: LoopStates) -> None:
        group, loop = states.group, states.space.loop
        sure, maybe = np.empty((2, len(group.origins), len(self.atoms)), dtype=bool)
        for k, atom in enumerate(self.atoms):
            truth = loop.resetter.truth(loop.plant.resolve(atom), group.values, group.sets)
            sure[:, k], maybe[:, k] = truth.must, truth.may
        self.reached_at.append((stage.t, group.values, group.origins, sure, maybe))

    def kept(self, stage: Stage, states: LoopStates) -> None:
        """Nothing is asked of the sets before the last sample: none is kept."""

    def failed(self, stage: Stage, states: LoopStates) -> None:
        """A path may end here."""
        self.ended_at.append((stage.t, states.group.origins))

    def passed(self, t: int) -> None:
        """All sets of a sample are looked at."""


@dataclass(frozen=True, eq=False)
class SampledStretch:
    """Boxes followed for so many samples: positions (box, sample, values), what is true there, and where each ends."""

    boxes: StartBoxes
    box: Numbers  # of each position
    sample: Numbers
    sure: Mask  # (positions, atoms)
    maybe: Mask
    may_end: Mask
    ends: Sequence[Floats]  # of each box, the boxes in which it is in the end: (k, 2, lasting)

    def at(self, sample: int) -> Numbers:
        """The positions at a sample, in the order of their boxes."""
        return np.flatnonzero(self.sample == sample)


class StretchFollower:
    """Follows boxes of one loop for a number of samples."""

    def __init__(self, model: Model, samples: int, atoms: Sequence[Expr], tick: Tick, *, last: bool) -> None:
        """`last`: whether the last sample is one of the positions; else it is the first of what follows."""
        assert model.grid is not None
        self.model, self.samples, self.atoms, self.tick = model, samples, atoms, tick
        self.count = samples + last
        self.returns = Returns(model, WHOLE.arg, FollowedTime(samples * model.grid), tick)
        self.duration = float_above(samples * model.grid)

    def follow(self, boxes: StartBoxes, arrives: Callable[[Floats], bool]) -> SampledStretch | None:
        """All of the boxes, cut where that takes it to end in sets that arrive; None where these do not."""
        closed: list[SampledStretch] = []

        def decide(own: StartBoxes) -> _Lost:
            lost, influence = [np.zeros(0, dtype=bool)], [np.empty((0, own.lower.shape[1]))]
            heard = SampleTruths(self.atoms)
            first = 0
            for found in self.returns.rounds.follow(own, handler=heard):
                part = own[first : first + len(found.until)]
                first += len(part)
                stretch, good = self._stretch(part, found, heard, arrives)
                closed.append(stretch)
                heard.reached_at, heard.ended_at = [], []
                lost.append(~good)
                influence.append(found.influence[~good] + 1e-9)
                if sum(len(one.box) for one in closed) > MAX_POSITIONS:
                    raise Stopped(TOO_MANY)
            return _Lost(own[np.concatenate(lost)], np.concatenate(influence))

        end = cut_until_decided(
            boxes, decide, lambda left: cut(self.model, left.boxes, left.influence), LIMITS, self.tick
        )
        return _joined(closed) if end.end is CuttingEnd.DECIDED else None

    def _stretch(
        self, part: StartBoxes, found: Segments, heard: SampleTruths, arrives: Callable[[Floats], bool]
    ) -> tuple[SampledStretch, Mask]:
        """What is known of the boxes of a batch that were followed to the end; which those are."""
        count = len(part)
        on = np.zeros(count, dtype=bool)
        for t, _, origins, _, _ in heard.reached_at:
            on[origins] |= t == self.samples
        good: Mask = found.until >= self.duration
        ends = [np.empty((0, 2, len(self.returns.columns)))] * count
        if self.count == self.samples:
            ends = self.returns.ends(found) if on.any() else ends
            for box in np.flatnonzero(good & on):
                good[box] = len(ends[box]) > 0 and arrives(ends[box])
        place = np.cumsum(good) - 1
        kept = [ends[box] if on[box] else ends[box][:0] for box in np.flatnonzero(good)]
        return _positions(part[good], heard, np.where(good, place, -1), self.count, kept), good


@dataclass(frozen=True, eq=False)
class _Lost:
    boxes: StartBoxes
    influence: Floats

    def __len__(self) -> int:
        return len(self.boxes)


def _positions(
    boxes: StartBoxes, heard: SampleTruths, place: Numbers, count: int, ends: Sequence[Floats]
) -> SampledStretch:
    """The positions of some boxes, each once; `place` is the number of each box, or -1."""
    kinds: dict[DiscreteValues, int] = {}
    width = len(heard.atoms)
    keys = [np.empty((0, 3), dtype=np.int64)]
    sure, maybe = [np.empty((0, width), bool)], [np.empty((0, width), bool)]
    for t, values, origins, surely, possibly in heard.reached_at:
        own = place[origins] >= 0
        if t < count and own.any():
            kind = kinds.setdefault(values, len(kinds))
            boxed = place[origins[own]]
            keys.append(np.stack([boxed, np.full_like(boxed, t), np.full_like(boxed, kind)], axis=1))
            sure.append(surely[own])
            maybe.append(possibly[own])
    every = np.concatenate(keys)
    found, which = np.unique(every, axis=0, return_inverse=True)
    which = which.reshape(-1)
    surely, possibly = np.ones((len(found), width), bool), np.zeros((len(found), width), bool)
    np.logical_and.at(surely, which, np.concatenate(sure))
    np.logical_or.at(possibly, which, np.concatenate(maybe))
    ending = np.zeros((len(boxes), count + 1), bool)
    for t, origins in heard.ended_at:
        boxed = place[origins]
        ending[boxed[boxed >= 0], min(t, count)] = True
    return SampledStretch(boxes, found[:, 0], found[:, 1], surely, possibly, ending[found[:, 0], found[:, 1]], ends)


def _joined(parts: Sequence[SampledStretch]) -> SampledStretch:
    """Stretches as one; boxes are numbered through."""
    firsts = np.cumsum([0, *(len(part.boxes) for part in parts)])[:-1]
    boxes = StartBoxes(
        np.concatenate([part.boxes.lower for part in parts]), np.concatenate([part.boxes.upper for part in parts])
    )
    box = np.concatenate([part.box + first for part, first in zip(parts, firsts, strict=True)])
    sample = np.concatenate([part.sample for part in parts])
    sure, maybe = (np.concatenate([getattr(part, name) for part in parts]) for name in ("sure", "maybe"))
    may_end = np.concatenate([part.may_end for part in parts])
    return SampledStretch(boxes, box, sample, sure, maybe, may_end, [end for part in parts for end in part.ends])


# Graphs ---------------------------------------------------------------------------------------------------------------


class GraphBuilder:
    """Numbers the positions of stretches, and links them."""

    def __init__(self) -> None:
        self.stretches: list[SampledStretch] = []
        self.firsts: list[int] = []
        self.size = 0
        self.sources: list[Numbers] = []
        self.targets: list[Numbers] = []
        self.rows: Numbers = np.zeros(0, np.int64)  # of a graph that was made: the position that each of its own is

    def add(self, stretch: SampledStretch) -> int:
        """A stretch with its own links; the number of its first position."""
        self.stretches.append(stretch)
        self.firsts.append(self.size)
        first, self.size = self.size, self.size + len(stretch.box)
        last = int(stretch.sample.max(initial=0))
        for now, after in pairwise(stretch.at(sample) for sample in range(last + 1)):
            self._link(first, stretch.box[now], now, first, stretch.box[after], after)
        return first

    def _link(self, first: int, boxes: Numbers, now: Numbers, other: int, others: Numbers, after: Numbers) -> None:
        """Positions of the same box, each to each."""
        low, high = np.searchsorted(others, boxes, "left"), np.searchsorted(others, boxes, "right")
        counts = high - low
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        self.sources.append(first + np.repeat(now, counts))
        self.targets.append(other + after[np.repeat(low, counts) + offsets])

    def close(self, stretch: SampledStretch, samples: int, around: SampledStretch, returns: Returns) -> None:
        """Link the last positions of a stretch to the boxes of another in which its ends are."""
        first, other = (self.firsts[self.stretches.index(one)] for one in (stretch, around))
        heads, starts = around.at(0), returns.lasting_ends(around.boxes)
        for position in stretch.at(samples - 1):
            ends = stretch.ends[int(stretch.box[position])]
            met = meeting(ends, starts)
            after = heads[met[around.box[heads]]]
            self.sources.append(np.full(len(after), first + position))
            self.targets.append(other + after)

    def graph(self, initial: Numbers, atoms: Sequence[Expr], *, complete: bool) -> LabelledGraph:
        """All positions; one at which a path may end, or go on, has a twin at which it ends."""
        may_end = np.concatenate([one.may_end for one in self.stretches])
        sources, targets = np.concatenate(self.sources), np.concatenate(self.targets)
        ending = np.flatnonzero(may_end & (np.bincount(sources, minlength=self.size) > 0))
        twin = np.full(self.size, -1)
        twin[ending] = self.size + np.arange(len(ending))
        to_twins = twin[targets] >= 0
        sources = np.concatenate([sources, sources[to_twins]])
        targets = np.concatenate([targets, twin[targets[to_twins]]])
        order = np.argsort(sources, kind="stable")
        self.rows = rows = np.concatenate([np.arange(self.size), ending])
        sure, maybe = (np.concatenate([getattr(s, name) for s in self.stretches])[rows] for name in ("sure", "maybe"))
        return LabelledGraph(
            successors=links(sources[order], targets[order], len(rows)),
            sure={atom: sure[:, k] for k, atom in enumerate(atoms)},
            maybe={atom: maybe[:, k] for k, atom in enumerate(atoms)},
            initial=np.concatenate([initial, twin[initial][twin[initial] >= 0]]),
            complete=complete,
        )


def meeting(ends: Floats, starts: Floats) -> Mask:
    """Which boxes (n, 2, d) have a point in common with some of others (k, 2, d)."""
    met = np.zeros(len(starts), dtype=bool)
    for low, high in ends:
        met |= ((starts[:, 0] <= high) & (starts[:, 1] >= low)).all(axis=1)
    return met


def graph_up_to(
    model: Model, boxes: StartBoxes, samples: int, atoms: Sequence[Expr], tick: Tick = idle
) -> tuple[LabelledGraph, StartBoxes, Numbers]:
    """The samples from some boxes up to a last one; parts of the boxes, and in which of these initial positions are."""
    stretch = StretchFollower(model, samples, atoms, tick, last=True).follow(boxes, lambda ends: True)
    if stretch is None:
        raise Stopped(NOT_FOLLOWED.format("some", float(samples * (model.grid or 0))))
    builder = GraphBuilder()
    builder.add(stretch)
    graph = builder.graph(stretch.at(0), atoms, complete=False)
    return graph, stretch.boxes, stretch.box[builder.rows[graph.initial]]


def graph_to_all_ends(model: Model, atoms: Sequence[Expr], tick: Tick = idle) -> LabelledGraph:
    """All samples of a loop all of whose paths end before long; `Stopped` where they are not seen to."""
    for samples in SAMPLES_TO_ENDS:
        follower = StretchFollower(model, samples, atoms, tick, last=True)
        stretch = follower.follow(start_boxes(model), lambda ends: True)
        if stretch is not None and not len(stretch.at(samples)):
            builder = GraphBuilder()
            builder.add(stretch)
            return builder.graph(stretch.at(0), atoms, complete=True)
    raise Stopped(NO_ENDS)


def graph_for_all_time(model: Model, found: RecurrentSet, atoms: Sequence[Expr], tick: Tick = idle) -> LabelledGraph:
    """The samples for all time, by recurrent sets; `Stopped` where these are none."""
    grid = model.grid
    assert grid is not None
    if (problem := form_problem(model, found)) is not None or found.section is not None:
        raise Stopped(problem or NOT_SHOWN)
    whole = from_boxes(model, found.boxes)
    builder, cycle = GraphBuilder(), int(found.period / grid)
    follower = StretchFollower(whole, cycle, atoms, tick, last=False)
    returns = follower.returns

    def arrives(ends: Floats) -> bool:
        return all(returns.covers(low, high, found.boxes) for low, high in ends)

    around = _followed(follower, returns.boxes(found.boxes), arrives, found.period)
    second = builder.add(around)
    builder.close(around, cycle, around, returns)
    starts = start_boxes(model)
    if not found.arrival:
        ends = returns.lasting_ends(starts)
        if not arrives(ends):
            raise Stopped(NOT_FOLLOWED.format(len(starts), 0.0))
        heads = around.at(0)
        initial = second + heads[meeting(ends, returns.lasting_ends(around.boxes))[around.box[heads]]]
    else:
        steps = int(found.arrival / grid)
        before = _followed(StretchFollower(model, steps, atoms, tick, last=False), starts, arrives, found.arrival)
        first = builder.add(before)
        builder.close(before, steps, around, returns)
        initial = first + before.at(0)
    return builder.graph(initial, atoms, complete=True)


def _followed(
    follower: StretchFollower, boxes: StartBoxes, arrives: Callable[[Floats], bool], time: Fraction
) -> SampledStretch:
    stretch = follower.follow(boxes, arrives)
    if stretch is None:
        raise Stopped(NOT_FOLLOWED.format("some", float(time)))
    return stretch


# Claims ---------------------------------------------------------------------------------------------------------------


def bounded_forms(claim: Claim) -> Iterator[Formula]:
    """With bounds, more and more of them: formulas that imply a claim of what has to come at last."""
    linear = claim.linear
    if linear is None or any(_is_endless(node) for node in order(nnf(linear))):
        return
    for width in WIDTHS:
        formula = stronger(linear, width, total=False)
        if says_something(formula):
            yield formula


def _is_endless(node: Formula) -> bool:
    """Whether an operator asks something of all samples, so that no bound implies it."""
    return isinstance(node, Always | Release | Weak) and node.bound.upper is None


def all_keep(graph: LabelledGraph, claim: Claim, tick: Tick = idle) -> bool:
    """Whether all paths of a graph keep a claim of all paths."""
    if claim.linear is None:
        return bool(satisfied(claim.formula, graph, tick).sure[graph.initial].all())
    return not _is_broken(graph, claim.linear, tick, sure=False)


def may_keep(graph: LabelledGraph, claim: Claim, tick: Tick = idle) -> bool:
    """Whether no path of a graph surely breaks a claim of all paths, whatever is true where it is not known."""
    if claim.linear is None:
        return bool(satisfied(claim.formula, graph, tick).maybe[graph.initial].all())
    return not _is_broken(graph, claim.linear, tick, sure=True)


def _is_broken(graph: LabelledGraph, path: Formula, tick: Tick, *, sure: bool) -> bool:
    """Whether a path from an initial position breaks a formula, surely or perhaps."""
    product = GraphProduct(graph, automaton(Not(path), tick=tick), tick, sure=sure, most_bytes=PRODUCT_MEMORY)
    return len(graph.initial) > 0 and product.accepted(graph.initial) is not None


def samples_problem(question: Question, found: RecurrentSet | None, tick: Tick = idle) -> str | None:
    """Why sets followed over the samples do not show a claim, for all time by recurrent sets; None where they do."""
    claim = question.claim
    if claim.mentions_some:
        if claim.sufficient is None:
            return NOT_SHOWN
        claim = Claim(claim.sufficient, claim.time)
    starts = start_boxes(question.model)
    if not len(starts):
        return None
    try:
        if found is not None:
            graph = graph_for_all_time(question.model, found, claim.atoms, tick)
        elif claim.horizon is not None:
            graph, _, _ = graph_up_to(question.model, starts, claim.horizon, claim.atoms, tick)
        elif any(samples_problem(replace(question, formula=form), None, tick) is None for form in bounded_forms(claim)):
            return None
        else:
            graph = graph_to_all_ends(question.model, claim.atoms, tick)
    except Stopped as stop:
        tick()  # its own limits end the check
        return stop.reason
    return None if all_keep(graph, claim, tick) else NOT_SHOWN
