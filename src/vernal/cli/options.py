"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from vernal.cli.completion import parameter_names, property_names
from vernal.errors import InputError, NameUnknown, Stopped, nearest

if TYPE_CHECKING:
    from vernal.logic.formula import Formula
    from vernal.logic.task import Task
    from vernal.run.budget import Budget, Progress
    from vernal.run.places import WorkPlace

T = TypeVar("T")

READING = 1.0  # seconds beyond the limit for a task that is being read
INTERRUPTED = 0.5  # seconds beyond that, after which reading is interrupted
OUTPUT = "Output"


def option(usage: str, help: str, **more: Any) -> Any:
    """An option as help shows it, its names and what stands for its value: `--property -p NAME`."""
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    return typer.Option(*names, metavar=" ".join(words[len(names) :]) or None, help=help, **more)


def engine_names() -> list[str]:
    """For the shell to complete."""
    from vernal.engines import registry

    return registry.engine_names()


TaskFile = Annotated[
    Path, typer.Argument(metavar="TASK", help="The task file (TOML), or a JANI model.", show_default=False)
]
Properties = Annotated[
    list[str] | None,
    option(
        "--property -p NAME",
        "Check this property of the task; may be repeated. `in_range` asks whether the declared ranges are kept. "
        "Of a planning model: a PA property, FILE#NUMBER, and `not_stuck`.",
        autocompletion=property_names,
    ),
]
Specs = Annotated[
    list[str] | None, option("--spec -s TEXT", "Check this formula over the task's names; may be repeated.")
]
CountedTime = Annotated[
    str | None,
    option("--time KIND", "What bounds of --spec count, of a loop that samples: seconds (default), or samples."),
]
AllowOutside = Annotated[bool, option("--allow-outside", "Read worlds that are files outside the task's folder, too.")]
Settings = Annotated[
    list[str] | None,
    option(
        "--set NAME=EXPR",
        "Give a parameter of the task another value; may be repeated.",
        autocompletion=parameter_names,
    ),
]
OfExpressions = Annotated[
    list[str] | None, option("--of EXPR", "An expression over the task's names; may be repeated.")
]
InPlane = Annotated[bool, option("--plane", "With --plot: two numbers, --of X --of Y, drawn against each other.")]
EngineName = Annotated[
    str,
    option(
        "--engine NAME",
        "auto, or one engine by name (`vernal explain` lists them). Of flows: falsify, flowpipe, abstraction.",
        autocompletion=engine_names,
    ),
]
Timeout = Annotated[
    float | None,
    option("--timeout S", "Give up after this many seconds (from the start of the program), with what is known."),
]
MemoryLimit = Annotated[float | None, option("--memory GiB", "Give up beyond this much memory, with what is known.")]
Workers = Annotated[int, option("--workers N", "How many processes an engine may use.")]
DeviceName = Annotated[
    str, option("--device NAME", "Where large batches are bounded: cpu, or cuda (with the extra torch).")
]
OnPlace = Annotated[
    str | None,
    option(
        "--on PLACE",
        "Where cells, properties or queries of a list are asked: here, workers (a pool; all cores without --workers), "
        "dir:FOLDER (`vernal work FOLDER` answers, on any machine), ray or ray://HOST:PORT.",
    ),
]
Seed = Annotated[int, option("--seed N", "The same seed gives the same run.")]
Json = Annotated[
    str | None, option("--json FILE", "Write the results as JSON; `-` puts them on stdout and the text on stderr.")
]
Quiet = Annotated[bool, option("--quiet -q", "Verdicts only: no progress, no trace table.")]


