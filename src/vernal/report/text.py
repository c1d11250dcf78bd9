"""A result in words, for people at a terminal."""

from __future__ import annotations

from textwrap import fill

from vernal.evidence.reach import rounded_down
from vernal.evidence.result import HOLDS, VIOLATED, Result, Verdict
from vernal.printable import MAX_FORMULA, printable, shortened
from vernal.report.invariants import invariant_words
from vernal.report.tables import WIDTH, reach, seconds, trace_table
from vernal.report.values import number

COLOURS = {"holds": "\x1b[32m", "violated": "\x1b[31m", "unknown": "\x1b[33m"}
PLAIN = "\x1b[0m"
MARGIN = " " * 10  # where the words after the verdict begin
VACUOUS = "the claim holds whatever the agents do: no state it speaks of can occur; is that what was meant to be asked?"


def verdict_word(verdict: Verdict, *, colour: bool = False) -> str:
    """The verdict, padded so that several results stand below each other."""
    word = verdict.value.ljust(len("violated"))
    return f"{COLOURS[verdict.value]}{word}{PLAIN}" if colour else word


def verdict_line(result: Result) -> str:
    """`violated  AX[3] (h > 100)  at step 3  (falsify, exact, 0.2 s)`"""
    formula = shortened(result.formula, MAX_FORMULA)
    asked = f"{result.property}: {formula}" if result.property else formula
    where = reach(result)
    return "  ".join([verdict_word(result.verdict), asked, *([where] if where else []), _how(result)])


def _how(result: Result) -> str:
    margin = f"margin {number(result.margin)}" if result.margin is not None and result.verdict is HOLDS else None
    parts = [result.engine, result.assurance and str(result.assurance), margin, seconds(result.seconds)]
    return f"({', '.join(part for part in parts if part)})"


def details(result: Result, *, wrap: int | None = None) -> list[str]:
    """The lines below the verdict: why unknown, what was proven all the same, vacuity, notes; wrapped if asked."""
    lines = [f"reason: {result.reason}"] if result.reason else []
    proven = f"holds up to step {result.proven_steps}"
    if result.verdict not in (HOLDS, VIOLATED) and result.proven_steps is not None and proven not in str(result.reason):
        lines.append(f"proven: {proven}")
    if result.verdict not in (HOLDS, VIOLATED) and result.proven_time is not None:
        lines.append(f"proven: holds until t = {rounded_down(result.proven_time)}")
    if result.vacuous and not any(note.startswith("vacuous") for note in result.notes):
        lines.append(f"vacuous: {VACUOUS}")
    if result.invariant is not None:
        lines.append(f"invariant: {invariant_words(result.invariant)}")
    if result.uncertified is not None:
        lines.append(f"uncertified: {result.uncertified}")
    lines += [f"note: {note}" for note in result.notes]
    return [_indented(line, wrap) for line in lines]


def _indented(line: str, wrap: int | None) -> str:
    if wrap is None:
        return MARGIN + line.replace("\n", f"\n{MARGIN}")
    return fill(line, max(40, wrap), initial_indent=MARGIN, subsequent_indent=f"{MARGIN}  ")


def result_text(
    result: Result, *, colour: bool = False, width: int = WIDTH, wrap: bool = False, trace: bool = True
) -> str:
    """The whole answer: verdict, what is to be said about it (wrapped for a screen, in a pipe not), and the trace."""
    lines = [verdict_line(result), *details(result, wrap=width if wrap else None)]
    if trace and result.trace is not None:
        lines.append(trace_table(result.trace, width=width, indent=MARGIN))
    text = printable("\n".join(lines))
    plain = verdict_word(result.verdict)
    return verdict_word(result.verdict, colour=True) + text.removeprefix(plain) if colour else text
