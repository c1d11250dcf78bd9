"""The public simulation: many random runs, and which of them break the task's properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vernal.engines.falsify.shares import RunShare, share_of
from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.model.hooks import hook
from vernal.model.system import System
from vernal.run.threads import one_blas_thread
from vernal.simulate.runs import Runs
from vernal.simulate.runs import simulate as run

MAX_NUMBERS = 10**8  # values kept in memory: about 800 MB


@dataclass(frozen=True)
class Simulation:
    """Random runs of a task, a row for each in every array and a column for each position, and what they break."""

    runs: Runs = field(repr=False)
    shares: Mapping[str, RunShare] = field(default_factory=dict)  # by the name of the property
    task: Task | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        broken = ", ".join(f"{name} fails on {share.share:.1%}" for name, share in self.shares.items() if share.failing)
        return f"<Simulation of {len(self)} runs, {self.runs.steps} steps{': ' if broken else ''}{broken}>"

    def __len__(self) -> int:
        return len(self.runs.lengths)

    @property
    def state(self) -> Mapping[str, Floats]:
        """The state variables by name; nan after the end of a path that ends. Labels are indices."""
        return self.runs.state

    @property
    def actions(self) -> Mapping[str, Floats]:
        """The actions of the agents by name."""
        return self.runs.actions

    def plot(
        self,
        file: str | Path | None = None,
        *,
        of: str | Expr | Sequence[str | Expr] | None = None,
        plane: bool = False,
        limits: Mapping[str, float | Iterable[float]] | None = None,
    ) -> Any:
        """Draw how quantities spread over the runs; to a file by its suffix (pdf, svg, png) if one is named.

        `of` are the expressions to draw; `plane` draws two of them against each other; without `limits` those of the
        task's properties are drawn.
        """
        return hook("plot_simulation")(self, file, of=of, plane=plane, limits=limits)

    def save(self, file: str | Path) -> None:
        """Write every position of every run as CSV, as `vernal simulate --csv` does."""
        hook("write_runs")(self.runs, file)

    def to_dataframe(self) -> Any:
        """One row for every position of every run, as a data frame of pandas."""
        return hook("frame_runs")(self.runs)

    def _repr_html_(self) -> str:
        return str(hook("show_simulation")(self))


def simulate(subject: Task | System, runs: int = 1000, steps: int = 20, *, seed: int = 0) -> Simulation:
    """Run a system many times: initial states, draws and ties are uniform at random, numbers are floating point.

    The properties of a task are judged on every run. Runs prove nothing; one that fails comes with an exact path.
    """
    if runs < 1:
        raise InputError(f"runs has to be at least 1, not {runs}")
    if steps < 0 or seed < 0:
        raise InputError("steps and seed have to be 0 or more")
    task = subject if isinstance(subject, Task) else Task(subject)
    system = task.system
    if system.open_agents:
        raise InputError(f"there is no policy for {', '.join(map(repr, system.open_agents))}: nothing can be simulated")
    kept = len(system.state) + sum(slot.var.size for slot in system.slots) + len(system.step.names)
    if runs * (steps + 1) * kept > MAX_NUMBERS:
        raise InputError("so many runs and steps do not fit into memory; ask for fewer")
    with one_blas_thread(), np.errstate(all="ignore"):
        made = run(system, runs, steps, np.random.default_rng(seed))
        shares = {name: share_of(made, formula, name) for name, formula in task.properties.items()}
    return Simulation(made, shares, task)
