"""What to try after *unknown*: changes of the question that can be asked as they stand, the most promising first.

A change is offered only where it is valid: an engine that takes the claim, is installed and does not give up at once, a
parameter with which the task is read and starts or disturbances get smaller, a formula that is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import ceil, log10
from pathlib import Path

from vernal.engines.attempts import UNFINISHED
from vernal.engines.check import question_of
from vernal.engines.registry import engines
from vernal.errors import MissingExtra, Stopped, VernalError
from vernal.evidence.document_head import exact_number
from vernal.evidence.result import UNKNOWN, Result, Suggestion
from vernal.formats.task.blueprint import open_task
from vernal.interpret.numbers.memory_room import BEYOND, EXHAUSTED
from vernal.logic.formula import Always, Bound, Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model import expr as e
from vernal.model.graph import draws
from vernal.model.system import Model
from vernal.report.subject import formula_of
from vernal.run.alarm import in_time
from vernal.run.budget import TIMEOUT, Budget

MAX_STEPS = 4  # suggestions of one answer
MAX_ENGINES = 2  # of them, other engines
MORE_TIME = 4  # times the seconds there were
MAX_COMMAND = 400  # characters: a longer one nobody copies
NARROWER = 10  # times smaller: starts and disturbances
LOOKING_SECONDS = 0.5  # for what has to be tried out before it is suggested
TRIAL_SECONDS = 0.05  # of them, for one engine: those that see at once that they are of no help have ended by then
EXPLAINED = "interrupted"  # how reasons begin after which nobody wants advice


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to change of a question, by the names of options (None: leave it out); and why that may help."""

    changes: Mapping[str, str | None]
    why: str


Render = Callable[[Result, NextStep], str]  # a step as a command to copy


@dataclass
class Adviser:
    """Suggests what to try after unknown answers; what takes time to find out shares half a second."""

    render: Render
    budget: Budget = field(default_factory=lambda: Budget(LOOKING_SECONDS))

    def advised(self, result: Result) -> Result:
        """The result with its suggestions."""
        task = result.task
        if result.verdict is not UNKNOWN or task is None or str(result.reason).startswith(EXPLAINED):
            return result
        found: list[NextStep] = []
        with suppress(Stopped):
            in_time(lambda: found.extend(islice(next_steps(result, task), MAX_STEPS)), self.budget, 0.0)
        said = ((self.render(result, step), step.why) for step in found or list(cheap_steps(result)))
        return replace(
            result, suggestions=tuple(Suggestion(command, why) for command, why in said if len(command) <= MAX_COMMAND)
        )


def suggestions(result: Result) -> tuple[Suggestion, ...]:
    """What to try: what was suggested already, else calls in Python."""
    if result.suggestions is None:
        result = Adviser(as_call).advised(result)
    return result.suggestions or ()


def next_steps(result: Result, task: Task) -> Iterator[NextStep]:
    """What may decide the question, the most promising first."""
    formula = formula_of(result)
    yield from cheap_steps(result)
    yield from _smaller_sets(task)
    yield from islice(_other_engines(result, question_of(task, formula, result.property)), MAX_ENGINES)
    yield from _shorter(result, formula)


def cheap_steps(result: Result) -> Iterator[NextStep]:
    """What needs no look at the task: all engines instead of one, and more time for those that were not finished."""
    if str(result.reason).startswith((BEYOND, EXHAUSTED)):
        yield NextStep({"memory": None}, "without the limit of memory")
    if result.engine != "auto":
        yield NextStep({"engine": None}, "asks every engine that fits")
    unfinished = [one.engine for one in result.attempts if one.outcome.startswith((UNFINISHED, TIMEOUT))]
    if unfinished or str(result.reason).startswith(TIMEOUT):
        named = [name for name in unfinished if name != result.engine][-2:]
        who = f" for {' and '.join(named)}" if named else ""
        yield NextStep({"timeout": str(round_up(MORE_TIME * max(result.seconds, 1.0)))}, f"more time{who}")


def round_up(seconds: float) -> int:
    """1, 2 or 5 times a power of ten, not less than so many seconds."""
    unit = int(10 ** int(max(0.0, log10(seconds))))
    return next(step * unit for step in (1, 2, 5, 10) if step * unit >= seconds)


def _smaller_sets(task: Task) -> Iterator[NextStep]:
    """Parameters that make initial sets or disturbances smaller, each tried on the task as it is read again."""
    if task.source is None or task.options or not task.parameters or not Path(task.source.file).is_file():
        return
    blueprint, before = open_task(task.source.file, allow_outside=True), _widths(task.model)
    for name, value in task.parameters.items():
        smaller = value / NARROWER
        with suppress(VernalError, ArithmeticError):
            after = _widths(blueprint.task({**task.parameters, name: smaller}).model)
            if value and _is_smaller(after, before):
                yield NextStep({"set": f"{name}={exact_number(smaller)}"}, f"smaller sets: {name} is a tenth")


def _widths(model: Model) -> list[Fraction]:
    """How wide starts and disturbances are; those with ends that vary are left out."""
    starts = [ends[1] - ends[0] for ends in (start.ends for start in model.init.starts.values())]
    roots = [*model.step.roots, *model.vector_field]
    drawn = [node.args for node in draws(roots) if isinstance(node, e.Between)]
    return starts + [
        high.value - low.value
        for low, high in drawn
        if isinstance(low, e.Const) and isinstance(high, e.Const) and not low.shape and not high.shape
    ]


def _is_smaller(after: list[Fraction], before: list[Fraction]) -> bool:
    return len(after) == len(before) and after != before and all(map(Fraction.__le__, after, before))


def _other_engines(result: Result, question: Question) -> Iterator[NextStep]:
    """Engines that take the claim, were not asked yet and do not give up at once; none where `auto` was not."""
    if result.engine != "auto":
        return
    asked = {result.engine, *(one.engine for one in result.attempts)}
    for entry in engines():
        if entry.name in asked or entry.name == "auto":
            continue
        with suppress(MissingExtra):
            if entry.load().takes(question) is None and not entry.gives_up(question, Budget(TRIAL_SECONDS)):
                yield NextStep({"engine": entry.name}, entry.may(question))


def _shorter(result: Result, formula: Formula) -> Iterator[NextStep]:
    """Half the time of a claim about all of it, beyond what is proven."""
    timed = result.task is not None and result.task.time_of(result.property) is Time.SECONDS
    match formula:
        case Always(bound=Bound(lower=lower, upper=upper)) if upper is not None and upper > lower:
            proven = Fraction(max(result.proven_steps or 0, result.proven_time or 0))
            last = proven + (upper - proven) / 2
            last = Fraction(f"{float(last):.2g}") if timed else Fraction(ceil(last))  # nobody types more digits
            if max(lower, proven) < last < upper:
                yield NextStep({"spec": str(replace(formula, bound=Bound(lower, last)))}, "a shorter time")


def as_call(result: Result, step: NextStep) -> str:
    """A step as a call of `vn.check`."""
    changes = {name: value for name, value in step.changes.items() if value is not None}
    constants, spec = changes.pop("set", None), changes.pop("spec", None)
    source = result.task.source if result.task is not None else None
    loaded = f"vn.load({source.file!r}, {constants})" if constants and source else "task"
    asked = f"property={result.property!r}" if spec is None and result.property else repr(spec or result.formula)
    engine = {} if "engine" in step.changes or result.engine == "auto" else {"engine": result.engine}
    options = [f"{name}={value if name == 'timeout' else repr(value)}" for name, value in {**engine, **changes}.items()]
    return f"vn.check({', '.join([loaded, asked, *options])})"
