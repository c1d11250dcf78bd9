"""`vernal replay`: recompute the path of a trace file or check an invariant, and compare it with what is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.options import INTERRUPTED, AllowOutside, InPlane, OfExpressions, Timeout, option
from vernal.cli.stream import show
from vernal.cli.time_limit import finished, time_for
from vernal.errors import Stopped

if TYPE_CHECKING:
    from vernal.logic.task import Task

DIGITS = 12  # of a hash that are shown; all of them are compared
EXAMPLES = """\b
Examples:
  vernal replay bad.trace.json
  vernal replay bad.trace.json --plot bad.svg --of h --of advisor
  vernal replay safe.invariant.json

\b
The task and the networks named in the file are looked up beside it, then in the current folder, and have to have
the hashes recorded there.
\b
Exit code:
  0  accepted: what the file shows, with the task, forces the verdict
  1  rejected: it shows something else, or was changed
  5  could not be checked: it fits, but the verdict rests on more than it shows (other starts, other paths),
     or the check did not come to an end, within --timeout for one
  2  unreadable
"""


def replay(
    evidence: Annotated[
        Path, typer.Argument(metavar="EVIDENCE", help="The trace or invariant file.", show_default=False)
    ],
    plot: Annotated[Path | None, option("--plot FILE", "Draw the evidence (.pdf, .svg or .png).")] = None,
    of: OfExpressions = None,
    plane: InPlane = False,
    timeout: Timeout = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Recompute a trace step by step, and check that it shows what it is said to show.

    Of an invariant check that initial states are inside, that no step leaves it, and that the claim is true inside.
    What it was checked against is printed: the task, its parameters and its networks, with their hashes.
    """
    from vernal.cli.stream import refuse_overwriting, refuse_without_plot, writable
    from vernal.evidence import evidence_file
    from vernal.evidence.judgement import Judgement, Recheck
    from vernal.formats.evidence import check_again, formula_of, read_text
    from vernal.printable import MAX_FORMULA, in_one_line, shortened
    from vernal.report.drawing import Drawing
    from vernal.report.evidence_pictures import Canvas, plot_evidence
    from vernal.report.subject import TraceSubject
    from vernal.run.alarm import in_time

    budget = time_for(timeout)
    refuse_without_plot(plot, of, plane)
    writable(plot)
    refuse_overwriting([evidence], [plot])
    file = finished(lambda: evidence_file.load(read_text(evidence)), budget, "the evidence was read")
    try:
        budget.check()
        checked = in_time(lambda: check_again(file, evidence, allow_outside=allow_outside), budget, INTERRUPTED)
    except Stopped as stop:
        checked = Recheck(Judgement.UNDECIDED, stop.reason)
    asked, reason = shortened(in_one_line(file.formula), MAX_FORMULA), shortened(in_one_line(checked.reason))
    show(f"{checked.judgement.value}  {asked}\n          {reason}")
    if checked.task is not None and inputs(checked.task):
        show(f"          {shortened(in_one_line(inputs(checked.task)))}")
    drawing = Drawing.after(budget)
    if plot is not None and checked.evidence is not None and checked.task is not None:
        shown, subject = checked.evidence, TraceSubject(checked.task, formula_of(file, checked.task))
        show(drawing.saved(plot, lambda _: plot_evidence(shown, subject, Canvas(plot, of, plane))))
    elif plot is not None:
        show(f"nothing is drawn to {plot}: nothing was accepted")
    codes = {Judgement.ACCEPTED: exits.OK, Judgement.REJECTED: exits.REJECTED, Judgement.UNDECIDED: exits.UNDECIDED}
    if drawing.interrupt is not None:
        raise drawing.interrupt
    raise typer.Exit(codes[checked.judgement])


def inputs(task: Task) -> str:
    """What evidence was checked against: the task, what it was told, its networks; hashes as in the file, shortened."""
    source = () if task.source is None else (f"task {task.source.file} (sha256 {task.source.sha256[:DIGITS]})",)
    told = {**{name: str(value) for name, value in task.parameters.items()}, **task.options}
    said = (f"with {', '.join(f'{name} = {value}' for name, value in told.items())}",) if told else ()
    networks = (f"network {network.file} (sha256 {network.sha256[:DIGITS]})" for network in task.networks)
    return "; ".join((*source, *said, *networks))
