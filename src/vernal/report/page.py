"""The report of several answers: every formula in words, every trace drawn, and for what has none, reachable sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from vernal.engines.reach.ask import reached
from vernal.engines.reach.reach_walk import ReachAsked
from vernal.engines.reach.sets import ReachableSets
from vernal.errors import InputError
from vernal.evidence.invariant import Invariant
from vernal.evidence.result import Result
from vernal.evidence.trace import Trace
from vernal.formats.evidence import write_evidence
from vernal.logic.claim import claim_of
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.logic.words import words
from vernal.printable import MAX_FORMULA, shortened
from vernal.queries.faults import Faults
from vernal.report.certificate_graph import certificate_part
from vernal.report.document import document, dump
from vernal.report.drawing import Drawing, Picture, no_picture
from vernal.report.evidence_pictures import PICTURES
from vernal.report.fault_table import show_faults
from vernal.report.flow_pictures import flow_pictures
from vernal.report.frames import coloured, html_lines, html_table
from vernal.report.html import Pictures, ReportOrigin, page
from vernal.report.limits import limits, quantities_of
from vernal.report.markup import escape, folded
from vernal.report.plots import trace_svg
from vernal.report.reach_table import reach_notes
from vernal.report.slider import with_slider
from vernal.report.subject import formula_of, task_of, trace_formula
from vernal.report.tables import Column, reach, seconds, trace_columns
from vernal.report.text import remarks
from vernal.report.tubes import sets_svg
from vernal.report.unknown_page import unknown_parts
from vernal.report.values import number
from vernal.run.budget import Budget
from vernal.run.output import write_text

MAX_QUANTITIES = 4  # drawn in one picture
MAX_STEPS = 60
LOOK_AHEAD = 20  # steps drawn of a claim without a bound
MAX_DRAWN_SETS = 200  # of states at one step, in a picture


@dataclass(frozen=True, slots=True)
class Answered:
    """A result, and the formula it is the answer to."""

    result: Result
    formula: Formula
    faults: Faults | None = None  # of its trace, where they were asked for


def report_page(
    task: Task, answers: Sequence[Answered], command: str | None = None, drawing: Drawing | None = None
) -> str:
    """The report as HTML; `command` is the command line that asked for it, `drawing` how long pictures may take."""
    formulas = {id(one.result): one.formula for one in answers}
    results, origin = [one.result for one in answers], ReportOrigin(datetime.now().astimezone(), command)
    pictures = _pictures(task, answers, drawing or Drawing())
    return page(
        task,
        results,
        lambda result: words(formulas[id(result)], task.model, task.time_of(result.property)),
        pictures,
        origin,
    )


def _pictures(task: Task, answers: Sequence[Answered], drawing: Drawing) -> list[Pictures]:
    """What is drawn of each answer: evidence comes first, should there not be time for everything."""
    order = sorted(range(len(answers)), key=lambda place: answers[place].result.evidence is None)
    drawn = {place: _pictures_of(task, answers[place], place, drawing) for place in order}
    return [drawn[place] for place in range(len(answers))]


def _pictures_of(task: Task, one: Answered, place: int, drawing: Drawing) -> Pictures:
    drawn = _drawn(task, one, drawing)
    if one.result.cover is not None:
        drawn = replace(drawn, certificate=drawing.picture(lambda _: certificate_part(one.result, place)))
    return drawn if one.faults is None else replace(drawn, faults=show_faults(one.faults))


def _drawn(task: Task, one: Answered, drawing: Drawing) -> Pictures:
    result, shown = one.result, one.result.evidence
    makers: list[Picture] = [] if shown is None else [*PICTURES[shown.kind].in_report(result, one.formula)]
    if isinstance(shown, Invariant):  # it is drawn beside its numbers, after what is reachable
        reached = drawing.picture(lambda budget: reach_figure(task, one.formula, budget))
        return Pictures([reached], [drawing.picture(make) for make in makers])
    if task.time_of(result.property) is Time.SECONDS:
        makers += flow_pictures(task, result, one.formula)
    elif result.trace is None and task.model.motion.time is Time.STEPS:
        makers.append(lambda budget: reach_figure(task, one.formula, budget))
    return Pictures([drawing.picture(make) for make in makers])


def reach_figure(task: Task, formula: Formula, budget: Budget) -> str:
    """What the quantities of a formula can be at the steps it looks at, with its limits; or why nothing is drawn."""
    found = asked_sets(task, formula, budget)
    if found is None:
        return no_picture("the formula compares nothing that varies")
    if not found.steps:
        return no_picture(found.reason or "no step was bounded in time")
    picture = sets_svg(found, limits(formula), plane=False)
    said = f"What {', '.join(found.of)} can be at every step, over all paths, with simulated runs over it"
    dashed = "; dashed lines are the limits that the formula compares with" if limits(formula) else ""
    notes = "".join(f"<br>{escape(note)}" for note in reach_notes(found))
    return f"{picture}<figcaption>{escape(said + dashed)}.{notes}</figcaption>"


def asked_sets(task: Task, formula: Formula, budget: Budget) -> ReachableSets | None:
    """The reachable sets of what a formula speaks of; None where that is nothing."""
    asked = list(quantities_of(formula).items())[:MAX_QUANTITIES]
    horizon = claim_of(formula).horizon
    steps = min(MAX_STEPS, LOOK_AHEAD if horizon is None else max(1, horizon))
    return reached(task, asked, ReachAsked(steps, sets=MAX_DRAWN_SETS), budget) if asked else None


# Methods of results and traces ----------------------------------------------------------------------------------------


def save_result(result: Result, file: str | Path) -> None:
    """The result as a JSON document."""
    write_text(file, dump(document(task_of(result), [result])))


def write_report(result: Result, file: str | Path) -> None:
    """The result as a report."""
    write_text(file, report_page(task_of(result), [Answered(result, formula_of(result))]))


def save_trace(trace: Trace, file: str | Path) -> None:
    """The trace as evidence for replay."""
    if not isinstance(trace.about, Result):
        raise InputError("a trace is written with what it shows: take it from a result of vn.check, as result.trace")
    write_evidence(task_of(trace.about), trace.about, file)


def show_result(result: Result) -> str:
    """The verdict as a table of one row, what is to be said about it, and the trace, for a notebook."""
    row = {
        "property": result.property,
        "scope": reach(result),
        "assurance": None if result.assurance is None else str(result.assurance),
        "margin": None if result.margin is None else number(result.margin),
        "engine": result.engine,
        "time": seconds(result.seconds),
    }
    head = f"<p>{coloured(result.verdict)} <code>{escape(shortened(result.formula, MAX_FORMULA))}</code></p>"
    table = html_table([Column(title, [cell]) for title, cell in row.items() if cell])
    said = html_lines(remarks(result)) + "".join(unknown_parts(result))
    return head + table + said + ("" if result.trace is None else show_trace(result.trace))


def show_trace(trace: Trace) -> str:
    """A picture, a slider through it and the rows, which are folded where they are many, for a notebook."""
    table = html_table(trace_columns(trace))
    rows = folded(table, len(trace), f"The trace in numbers, {len(trace):,} positions")
    return with_slider(trace, trace_svg(trace, trace_formula(trace)), rows)
