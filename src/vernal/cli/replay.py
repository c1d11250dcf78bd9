"""`vernal replay`: recompute the path of a trace file or check an invariant, and compare it with what is claimed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.errors import FileMissing, FormatError

if TYPE_CHECKING:
    from vernal.evidence.trace import Trace
    from vernal.evidence.trace_file import TraceFile
    from vernal.logic.formula import Formula
    from vernal.logic.task import Task

MAX_BYTES = 256 * 2**20
EXAMPLES = """\b
Example:
  vernal replay bad.trace.json
  vernal replay safe.invariant.json

\b
The task and the networks named in the file are looked up beside it, then in the current folder, and have to have
the hashes recorded there.
Exit code: 0 accepted, 1 rejected, 5 an invariant that could not be checked, 2 unreadable.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", short_help="Recompute a trace, or check an invariant again.", epilog=EXAMPLES)(replay)


class Rejected(Exception):
    """The evidence does not hold, and why."""


class Unchecked(Exception):
    """Whether the evidence holds could not be found out, and why."""


def replay(
    evidence: Annotated[
        Path, typer.Argument(metavar="EVIDENCE", help="The trace or invariant file.", show_default=False)
    ],
) -> None:
    """Recompute a trace step by step, and check that it shows what it is said to show.

    Of an invariant check that initial states are inside, that no step leaves it, and that the claim is true inside.
    """
    from vernal.evidence import trace_file

    file = trace_file.load(read_text(evidence))
    try:
        said = judge(file, evidence)
    except Rejected as why:
        typer.echo(f"rejected  {file.formula}\n          {why}")
        raise typer.Exit(exits.REJECTED) from None
    except Unchecked as why:
        typer.echo(f"could not be checked  {file.formula}\n          {why}")
        raise typer.Exit(exits.UNDECIDED) from None
    typer.echo(f"accepted  {file.formula}\n          {said}")


def read_text(file: Path) -> str:
    """The text of a trace file; a missing, enormous or binary file is refused."""
    if not file.is_file():
        raise FileMissing(f"there is no trace file {str(file)!r}")
    if file.stat().st_size > MAX_BYTES:
        raise FormatError(f"{file}: larger than {MAX_BYTES // 2**20} MiB, which is more than a trace file may have")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{file}: not a trace file: not UTF-8 text") from None


def judge(file: TraceFile, evidence: Path) -> str:
    """What was confirmed; Rejected where something does not agree."""
    from vernal.evidence import trace_file
    from vernal.evidence.replay import verify
    from vernal.formats.task.blueprint import load

    task = load(find_task(file, evidence), trace_file.parameters(file))
    compare_networks(file, task)
    if file.evidence == "invariant":
        return proves(file, task)
    replayed = verify(task.system, trace_file.from_json(file.trace, task.system))
    if replayed.problem is not None or replayed.trace is None:
        raise Rejected(replayed.problem)
    formula = formula_of(file, task)
    if not file.is_intact():
        raise Rejected("the file does not have the hash it was written with: it was changed")
    return shows(file, formula, replayed.trace)


def proves(file: TraceFile, task: Task) -> str:
    """Whether the invariant, checked again, proves the formula."""
    from vernal.evidence.invariant_file import invariant_of
    from vernal.evidence.recheck import Judgement, recheck
    from vernal.logic.claim import Claim

    invariant = invariant_of(file.invariant, task.system)
    checked = recheck(task.system, Claim(formula_of(file, task)), invariant)
    if checked.judgement is Judgement.REJECTED:
        raise Rejected(checked.reason)
    if not file.is_intact():
        raise Rejected("the file does not have the hash it was written with: it was changed")
    if checked.judgement is Judgement.UNDECIDED:
        raise Unchecked(checked.reason)
    return f"an invariant of {checked.reason}"


def find_task(file: TraceFile, evidence: Path) -> Path:
    """The task file named by the evidence, with the hash recorded there."""
    name, recorded = file.task["file"], file.task["sha256"]
    if not isinstance(name, str):
        raise FormatError("the trace file names no task file: it was made in Python and can only be replayed there")
    found = [path for path in (evidence.parent / name, Path(name), evidence.parent / Path(name).name) if path.is_file()]
    if not found:
        raise FileMissing(f"the task file {name!r} is neither beside {evidence} nor in the current folder")
    for path in found:
        if hashlib.sha256(path.read_bytes()).hexdigest() == recorded:
            return path
    raise Rejected(f"the task file {found[0]} has changed since: its hash is not the one recorded")


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
    from vernal.engines.check import named_formula, parse_formula
    from vernal.logic.printing import text

    if file.property is not None:
        formula = named_formula(task, file.property)
        if text(formula) != file.formula:
            raise Rejected(f"the property {file.property!r} of the task reads {text(formula)}")
        return formula
    return parse_formula(task, file.formula)


def shows(file: TraceFile, formula: Formula, trace: Trace) -> str:
    """Whether the evidence, recomputed, decides the formula as it was said to.

    A path refutes a claim of all paths and proves a claim of some path. A tree shows the state at which a claim of
    states fails (`AX p | AX q`, failed `E` claims, alternations); what excludes the paths from there no path can show.
    """
    from vernal.evidence.confirm import assurance, truth
    from vernal.evidence.result import VIOLATED, Assurance
    from vernal.logic.claim import Claim
    from vernal.logic.formula import Quantifier

    claim, violated = Claim(formula), file.verdict is VIOLATED
    how = "exactly" if assurance(trace, formula) is Assurance.EXACT else "in enclosures"
    path = f"a path of {len(trace)} positions, recomputed {how}"
    if file.evidence == "tree":
        if not violated or (claim.linear is not None and not claim.mentions_some):
            raise Rejected("a tree is evidence for the failure of a claim of states only")
        return f"{path}; the verdict ({file.verdict.value}) also rests on what no trace can show: {file.excluded_by}"
    if truth(trace, claim.path) is not (not violated):
        said = "is violated" if violated else "holds"
        raise Rejected(f"the path is one of the system, but it does not show that the formula {said}")
    shown = f"{path}; on it the formula is {'violated' if violated else 'true'}"
    others = Quantifier.SOME if violated else Quantifier.ALL
    rest = f"; the verdict ({file.verdict.value}) also rests on other paths, which no trace can show"
    return shown + (rest if others in claim.quantifiers else "")
