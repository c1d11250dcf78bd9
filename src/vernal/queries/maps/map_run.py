"""The run of a map: the largest undecided cells first, asked in batches, and cut where nothing is decided.

A cell in which a run fails, but not all of it, is cut like an open one, until the rule is met or there are as many
cells as asked for. Then what is left is asked once, the largest cells by themselves, and runs that fail are replayed.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from vernal.errors import InputError, Stopped
from vernal.queries.maps.cell_answers import CellAnswer, CellSlopes
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_starts import separate_starts
from vernal.queries.maps.cell_tree import UNCUT, CellBox, CellKind, MapTree
from vernal.run.budget import Budget

MAX_CUTS = 40  # of one axis: cells are no narrower than a part in so many powers of two
MAX_ELONGATION = 8  # times longer than another, in parts of its axis, a cell may become
STEEPER = 2.0  # times, where another axis than the longest is cut
MAX_SHOWN = 400  # cells of a sheet that fail as a whole, for which a path is made
SHOWING_SECONDS = 10.0  # for that, at most
CELL_SECONDS = 2.0  # for a cell that is asked by itself
LAST_SECONDS, LAST_SHARE = 5.0, 0.25  # at the end for all of those: at least, and of the time so far
REPLAY_SHARE = 0.15  # of the time so far, for paths from cells that are cut no further
PREVIEWED = 64  # cells that are looked at together before they are asked one by one
MAX_TRACES = 10_000  # of a map: each takes some kilobytes
RULE = re.compile(r"\s*open\s*<\s*([0-9.]+)\s*%\s*")
DECIDED = (CellKind.SAFE, CellKind.WHOLLY_UNSAFE, CellKind.NO_START)

Event = Mapping[str, object]


def parse_rule(text: str) -> Fraction:
    """`open < 1%` as a share."""
    found = RULE.fullmatch(text)
    try:
        share = Fraction(found[1]) / 100 if found else None
    except ValueError:
        share = None
    if share is None or share > 1:
        raise InputError(f'--until wants a share of the map, as in "open < 1%", not {text!r}')
    return share


class WaitingCell(NamedTuple):
    """A leaf that nobody is asked about, the largest first."""

    size: float  # negative, since the least comes first
    node: int
    sheet: int
    box: CellBox


@dataclass
class MapRun:
    """A tree under way, and who is asked about its sheets."""

    tree: MapTree
    questions: Sequence[CellQuestions]
    budget: Budget
    until: Fraction = Fraction(1, 100)
    most: int = 4096
    cell_seconds: float = CELL_SECONDS
    counts_steps: bool = False  # whether steps are counted of what is not safe in the end
    tell: Callable[[Event], None] = lambda event: None
    asked: int = 0
    stopped: str | None = None
    waiting: list[WaitingCell] = field(default_factory=list)  # a heap
    kept: list[WaitingCell] = field(default_factory=list)  # cells that were asked, stay open and are cut no further
    elsewhere: Callable[[], None] | None = None  # asks cells in other processes
    previews: dict[int, tuple[bool, CellSlopes | None]] = field(default_factory=dict)  # of waiting cells: whether the
    # border seems to run through, and slopes
    left: Fraction = Fraction(0)  # the share of what is neither safe nor wholly unsafe

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        for sheet, node, box in self.tree.cells():
            if self.tree.kind_of(node) not in DECIDED:
                self._wait(sheet, node, box)
                self.left += self.tree.share(box)

    def _wait(self, sheet: int, node: int, box: CellBox) -> None:
        heapq.heappush(self.waiting, WaitingCell(-float(self.tree.share(box)), node, sheet, box))

    @property
    def is_met(self) -> bool:
        return self.left < self.until or self.left == 0

    @property
    def why_open(self) -> str:
        """Why cells are open that were not asked by themselves."""
        if self.stopped is not None:
            return f"not decided yet when the map ended ({self.stopped}); more time goes on"
        if self.is_met:
            share = f"{100 * float(self.until):.3g} %"
            return f"not decided yet: the map ended when less than {share} was open; a smaller --until goes on"
        return "bounds and runs of many cells at once decide nothing here; more --cells cut it further"

    def go(self) -> None:
        """Until the rule is met, nothing is left to ask, or a limit is reached: what is known by then stays."""
        try:
            self._cut_first()
            if self.elsewhere is not None:
                self.elsewhere()
            while self.waiting and not self.is_met:
                self.budget.check()
                cells = self.taken()
                self.answered(cells, self._asked(cells))
            self._refute()
            if self.elsewhere is None:
                self._look_again()
            self._separate_starts()
            self._show()
            if self.counts_steps:
                self._count_steps()
        except Stopped as stop:
            self.stopped = stop.reason

    def _separate_starts(self) -> None:
        """Points without a start are no part of safe cells, as far as cells may be cut."""
        until = time.monotonic() + max(LAST_SECONDS, REPLAY_SHARE * (time.monotonic() - self.began))
        separate_starts(self.tree, self.questions, self.until, self.most, self.budget, until)

    def _look_again(self) -> None:
        """Cells that batches leave open and that are cut no further are asked by themselves, the largest first."""
        until = time.monotonic() + max(LAST_SECONDS, LAST_SHARE * (time.monotonic() - self.began))
        left = [cell for cell in [*self.waiting, *self.kept] if self.questions[cell.sheet].in_batches]
        for _, node, sheet, box in sorted(left):
            if self.is_met or time.monotonic() > until:
                return
            if self.tree.kind_of(node) is not CellKind.OPEN:
                continue
            answer = self._alone(self.questions[sheet], box, whole=False)
            self.asked += 1
            if answer.kind in DECIDED:
                self._settle(node, box, answer)
            else:
                self.leave(node, answer)

    def _refute(self) -> None:
        """Where a run from an open cell that is cut no further fails, it is unsafe; so many are computed exactly."""
        cells: dict[int, list[WaitingCell]] = {}
        for cell in [*self.waiting, *self.kept]:
            if self.tree.kind_of(cell.node) is CellKind.OPEN and self.questions[cell.sheet].in_batches:
                cells.setdefault(cell.sheet, []).append(cell)
        until = time.monotonic() + max(SHOWING_SECONDS, REPLAY_SHARE * (time.monotonic() - self.began))
        for sheet, own in cells.items():
            own.sort()
            room = max(0, MAX_TRACES - len(self.tree.evidence))
            found = self.questions[sheet].shown([cell.box for cell in own], self.budget, until, room)
            for cell, trace in zip(own, found, strict=False):
                if trace is not None:
                    self.leave(cell.node, CellAnswer(trace=trace))

    def _count_steps(self) -> None:
        """For how many steps the claim is proven of all cells that are not safe."""
        wanted: dict[int, list[tuple[int, CellBox]]] = {}
        for sheet, node, box in self.tree.cells():
            if self.tree.kind_of(node) not in (CellKind.SAFE, CellKind.NO_START):
                wanted.setdefault(sheet, []).append((node, box))
        for sheet, cells in wanted.items():
            for start in range(0, len(cells), most := self.questions[sheet].batch):
                part = cells[start : start + most]
                self.budget.check()
                found = self.questions[sheet].steps([box for _, box in part], self.budget)
                self.tree.steps.update(zip((node for node, _ in part), found, strict=True))

    def _show(self) -> None:
        """A path for some cells that were shown to fail as a whole: the largest, evenly over the map."""
        failing: dict[int, list[tuple[float, int, CellBox]]] = {}
        for sheet, node, box in self.tree.cells():
            if self.tree.kind_of(node) is CellKind.WHOLLY_UNSAFE and node not in self.tree.evidence:
                failing.setdefault(sheet, []).append((-float(self.tree.share(box)), node, box))
        until = time.monotonic() + SHOWING_SECONDS
        for sheet, cells in failing.items():
            cells.sort()
            wanted = cells[:: max(1, len(cells) // MAX_SHOWN)][:MAX_SHOWN]
            for (_, node, _), trace in zip(
                wanted, self.questions[sheet].shown([box for *_, box in wanted], self.budget, until), strict=False
            ):
                if trace is not None:
                    self.tree.evidence[node] = trace

    def _cut_first(self) -> None:
        """Cells large enough to be hopeless are not asked in batches at all."""
        while self.waiting:
            _, node, sheet, box = self.waiting[0]
            first = min(self.questions[sheet].first_cells, max(1, self.most // 4))
            if self.tree.leaves >= first or not self._cut(sheet, node, box, pop=True):
                return

    def _cut(self, sheet: int, node: int, box: CellBox, slopes: CellSlopes | None = None, *, pop: bool = False) -> bool:
        axis = self._cut_axis(box, slopes)
        if axis is None or self.tree.leaves >= self.most:
            return False
        if pop:
            heapq.heappop(self.waiting)
        self.tree.reasons.pop(node, None)
        self.tree.steps.pop(node, None)
        evidence = self.tree.evidence.pop(node, None)
        self.tree.set(node, CellKind.OPEN)
        for number, part in self.tree.cut(node, box, axis):
            self._wait(sheet, number, part)
            if evidence is not None and self._starts_in(evidence, part):
                self.tree.evidence[number] = evidence
                self.tree.set(number, CellKind.UNSAFE)
        return True

    def _starts_in(self, evidence: object, box: CellBox) -> bool:
        steps = getattr(evidence, "steps", None)
        if not steps:
            return False
        values = [steps[0].state[axis.name] for axis in self.tree.axes]
        ends = zip(values, box, strict=True)
        return all(isinstance(value, Fraction) and low <= value <= high for value, (low, high) in ends)

    def _cut_axis(self, box: CellBox, slopes: CellSlopes | None = None) -> int | None:
        """The axis along which a cell is longest, or the margin changes clearly more; None where it cannot be cut.

        CellSlopes are guesses, and cells become no needles.
        """
        parts = {
            number: axis.size(ends) / axis.size(axis.ends)
            for number, (axis, ends) in enumerate(zip(self.tree.axes, box, strict=True))
            if axis.can_cut(ends) and axis.size(ends) * 2**MAX_CUTS > axis.size(axis.ends)
        }
        if not parts:
            return None
        longest = max(parts, key=lambda number: (parts[number], -number))
        near = [number for number, part in parts.items() if part * MAX_ELONGATION > parts[longest]]
        steepest = longest if slopes is None else max(near, key=lambda number: slopes[number])
        return steepest if slopes is not None and slopes[steepest] > STEEPER * slopes[longest] else longest

    def taken(self, most: int | None = None) -> list[WaitingCell]:
        """The next cells: the largest, all of one sheet."""
        sheet = self.waiting[0].sheet
        if not self.questions[sheet].in_batches:
            return [self._taken_alone()]
        most = self.questions[sheet].batch if most is None else min(most, self.questions[sheet].batch)
        taken: list[WaitingCell] = []
        while self.waiting and len(taken) < most and self.waiting[0].sheet == sheet:
            taken.append(heapq.heappop(self.waiting))
        return taken

    def _taken_alone(self) -> WaitingCell:
        """The next cell that is asked by itself; those through which the border seems to run are cut at once."""
        while True:
            if self.waiting[0].node not in self.previews:
                self._preview(self.waiting[0].sheet)
            cell = self.waiting[0]
            mixed, slopes = self.previews[cell.node]
            if not (mixed and self._cut(cell.sheet, cell.node, cell.box, slopes, pop=True)):
                return heapq.heappop(self.waiting)

    def _preview(self, sheet: int) -> None:
        """Look at the next cells of a sheet."""
        cells = [cell for cell in heapq.nsmallest(PREVIEWED, self.waiting) if cell.sheet == sheet]
        seen = self.questions[sheet].preview([cell.box for cell in cells], self.budget)
        for place, cell in enumerate(cells):
            self.previews[cell.node] = (
                (bool(seen.mixed[place]), tuple(seen.slopes[place].tolist())) if seen is not None else (False, None)
            )

    def _asked(self, cells: Sequence[WaitingCell]) -> list[CellAnswer]:
        questions, boxes = self.questions[cells[0].sheet], [cell.box for cell in cells]
        return questions.together(boxes, self.budget) if questions.in_batches else [self._alone(questions, boxes[0])]

    def answered(self, cells: Sequence[WaitingCell], answers: Sequence[CellAnswer]) -> None:
        """Take what was found of some cells: it is settled, or they are cut."""
        self.asked += len(cells)
        for cell, answer in zip(cells, answers, strict=True):
            self._take(cell, answer)
        self._say()

    def _alone(self, questions: CellQuestions, box: CellBox, *, whole: bool = True) -> CellAnswer:
        seconds = min(self.cell_seconds, self.budget.left)
        budget = replace(self.budget, timeout=seconds, started=time.monotonic()).apart()
        return questions.alone(box, budget, whole=whole)

    def _take(self, cell: WaitingCell, answer: CellAnswer) -> None:
        _, node, sheet, box = cell
        if answer.kind in DECIDED:
            self._settle(node, box, answer)
            return
        if answer.kind is CellKind.UNSAFE and answer.trace is not None:
            self.leave(node, answer)
        slopes = answer.slopes if answer.slopes is not None else self.previews.pop(node, (False, None))[1]
        if self._cut(sheet, node, box, slopes):
            return
        if self.questions[sheet].in_batches and self._cut_axis(box) is None:  # a single point, or as good as one
            answer = self._alone(self.questions[sheet], box)
            if answer.kind in DECIDED:
                self._settle(node, box, answer)
                return
        self.leave(node, answer)
        self.kept.append(cell)

    def leave(self, node: int, answer: CellAnswer) -> None:
        """A cell that is neither safe nor wholly unsafe, with a path from it that fails, or why there is none."""
        if answer.trace is not None:
            self.tree.set(node, CellKind.UNSAFE)
            self.tree.evidence[node] = answer.trace
        elif answer.reason:
            self.tree.reasons[node] = answer.reason

    def _settle(self, node: int, box: CellBox, answer: CellAnswer) -> None:
        assert self.tree.axis[node] == UNCUT
        self.tree.set(node, answer.kind, answer.margin)
        self.tree.evidence.pop(node, None)
        if answer.trace is not None:
            self.tree.evidence[node] = answer.trace
        self.left -= self.tree.share(box)

    def _say(self) -> None:
        seconds = time.monotonic() - self.began
        rate = self.asked / seconds if seconds > 0 else 0.0
        left = float(self.left)
        ahead = len(self.waiting) / rate if rate > 0 else 0.0
        self.budget.progress(
            f"{self.tree.leaves:,} cells, {100 * left:.3g} % open, {rate:,.0f} cells/s, about {ahead:.0f} s for these",
            1 - left,
        )
        self.tell(
            {"event": "batch", "cells": self.tree.leaves, "asked": self.asked, "waiting": len(self.waiting)}
            | {"open": left, "rate": rate, "seconds": seconds}
        )
