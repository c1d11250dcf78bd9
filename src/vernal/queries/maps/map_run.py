"""The run of a map: the largest undecided cells first, asked in batches, and cut where nothing is decided.

A cell in which a run fails, but not all of it, is cut like an open one, until the rule is met or there are as many
cells as asked for. Then what is left is asked once, and runs that fail are replayed exactly.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vernal.errors import InputError, Stopped
from vernal.queries.maps.cell_questions import CellAnswer, CellQuestions
from vernal.queries.maps.cell_tree import UNCUT, CellBox, CellKind, MapTree
from vernal.run.budget import Budget

FIRST_CELLS = 1024  # before the first batch, at most a quarter of all
MAX_CUTS = 40  # of one axis: cells are no narrower than a part in so many powers of two
MAX_ELONGATION = 8  # times longer than another, in parts of its axis, a cell may become
MAX_SHOWN = 400  # cells of a sheet that fail as a whole, for which a path is made
SHOWING_SECONDS = 10.0  # for that, at most
CELL_SECONDS = 2.0  # for a cell that is asked by itself
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


@dataclass
class MapRun:
    """A tree under way, and who is asked about its sheets."""

    tree: MapTree
    questions: Sequence[CellQuestions]
    budget: Budget
    until: Fraction = Fraction(1, 100)
    most: int = 4096
    cell_seconds: float = CELL_SECONDS
    tell: Callable[[Event], None] = lambda event: None
    asked: int = 0
    stopped: str | None = None
    waiting: list[tuple[float, int, int, CellBox]] = field(default_factory=list)  # largest first: sheet, node, box
    left: Fraction = Fraction(0)  # the share of what is neither safe nor wholly unsafe

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        for sheet, node, box in self.tree.cells():
            if self.tree.kind_of(node) not in DECIDED:
                self._wait(sheet, node, box)
                self.left += self.tree.share(box)

    def _wait(self, sheet: int, node: int, box: CellBox) -> None:
        heapq.heappush(self.waiting, (-float(self.tree.share(box)), node, sheet, box))

    @property
    def is_met(self) -> bool:
        return self.left < self.until or self.left == 0

    def go(self) -> None:
        """Until the rule is met, nothing is left to ask, or a limit is reached: what is known by then stays."""
        try:
            self._cut_first()
            while self.waiting and not self.is_met:
                self.budget.check()
                self._batch(self._taken())
                self._say()
            self._show()
        except Stopped as stop:
            self.stopped = stop.reason

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
        while self.waiting and self.tree.leaves < min(FIRST_CELLS, max(1, self.most // 4)):
            _, node, sheet, box = self.waiting[0]
            if not self.questions[sheet].in_batches or not self._cut(sheet, node, box, pop=True):
                return

    def _cut(self, sheet: int, node: int, box: CellBox, *, pop: bool = False) -> bool:
        axis = self._cut_axis(box)
        if axis is None or self.tree.leaves >= self.most:
            return False
        if pop:
            heapq.heappop(self.waiting)
        self.tree.reasons.pop(node, None)
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

    def _cut_axis(self, box: CellBox) -> int | None:
        """The axis along which a cell is longest, as a part of the whole; None where it cannot be cut."""
        parts = [
            (axis.size(ends) / axis.size(axis.ends), -number)
            for number, (axis, ends) in enumerate(zip(self.tree.axes, box, strict=True))
            if axis.can_cut(ends) and axis.size(ends) * 2**MAX_CUTS > axis.size(axis.ends)
        ]
        return -max(parts)[1] if parts else None

    def _taken(self) -> list[tuple[int, int, CellBox]]:
        """The next cells: the largest, all of one sheet."""
        sheet = self.waiting[0][2]
        most = self.questions[sheet].batch
        taken: list[tuple[int, int, CellBox]] = []
        while self.waiting and len(taken) < most and self.waiting[0][2] == sheet:
            _, node, _, box = heapq.heappop(self.waiting)
            taken.append((sheet, node, box))
        return taken

    def _batch(self, cells: Sequence[tuple[int, int, CellBox]]) -> None:
        questions = self.questions[cells[0][0]]
        boxes = [box for _, _, box in cells]
        answers = questions.together(boxes, self.budget) if questions.in_batches else [self._alone(questions, boxes[0])]
        self.asked += len(cells)
        for (sheet, node, box), answer in zip(cells, answers, strict=True):
            self._take(questions, sheet, node, box, answer)

    def _alone(self, questions: CellQuestions, box: CellBox) -> CellAnswer:
        seconds = min(self.cell_seconds, self.budget.left)
        return questions.alone(box, replace(self.budget, timeout=seconds, started=time.monotonic()).apart())

    def _take(self, questions: CellQuestions, sheet: int, node: int, box: CellBox, answer: CellAnswer) -> None:
        if answer.kind in DECIDED:
            self._settle(node, box, answer)
            return
        if answer.kind is CellKind.UNSAFE and answer.trace is not None:
            self.tree.set(node, CellKind.UNSAFE)
            self.tree.evidence[node] = answer.trace
        if self._cut(sheet, node, box):
            return
        if questions.in_batches and self._cut_axis(box) is None:  # a single point, or as good as one
            answer = self._alone(questions, box)
            if answer.kind in DECIDED:
                self._settle(node, box, answer)
                return
        if answer.suspect is not None:
            trace = questions.replayed(box, answer.suspect, self.budget)
            answer = answer if trace is None else CellAnswer(CellKind.UNSAFE, trace=trace)
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
