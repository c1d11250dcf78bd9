"""Liveness by promptness: what has to come at last comes within a fixed number of steps.

`G F p` follows from `G F[0,k] p`, and `F G p` from `G[k,] p` (`logic.shortening.prompt`). What is left only a bad
prefix can break, so exact sets of states that come back prove it, and so do induction and invariants. How many steps
are enough simulated paths tell; a wrong number costs time only. Nothing is refuted here: a path that takes longer
breaks no claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from vernal.engines.base import Engine
from vernal.engines.chain import Chain
from vernal.engines.liveness.delays import MOST_STEPS, least_delay
from vernal.engines.liveness.method import FirstProof, by_method, open_for
from vernal.evidence.knowledge import Open, Proof
from vernal.logic.formula import Formula
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.reduce.prompt_claims import PromptClaims
from vernal.run.budget import Budget

METHOD = "a bounded delay"


class Promptness:
    """A claim without delays that have no end, proven by other engines."""

    def __init__(self, engines: Sequence[Engine], stretches: Sequence[float] = (0.0, 0.5)) -> None:
        """The engines that are asked to prove that the delay is bounded, in their order.

        `stretches`: by how much the delay may be longer than on simulated paths, of which the slowest may be missing.
        """
        self.engines, self.stretches = tuple(engines), tuple(stretches)

    def prove(self, question: Question, path: Formula, budget: Budget) -> Proof | Open:
        if question.claim.horizon is not None or not waits(path):
            return open_for("the claim waits for nothing without a time limit")
        least = least_delay(question, path, budget)
        if least is None:
            return open_for(f"on simulated paths what the claim waits for does not come within {MOST_STEPS} steps")
        delays = [least if not stretch else least + 2 + int(stretch * least) for stretch in self.stretches]
        chain = Chain((PromptClaims(tuple(delays)),), FirstProof(self.engines))
        return by_method(chain.attempt(question, budget), METHOD, "delay")
