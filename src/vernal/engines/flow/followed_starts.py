"""Follows many initial sets of a flow in one batch, for the cells of a map.

Each set is followed once, uncut. What its trajectories are in tells whether all of them keep the claim or none does.
Steps become shorter as the sets that are asked about do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.flow.direct import OCTAGON_DIMENSIONS, DirectFlowpipe
from vernal.engines.flow.template import AUTO, chosen
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Proof
from vernal.evidence.pipe_judge import PIPE_DIRECTION, PipeJudge
from vernal.evidence.result import Assurance
from vernal.interpret.flow.integration import Segments, joined_segments
from vernal.interpret.numbers.rounding import Floats, float_above
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.sets.flow_starts import StartBoxes, start_boxes
from vernal.sets.sampled.box_rounds import BoxRounds, on_time_grid
from vernal.sets.sampled.loop_space import spoils_nothing

SMALLER = 0.25  # of the width at which steps were chosen last: then they are chosen again


@dataclass(frozen=True)
class FollowedStarts:
    """What following the starts of one question shows: a proof, or that every trajectory fails, or neither."""

    proof: Proof | None = None
    fails: bool = False
    influence: Floats | None = None  # of each variable on what stays open


class ManyStarts:
    """One claim in seconds, asked of many sets of starts of one flow."""

    def __init__(self, question: Question) -> None:
        """`question` is about all of them."""
        self.question, self.horizon = question, float_above(question.claim.last_time)
        self.directions = chosen(question, AUTO, careful=len(question.model.state) <= OCTAGON_DIMENSIONS)
        self.finer, self.curved, self.width = 0, False, np.inf

    @staticmethod
    def takes(question: Question) -> bool:
        """Claims of all trajectories that have a last time."""
        if question.time is not Time.SECONDS or question.claim.is_endless or question.claim.mentions_some:
            return False
        return DirectFlowpipe().takes(question) is None

    def followed(self, starts: Sequence[Model], check: Tick, *, whole: bool) -> list[FollowedStarts]:
        """Of each model, which differ in their initial sets only, what is shown.

        With `whole`, sets that can no longer keep the claim are followed on: all of their trajectories may fail it.
        """
        boxes = [start_boxes(model) for model in starts]
        owners = np.repeat(np.arange(len(boxes)), [len(own) for own in boxes])
        if not len(owners):
            return [FollowedStarts() for _ in starts]
        joined = StartBoxes(*(np.concatenate([getattr(own, end) for own in boxes]) for end in ("lower", "upper")))
        rounds = BoxRounds(self.question.model, on_time_grid(self.question.model, self.horizon), self.directions, check)
        if rounds.is_too_large:
            return [FollowedStarts() for _ in starts]
        rounds.resume(self.finer, curved=self.curved or rounds.curved)
        judge = PipeJudge(self.question, check)
        segments = joined_segments(list(rounds.follow(joined, spoils_nothing if whole else judge.left_open)))
        found = [self._shown(rounds, judge, segments.of(np.flatnonzero(owners == own))) for own in range(len(boxes))]
        self._adapt(rounds, joined, segments.of(np.flatnonzero([found[own].proof is None for own in owners])))
        return found

    def _shown(self, rounds: BoxRounds, judge: PipeJudge, segments: Segments) -> FollowedStarts:
        """What one pipe shows, from all boxes of one question."""
        if not len(segments.until):
            return FollowedStarts()
        pipe, claim = rounds.pipe([segments]), self.question.claim.normal
        match judge.of(claim, pipe):
            case True:
                margin = max(judge.margin(claim, pipe), 0.0) if judge.measures else None
                return FollowedStarts(_proof(pipe, margin))
            case False:
                return FollowedStarts(fails=True)
        return FollowedStarts(influence=segments.influence.max(axis=0))

    def _adapt(self, rounds: BoxRounds, boxes: StartBoxes, left: Segments) -> None:
        """Choose the steps of later batches by what this one lost, once its sets are clearly smaller."""
        width = float(np.max(boxes.upper - boxes.lower, initial=0.0))
        if width < SMALLER * self.width and len(left.until):
            if np.isfinite(self.width):
                rounds.adapt([left], stagnates=False)
                self.finer, self.curved = rounds.finer, rounds.curved
            self.width = width


def _proof(pipe: Flowpipe, margin: float | None) -> Proof:
    return Proof(
        engine=DirectFlowpipe.name,
        direction=PIPE_DIRECTION,
        assurance=Assurance.RIGOROUS,
        margin=margin,
        evidence=pipe,
    )
