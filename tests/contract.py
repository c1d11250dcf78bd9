"""What every verdict has to carry, whichever engine gives it: the fields of a result, checked one by one."""

from __future__ import annotations

from collections.abc import Iterator

from tests.cases import Case
from vernal.evidence import confirm
from vernal.evidence.kinds import Tree
from vernal.evidence.reach import ForAllTime, UpToStep
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, Result
from vernal.evidence.trace import Trace
from vernal.logic.claim import Claim
from vernal.logic.formula import Quantifier

MARGIN_SLACK = 1e-6  # relative; solvers and rounding


def broken_promises(case: Case, claim: Claim, result: Result) -> Iterator[str]:
    """Everything a result does not say, or says wrongly."""
    if result.verdict not in {case.expected, UNKNOWN}:
        yield f"{result.verdict} instead of {case.expected}"
    if result.formula != claim.text:
        yield "another formula"
    if result.verdict is UNKNOWN:
        yield from _of_unknown(result)
        return
    if result.reason is not None or result.proven_steps is not None:
        yield "a reason without doubt"
    if result.assurance is None or result.assurance > case.assurance:
        yield f"assurance {result.assurance}"
    yield from _of_notes(case, result)
    yield from _of_holds(case, claim, result) if result.verdict is HOLDS else _of_violated(case, claim, result)


def _of_unknown(result: Result) -> Iterator[str]:
    if not result.reason:
        yield "unknown without a reason"
    if result.evidence is not None or result.assurance is not None or result.reach is not None or result.vacuous:
        yield "unknown, but with what only a verdict has"


def _of_notes(case: Case, result: Result) -> Iterator[str]:
    """Every range that can be left is said to be, no other is, and nothing is said of states that do not exist."""
    left = dict(case.leaves)
    for name, step in left.items():
        may = f"{name} may leave its range from step {step} on"
        on_trace = f"{name} leaves its range at step "
        if not any(note == may or note.startswith(on_trace) for note in result.notes):
            yield f"no note on the range of {name}"
    others = [note for note in result.notes if "its range" in note and note.split()[0] not in left]
    yield from (f"a false note: {note}" for note in others)
    if result.vacuous != case.vacuous:
        yield f"vacuous: {result.vacuous}"
    if result.vacuous != any(note.startswith("vacuous") for note in result.notes):
        yield "vacuity without a note, or a note without vacuity"


def _of_holds(case: Case, claim: Claim, result: Result) -> Iterator[str]:
    if result.reach != (ForAllTime() if claim.horizon is None else UpToStep(claim.horizon)):
        yield f"reach {result.reach}"
    if result.step is not None:
        yield "a step at which it is violated"
    if result.margin is not None and result.margin < 0:
        yield f"margin {result.margin}"
    if result.margin is not None and case.margin is not None and result.margin > case.margin * (1 + MARGIN_SLACK):
        yield f"margin {result.margin}, more than {case.margin}"
    decided = any(note.startswith("some path keeps it: one on which") for note in result.notes)  # by draws, not shown
    if result.engine == "invariants" and result.evidence is None and not result.vacuous and not decided:
        yield "an invariant that is not shown"
    if result.trace is not None and confirm.truth(result.trace, claim.path) is not True:
        yield "a trace that is no witness"


def _of_violated(case: Case, claim: Claim, result: Result) -> Iterator[str]:
    if result.reach is not None:
        yield "a reach of what is violated"
    if result.margin is not None and result.margin > 0:
        yield f"margin {result.margin}"
    match result.evidence:
        case None:
            yield "violated without evidence"
        case Trace() as trace:
            yield from _of_path(claim, result, trace)
        case Tree(path=path):
            one_path = Quantifier.SOME not in claim.quantifiers and claim.linear is not None
            if one_path and (claim.horizon is not None or result.invariant is None):
                yield "a tree where one path is enough"
            if result.step != 0 or not verify(path.system, path).accepted:
                yield "a tree that does not begin at an initial state"


def _of_path(claim: Claim, result: Result, trace: Trace) -> Iterator[str]:
    if not verify(trace.system, trace).accepted:
        yield "the trace does not replay"
    if confirm.truth(trace, claim.path) is not False:
        yield "the trace does not refute the claim"
    if result.step != len(trace) - 1 or result.step != confirm.decided_at(trace, claim.path):
        yield f"step {result.step} of {len(trace)} positions"
