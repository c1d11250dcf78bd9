"""A result in words, for people at a terminal."""

from __future__ import annotations

from textwrap import fill

from vernal.evidence.result import HOLDS, UNKNOWN, EngineAttempt, Result, Verdict
from vernal.printable import MAX_FORMULA, printable, shortened
from vernal.report.attempt_words import attempt_words, stopped_by
from vernal.report.invariants import invariant_words
from vernal.report.next_steps import suggestions
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
    """The lines below the verdict: of an unknown all that is known, vacuity, the invariant, notes; wrapped if asked."""
    tried = unknown_lines(result, wrap) if result.verdict is UNKNOWN else []
    return [_indented(line, wrap) for line in remarks(result)] + tried


def remarks(result: Result) -> list[str]:
    """What stopped the search, what is proven all the same, vacuity, the invariant, notes."""
    lines = [f"reason: {stopped_by(result)}"] if result.reason else []
    lines += [] if result.proven is None else [f"proven: {result.proven}"]
    if result.vacuous and not any(note.startswith("vacuous") for note in result.notes):
        lines.append(f"vacuous: {VACUOUS}")
    if result.invariant is not None:
        lines.append(f"invariant: {invariant_words(result.invariant)}")
    if result.uncertified is not None:
        lines.append(f"uncertified: {result.uncertified}")
    return lines + [f"note: {note}" for note in result.notes if note != result.weaker]


def unknown_lines(result: Result, wrap: int | None = None) -> list[str]:
    """A line for each engine that was tried, and commands to copy."""
    lines = [MARGIN + "tried:"] * bool(result.tried)
    lines += [_indented(f"  {attempt_line(one, result)}", wrap) for one in result.tried]
    said = suggestions(result)
    lines += [MARGIN + "try:"] * bool(said)
    return lines + [f"{MARGIN}  {one.command}    # {one.why}" for one in said]


def attempt_line(attempt: EngineAttempt, result: Result) -> str:
    """`paths    1.8 s  all paths by sets of states; not finished`, below those of the other engines."""
    width = max(len(one.engine) for one in result.tried)
    return f"{attempt.engine:<{width}}  {seconds(attempt.seconds):>6}  {attempt_words(attempt)}"


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
