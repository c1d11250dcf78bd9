"""The public sweep: one question over every combination of parameter values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from vernal.engines.check import NO_OPTIONS, Options, named_formula, parse_formula, question_of
from vernal.errors import InputError
from vernal.formats.loading import Tasks, open_tasks
from vernal.interpret.numbers.device import find_device
from vernal.logic.formula import Formula
from vernal.logic.printing import number
from vernal.logic.question import Question
from vernal.logic.task import GivenTask, Task, as_task
from vernal.model.declare import exact
from vernal.queries.grid import Axis, Grid, parse_over
from vernal.queries.sweep import SweepRun, SweepTable
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.places import CPU, HERE, parse_place

Maker = Callable[..., GivenTask]
SweptValues = str | Iterable[Any]


def sweep(
    subject: str | Path | Task | Maker,
    over: Mapping[str, SweptValues],
    formula: str | Formula | None = None,
    *,
    property: str | Sequence[str] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    memory: float | None = None,
    workers: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    options: Options = NO_OPTIONS,
    journal: str | Path | None = None,
    device: str = "cpu",
    on: str | None = None,
) -> SweepTable:
    """Ask a formula, or properties by name, of every combination of parameter values; the last varies fastest.

    `subject` is a task file, a task that was loaded from one, or a function of the parameters that gives a task, a
    system or a flow. `over` has numbers for each parameter, `{"v0": [-19.5, -22.5], "k": range(1, 7)}`, or the text of
    the command line, `"1..6"`. Everything else is as for `vn.check`; `timeout` is for each cell.
    `on` says where cells are asked: `here`, `workers`, `dir:FOLDER` or `ray`; several `workers` are a pool.
    """
    refuse_limits({"timeout": timeout, "memory": memory}, workers, seed)
    find_device(device)
    if formula is not None and property is not None:
        raise InputError("a formula or properties by name, not both: leave out one of them")
    axes = [_axis(name, values) for name, values in over.items()]
    if not axes:
        raise InputError('a sweep goes over at least one parameter, for example over={"k": range(1, 7)}')
    tasks, fixed = _opened(subject, {axis.name for axis in axes})

    def budget(started: float) -> Budget:
        return Budget(timeout, memory, started=started, seed=seed, workers=workers, device=device)

    run = SweepRun(
        tasks,
        Grid(axes),
        fixed,
        lambda task: _questions(task, formula, property),
        budget,
        engine,
        options,
        None if journal is None else Path(journal),
        progress or silent,
        HERE if on is None and device != CPU else parse_place(on, None if on is not None and workers == 1 else workers),
    )
    run.go()
    if run.failure is not None:
        raise run.failure
    return run.table


def _axis(name: str, values: SweptValues) -> Axis:
    """The values of a parameter as expressions; a text is read as the command line reads it."""
    if isinstance(values, str):
        return parse_over(f"{name}={values}")
    written = tuple(value if isinstance(value, str) else number(exact(value)) for value in values)
    if not written:
        raise InputError(f"there is no value for {name} to sweep over")
    return Axis(name, written)


def _questions(task: Task, formula: str | Formula | None, names: str | Sequence[str] | None) -> list[Question]:
    if formula is not None:
        asked = parse_formula(task, formula) if isinstance(formula, str) else formula
        return [question_of(task, asked)]
    listed = list(task.properties) if names is None else [names] if isinstance(names, str) else names
    if not listed:
        raise task.without_properties()
    return [question_of(task, named_formula(task, name), name) for name in listed]


def _opened(subject: str | Path | Task | Maker, swept: set[str]) -> tuple[Tasks, dict[str, str]]:
    """What makes the tasks of cells, and the parameters that stay as they are."""
    if isinstance(subject, str | Path):
        return open_tasks(subject), {}
    if not isinstance(subject, Task) and callable(subject):
        return MadeTasks(subject), {}
    if not isinstance(subject, Task) or subject.source is None:
        raise InputError("a sweep makes a task for every cell: give the task file, or a function of the parameters")
    kept = {name: number(value) for name, value in subject.parameters.items() if name not in swept}
    return open_tasks(subject.source.file, subject.options, allow_outside=True), kept


@dataclass(frozen=True, slots=True)
class MadeTasks:
    """Tasks made by a function of the parameters."""

    make: Maker

    def task(self, overrides: Mapping[str, str], /) -> Task:
        """The task for these values, which are numbers."""
        values = {name: _number(name, text) for name, text in overrides.items()}
        made = self.make(**values)
        task = as_task(made)
        return replace(task, parameters={**task.parameters, **values})


def _number(name: str, text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        raise InputError(f"a function is given numbers, and {name}={text} is none") from None
