"""What others report of the same questions: the answers, and how long they took.

The answers were recomputed in rational arithmetic. The times are those of the AAMAS 2020 paper (Table 1, Gurobi, Intel
Core i7-6700, two hours at most) and of the tool released with it, run on a machine like ours; they are here for the
order of magnitude, not for a race on different machines.
"""

from __future__ import annotations

RATES = (-19.5, -22.5, -25.5, -28.5)
STEPS = (1, 2, 3, 4, 5, 6)
SCALINGS = (5000, 200)

# T where every branch is safe after exactly k steps: a string for each k, a letter for each climb rate.
SAFE = {
    5000: ("TTTT", "TTFF", "TFFF", "TTFF", "TTTF", "TTTT"),
    200: ("TTTF", "FFFF", "FFFF", "FFFF", "FFFF", "FFFF"),
}

# Seconds by k and climb rate, scaling 5000; None is a timeout of two hours.
Times = tuple[tuple[float | None, ...], ...]
PARALLEL: Times = (
    (0.629, 0.608, 0.649, 0.652),
    (2.901, 2.730, 1.092, 1.429),
    (10.67, 1.716, 1.918, 1.824),
    (39.58, 40.91, 2.474, 2.570),
    (145.6, 156.3, 159.8, 3.830),
    (797.4, 544.8, 573.5, 568.8),
)
SEQUENTIAL: Times = (
    (0.728, 0.819, 0.737, 0.750),
    (5.392, 5.594, 0.623, 0.618),
    (26.06, 0.986, 0.961, 0.964),
    (109.9, 108.7, 1.404, 1.417),
    (433.5, 481.2, 512.4, 2.244),
    (2174.0, 1639.0, 1826.0, 1859.0),
)
MONOLITHIC: Times = (
    (0.039, 0.039, 0.041, 0.042),
    (4.399, 6.450, 1.444, 3.323),
    (23.33, 14.58, 12.79, 13.59),
    (None, None, 377.5, 29.96),
    (None, None, None, 751.1),
    (None, None, None, None),
)
RELEASED = "the released VenMAS on a similar machine: 4 to 6 s a cell at k = 6, 183 s at exactly k = 10"


def expected(scaling: int, rate: float, k: int) -> str:
    """The right answer of a cell."""
    return "holds" if SAFE[scaling][k - 1][RATES.index(rate)] == "T" else "violated"


def reported(times: Times, scaling: int, rate: float, k: int) -> str:
    """The paper's time of a cell, as it is printed; the paper has the scaling 5000 only."""
    if scaling != SCALINGS[0]:
        return ""
    seconds = times[k - 1][RATES.index(rate)]
    return "> 7200" if seconds is None else f"{seconds:.4g}"
