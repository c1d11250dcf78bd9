"""The public question of faults: a trace file, or a result that is violated, and which decisions were wrong."""

from __future__ import annotations

from pathlib import Path

from vernal.engines.answers import answered
from vernal.engines.check import NO_OPTIONS, Options, named_formula, parse_formula, stated
from vernal.errors import InputError
from vernal.evidence.evidence_file import load
from vernal.evidence.judgement import Judgement
from vernal.evidence.knowledge import Counterexample
from vernal.evidence.result import VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.formats.evidence import check_again, formula_of, read_text
from vernal.logic.task import GivenTask
from vernal.queries.fault_questions import BadPath, faults_of
from vernal.queries.faults import Faults
from vernal.run.budget import Budget, Progress, refuse_limits, silent

REPLAYED = "replay"  # what a result of a trace file that was accepted is said to come from


def faults(
    evidence: str | Path | Result,
    subject: GivenTask | None = None,
    *,
    engine: str = "auto",
    timeout: float | None = None,
    memory: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    options: Options = NO_OPTIONS,
) -> Faults:
    """Which decisions along a path were wrong: of a trace file, or of a result that is *violated*.

    A trace file is replayed first; `subject` is the system, where the file names none, as for `vn.replay`. `timeout` is
    in seconds for all questions together, shared fairly; what is not answered by then is unknown.
    """
    refuse_limits({"timeout": timeout, "memory": memory}, 1, seed)
    budget = Budget(timeout, memory, seed=seed, progress=progress or silent)
    path = path_of_result(evidence) if isinstance(evidence, Result) else read_path(evidence, subject)
    return faults_of(path, budget, engine, options)


def read_path(file: str | Path, subject: GivenTask | None = None, *, allow_outside: bool = False) -> BadPath:
    """The path of a trace file; refused unless replay accepts it."""
    path = Path(file)
    read = load(read_text(path))
    if read.verdict is not VIOLATED:
        raise InputError(f"{path}: faults are found on a path that violates a claim, and here the claim holds")
    checked = check_again(read, path, subject, allow_outside=allow_outside)
    if checked.judgement is not Judgement.ACCEPTED or checked.task is None:
        raise InputError(f"{path}: {checked.judgement.value}: {checked.reason}")
    if not isinstance(checked.evidence, Trace):
        raise InputError(f"{path}: faults are found along a path, and this is evidence of another kind")
    return BadPath(checked.task, formula_of(read, checked.task), read.property, checked.evidence)


def path_of_result(result: Result) -> BadPath:
    """The path of a result."""
    if result.verdict is not VIOLATED or not isinstance(result.evidence, Trace) or result.task is None:
        raise InputError(f"faults are found on a path that violates a claim, and {result!r} has none")
    name = result.property
    formula = parse_formula(result.task, result.formula) if name is None else named_formula(result.task, name)
    return BadPath(result.task, formula, name, result.evidence)


def replayed_result(path: BadPath, budget: Budget) -> Result:
    """The result that a path which was accepted is evidence for, as a report shows it."""
    known = Counterexample(engine=REPLAYED, trace=path.trace)
    return stated(path.task, answered(path.question, known, budget))
