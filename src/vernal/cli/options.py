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

T = TypeVar("T")

READING = 1.0  # seconds beyond the limit for a task that is being read
INTERRUPTED = 0.5  # seconds beyond that, after which reading is interrupted
LIMITS = "Limits"
OUTPUT = "Output"


def engine_names() -> list[str]:
    """For the shell to complete."""
    from vernal.engines import registry

    return registry.engine_names()


TaskFile = Annotated[
    Path, typer.Argument(metavar="TASK", help="The task file (TOML), or a JANI model.", show_default=False)
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-p",
        metavar="NAME",
        help="Check this property of the task; may be repeated. `in_range` asks whether the declared ranges are kept. "
        "Of a planning model: a PA property, FILE#NUMBER, and `not_stuck`.",
        autocompletion=property_names,
    ),
]
Specs = Annotated[
    list[str] | None,
    typer.Option("--spec", "-s", metavar="TEXT", help="Check this formula over the task's names; may be repeated."),
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Read worlds that are files outside the task's folder, too.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=EXPR",
        help="Give a parameter of the task another value; may be repeated.",
        autocompletion=parameter_names,
    ),
]
OfExpressions = Annotated[
    list[str] | None,
    typer.Option("--of", metavar="EXPR", help="An expression over the task's names; may be repeated."),
]
InPlane = Annotated[
    bool, typer.Option("--plane", help="With --plot: two numbers, --of X --of Y, drawn against each other.")
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="auto, or one engine by name (`vernal explain` lists them). Of flows: falsify, flowpipe, abstraction.",
        autocompletion=engine_names,
    ),
]
SolverName = Annotated[
    str | None, typer.Option("--solver", metavar="NAME", help="The solver behind the engine; see `vernal solvers`.")
]
EncodingName = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of the engine milp: monolithic (one program) or compositional."),
]
UnrollName = Annotated[
    str | None,
    typer.Option(
        "--unroll",
        metavar="NAME",
        help="Of the engine milp: how policies with memory are unrolled, recursive (default), ios or iod.",
    ),
]
NoTighten = Annotated[
    bool,
    typer.Option(
        "--no-tighten", help="Of the engines milp and bounds: intervals instead of linear bounds, to compare."
    ),
]
Deepen = Annotated[
    bool,
    typer.Option("--deepen", help="Of the engines milp and smt: bound after bound, until one decides the question."),
]
SearchDepth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        help="Where a formula has no bound: how many steps are followed (100; of induction, the largest k: 8).",
    ),
]
PredicateSource = Annotated[
    str,
    typer.Option(
        "--predicates",
        metavar="auto|none|FILE",
        help="Of the engine predicates, to begin with: the task's own (auto), none, or those of a file.",
    ),
]
SelectionTest = Annotated[
    str | None,
    typer.Option(
        "--selection",
        metavar="NAME",
        help="Of the engine predicates: test first whether the policy takes a label, none, relaxed or exact.",
    ),
]
ApplicabilityTest = Annotated[
    str | None,
    typer.Option(
        "--applicability",
        metavar="NAME",
        help="Of the engine predicates: test first whether the policy takes an operator, none, relaxed or exact.",
    ),
]
NoPolicy = Annotated[
    bool,
    typer.Option("--no-policy", help="Of the engine predicates: abstract every action, not only the policy's."),
]
NoRefine = Annotated[
    bool,
    typer.Option("--no-refine", help="Of the engine predicates: no further predicates than those given."),
]
Shortest = Annotated[
    bool,
    typer.Option("--shortest", help="Of the engine predicates: an unsafe path that no other is shorter than."),
]
NoFollow = Annotated[
    bool,
    typer.Option(
        "--no-follow", help="Of the engine predicates: the abstraction alone, no concrete states and no refinement."
    ),
]
TestName = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="NAME",
        help="Of the engine predicates, to compare: who answers tests of the policy, own, solver, relaxed+solver, "
        "relaxed+fixed+solver, relaxed+branching or relaxed.",
    ),
]
RelaxationName = Annotated[
    str | None,
    typer.Option(
        "--relaxation",
        metavar="NAME",
        help="Of --test relaxed...: bounds (our own), or a solver of ReLU networks (marabou).",
    ),
]
TransitionsName = Annotated[
    str | None,
    typer.Option(
        "--transitions",
        metavar="NAME",
        help="Of the engine abstraction: trajectories change between regions with a common facet (default) or vertex.",
    ),
]
DirectionsText = Annotated[
    str | None,
    typer.Option(
        "--directions",
        metavar="TEXT",
        help="Of the engines flowpipe and abstraction: where sets are bounded besides the comparisons of the formula, "
        'box, octagon, or linear expressions such as "x + y; x - 2*y".',
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="S",
        help="Give up after this many seconds (from the start of the program), with what is known.",
    ),
]
MemoryLimit = Annotated[
    float | None, typer.Option("--memory", metavar="GiB", help="Give up beyond this much memory, with what is known.")
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", help="How many processes an engine may use.")]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device", metavar="NAME", help="Where large batches are bounded: cpu, or cuda (with the extra torch)."
    ),
]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Write down what is finished, parts of a question or cells of a sweep; the same command resumes.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same run.")]
Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the results as JSON; `-` puts them on stdout and the text on stderr."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Verdicts only: no progress, no trace table.")]


@dataclass(frozen=True, slots=True)
class Limits:
    """How a question is to be answered: by which engine, and with what."""

    engine: EngineName = "auto"
    solver: SolverName = None
    encoding: EncodingName = None
    unroll: UnrollName = None
    no_tighten: NoTighten = False
    deepen: Deepen = False
    depth: SearchDepth = None
    predicates: PredicateSource = "auto"
    selection: SelectionTest = None
    applicability: ApplicabilityTest = None
    no_policy: NoPolicy = False
    no_refine: NoRefine = False
    shortest: Shortest = False
    no_follow: NoFollow = False
    test: TestName = None
    relaxation: RelaxationName = None
    transitions: TransitionsName = None
    directions: DirectionsText = None
    timeout: Timeout = None
    memory: MemoryLimit = None
    workers: Workers = 1
    seed: Seed = 0
    journal: JournalFile = None
    device: DeviceName = "cpu"

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

        refuse_limits({"timeout": self.timeout, "memory": self.memory}, self.workers, self.seed, prefix="--")
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
        from vernal.run.budget import TIMEOUT

        try:
            return in_time(make, reading, INTERRUPTED)
        except Stopped as stop:
            timed_out = self.timeout is not None and reading.left <= 0
            raise Stopped(f"{TIMEOUT} {self.timeout:.3g} s") if timed_out else stop from None

    def budget(self, started: float, progress: Progress) -> Budget:
        """The budget of one question whose clock started then."""
        from vernal.run.budget import Budget

        return Budget(
            self.timeout,
            self.memory,
            started=started,
            progress=progress,
            seed=self.seed,
            workers=self.workers,
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


def questions(task: Task, properties: Iterable[str] | None, specs: Iterable[str] | None) -> list[Asked]:
    """The properties named and the formulas given, in that order; all of the task's where nothing is said."""
    from vernal.engines.check import named_formula, parse_formula

    chosen = [Asked(name, named_formula(task, name)) for name in properties or ()]
    chosen += [Asked(None, parse_formula(task, text)) for text in specs or ()]
    if not chosen:
        chosen = [Asked(name, formula) for name, formula in task.properties.items()]
    if not chosen:
        raise InputError('the task has no properties; ask with --spec, e.g. --spec "G[0,10] x <= 1"')
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
