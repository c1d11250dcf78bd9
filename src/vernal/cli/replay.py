"""`vernal replay`: recompute the path of a trace file or check an invariant, and compare it with what is claimed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vernal.cli import exits
from vernal.cli.options import AllowOutside, InPlane, OfExpressions
from vernal.cli.stream import show

EXAMPLES = """\b
Examples:
  vernal replay bad.trace.json
  vernal replay bad.trace.json --plot bad.svg --of h --of advisor
  vernal replay safe.invariant.json

\b
The task and the networks named in the file are looked up beside it, then in the current folder, and have to have
the hashes recorded there.
Exit code: 0 accepted, 1 rejected, 5 an invariant that could not be checked, 2 unreadable.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", short_help="Recompute a trace, or check an invariant again.", epilog=EXAMPLES)(replay)


def replay(
    evidence: Annotated[
        Path, typer.Argument(metavar="EVIDENCE", help="The trace or invariant file.", show_default=False)
    ],
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the trace (.pdf, .svg or .png).")
    ] = None,
    of: OfExpressions = None,
    plane: InPlane = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Recompute a trace step by step, and check that it shows what it is said to show.

    Of an invariant check that initial states are inside, that no step leaves it, and that the claim is true inside.
    """
    from vernal.cli.stream import refuse_overwriting, refuse_without_plot, writable
    from vernal.evidence import trace_file
    from vernal.evidence.recheck import Judgement
    from vernal.formats.evidence import check_again, formula_of, read_text, task_of
    from vernal.printable import MAX_FORMULA, in_one_line, shortened
    from vernal.report.asked import TraceSubject

    refuse_without_plot(plot, of, plane)
    writable(plot)
    refuse_overwriting([evidence], [plot])
    file = trace_file.load(read_text(evidence))
    checked = check_again(file, evidence, allow_outside=allow_outside)
    asked, reason = shortened(in_one_line(file.formula), MAX_FORMULA), shortened(in_one_line(checked.reason))
    show(f"{checked.judgement.value}  {asked}\n          {reason}")
    if plot is not None and checked.trace is not None:
        task = task_of(file, evidence, allow_outside)
        subject = TraceSubject(task, formula_of(file, task))
        replace(checked.trace, about=subject).plot(plot, of=of, plane=plane)
        show(f"plot written to {plot}")
    elif plot is not None:
        show(f"nothing is drawn to {plot}: no trace was accepted")
    codes = {Judgement.ACCEPTED: exits.OK, Judgement.REJECTED: exits.REJECTED, Judgement.UNDECIDED: exits.UNDECIDED}
    raise typer.Exit(codes[checked.judgement])
