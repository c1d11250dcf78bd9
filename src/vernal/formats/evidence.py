"""Evidence files at the door: written for a result, read and checked again against the task they are about.

`vn.write_evidence` writes what `--trace` writes, and `vn.replay` is the command `replay`: a path is recomputed step by
step, an invariant is checked by other code than found it, and nothing a file says is believed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from vernal.engines.check import named_formula, parse_formula
from vernal.errors import FileMissing, FormatError, InputError
from vernal.evidence import trace_file
from vernal.evidence.confirm import Facts, assurance, truth
from vernal.evidence.defined_values import is_defined
from vernal.evidence.invariant import Invariant
from vernal.evidence.invariant_file import invariant_of
from vernal.evidence.periodic import is_enclosed
from vernal.evidence.recheck import Judgement, Recheck, recheck
from vernal.evidence.replay import NotAPath, verify
from vernal.evidence.result import VIOLATED, Assurance, Result
from vernal.evidence.trace import Trace
from vernal.evidence.trace_file import TraceFile
from vernal.evidence.trajectory_replay import retrace
from vernal.evidence.uniqueness import is_only_path, is_only_position
from vernal.formats.jani.planning_task import open_jani
from vernal.formats.loading import is_planning_model
from vernal.formats.networks import is_file, read_bytes
from vernal.formats.task.blueprint import load
from vernal.interpret.exact import Given
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.printing import text
from vernal.logic.safety import excluding
from vernal.logic.task import Task
from vernal.logic.timed import Time, time_of
from vernal.model.initial import Box
from vernal.model.numbers import rounded
from vernal.model.system import Model, System
from vernal.reduce.held_actions import about, flow_of
from vernal.run.output import write_text

MAX_BYTES = 256 * 2**20
MAX_TASK_BYTES = 512 * 2**20  # of a planning model; those of other tasks are smaller
CHANGED = "the file does not have the hash it was written with: it was changed"
NOT_EXCLUDED = "an invariant beside a state excludes a claim of all or of some path at that state only"


class Rejected(Exception):
    """The evidence does not hold, and why."""


def write_evidence(subject: Task | Model, result: Result, file: str | Path) -> None:
    """Write the evidence of a result, a trace or an invariant, to a file that `replay` checks again."""
    if result.evidence is None:
        raise InputError(f"the result of {result.formula} has no evidence to write: it is {result.verdict.value}")
    write_text(file, trace_file.dump(_task(subject), result))


def replay(file: str | Path, subject: Task | Model | None = None) -> Recheck:
    """Check an evidence file again: what came of it, and why.

    The task and the networks it names are looked up beside it, then in the current folder. A file that was made of a
    system in Python names none, so the system has to be given; then its evidence is checked on that system.
    """
    path = Path(file)
    return check_again(trace_file.load(read_text(path)), path, subject)


def check_again(
    file: TraceFile, path: Path, subject: Task | Model | None = None, *, allow_outside: bool = False
) -> Recheck:
    """What came of checking evidence that was read from a path; `allow_outside` as in `load`."""
    task: Task | None = None
    try:
        task = task_of(file, path, allow_outside) if subject is None else _task(subject)
        return replace(_judged(file, task), task=task)
    except Rejected as why:
        return Recheck(Judgement.REJECTED, str(why), task=task)


def _task(subject: Task | Model) -> Task:
    return subject if isinstance(subject, Task) else Task(subject)


def read_text(file: Path) -> str:
    """The text of a trace file; a missing, enormous or binary file is refused."""
    if not is_file(file):
        raise FileMissing(f"there is no trace file {str(file)!r}")
    if file.stat().st_size > MAX_BYTES:
        raise FormatError(f"{file}: larger than {MAX_BYTES // 2**20} MiB, which is more than a trace file may have")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{file}: not a trace file: not UTF-8 text") from None


def _judged(file: TraceFile, task: Task) -> Recheck:
    """What was confirmed; Rejected where something does not agree."""
    if time_of(task.model.motion) is Time.SECONDS:
        return _refutes(file, task)
    if file.evidence == "invariant":
        return _proves(file, task)
    replayed = verify(task.system, trace_file.from_json(file.trace, task.system))
    if replayed.problem is not None or replayed.trace is None:
        raise Rejected(replayed.problem)
    formula = formula_of(file, task)
    if not file.is_intact():
        raise Rejected(CHANGED)
    if file.invariant is not None:
        if file.verdict is not VIOLATED:
            raise Rejected(NOT_EXCLUDED)
        return excludes(task.system, formula, replayed.trace, invariant_of(file.invariant, task.system))
    return shown(file, formula, replayed.trace)


def _refutes(file: TraceFile, task: Task) -> Recheck:
    """Whether all solutions along a recorded trajectory, enclosed again, break the formula."""
    if file.evidence != "trace" or file.verdict is not VIOLATED:
        raise Rejected("the evidence about a flow is a trajectory that breaks the formula")
    recorded, formula = trace_file.timed_trace(file.trace, task.model), formula_of(file, task)
    question = about(flow_of(task.model), formula)
    try:
        found = retrace(recorded, question.formula, question.model)
    except NotAPath as error:
        raise Rejected(error.problem) from None
    if found.problem is not None:
        raise Rejected(found.problem)
    if not file.is_intact():
        raise Rejected(CHANGED)
    if found.truth is not False:
        raise Rejected("it is a trajectory of the flow, but does not show that the formula is violated")
    end = rounded(recorded.times[-1]) if recorded.times else "0"
    reason = f"a trajectory until time {end}, enclosed again; on it the formula is violated, whatever solution is taken"
    return Recheck(Judgement.ACCEPTED, reason, found.trace)


def excludes(system: System, formula: Formula, trace: Trace, invariant: Invariant) -> Recheck:
    """Whether every path from the state of a tree stays in its invariant, in which the claim fails.

    A claim of all paths is refuted by that only if there is a path.
    """
    claim = Claim(formula)
    opposite = claim.opposite if claim.mentions_some else excluding(claim)
    if opposite is None or len(trace) != 1:
        raise Rejected(NOT_EXCLUDED)
    inputs = Facts(trace, system).inputs(0)
    start = system.cut(Box({var: tuple((x, x) for x in _numbers(inputs[var])) for var in system.step.inputs}))
    if start is None:
        raise Rejected("the state is not an initial one")
    if not claim.mentions_some and not is_defined(start, invariant):
        return Recheck(Judgement.UNDECIDED, "a value may be undefined, so that there may be no path from this state")
    checked = recheck(start, Claim(opposite), invariant)
    if checked.judgement is not Judgement.ACCEPTED:
        return checked
    return Recheck(
        checked.judgement, f"from this state every path keeps {text(opposite)}, by an invariant of {checked.reason}"
    )


def _numbers(value: Given) -> tuple[Fraction, ...]:
    """The numbers of a variable at a position that was recomputed exactly."""
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item for item in items if isinstance(item, Fraction))


def _proves(file: TraceFile, task: Task) -> Recheck:
    """Whether the invariant, checked again, proves the formula."""
    invariant = invariant_of(file.invariant, task.system)
    checked = recheck(task.system, Claim(formula_of(file, task)), invariant)
    if checked.judgement is not Judgement.REJECTED and not file.is_intact():
        raise Rejected(CHANGED)
    accepted = checked.judgement is Judgement.ACCEPTED
    return Recheck(checked.judgement, f"an invariant of {checked.reason}") if accepted else checked


def task_of(file: TraceFile, path: Path, allow_outside: bool) -> Task:
    """The task that the evidence names, with the same networks."""
    found, given = find_task(file, path), trace_file.parameters(file)
    if is_planning_model(found):
        task = open_jani(found, _options(file, path)).task(given)
    else:
        task = load(found, given, allow_outside=allow_outside)
    compare_networks(file, task)
    return task


def _options(file: TraceFile, path: Path) -> dict[str, str]:
    """What else was said about a planning model, with the files it names where they are now."""
    options = dict(file.task.get("options", {}))
    for name in ("policy", "property"):
        if name in options:
            named, mark, rest = options[name].partition("#")
            found = [option for option in beside(named, path) if is_file(option)]
            options[name] = f"{found[0] if named and found else named}{mark}{rest}"
    return options


def find_task(file: TraceFile, path: Path) -> Path:
    """The task file named by the evidence, with the hash recorded there."""
    name, recorded = file.task["file"], file.task["sha256"]
    if not isinstance(name, str):
        raise FormatError(
            "the trace file names no task file: it was made of a system in Python; vn.replay(file, system) checks it"
        )
    found = [option for option in beside(name, path) if is_file(option)]
    if not found:
        raise FileMissing(f"the task file {name!r} is neither beside {path} nor in the current folder")
    for option in found:
        if hashlib.sha256(read_bytes(option, MAX_TASK_BYTES)).hexdigest() == recorded:
            return option
    raise Rejected(f"the task file {found[0]} has changed since: its hash is not the one recorded")


def beside(name: str, path: Path) -> tuple[Path, ...]:
    """Where a file that the evidence at a path names may be: beside it, in the current folder, or moved beside it."""
    return path.parent / name, Path(name), path.parent / Path(name).name


def compare_networks(file: TraceFile, task: Task) -> None:
    """The networks the task reads now have to be the ones the trace was made with, byte for byte."""
    recorded = [(entry.get("file"), entry.get("sha256")) for entry in file.task["networks"] if isinstance(entry, dict)]
    if len(recorded) != len(task.networks):
        raise Rejected(f"the task reads {len(task.networks)} networks, the trace names {len(recorded)}")
    for (name, sha256), network in zip(recorded, task.networks, strict=True):
        if sha256 != network.sha256:
            what = name if str(name).startswith("world:") else f"the network {name}"
            raise Rejected(f"{what} has changed since: its hash is not the one recorded")


def formula_of(file: TraceFile, task: Task) -> Formula:
    """The formula the trace is about: the property of that name if it still reads the same, else as written."""
    if file.property is not None:
        formula = named_formula(task, file.property)
        if text(formula) != file.formula:
            raise Rejected(f"the property {file.property!r} of the task reads {text(formula)}")
        return formula
    return parse_formula(task, file.formula)


def _recomputed(trace: Trace, formula: Formula) -> str:
    """How the path was found again."""
    if is_enclosed(trace):
        return "proven in enclosures to be the only one that closes in its box"
    return "recomputed exactly" if assurance(trace, formula) is Assurance.EXACT else "recomputed in enclosures"


def shown(file: TraceFile, formula: Formula, trace: Trace) -> Recheck:
    """Whether the evidence, recomputed, forces the verdict; where it only fits, that it could not be checked.

    A path refutes a claim of all paths, and proves one of some path where there is no other start. A tree shows the
    state at which a claim of states fails (`AX p | AX q`, failed `E` claims, alternations); what excludes the paths
    from there no path can show.
    """
    claim, violated = Claim(formula), file.verdict is VIOLATED
    path = f"a path of {len(trace)} positions, {_recomputed(trace, formula)}"
    if file.evidence == "tree":
        if not violated or (claim.linear is not None and not claim.mentions_some):
            raise Rejected("a tree is evidence for the failure of a claim of states only")
        rest = f"that the claim fails there is only said ({file.excluded_by}), not shown"
        return Recheck(Judgement.UNDECIDED, f"{path}; {rest}", trace)
    if truth(trace, claim.path) is not (not violated):
        said = "is violated" if violated else "holds"
        raise Rejected(f"the path is one of the system, but it does not show that the formula {said}")
    found = f"{path}; on it the formula is {'violated' if violated else 'true'}"
    missing = _missing(claim, trace, violated)
    if missing is not None:
        return Recheck(Judgement.UNDECIDED, f"{found}, but the verdict ({file.verdict.value}) {missing}", trace)
    return Recheck(Judgement.ACCEPTED, found, trace)


def _missing(claim: Claim, trace: Trace, violated: bool) -> str | None:
    """What a verdict rests on that a path does not show; None where the path forces it."""
    system = trace.system
    if not violated and not system.initial.is_point:
        return "is about every initial state, and the path shows one of them"
    others = Quantifier.SOME if violated else Quantifier.ALL
    if others in claim.quantifiers and not is_only_path(system, trace):
        return "is about all paths from its first state, and this is one of several"
    if not violated and not is_only_position(system, claim.formula, trace):
        return "is about every action that may be taken first, and the path shows one of them"
    return None
