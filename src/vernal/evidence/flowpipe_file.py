"""Flowpipes as JSON and back: directions, the boxes they start from, and for each segment its span of time and bounds.

Floats are meant exactly, as they stand in the arrays, and are written in their shortest form.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from vernal.errors import FormatError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.trace_file import exact_object
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import labelled, trailed
from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model

MAX_SEGMENTS = 20_000
MAX_STARTS = 4_096
MAX_DIRECTIONS = 256
KEYS = ("variables", "directions", "starts", "segments", "inside_until", "until")
SEGMENT_KEYS = ("times", "lower", "upper", "location")


def flowpipe_json(pipe: Flowpipe) -> dict[str, Any]:
    """The flowpipe as a JSON object, of not too many segments."""
    pipe = thinned(pipe)
    locations = pipe.sets.measured(pipe.sets.template, labels=1).labels[:, 0]
    columns = (pipe.times.tolist(), pipe.lower.tolist(), pipe.upper.tolist(), locations.tolist())
    return {
        "variables": list(pipe.variables),
        "directions": pipe.directions.tolist(),
        "starts": [{"lower": low, "upper": high} for low, high in pipe.starts.tolist()],
        "segments": [
            {"times": times, "lower": low, "upper": high, "location": None if location < 0 else location}
            for times, low, high, location in zip(*columns, strict=True)
        ],
        "inside_until": pipe.inside_until,
        "until": pipe.until,
    }


def thinned(pipe: Flowpipe) -> Flowpipe:
    """The same trajectories in fewer segments, and from fewer boxes: neighbours become one, which contains both."""
    while len(pipe.times) > MAX_SEGMENTS:
        order = np.argsort(pipe.times[:, 0], kind="stable")
        times = np.stack(_joined(pipe.times[order, 0], pipe.times[order, 1]), axis=1)
        sets = trailed(pipe.sets.template, *_joined(pipe.lower[order], pipe.upper[order]))
        pipe = replace(pipe, times=times, sets=sets)
    while len(pipe.starts) > MAX_STARTS:
        pipe = replace(pipe, starts=np.stack(_joined(pipe.starts[:, 0], pipe.starts[:, 1]), axis=1))
    return pipe


def _joined(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Every two rows as one."""
    pairs = np.arange(0, len(lower), 2)
    return np.minimum.reduceat(lower, pairs), np.maximum.reduceat(upper, pairs)


def flowpipe_of(document: Any, flow: Model) -> Flowpipe:
    """A recorded flowpipe, read against the flow's names; nothing is believed of it but its form."""
    fields = exact_object(document, KEYS, "flowpipe")
    names = tuple(variable.name for variable in flow.state)
    if fields["variables"] != list(names):
        raise FormatError(f"flowpipe: its variables are not those of the flow, {', '.join(names)}")
    directions = _matrix(fields["directions"], len(names), MAX_DIRECTIONS, "flowpipe, directions")
    if not np.array_equal(directions[: len(names)], np.eye(len(names))):
        raise FormatError("flowpipe, directions: the first ones are the axes")
    starts = [
        _box(one, len(names), f"flowpipe, starts[{i}]")
        for i, one in enumerate(listed(fields["starts"], MAX_STARTS, "flowpipe, starts"))
    ]
    segments = listed(fields["segments"], MAX_SEGMENTS, "flowpipe, segments")
    rows = [_segment(one, len(directions), f"flowpipe, segments[{i}]") for i, one in enumerate(segments)]
    times, lower, upper = (np.array([row[k] for row in rows]).reshape(len(rows), -1) for k in range(3))
    locations = np.array([row[3] for row in rows], dtype=np.int64).reshape(-1, 1)
    sets = labelled(Template(directions), lower, upper, locations[:, : int((locations >= 0).any())])
    inside, until = (_time(fields[key], f"flowpipe, {key}") for key in ("inside_until", "until"))
    boxes = np.array(starts).reshape(len(starts), 2, len(names))
    return Flowpipe(names, sets, times.reshape(-1, 2), inside, until, boxes)


def _segment(document: Any, size: int, where: str) -> tuple[list[float], list[float], list[float], int]:
    fields = exact_object(document, SEGMENT_KEYS, where)
    times = _row(fields["times"], 2, f"{where}, times")
    if not 0 <= times[0] <= times[1]:
        raise FormatError(f"{where}: a span of time ascends from 0 or later")
    location = fields["location"]
    if location is not None and (type(location) is not int or not 0 <= location < 2**31):
        raise FormatError(f"{where}: a location is a number from 0 on, or null")
    return times, *ordered_ends(fields, size, where), -1 if location is None else location


def _box(document: Any, size: int, where: str) -> tuple[list[float], list[float]]:
    return ordered_ends(exact_object(document, ("lower", "upper"), where), size, where)


def ordered_ends(fields: dict[str, Any], size: int, where: str) -> tuple[list[float], list[float]]:
    lower, upper = (_row(fields[end], size, f"{where}, {end}") for end in ("lower", "upper"))
    if any(low > high for low, high in zip(lower, upper, strict=True)):
        raise FormatError(f"{where}: a lower end is above the upper end")
    return lower, upper


def _matrix(document: Any, size: int, most: int, where: str) -> Floats:
    rows = [_row(row, size, f"{where}[{i}]") for i, row in enumerate(listed(document, most, where))]
    return np.array(rows).reshape(len(rows), size)


def _row(document: Any, size: int, where: str) -> list[float]:
    items = listed(document, size, where)
    if len(items) != size:
        raise FormatError(f"{where}: expected {size} numbers, not {len(items)}")
    return [_number(item, where) for item in items]


def _time(item: Any, where: str) -> float:
    value = _number(item, where)
    if value < 0:
        raise FormatError(f"{where}: a time is not before 0")
    return value


def _number(item: Any, where: str) -> float:
    """A float, or an integer that is one."""
    if isinstance(item, float) and math.isfinite(item):
        return item
    if type(item) is int and abs(item) <= 2**53:
        return float(item)
    raise FormatError(f"{where}: expected a finite number")


def listed(document: Any, most: int, where: str) -> list[Any]:
    if not isinstance(document, list):
        raise FormatError(f"{where}: expected a list, not {type(document).__name__}")
    if len(document) > most:
        raise FormatError(f"{where}: more than {most:,} entries")
    return document
