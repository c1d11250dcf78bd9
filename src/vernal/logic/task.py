"""Tasks: a model, the properties asked of it, and where all of it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from vernal.errors import InputError
from vernal.logic.formula import Formula
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.hooks import hook
from vernal.model.network import Network
from vernal.model.portable import Portable
from vernal.model.system import Model, System

OptionLabels = Mapping[str, tuple[str | None, ...]]  # what the options of a choice, by its name, are called


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the hash of its bytes."""

    file: str
    sha256: str


class Transitions(StrEnum):
    """Between which regions of an abstraction there are crossings: those that share a facet, or any point."""

    FACET = "facet"
    VERTEX = "vertex"


@dataclass(frozen=True, slots=True)
class AbstractionSettings(Portable):
    """`[abstraction]`: how a network that stands for a flow is learned; what is None is chosen for the flow."""

    widths: tuple[int, ...] | None = None  # of the hidden layers
    error: tuple[Fraction, ...] | None = None  # the certified error that is good enough, for each variable
    samples: int | None = None
    rounds: int | None = None  # of learning and certifying, at most
    seed: int | None = None
    transitions: Transitions | None = None  # between its regions


UNSAID = AbstractionSettings()
MAX_SAMPLES = 100_000  # of each part of a flow: programs over more of them take gigabytes
MAX_WIDTH, MAX_LAYERS = 10_000, 32  # of a network that stands for a flow
MAX_ABSTRACTED = 8  # variables of a flow that is abstracted: regions and their facets grow fast with them


@dataclass(frozen=True)
class Task(Portable):
    """What a task file says, read and checked; later formulas may use `constants` besides the system's names."""

    model: Model
    properties: Mapping[str, Formula] = field(default_factory=dict)
    parameters: Mapping[str, Fraction] = field(default_factory=dict)
    constants: Mapping[str, Expr] = field(default_factory=dict)
    functions: Mapping[str, Network] = field(default_factory=dict)
    source: InputFile | None = None
    networks: tuple[InputFile, ...] = ()  # and the worlds it is built on: whatever else was read
    predicates: tuple[Expr, ...] = ()  # conditions on the state, by which predicate abstraction tells states apart
    options: Mapping[str, str] = field(default_factory=dict)  # what else it takes to open it: policy, property, ...
    proviso: str | None = None  # what is left out of the system by its definition; the scope of every proof says so
    counts: Mapping[str, int] = field(default_factory=dict)  # facts about the task that every result's statistics have
    labels: OptionLabels = field(default_factory=dict)  # of the outcomes of a planning model: their actions
    applicable: Mapping[str, Expr] = field(default_factory=dict)  # where each action that a policy chooses can be done

    left_out: str = ""  # properties of the file that are none here, and why
    settings: AbstractionSettings = UNSAID  # how a flow is abstracted, where the task says it
    times: Mapping[str | None, Time] = field(default_factory=dict)  # of properties (of formulas without a name: None)

    @property
    def name(self) -> str:
        return self.model.name

    def time_of(self, name: str | None) -> Time:
        """What positions and bounds of a property count: what it says, else what the motion does."""
        return self.times.get(name, self.model.motion.time)

    def counting(self, time: str | Time | None) -> Task:
        """The task with this kind of time for formulas without a name; None leaves the motion's."""
        if time is None:
            return self
        known = [self.model.motion.time, *([Time.SAMPLES] if self.model.grid is not None else [])]
        if time not in known:
            raise InputError(f"{self.name} counts {' or '.join(known)}, not {time}")
        return replace(self, times={**self.times, None: Time(time)})

    def without_properties(self) -> InputError:
        """What is wrong where a property is asked for, and there is none."""
        how = 'name a formula, --spec "G[0,10] x <= 1" for example'
        return InputError(f"the task has no properties{self.left_out}; {how}")

    @property
    def system(self) -> System:
        """The system, of a task in discrete time; whatever needs steps asks for it."""
        if not isinstance(self.model, System):
            raise InputError(f"{self.name} is a flow, in continuous time: this is for systems that move in steps")
        return self.model

    @property
    def flow(self) -> Flow:
        """The flow, of a task in continuous time."""
        if not isinstance(self.model, Flow):
            raise InputError(f"{self.name} is a system that moves in steps: this is for flows, in continuous time")
        return self.model

    def __repr__(self) -> str:
        return f"<Task {self.name}: {', '.join(self.properties) or 'no properties'}>"


GivenTask: TypeAlias = Task | Model | str | Path  # what the public functions are asked about


def as_task(given: GivenTask) -> Task:
    """The task that is meant: itself, a model without properties, or what a file says."""
    if isinstance(given, Task):
        return given
    if isinstance(given, str | Path):
        loaded: Task = hook("load")(given)
        return loaded
    if not isinstance(given, Model):
        raise InputError(
            f"a task is the path of its file, what vn.load gives or a vn.System, and {given!r:.60} is none"
        )
    return Task(given)
