"""`vn.map`: where in a region does a claim hold?"""

from __future__ import annotations

import builtins
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from vernal.engines.check import NO_OPTIONS, Options, named_formula, parse_formula, question_of, refuse_open
from vernal.engines.journals import map_subject
from vernal.errors import InputError
from vernal.formats.loading import Tasks, free_parameters, freed
from vernal.interpret.numbers.device import find_device
from vernal.logic.formula import Formula
from vernal.logic.printing import number
from vernal.logic.question import Question
from vernal.logic.task import GivenTask, Task, as_task
from vernal.model.declare import exact
from vernal.model.initial import Ends
from vernal.model.system import Model
from vernal.queries.grid import Axis, Grid
from vernal.queries.maps.axes import Over, map_axes, parse_intervals
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_steps import step_claim
from vernal.queries.maps.cell_tree import MapTree
from vernal.queries.maps.map_file import read_map, sheet_values
from vernal.queries.maps.map_jobs import MapSpread
from vernal.queries.maps.map_run import CELL_SECONDS, Event, MapRun, parse_rule
from vernal.queries.maps.region_map import RegionMap
from vernal.queries.public_sweep import MadeTasks, Maker, _opened
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.places import CPU, HERE, WorkPlace, parse_place
from vernal.run.threads import one_blas_thread

MapRange = str | Sequence[Any]


@dataclass(frozen=True)
class MapSheets:
    """The tasks of a map, one for each combination of listed parameters, and what is asked of each."""

    tasks: tuple[Task, ...]
    questions: tuple[Question, ...]
    values: tuple[Mapping[str, Fraction], ...]
    over: Over
    freed: tuple[str, ...] = ()  # intervals of parameters


def map(
    subject: GivenTask | Maker,
    formula: str | Formula | None = None,
    *,
    property: str | None = None,
    over: Mapping[str, MapRange] | Sequence[str] = (),
    until: str = "open < 1%",
    cells: int = 4096,
    engine: str = "auto",
    timeout: float | None = None,
    cell_timeout: float = CELL_SECONDS,
    memory: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    events: Callable[[Event], None] | None = None,
    options: Options = NO_OPTIONS,
    output: str | Path | None = None,
    device: str = "cpu",
    steps: bool = False,
    workers: int = 1,
    on: str | None = None,
) -> RegionMap:
    """Where in a region a claim holds: cells that are safe, unsafe, wholly unsafe or open, with exact shares.

    `subject` is a task, its file, a system, or a function of parameters that gives one.
    `over` has two ends for each variable whose start is mapped, `{"h": (-400, 400)}`, and values of parameters as in
    `vn.sweep`; without it, every interval of the initial set is mapped. It ends when the open share is below `until`,
    when there are so many `cells`, or after `timeout` seconds. `output` is a file that a later run goes on with.
    With `steps`, cells that are not safe say for how many steps the claim is proven of them. `on` says where cells are
    asked: `here`, `workers`, `dir:FOLDER` or `ray`; several `workers` are a pool.

    Example: `vn.map("vcas.toml", property="safe", over={"h": (-400, 400), "v": (-30, 30)}, cells=500).shares`
    """
    refuse_limits({"timeout": timeout, "memory": memory, "cell_timeout": cell_timeout}, workers, seed)
    find_device(device)
    given = _over(over)
    opened, fixed = _made(subject, given)
    tasks = free_parameters(opened, given.intervals)
    sheets = make_sheets(tasks.task, given, fixed, lambda task: _question(task, formula, property), freed(tasks))
    budget = Budget(timeout, memory, started=time.monotonic(), seed=seed, progress=progress or silent, device=device)
    run = prepared(sheets, budget, parse_rule(until), cells, engine, options, cell_timeout, events, steps)
    place = HERE if on is None and device != CPU else parse_place(on, None if workers == 1 else workers)
    found = mapped(run, sheets, None if output is None else Path(output), place)
    if output is not None:
        found.save(output)
    return found


def _made(subject: GivenTask | Maker, over: Over) -> tuple[Tasks, dict[str, str]]:
    """What makes the tasks of a map; a model has no parameters, so that it is its own task."""
    if isinstance(subject, Model) or (isinstance(subject, Task) and subject.source is None):
        if over.listed:
            names = ", ".join(axis.name for axis in over.listed)
            raise InputError(f"a model has no parameter {names}: give the task file, or a function of the parameters")
        task = as_task(subject)
        return MadeTasks(lambda: task), {}
    return _opened(subject, {axis.name for axis in over.listed} | set(over.intervals))


