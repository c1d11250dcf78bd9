"""What came out: decided, wrong, median and sum in CPU seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.measure import table
from benchmarks.queries.instances import ANSWERS, Instance
from benchmarks.queries.race import Run

HEADER = ("tool", "decided", "sat", "unsat", "open", "failed", "wrong", "disputed", "median", "sum", "slowest")


def wrong(runs: Iterable[Run]) -> list[Run]:
    """Answers that are not the known one."""
    return [one for one in runs if one.decided and one.instance.answer not in (None, one.answer)]


def disputed(runs: Sequence[Run]) -> list[Run]:
    """Answers to questions without a known one that another tool contradicts."""
    said: dict[Instance, set[str]] = {}
    for one in runs:
        if one.decided and one.instance.answer is None:
            said.setdefault(one.instance, set()).add(one.answer)
    return [one for one in runs if one.decided and len(said.get(one.instance, ())) > 1]


def summary(runs: Sequence[Run]) -> str:
    """A row for each tool. An instance that is not decided costs its limit in the sum and counts in the median."""
    names = list(dict.fromkeys(one.tool for one in runs))
    rows = [_row(name, [one for one in runs if one.tool == name], runs) for name in names]
    return table(HEADER, rows)


def _row(name: str, own: Sequence[Run], runs: Sequence[Run]) -> list[str]:
    decided = [one for one in own if one.decided]
    counts = [sum(one.answer == answer for one in own) for answer in ANSWERS]
    failed = sum(one.answer == "failed" for one in own)
    left = len(own) - len(decided) - failed
    blamed = [sum(one.tool == name for one in found) for found in (wrong(runs), disputed(runs))]
    costs = [cost(one) for one in own]
    times = (median(costs), sum(costs), max(costs))
    return [
        name,
        f"{len(decided)} of {len(own)}",
        *map(str, (*counts, left, failed, *blamed)),
        *(f"{seconds:.2f}" for seconds in times),
    ]


def cost(run: Run) -> float:
    """CPU seconds; the whole limit where there is no answer, whatever was used."""
    return run.cpu if run.decided else run.instance.limit


def ratios(runs: Sequence[Run], ours: str) -> str:
    """Each other tool beside ours, on the questions that both decide: sums, and the median of the ratios."""
    mine = {one.instance: one for one in runs if one.tool == ours and one.decided}
    lines = []
    for name in dict.fromkeys(one.tool for one in runs if one.tool != ours):
        pairs = [
            (one.cpu, mine[one.instance].cpu)
            for one in runs
            if one.tool == name and one.decided and one.instance in mine
        ]
        if pairs:
            theirs, own = (sum(column) for column in zip(*pairs, strict=True))
            middle = median(a / b for a, b in pairs)
            lines.append([name, str(len(pairs)), f"{theirs:.2f}", f"{own:.2f}", f"{theirs / own:.2f}", f"{middle:.2f}"])
    return table(("tool", "both decide", "its sum", f"sum of {ours}", "its sum / ours", "median of ratios"), lines)


def complaints(runs: Sequence[Run]) -> list[str]:
    """Every wrong, disputed or failed answer, named."""
    found = [f"WRONG: {one.tool} says {one.answer} to {one.instance.name}" for one in wrong(runs)]
    found += [f"DISPUTED: {one.tool} says {one.answer} to {one.instance.name}" for one in disputed(runs)]
    for one in runs:
        if one.answer == "failed":
            last = one.printed.strip().splitlines()[-1:] or ["(nothing printed)"]
            found.append(f"failed: {one.tool} on {one.instance.name}: {last[0][:150]}")
    return found
