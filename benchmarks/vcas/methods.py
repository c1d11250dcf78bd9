"""The methods VerticalCAS is measured by, and where its task files are."""

from __future__ import annotations

import os
from pathlib import Path

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
_, PATHS, MONOLITHIC, COMPOSITIONAL, PARALLEL, BOUNDS = METHODS
