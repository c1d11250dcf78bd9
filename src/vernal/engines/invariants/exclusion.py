"""Claims that something comes at last, refuted on every path: where it is never true in an invariant."""

from __future__ import annotations

from dataclasses import replace

from vernal.engines.chain import Chain, Prover
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.reduce.universal_claims import BrokenByAll
from vernal.run.budget import Budget

BROKEN = "a simulated run breaks it at some step, so that no invariant keeps it for all time; falsify may show a path"
REACHED = "simulated runs reach what the claim waits for, so that no invariant excludes it"


def excluded(prover: Prover, question: Question, budget: Budget) -> Known:
    """What follows of a claim of all paths from an invariant that excludes it."""
    known = Chain((BrokenByAll(),), prover).attempt(question, budget)
    reached = isinstance(known, Open) and known.reason.endswith(BROKEN)
    return replace(known, reason=REACHED) if isinstance(known, Open) and reached else known
