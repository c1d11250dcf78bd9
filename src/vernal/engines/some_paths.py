"""Claims of some path, decided by what an engine proves of all paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vernal.engines.chain import Chain, Prover
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.reduce.reduction import Reduction, first_decided
from vernal.reduce.restriction import DecidedDraws
from vernal.reduce.universal_claims import NOTHING_SAID, DeniedByAll, KeptByAll, KeptByNone
from vernal.run.budget import Budget

Reductions = tuple[Reduction, ...]
KEPT: Reductions = (KeptByAll(),)
REFUTED: Reductions = (KeptByNone(),)
DENIED: Reductions = (DeniedByAll(),)
RESTRICTED: Reductions = (DecidedDraws(), KeptByAll(share=1.0))


def by_all_paths(prover: Prover, question: Question, budget: Budget) -> Known:
    """A claim that mentions some path, proven or refuted by what is proven of all paths."""
    return _in_turn((KEPT, REFUTED, RESTRICTED), prover, question, budget)


def over_samples(prover: Prover, question: Question, budget: Budget) -> Known:
    """The same of a claim over the samples of a loop, which may mix claims of all paths and of some."""
    return _in_turn((KEPT, REFUTED, DENIED, RESTRICTED), prover, question, budget)


def proven_by_all_paths(prover: Prover, question: Question, budget: Budget) -> Known:
    """A claim that mentions some path, proven by what is proven of all paths."""
    return _in_turn((KEPT, RESTRICTED), prover, question, budget)


def _in_turn(ways: Sequence[Reductions], prover: Prover, question: Question, budget: Budget) -> Known:
    """The first way that decides the claim; else why none does."""
    found: list[Known] = []
    for way in ways:
        chain = Chain(way, prover)
        if chain.takes(question) is None:
            found.append(chain.attempt(question, budget))
        if found and not isinstance(found[-1], Open):
            return replace(found[-1], engine=prover.name)
    return first_decided(found, prover.name, NOTHING_SAID)
