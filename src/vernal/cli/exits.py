"""Exit codes: what a script learns without reading the output."""

from __future__ import annotations

from collections.abc import Iterable

from vernal.evidence.result import UNKNOWN, VIOLATED, Verdict

OK = 0  # holds; accepted; every cell decided
REJECTED = 1  # replay does not confirm the evidence
BAD_INPUT = 2
UNDECIDED = 5
REFUTED = 10
INTERNAL = 70  # a fault of Vernal itself (EX_SOFTWARE)
INTERRUPTED = 130  # 128 + SIGINT
BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader of the output has ended
TERMINATED = 143  # 128 + SIGTERM


def of_verdicts(verdicts: Iterable[Verdict]) -> int:
    """Violated outweighs unknown, unknown outweighs holds."""
    found = set(verdicts)
    if VIOLATED in found:
        return REFUTED
    return UNDECIDED if UNKNOWN in found else OK
