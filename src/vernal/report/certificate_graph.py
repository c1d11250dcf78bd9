"""The certificate of a claim in a report: its sets as a graph that one can walk through.

The sets are those of the file; the steps between them are what `vernal-check` found when it checked them, where it is
installed. Every set is a row of a table with links to the sets that lead there and to those it leads to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vernal.evidence.judgement import Judgement
from vernal.evidence.result import Result
from vernal.formats.certificate import CertificateFile, certificate_of
from vernal.formats.certificate_check import Checked, checked
from vernal.report.abstract_graph import DrawnGraph, GraphNode
from vernal.report.graph_svg import svg
from vernal.report.markup import escape, folded
from vernal.report.values import number

MAX_DRAWN, MAX_LISTED = 40, 400  # sets in the picture, and in the table
MAX_ARROWS = 120
CHECK_SECONDS = 5.0
HINT = "point at a set to see its states"


def certificate_part(result: Result, place: int) -> str:
    """The certificate of a result, if it has one; `place` tells its sets from those of other results."""
    if result.cover is None or result.task is None:
        return ""
    file = certificate_of(result)
    lines = list(file.lines())
    sets = [json.loads(line) for line in lines[1:]]
    said = _said(file, lines)
    names = [str(one.get("name", row) if isinstance(one, dict) else row) for row, one in enumerate(sets, 2)]
    words = [_words(one, json.loads(lines[0])["variables"]) for one in sets]
    steps = [(names.index(a), names.index(b)) for a, b in said.steps] if len(names) <= MAX_LISTED else []
    parts = ["<h3>The certificate</h3>", f'<p class="note">{escape(_summary(said, len(sets)))}</p>']
    if 1 < len(sets) <= MAX_DRAWN and 0 < len(steps) <= MAX_ARROWS:
        nodes = tuple(GraphNode((name,), text, None, False) for name, text in zip(names, words, strict=True))
        drawn = DrawnGraph("", nodes, dict.fromkeys(steps, ("",)), HINT)
        parts.append(f"<figure>{svg(drawn)}</figure>")
    listed = _table(names[:MAX_LISTED], words[:MAX_LISTED], steps, f"c{place}")
    return "\n".join([*parts, folded(listed, len(sets), f"Its sets in numbers, {len(sets):,}")])


def _said(file: CertificateFile, lines: Sequence[str]) -> Checked:
    source = file.task.source
    if source is None or not Path(source.file).is_file():
        return Checked(Judgement.UNDECIDED, "its task is not where it was")
    return checked(lines, Path(source.file), CHECK_SECONDS)


def _summary(said: Checked, count: int) -> str:
    sets = "1 set that shows" if count == 1 else f"{count:,} sets that show"
    told = {
        Judgement.ACCEPTED: "vernal-check accepts it",
        Judgement.REJECTED: f"vernal-check rejects it: {said.reason}",
        Judgement.UNDECIDED: f"not checked: {said.reason}",
    }[said.judgement]
    return f"{sets} the claim; {told}."


def _table(names: Sequence[str], words: Sequence[str], steps: Sequence[tuple[int, int]], mark: str) -> str:
    """A row for each set: what it is, and links to the sets before and after it."""
    before, after = (_links(names, [(s[i], s[1 - i]) for s in steps], mark) for i in (1, 0))
    rows = "".join(
        f'<tr id="{mark}-{row}"><td>{escape(name)}</td><td>{escape(words[row])}</td>'
        f"<td>{before.get(row, '')}</td><td>{after.get(row, '')}</td></tr>\n"
        for row, name in enumerate(names)
    )
    head = "<tr><th>set</th><th>states</th><th>from</th><th>to</th></tr>"
    return f'<div class="scroll"><table>\n<thead>{head}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>'


def _links(names: Sequence[str], pairs: Sequence[tuple[int, int]], mark: str) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    for own, other in sorted(pairs):
        found.setdefault(own, []).append(f'<a href="#{mark}-{other}">{escape(names[other])}</a>')
    return {own: ", ".join(links) for own, links in found.items()}


def _words(one: Any, variables: Sequence[str]) -> str:
    """A line of a certificate for people: `0 <= x <= 2, mode = ON; followed`."""
    more = one if isinstance(one, dict) else {"set": one}
    said = [text for name, cell in zip(variables, more["set"], strict=True) if (text := _cell(name, cell))]
    said += [_row(row, variables) for row in more.get("rows", [])]
    said += [more["where"]] if "where" in more else []
    uses = ["paths are followed from it"] if more.get("walk") else []
    uses += [f"an induction over {more['induction']} positions"] if "induction" in more else []
    return "; ".join([", ".join(said) or "every state", *uses])


def _cell(name: str, cell: Any) -> str:
    if not isinstance(cell, list):
        return f"{name} = {str(cell).lower() if isinstance(cell, bool) else _number(cell)}"
    low, high = (None if end is None else _number(end) for end in cell)
    if low is None or high is None:
        return f"{name} <= {high}" if high is not None else f"{name} >= {low}" if low is not None else ""
    return f"{low} <= {name} <= {high}"


def _row(row: Sequence[Any], variables: Sequence[str]) -> str:
    terms = [f"{_number(a)} {name}" for a, name in zip(row, variables, strict=False) if a != 0]
    return f"{' + '.join(terms)} <= {_number(row[-1])}"


def _number(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
