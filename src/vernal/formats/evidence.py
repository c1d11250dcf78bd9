"""Evidence files at the door: written for a result, read and checked again against the task they are about.

`vn.write_evidence` writes what `--trace` writes, and `vn.replay` is the command `replay`: a path is recomputed step by
step, an invariant is checked by other code than found it, and nothing a file says is believed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from vernal.engines.check import named_formula, parse_formula
from vernal.errors import FileMissing, FormatError, InputError
from vernal.evidence import evidence_file
from vernal.evidence.codec import codec_of
from vernal.evidence.evidence_file import EvidenceFile
from vernal.evidence.judgement import Assertion, Judgement, Recheck, Rejected
from vernal.evidence.kinds import Tree
from vernal.evidence.recheck_paths import path_words
from vernal.evidence.result import Result
from vernal.formats.certificate_check import judged
from vernal.formats.jani.planning_task import open_jani
from vernal.formats.loading import is_planning_model, load
from vernal.formats.networks import is_file, read_bytes
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.printing import text
from vernal.logic.task import GivenTask, Task, as_task
from vernal.model.clock import clocked
from vernal.run.output import write_text
from vernal.sets.wider_region import asked_model

MAX_BYTES = 256 * 2**20
MAX_TASK_BYTES = 512 * 2**20  # of a planning model; those of other tasks are smaller
CHANGED = "the file does not have the hash it was written with: it was changed"


def write_evidence(subject: GivenTask, result: Result, file: str | Path) -> None:
    """Write the evidence of a result, a trace, an invariant or a flowpipe, to a file that `replay` checks again.

    Example: `vn.write_evidence(task, result, "bad.trace.json")`
    """
    if result.evidence is None:
        raise InputError(f"the result of {result.formula} has no evidence to write: it is {result.verdict.value}")
    write_text(file, evidence_file.dump(as_task(subject), result))


def replay(file: str | Path, subject: GivenTask | None = None) -> Recheck:
    """Check an evidence file again: what came of it, and why.

    The task and the networks it names are looked up beside it, then in the current folder. A file that was made of a
    system in Python names none, so the system has to be given; then its evidence is checked on that system.

    Example: `vn.replay("bad.trace.json").judgement`
    """
    path = Path(file)
    return check_again(evidence_file.load(read_text(path)), path, subject)


def check_again(
    file: EvidenceFile, path: Path, subject: GivenTask | None = None, *, allow_outside: bool = False
) -> Recheck:
    """What came of checking evidence that was read from a path; `allow_outside` as in `load`."""
    task: Task | None = None
    try:
        task = task_of(file, path, allow_outside) if subject is None else as_task(subject)
        return replace(_by_sets(file, task, path, _judged(file, task)), task=task)
    except Rejected as why:
        return Recheck(Judgement.REJECTED, str(why), task=task)


def _by_sets(file: EvidenceFile, task: Task, path: Path, checked: Recheck) -> Recheck:
    """What was left open of a tree of one state, by the sets beside it."""
    if checked.judgement is not Judgement.UNDECIDED or checked.evidence is None or not file.content.get("sets"):
        return checked
    tree = codec_of(file.evidence).decode(file.content, task.model)
    if not isinstance(tree, Tree) or len(tree.path) > 1:
        return checked
    judgement, reason = judged(tree, file, task, find_task(file, path))
    return replace(checked, judgement=judgement, reason=f"{path_words(tree.path)}; {reason}")


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


def _judged(file: EvidenceFile, task: Task) -> Recheck:
    """What was confirmed; Rejected where something does not agree."""
    task = task.counting(file.time)
    kind, formula = codec_of(file.evidence), formula_of(file, task)
    task = replace(task, model=asked_model(clocked(task.model, atoms(formula)), file.property))
    checked = kind.check(kind.decode(file.content, task.model), Assertion(task, formula, file.verdict, file.property))
    if checked.judgement is not Judgement.REJECTED and not file.is_intact():
        raise Rejected(CHANGED)
    return checked


def task_of(file: EvidenceFile, path: Path, allow_outside: bool) -> Task:
    """The task that the evidence names, with the same networks."""
    found, given = find_task(file, path), evidence_file.parameters(file)
    if is_planning_model(found):
        task = open_jani(found, _options(file, path)).task(given)
    else:
        task = load(found, given, allow_outside=allow_outside)
    compare_networks(file, task)
    return task


def _options(file: EvidenceFile, path: Path) -> dict[str, str]:
    """What else was said about a planning model, with the files it names where they are now."""
    options = dict(file.task.get("options", {}))
    for name in ("policy", "property"):
        if name in options:
            named, mark, rest = options[name].partition("#")
            found = [option for option in beside(named, path) if is_file(option)]
            options[name] = f"{found[0] if named and found else named}{mark}{rest}"
    return options


def find_task(file: EvidenceFile, path: Path) -> Path:
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


def compare_networks(file: EvidenceFile, task: Task) -> None:
    """The networks the task reads now have to be the ones the trace was made with, byte for byte."""
    recorded = [(entry.get("file"), entry.get("sha256")) for entry in file.task["networks"] if isinstance(entry, dict)]
    if len(recorded) != len(task.networks):
        raise Rejected(f"the task reads {len(task.networks)} networks, the trace names {len(recorded)}")
    for (name, sha256), network in zip(recorded, task.networks, strict=True):
        if sha256 != network.sha256:
            what = name if str(name).startswith("world:") else f"the network {name}"
            raise Rejected(f"{what} has changed since: its hash is not the one recorded")


def formula_of(file: EvidenceFile, task: Task) -> Formula:
    """The formula the trace is about: the property of that name if it still reads the same, else as written."""
    if file.property is not None:
        formula = named_formula(task, file.property)
        if text(formula) != file.formula:
            raise Rejected(f"the property {file.property!r} of the task reads {text(formula)}")
        return formula
    return parse_formula(task, file.formula)
