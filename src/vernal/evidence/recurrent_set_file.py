"""Recurrent sets as JSON and back: boxes, the times, and the variable of a section if they are one."""

from __future__ import annotations

from typing import Any

import numpy as np

from vernal.errors import FormatError
from vernal.evidence.flowpipe_file import listed, ordered_ends
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.trace_file import exact_object
from vernal.evidence.trace_values import read_number, write_number

KEYS = ("variables", "section", "arrival", "period", "boxes")
MAX_BOXES = 20_000


def recurrence_words(found: RecurrentSet) -> str:
    """What recurrent sets are called."""
    count = len(found.boxes)
    if found.section is not None:
        return f"a section at one value of {found.section}, passed again and again, within {found.period} s"
    return f"a recurrent set of {count:,} {'box' if count == 1 else 'boxes'}, left and met again every {found.period} s"


def recurrence_json(found: RecurrentSet) -> dict[str, Any]:
    """Recurrent sets as a JSON object."""
    return {
        "variables": list(found.variables),
        "section": found.section,
        "arrival": write_number(found.arrival, full=True),
        "period": write_number(found.period, full=True),
        "boxes": [{"lower": low, "upper": high} for low, high in found.boxes.tolist()],
    }


def recurrence_of(document: Any) -> RecurrentSet:
    """Recurrent sets from a JSON object; nothing is believed of them but their form."""
    fields = exact_object(document, KEYS, "recurrence")
    names = fields["variables"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError("recurrence, variables: expected a list of names")
    if fields["section"] is not None and fields["section"] not in names:
        raise FormatError("recurrence, section: expected one of its variables, or null")
    rows = [
        ordered_ends(
            exact_object(one, ("lower", "upper"), f"recurrence, boxes[{i}]"), len(names), f"recurrence, boxes[{i}]"
        )
        for i, one in enumerate(listed(fields["boxes"], MAX_BOXES, "recurrence, boxes"))
    ]
    arrival, period = (read_number(fields[key], f"recurrence, {key}") for key in ("arrival", "period"))
    if arrival < 0 or period <= 0:
        raise FormatError("recurrence: paths come back after some time")
    boxes = np.array(rows, dtype=float).reshape(len(rows), 2, len(names))
    return RecurrentSet(tuple(names), arrival, period, boxes, fields["section"])
