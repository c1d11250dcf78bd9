"""A comparison as a page: both tables, and how differences grow as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vernal.evidence.program_version import version
from vernal.report.figures import WIDTH, draw_svg, new_figure
from vernal.report.frames import html_lines, html_table
from vernal.report.html import PAGE
from vernal.report.markup import escape
from vernal.worlds.comparison import GROWTH, WorldComparison, deviation_columns, growth_columns, headline, remarks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.2  # of the picture, in inches
SMALLEST_DRAWN = 1e-18  # a difference of zero is drawn there


def comparison_page(found: WorldComparison) -> str:
    """One HTML file that loads nothing from anywhere."""
    word = "holds" if found.agrees else "violated"
    parts = [
        f'<p class="{word}">{escape(headline(found))}</p>',
        "<p>At every step the task was put into the state of the environment, and both took the same action.</p>",
        f'<div class="scroll">{html_table(deviation_columns(found))}</div>',
    ]
    if found.growth:
        parts += [
            f"<h2>{escape(GROWTH.capitalize().rstrip(':'))}</h2>",
            f"<figure>{draw_svg(lambda: _growth(found))}</figure>",
        ]
        parts.append(f'<div class="scroll">{html_table(growth_columns(found))}</div>')
    parts.append(html_lines(list(remarks(found))))
    title = escape(f"{found.task} beside {found.environment}")
    made = f'<p class="note">Vernal {escape(version())}</p>'
    return PAGE.substitute(title=title, made=made, body="\n".join(parts))


def _growth(found: WorldComparison) -> Figure:
    figure = new_figure((WIDTH, HEIGHT))
    axes = figure.subplots()
    for name, known in found.growth.items():
        axes.plot(
            list(known), [max(value, SMALLEST_DRAWN) for value in known.values()], marker="o", markersize=3, label=name
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")  # that of matplotlib writes formulas, which ours are not
        axis.set_minor_formatter("")
    axes.set_xlabel("step")
    axes.set_ylabel("difference")
    axes.legend(fontsize=7)
    return figure