@dataclass(frozen=True, slots=True)
class Limits:
    """How a question is to be answered: by which engine, and with what."""

    engine: EngineName = "auto"
    solver: Annotated[str | None, option("--solver NAME", "The solver behind the engine; see `vernal solvers`.")] = None
    encoding: Annotated[
        str | None, option("--encoding NAME", "Of the engine milp: monolithic (one program) or compositional.")
    ] = None
    unroll: Annotated[
        str | None,
        option(
            "--unroll NAME",
            "Of the engine milp: how policies with memory are unrolled, recursive (default), ios or iod.",
        ),
    ] = None
    no_tighten: Annotated[
        bool, option("--no-tighten", "Of the engines milp and bounds: intervals instead of linear bounds, to compare.")
    ] = False
    deepen: Annotated[
        bool, option("--deepen", "Of the engines milp and smt: bound after bound, until one decides the question.")
    ] = False
    depth: Annotated[
        int | None,
        option(
            "--depth N",
            "Where a formula has no bound: how many steps are followed (100; of induction, the largest k: 8).",
        ),
    ] = None
    predicates: Annotated[
        str,
        option(
            "--predicates auto|none|FILE",
            "Of the engine predicates, to begin with: the task's own (auto), none, or those of a file.",
        ),
    ] = "auto"
    selection: Annotated[
        str | None,
        option(
            "--selection NAME",
            "Of the engine predicates: test first whether the policy takes a label, none, relaxed or exact.",
        ),
    ] = None
    applicability: Annotated[
        str | None,
        option(
            "--applicability NAME",
            "Of the engine predicates: test first whether the policy takes an operator, none, relaxed or exact.",
        ),
    ] = None
    no_policy: Annotated[
        bool, option("--no-policy", "Of the engine predicates: abstract every action, not only the policy's.")
    ] = False
    no_refine: Annotated[
        bool, option("--no-refine", "Of the engine predicates: no further predicates than those given.")
    ] = False
    shortest: Annotated[
        bool, option("--shortest", "Of the engine predicates: an unsafe path that no other is shorter than.")
    ] = False
    no_follow: Annotated[
        bool,
        option("--no-follow", "Of the engine predicates: the abstraction alone, no concrete states and no refinement."),
    ] = False
    test: Annotated[
        str | None,
        option(
            "--test NAME",
            "Of the engine predicates, to compare: who answers tests of the policy, own, solver, relaxed+solver, "
            "relaxed+fixed+solver, relaxed+branching or relaxed.",
        ),
    ] = None
    relaxation: Annotated[
        str | None,
        option("--relaxation NAME", "Of --test relaxed...: bounds (our own), or a solver of ReLU networks (marabou)."),
    ] = None
    transitions: Annotated[
        str | None,
        option(
            "--transitions NAME",
            "Of the engine abstraction: trajectories change between regions with a common facet (default) or vertex.",
        ),
    ] = None
    directions: Annotated[
        str | None,
        option(
            "--directions TEXT",
            "Of the engines flowpipe and abstraction: where sets are bounded besides the comparisons of the formula, "
            'box, octagon, or linear expressions such as "x + y; x - 2*y".',
        ),
    ] = None
    timeout: Timeout = None
    memory: MemoryLimit = None
    workers: Annotated[int | None, option("--workers N", "How many processes may be used.")] = None
    on: OnPlace = None
    seed: Seed = 0
    journal: Annotated[
        Path | None,
        option(
            "--journal FILE",
            "Write down what is finished, parts of a question or cells of a sweep; the same command resumes.",
        ),
    ] = None
    device: DeviceName = "cpu"

    @property
    def processes(self) -> int:
        """How many processes an engine may use here."""
        if self.on is None:
            return 1 if self.workers is None else self.workers
        return 1 if self.place.is_remote else self.place.workers

    @property
    def place(self) -> WorkPlace:
        """Where cells are asked; with a card, one after the other, and workers are those of the engines."""
        from vernal.run.places import HERE, parse_place

        return HERE if self.on is None and self.device != "cpu" else parse_place(self.on, self.workers)

    @property
    def options(self) -> dict[str, object]:
        """The options given, as values of the types the engines declare; words of an enum are checked by them."""
        named = {
            "solver": self.solver,
            "encoding": self.encoding,
            "unroll": self.unroll,
            "tighten": False if self.no_tighten else None,
            "deepen": True if self.deepen else None,
            "depth": self.depth,
            "selection": self.selection,
            "applicability": self.applicability,
            "policy": False if self.no_policy else None,
            "refine": False if self.no_refine else None,
            "shortest": True if self.shortest else None,
            "follow": False if self.no_follow else None,
            "test": self.test,
            "relaxation": self.relaxation,
            "transitions": self.transitions,
            "directions": self.directions,
        }
        return {name: value for name, value in named.items() if value is not None}

    def abstracted(self, task: Task) -> Task:
        """The task with the predicates that are asked for."""
        from vernal.formats.predicates import with_predicates

        return with_predicates(task, self.predicates)

    def check(self) -> None:
        """Refuse what makes no sense before anything is read."""
        known = engine_names()
        if self.engine not in known:
            raise NameUnknown(f"there is no engine {self.engine!r}{nearest(self.engine, known)}")
        from vernal.run.budget import refuse_limits

        given = 1 if self.workers is None else self.workers
        refuse_limits({"timeout": self.timeout, "memory": self.memory}, given, self.seed, prefix="--")
        if self.place.is_remote and self.device != "cpu":
            raise InputError(f"--device {self.device} is of this machine, but --on {self.on} asks others")
        checked_device(self.device)
        if self.predicates != "auto" and self.engine != "predicates":
            raise InputError("--predicates goes with --engine predicates")
        if self.options:  # an option without effect is an error
            from vernal.engines.registry import check_options

            check_options(self.engine, self.options)

    def reading(self, started: float) -> Budget:
        """The budget while a task is read: a second more, so that what was read is answered, if by unknown."""
        from vernal.run.budget import Budget

        return Budget(None if self.timeout is None else self.timeout + READING, started=started)

    def read(self, make: Callable[[], T], reading: Budget) -> T:
        """What is read within that budget: its clock is looked at, and beyond it reading is interrupted."""
        from vernal.run.alarm import in_time
        from vernal.run.budget import TIMEOUT, rounded

        try:
            return in_time(make, reading, INTERRUPTED)
        except Stopped as stop:
            if self.timeout is not None and reading.left <= 0:
                raise Stopped(f"{TIMEOUT} {rounded(self.timeout, 3)} s") from None
            raise stop from None

    def budget(self, started: float, progress: Progress) -> Budget:
        """The budget of one question whose clock started then."""
        from vernal.run.budget import Budget

        return Budget(
            self.timeout,
            self.memory,
            started=started,
            progress=progress,
            seed=self.seed,
            workers=self.processes,
            device=self.device,
        )