def _over(over: Mapping[str, MapRange] | Sequence[str]) -> Over:
    if not isinstance(over, Mapping):
        return parse_intervals(over)
    intervals: dict[str, Ends] = {}
    listed: list[Axis] = []
    for name, values in over.items():
        if isinstance(values, str):
            text = parse_intervals([f"{name}={values}"])
            intervals |= text.intervals
            listed += text.listed
        elif isinstance(values, tuple) and len(values) == 2:
            intervals[name] = _exact_end(name, values[0]), _exact_end(name, values[1])
        else:
            listed.append(Axis(name, tuple(number(exact(value)) for value in values)))
    return Over(intervals, tuple(listed))


def _exact_end(name: str, value: Any) -> Fraction:
    try:
        return Fraction(exact(value))
    except (ValueError, OverflowError, TypeError):
        raise InputError(f"the interval of {name} has an end that is no finite number: {value}") from None


def _question(task: Task, formula: str | Formula | None, name: str | None) -> Question:
    if formula is not None and name is not None:
        raise InputError("a formula or a property by name, not both: leave out one of them")
    if formula is not None:
        return question_of(task, parse_formula(task, formula) if isinstance(formula, str) else formula)
    if name is None:
        if len(task.properties) != 1:
            known = ", ".join(task.properties) or "none"
            raise InputError(f"a map is of one claim; name a property ({known}) or give a formula")
        name = next(iter(task.properties))
    return question_of(task, named_formula(task, name), name)


def make_sheets(
    make: Callable[[Mapping[str, str]], Task],
    over: Over,
    fixed: Mapping[str, str],
    ask: Callable[[Task], Question],
    freed: tuple[str, ...] = (),
) -> MapSheets:
    """A task and a question for every combination of listed parameters."""
    points = builtins.list(Grid(over.listed).points()) if over.listed else [{}]
    tasks = tuple(make({**fixed, **point}) for point in points)
    for task in tasks:
        refuse_open(task.model)
    values = tuple({name: task.parameters[name] for name in point} for task, point in zip(tasks, points, strict=True))
    return MapSheets(tasks, tuple(ask(task) for task in tasks), values, over, freed)


def prepared(
    sheets: MapSheets,
    budget: Budget,
    until: Fraction,
    cells: int,
    engine: str,
    options: Options,
    cell_timeout: float,
    events: Callable[[Event], None] | None,
    steps: bool = False,
) -> MapRun:
    """A run that has not begun; what makes no sense is refused here."""
    if cells < 1:
        raise InputError(f"a map has at least one cell, not {cells}")
    task = sheets.tasks[0]
    axes = map_axes(task.model, sheets.over.intervals, task.parameters)
    asked = [
        CellQuestions(question, axes, engine, options, np.random.default_rng(budget.seed))
        for question in sheets.questions
    ]
    for one in asked:
        one.of(tuple(axis.ends for axis in axes)).model.initial  # noqa: B018 - a start that is none is refused
    if steps:
        step_claim(asked[0].question)
    tree = MapTree(axes, len(asked))
    return MapRun(tree, asked, budget, until, cells, cell_timeout, steps, events or (lambda event: None))


def mapped(run: MapRun, sheets: MapSheets, file: Path | None, place: WorkPlace = HERE) -> RegionMap:
    """The map that a run finds, gone on from a file if that is there."""
    made = finished(run, sheets)
    if file is not None and file.exists():
        read_map(file, made, builtins.list(run.questions))
        run.waiting.clear()
        run.left = Fraction(0)
        run.__post_init__()
    if place.spreads:
        run.elsewhere = _spread(run, sheets, place).go
    with one_blas_thread():
        run.go()
    return finished(run, sheets)


def _spread(run: MapRun, sheets: MapSheets, place: WorkPlace) -> MapSpread:
    """The cells of a run in other processes; chunks of two maps have no name in common."""
    asked, task = run.questions[0], sheets.tasks[0]
    region = ", ".join([*builtins.map(str, run.tree.axes), *builtins.map(sheet_values, sheets.values)])
    subject = map_subject(task, asked.engine, asked.options, str(asked.question.formula), region)
    return MapSpread(run, place, lambda: subject, f"map {secrets.token_hex(8)}")


def finished(run: MapRun, sheets: MapSheets) -> RegionMap:
    """What a run has found so far."""
    seconds = time.monotonic() - run.began
    task, question = sheets.tasks[0], sheets.questions[0]
    return RegionMap(task, question, run.tree, sheets.values, seconds, run.stopped, sheets.freed, run.why_open)
