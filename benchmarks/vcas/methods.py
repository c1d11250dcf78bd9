"""The methods VerticalCAS is measured by, and where its task files are."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.ladder import AskedOnce
from benchmarks.measure import AUTO, Method

FOLDER = Path(__file__).parent

METHODS = (
    AUTO,
    Method("paths", "paths"),
    Method("milp mono", "milp", {"encoding": "monolithic"}),
    Method("milp comp", "milp", {"encoding": "compositional"}),
    Method("comp par", "milp", {"encoding": "compositional"}, workers=max(2, os.cpu_count() or 1)),
    Method("bounds", "bounds"),
)
PAPERS = tuple(  # the paper's own: bounds by intervals, and a solver that is asked once
    Method(f"{name} loose", "milp", {"encoding": encoding, "tighten": False, "solver": AskedOnce()})
    for name, encoding in (("mono", "monolithic"), ("comp", "compositional"))
)
_, PATHS, MONOLITHIC, COMPOSITIONAL, PARALLEL, BOUNDS = METHODS
