"""Tables of plain text: aligned, as wide as the terminal, and with long ones cut in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vernal.evidence.result import UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.printable import in_one_line, shortened
from vernal.report.values import number, numbers, series

WIDTH = 120  # characters, where the width of the page is unknown
MOST_ROWS = 30  # a trace longer than this is cut in the middle
KEPT_ROWS = 13  # at either end of a cut trace


@dataclass(frozen=True, slots=True)
class Column:
    """A title over cells; text stands left, numbers stand right."""

    title: str
    cells: Sequence[str]
    left: bool = False

    @property
    def width(self) -> int:
        return max(map(len, [self.title, *self.cells]))

    def line(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def aligned(columns: Sequence[Column], *, width: int = WIDTH, indent: str = "") -> str:
    """The columns side by side; those beyond the width go below, each time beside the first column.

    What does not print, or is very long, is put right before widths are measured.
    """
    first, *rest = map(_shown, columns)
    blocks: list[str] = []
    while rest or not blocks:
        block = [first]
        space = width - len(indent) - first.width
        while rest and (len(block) == 1 or rest[0].width + 2 <= space):
            space -= rest[0].width + 2
            block.append(rest.pop(0))
        blocks.append(_block(block, indent))
    return "\n\n".join(blocks)


def _shown(column: Column) -> Column:
    return Column(_in_cell(column.title), [_in_cell(cell) for cell in column.cells], column.left)


def _in_cell(text: str) -> str:
    return shortened(in_one_line(text))


def _block(columns: Sequence[Column], indent: str) -> str:
    rows = [[column.title for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    lines = ["  ".join(column.line(cell) for column, cell in zip(columns, row, strict=True)) for row in rows]
    return "\n".join((indent + line).rstrip() for line in lines)


def trace_columns(trace: Trace) -> list[Column]:
    """The positions of a trace as rows: state, actions, and the draws that lead on."""
    times = None if trace.times is None else Column("time", numbers(trace.times))
    steps = times or Column("step", [str(position) for position in range(len(trace))])
    return [steps, *(Column(item.title, item.cells(), item.is_text) for item in series(trace))]


def trace_table(trace: Trace, *, width: int = WIDTH, indent: str = "  ") -> str:
    """A trace to read on the screen; the middle of a long one is left out, and said to be."""
    columns = trace_columns(trace)
    hidden = len(trace) - 2 * KEPT_ROWS if len(trace) > MOST_ROWS else 0
    if hidden:
        columns = [Column(c.title, [*c.cells[:KEPT_ROWS], "...", *c.cells[-KEPT_ROWS:]], c.left) for c in columns]
    text = aligned(columns, width=width, indent=indent)
    if hidden:
        text += f"\n{indent}({hidden} steps are left out; --trace FILE keeps all of them)"
    if trace.loop is not None:
        text += f"\n{indent}(after step {len(trace) - 1} the path goes on from step {trace.loop}, for ever)"
    if trace.complete:
        text += f"\n{indent}(the path ends here: the system is not enabled)"
    return text


def reach(result: Result) -> str | None:
    """How far a verdict reaches: `up to step 6`, `at step 3`, `at t = 0.25`."""
    if result.verdict is VIOLATED and result.step is not None:
        return f"at step {result.step}"
    if result.verdict is VIOLATED and result.time is not None:
        return f"at t = {number(result.time)}"
    return result.scope if result.verdict is not UNKNOWN else None


def seconds(duration: float) -> str:
    """`0.02 s`, `1.3 s`, `74 s`: two digits."""
    if duration < 0.095:
        return f"{duration:.2f} s"
    return f"{duration:.1f} s" if duration < 9.95 else f"{duration:.0f} s"