def checked_device(name: str) -> None:
    """Refuse a device that is not there; say what is not as it could be."""
    from vernal.cli.stream import say
    from vernal.interpret.numbers.device import find_device

    device = find_device(name)
    if device is not None and device.remark:
        say(device.remark)


def limited(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a parameter `limits`, as the command line has it: every field an option of its own."""
    return expanded(command, "limits", Limits, Limits.check)


def expanded(
    command: Callable[..., None], name: str, group: type[T], check: Callable[[T], None] = lambda made: None
) -> Callable[..., None]:
    """A command of which one parameter, a group of options, is replaced by an option for each field of the group."""
    own = inspect.signature(command, eval_str=True)
    theirs = inspect.signature(group, eval_str=True).parameters
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in theirs.values()]
    parameters = [one for key, entry in own.parameters.items() for one in (options if key == name else [entry])]

    @wraps(command)
    def run(**given: Any) -> None:
        made = group(**{key: given.pop(key) for key in theirs})
        check(made)
        command(**given, **{name: made})

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True, slots=True)
class Asked:
    """A formula, and its name if it has one."""

    name: str | None
    formula: Formula


def counted(task: Task, specs: Iterable[str] | None, time: str | None) -> Task:
    """The task with this kind of time for the formulas given."""
    if time is not None and not specs:
        raise InputError("--time goes with --spec; a property of the task says itself what it counts")
    return task.counting(time)


def questions(task: Task, properties: Iterable[str] | None, specs: Iterable[str] | None) -> list[Asked]:
    """The properties named and the formulas given, in that order; all of the task's where nothing is said."""
    from vernal.engines.check import named_formula, parse_formula

    chosen = [Asked(name, named_formula(task, name)) for name in properties or ()]
    chosen += [Asked(None, parse_formula(task, text)) for text in specs or ()]
    if not chosen:
        chosen = [Asked(name, formula) for name, formula in task.properties.items()]
    if not chosen:
        raise task.without_properties()
    return chosen


def overrides(settings: Iterable[str] | None, option: str = "--set", example: str = "v0=-22.5") -> dict[str, str]:
    """`v0=-22.5` as a name and an expression."""
    found: dict[str, str] = {}
    for setting in settings or ():
        name, equals, text = setting.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise InputError(f"{option} wants NAME=EXPR, for example {option} {example}, not {setting!r}")
        found[name.strip()] = text.strip()
    return found
