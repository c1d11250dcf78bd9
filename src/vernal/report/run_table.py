"""Many runs at a glance: how each quantity spreads over the steps, as a table and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.sorts import REAL, Kind, Sort
from vernal.report.csv_cells import write_rows
from vernal.report.frames import data_frame
from vernal.report.tables import WIDTH, Column, aligned
from vernal.run.output import write_file
from vernal.simulate.runs import Runs

SHOWN_STEPS = 11  # about so many steps are shown


def _mean(values: Floats) -> float:
    """The mean, also where the sum is beyond all floats; of runs that left these, infinite or undefined."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.mean(values)
        return float(mean if np.isfinite(mean) else np.sum(values / values.size))


FIGURES: dict[str, Callable[[Floats], float]] = {"min": np.min, "mean": _mean, "max": np.max}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A state variable or (a component of) an action: a row for each run, nan where the run has ended."""

    title: str
    sort: Sort
    values: Floats

    @property
    def is_text(self) -> bool:
        return self.sort.kind in (Kind.BOOL, Kind.ENUM)

    def label(self, value: float) -> str:
        """The value as it is written in a file."""
        if self.sort.kind is Kind.BOOL:
            return "true" if value else "false"
        if self.sort.kind is Kind.ENUM:
            return self.sort.labels[int(value)]
        return str(int(value)) if self.sort.kind is Kind.INT and value.is_integer() else repr(value)


def quantities(runs: Runs) -> list[Quantity]:
    """State variables, then actions, vectors component by component."""
    system = runs.system
    found = [Quantity(variable.name, variable.sort, runs.state[variable.name]) for variable in system.state]
    for name, action in system.step.actions.items():
        values = runs.actions[name]
        if values.ndim == 2:
            found.append(Quantity(name, action.sort, values))
        else:
            found += [Quantity(f"{name}[{i}]", action.sort, values[:, :, i]) for i in range(values.shape[2])]
    return found


def memories(runs: Runs) -> list[Quantity]:
    """What the agents remember, number by number."""
    found: list[Quantity] = []
    for agent in runs.system.agents:
        parts = [runs.memory[slot.var][:, :, i] for slot in agent.slots for i in range(slot.var.size)]
        found += [Quantity(f"memory of {agent.name}[{i}]", REAL, part) for i, part in enumerate(parts)]
    return found


def summary_table(runs: Runs, *, width: int = WIDTH) -> str:
    """Least, mean and largest value of every number at some of the steps; of labels, the most frequent."""
    return aligned(summary_columns(runs), width=width)


def summary_columns(runs: Runs) -> list[Column]:
    """The same as columns."""
    chosen = shown_steps(runs.steps)
    going = [int((runs.lengths > step).sum()) for step in chosen]
    columns = [Column("step", [str(step) for step in chosen])]
    if runs.times is not None:
        columns = [Column("time", decimals([float(runs.times[step]) for step in chosen]))]
    if len(set(going)) > 1:
        columns.append(Column("runs", [str(count) for count in going]))
    for quantity in quantities(runs):
        columns += _columns(quantity, [present(quantity.values[:, step]) for step in chosen])
    return columns


def shown_steps(last: int) -> list[int]:
    """About ten steps, the first and the last among them, a round number apart."""
    apart = next(
        size * 10**power for power in range(20) for size in (1, 2, 5) if last <= size * 10**power * (SHOWN_STEPS - 1)
    )
    return sorted({*range(0, last + 1, apart), last})


def present(values: Floats) -> Floats:
    """Those of the runs that are still going."""
    kept: Floats = values[~np.isnan(values)]
    return kept


def _columns(quantity: Quantity, samples: Sequence[Floats]) -> list[Column]:
    title = quantity.title
    if quantity.is_text:
        return [Column(title, [most_frequent(quantity, sample) for sample in samples], left=True)]
    going = [sample for sample in samples if sample.size]
    found = {name: iter(decimals([pick(sample) for sample in going])) for name, pick in FIGURES.items()}
    cells = {name: [next(texts) if sample.size else "" for sample in samples] for name, texts in found.items()}
    return [Column(f"{title} {name}", column) for name, column in cells.items()]


def decimals(figures: Sequence[float]) -> list[str]:
    """Four digits of the largest, and for the others as many decimals, so that the points stand below each other."""
    shortest = [f"{figure:.4g}" for figure in figures]
    if any("e" in text or "n" in text for text in shortest):
        return shortest
    largest = f"{max(map(abs, figures), default=0.0):#.4g}"
    places = min(len(largest.partition(".")[2]), max((len(text.partition(".")[2]) for text in shortest), default=0))
    return [f"{figure + 0.0:.{places}f}" for figure in figures]


def most_frequent(quantity: Quantity, sample: Floats) -> str:
    if not sample.size:
        return ""
    value, count = Counter(sample.tolist()).most_common(1)[0]
    label = quantity.label(value)
    return label if count == sample.size else f"{label} {100 * count // sample.size}%"


def rows(runs: Runs) -> Iterator[list[str]]:
    """`run, step, variables, actions, memories`, one line for every position of every run; of flows, the time."""
    columns = [*quantities(runs), *memories(runs)]
    places = [*map(repr, range(runs.steps + 1) if runs.times is None else runs.times.tolist())]
    yield ["run", "step" if runs.times is None else "time", *(column.title for column in columns)]
    for run, length in enumerate(runs.lengths.tolist()):
        listed = [column.values[run].tolist() for column in columns]
        for step in range(length):
            cells = [column.label(values[step]) for column, values in zip(columns, listed, strict=True)]
            yield [str(run), places[step], *cells]


def write_csv(runs: Runs, file: TextIO) -> None:
    """All of it, as CSV."""
    write_rows(file, rows(runs))


def write_runs(runs: Runs, file: str | Path) -> None:
    """The same, in a file."""

    def write(stream: BinaryIO) -> None:
        text = TextIOWrapper(stream, "utf-8", newline="")
        write_csv(runs, text)
        text.detach()  # flushed, and the stream stays open

    write_file(file, write)


def frame_runs(runs: Runs) -> Any:
    """One row for every position of every run: its number, the step, state, actions and memories; labels by name."""
    going = np.arange(runs.steps + 1) < runs.lengths[:, None]
    run, step = np.nonzero(going)
    columns: dict[str, Any] = {"run": run, "step": step}
    if runs.times is not None:
        columns = {"run": run, "time": runs.times[step]}
    for quantity in [*quantities(runs), *memories(runs)]:
        values = quantity.values[going]
        columns[quantity.title] = [quantity.label(value) for value in values.tolist()] if quantity.is_text else values
    return data_frame(columns)
