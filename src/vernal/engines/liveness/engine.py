"""The engine `liveness`: LTL of all paths for all time, where something has to come at last.

Three methods, tried in turn, the cheap forms of the first two before the others:

- promptness: what has to come at last comes within a fixed delay, which is a claim that only a bad prefix can break;
- boxes without fair cycles: the negated claim becomes a Buchi automaton, its product with the system is covered by the
  boxes of a grid, and no cycle among boxes that can be reached takes a marked edge;
- counting: on every path of that product at most k marked edges are taken.

Each rests on reductions that are EXACT or OVER, so each proves the claim of all paths. None of them refutes: a path
that takes longer, a cycle among boxes, or one marked edge more breaks no claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vernal.engines.chain import Prover
from vernal.engines.liveness.method import NAME, ProofMethod, in_turn, open_for
from vernal.engines.refusals import by_paths, of_any_kind
from vernal.engines.some_paths import by_all_paths
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.question import Question
from vernal.run.budget import Budget

NOT_OF_PATHS = (
    "not supported by this engine: it takes formulas about every path (LTL); this one asks for some path, or of states"
)


class Liveness:
    """The engine `liveness`."""

    name = NAME

    def __init__(self, methods: Sequence[ProofMethod]) -> None:
        """The methods, in their order."""
        self.methods = tuple(methods)

    def takes(self, question: Question) -> str | None:
        """Claims that those of all paths decide."""
        return by_paths(question, of_any_kind, NOT_OF_PATHS)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof of a claim of all paths, or that none was found; of a claim of some path, by claims of all paths."""
        if question.claim.mentions_some:
            return by_all_paths(Prover(self.name, self._proven), question, budget)
        return self._proven(question, budget)

    def _proven(self, question: Question, budget: Budget) -> Known:
        path = question.claim.linear
        if path is None:
            return open_for(NOT_OF_PATHS)
        own = replace(budget, journal=None)  # a journal knows parts of this question, and of no other
        left_open: list[Open] = []
        for method, part in in_turn(self.methods, own):
            try:
                known = method.prove(question, path, part)
            except Stopped as stop:
                own.check()
                known = open_for(stop.reason)
            if isinstance(known, Proof):
                return known
            left_open.append(known)
        return _combined(left_open)


def _combined(left_open: Sequence[Open]) -> Open:
    statistics = {key: value for known in left_open for key, value in known.statistics.items()}
    return replace(open_for("; ".join(dict.fromkeys(known.reason for known in left_open))), statistics=statistics)
