"""Recurrent sets: boxes of states to which all trajectories come, and to which they come back again and again.

A claim `G p` without an end is true of all trajectories if p is true on their way into the boxes, and from any of the
boxes until they are back in one. Replay follows them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from vernal.errors import FormatError
from vernal.evidence.trace import Trace
from vernal.evidence.trace_file import exact_object
from vernal.evidence.trace_values import read_number, write_number
from vernal.model.hooks import hook
from vernal.model.portable import ArrayData

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

KEYS = ("variables", "section", "arrival", "period", "boxes")
MAX_BOXES = 20_000


@dataclass(frozen=True, eq=False)
class RecurrentSet(ArrayData):
    """All trajectories are in the union of the boxes `arrival` seconds after they began, and from any state of the
    boxes they are in it again `period` seconds later, inside the region all the way.

    The variables are the state, and of a loop that samples besides what decides its future at an instant at which all
    agents are about to read: actions that a delay keeps in force, and memories.

    Where a variable is the `section`, it has one value in the only box, and all trajectories pass the box within
    `arrival` seconds, and from any state of it again within `period` seconds.
    """

    variables: tuple[str, ...]
    arrival: Fraction
    period: Fraction
    boxes: NDArray[np.float64]  # (boxes, 2, variables): lower and upper ends
    section: str | None = None

    @property
    def kind(self) -> Literal["recurrence"]:
        """Which kind of evidence this is."""
        return "recurrence"

    @property
    def path(self) -> Trace | None:
        """It shows no path."""
        return None

    def plot(self, file: str | Path | None = None, *, of: tuple[str, str] | None = None) -> Any:
        """Draw the boxes over two variables."""
        return hook("plot_recurrence")(self, file, of=of)


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
    import numpy as np

    from vernal.evidence.flowpipe_file import listed, ordered_ends

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
