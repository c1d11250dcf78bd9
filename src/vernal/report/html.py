"""A report to send around: one HTML file with the verdicts, the traces, their pictures and the inputs' fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import Template

from vernal.evidence.document_head import exact_number
from vernal.evidence.invariant import Invariant
from vernal.evidence.program_version import version
from vernal.evidence.result import Result
from vernal.evidence.trace import Trace
from vernal.logic.task import Task
from vernal.printable import MAX_FORMULA, shortened
from vernal.report.attempt_words import stopped_by
from vernal.report.invariants import counted_sets, set_words
from vernal.report.markup import escape, folded
from vernal.report.slider import with_slider
from vernal.report.tables import reach, seconds, trace_columns
from vernal.report.text import VACUOUS
from vernal.report.unknown_page import unknown_parts
from vernal.report.values import number

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff; --soft: #55616c; --line: #dde3e8;
  --holds: #1a7f37; --violated: #c3272b; --unknown: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe5ea; --paper: #14191f; --soft: #9aa7b2; --line: #323c46;
  --holds: #4cc26b; --violated: #ff7b78; --unknown: #d9a53a; } }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
table { border-collapse: collapse; font-size: .9rem; margin: .8rem 0; overflow-wrap: break-word; }
.scroll { overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
.steps td, td.number, th { white-space: nowrap; } .formula { display: inline-block; min-width: 12rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
table.steps :is(th, td):first-child { position: sticky; left: 0; background: var(--paper); }
code { font-family: ui-monospace, monospace; font-size: .88em; } .hash { color: var(--soft); }
.holds { color: var(--holds); } .violated { color: var(--violated); } .unknown { color: var(--unknown); }
.holds, .violated, .unknown { font-weight: 600; } .note { color: var(--soft); margin: .2rem 0; }
summary { cursor: pointer; color: var(--soft); } figure { margin: 1rem 0; }
svg { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { color: var(--soft); font-size: .9rem; }
@media print { details::details-content { content-visibility: visible; } }
</style>
</head>
<body>
<h1>$title</h1>
$made
$body
</body>
</html>
""")

MAX_SETS = 50  # of an invariant that are listed
FormulaWords = Callable[[Result], str | None]  # a formula in words, where there are any


@dataclass(frozen=True, slots=True)
class Pictures:
    """What is shown of one result, as HTML: its trace, or what is reachable; its invariant; which decisions failed."""

    paths: Sequence[str] = ()
    invariant: Sequence[str] = ()
    certificate: str = ""  # its sets as a graph
    faults: str = ""  # a table of the decisions along its trace


@dataclass(frozen=True, slots=True)
class ReportOrigin:
    """When a report was made, and by which command; none where it was a call from Python."""

    date: datetime
    command: str | None = None


def page(
    task: Task, results: Sequence[Result], words: FormulaWords, pictures: Sequence[Pictures], origin: ReportOrigin
) -> str:
    """The whole report; it loads nothing from anywhere."""
    sections = [_section(result, words, drawn) for result, drawn in zip(results, pictures, strict=True)]
    parts = [_summary(results), *sections, _inputs(task)]
    title = escape(f"{task.name or 'Task'}: report")
    return PAGE.substitute(title=title, made=_origin(origin), body="\n".join(parts))


def _origin(origin: ReportOrigin) -> str:
    """Date, version and command line, below the title."""
    date = f"{origin.date:%Y-%m-%d %H:%M %Z}".strip()
    command = "" if origin.command is None else f"<br><code>{escape(origin.command)}</code>"
    return f'<p class="note">{escape(date)}, Vernal {escape(version())}{command}</p>'


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool] | None = None, kind: str = ""
) -> str:
    """A table of cells that are HTML already; a wide one scrolls in its place."""
    marks = [' class="number"' if right else "" for right in numeric or [False] * len(heads)]
    top = "".join(f"<th{mark}>{escape(head)}</th>" for mark, head in zip(marks, heads, strict=True))
    lines = ["".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, row, strict=True)) for row in rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    named = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named}>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>'


def _verdict(result: Result) -> str:
    return f'<span class="{result.verdict.value}">{result.verdict.value}</span>'


