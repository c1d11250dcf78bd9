"""The figure that all pictures are drawn on: texts stay texts, whatever is in the names that a model has.

Matplotlib takes what stands between two dollars for a formula, writes control characters into .svg files, which are no
XML then, and warns of every sign that its font does not have.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text

from vernal.report.markup import as_drawn, as_name

TEXTS: Any = {"text.parse_math": False, "text.usetex": False, "axes.formatter.use_mathtext": False}
# How warnings begin: of signs that are then drawn as a frame, and of names that leave no room, which then overlap
QUIET = (r"Glyph \d+ ", "constrained_layout not applied")


class PlainFigure(Figure):
    """A figure whose texts are put right before it is drawn, whoever wrote them."""

    def draw(self, renderer: RendererBase) -> None:
        for text in self._beside():
            text.set_text(as_name(text.get_text()))
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            text.set_text(as_drawn(text.get_text()))
            text.set_parse_math(False)
        with matplotlib.rc_context(TEXTS), warnings.catch_warnings():
            for words in QUIET:
                warnings.filterwarnings("ignore", words)
            super().draw(renderer)

    def _beside(self) -> Iterator[Text]:
        """The texts beside a panel, which take its room."""
        for axes in self.axes:
            yield axes.yaxis.label
            legend = axes.get_legend()
            yield from legend.get_texts() if legend is not None else ()
