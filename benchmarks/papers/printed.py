"""What the papers print in their tables, cell by cell; the shading of cells is lost in the copies they were read from.

Seconds are those of the authors' machines. Of VerticalCAS (AAMAS 2020) `benchmarks.vcas.published` has them, of neural
abstractions (NeurIPS 2022) `benchmarks.neural_abstractions.models`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Cells = Mapping[tuple[str, ...], tuple[str, ...]]  # from what a row is about to the columns printed


def grid(rows: Sequence[str], columns: Sequence[str], *tables: str) -> Cells:
    """Cells of tables that are written as text: a line for each row, a word for each column; - is a timeout."""
    read = [[line.split() for line in table.strip().splitlines()] for table in tables]
    return {
        (column, row): tuple(table[i][j] for table in read)
        for j, column in enumerate(columns)
        for i, row in enumerate(rows)
    }


# AAAI 2019, Table 1: seconds of Gurobi by n and eps, input on start and input on demand.
PENDULUM_RNN = grid(
    tuple(map(str, range(1, 9))),
    ("pi/10", "pi/30", "pi/50", "pi/70"),
    """
    0.056 0.067 0.011 0.014
    0.052 0.179 0.138 0.197
    0.372 0.904 5.794 0.552
    2.578 7.222 0.378 0.368
    20.57 31.07 0.748 0.663
    73.97 3.264 31.07 23.99
    54.30 96.54 116.8 207.8
    693.2 294.9 239.8 243.3
    """,
    """
    0.004 0.012 0.011 0.014
    0.060 0.114 0.244 0.253
    0.247 1.068 6.092 0.125
    2.176 5.359 0.182 0.198
    10.04 0.293 0.317 0.294
    13.99 0.367 0.357 0.359
    31.93 0.497 0.488 0.478
    0.689 0.660 0.696 0.703
    """,
)

# AAAI 2019, Table 2: variables and constraints of the program by n, input on start and input on demand.
SIZES = {
    "ios": ((273, 736, 1455, 2494, 3917, 5788, 8171, 11130), (336, 736, 1806, 3101, 4876, 7211, 10186, 13881)),
    "iod": ((273, 620, 1055, 1590, 2237, 3008, 3915, 4970), (336, 766, 1306, 1971, 2776, 3736, 4866, 6181)),
}

# AAMAS 2025, Table 2: seconds of Algorithm 4, at which depth; + minimal and ++ maximal invariant, > 10,000 s is -.
CARTPOLE: Mapping[tuple[str, str], str] = {
    ("R16", "pi/40"): "2.7 (2)",
    ("R16", "pi/30"): "2.3 (1)",
    ("R16", "pi/20"): "2.0 (1)",
    ("R16", "pi/10"): "2.3 (1)",
    ("R32", "pi/40"): "41.3+ (3)",
    ("R32", "pi/30"): "- (9)",
    ("R32", "pi/20"): "7571.2 (8)",
    ("R32", "pi/10"): "- (9)",
    ("R2x16", "pi/40"): "9.8++ (1)",
    ("R2x16", "pi/30"): "5.3++ (1)",
    ("R2x16", "pi/20"): "9.3++ (1)",
    ("R2x16", "pi/10"): "11.7+ (2)",
}

# AAMAS 2025, Table 3: seconds of Algorithm 3 or of bounded paths, at which depth.
PENDULUM: Mapping[tuple[str, str], str] = {
    ("R10", "0.15"): "60 (15)",
    ("R10", "0.1"): "32 (13)",
    ("R10", "0.05"): "86 (19)",
    ("R10", "0.01"): "183 (20)",
    ("R20", "0.15"): "2156 (19)",
    ("R20", "0.1"): "6903 (20)",
    ("R20", "0.05"): "5314 (20)",
    ("R20", "0.01"): "6012 (20)",
    ("R2x10", "0.15"): "8626 (18)",
    ("R2x10", "0.1"): "- (20)",
    ("R2x10", "0.05"): "- (20)",
    ("R2x10", "0.01"): "- (20)",
}

# AAMAS 2025, Table 4: seconds by t and eps, of RNSVerify, of recursive programs alone, and of the paper's method.
LANDER = grid(
    tuple(map(str, range(1, 11))),
    ("pi/30", "pi/20", "pi/10"),
    """
    23.1 22.4 25.0
    195.3 210.5 196.8
    413.8 437.1 440.4
    1728.7 1724.6 1829.4
    8648.9 7972.0 8295.2
    - - -
    - - -
    - - -
    - - -
    - - -
    """,
    """
    5.8 6.7 6.1
    12.5 13.5 19.6
    25.6 27.1 28.9
    49.1 55.0 59.6
    77.7 80.4 83.5
    92.9 99.7 113.5
    147.6 159.9 185.8
    335.9 393.9 340.2
    776.0 946.8 767.2
    1392.0 2241.2 1783.5
    """,
    """
    0.0* 0.0* 0.1
    0.1* 0.1* 0.1
    0.2* 14.1 14.5
    33.3 37.4 38.7
    50.4 49.6 55.5
    73.1 72.3 80.0
    100.7 99.2 107.8
    193.4 287.4 211.0
    234.8 475.7 289.6
    396.2 553.3 453.0
    """,
)

# AAMAS 2025, Figure 2: what the text says of it; F G is called True, G F False.
SPREAD = {"stability": "True", "liveness": "False", "holding": ""}

# ICAPS 2022, Table 2: of networks of 16, 32 and 64, shortest unsafe path, seconds to it, and length checked at 12 h.
BOUNDED = {
    "racetrack": ("3 3 3", "36.9 40.1 316.5", "12 11 7"),
    "6 blocks, cost-aware": ("- - -", "- - -", "6 5 4"),
    "8 blocks, cost-ignoring": ("- - -", "- - -", "5 5 4"),
    "8-puzzle, cost-ignoring": ("2 - -", "72.8 - -", "7 3 0"),
    "8-puzzle, cost-aware": ("- - -", "- - -", "3 3 0"),
    "transport": ("1 1 -", "57.0 20548.0 -", "2 1 0"),
}
