"""Figures that move: frame by frame, what has come about until a time or a step, as a GIF that repeats.

Whoever draws says of an artist when its parts appear (`appearing`), or of a panel that time runs along it (`running`);
everything else stands still.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.interpret.numbers.rounding import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAMES, MILLISECONDS, PAUSE = 48, 80, 1200  # how many, how long each is seen, and the last one
DPI = 110
TIMES, AXIS = "vernal_times", "vernal_time_axis"  # attributes of artists and panels
COVER = 4.2  # above what is drawn over time, below what claims say of it


def appearing(artist: Any, times: Floats) -> None:
    """The parts of an artist (segments of a collection, points of a line, all of a patch) appear at these times."""
    setattr(artist, TIMES, np.asarray(times, dtype=np.float64))


def running(axes: Axes, last: float) -> None:
    """Time runs along a panel, until its last one."""
    setattr(axes, AXIS, last)


def moves(figure: Figure) -> bool:
    """Whether there is something that appears in it."""
    return bool(_artists(figure)) or any(hasattr(axes, AXIS) for axes in figure.axes)


def gif(figure: Figure) -> bytes:
    """All frames as a file."""
    from PIL import Image

    artists = [_Shown(artist) for artist in _artists(figure)]
    covers = [_cover(axes) for axes in figure.axes if hasattr(axes, AXIS)]
    last = max([float(np.max(one.times, initial=0.0)) for one in artists] + [until for _, until in covers])
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what is laid out stays where it is
    pictures = []
    for now in np.linspace(0.0, last, FRAMES):
        for one in artists:
            one.show(now)
        for cover, until in covers:
            cover.set_bounds(now, 0.0, 1.05 * until - now, 1.0)
        drawn = BytesIO()
        figure.savefig(drawn, format="png", dpi=DPI)
        pictures.append(Image.open(drawn).convert("P", palette=Image.Palette.ADAPTIVE))
    made = BytesIO()
    waits = [MILLISECONDS] * (FRAMES - 1) + [PAUSE]
    pictures[0].save(made, "GIF", save_all=True, append_images=pictures[1:], duration=waits, loop=0)
    return made.getvalue()


def _artists(figure: Figure) -> list[Any]:
    return [artist for artist in figure.findobj() if hasattr(artist, TIMES)]


def _cover(axes: Axes) -> tuple[Any, float]:
    """What hides the part of a panel that is still to come."""
    from matplotlib.patches import Rectangle

    look: Any = {"facecolor": "white", "linewidth": 0, "zorder": COVER}
    cover = axes.add_patch(Rectangle((0, 0), 1, 1, transform=axes.get_xaxis_transform(), **look))
    return cover, float(getattr(axes, AXIS))


class _Shown:
    """An artist, and all of what it shows in the end."""

    def __init__(self, artist: Any) -> None:
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D

        self.artist, self.times = artist, getattr(artist, TIMES)
        self.points = np.array(artist.get_xydata()) if isinstance(artist, Line2D) else None
        self.colours = np.array(artist.get_facecolor()) if isinstance(artist, PolyCollection) else None

    def show(self, now: float) -> None:
        """What there is of it at a time."""
        there = self.times <= now
        if self.points is not None:
            self.artist.set_data(*self.points[there].T)
        elif self.colours is not None:
            self.artist.set_alpha(None)  # of all, which would hold for those that are not there
            self.artist.set_facecolor(np.where(there[:, None], self.colours, 0.0))
            self.artist.set_linewidth(np.where(there, 0.15, 0.0))
        else:
            self.artist.set_visible(bool(there.all()))
