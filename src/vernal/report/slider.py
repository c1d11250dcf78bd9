"""A slider through a trace, for pages and notebooks: the values at a position, and a line in the pictures there.

It needs nothing but the table of the trace, whose cells it copies, and the lines that `report.plots` calls cursors. A
page that runs no scripts shows the position at which it starts: the failing one, where the trace has one.
"""

from __future__ import annotations

from vernal.evidence.trace import Trace
from vernal.report.markup import escape
from vernal.report.plots import CURSOR, axis_ends, places_of
from vernal.report.subject import failure_of
from vernal.report.tables import trace_columns

# The width of an axis is measured in the picture itself: `data-at` are places along it, between 0 and 1.
MOVE = (
    "const box = this.closest('.walk'), at = this.dataset.at.split(' '), "
    "row = [...box.querySelectorAll('tbody tr')][this.value]; "
    "box.querySelectorAll('output').forEach((shown, i) => "
    "{ shown.textContent = row.cells[i].textContent || '\\u2013'; }); "
    f"box.querySelectorAll('[id={CURSOR}]').forEach(line => line.setAttribute('transform', 'translate(' + "
    "(at[this.value] - at[this.dataset.first]) * line.closest('[id^=axes]').querySelector('path').getBBox().width + "
    "')'));"
)
VALUE = 'style="display: inline-block; margin-right: 1.2em"'
NOTHING = "\u2013"  # of what has no value at a position, as a draw at the last
RANGE = 'style="width: 100%; max-width: 36rem"'


def with_slider(trace: Trace, pictures: str, table: str) -> str:
    """Pictures of a trace, a slider, the values where it stands, and the table it takes them from."""
    slider = _slider(trace) if len(trace) > 1 else ""
    return f'<div class="walk">\n{pictures}\n{slider}\n{table}\n</div>'


def _slider(trace: Trace) -> str:
    failure, columns = failure_of(trace), trace_columns(trace)
    first = 0 if failure is None else failure.position
    places = places_of(trace)
    low, high = axis_ends(places)
    at = " ".join(f"{(place - low) / (high - low):.4g}" for place in places)
    values = "\n".join(
        f"<span {VALUE}>{escape(column.title)} = <output>{escape(column.cells[first]) or NOTHING}</output></span>"
        for column in columns
    )
    slider = (
        f'<input type="range" {RANGE} aria-label="position" min="0" max="{len(trace) - 1}" value="{first}" '
        f'data-first="{first}" data-at="{at}" oninput="{escape(MOVE)}">'
    )
    return f"<p>{slider}<br>\n{values}</p>"
