"""The picture of the rooms in docs/design.md, drawn from the table and the walk on that page.

    python scripts/rooms.py        writes docs/images/rooms.svg

A room is a bar, from the first that may be imported to the last; at its side stands where a question passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "design.md"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \|$", re.MULTILINE)
STATION = re.compile(r"^(\d+)\. \*\*([\w ]+)\.\*\*", re.MULTILINE)
BANDS = {  # what the rooms are for, and the colour of their bars
    "words and data": (("printable", "errors", "model", "logic"), "#d9ead3"),
    "meaning and machines": (("interpret", "evidence", "solvers", "run", "simulate"), "#cfe2f3"),
    "methods": (("sets", "reduce", "engines"), "#fff2cc"),
    "doors": (("formats", "queries", "report", "worlds", "cli", "plugins"), "#f4dcd6"),
}
WIDTH, BAR, GAP, LEFT = 860, 30, 6, 130
FONT = "font-family='system-ui, sans-serif'"


def rooms(page: str) -> list[tuple[str, str]]:
    """The rooms in their order, each with what it holds, as the table has them: up to the first colon or semicolon."""
    section = page.split("\n## The rooms\n")[1].split("\n## ")[0]
    return [(name, re.split("[:;]", about)[0].replace("`", "")) for name, about in ROW.findall(section)]


def stations(page: str) -> dict[str, str]:
    """By room, the number of the walk's station there."""
    section = page.split("\n## A question walks")[1].split("\n## ")[0]
    return {room: number for number, names in STATION.findall(section) for room in names.split(" and ")}


def picture(page: str) -> str:
    """The whole picture as SVG."""
    named, walk = rooms(page), stations(page)
    height = 60 + len(named) * (BAR + GAP) + len(BANDS) * GAP
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}'>"
    frame = f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>"
    return "\n".join([head, frame, *arrow(height), *bars(named, walk), "</svg>"]) + "\n"


def bars(named: Sequence[tuple[str, str]], walk: Mapping[str, str]) -> Iterator[str]:
    """A bar for each room, band by band."""
    about, y = dict(named), 44
    for band, (members, colour) in BANDS.items():
        tall = len(members) * (BAR + GAP) - GAP
        yield text(LEFT - 44, y + tall / 2, band, "font-size='12' fill='#666' text-anchor='middle'", turned=True)
        for room in members:
            yield from bar(room, about[room], colour, y, walk.get(room))
            y += BAR + GAP
        y += GAP


def bar(room: str, about: str, colour: str, y: int, station: str | None) -> Iterator[str]:
    """One room: its name, what it holds, and the number of its station."""
    yield f"<rect x='{LEFT}' y='{y}' width='{WIDTH - LEFT - 20}' height='{BAR}' rx='6' fill='{colour}'/>"
    yield text(LEFT + 14, y + 20, room, "font-size='14' font-weight='bold' fill='#222'")
    yield text(LEFT + 106, y + 20, about, "font-size='13' fill='#333'")
    if station:
        yield f"<circle cx='{LEFT - 18}' cy='{y + BAR / 2}' r='11' fill='#00796b'/>"
        yield text(LEFT - 18, y + 19.5, station, "font-size='13' fill='#fff' text-anchor='middle'")


def arrow(height: int) -> Iterator[str]:
    """What is allowed: imports that point up; and what the circles are."""
    yield f"<path d='M 30 {height - 20} V 52' stroke='#888' stroke-width='2' fill='none'/>"
    yield "<path d='M 30 42 l -6 12 h 12 z' fill='#888'/>"
    yield text(22, height / 2, "imports point up", "font-size='13' fill='#666' text-anchor='middle'", turned=True)
    yield text(LEFT, 28, "circles: where a question passes, in this order", "font-size='13' fill='#00796b'")


def text(x: float, y: float, words: str, style: str, *, turned: bool = False) -> str:
    """Words at a place, upright or read from below."""
    turn = f" transform='rotate(-90 {x} {y})'" if turned else ""
    return f"<text x='{x}' y='{y}' {FONT} {style}{turn}>{escape(words)}</text>"


if __name__ == "__main__":
    PICTURE.write_text(picture(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
