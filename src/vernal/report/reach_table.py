"""Reachable sets for people and for machines: a table of bounds, what is to be said about them, and a document."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets, ReachedValue, TimedReach
from vernal.evidence.document_head import head
from vernal.evidence.reach import rounded_down, rounded_up
from vernal.report.document import dump
from vernal.report.frames import data_frame, html_lines, html_table
from vernal.report.run_table import decimals, shown_steps
from vernal.report.tables import WIDTH, Column, aligned
from vernal.run.output import write_text

DIGITS = 5  # of the width of a column's widest interval that are shown
MOST_DECIMALS = 12
HAIR = 1e-9  # in proportion: rounding errors of a walk are far below
SCIENTIFIC_FROM = 1e15  # from here on in scientific notation
UNBOUNDED = "no bound"


def reach_table(sets: ReachableSets, *, width: int = WIDTH) -> str:
    """What every expression can be at some of the steps; ends are rounded outward to the digits shown."""
    return aligned(reach_columns(sets), width=width) if sets.steps else ""


def reach_columns(sets: ReachableSets) -> list[Column]:
    """The steps that are shown, all spans of time, and a column for each expression."""
    chosen = shown_steps(len(sets.steps) - 1) if sets.timed is None else range(len(sets.steps))
    columns = [Column("step", [str(t) for t in chosen]) if sets.timed is None else Column("time", _times(sets))]
    for name in sets.of:
        values = sets.values(name)
        columns.append(Column(name, cells([values[t] for t in chosen]), left=True))
    return columns


def _times(sets: ReachableSets) -> list[str]:
    """Spans of time, ends rounded to the digits that tell them apart."""
    ends = iter(decimals([end for span in sets.spans for end in span]))
    return [f"[{start}, {end}]" for start, end in zip(ends, ends, strict=True)]


def cells(values: list[ReachedValue]) -> list[str]:
    """Intervals with equally many decimals, or labels."""
    places = _places([value for value in values if isinstance(value, NumberBounds) and value.is_finite])
    return [" ".join(one.labels) if isinstance(one, LabelSet) else _interval(one, places) for one in values]


def _places(values: list[NumberBounds]) -> int:
    """As many decimals as tell the ends of the widest interval apart; of single values, as many as they need."""
    widest = max((one.upper - one.lower for one in values), default=0.0)
    largest = max((abs(end) for one in values for end in (one.lower, one.upper)), default=0.0)
    if not widest > 1e-9 * largest:
        texts = [f"{round(one.lower, MOST_DECIMALS) + 0.0:.6g}" for one in values]
        return max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=0)
    if widest == math.inf:  # of two ends that are floats
        return 0
    return min(MOST_DECIMALS, max(0, DIGITS - 2 - math.floor(math.log10(widest))))


def _interval(value: NumberBounds, places: int) -> str:
    """Ends rounded outward; one number where both are the same but for rounding."""
    if value.lower == -math.inf and value.upper == math.inf:
        return UNBOUNDED
    width, largest = value.upper - value.lower, max(abs(value.lower), abs(value.upper))
    if value.is_finite and width <= HAIR * largest:
        return _decimal(value.lower, places, round)
    low, high = (_decimal(end, places, way, HAIR * width) for end, way in ((value.lower, floor), (value.upper, ceil)))
    return f"[{low}, {high}]"


def _decimal(end: float, places: int, way: Callable[[Fraction], int], hair: float = 0.0) -> str:
    """An end with so many decimals; an end that is a hair from one of them is that one."""
    if not math.isfinite(end) or abs(end) >= SCIENTIFIC_FROM:
        return f"{end:.6g}"
    scaled = Fraction(end) * 10**places
    near = round(scaled)
    whole = near if math.isfinite(hair) and abs(scaled - near) <= Fraction(hair) * 10**places else way(scaled)
    return f"{float(Fraction(whole, 10**places)):.{places}f}"


def reach_notes(sets: ReachableSets) -> list[str]:
    """What is to be said besides: where paths end, where a limit was reached, what has no bound."""
    if sets.timed is not None:
        return _timed_notes(sets, sets.timed)
    notes = []
    if sets.ended == 0:
        notes.append("there is no initial state")
    elif sets.ended is not None:
        notes.append(f"no path has a step {sets.ended}: all have ended before")
    if sets.reason is not None:
        notes.append(f"stopped: {sets.reason}; {_done(sets)}")
    if sets.coarse is not None and sets.coarse <= max(0, len(sets.steps) - 1):
        notes.append(
            f"from step {sets.coarse} on decisions are not followed, and bounds may be loose: {sets.coarse_reason}"
        )
    for name, t in sets.unbounded.items():
        notes.append(f"{name} has no bound from step {t} on: it may be undefined there, or as large as anything")
    return notes


def _timed_notes(sets: ReachableSets, timed: TimedReach) -> list[str]:
    """The same of a flow: until when it was followed, and until when all trajectories are inside the region."""
    if sets.ended == 0:
        return ["there is no initial state"]
    notes = []
    if sets.reason is not None:
        done = f"bounded up to time {rounded_down(timed.until)} of {timed.horizon:g}"
        notes.append(f"stopped: {sets.reason}; {done if sets.steps else 'nothing is bounded'}")
    if not sets.steps:
        return notes
    if timed.left is not None:
        notes.append(f"no trajectory is inside the region after time {rounded_up(timed.left)}")
    if timed.inside_until >= timed.until:
        notes.append("all trajectories are inside the region" + ("" if sets.reason is None else " until then"))
    else:
        until = rounded_down(timed.inside_until)
        notes.append(f"all trajectories are inside the region until time {until}; one that leaves it is not followed")
    for name, t in sets.unbounded.items():
        since = sets.spans[t][0]
        notes.append(f"{name} has no bound from time {since:g} on: it may be undefined there, or as large as anything")
    return notes


def _done(sets: ReachableSets) -> str:
    done = len(sets.steps) - 1
    return (
        f"steps 0 to {done} of {sets.last} are bounded"
        if done >= 0
        else f"none of the {sets.last + 1} steps is bounded"
    )


def reach_document(sets: ReachableSets) -> dict[str, Any]:
    """What `vernal reach --json` writes; an end without a bound is null."""
    steps = [
        {
            "step": t,
            "values": {name: _value(value) for name, value in zip(sets.of, step.values, strict=True)},
            "polygon": None if step.polygon is None else [list(vertex) for vertex in step.polygon],
            **({} if step.span is None else {"from": step.span[0], "to": step.span[1]}),
        }
        for t, step in enumerate(sets.steps)
    ]
    return {
        **head(sets.task),
        "of": [{"expression": name, "sort": str(sort)} for name, sort in zip(sets.of, sets.sorts, strict=True)],
        "last": sets.last,
        "complete": sets.is_complete,
        "reason": sets.reason,
        "ended": sets.ended,
        "notes": reach_notes(sets),
        "seconds": round(sets.seconds, 6),
        **({} if sets.timed is None else _timed_object(sets.timed)),
        "steps": steps,
    }


def _timed_object(timed: TimedReach) -> dict[str, Any]:
    """What only documents of flows have."""
    return {
        "engine": timed.engine,
        "time": timed.horizon,
        "until": timed.until,
        "inside_until": timed.inside_until,
        "left": timed.left,
    }


def _value(value: ReachedValue) -> dict[str, Any]:
    if isinstance(value, LabelSet):
        return {"labels": list(value.labels)}
    return {name: end if math.isfinite(end) else None for name, end in (("lower", value.lower), ("upper", value.upper))}


def write_sets(sets: ReachableSets, file: str | Path) -> None:
    """The document, in a file."""
    write_text(file, dump(reach_document(sets)))


def show_sets(sets: ReachableSets) -> str:
    """The table and the picture, for a notebook."""
    from vernal.report.tubes import sets_svg

    shown = html_table(reach_columns(sets)) if sets.steps else ""
    return shown + html_lines(reach_notes(sets)) + (sets_svg(sets) if sets.steps else "")


def frame_sets(sets: ReachableSets) -> Any:
    """One row for every step: the two ends of every number, the labels of the others; of a flow, of every span."""
    columns: dict[str, list[Any]] = {"step": list(range(len(sets.steps)))}
    if sets.timed is not None:
        columns = {"from": [start for start, _ in sets.spans], "to": [end for _, end in sets.spans]}
    for name, sort in zip(sets.of, sets.sorts, strict=True):
        values = sets.values(name)
        if sort.is_number:
            known = [value for value in values if isinstance(value, NumberBounds)]
            columns[f"{name} lower"] = [value.lower for value in known]
            columns[f"{name} upper"] = [value.upper for value in known]
        else:
            columns[name] = [value.labels for value in values if isinstance(value, LabelSet)]
    return data_frame(columns)