def _summary(results: Sequence[Result]) -> str:
    rows = [
        [
            escape(result.property or ""),
            f'<code class="formula">{escape(shortened(result.formula, MAX_FORMULA))}</code>',
            _verdict(result),
            escape(reach(result) or ""),
            escape("" if result.assurance is None else str(result.assurance)),
            "" if result.margin is None else number(result.margin),
            escape(result.engine),
            seconds(result.seconds),
        ]
        for result in results
    ]
    heads = ["property", "formula", "verdict", "scope", "assurance", "margin", "engine", "time"]
    return _table(heads, rows, [False] * 5 + [True, False, True])


def _section(result: Result, words: FormulaWords, pictures: Pictures) -> str:
    """One result: what was asked, what is to be said about the answer, and the trace or what is reachable."""
    parts = [f"<h2>{escape(result.property or shortened(result.formula, MAX_FORMULA))}: {_verdict(result)}</h2>"]
    said = words(result)
    parts.append(f"<p><code>{escape(result.formula)}</code></p>")
    parts += [f"<p>{escape(shortened(said[:1].upper() + said[1:]))}.</p>"] if said else []
    parts += [f'<p class="note">{escape(line)}</p>' for line in _remarks(result)]
    parts += unknown_parts(result)
    drawn = "\n".join(_figures(pictures.paths))
    parts.append(drawn if result.trace is None else with_slider(result.trace, drawn, _trace(result.trace)))
    if pictures.faults:
        parts += ["<h3>Which decision was wrong</h3>", f'<div class="scroll">{pictures.faults}</div>']
    if result.invariant is not None:
        parts += [*_figures(pictures.invariant), _invariant(result.invariant)]
    parts += [pictures.certificate] if pictures.certificate else []
    parts += _statistics(result)
    return "\n".join(parts)


def _trace(trace: Trace) -> str:
    """A trace in numbers, folded where it is long."""
    columns = trace_columns(trace)
    rows = [[escape(cell) for cell in row] for row in zip(*(c.cells for c in columns), strict=True)]
    table = _table([c.title for c in columns], rows, [not c.left for c in columns], "steps")
    return folded(table, len(rows), f"The trace in numbers, {len(rows):,} positions")


def _figures(pictures: Sequence[str]) -> list[str]:
    return [f"<figure>{picture}</figure>" for picture in pictures if picture]


def _invariant(invariant: Invariant) -> str:
    """The sets of an invariant in numbers, the first of many."""
    shown = [[escape(set_words(invariant, one))] for one in invariant.sets[:MAX_SETS]]
    count = counted_sets(len(invariant.sets))
    title = f"invariant: no step leaves it; {count}"
    more = [f'<p class="note">... and {len(invariant.sets) - MAX_SETS:,} more</p>'] * (len(invariant.sets) > MAX_SETS)
    listed = "\n".join([_table([title], shown), *more])
    return folded(listed, len(shown), f"The invariant in numbers, {count}")


def _remarks(result: Result) -> list[str]:
    remarks = [f"Reason: {stopped_by(result)}."] if result.reason else []
    remarks += [f"Margin: {number(result.margin)}."] if result.margin is not None else []
    remarks += [f"Proven: {result.proven}."] if result.proven is not None else []
    if result.vacuous and not any(note.startswith("vacuous") for note in result.notes):
        remarks.append(f"Vacuous: {VACUOUS}")
    remarks += [f"Uncertified: {result.uncertified}."] if result.uncertified is not None else []
    return remarks + [f"Note: {note}" for note in result.notes if note != result.weaker]


def _statistics(result: Result) -> list[str]:
    """What the engines counted, as a table to unfold."""
    rows = [[escape(name.replace("_", " ")), escape(_statistic(value))] for name, value in result.statistics.items()]
    if not rows:
        return []
    return [folded(_table(["counted", ""], rows, [False, True]), len(rows), "Statistics", 0)]


def _statistic(value: object) -> str:
    """A number of a statistic, rounded for reading."""
    return number(value) if isinstance(value, float) else str(value)


def _inputs(task: Task) -> str:
    files = ([] if task.source is None else [task.source]) + list(task.networks)
    rows = [[f"<code>{escape(f.file)}</code>", f'<code class="hash">{f.sha256}</code>'] for f in files]
    listed = folded(_table(["file", "sha256"], rows), len(rows), f"{len(rows)} files") if rows else ""
    parts = ["<h2>Inputs</h2>", listed] if rows or task.parameters else []
    if task.parameters:
        values = [[escape(name), escape(str(exact_number(value)))] for name, value in task.parameters.items()]
        table = _table(["parameter", "value"], values, [False, True])
        parts.append(folded(table, len(values), f"{len(values)} parameters"))
    return "\n".join(parts)
