"""What two checkouts said of the same questions, and the tables of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import table

ROW, SUM = 1.25, 1.05  # how much slower a row and a sum may be
NOISE = 0.03  # seconds of difference that say nothing
SAME_MARGIN = 1e-9


@dataclass(frozen=True)
class Answer:
    """One answer and its seconds of the processor."""

    verdict: str
    seconds: float
    margin: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Row:
    """One question: what both sides said, once for each round."""

    family: str
    label: str
    before: Sequence[Answer]
    after: Sequence[Answer]

    @property
    def seconds(self) -> tuple[float, float]:
        """The medians over the rounds."""
        first, second = (median(one.seconds for one in answers) for answers in (self.before, self.after))
        return first, second

    @property
    def verdicts(self) -> tuple[str, str]:
        """What each side said in every round; all that it said, where rounds differ."""
        first, second = ("/".join(sorted({one.verdict for one in side})) for side in (self.before, self.after))
        return first, second

    @property
    def timed_out(self) -> bool:
        """Whether a limit ended one of them: its seconds are the limit's, not the question's."""
        return any("timeout" in one.reason or one.verdict == "timed-out" for one in (*self.before, *self.after))

    @property
    def ratio(self) -> float:
        before, after = self.seconds
        return after / before if before else 1.0

    @property
    def slower(self) -> bool:
        before, after = self.seconds
        return not self.timed_out and after > ROW * before and after - before > NOISE

    @property
    def margins(self) -> tuple[float, float] | None:
        """The least margins of both sides, where both have one."""
        sides = [[one.margin for one in side if one.margin is not None] for side in (self.before, self.after)]
        return (min(sides[0]), min(sides[1])) if all(sides) else None

    @property
    def worse_margin(self) -> bool:
        """A margin that is smaller than before, or gone."""
        if self.margins is None:
            had, has = (any(one.margin is not None for one in side) for side in (self.before, self.after))
            return had and not has and self.verdicts[0] == self.verdicts[1]
        before, after = self.margins
        return abs(after) < abs(before) - SAME_MARGIN


def sums_table(rows: Sequence[Row]) -> str:
    """A line for each family: sums of medians without what a limit ended."""
    families = dict.fromkeys(row.family for row in rows)
    lines = [_sum(family, [row for row in rows if row.family == family]) for family in families]
    header = (
        "family",
        "questions",
        "at the limit",
        "before s",
        "after s",
        "ratio",
        "slower rows",
        "verdicts",
        "margins",
    )
    return table(header, [*lines, _sum("all", rows)])


def sums_line(family: str, rows: Sequence[Row]) -> str:
    """The line of one family, on its own."""
    return " | ".join(_sum(family, [row for row in rows if row.family == family]))


def _sum(name: str, rows: Sequence[Row]) -> list[str]:
    timed = [row for row in rows if not row.timed_out]
    before, after = (sum(row.seconds[side] for row in timed) for side in (0, 1))
    ratio = after / before if before else 1.0
    mark = " SLOWER" if ratio > SUM else ""
    other = sum(row.verdicts[0] != row.verdicts[1] for row in rows)
    worse = sum(row.worse_margin for row in rows)
    return [
        name,
        str(len(rows)),
        str(len(rows) - len(timed)),
        f"{before:.2f}",
        f"{after:.2f}",
        f"{ratio:.3f}{mark}",
        str(sum(row.slower for row in rows)),
        f"{other} DIFFER" if other else "same",
        f"{worse} WORSE" if worse else "same or better",
    ]


def rows_table(rows: Sequence[Row]) -> str:
    """Questions one by one."""
    return table(
        ("family", "question", "before", "after", "before s", "after s", "ratio", "margins"),
        [
            [row.family, row.label, *row.verdicts, *(f"{one:.3f}" for one in row.seconds), _ratio(row), _margins(row)]
            for row in rows
        ],
    )


def _ratio(row: Row) -> str:
    return "limit" if row.timed_out else f"{row.ratio:.2f}{' SLOWER' if row.slower else ''}"


def _margins(row: Row) -> str:
    if row.margins is None:
        return "LOST" if row.worse_margin else ""
    before, after = row.margins
    return f"{before:.6g}" if abs(before - after) <= SAME_MARGIN else f"{before:.9g} -> {after:.9g}"


def remarkable(rows: Sequence[Row]) -> list[Row]:
    """Rows that are slower, say something else, or have a worse margin."""
    return [row for row in rows if row.slower or row.worse_margin or row.verdicts[0] != row.verdicts[1]]
